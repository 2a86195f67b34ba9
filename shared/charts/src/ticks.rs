//! The ticks of an axis and their labels, from tables of round numbers.

use watchscope_model::Time;
use watchscope_model::time::{MILLISECOND_US, SECOND_US};
use watchscope_timeline::format::{duration, number, tick};

/// A minute, in microseconds.
const MINUTE_US: i64 = 60 * SECOND_US;
/// An hour, in microseconds.
const HOUR_US: i64 = 60 * MINUTE_US;
/// A day, in microseconds.
const DAY_US: i64 = 24 * HOUR_US;

/// Round lengths of time, in microseconds, rising: the distances between the ticks of a time axis and of a linear axis
/// of durations. Each length shorter than a day divides a day, so the ticks of a time axis stand at round times. A
/// length above the last one is a multiple of 365 days. The choice of lengths has no other source.
const TIME_STEPS: [i64; 33] = [
    MILLISECOND_US,
    2 * MILLISECOND_US,
    5 * MILLISECOND_US,
    10 * MILLISECOND_US,
    20 * MILLISECOND_US,
    50 * MILLISECOND_US,
    100 * MILLISECOND_US,
    200 * MILLISECOND_US,
    500 * MILLISECOND_US,
    SECOND_US,
    2 * SECOND_US,
    5 * SECOND_US,
    10 * SECOND_US,
    15 * SECOND_US,
    30 * SECOND_US,
    MINUTE_US,
    2 * MINUTE_US,
    5 * MINUTE_US,
    10 * MINUTE_US,
    15 * MINUTE_US,
    30 * MINUTE_US,
    HOUR_US,
    2 * HOUR_US,
    3 * HOUR_US,
    6 * HOUR_US,
    12 * HOUR_US,
    DAY_US,
    2 * DAY_US,
    5 * DAY_US,
    10 * DAY_US,
    30 * DAY_US,
    100 * DAY_US,
    365 * DAY_US,
];

/// Durations at which a log axis has ticks, in microseconds, rising. Each duration is 6 to 10 times the one before, and
/// its label has one unit and no fraction. A duration below the first or above the last of them stands at that end of
/// the axis. The choice of durations has no other source.
const LOG_TICKS: [i64; 16] = [
    1,
    10,
    100,
    MILLISECOND_US,
    10 * MILLISECOND_US,
    100 * MILLISECOND_US,
    SECOND_US,
    10 * SECOND_US,
    MINUTE_US,
    10 * MINUTE_US,
    HOUR_US,
    10 * HOUR_US,
    4 * DAY_US,
    40 * DAY_US,
    400 * DAY_US,
    4_000 * DAY_US,
];

/// The most steps between the ticks of a time axis, so it has at most 9 ticks. For a longer span, the steps are longer.
/// In a chart of 640 px, the axis is 536 px wide, so ticks are about 67 px or more apart. A label with seconds is about
/// 46 px wide. A label with milliseconds is about 68 px wide and may touch its neighbour. The number has no other
/// source.
pub const MOST_TICKS: i64 = 8;

/// Returns the shortest round length of time, in microseconds, that fits at most `most` times into `span_us`. The
/// length is at least 1 ms, even for a span of 0 or below. If no length of the table is long enough, the result is a
/// multiple of 365 days, not always the shortest. A `most` below 1 counts as 1. For a `most` above 1,000, the length
/// may fit up to a thousandth more often than `most` times.
#[must_use]
pub fn time_step(span_us: i64, most: i64) -> i64 {
    let most = most.max(1);
    let fits = |step: &&i64| **step >= span_us.div_euclid(most);
    let round = TIME_STEPS.iter().find(fits).copied();
    round.unwrap_or_else(|| {
        let year = 365 * DAY_US;
        let years = span_us.div_euclid(most).div_euclid(year) + 1;
        year.saturating_mul(years)
    })
}

/// Returns the round times of a stretch, rising, and their distance in microseconds. Both ends belong to the stretch.
/// At most [`MOST_TICKS`] + 1 times are returned. The list is empty if no whole millisecond lies in the stretch, or if
/// it ends before it begins.
#[must_use]
pub fn time_ticks(from: Time, to: Time) -> (Vec<Time>, i64) {
    let step = time_step(to.micros_since(from), MOST_TICKS);
    let mut at = from.0.div_euclid(step).saturating_mul(step);
    let mut ticks = Vec::new();
    while at <= to.0 && ticks.len() as i64 <= MOST_TICKS {
        if at >= from.0 {
            ticks.push(Time(at));
        }
        let Some(next) = at.checked_add(step) else {
            break;
        };
        at = next;
    }
    (ticks, step)
}

/// Returns the label of a tick of time, in UTC: `09:31:15`. The label has milliseconds if `step_us`, the distance of
/// ticks, is less than 1 s, and has no seconds from 1 min on. From 1 day on, the label is a date, `11-19`. If the ticks
/// are at least 1 s apart, the label of midnight is its date, too.
#[must_use]
pub fn time_label(at: Time, step_us: i64) -> String {
    let begins_day = at.0.rem_euclid(DAY_US) == 0 && step_us >= SECOND_US;
    tick(at, if begins_day { DAY_US } else { step_us })
}

/// Returns ticks from 0 to `most` thousandths or the next tick above it: rising, two to five of them. The ticks are 1,
/// 2 or 5 times a power of ten apart. If `is_whole`, the ticks are whole numbers (multiples of 1,000). A `most` below 1
/// counts as 1, and a `most` over `i64::MAX / 16` as that number.
#[must_use]
pub fn number_ticks(most: i64, is_whole: bool) -> Vec<i64> {
    let most = most.clamp(1, i64::MAX / 16);
    let mut step = if is_whole { 1_000 } else { 1 };
    let mut factors = [2, 5, 10].iter().cycle();
    let mut base = step;
    // At most four steps, so five ticks.
    while step * 4 < most {
        let factor = *factors.next().unwrap_or(&10);
        step = base * factor;
        if factor == 10 {
            base = step;
        }
    }
    let count = (most + step - 1) / step;
    (0..=count).map(|place| place * step).collect()
}

/// Returns the label of a tick given in thousandths: `0.5`, `1,200`. The label has no sign.
#[must_use]
pub fn number_label(thousandths: i64) -> String {
    let value = thousandths.unsigned_abs();
    let mut text = number(value / 1_000);
    if !value.is_multiple_of(1_000) {
        let decimals = format!("{:03}", value % 1_000);
        text.push('.');
        text.push_str(decimals.trim_end_matches('0'));
    }
    text
}

/// Returns the ticks of a log axis for durations from `least` to `most` microseconds: rising, three to nine of them. If
/// there would be more than seven, every other tick is returned, counted down from the last, and one tick at or below
/// `least`. A `least` below 1 counts as 1, and a `least` above `most` as `most`. The last possible tick is at 4,000
/// days, whatever `most` is.
#[must_use]
pub fn log_ticks(least: i64, most: i64) -> Vec<i64> {
    let last = LOG_TICKS.len() - 1;
    let above = LOG_TICKS.iter().position(|tick| *tick >= most);
    let end = above.unwrap_or(last).max(2);
    let below = LOG_TICKS.iter().rposition(|tick| *tick <= least.max(1));
    let begin = below.unwrap_or(0).min(end - 2);
    let every = if end - begin > 6 { 2 } else { 1 };
    let mut ticks: Vec<i64> = LOG_TICKS[begin..=end]
        .iter()
        .rev()
        .copied()
        .step_by(every)
        .collect();
    // The tick below holds the part of the axis that the step left out.
    if ticks.last() != Some(&LOG_TICKS[begin]) {
        ticks.push(LOG_TICKS[begin.saturating_sub(1)]);
    }
    ticks.reverse();
    ticks
}

/// Returns the ticks of a linear axis of durations, in microseconds: rising from 0, two to six of them. The last tick
/// is `most` or above it, but at most [`i64::MAX`]. A `most` below 1 counts as 1.
#[must_use]
pub fn duration_ticks(most: i64) -> Vec<i64> {
    let most = most.max(1);
    let step = time_step(most, 4);
    let count = (most - 1) / step + 1;
    (0..=count)
        .map(|place| place.saturating_mul(step))
        .collect()
}

/// Returns the label of a tick of a duration, given in µs: `0` for 0, else the words of [`duration`].
#[must_use]
pub fn duration_label(micros: i64) -> String {
    if micros == 0 {
        "0".to_owned()
    } else {
        duration(micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(from: &str, lasts_s: i64) -> String {
        let from = Time::parse(from).unwrap();
        let (ticks, step) = time_ticks(from, from.plus_micros(lasts_s * SECOND_US));
        let labels: Vec<String> = ticks.iter().map(|at| time_label(*at, step)).collect();
        labels.join(" ")
    }

    #[test]
    fn ticks_of_durations_reach_the_longest_that_a_recording_can_claim() {
        for most in [i64::MIN, 0, 1, i64::MAX / 2, i64::MAX - 1, i64::MAX] {
            let ticks = duration_ticks(most);
            assert!((2..=6).contains(&ticks.len()), "{most}: {ticks:?}");
            assert!(
                ticks.is_sorted() && ticks.last() >= Some(&most),
                "{most}: {ticks:?}"
            );
        }
    }

    #[test]
    fn ticks_of_time_stand_at_round_times_and_midnight_has_its_date() {
        insta::assert_snapshot!(times("2026-11-18T23:00:00Z", 36_000), @"11-19 02:00 04:00 06:00 08:00");
        insta::assert_snapshot!(times("2026-11-19T09:31:02Z", 90), @"09:31:15 09:31:30 09:31:45 09:32:00 09:32:15 09:32:30");
        insta::assert_snapshot!(times("2026-11-19T09:31:02Z", 1), @"09:31:02.000 09:31:02.200 09:31:02.400 09:31:02.600 09:31:02.800 09:31:03.000");
        insta::assert_snapshot!(times("2026-11-19T09:31:02Z", 600), @"09:32 09:34 09:36 09:38 09:40");
        insta::assert_snapshot!(times("2026-11-19T09:31:02Z", 86_400 * 30), @"11-23 11-28 12-03 12-08 12-13 12-18");
    }

    #[test]
    fn ticks_of_time_are_at_most_nine_whatever_the_span() {
        let mut span = 1;
        while span < i64::MAX / 8 {
            let (ticks, _) = time_ticks(Time(0), Time(span));
            assert!(!ticks.is_empty() && ticks.len() <= 9, "{span}: {ticks:?}");
            span = span * 2 + span / 3 + 1;
        }
        assert!(time_ticks(Time(i64::MIN), Time(i64::MAX)).0.len() <= 9);
    }

    #[test]
    fn ticks_of_numbers_are_one_two_or_five_times_a_power_of_ten_apart() {
        let labels = |most, is_whole| {
            let ticks = number_ticks(most, is_whole);
            let labels: Vec<String> = ticks.iter().map(|tick| number_label(*tick)).collect();
            labels.join(" ")
        };
        insta::assert_snapshot!(labels(61_000, false), @"0 20 40 60 80");
        insta::assert_snapshot!(labels(3_000, true), @"0 1 2 3");
        insta::assert_snapshot!(labels(350, false), @"0 0.1 0.2 0.3 0.4");
        insta::assert_snapshot!(labels(0, true), @"0 1");
        insta::assert_snapshot!(labels(1_234_567_000, true), @"0 500,000 1,000,000 1,500,000");
        assert!(number_ticks(i64::MAX, false).len() <= 6);
    }

    #[test]
    fn a_log_axis_holds_all_its_durations_with_few_ticks() {
        let labels = |least, most| {
            let ticks = log_ticks(least, most);
            let labels: Vec<String> = ticks.iter().map(|tick| duration_label(*tick)).collect();
            labels.join(" ")
        };
        insta::assert_snapshot!(labels(20_000, 2_300_000), @"10 ms 100 ms 1 s 10 s");
        insta::assert_snapshot!(labels(0, 0), @"1 µs 10 µs 100 µs");
        insta::assert_snapshot!(labels(50_000, 590_000_000), @"10 ms 100 ms 1 s 10 s 1 min 10 min");
        insta::assert_snapshot!(labels(1, i64::MAX), @"1 µs 10 µs 1 ms 100 ms 10 s 10 min 10 h 40 d 4000 d");
        for least in LOG_TICKS {
            for most in LOG_TICKS {
                let ticks = log_ticks(least, most);
                let holds = |value: i64| ticks[0] <= value && value <= ticks[ticks.len() - 1];
                assert!(holds(least) || least > most, "{least} {most} {ticks:?}");
                assert!(holds(most) || least > most, "{least} {most} {ticks:?}");
            }
        }
    }
}
