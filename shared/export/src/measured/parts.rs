//! Counts by bucket and name in bounded memory, and quantiles of durations.

use std::collections::BTreeMap;

use watchscope_charts::{Grid, Line};
use watchscope_model::Text;

use super::{MOST_LETTERS, MOST_WATCHES};

/// The name of the series of a chart that stands for all names without a series of their own.
pub(crate) const OTHERS: &str = "others";
/// The most series of the chart of event rates, whose lines differ in width and dash. If there are more names, the last
/// series adds up the names with the smallest sums as "others". The number has no source.
const MOST_LINES: usize = 5;

/// Counts by name and bucket. The first [`MOST_WATCHES`] names have counts of their own; the counts of later names are
/// added up as "others".
pub(crate) struct Counts {
    grid: Grid,
    by_name: BTreeMap<Text, Vec<u64>>,
}

impl Counts {
    pub(crate) fn new(grid: Grid) -> Self {
        Self {
            grid,
            by_name: BTreeMap::new(),
        }
    }

    /// Adds `count` to a name's bucket.
    pub(crate) fn add(&mut self, name: &Text, place: usize, count: u64) {
        let has_room = self.by_name.len() < MOST_WATCHES || self.by_name.contains_key(name);
        let name = if has_room {
            name.clone()
        } else {
            OTHERS.into()
        };
        let counts = self.by_name.entry(name);
        let counts = counts.or_insert_with(|| vec![0; self.grid.count]);
        if let Some(held) = counts.get_mut(place) {
            *held = held.saturating_add(count);
        }
    }

    /// Returns the names with their sums, the largest first.
    pub(crate) fn sums(&self) -> Vec<(&Text, u64)> {
        let sum = |counts: &Vec<u64>| {
            counts
                .iter()
                .fold(0, |sum: u64, count| sum.saturating_add(*count))
        };
        let sums = self.by_name.iter();
        let mut sums: Vec<(&Text, u64)> = sums.map(|(name, counts)| (name, sum(counts))).collect();
        sums.sort_by(|(one, of_one), (two, of_two)| of_two.cmp(of_one).then(one.cmp(two)));
        sums
    }

    /// Returns a name's count in a bucket.
    pub(crate) fn at(&self, name: &Text, place: usize) -> u64 {
        let counts = self.by_name.get(name);
        counts
            .and_then(|counts| counts.get(place))
            .copied()
            .unwrap_or(0)
    }

    /// Returns a line for each of the largest names, and one for all others. `value` converts the count of a bucket.
    pub(crate) fn lines(&self, value: impl Fn(u64, usize) -> Option<i64>) -> Vec<Line> {
        let sums = self.sums();
        let own = if sums.len() > MOST_LINES {
            MOST_LINES - 1
        } else {
            MOST_LINES
        };
        let places = 0..self.grid.count;
        let is_own = |name: &Text| **name != *OTHERS;
        let (mut lines, mut rest) = (Vec::new(), Vec::new());
        for (name, _) in sums {
            if lines.len() < own && is_own(name) {
                let values = places
                    .clone()
                    .map(|place| value(self.at(name, place), place));
                lines.push(Line {
                    name: watchscope_charts::shortened(name, MOST_LETTERS),
                    values: values.collect(),
                });
            } else {
                rest.push(name);
            }
        }
        if !rest.is_empty() {
            let sum = |place: usize| {
                rest.iter()
                    .fold(0, |sum: u64, name| sum.saturating_add(self.at(name, place)))
            };
            lines.push(Line {
                name: OTHERS.to_owned(),
                values: places.map(|place| value(sum(place), place)).collect(),
            });
        }
        lines
    }
}

/// Durations in classes by length, eight classes for each power of two: at most 504 classes, however many durations.
#[derive(Clone, Default)]
pub(crate) struct Durations {
    /// The number of durations in each class, and their sum in microseconds.
    classes: BTreeMap<u32, (u64, i64)>,
    count: u64,
}

impl Durations {
    pub(crate) fn add(&mut self, micros: i64) {
        let (count, sum) = self.classes.entry(class_of(micros)).or_default();
        *count += 1;
        *sum = sum.saturating_add(micros.max(0));
        self.count += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns, in microseconds, the duration that `percent` of the durations do not exceed, as the mean of its class;
    /// `None` without durations.
    pub(crate) fn percentile(&self, percent: u64) -> Option<i64> {
        let wanted = self.count.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (count, sum) in self.classes.values() {
            seen += count;
            if seen >= wanted {
                return Some(sum / i64::try_from(*count).unwrap_or(i64::MAX));
            }
        }
        None
    }

    /// Returns the number and the mean, in microseconds, of the durations in the two adjacent classes that together
    /// have the most; `None` without durations.
    pub(crate) fn densest(&self) -> Option<(u64, i64)> {
        let pairs = self.classes.iter().map(|(class, (count, sum))| {
            let next = self.classes.get(&(class + 1));
            let (more, longer) = next.copied().unwrap_or_default();
            (count + more, sum.saturating_add(longer))
        });
        let (count, sum) = pairs.max_by_key(|(count, _)| *count)?;
        Some((count, sum / i64::try_from(count).unwrap_or(i64::MAX)))
    }
}

/// Returns the class of a duration: eight times its rounded-down logarithm to base 2, plus the number of its eighth of
/// that power of two, from 0.
fn class_of(micros: i64) -> u32 {
    let micros = micros.max(1).unsigned_abs();
    let whole = micros.ilog2();
    let part = if whole >= 3 {
        (micros >> (whole - 3)) & 7
    } else {
        (micros << (3 - whole)) & 7
    };
    whole * 8 + part as u32
}

/// Single durations with their times, for dots. A cell is a pair of a bucket and a class, and holds its longest
/// duration. There are at most [`MOST_DOTS`] cells; durations without a cell are counted.
pub(crate) struct Thinned {
    grid: Grid,
    cells: BTreeMap<(usize, u32), (watchscope_model::Time, i64)>,
    /// The number of all durations, with and without a dot.
    pub(crate) count: u64,
    /// The number of durations that have no dot of their own.
    pub(crate) undrawn: u64,
}

/// The most dots of a series, so that its SVG stays small. When a series has 1,000 dots, a duration in a new cell gets
/// no dot; [`Thinned::undrawn`] counts it. The number has no source.
const MOST_DOTS: usize = 1_000;

impl Thinned {
    pub(crate) fn new(grid: Grid) -> Self {
        Self {
            grid,
            cells: BTreeMap::new(),
            count: 0,
            undrawn: 0,
        }
    }

    pub(crate) fn add(&mut self, at: watchscope_model::Time, micros: i64) {
        self.count += 1;
        let Some(place) = self.grid.place(at) else {
            return;
        };
        let cell = (place, class_of(micros));
        let is_full = self.cells.len() >= MOST_DOTS;
        match self.cells.get_mut(&cell) {
            Some(held) => {
                self.undrawn += 1;
                if held.1 < micros {
                    *held = (at, micros);
                }
            }
            None if is_full => self.undrawn += 1,
            None => {
                self.cells.insert(cell, (at, micros));
            }
        }
    }

    pub(crate) fn dots(&self) -> Vec<(watchscope_model::Time, i64)> {
        self.cells.values().copied().collect()
    }
}

/// Returns a number given in thousandths as text for a sentence: `61`, `0.4`, `0.05`.
pub(crate) fn rate_words(thousandths: i64) -> String {
    let rounded = match thousandths {
        ..100 => thousandths,
        100..10_000 => thousandths / 100 * 100,
        _ => thousandths / 1_000 * 1_000,
    };
    watchscope_charts::ticks::number_label(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_near_the_true_duration() {
        let mut durations = Durations::default();
        (1..=100).for_each(|step| durations.add(step * 1_000));
        let percentile = |percent| durations.percentile(percent).unwrap();
        assert!(
            (47_000..=53_000).contains(&percentile(50)),
            "{}",
            percentile(50)
        );
        assert!(
            (90_000..=98_000).contains(&percentile(95)),
            "{}",
            percentile(95)
        );
        assert_eq!(Durations::default().percentile(50), None);
        (0..100).for_each(|_| durations.add(i64::MAX));
        assert!(durations.percentile(99) > Some(0));
    }

    #[test]
    fn names_over_the_bound_are_counted_together() {
        let grid = Grid {
            from: watchscope_model::Time(0),
            step_us: 10,
            count: 2,
        };
        let mut counts = Counts::new(grid);
        for place in 0..2_000 {
            counts.add(&format!("n{place:04}").as_str().into(), 1, 1);
        }
        assert_eq!(counts.by_name.len(), MOST_WATCHES + 1);
        let lines = counts.lines(|count, _| i64::try_from(count).ok());
        let sum: i64 = lines.iter().flat_map(|line| &line.values).flatten().sum();
        assert_eq!(
            (lines.len(), sum, &*lines[4].name),
            (MOST_LINES, 2_000, OTHERS)
        );
    }
}
