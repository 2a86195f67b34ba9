//! A loop that never waits. The simulator does not run the loop's iterations: it computes their number from elapsed
//! time and a fixed rate.

use crate::time::{Time, micros};

/// The number of iterations per second of a Go loop that formats and prints a line in each iteration. The author of
/// docs/semantics/cases.md#ghost-you saw this order of magnitude (millions of lines in 30 s).
const ITERATIONS_PER_SEC: u64 = 100_000;

/// A loop that spins, with the time at which it began to spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spin {
    pub(super) since: Time,
}

impl Spin {
    /// Returns the number of iterations of the loop until `now`.
    pub(super) fn iterations(self, now: Time) -> u64 {
        let elapsed = u128::from(micros(now.since(self.since)));
        let iterations = elapsed * u128::from(ITERATIONS_PER_SEC) / 1_000_000;
        u64::try_from(iterations).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_minute_of_spinning_is_millions_of_iterations() {
        let spin = Spin {
            since: Time::from_secs(10),
        };
        assert_eq!(spin.iterations(Time::from_secs(10)), 0);
        assert_eq!(spin.iterations(Time::from_secs(40)), 3_000_000);
    }
}
