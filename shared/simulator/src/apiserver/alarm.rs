//! The alarms of an apiserver: the world hands each alarm back when it is due.

use crate::kinds::ResourceId;
use crate::message::RequestId;

/// A reason for which an apiserver is woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A write is committed, so its answer may be sent.
    Committed(RequestId),
    /// A read reached the timeout of its wait for the watch cache.
    WaitedEnough(RequestId),
    /// The server requests progress from etcd, for reads that wait.
    AskProgress(ResourceId),
    /// A watch may be due for a bookmark.
    Bookmark(RequestId),
    /// A watch has reached the end of its lifetime.
    Deadline(RequestId),
    /// A reply that had paused goes on.
    GoOn(RequestId),
    /// The dispatcher of a resource reached the timeout of its wait for full watches; the number identifies the wait.
    DispatchTimeout(ResourceId, u32),
    /// A watch that the dispatcher waited for has room or is gone.
    ResumeDispatch(ResourceId),
    /// The next step of a resource's cacher; the number identifies the cacher's attempt.
    Cacher(ResourceId, u32, Step),
    /// A request reached the timeout of its wait for etcd's leader.
    NoLeader(RequestId),
    /// A read reached the timeout that its client set.
    OutOfTime(RequestId),
}

/// A step of a cacher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The cacher lists etcd again.
    Start,
    /// The cacher's list of etcd at this revision is complete.
    Listed(u64),
    /// The cacher watches etcd again from the last revision that its reflector saw.
    Resume,
}
