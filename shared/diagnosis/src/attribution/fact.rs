//! A fact: an event at a watch after an end, which may explain the end.

use watchscope_model::{ConnectionId, Seq, Time, WatchName};

/// An event at a watch after an end.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) kind: FactKind,
    pub(super) watch: WatchName,
    pub(super) connection: Option<ConnectionId>,
    pub(super) seq: Seq,
    pub(super) at: Time,
}

/// The kinds of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactKind {
    /// The watch could not connect.
    Unreachable,
    /// The watch's next connection is to another address.
    Moved,
    /// The server refused a request because it shuts down.
    ShuttingDown,
    /// The server refused a request because its cache of the resource is not ready.
    Initializing,
    /// The watch's next stream delivered at least 10 events at once.
    Replayed,
    /// The server does not serve the resource.
    NotServed,
    /// The connection closed, and not because watchscope cancelled it.
    Closed,
}
