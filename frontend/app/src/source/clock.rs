//! The server's clock as the browser sees it.

use watchscope_model::time::Time;

/// The difference between the server's clock and the browser's, from messages with the server's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    offset_us: Option<i64>,
    /// The time at which it stands still, if something else moves it: a lesson's time moves as the person plays it.
    held: Option<Time>,
}

impl ServerClock {
    /// Handles the server's time `at`, received at the browser's time `local`.
    pub fn set(&mut self, at: Time, local: Time) {
        let offset_us = at.micros_since(local);
        // A delayed message makes the server look behind, so the largest difference counts.
        self.offset_us = Some(
            self.offset_us
                .map_or(offset_us, |known| known.max(offset_us)),
        );
    }

    /// Returns the server's time at the browser's time `local`; the browser's own before the first message.
    #[must_use]
    pub fn now(&self, local: Time) -> Time {
        self.held
            .unwrap_or_else(|| local.plus_micros(self.offset_us.unwrap_or(0)))
    }

    /// Stands still at `at` until it is held elsewhere or released.
    pub fn hold(&mut self, at: Time) {
        self.held = Some(at);
    }

    /// Lets it run again.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Forgets the difference after a new connection: perhaps to another server, or after a laptop slept.
    pub fn reset(&mut self) {
        self.offset_us = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_delayed_message_tells_the_servers_time() {
        let mut clock = ServerClock::default();
        assert_eq!(clock.now(Time(7)), Time(7));
        clock.set(Time(1_000), Time(500));
        clock.set(Time(2_000), Time(1_900));
        assert_eq!(clock.now(Time(2_000)), Time(2_500));
    }

    #[test]
    fn a_clock_that_is_held_stands_still_whatever_else_tells_the_time() {
        let mut clock = ServerClock::default();
        clock.hold(Time(7));
        clock.set(Time(1_000), Time(500));
        assert_eq!(clock.now(Time(2_000)), Time(7));
        clock.reset();
        assert_eq!(clock.now(Time(2_000)), Time(7));
    }
}
