//! Measures how old watch streams were when they ended, and why they ended.

use std::collections::BTreeMap;

use watchscope_charts::{Callout, Chart, DotSeries, Dots, Plot, Shape};
use watchscope_model::vocabulary::Cause;
use watchscope_model::{Event, Record, State, Time, WatchName};
use watchscope_timeline::format::{count, duration};

use super::ends::Why;
use super::parts::{Durations, Thinned};
use super::{MOST_WATCHES, Measure, Scope, name_of};

/// The least number of similar ages of a watch's streams for the chart's title to name them; fewer may be chance. The
/// similar ages must also be at least two thirds of the watch's ages. Only streams that did not reach their timeout
/// count. The number has no source.
const HABIT: u64 = 5;

/// The least age that is drawn, in microseconds; a smaller age is drawn as this age, and named `under 1 ms`. Records
/// have ages in milliseconds, and a logarithmic axis has no 0.
const LEAST_US: i64 = 1_000;

/// The ages of streams at their ends: a bounded series of dots for each kind of end. The first [`MOST_WATCHES`] watches
/// with an early end also have age classes; other watches have none.
pub(crate) struct Lives {
    dots: BTreeMap<Kind, Thinned>,
    by_watch: BTreeMap<WatchName, Durations>,
    grid: watchscope_charts::Grid,
    count: u64,
    at_timeout: u64,
    /// The stream that ended youngest without reaching its timeout: time of its end, age in microseconds, watch.
    youngest: Option<(Time, i64, WatchName)>,
}

/// How a stream ended, as the chart's dots show it; the least important kind first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Timeout,
    Early,
    Goaway,
    Ours,
    Broken,
    Error,
}

impl Kind {
    fn of(why: Why, is_timeout: bool) -> Self {
        match why {
            Why::End if is_timeout => Self::Timeout,
            Why::End | Why::Unknown => Self::Early,
            Why::Goaway => Self::Goaway,
            Why::Ours => Self::Ours,
            Why::Closed | Why::Reset => Self::Broken,
            Why::Error => Self::Error,
        }
    }

    fn words(self) -> (&'static str, Shape) {
        match self {
            Self::Timeout => ("at its timeout", Shape::Disc),
            Self::Early => ("orderly, before it", Shape::Ring),
            Self::Goaway => ("GOAWAY", Shape::Triangle),
            Self::Ours => ("by watchscope", Shape::Cross),
            Self::Broken => ("reset or cut off", Shape::Square),
            Self::Error => ("ERROR event", Shape::Diamond),
        }
    }
}

/// Returns an age in words: `41 s`, or `under 1 ms`.
fn age_words(age_us: i64) -> String {
    if age_us < LEAST_US {
        "under 1 ms".to_owned()
    } else {
        duration(age_us)
    }
}

impl Lives {
    pub(crate) fn new(scope: &Scope) -> Self {
        Self {
            dots: BTreeMap::new(),
            by_watch: BTreeMap::new(),
            grid: scope.lines,
            count: 0,
            at_timeout: 0,
            youngest: None,
        }
    }

    pub(crate) fn chart(self, scope: &Scope) -> Chart {
        let habit = self.by_watch.iter().filter_map(|(watch, ages)| {
            let (like, age) = ages.densest()?;
            let is_habit = like >= HABIT && like * 3 >= ages.count() * 2;
            is_habit.then_some((like, ages.count(), age, watch))
        });
        let habit = habit.max_by_key(|(like, ..)| *like);
        let title = match (habit, &self.youngest) {
            _ if self.count == 0 => "No stream ended".to_owned(),
            (Some((like, of, age, watch)), _) => format!(
                "Streams of {} end after {}: {like} of {of}",
                name_of(watch),
                duration(age)
            ),
            (None, Some((_, age, watch))) => {
                let early = self.count - self.at_timeout;
                format!(
                    "{early} of {} ended before the timeout; the youngest, {} old, of {}",
                    count(self.count, "stream"),
                    age_words(*age),
                    name_of(watch)
                )
            }
            (None, None) => format!("All {} ended at their timeout", count(self.count, "stream")),
        };
        let callout = self.youngest.as_ref().map(|(at, age, watch)| Callout {
            at: *at,
            value: (*age).max(LEAST_US),
            words: format!("{}, {}", age_words(*age), name_of(watch)),
        });
        let undrawn: u64 = self.dots.values().map(|dots| dots.undrawn).sum();
        let mut missing = vec!["streams that are still open".to_owned()];
        if undrawn > 0 {
            missing.push(format!("{} that share a dot", count(undrawn, "end")));
        }
        let series = self.dots.iter().map(|(kind, dots)| {
            let (name, shape) = kind.words();
            DotSeries {
                name: format!("{name} {}", dots.count),
                shape,
                dots: dots.dots(),
            }
        });
        Chart {
            title,
            unit: "age of streams at their end, log scale from 1 ms, each dot one stream"
                .to_owned(),
            notes: scope.notes(&missing),
            plot: Plot::Dots(Dots {
                series: series.collect(),
                callout,
            }),
        }
    }
}

impl Measure for Lives {
    fn take(&mut self, record: &Record, state: &State, _run: usize) {
        let Event::StreamEnded(ended) = &record.event else {
            return;
        };
        let age_us = i64::try_from(ended.age_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let watch = state.watches.get(&ended.watch);
        let stream = watch.and_then(|watch| watch.stream.as_ref());
        // A server may end a stream up to 1 s before its timeout.
        let is_timeout = ended.cause == Cause::End
            && stream
                .and_then(|stream| stream.timeout_ms)
                .is_some_and(|timeout| ended.age_ms.saturating_add(1_000) >= timeout);
        self.count += 1;
        let kind = Kind::of(Why::of(ended.cause), is_timeout);
        let dots = self.dots.entry(kind);
        let grid = self.grid;
        dots.or_insert_with(|| Thinned::new(grid))
            .add(record.at, age_us.max(LEAST_US));
        if is_timeout {
            self.at_timeout += 1;
            return;
        }
        let is_younger = |(_, age, _): &(Time, i64, WatchName)| age_us < *age;
        if self.youngest.as_ref().is_none_or(is_younger) {
            self.youngest = Some((record.at, age_us, ended.watch.clone()));
        }
        if self.by_watch.len() < MOST_WATCHES || self.by_watch.contains_key(&ended.watch) {
            let ages = self.by_watch.entry(ended.watch.clone());
            ages.or_default().add(age_us);
        }
    }
}
