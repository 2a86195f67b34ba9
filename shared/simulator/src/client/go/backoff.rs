//! client-go's exponential backoff (`wait.NewExponentialBackoffManager`). The delay starts at 0.8 s and doubles up to
//! 30 s. Jitter makes each delay up to twice as long. The backoff starts at 0.8 s again after 2 min without use.

use std::time::Duration;

use crate::random::Random;
use crate::time::{Time, micros};

/// The first delay, before jitter (docs/semantics/clients.md#reflector).
const FIRST: Duration = Duration::from_millis(800);
/// The longest delay, before jitter; once reached, this delay repeats (docs/semantics/clients.md#reflector).
const MOST: Duration = Duration::from_secs(30);
/// Time without use beyond which the backoff starts at its first delay again (docs/semantics/clients.md#reflector).
/// After exactly this time it goes on as before.
const FRESH_AFTER: Duration = Duration::from_secs(120);

/// The state of a backoff.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    next: Duration,
    used_at: Option<Time>,
    jitter: bool,
}

impl Backoff {
    pub(crate) fn new() -> Backoff {
        Backoff {
            next: FIRST,
            used_at: None,
            jitter: true,
        }
    }

    /// Returns a backoff without jitter.
    pub(crate) fn without_jitter() -> Backoff {
        Backoff {
            jitter: false,
            ..Backoff::new()
        }
    }

    /// Returns the next delay, and doubles the delay after it.
    pub(crate) fn step(&mut self, now: Time, random: &mut Random) -> Duration {
        if self.used_at.is_some_and(|at| now.since(at) > FRESH_AFTER) {
            self.reset();
        }
        self.used_at = Some(now);
        let base = self.next;
        self.next = (base * 2).min(MOST);
        if self.jitter {
            base + Duration::from_micros(random.between(0, micros(base).saturating_sub(1)))
        } else {
            base
        }
    }

    /// Makes the backoff start at its first delay again.
    pub(crate) fn reset(&mut self) {
        self.next = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_half_a_minute_and_are_fresh_after_two_quiet_minutes() {
        let mut backoff = Backoff::new();
        let mut random = Random::new(1);
        let mut now = Time::ZERO;
        for base_ms in [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000] {
            let waited = backoff.step(now, &mut random);
            let base = Duration::from_millis(base_ms);
            assert!(waited >= base && waited < base * 2, "{waited:?}");
            now = now + waited;
        }
        let later = now + Duration::from_secs(121);
        assert!(backoff.step(later, &mut random) < Duration::from_millis(1600));
    }
}
