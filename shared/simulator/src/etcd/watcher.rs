//! A watcher of etcd: what its client asked for, what it was sent, and whether it is synced, unsynced or a victim.

use super::stream::{StreamKey, WatchedChange};

/// What a client of etcd asks to watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest {
    pub(crate) stream: StreamKey,
    /// The prefix of the keys.
    pub(crate) prefix: String,
    /// The first revision wanted.
    pub(crate) start: u64,
    pub(crate) progress_notify: bool,
    /// Whether it is cancelled when there is no leader.
    pub(crate) requires_leader: bool,
}

/// A watcher on a stream.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) stream: StreamKey,
    pub(super) prefix: Box<str>,
    pub(super) start: u64,
    /// The first revision that it was not sent.
    pub(super) min_revision: u64,
    /// The same when it last became synced: what a defective restore goes back to.
    pub(super) synced_at: u64,
    pub(super) state: State,
    pub(super) progress_notify: bool,
    pub(super) requires_leader: bool,
    /// Whether the next periodic progress is for it: not if it was sent events since the last.
    pub(super) due: bool,
}

/// How far a watcher is.
#[derive(Debug)]
pub(super) enum State {
    Synced,
    Unsynced,
    /// A batch that found the channel full, and the first revision behind it if it was cut short.
    Victim(Vec<WatchedChange>, Option<u64>),
}
