//! The server's clock as the browser sees it.

use watchscope_model::time::Time;

/// The difference between the server's clock and the browser's, from the messages that tell the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerClock {
    offset_us: Option<i64>,
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
        local.plus_micros(self.offset_us.unwrap_or(0))
    }

    /// Forgets the difference: another connection, perhaps another server, or a laptop that slept.
    pub fn reset(&mut self) {
        *self = Self::default();
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
}
