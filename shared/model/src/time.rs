//! Times in the log: microseconds since the Unix epoch in UTC, and their RFC 3339 form.

use std::fmt;

/// A time in the log, in microseconds since 1970-01-01T00:00:00Z.
///
/// The `at` of a record is the wall clock at the start of the log's epoch, plus the time since then on a monotonic
/// clock. In a simulated log it is virtual time. In both cases `at` never decreases within an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(
    /// Microseconds since the Unix epoch; negative before it.
    pub i64,
);

/// Microseconds in a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds in a millisecond.
pub const MILLISECOND_US: i64 = 1_000;

impl Time {
    /// This time plus `micros` microseconds; a negative number gives an earlier time. The result saturates.
    #[must_use]
    pub fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }

    /// This time plus `millis` milliseconds; the result saturates.
    #[must_use]
    pub fn plus_millis(self, millis: u64) -> Self {
        let millis = i64::try_from(millis).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis.saturating_mul(MILLISECOND_US)))
    }

    /// Whole milliseconds from `earlier` to this time, rounded down; 0 if `earlier` is later. The difference saturates
    /// at [`i64::MAX`] microseconds.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0) / MILLISECOND_US).unwrap_or(0)
    }

    /// Microseconds from `earlier` to this time; negative if `earlier` is later. The result saturates.
    #[must_use]
    pub fn micros_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The calendar fields of this time in UTC.
    #[must_use]
    pub fn civil(self) -> Civil {
        let micros_of_day = self.0.rem_euclid(86_400 * SECOND_US);
        let (year, month, day) = date_from_days(self.0.div_euclid(86_400 * SECOND_US));
        let seconds = micros_of_day / SECOND_US;
        Civil {
            year,
            month,
            day,
            hour: (seconds / 3_600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (micros_of_day % SECOND_US) as u32,
        }
    }

    /// Parses the RFC 3339 form in UTC (`Z`) with at most nine decimals, and cuts decimals below a microsecond. Each
    /// number of date and time may have one to four digits, so the year is 0 to 9999. Second 60, a leap second, is
    /// second 0 of the next minute. `None` for any other text, and for a day that the month does not have.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_once('T')?;
        let clock = rest.strip_suffix('Z')?;
        let (clock, decimals) = clock.split_once('.').unwrap_or((clock, "0"));
        let [year, month, day] = numbers(date, '-')?;
        let [hour, minute, second] = numbers(clock, ':')?;
        let in_range = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 61;
        let are_decimals =
            (1..=9).contains(&decimals.len()) && decimals.bytes().all(|byte| byte.is_ascii_digit());
        if !in_range || !are_decimals {
            return None;
        }
        let digits = decimals.bytes().chain(std::iter::repeat(b'0')).take(6);
        let micros = digits.fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0'));
        let days = days_from_date(year, month, day);
        if i64::from(date_from_days(days).2) != day {
            return None;
        }
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
        Some(Self(seconds * SECOND_US + micros))
    }
}

/// The calendar fields of a [`Time`] in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year, proleptic Gregorian; 0 is 1 BC.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
    /// Microseconds within the second, 0 to 999,999.
    pub micros: u32,
}

/// RFC 3339 in UTC with six decimals, the form of every `at` in JSON. A year before 0 has a minus, and one after 9999
/// has more than four digits. RFC 3339 has no such years, and [`Time::parse`] does not read them.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            micros,
        } = self.civil();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"
        )
    }
}

impl serde::Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut next = || {
        let part = parts.next()?;
        let plain = !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
        if plain { part.parse().ok() } else { None }
    };
    let all = [next()?, next()?, next()?];
    parts.next().is_none().then_some(all)
}

/// Converts days since 1970-01-01 to (year, month, day). The year is counted from March, so the leap day comes last.
fn date_from_days(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u8, day as u8)
}

/// Converts (year, month, day) to days since 1970-01-01; the inverse of [`date_from_days`].
fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use time::{OffsetDateTime, format_description::well_known::Rfc3339};

    #[test]
    fn the_epoch_and_a_leap_day_read_as_in_the_calendar() {
        assert_eq!(Time(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            Time(1_709_164_800_000_001).to_string(),
            "2024-02-29T00:00:00.000001Z"
        );
    }

    #[test]
    fn a_text_that_is_no_utc_time_is_refused() {
        for text in [
            "",
            "2024-01-01",
            "2024-13-01T00:00:00Z",
            "2024-01-01T00:00:00+01:00",
            "a-b-cT0:0:0Z",
            "2024-01-01T00:00:00.123456abcZ",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00.1234567890Z",
            "2023-02-29T00:00:00Z",
            "2024-04-31T00:00:00Z",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn our_rfc3339_agrees_with_the_time_crate_and_reads_back(micros in -60_000_000_000_000_000_i64..250_000_000_000_000_000) {
            let ours = Time(micros);
            let theirs = OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000).unwrap();
            prop_assert_eq!(OffsetDateTime::parse(&ours.to_string(), &Rfc3339).unwrap(), theirs);
            prop_assert_eq!(Time::parse(&ours.to_string()), Some(ours));
            prop_assert_eq!(Time::parse(&theirs.format(&Rfc3339).unwrap()), Some(ours));
        }
    }
}
