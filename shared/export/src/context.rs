//! The time that charts show around a range.

use watchscope_model::Time;

/// The length of the charts' time as a multiple of the range, unless a person chooses another length. A shorter
/// recording makes it shorter. With this number, which has no source, the range is a tenth of a chart, about 54 px.
const CONTEXT: i64 = 10;

/// Returns the time that charts show around a range, as begin and end of the charts' time. The charts' time always
/// contains the range. It reaches equally far before and after the range, within the recorded time `all`. Time that
/// `all` lacks on one side of the range is added on the other side. Neither `all` nor the range may end before its own
/// begin; else the result is meaningless.
///
/// `wanted_us` is the wanted length in microseconds. With `None`, the length is ten times the range, so 0 for a range
/// of 0. The length is at least that of the range, and at most that of the longer of the range and `all`. A part of the
/// range outside of `all` may lengthen the result further.
#[must_use]
pub fn context(
    (from, to): (Time, Time),
    wanted_us: Option<i64>,
    all: (Time, Time),
) -> (Time, Time) {
    let range_us = to.micros_since(from);
    let wanted_us = wanted_us.unwrap_or_else(|| range_us.saturating_mul(CONTEXT));
    let wanted_us = wanted_us.clamp(range_us, all.1.micros_since(all.0).max(range_us));
    let before_us = (wanted_us - range_us) / 2;
    // Time that is missing on one side is added on the other.
    let latest = all.1.plus_micros(-wanted_us).min(from);
    let begin = from
        .plus_micros(-before_us)
        .min(latest)
        .max(all.0.min(from));
    (begin, begin.plus_micros(wanted_us).max(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_show_time_around_the_range_and_none_outside_the_recording() {
        let look = |from, to, wanted: Option<i64>| {
            let (from, to) = context((Time(from), Time(to)), wanted, (Time(0), Time(1_000)));
            (from.0, to.0)
        };
        assert_eq!(look(500, 520, None), (410, 610));
        assert_eq!(look(500, 520, Some(40)), (490, 530));
        assert_eq!(
            look(500, 520, Some(5)),
            (500, 520),
            "never less than the range"
        );
        assert_eq!(look(10, 30, None), (0, 200));
        assert_eq!(look(980, 1_000, None), (800, 1_000));
        assert_eq!(look(400, 700, None), (0, 1_000));
    }
}
