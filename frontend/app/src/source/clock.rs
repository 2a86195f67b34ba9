//! The server's clock as the browser sees it.

use watchscope_model::time::Time;

/// The difference between the server's clock and the browser's, from the messages that tell the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    offset_us: Option<i64>,
    /// Where the time stands, if it is not the clock's to go on: a lesson's goes as the person plays it.
    held: Option<Time>,
}

impl ServerClock {
    /// The server said it is `at`, when the browser's clock said `local`.
    pub fn set(&mut self, at: Time, local: Time) {
        let offset_us = at.micros_since(local);
        // A message that came late shows a server behind; the least delayed one is the best witness.
        self.offset_us = Some(
            self.offset_us
                .map_or(offset_us, |known| known.max(offset_us)),
        );
    }

    /// The server's time when the browser's clock says `local`; the browser's own until the server told its.
    #[must_use]
    pub fn now(&self, local: Time) -> Time {
        self.held
            .unwrap_or_else(|| local.plus_micros(self.offset_us.unwrap_or(0)))
    }

    /// From now on it is `at`, until it is held elsewhere.
    pub fn hold(&mut self, at: Time) {
        self.held = Some(at);
    }

    /// It goes on again.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Forgets the difference: another connection, perhaps another server, or a laptop that slept.
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
