//! Formats numbers, durations, times and text widths as the page writes them.

use watchscope_model::Time;
use watchscope_model::time::{MILLISECOND_US, SECOND_US};

use crate::scene::Px;

/// Returns a number with commas between groups of three digits: `88,238,954`.
#[must_use]
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a resourceVersion as labels show it. A resourceVersion that has an order and fits in 64 bits is grouped as
/// by [`number`]; any other is returned unchanged.
#[must_use]
pub fn version(version: &watchscope_model::ResourceVersion) -> String {
    version.number().map_or_else(|| version.to_string(), number)
}

/// Returns a duration of µs in at most two units, cut off, not rounded; a negative duration counts as 0. Seconds have a
/// decimal only below 10 s. Examples: `412 ms`, `1.6 s`, `28 s`, `2 min 43 s`, `3 h 5 min`, `2 d 4 h`.
#[must_use]
pub fn duration(micros: i64) -> String {
    let micros = micros.max(0);
    if micros < MILLISECOND_US {
        return format!("{micros} µs");
    }
    if micros < SECOND_US {
        return format!("{} ms", micros / MILLISECOND_US);
    }
    let tenths = micros / (100 * MILLISECOND_US);
    if tenths < 100 && tenths % 10 != 0 {
        return format!("{}.{} s", tenths / 10, tenths % 10);
    }
    let seconds = micros / SECOND_US;
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large} {unit}")
        } else {
            format!("{large} {unit} {small} {small_unit}")
        }
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// Returns the time of day in UTC, cut to seconds: `09:35:28`.
#[must_use]
pub fn clock(at: Time) -> String {
    let civil = at.civil();
    format!("{:02}:{:02}:{:02}", civil.hour, civil.minute, civil.second)
}

/// Returns the time of day in UTC, cut to milliseconds: `09:35:28.911`.
#[must_use]
pub fn clock_ms(at: Time) -> String {
    format!("{}.{:03}", clock(at), at.civil().micros / 1_000)
}

/// Returns the date in UTC: `2026-11-19`.
#[must_use]
pub fn date(at: Time) -> String {
    let civil = at.civil();
    format!("{:04}-{:02}-{:02}", civil.year, civil.month, civil.day)
}

/// Returns the label in UTC of a tick, if ticks stand `step_us` µs apart: `11-19` from a day on, `09:35` from a minute
/// on, `09:35:28` from a second on, else `09:35:28.911`.
#[must_use]
pub fn tick(at: Time, step_us: i64) -> String {
    let civil = at.civil();
    if step_us >= 86_400 * SECOND_US {
        return format!("{:02}-{:02}", civil.month, civil.day);
    }
    if step_us >= 60 * SECOND_US {
        return format!("{:02}:{:02}", civil.hour, civil.minute);
    }
    if step_us >= SECOND_US {
        return clock(at);
    }
    clock_ms(at)
}

/// Returns bytes in the largest unit that fits, cut off, not rounded: `900 B`, `1.5 KiB`, `612 MiB`, `1 GiB`. A decimal
/// stands only below 10 units. GiB is the largest unit; above 1.6 EiB the words stay at `1,717,986,918 GiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((size, unit)) = units.into_iter().find(|(size, _)| value >= *size) else {
        return format!("{value} B");
    };
    // Tenths are rounded down, so that a part never reads as the whole.
    let tenths = value.saturating_mul(10) / size;
    match (tenths / 10, tenths % 10) {
        (whole, tenth) if whole < 10 && tenth > 0 => format!("{whole}.{tenth} {unit}"),
        (whole, _) => format!("{} {unit}", number(whole)),
    }
}

/// Returns a count with its noun, given in the singular: `1 object`, `2 objects`, `0 watches`. The plural adds `s`, or
/// `es` after `ch`.
#[must_use]
pub fn count(value: u64, noun: &str) -> String {
    let ending = match value {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", number(value))
}

/// Estimates how wide a text is, in px, for Noto Sans: the widest of the usual sans faces, and the face of pictures in
/// pixels. `size` is the font size in px; a CSS `weight` of 600 or more counts as bold. The width saturates; an empty
/// text has no width.
#[must_use]
pub fn text_width(text: &str, size: u8, weight: u16) -> Px {
    // Thousandths of the font size, by the shapes of a grotesque.
    let thousandths: i64 = text
        .chars()
        .map(|c| match c {
            ' ' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | '/' | 'i' | 'l' | 'I' | 'j' | 't'
            | 'f' | '(' | ')' | '[' | ']' | '·' => 278,
            '-' | 'r' => 333,
            'm' | 'w' | 'M' | 'W' | '%' => 850,
            'A'..='Z' | '→' | '≠' | '~' | '+' | '−' | '×' | '–' => 680,
            'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' => 500,
            _ => 556,
        })
        .sum();
    let bold = if weight >= 600 { 113 } else { 106 };
    Px(i32::try_from(thousandths * i64::from(size) * bold * 64 / 100_000).unwrap_or(i32::MAX))
}

/// Returns a duration, given in milliseconds, as [`duration`] formats it.
pub(crate) fn millis(millis: u64) -> String {
    duration(i64::try_from(millis.saturating_mul(1_000)).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_commas() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(88_238_954), "88,238,954");
    }

    #[test]
    fn a_count_has_its_noun_in_the_singular_or_plural() {
        assert_eq!(count(1, "watch"), "1 watch");
        assert_eq!(count(0, "watch"), "0 watches");
        assert_eq!(count(2_000, "lane"), "2,000 lanes");
    }

    #[test]
    fn durations_have_at_most_two_units() {
        let texts: Vec<String> = [
            12,
            412_000,
            1_600_000,
            28_000_000,
            30_400_000,
            163_000_000,
            11_100_000_000,
            187_200_000_000,
            60_000_000,
        ]
        .map(duration)
        .into();
        assert_eq!(
            texts,
            [
                "12 µs",
                "412 ms",
                "1.6 s",
                "28 s",
                "30 s",
                "2 min 43 s",
                "3 h 5 min",
                "2 d 4 h",
                "1 min"
            ]
        );
    }

    #[test]
    fn times_are_utc_and_ticks_show_the_decimals_that_their_distance_needs() {
        let at = Time::parse("2026-11-19T09:35:28.911Z").unwrap();
        assert_eq!(clock_ms(at), "09:35:28.911");
        assert_eq!(tick(at, 60_000_000), "09:35");
        assert_eq!(tick(at, 5_000_000), "09:35:28");
        assert_eq!(tick(at, 10_000), "09:35:28.911");
        assert_eq!(date(at), "2026-11-19");
    }

    #[test]
    fn bold_text_is_wider_and_wide_letters_count_more() {
        assert!(text_width("abc", 11, 600) > text_width("abc", 11, 400));
        assert!(text_width("mmm", 11, 400) > text_width("iii", 11, 400));
    }
}
