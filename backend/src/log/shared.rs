//! The state that the writer and the readers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use watchscope_log::Ring;
use watchscope_model::{EpochId, LogId};

use super::bodies::Bodies;
use super::clock::Clock;
use super::ids::Ids;
use super::notes::NoteBook;

/// The state that the writer and the readers share. A lock is held for one look-up or push, never across an await.
pub(super) struct Shared {
    pub(super) log: LogId,
    pub(super) epoch: EpochId,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Ids,
    pub(super) ring: Mutex<Ring>,
    pub(super) bodies: Mutex<Bodies>,
    pub(super) notes: Mutex<NoteBook>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) snapshot_wanted: Notify,
    /// How many times the cluster was found to have gone back to an older history than its watches hold (F33).
    pub(super) restored: watch::Sender<u64>,
}

/// What readers wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Rises with each change of the ring.
    pub(super) version: u64,
    /// Whether the log is closed, so that no record follows.
    pub(super) is_closed: bool,
}

/// A cursor over changes of the ring, on which a reader waits.
#[derive(Clone, Debug)]
pub(crate) struct RingProgress(watch::Receiver<Progress>);

impl RingProgress {
    pub(super) fn of(shared: &Shared) -> Self {
        Self(shared.progress.subscribe())
    }

    /// Marks all changes until now as seen; call it before reading the ring. Returns whether the log is closed.
    pub(crate) fn catch_up(&mut self) -> bool {
        self.0.borrow_and_update().is_closed
    }

    /// Waits until the ring has changed since [`RingProgress::catch_up`]. Cancel safe.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as any handle or reader, so this does not happen.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Locks, also after a panic of another thread that held the lock. The value is whole then, since each change is one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
