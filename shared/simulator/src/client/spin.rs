//! A loop that never waits, without its turns being made: they are counted from elapsed time and a stated rate.

use crate::time::{Time, micros};

/// Turns a second of a Go loop that formats and prints a line on each: the order of what the author of
/// docs/semantics/cases.md#ghost-you saw (millions of lines in 30 s).
const TURNS_PER_SEC: u64 = 100_000;

/// A loop that began to spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spin {
    pub(super) since: Time,
}

impl Spin {
    /// How often it turned until `now`.
    pub(super) fn turns(self, now: Time) -> u64 {
        let elapsed = u128::from(micros(now.since(self.since)));
        let turns = elapsed * u128::from(TURNS_PER_SEC) / 1_000_000;
        u64::try_from(turns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_minute_of_spinning_is_millions_of_turns() {
        let spin = Spin {
            since: Time::from_secs(10),
        };
        assert_eq!(spin.turns(Time::from_secs(10)), 0);
        assert_eq!(spin.turns(Time::from_secs(40)), 3_000_000);
    }
}
