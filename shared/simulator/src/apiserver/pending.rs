//! Reads and watches that were parsed and wait for their cache.

use super::negotiate::Representation;
use super::route::Target;
use super::watcher::WatchParameters;
use crate::kinds::ResourceId;
use crate::selector::Selector;

/// A read that waits for its cache.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) resource: ResourceId,
    pub(super) until: Until,
    pub(super) read: PendingRead,
}

/// The event that a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The cache is ready. Versions before 1.31 wait for this.
    Ready,
    /// The cache has reached this revision.
    Revision(u64),
}

/// The read that follows when the cache is there.
#[derive(Debug)]
pub(super) enum PendingRead {
    Get(Target, Representation),
    List(ListRead),
    Watch(PendingWatch),
}

/// A list, with its parsed parameters.
#[derive(Debug)]
pub(super) struct ListRead {
    pub(super) target: Target,
    pub(super) form: Representation,
    pub(super) selector: Selector,
    pub(super) prefix: String,
    /// The key at which it starts; empty for the first page.
    pub(super) start: String,
    /// The most objects of a page; 0 for no limit.
    pub(super) limit: u64,
    /// The revision that the cache must reach first. For a consistent list it is etcd's revision at the request.
    pub(super) fresh_at: u64,
    /// Whether the list is of exactly `fresh_at`, from the snapshot that the cache takes there.
    pub(super) is_exact: bool,
    /// Whether the list claims to be of the newest version, whichever it is of.
    pub(super) says_newest: bool,
    /// Whether it has no resourceVersion. It is then read from etcd if the cache does not get there in time.
    pub(super) is_consistent: bool,
}

/// A watch that was parsed and has not begun.
#[derive(Clone, Debug)]
pub(super) struct PendingWatch {
    pub(super) parameters: WatchParameters,
    pub(super) start: Start,
    /// The revision that the cache must reach first.
    pub(super) fresh_at: u64,
    /// Whether it requested initial events, so that a bookmark marks their end.
    pub(super) is_watch_list: bool,
}

/// The point from which a watch delivers events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The present state, as initial events.
    State,
    /// The events above a revision.
    After(u64),
    /// The present revision of the cache, without initial events.
    Now,
}

impl PendingWatch {
    pub(super) fn resource(&self) -> ResourceId {
        self.parameters.resource
    }
}
