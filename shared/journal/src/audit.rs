//! The interface of the audit to a journal.

use std::fmt::Debug;
use std::sync::Arc;

use watchscope_diagnosis::audit::{Auditor, Read, Reply};
use watchscope_model::{Event, Object, Record, State, Time, WatchName};

/// A comparison with etcd that a person requests; by default, of all objects of all watches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompareRequest {
    /// The watch; `None`: all watches.
    pub watch: Option<WatchName>,
    /// An object of that watch; `None`: all its objects. Without a watch, each watch looks this object up. The watch
    /// need not hold it.
    pub object: Option<Arc<Object>>,
}

/// Plans reads and judges their answers. The trait is a table of functions that
/// [`Journal::audit`](crate::Journal::audit) fills with the [`Auditor`]'s. A lesson never calls that, so its module
/// has no code of an auditor.
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
