//! Measures how many events the streams of each watch delivered, over time.

use watchscope_charts::{Chart, Lines, Merge, Plot, Scale};
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Event, Record, State};
use watchscope_timeline::format::{count, duration};

use super::parts::{Counts, Durations, rate_words};
use super::{Measure, Scope, name_of, when};

/// The chart's title names a peak if it is at least this multiple of the median rate, and there are at least 10 events.
/// The median is that of the buckets with a rate. Smaller peaks are usual. The number has no source.
const PEAK: i64 = 3;

/// The number of live changes by watch and bucket.
pub(crate) struct Events {
    counts: Counts,
    grid: watchscope_charts::Grid,
}

impl Events {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self {
            counts: Counts::new(scope.lines),
            grid: scope.lines,
        }
    }

    pub(crate) fn chart(self, scope: &Scope) -> Chart {
        let per_second = |count: u64, place: usize| {
            let covered_us = scope.covered_us(self.grid, place);
            // In a bucket that is covered for less than half, one event would look like a burst.
            let is_enough = covered_us.saturating_mul(2) >= self.grid.step_us;
            rate(count, covered_us).filter(|_| is_enough)
        };
        let sums = self.counts.sums();
        let total: u64 = sums.iter().map(|(_, sum)| sum).sum();
        let in_bucket = |place: usize| -> u64 {
            let counts = sums.iter().map(|(name, _)| self.counts.at(name, place));
            counts.sum()
        };
        let (mut usual, mut unrated) = (Durations::default(), 0);
        let mut peak: Option<(i64, usize)> = None;
        for place in 0..self.grid.count {
            let count = in_bucket(place);
            match per_second(count, place) {
                Some(here) => {
                    usual.add(here);
                    if peak.is_none_or(|(most, _)| here > most) {
                        peak = Some((here, place));
                    }
                }
                None => unrated += count,
            }
        }
        let usual = usual.percentile(50).unwrap_or(0);
        let stands_out = peak.filter(|(most, _)| *most >= usual.saturating_mul(PEAK) && total > 9);
        let title = match (stands_out, peak) {
            _ if total == 0 => "No event was delivered".to_owned(),
            (Some((most, place)), _) => {
                let names = sums.iter().map(|(name, _)| *name);
                let largest = names.max_by_key(|name| self.counts.at(name, place));
                let of = largest.map_or(String::new(), |name| {
                    format!(", most of {}", name_of(&(&**name).into()))
                });
                format!(
                    "Events rose to {} a second in all at {}{of}; usual is {}",
                    rate_words(most),
                    when(self.grid, place),
                    rate_words(usual)
                )
            }
            (None, Some((most, _))) if usual == 0 => format!(
                "{} came, at most {} a second",
                count(total, "event"),
                rate_words(most)
            ),
            (None, Some((most, _))) => format!(
                "Events came evenly: {} a second, at most {}",
                rate_words(usual),
                rate_words(most)
            ),
            (None, None) => format!(
                "{} came in too short a time for a rate",
                count(total, "event")
            ),
        };
        let mut missing = vec!["what came while a watch was away".to_owned()];
        if unrated > 0 {
            let events = count(unrated, "event");
            missing.push(format!(
                "{events} at the edges of a run, in too short a time for a rate"
            ));
        }
        Chart {
            title,
            unit: format!(
                "changes a second that streams delivered, mean of {}, by watch",
                duration(self.grid.step_us)
            ),
            notes: scope.notes(&missing),
            plot: Plot::Lines(Lines {
                scale: Scale::Thousandths,
                grid: self.grid,
                series: self.counts.lines(per_second),
                merge: Merge::Sum,
                callout: None,
            }),
        }
    }
}

/// Returns the rate per second, in thousandths, of a count in a time; `None` if `micros` is 0 or below.
pub(crate) fn rate(count: u64, micros: i64) -> Option<i64> {
    if micros <= 0 {
        return None;
    }
    let thousandths = i128::from(count) * 1_000_000_000 / i128::from(micros);
    Some(i64::try_from(thousandths).unwrap_or(i64::MAX))
}

impl Measure for Events {
    fn take(&mut self, record: &Record, _state: &State, _run: usize) {
        if let Event::Change(change) = &record.event
            && change.origin == Origin::Live
            && let Some(place) = self.grid.place(record.at)
        {
            self.counts.add(&change.watch.0, place, 1);
        }
    }
}
