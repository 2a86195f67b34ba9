//! Chapters and bodies that are read from files for viewers.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use watchscope_log::Fetched;
use watchscope_model::wire::Backfill;
use watchscope_model::{EpochId, Seq};

use crate::recordings::Past;

/// Chapters and bodies that are read at the same time for all viewers; further ones wait for their turn.
const AT_ONCE: usize = 2;

/// The files of the log, if there are any; a cheap handle.
#[derive(Clone, Debug)]
pub(super) struct PastReader {
    files: Option<Arc<dyn Past>>,
    turns: Arc<Semaphore>,
}

impl Default for PastReader {
    fn default() -> Self {
        Self {
            files: None,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl PastReader {
    /// Reads from these files.
    pub(super) fn new(files: Arc<dyn Past>) -> Self {
        Self {
            files: Some(files),
            ..Self::default()
        }
    }

    /// Reads the body of a record, if a file has it.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    pub(super) async fn body(self, epoch: EpochId, seq: Seq) -> Result<Option<Bytes>, String> {
        let Some(files) = self.files else {
            return Ok(None);
        };
        let _turn = self.turns.acquire().await;
        let read = spawn_blocking(move || files.body(&epoch, seq)).await;
        read.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
    }

    /// Reads the chapter that a viewer asks for, on a thread that may wait for the disk.
    pub(super) async fn read(self, backfill: Backfill) -> Fetched {
        let Some(files) = self.files else {
            return Fetched::Gone;
        };
        let _turn = self.turns.acquire().await;
        let last = Seq(backfill.before.0.saturating_sub(1));
        let read = spawn_blocking(move || files.chapter(&backfill.epoch, last)).await;
        read.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
    }
}
