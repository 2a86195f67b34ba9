//! The searches that are running: one for each session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::hub::api::SessionId;

/// The running search of each session. Bounded by the number of sessions.
#[derive(Debug, Default)]
pub(super) struct RunningSearches(Mutex<BTreeMap<SessionId, Cancelled>>);

/// Whether a search was ended from outside; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancelled(Arc<AtomicBool>);

/// A search that is running. Dropping it ends the search.
#[derive(Debug)]
pub(super) struct RunningSearch {
    all: Arc<RunningSearches>,
    session: SessionId,
    cancelled: Cancelled,
}

impl Cancelled {
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl RunningSearches {
    /// Begins a search of a session, and ends the one that ran before.
    pub(super) fn begin(self: Arc<Self>, session: SessionId) -> RunningSearch {
        let cancelled = Cancelled::default();
        let before = self.lock().insert(session, cancelled.clone());
        if let Some(before) = before {
            before.set();
        }
        RunningSearch {
            all: self,
            session,
            cancelled,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Cancelled>> {
        // Each change is one step, so a poisoned lock holds a whole map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of running searches.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}

impl RunningSearch {
    pub(super) fn cancelled(&self) -> &Cancelled {
        &self.cancelled
    }
}

impl Drop for RunningSearch {
    fn drop(&mut self) {
        self.cancelled.set();
        let mut all = self.all.lock();
        let own = all.get(&self.session);
        if own.is_some_and(|own| Arc::ptr_eq(&own.0, &self.cancelled.0)) {
            all.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_search_of_a_session_ends_the_one_before_and_no_other() {
        let all = Arc::new(RunningSearches::default());
        let (one, other) = (SessionId(1), SessionId(2));
        let first = all.clone().begin(one);
        let elsewhere = all.clone().begin(other);
        let second = all.clone().begin(one);
        assert!(first.cancelled().is_set());
        assert!(!elsewhere.cancelled().is_set() && !second.cancelled().is_set());
        drop(first);
        assert!(!second.cancelled().is_set());
        assert_eq!(all.len(), 2);
        let seen = second.cancelled().clone();
        drop((second, elsewhere));
        assert!(seen.is_set());
        assert_eq!(all.len(), 0);
    }
}
