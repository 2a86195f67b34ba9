//! The cacher of a resource. The cacher's reflector over etcd keeps the watch cache up to date. Until the cacher is
//! ready, reads of the cache wait or are refused (docs/semantics/servers.md#cache-start).
//!
//! ```text
//!           ┌────────────── 1 s later: its watches end ───────────────┐
//!           ▼                                                          │
//!        listing ──► ready: watching etcd ── error ──► not ready ──────┘
//!                       ▲          │ InternalError, 1.25+, up to 30 s
//!                       └──────────┘ resumes, and trusts what it has (F24)
//! ```

use std::time::Duration;

use super::cache::WatchCache;
use super::dispatcher::Dispatcher;
use crate::etcd::WatcherId;
use crate::inside::{CacheLook, CacheState};
use crate::settings::ApiserverConfig;
use crate::time::Time;

/// The watch cache of a resource, with its reflector and its dispatcher (`Cacher` in the apiserver).
#[derive(Debug)]
pub(super) struct Cacher {
    pub(super) cache: WatchCache,
    pub(super) dispatcher: Dispatcher,
    pub(super) phase: Phase,
    /// When the cacher last became ready, or ceased to be ready.
    pub(super) since: Time,
    /// Counts the steps that the cacher has scheduled, so that an alarm of an earlier step is recognised.
    pub(super) attempt: u32,
    pub(super) watch: Option<WatcherId>,
    /// The last revision that the cacher's reflector saw.
    pub(super) last_seen: u64,
    /// When the first and the last internal error of the present streak happened; `None` without a streak.
    pub(super) streak: Option<(Time, Time)>,
}

/// The state of a cacher's reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The reflector failed, and the watches that the cache serves are still open.
    Failed,
    /// The reflector lists etcd.
    Listing,
    Ready,
}

impl Cacher {
    pub(super) fn new(now: Time, attempt: u32, config: &ApiserverConfig) -> Cacher {
        Cacher {
            cache: WatchCache::new(config),
            dispatcher: Dispatcher::new(now),
            phase: Phase::Listing,
            since: now,
            attempt,
            watch: None,
            last_seen: 0,
            streak: None,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Notes the watch of etcd that replaces the cacher's old one.
    pub(super) fn moved(&mut self, watch: WatcherId) {
        self.watch = Some(watch);
    }

    /// Returns the cache's state, for inside records.
    pub(super) fn look(&self) -> CacheLook {
        let (events, capacity) = self.cache.ring_size();
        CacheLook {
            state: match self.phase {
                Phase::Failed => CacheState::Failed,
                Phase::Listing => CacheState::Listing,
                Phase::Ready => CacheState::Ready,
            },
            revision: self.cache.revision(),
            oldest: self.cache.oldest_resumable(),
            events,
            capacity,
        }
    }

    /// Returns how long the cacher has not been ready.
    pub(super) fn downtime(&self, now: Time) -> Duration {
        now.since(self.since)
    }
}

/// Returns the Retry-After of a cache that is not ready: `clamp(e^(0.06·s), 1, 30)`, rounded down to whole seconds,
/// with the downtime s in seconds (docs/semantics/requests.md#not-ready). A table has the downtimes at which
/// Retry-After rises.
pub(super) fn retry_after_secs(downtime: Duration) -> u32 {
    /// Milliseconds of downtime from which Retry-After is 2, 3, … 30 s: ln(n) / 0.06 s for n seconds, rounded up
    /// (docs/semantics/requests.md#not-ready). A table gives the same result on every machine, where a logarithm might
    /// not.
    const FROM_MS: [u64; 29] = [
        11_553, 18_311, 23_105, 26_824, 29_863, 32_432, 34_658, 36_621, 38_377, 39_965, 41_416,
        42_750, 43_985, 45_135, 46_210, 47_221, 48_173, 49_074, 49_929, 50_743, 51_518, 52_259,
        52_968, 53_648, 54_302, 54_931, 55_537, 56_122, 56_687,
    ];
    let millis = u64::try_from(downtime.as_millis()).unwrap_or(u64::MAX);
    let reached = FROM_MS.partition_point(|from| *from <= millis);
    1 + u32::try_from(reached).unwrap_or(29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_cache_grows_with_its_downtime() {
        let at = |secs| retry_after_secs(Duration::from_secs(secs));
        assert_eq!(
            [0, 11, 12, 30, 40, 50, 56, 57, 3600].map(at),
            [1, 1, 2, 6, 11, 20, 28, 30, 30]
        );
    }
}
