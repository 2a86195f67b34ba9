//! What one answer of a search may cost, and what it has cost so far.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use watchscope_search::{Ended, HITS_MOST};

/// What one answer may cost. A limit is checked after each chapter, so an answer reads at least one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchLimits {
    /// Bytes of chapters and bodies from files, inflated.
    pub(crate) inflated_bytes: u64,
    /// Processor time of the thread that searches.
    pub(crate) processor: Duration,
    /// Hits, without held ones.
    pub(crate) hits: usize,
}

impl Default for SearchLimits {
    /// 64 MiB, 500 ms and [`HITS_MOST`] hits.
    fn default() -> Self {
        Self {
            inflated_bytes: 64 << 20,
            processor: Duration::from_millis(500),
            hits: HITS_MOST,
        }
    }
}

/// What an answer has cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) inflated_bytes: u64,
    pub(super) processor: Duration,
    pub(super) hits: usize,
}

impl Used {
    /// The limit that is reached, if one is.
    pub(super) fn reached(&self, limits: &SearchLimits) -> Option<Ended> {
        if self.hits >= limits.hits {
            Some(Ended::Hits)
        } else if self.inflated_bytes >= limits.inflated_bytes {
            Some(Ended::Inflated)
        } else if self.processor >= limits.processor {
            Some(Ended::Processor)
        } else {
            None
        }
    }
}

/// The processor time that this thread has used.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
