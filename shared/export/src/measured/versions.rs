//! Measures how fast the cluster's resourceVersions rise, which shows how often any object of the cluster is written.

use watchscope_charts::{Callout, Chart, Grid, Line, Lines, Merge, Plot, Scale};
use watchscope_model::{Event, Record, ResourceVersion, State, Time, WatchName};
use watchscope_timeline::format::duration;

use super::events::rate;
use super::parts::{Durations, rate_words};
use super::{Measure, Scope, when};

/// The least number of buckets with a speed for the chart's title to name a peak; fewer buckets show no usual speed.
/// The number has no source.
const ENOUGH: usize = 5;
/// The chart's title names a peak if it is at least this multiple of the median speed, and at least [`ENOUGH`] buckets
/// have a speed. Smaller peaks are usual. The number has no source.
const PEAK: i64 = 2;

/// The rise of the highest resourceVersion that any watch of a run has received, by bucket. This measure holds three
/// numbers for each of at most [`super::BUCKETS`] + 2 buckets. Watches that an aggregated apiserver serves do not
/// count: their resourceVersions are independent (docs/semantics/checks.md#trap-aggregated).
pub(crate) struct Versions {
    grid: Grid,
    /// The highest resourceVersion so far, the time at which it was received, and the index of its run.
    last: Option<(Time, u64, usize)>,
    /// The mean speed of each bucket, in thousandths of a resourceVersion per second.
    values: Vec<Option<i64>>,
    /// For each bucket the rise in millionths of a resourceVersion, and the microseconds over which it rose.
    risen: Vec<(u64, i64)>,
    is_aggregated: bool,
}

impl Versions {
    pub(crate) fn new(scope: &Scope) -> Self {
        let grid = scope.lines;
        Self {
            grid,
            last: None,
            values: vec![None; grid.count],
            risen: vec![(0, 0); grid.count],
            is_aggregated: false,
        }
    }

    fn see(
        &mut self,
        watch: &WatchName,
        version: &ResourceVersion,
        at: Time,
        state: &State,
        run: usize,
    ) {
        let aggregated = state.watches.get(watch).and_then(|watch| watch.aggregated);
        if aggregated == Some(true) {
            self.is_aggregated = true;
            return;
        }
        let Some(version) = version.number() else {
            return;
        };
        match self.last {
            Some((from, before, of)) if of == run => {
                if version <= before || at <= from {
                    return;
                }
                self.rise(from, at, version - before);
            }
            // Versions are not compared across a seam.
            _ => {}
        }
        self.last = Some((at, version, run));
    }

    /// Spreads a rise of the resourceVersion evenly over the buckets between two times.
    fn rise(&mut self, from: Time, to: Time, by: u64) {
        let lasted = to.micros_since(from).max(1);
        let first = self.grid.place(from).unwrap_or(0);
        let last = self
            .grid
            .place(to)
            .unwrap_or(self.grid.count.saturating_sub(1));
        for place in first..=last {
            let within_from = from.max(self.grid.begins(place));
            let within_to = to.min(self.grid.begins(place + 1));
            let within = within_to.micros_since(within_from).max(0);
            if let Some((risen, micros)) = self.risen.get_mut(place) {
                // The unit is a millionth of a version, so that spreading loses nothing.
                let part = i128::from(by) * 1_000_000 * i128::from(within) / i128::from(lasted);
                *risen = risen.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
                *micros = micros.saturating_add(within);
            }
        }
    }

    pub(crate) fn chart(mut self, scope: &Scope) -> Chart {
        let mut usual = Durations::default();
        // In a bucket that is covered for less than half, one write would look like a burst.
        let is_long = |micros: i64| micros.saturating_mul(2) >= self.grid.step_us;
        for (value, (risen, micros)) in self.values.iter_mut().zip(&self.risen) {
            let speed = rate(*risen, *micros).filter(|_| is_long(*micros));
            *value = speed.map(|millionths| millionths / 1_000_000);
            if let Some(value) = *value {
                usual.add(value);
            }
        }
        let usual = usual.percentile(50);
        let values = self.values.iter().enumerate();
        let peak = values
            .filter_map(|(place, value)| Some(((*value)?, place)))
            .max();
        let is_enough = self.values.iter().flatten().count() >= ENOUGH;
        let stands_out =
            peak.filter(|(most, _)| is_enough && *most >= usual.unwrap_or(0).saturating_mul(PEAK));
        let title = match (stands_out, usual) {
            (Some((most, place)), Some(usual)) => format!(
                "At {} writes rose to {} a second; usual is {}",
                when(self.grid, place),
                rate_words(most),
                rate_words(usual)
            ),
            (_, Some(usual)) => format!(
                "The cluster was written evenly: {} a second",
                rate_words(usual)
            ),
            (_, None) => "No watch saw resourceVersions rise for long enough".to_owned(),
        };
        let callout = stands_out.map(|(most, place)| Callout {
            at: self.grid.begins(place),
            value: most,
            words: rate_words(most),
        });
        let mut missing = vec![
            "when writes were between two events or bookmarks; versions are opaque by contract"
                .to_owned(),
        ];
        if self.is_aggregated {
            missing.push("watches of other apiservers, whose versions are their own".to_owned());
        }
        Chart {
            title,
            unit: format!(
                "resourceVersions a second, mean of {}, of all the cluster's writes",
                duration(self.grid.step_us)
            ),
            notes: scope.notes(&missing),
            plot: Plot::Lines(Lines {
                scale: Scale::Thousandths,
                grid: self.grid,
                series: vec![Line {
                    name: "resourceVersions".to_owned(),
                    values: self.values,
                }],
                merge: Merge::Sum,
                callout,
            }),
        }
    }
}

impl Measure for Versions {
    fn take(&mut self, record: &Record, state: &State, run: usize) {
        let (watch, version) = match &record.event {
            Event::Change(change) if change.stream.is_some() => {
                (&change.watch, &change.resource_version)
            }
            Event::Bookmark(bookmark) => (&bookmark.watch, &bookmark.resource_version),
            Event::ListComplete(list) => (&list.watch, &list.resource_version),
            _ => return,
        };
        self.see(watch, version, record.at, state, run);
    }
}
