//! How long to wait: doubling delays with jitter, from integer tables and a seeded source.

use watchscope_model::Time;
use watchscope_model::chance::Chance;

/// After a failure: 0.8 s, doubling to 30 s, as client-go's reflector waits.
const FAILURE_MS: &[u64] = &[800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000];
/// After a refusal, which only a person or a controller can lift: from 30 s.
const REFUSAL_MS: &[u64] = &[30_000, 60_000];
/// Health that makes a failure or a refusal the first again.
const HEALTHY_MS: u64 = 120_000;
/// A history that expires within this time after the list before expires again and again.
const LASTING_MS: u64 = 60_000;

/// Delays that grow while failures follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    table: &'static [u64],
    /// Without another failure for this time the delays begin anew.
    healthy_ms: u64,
    step: usize,
    /// When the last delay ended.
    until: Option<Time>,
}

impl Backoff {
    /// For failures of the network or the server.
    pub(crate) fn for_failures() -> Self {
        Self::new(FAILURE_MS, HEALTHY_MS)
    }

    /// For histories that are gone (410), whatever failed before: the list that follows is late by this delay alone.
    pub(crate) fn for_expirations() -> Self {
        Self::new(FAILURE_MS, LASTING_MS)
    }

    /// For refusals.
    pub(crate) fn for_refusals() -> Self {
        Self::new(REFUSAL_MS, HEALTHY_MS)
    }

    fn new(table: &'static [u64], healthy_ms: u64) -> Self {
        Self {
            table,
            healthy_ms,
            step: 0,
            until: None,
        }
    }

    /// The next delay in milliseconds, drawn from [d, 2d), for a failure at `now`. A healthy while begins anew.
    pub(crate) fn next_ms(&mut self, now: Time, rng: &mut Chance) -> u64 {
        if self
            .until
            .is_some_and(|until| now.millis_since(until) >= self.healthy_ms)
        {
            self.step = 0;
        }
        let delay = jittered(self.table[self.step], rng);
        self.step = (self.step + 1).min(self.table.len() - 1);
        self.until = Some(now.plus_millis(delay));
        delay
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self) {
        self.step = 0;
    }
}

/// A number from [ms, 2 ms).
pub(crate) fn jittered(ms: u64, rng: &mut Chance) -> u64 {
    ms + below(ms, rng)
}

/// A number below `limit`, or 0. The bias of the remainder (under 2^-40 here) does not matter for delays.
pub(crate) fn below(limit: u64, rng: &mut Chance) -> u64 {
    if limit == 0 {
        0
    } else {
        rng.next_u64() % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_their_cap_within_their_jitter_and_begin_anew_after_two_healthy_minutes() {
        let mut rng = Chance::new(1);
        let mut backoff = Backoff::for_failures();
        let mut now = Time(0);
        for &expected in FAILURE_MS.iter().chain(&[30_000, 30_000]) {
            let delay = backoff.next_ms(now, &mut rng);
            assert!(
                (expected..2 * expected).contains(&delay),
                "{delay} of {expected}"
            );
            now = now.plus_millis(delay + 119_999);
        }
        now = now.plus_millis(1);
        assert!(backoff.next_ms(now, &mut rng) < 1_600);
    }
}
