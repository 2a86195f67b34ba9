//! Measures how long lists took, from the first request to the last page.

use std::collections::BTreeMap;

use watchscope_charts::{Callout, Chart, DotSeries, Dots, Plot, Shape};
use watchscope_model::options::ListOptions;
use watchscope_model::vocabulary::Verb;
use watchscope_model::{Event, Record, RequestId, State, Time, WatchName};
use watchscope_timeline::format::{count, duration};

use super::parts::{Durations, Thinned};
use super::{MOST_WATCHES, Measure, Scope, name_of};

/// The chart's title names the slowest list if it took at least this multiple of the median time, and there are at
/// least 3 lists. Smaller differences are usual. The number has no source.
const SLOW: i64 = 3;

/// Times of lists: a bounded series of dots for each kind of list. The measure also holds the requests of at most
/// [`MOST_WATCHES`] lists that are not complete. Further lists are not measured, but counted.
pub(crate) struct Lists {
    reading: BTreeMap<WatchName, Reading>,
    cached: Thinned,
    quorum: Thinned,
    initial: Thinned,
    times: Durations,
    slowest: Option<(Time, i64, WatchName)>,
    failed: u64,
    /// The number of lists that ended and whose begin is not known.
    unmeasured: u64,
    /// Whether any list began while [`MOST_WATCHES`] others were not complete, so that its begin was forgotten.
    was_full: bool,
}

#[derive(Clone, Copy)]
struct Reading {
    since: Time,
    request: RequestId,
    how: How,
}

/// The state that a list requested (docs/semantics/lists-and-watches.md#list).
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Any state, so the server answers from its watch cache.
    Cache,
    /// The newest state, which no stale watch cache may serve.
    Newest,
    /// The list is a watch stream that begins with initial events (docs/semantics/lists-and-watches.md#initial-events).
    Initial,
}

impl Lists {
    pub(crate) fn new(scope: &Scope) -> Self {
        let dots = || Thinned::new(scope.lines);
        Self {
            reading: BTreeMap::new(),
            cached: dots(),
            quorum: dots(),
            initial: dots(),
            times: Durations::default(),
            slowest: None,
            failed: 0,
            unmeasured: 0,
            was_full: false,
        }
    }

    fn complete(&mut self, watch: &WatchName, at: Time) {
        let Some(reading) = self.reading.remove(watch) else {
            self.unmeasured += 1;
            return;
        };
        let micros = at.micros_since(reading.since).max(1);
        let dots = match reading.how {
            How::Cache => &mut self.cached,
            How::Newest => &mut self.quorum,
            How::Initial => &mut self.initial,
        };
        dots.add(at, micros);
        self.times.add(micros);
        if self
            .slowest
            .as_ref()
            .is_none_or(|(_, most, _)| micros > *most)
        {
            self.slowest = Some((at, micros, watch.clone()));
        }
    }

    pub(crate) fn chart(self, scope: &Scope) -> Chart {
        let median = self.times.percentile(50).unwrap_or(0);
        let slow = self.slowest.as_ref();
        let slow = slow.filter(|(_, micros, _)| {
            *micros >= median.saturating_mul(SLOW) && self.times.count() > 2
        });
        let title = match (slow, self.times.count()) {
            (_, 0) => "No list was completed".to_owned(),
            (Some((_, micros, watch)), _) => format!(
                "Lists took {}; the slowest, {}, of {}",
                duration(median),
                duration(*micros),
                name_of(watch)
            ),
            (None, 1) => format!("The one list took {}", duration(median)),
            (None, all) => format!("{all} lists took about {} each", duration(median)),
        };
        let callout = slow.map(|(at, micros, watch)| Callout {
            at: *at,
            value: *micros,
            words: format!("{}, {}", duration(*micros), name_of(watch)),
        });
        let mut missing = Vec::new();
        if self.failed > 0 {
            missing.push(format!("{} that failed", count(self.failed, "list")));
        }
        if self.unmeasured > 0 {
            let lists = count(self.unmeasured, "list");
            let or_later = match self.was_full {
                true => format!(", or was sent while {MOST_WATCHES} others were under way"),
                false => String::new(),
            };
            missing.push(format!(
                "{lists} whose request is not in this range{or_later}"
            ));
        }
        let series = [
            ("from any state (watch cache)", Shape::Disc, &self.cached),
            ("initial events of a stream", Shape::Triangle, &self.initial),
            ("from the newest state", Shape::Square, &self.quorum),
        ];
        let series = series.map(|(name, shape, dots)| DotSeries {
            name: format!("{name} {}", dots.count),
            shape,
            dots: dots.dots(),
        });
        Chart {
            title,
            unit: "time from request to last page, log scale, each dot one list".to_owned(),
            notes: scope.notes(&missing),
            plot: Plot::Dots(Dots {
                series: series.into(),
                callout,
            }),
        }
    }
}

/// Returns whether a list accepts any state, however old: resourceVersion 0.
fn is_any_state(options: &ListOptions<'_>) -> bool {
    let version = options.version.as_deref();
    version.and_then(|version| version.parse().ok()) == Some(0_u64)
}

impl Measure for Lists {
    fn take(&mut self, record: &Record, _state: &State, _run: usize) {
        match &record.event {
            Event::RequestSent(sent) if !sent.watch.is_aside() => {
                let options = sent.options();
                let how = match sent.verb() {
                    Verb::List if is_any_state(&options) => How::Cache,
                    Verb::List => How::Newest,
                    Verb::Watch if options.initial_events => How::Initial,
                    _ => return,
                };
                let is_next_page = options.continues.is_some();
                let is_full = self.reading.len() >= MOST_WATCHES;
                match self.reading.get_mut(&sent.watch) {
                    Some(reading) if is_next_page => reading.request = sent.request,
                    None if is_next_page => {}
                    None if is_full => self.was_full = true,
                    _ => {
                        let reading = Reading {
                            since: record.at,
                            request: sent.request,
                            how,
                        };
                        self.reading.insert(sent.watch.clone(), reading);
                    }
                }
            }
            Event::RequestAnswered(answered) if answered.has_failed() => {
                let reading = self.reading.get(&answered.watch);
                if reading.is_some_and(|reading| reading.request == answered.request) {
                    self.reading.remove(&answered.watch);
                    self.failed += 1;
                }
            }
            Event::ListComplete(complete) => self.complete(&complete.watch, record.at),
            _ => {}
        }
    }

    fn end_run(&mut self, _at: Time, _state: &State, _is_last: bool) {
        self.reading.clear();
    }
}
