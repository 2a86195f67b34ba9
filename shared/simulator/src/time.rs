//! Virtual time, in microseconds since the world began, and its timestamps on the cluster's wall clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time as TimeOfDay};

/// A point in virtual time, in whole microseconds since the world began. Adding a duration stops at [`Time::MAX`], and
/// subtracting a duration stops at [`Time::ZERO`]; a fraction of a microsecond is cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The time at which the world began.
    pub const ZERO: Time = Time(0);
    /// The latest virtual time: 2^64 - 1 µs, or about 585,000 years. No event comes after this time.
    pub const MAX: Time = Time(u64::MAX);

    /// Returns the time `micros` microseconds after the world began.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros)
    }

    /// Returns the time `secs` seconds after the world began, at most [`Time::MAX`].
    pub const fn from_secs(secs: u64) -> Time {
        Time(secs.saturating_mul(1_000_000))
    }

    /// Returns the microseconds since the world began.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the duration from `earlier` to this time; zero if `earlier` is later than this time.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(micros(span)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(micros(span)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}s", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// Returns the whole microseconds of a duration, at most `u64::MAX`.
pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// The cluster's wall clock, which gives objects their timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wall {
    /// Unix time, in microseconds, of [`Time::ZERO`].
    pub(crate) epoch_us: i64,
}

impl Wall {
    /// Returns the timestamp of a virtual time as metav1.Time writes it, in whole seconds: `2026-11-21T09:00:00Z`.
    pub(crate) fn seconds(self, at: Time) -> String {
        let t = self.date_time(at);
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second()
        )
    }

    /// Returns the timestamp of a virtual time as metav1.MicroTime writes it (leases, events):
    /// `2026-11-21T09:00:00.000000Z`.
    pub(crate) fn with_micros(self, at: Time) -> String {
        let t = self.date_time(at);
        let mut text = self.seconds(at);
        text.truncate(text.len() - 1);
        format!("{text}.{:06}Z", t.microsecond())
    }

    /// Returns the whole seconds from the timestamp `text` to `now`; `None` if `text` does not have the form that the
    /// simulator writes.
    pub(crate) fn age_secs(self, text: &str, now: Time) -> Option<i64> {
        let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<u16>().ok();
        let small = |range: std::ops::Range<usize>| u8::try_from(part(range)?).ok();
        let month = Month::try_from(small(5..7)?).ok()?;
        let date = Date::from_calendar_date(i32::from(part(0..4)?), month, small(8..10)?).ok()?;
        let time = TimeOfDay::from_hms(small(11..13)?, small(14..16)?, small(17..19)?).ok()?;
        let then = PrimitiveDateTime::new(date, time).assume_utc();
        Some(self.date_time(now).unix_timestamp() - then.unix_timestamp())
    }

    fn date_time(self, at: Time) -> OffsetDateTime {
        let unix_us = i128::from(self.epoch_us) + i128::from(at.as_micros());
        OffsetDateTime::from_unix_timestamp_nanos(unix_us * 1000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

/// Returns a duration as kubectl prints ages: `45s`, `3m20s`, `17m`, `5h10m`, `12h`, `3d4h`, `40d`, `2y10d`.
///
/// The steps are those of apimachinery's `duration.HumanDuration`.
pub(crate) fn human_duration(secs: i64) -> String {
    if secs < -1 {
        return "<invalid>".to_owned();
    }
    let secs = secs.max(0);
    let minutes = secs / 60;
    let hours = minutes / 60;
    let days = hours / 24;
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{big}{unit}")
        } else {
            format!("{big}{unit}{small}{small_unit}")
        }
    };
    if secs < 120 {
        format!("{secs}s")
    } else if minutes < 10 {
        two(minutes, "m", secs % 60, "s")
    } else if hours < 3 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else if days < 365 * 2 {
        format!("{days}d")
    } else if days < 365 * 8 {
        two(days / 365, "y", days % 365, "d")
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wall clock of these tests.
    const WALL: Wall = Wall {
        epoch_us: 1_795_251_600_000_000,
    };

    #[test]
    fn timestamps_read_as_kubernetes_writes_them() {
        let at = Time::from_micros(61_000_042);
        assert_eq!(WALL.seconds(at), "2026-11-21T09:01:01Z");
        assert_eq!(WALL.with_micros(at), "2026-11-21T09:01:01.000042Z");
    }

    #[test]
    fn an_age_is_counted_from_the_timestamp() {
        let at = Time::from_secs(100);
        let text = WALL.seconds(at);
        assert_eq!(WALL.age_secs(&text, Time::from_secs(190)), Some(90));
        assert_eq!(WALL.age_secs("yesterday", at), None);
        assert_eq!(WALL.age_secs("2026-11-2\u{e9}T09:01:01Z", at), None);
    }

    #[test]
    fn ages_are_rounded_like_kubectl_rounds_them() {
        let shown: Vec<String> = [0, 119, 120, 200, 1_020, 18_600, 60_000, 270_000, 3_456_000]
            .map(human_duration)
            .into();
        assert_eq!(
            shown,
            [
                "0s", "119s", "2m", "3m20s", "17m", "5h10m", "16h", "3d3h", "40d"
            ]
        );
    }
}
