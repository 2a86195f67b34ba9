//! Delays between tries. They double and have jitter, and come from integer tables and a seeded source of random
//! numbers.

use watchscope_model::Time;
use watchscope_model::chance::Chance;

/// Delays in ms after failures and expired histories (410): 0.8 s, doubling to 30 s, as in client-go's reflector
/// (docs/semantics/clients.md#reflector). Jitter of up to the same time comes on top. The last delay repeats.
const FAILURE_MS: &[u64] = &[800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000];
/// Delays in ms after refusals: 30 s, then 60 s. Jitter of up to the same time comes on top. The last delay repeats.
/// Only a person or a controller can change the answer. The delays have no source: the first is the longest delay after
/// failures.
const REFUSAL_MS: &[u64] = &[30_000, 60_000];
/// The time in ms from the end of the last delay from which on the next failure or refusal counts as the first. The
/// time is 2 min, as in client-go's reflector (docs/semantics/clients.md#reflector).
const HEALTHY_MS: u64 = 120_000;
/// The time in ms from the end of the last delay within which an expired history (410) counts as repeated. The list did
/// then not help, and the next delay is longer. From this time on an expiry counts as the first. The number has no
/// source: a watch cache aims at 75 s of history (docs/semantics/servers.md#ring), so a list that helps lasts longer.
const LASTING_MS: u64 = 60_000;

/// Delays that grow from one failure to the next.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    table: &'static [u64],
    /// The time in ms from the last delay's end after which the delays begin again with the first.
    healthy_ms: u64,
    step: usize,
    /// When the last delay ended or will end.
    until: Option<Time>,
}

impl Backoff {
    /// Delays for failures of the network or the server.
    pub(crate) fn for_failures() -> Self {
        Self::new(FAILURE_MS, HEALTHY_MS)
    }

    /// Delays for expired histories (410), separate from the delays for failures: an earlier failure must not make the
    /// next list later.
    pub(crate) fn for_expirations() -> Self {
        Self::new(FAILURE_MS, LASTING_MS)
    }

    /// Delays for refusals.
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

    /// The next delay in milliseconds for a failure at `now`, drawn from [d, 2d). d is the first delay again if
    /// [`Self::healthy_ms`] passed since the end of the last delay.
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

    /// Makes the next delay the first one.
    pub(crate) fn reset(&mut self) {
        self.step = 0;
    }
}

/// A number drawn from [ms, 2 ms).
pub(crate) fn jittered(ms: u64, rng: &mut Chance) -> u64 {
    ms + below(ms, rng)
}

/// A number below `limit`; 0 if `limit` is 0. The remainder's bias (under 2^-40 here) does not matter for delays.
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
    fn delays_double_to_their_cap_within_their_jitter_and_begin_again_after_120_healthy_seconds() {
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
