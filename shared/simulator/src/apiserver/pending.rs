//! Reads and watches that were parsed and wait for their watch cache.

use super::negotiate::Representation;
use super::route::Target;
use super::watcher::WatchParameters;
use crate::kinds::ResourceId;
use crate::selector::Selector;

/// A read that waits for its watch cache.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) resource: ResourceId,
    pub(super) until: Until,
    pub(super) read: PendingRead,
}

/// The event that a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The watch cache is ready. Only on servers before 1.31 do reads wait for this.
    Ready,
    /// The watch cache has reached this revision.
    Revision(u64),
}

/// The read that is done when the watch cache is ready or fresh.
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
    /// The key at which the list's page starts; empty for the first page.
    pub(super) start: String,
    /// The most objects of a page; 0 for no limit.
    pub(super) limit: u64,
    /// The revision that the watch cache must reach before it serves the list. For a consistent list this is etcd's
    /// revision at the time of the request.
    pub(super) fresh_at: u64,
    /// Whether the list is at exactly revision `fresh_at`, from the snapshot that the watch cache takes at that
    /// revision.
    pub(super) is_exact: bool,
    /// Whether the list claims to be at the newest resourceVersion, whichever resourceVersion it is at.
    pub(super) says_newest: bool,
    /// Whether the list's request has no resourceVersion. Such a list is read from etcd if the watch cache does not
    /// reach `fresh_at` in time.
    pub(super) is_consistent: bool,
}

/// A watch that was parsed and has not begun.
#[derive(Clone, Debug)]
pub(super) struct PendingWatch {
    pub(super) parameters: WatchParameters,
    pub(super) start: Start,
    /// The revision that the watch cache must reach before it serves the request.
    pub(super) fresh_at: u64,
    /// Whether the watch requested initial events, so that a bookmark marks their end.
    pub(super) is_watch_list: bool,
}

/// The point from which a watch delivers events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The present state, which the watch sends as initial events.
    State,
    /// Only events above this revision are delivered.
    After(u64),
    /// The present revision of the watch cache, without initial events.
    Now,
}

impl PendingWatch {
    pub(super) fn resource(&self) -> ResourceId {
        self.parameters.resource
    }
}
