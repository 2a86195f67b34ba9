//! The log's clock: the one reader of time that records depend on.

use std::time::{Duration, SystemTime};

use watchscope_model::Time;

/// Tells the time of the log.
pub trait Clock: Send + Sync + 'static {
    /// Wall clock at the start of the epoch plus a monotonic clock that counts sleep. Never decreases.
    fn now(&self) -> Time;

    /// The wall clock, which people and time servers may set.
    fn wall(&self) -> Time;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Time,
    uptime_at_start: Duration,
}

impl SystemClock {
    /// A clock that starts at the wall clock of now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            start: wall(),
            uptime_at_start: uptime(),
        }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let passed = uptime().saturating_sub(self.uptime_at_start);
        self.start
            .plus_micros(i64::try_from(passed.as_micros()).unwrap_or(i64::MAX))
    }

    fn wall(&self) -> Time {
        wall()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of the wall clock: it starts the epoch, and its departures are recorded"
)]
fn wall() -> Time {
    let since_1970 = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    Time(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

/// Time since some moment in the past, sleep included. Linux counts sleep in `CLOCK_BOOTTIME` alone; elsewhere
/// `CLOCK_MONOTONIC` does.
fn uptime() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let now = rustix::time::clock_gettime(CLOCK);
    Duration::new(
        u64::try_from(now.tv_sec).unwrap_or(0),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_at_the_wall_clock_and_never_goes_back() {
        let before = wall();
        let clock = SystemClock::start();
        let mut last = clock.now();
        assert!(last >= before);
        for _ in 0..1_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(clock.wall().micros_since(last).abs() < 1_000_000);
    }
}
