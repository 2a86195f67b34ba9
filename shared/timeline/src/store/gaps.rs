//! Counts the gaps of a stretch of time: resumed, lost, still open.

use watchscope_model::Time;

use super::cache::Store;
use crate::format::duration;
use crate::id::WatchId;

/// Counts of the gaps of a stretch of time. A gap that only reaches into the stretch counts whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GapTotals {
    /// Gaps after which the watch resumed where the stream stopped: no event is lost
    /// (docs/semantics/servers.md#cache-resume).
    pub resumed: u64,
    /// Sum of the durations of resumed gaps, in µs, with their parts outside of the stretch.
    pub resumed_us: i64,
    /// Gaps without a resume: events may be lost.
    pub lost: u64,
    /// Sum of the durations of lost gaps, in µs, with their parts outside of the stretch.
    pub lost_us: i64,
    /// Gaps without a known outcome: still open, ended by a stop or a new start of the watch, or closed by a record
    /// that is not loaded.
    pub open: u64,
}

impl GapTotals {
    /// Returns the number of all gaps: resumed, lost and open.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.resumed + self.lost + self.open
    }

    /// Returns `1 resumed (3.2 s), 1 lost (15 s), 1 open`, without the kinds whose count is 0; empty if there is no
    /// gap.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        for (count, words, lasted_us) in [
            (self.resumed, "resumed", Some(self.resumed_us)),
            (self.lost, "lost", Some(self.lost_us)),
            (self.open, "open", None),
        ] {
            match lasted_us {
                _ if count == 0 => {}
                Some(us) => parts.push(format!("{count} {words} ({})", duration(us))),
                None => parts.push(format!("{count} {words}")),
            }
        }
        parts.join(", ")
    }
}

impl Store {
    /// Counts the known gaps that reach into a stretch of time, edges included: gaps that loaded records show, or that
    /// were open before these. Gaps of a watch that only checks another watch do not count. An open gap lasts until
    /// `now`, or until the last loaded record at which it is open.
    #[must_use]
    pub fn gaps(&self, from: Time, to: Time, now: Time) -> GapTotals {
        let mut totals = GapTotals::default();
        for epoch in self.epochs() {
            for (id, watch) in (0..).map(WatchId).zip(&epoch.trace.watches) {
                let Some(watch) = watch else { continue };
                if self.names().watch_name(id).is_aside() {
                    continue;
                }
                for span in watch.gaps.all() {
                    let end = span.end_at(now);
                    if span.start.at > to || end < from {
                        continue;
                    }
                    let lasted_us = end.micros_since(span.start.at);
                    match span.what.outcome {
                        Some(outcome) if outcome.resumed => {
                            totals.resumed += 1;
                            totals.resumed_us += lasted_us;
                        }
                        Some(_) => {
                            totals.lost += 1;
                            totals.lost_us += lasted_us;
                        }
                        None => totals.open += 1,
                    }
                }
            }
        }
        totals
    }
}
