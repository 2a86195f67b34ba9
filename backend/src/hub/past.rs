//! The reader of chapters, bodies and notes in files, for viewers.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use watchscope_log::Fetched;
use watchscope_model::wire::Backfill;
use watchscope_model::{EpochId, Notes, Seq};

use crate::recordings::Past;

/// The most reads at the same time, over all viewers. Further ones wait for a permit.
const AT_ONCE: usize = 2;

/// The files of the log, if there are any; cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct PastReader {
    files: Option<Arc<dyn Past>>,
    permits: Arc<Semaphore>,
}

impl Default for PastReader {
    fn default() -> Self {
        Self {
            files: None,
            permits: Arc::new(Semaphore::new(AT_ONCE)),
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

    /// The files; none if there are none.
    pub(super) fn files(&self) -> Option<Arc<dyn Past>> {
        self.files.clone()
    }

    /// Reads the body of a record, if a file has it.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    pub(super) async fn body(self, epoch: EpochId, seq: Seq) -> Result<Option<Bytes>, String> {
        let read = self.with_permit(move |files| files.body(&epoch, seq));
        read.await.unwrap_or(Ok(None))
    }

    /// Reads the notes of persons in the files; none if there are no files.
    pub(super) async fn notes(self) -> Notes {
        let read = self.with_permit(|files| files.notes());
        read.await.unwrap_or_default()
    }

    /// Reads the chapter that a viewer requests, on a thread that may block on the disk.
    pub(super) async fn read(self, backfill: Backfill) -> Fetched {
        let last = Seq(backfill.before.0.saturating_sub(1));
        let read = self.with_permit(move |files| files.chapter(&backfill.epoch, last));
        read.await.unwrap_or(Fetched::Gone)
    }

    /// Runs `work` on the files once there is a permit; `None` if there are no files. It keeps the permit until the work is
    /// done, even if the caller is dropped.
    async fn with_permit<T: Send + 'static>(
        self,
        work: impl FnOnce(&dyn Past) -> T + Send + 'static,
    ) -> Option<T> {
        let files = self.files?;
        let permit = self.permits.acquire_owned().await;
        let working = spawn_blocking(move || {
            let _permit = permit;
            work(&*files)
        });
        let done = working.await;
        Some(done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic())))
    }
}
