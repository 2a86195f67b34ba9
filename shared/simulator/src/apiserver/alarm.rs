//! The alarms of an apiserver: the world hands each back when it is due.

use crate::kinds::ResourceId;
use crate::message::RequestId;

/// Something an apiserver wants to be woken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A write's commit is through: its answer may go.
    Committed(RequestId),
    /// A read has waited long enough for its cache.
    WaitedEnough(RequestId),
    /// Time to ask etcd for its progress on behalf of waiting reads.
    AskProgress(ResourceId),
    /// A watch may be due for a bookmark.
    Bookmark(RequestId),
    /// A watch has lived as long as it was asked to.
    Deadline(RequestId),
    /// A reply that paused may go on.
    GoOn(RequestId),
    /// The dispatcher has waited long enough for full watches; the number of the wait.
    DispatchTimeout(ResourceId, u32),
    /// A watch the dispatcher waited for has room.
    ResumeDispatch(ResourceId),
    /// A cacher's next step, and the number of its attempt.
    Cacher(ResourceId, u32, Step),
    /// A request that needs etcd's leader has waited long enough for it.
    NoLeader(RequestId),
    /// A read has waited as long as its client does.
    OutOfTime(RequestId),
}

/// A step of a cacher that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Begin again.
    Start,
    /// The list of this revision is through.
    Listed(u64),
    /// Watch on from what was seen last.
    Resume,
}
