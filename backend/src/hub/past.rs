//! Chapters and bodies that are read from files for viewers.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use watchscope_log::Fetched;
use watchscope_model::wire::Backfill;
use watchscope_model::{EpochId, Notes, Seq};

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
        let read = self.in_turn(move |files| files.body(&epoch, seq));
        read.await.unwrap_or(Ok(None))
    }

    /// Reads the notes of persons in the files; none if there are no files.
    pub(super) async fn notes(self) -> Notes {
        let read = self.in_turn(|files| files.notes());
        read.await.unwrap_or_default()
    }

    /// Reads the chapter that a viewer asks for, on a thread that may wait for the disk.
    pub(super) async fn read(self, backfill: Backfill) -> Fetched {
        let last = Seq(backfill.before.0.saturating_sub(1));
        let read = self.in_turn(move |files| files.chapter(&backfill.epoch, last));
        read.await.unwrap_or(Fetched::Gone)
    }

    /// Does something with the files when it is its turn; `None` if there are none. The turn lasts until it is done, also
    /// where nobody waits for it any more.
    async fn in_turn<T: Send + 'static>(
        self,
        work: impl FnOnce(&dyn Past) -> T + Send + 'static,
    ) -> Option<T> {
        let files = self.files?;
        let turn = self.turns.acquire_owned().await;
        let working = spawn_blocking(move || {
            let _turn = turn;
            work(&*files)
        });
        let done = working.await;
        Some(done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic())))
    }
}
