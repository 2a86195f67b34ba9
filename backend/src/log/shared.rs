//! What the writer and the readers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use watchscope_log::Ring;
use watchscope_model::{EpochId, LogId};

use super::bodies::Bodies;
use super::clock::Clock;
use super::ids::Ids;
use super::notes::NoteBook;

/// What the writer and the readers share. Each lock is held for the time of a look-up or a push, never across an await.
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
    /// How often the cluster was found to have a history other than the one its watches go by (F33).
    pub(super) restored: watch::Sender<u64>,
}

/// What readers wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Rises with every change of the ring.
    pub(super) version: u64,
    /// Whether no more will come.
    pub(super) is_closed: bool,
}

/// Waits for changes of the ring.
#[derive(Clone, Debug)]
pub(crate) struct RingProgress(watch::Receiver<Progress>);

impl RingProgress {
    pub(super) fn of(shared: &Shared) -> Self {
        Self(shared.progress.subscribe())
    }

    /// Forgets what changed until now; call it before looking at the ring. Returns whether no more will come.
    pub(crate) fn catch_up(&mut self) -> bool {
        self.0.borrow_and_update().is_closed
    }

    /// Returns when the ring has changed since [`RingProgress::catch_up`]. Cancel safe.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as any handle or reader.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Locks. A thread that panicked while it held the lock left a whole value behind, since each push is one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
