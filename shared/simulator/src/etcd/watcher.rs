//! A watcher of etcd: its client's request, its progress, and its state (synced, unsynced or victim).

use super::stream::{StreamKey, WatchedChange};

/// A client's request to watch etcd.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest {
    pub(crate) stream: StreamKey,
    /// The prefix of the keys that the client watches.
    pub(crate) prefix: String,
    /// The first revision that the client wants.
    pub(crate) start: u64,
    pub(crate) progress_notify: bool,
    /// Whether etcd cancels the watch when etcd has no leader.
    pub(crate) requires_leader: bool,
}

/// A watcher on a watch stream of etcd.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) stream: StreamKey,
    pub(super) prefix: Box<str>,
    pub(super) start: u64,
    /// The first revision that was not yet sent to the watcher.
    pub(super) min_revision: u64,
    /// The value of `min_revision` when the watcher last became synced. When the watcher's member downloads a snapshot
    /// after a partition, the defect of etcd#15271 sets `min_revision` back to this value.
    pub(super) synced_at: u64,
    pub(super) state: State,
    pub(super) progress_notify: bool,
    pub(super) requires_leader: bool,
    /// Whether the watcher gets the next periodic progress notification. The watcher gets none if events were sent to
    /// it since the last one.
    pub(super) due: bool,
}

/// Whether a watcher has been sent everything, is behind, or waits for room in its stream's channel.
#[derive(Debug)]
pub(super) enum State {
    Synced,
    Unsynced,
    /// The watcher holds events that found the channel full, and the first revision after them if their batch was cut
    /// short.
    Victim(Vec<WatchedChange>, Option<u64>),
}
