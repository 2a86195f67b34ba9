//! How many events each watch's streams delivered, over time.

use watchscope_charts::{Callout, Chart, Lines, Merge, Plot, Scale};
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Event, Record, State, Text};
use watchscope_timeline::format::duration;

use super::parts::{Counts, OTHERS, rate_words};
use super::{Measure, Scope, name_of, when};

/// A peak stands out if it is so many times the mean.
const PEAK: i64 = 3;

/// Live changes by watch and bucket.
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
            rate(count, covered_us)
        };
        let total: u64 = self.counts.sums().iter().map(|(_, sum)| sum).sum();
        let covered_us: i64 = (0..self.grid.count)
            .map(|place| scope.covered_us(self.grid, place))
            .sum();
        let mean = rate(total, covered_us).unwrap_or(0);
        let mut peak: Option<(i64, usize, &Text)> = None;
        for (name, _) in self.counts.sums() {
            for place in 0..self.grid.count {
                let here = per_second(self.counts.at(name, place), place).unwrap_or(0);
                if peak.is_none_or(|(most, ..)| here > most) {
                    peak = Some((here, place, name));
                }
            }
        }
        let stands_out = peak.filter(|(most, ..)| *most >= mean.saturating_mul(PEAK) && total > 9);
        let title = match stands_out {
            _ if total == 0 => "No event was delivered".to_owned(),
            Some((most, place, name)) => format!(
                "Events of {} rose to {} a second at {}; {} are usual",
                name_of(&(&**name).into()),
                rate_words(most),
                when(self.grid.begins(place)),
                rate_words(mean)
            ),
            None => format!("Events came evenly: {} a second", rate_words(mean)),
        };
        let callout = stands_out.filter(|(.., name)| ***name != *OTHERS);
        let callout = callout.map(|(most, place, _)| Callout {
            at: self.grid.begins(place),
            value: most,
            words: rate_words(most),
        });
        Chart {
            title,
            unit: format!(
                "changes a second that streams delivered, mean of {}, by watch",
                duration(self.grid.step_us)
            ),
            notes: scope.notes(&["what came while a watch was away".to_owned()]),
            plot: Plot::Lines(Lines {
                scale: Scale::Thousandths,
                grid: self.grid,
                series: self.counts.lines(per_second),
                merge: Merge::Sum,
                callout,
            }),
        }
    }
}

/// So many in a time, a second, in thousandths; absent if there was no time.
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
