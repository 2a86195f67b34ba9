//! The search of a log: hits as JSON lines, the newest first.
//!
//! ```text
//!   request ─► Work ◄─ chapters from the newest back (memory, files) ◄─ the index passes over chapters without a hit
//!                └─► hits ─► lines ─► the last line: where to go on, and what was searched
//! ```
//! The stream is pulled: each pull searches one chapter on a thread that may block. So a viewer that does not read costs
//! nothing, and dropping the stream ends the search before the next segment.

mod bodies;
mod limits;
mod request;
mod running;
mod source;
#[cfg(test)]
pub(crate) mod tests;
mod work;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use watchscope_search::Index;

pub(crate) use self::limits::SearchLimits;
use self::running::{RunningSearch, RunningSearches};
use self::work::{Sources, Work};
use super::api::{JsonLines, SearchError, SearchRequest, SessionId};
use super::past::PastReader;
use crate::log::LogHandle;

/// The most chapters that are searched at the same time, over all sessions. A further search waits for a permit.
const AT_ONCE: usize = 1;

/// All searches of one log; cheap to clone.
///
/// They share an index of the names in records of closed chapters, at most
/// [`MAX_INDEX_BYTES`](watchscope_search::MAX_INDEX_BYTES). A search that reads a chapter adds it.
#[derive(Clone, Debug)]
pub(super) struct Searches {
    running: Arc<RunningSearches>,
    index: Arc<Mutex<Index>>,
    permits: Arc<Semaphore>,
    limits: SearchLimits,
}

impl Default for Searches {
    fn default() -> Self {
        Self {
            running: Arc::default(),
            index: Arc::default(),
            permits: Arc::new(Semaphore::new(AT_ONCE)),
            limits: SearchLimits::default(),
        }
    }
}

impl Searches {
    /// All searches of a log, with other limits of an answer.
    #[cfg(test)]
    pub(super) fn with_limits(limits: SearchLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// The number of searches that run.
    #[cfg(test)]
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// Begins a search, and ends the one of the same session that ran before. `is_live` is false for recordings.
    ///
    /// # Errors
    /// See [`SearchError`].
    pub(super) fn begin(
        &self,
        (log, past, is_live): (&LogHandle, &PastReader, bool),
        session: SessionId,
        request: &SearchRequest,
    ) -> Result<JsonLines, SearchError> {
        let (query, from) = request::read(log, request)?;
        let running = Arc::clone(&self.running).begin(session);
        let sources = Sources {
            log: log.clone(),
            files: past.files(),
            is_live,
            index: Arc::clone(&self.index),
            limits: self.limits,
        };
        let work = Work::new(sources, query, from, running.cancelled().clone());
        let search = Search {
            running,
            permits: Arc::clone(&self.permits),
            work: Some(Box::new(work)),
        };
        Ok(stream::unfold(search, Search::next_lines).boxed())
    }
}

/// A search as a stream of lines.
struct Search {
    /// Dropped with the stream, which ends the work.
    running: RunningSearch,
    permits: Arc<Semaphore>,
    /// `None` once the last line was written.
    work: Option<Box<Work>>,
}

impl Search {
    async fn next_lines(mut self) -> Option<(Bytes, Self)> {
        loop {
            let mut work = self.work.take()?;
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            let working = spawn_blocking(move || {
                // Held until the work is done, even if the stream is dropped.
                let _permit = permit;
                let (lines, is_last) = work.slice();
                (lines, (!is_last).then_some(work))
            });
            let done = working.await;
            let (lines, work) =
                done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()));
            self.work = work;
            debug_assert!(
                self.work.is_some() || !lines.is_empty(),
                "{:?}",
                self.running
            );
            if !lines.is_empty() {
                return Some((lines.into(), self));
            }
        }
    }
}
