//! An axis for plotters that places values and chooses ticks in integers.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use watchscope_model::Time;

use crate::data::Span;
use crate::logarithm::log2;
use crate::ticks::{
    duration_label, duration_ticks, log_ticks, number_label, number_ticks, time_label, time_ticks,
};

/// The quantity on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Microseconds since 1970-01-01T00:00:00Z, with ticks `step_us` microseconds apart.
    Time { step_us: i64 },
    /// A number, in thousandths.
    Number,
    /// A duration in microseconds, on a linear scale.
    Duration,
    /// A duration in microseconds, on a logarithmic scale.
    Log,
}

/// An axis with its ticks. A value outside the axis is drawn at its nearer end.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    kind: Kind,
    from: i64,
    to: i64,
    ticks: Vec<i64>,
}

impl Axis {
    /// Makes an axis of a stretch of time.
    pub(crate) fn time(span: Span) -> Self {
        let (ticks, step_us) = time_ticks(span.from, span.to);
        Self {
            kind: Kind::Time { step_us },
            from: span.from.0,
            to: span.to.0,
            ticks: ticks.into_iter().map(|at| at.0).collect(),
        }
    }

    /// Makes a linear axis of numbers in thousandths, from 0.
    pub(crate) fn numbers(most: i64, is_whole: bool) -> Self {
        Self::of(Kind::Number, number_ticks(most, is_whole))
    }

    /// Makes a linear axis of durations, from 0.
    pub(crate) fn durations(most: i64) -> Self {
        Self::of(Kind::Duration, duration_ticks(most))
    }

    /// Makes a logarithmic axis of durations.
    pub(crate) fn log(least: i64, most: i64) -> Self {
        Self::of(Kind::Log, log_ticks(least, most))
    }

    /// Makes an axis of rows, without ticks.
    pub(crate) fn rows(count: usize) -> Self {
        Self {
            kind: Kind::Number,
            from: 0,
            to: count.max(1) as i64 * 1_000,
            ticks: Vec::new(),
        }
    }

    /// Makes an axis from its first tick to its last.
    fn of(kind: Kind, ticks: Vec<i64>) -> Self {
        let (from, to) = (ticks.first(), ticks.last());
        Self {
            kind,
            from: from.copied().unwrap_or(0),
            to: to.copied().unwrap_or(1),
            ticks,
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = i64;

    fn map(&self, value: &i64, limit: (i32, i32)) -> i32 {
        let value = (*value).clamp(self.from, self.to);
        let place = |value: i64| {
            i128::from(match self.kind {
                Kind::Log => log2(value),
                _ => value,
            })
        };
        let (from, to) = (place(self.from), place(self.to));
        let along = (place(value) - from) * i128::from(limit.1 - limit.0);
        let pixels = along / (to - from).max(1);
        limit.0 + i32::try_from(pixels).unwrap_or(0)
    }

    /// Returns the ticks. plotters calls this function twice. The second call is for light lines, which our charts do
    /// not have, so it gets no ticks.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<i64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.clone()
    }

    fn range(&self) -> Range<i64> {
        self.from..self.to
    }
}

impl ValueFormatter<i64> for Axis {
    fn format_ext(&self, value: &i64) -> String {
        match self.kind {
            Kind::Time { step_us } => time_label(Time(*value), step_us),
            Kind::Number => number_label(*value),
            Kind::Duration | Kind::Log => duration_label(*value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_axis_has_the_same_length_for_each_power_of_ten() {
        let axis = Axis::log(10_000, 10_000_000);
        let places =
            [10_000, 100_000, 1_000_000, 10_000_000].map(|value| axis.map(&value, (300, 0)));
        assert_eq!(places, [300, 200, 100, 0]);
    }

    #[test]
    fn a_value_outside_an_axis_stands_at_its_end() {
        let axis = Axis::numbers(10_000, true);
        let places = [-5, 0, 5_000, i64::MAX].map(|value| axis.map(&value, (0, 100)));
        assert_eq!(places, [0, 0, 50, 100]);
        let all = Axis::time(Span {
            from: Time(i64::MIN),
            to: Time(i64::MAX),
        });
        assert_eq!(all.map(&0, (0, 100)), 50);
    }
}
