//! The alarms of an apiserver: the world hands each back when it is due.

use crate::kinds::ResourceId;
use crate::message::RequestId;

/// A reason for which an apiserver is woken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A write is committed, so its answer may be sent.
    Committed(RequestId),
    /// A read reached the timeout of its wait for the cache.
    WaitedEnough(RequestId),
    /// The server asks etcd for progress, for reads that wait.
    AskProgress(ResourceId),
    /// A watch may be due for a bookmark.
    Bookmark(RequestId),
    /// A watch has reached its timeout.
    Deadline(RequestId),
    /// A reply that paused goes on.
    GoOn(RequestId),
    /// The dispatcher reached the timeout of its wait for full watches; with the number of the wait.
    DispatchTimeout(ResourceId, u32),
    /// A watch that the dispatcher waited for has room.
    ResumeDispatch(ResourceId),
    /// A cacher's next step, with the number of its attempt.
    Cacher(ResourceId, u32, Step),
    /// A request reached the timeout of its wait for etcd's leader.
    NoLeader(RequestId),
    /// A read reached the timeout that its client set.
    OutOfTime(RequestId),
}

/// A step of a cacher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// List etcd again.
    Start,
    /// The list of this revision is read.
    Listed(u64),
    /// Watch again from the last revision seen.
    Resume,
}
