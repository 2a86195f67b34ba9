//! The log's clock, on which the time of every record depends, and the `clock` events that a writer records.

use std::time::{Duration, SystemTime};

use watchscope_model::Time;
use watchscope_model::event::Clock as ClockEvent;

/// The departure of the wall clock, in microseconds, above which it is recorded.
const OFF_US: i64 = 1_000_000;
/// The pause of the writer, in microseconds, above which it is recorded. Diagnosis never waits a shorter time than this for
/// the events of others.
const PAUSE_US: i64 = 1_000_000;

/// A source of the log's time.
pub trait Clock: Send + Sync + 'static {
    /// The log's time: the wall clock at the start of the epoch, plus a monotonic clock that counts sleep. It never
    /// decreases.
    fn now(&self) -> Time;

    /// The wall clock, which people and time servers may set.
    fn wall(&self) -> Time;
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Time,
    uptime_at_start: Duration,
}

impl SystemClock {
    /// Makes a clock that starts at the present wall clock.
    #[must_use]
    pub fn start() -> Self {
        Self {
            start: wall(),
            uptime_at_start: uptime(),
        }
    }

    /// Makes a clock that starts at `start` and runs from now on.
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

/// Compares clocks for a writer that runs at least every 250 ms, and says which `clock` events are due.
#[derive(Debug)]
pub(super) struct ClockWatch {
    /// The wall clock less the log's clock when it was last recorded, in microseconds.
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

    /// Notes that the writer runs. Returns the event of a pause if it did not run for more than [`PAUSE_US`].
    pub(super) fn ran(&mut self, now: Time) -> Option<ClockEvent> {
        let paused_us = now.micros_since(self.ran_at);
        self.ran_at = now;
        let is_pause = paused_us > PAUSE_US;
        is_pause.then(|| self.event(u64::try_from(paused_us / 1_000).ok()))
    }

    /// Compares the wall clock with the log's. Returns an event if their difference changed by more than [`OFF_US`].
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

/// The time since some moment in the past, sleep included. On Linux only `CLOCK_BOOTTIME` counts sleep; elsewhere
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
