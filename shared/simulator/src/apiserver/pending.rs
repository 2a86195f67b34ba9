//! Reads and watches that are understood and wait for their cache.

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

/// What a read waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// The cache to be ready, as versions before 1.31 do.
    Ready,
    /// The cache to know of a revision.
    Revision(u64),
}

/// What to do once the cache is there.
#[derive(Debug)]
pub(super) enum PendingRead {
    Get(Target, Representation),
    List(ListRead),
    Watch(PendingWatch),
}

/// A list whose parameters are understood.
#[derive(Debug)]
pub(super) struct ListRead {
    pub(super) target: Target,
    pub(super) form: Representation,
    pub(super) selector: Selector,
    pub(super) prefix: String,
    /// The key to start from; empty for the first page.
    pub(super) start: String,
    /// 0 for no limit.
    pub(super) limit: u64,
    /// What the cache has to know before; etcd's revision of the moment for a consistent list.
    pub(super) fresh_at: u64,
    /// The list is of exactly `fresh_at`, from a snapshot that the cache takes when it comes there.
    pub(super) is_exact: bool,
    /// It says that it is of the newest version, whatever it is of.
    pub(super) says_newest: bool,
    /// A list without resourceVersion: it falls back to etcd when the cache does not get there.
    pub(super) is_consistent: bool,
}

/// A watch that is understood and not yet begun.
#[derive(Clone, Debug)]
pub(super) struct PendingWatch {
    pub(super) parameters: WatchParameters,
    pub(super) start: Start,
    /// What the cache has to know before.
    pub(super) fresh_at: u64,
    /// Whether it asked for initial events, so that their end is marked.
    pub(super) is_watch_list: bool,
}

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With the present state as initial events.
    State,
    /// After a revision.
    After(u64),
    /// At whatever the cache knows.
    Now,
}

impl PendingWatch {
    pub(super) fn resource(&self) -> ResourceId {
        self.parameters.resource
    }
}
