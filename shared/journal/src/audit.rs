//! The interface of the audit to a journal.

use std::fmt::Debug;
use std::sync::Arc;

use watchscope_diagnosis::audit::{Auditor, Read, Reply};
use watchscope_model::{Event, Object, Record, State, Time, WatchName};

/// A person's request for a comparison with etcd; the default is a comparison of all objects of all watches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompareRequest {
    /// The watch to compare; `None` for all watches.
    pub watch: Option<WatchName>,
    /// The object to compare; `None` for all objects of the watch. If no watch is named, the object is looked up for
    /// each watch. A watch need not hold this object.
    pub object: Option<Arc<Object>>,
}

/// The audit of a journal: it plans reads and judges their answers. The trait is a table of functions that
/// [`Journal::audit`](crate::Journal::audit) fills with those of the [`Auditor`]. A lesson never calls
/// `Journal::audit`, so the lessons' module has no code of an auditor.
pub(crate) trait Audit: Debug + Send {
    fn observe(&mut self, before: &State, record: &Record);
    fn wake_at(&self) -> Option<Time>;
    fn take(&mut self) -> Vec<Event>;
    fn next(&mut self, now: Time, state: &State) -> Option<Read>;
    fn answer(&mut self, read: &Read, reply: Reply, now: Time, state: &State);
    fn compare(&mut self, asked: &CompareRequest, now: Time) -> bool;
    fn is_compared(&self, asked: &CompareRequest, now: Time) -> bool;
}

impl Audit for Auditor {
    fn observe(&mut self, before: &State, record: &Record) {
        self.observe(before, record);
    }

    fn wake_at(&self) -> Option<Time> {
        self.wake_at()
    }

    fn take(&mut self) -> Vec<Event> {
        self.take()
    }

    fn next(&mut self, now: Time, state: &State) -> Option<Read> {
        self.next(now, state)
    }

    fn answer(&mut self, read: &Read, reply: Reply, now: Time, state: &State) {
        self.answer(read, reply, now, state);
    }

    fn compare(&mut self, asked: &CompareRequest, now: Time) -> bool {
        self.ask(asked.watch.as_ref(), asked.object.as_ref(), now)
    }

    fn is_compared(&self, asked: &CompareRequest, now: Time) -> bool {
        self.is_over(asked.watch.as_ref(), asked.object.as_deref(), now)
    }
}
