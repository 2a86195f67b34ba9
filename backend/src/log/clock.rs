//! The log's clock, the one reader of time that records depend on, and the `clock` events that come of it.

use std::time::{Duration, SystemTime};

use watchscope_model::Time;
use watchscope_model::event::Clock as ClockEvent;

/// A departure of the wall clock beyond this is recorded, in microseconds.
const OFF_US: i64 = 1_000_000;
/// A time in which the writer did not run is recorded if it is longer than this, in microseconds. Diagnosis never waits
/// for others for less.
const PAUSE_US: i64 = 1_000_000;

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

    /// A clock that starts at another time.
    #[must_use]
    pub fn start_at(start: Time) -> Self {
        Self {
            start,
            ..Self::start()
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

/// Watches the clock for a writer that looks at least every 250 ms, and says which `clock` events are due.
#[derive(Debug)]
pub(super) struct ClockWatch {
    /// How far the wall clock is off the log's.
    off_us: i64,
    /// When the writer last ran.
    ran_at: Time,
}

impl ClockWatch {
    pub(super) fn new(now: Time) -> Self {
        Self {
            off_us: 0,
            ran_at: now,
        }
    }

    /// The writer runs: the event of a pause if it did not run for too long.
    pub(super) fn ran(&mut self, now: Time) -> Option<ClockEvent> {
        let paused_us = now.micros_since(self.ran_at);
        self.ran_at = now;
        let is_pause = paused_us > PAUSE_US;
        is_pause.then(|| self.event(u64::try_from(paused_us / 1_000).ok()))
    }

    /// Compares the clocks: the event of a wall clock that has departed.
    pub(super) fn compare(&mut self, clock: &dyn Clock) -> Option<ClockEvent> {
        let off_us = clock.wall().micros_since(clock.now());
        if (off_us - self.off_us).abs() <= OFF_US {
            return None;
        }
        self.off_us = off_us;
        Some(self.event(None))
    }

    fn event(&self, paused_ms: Option<u64>) -> ClockEvent {
        let off_ms = self.off_us / 1_000;
        ClockEvent { off_ms, paused_ms }
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
