//! What the parts of a world report of their inside: etcd's head and writes, caches, watches, connections.
//!
//! No client sees any of it. It serves pictures of all layers, and comparisons of a client's belief with the truth.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{ConnectionId, RequestId, ServerId};
use crate::object::{ChangeKind, Object};
use crate::time::Time;
use crate::version::Version;

/// The most records that may wait to be taken; more drop the oldest.
const WAITING_MOST: usize = 1 << 16;

/// A report of a part about its inside.
#[derive(Clone, Debug)]
pub struct InsideRecord {
    /// The instant that the report describes, as it was at its end.
    pub at: Time,
    /// The reported change.
    pub event: InsideEvent,
}

/// A change in the inside of a part.
#[derive(Clone, Debug)]
pub enum InsideEvent {
    /// etcd's head, when it changed by something other than a write: a compaction, the loss of a leader, a restore.
    Etcd(EtcdLook),
    /// A committed write. At the beginning and after a restore: each object that is there or is gone.
    Write {
        /// The resource: `deployments.apps`.
        resource: Arc<str>,
        /// What the write did to the object.
        kind: ChangeKind,
        /// The object.
        object: Arc<Object>,
        /// etcd's revision of the write.
        revision: u64,
    },
    /// An apiserver, when it begins or ceases to take connections.
    Server {
        /// Which server.
        server: ServerId,
        /// Its version.
        version: Version,
        /// Whether it takes connections.
        is_serving: bool,
    },
    /// A watch cache; `None`: it exists no more.
    Cache {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// Its state.
        look: Option<CacheLook>,
    },
    /// An object that came into a watch cache, changed there, or left it.
    Held {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// The object, as the cache holds it or held it.
        object: Arc<Object>,
        /// Whether the cache holds it.
        is_held: bool,
    },
    /// A watch, as its server keeps it.
    Watcher {
        /// The server.
        server: ServerId,
        /// The request of the watch.
        watcher: RequestId,
        /// The connection that carries it.
        connection: ConnectionId,
        /// The first word of its client's User-Agent.
        client: Arc<str>,
        /// The resource that it watches.
        resource: Arc<str>,
        /// Its buffers and where its events come from.
        look: WatcherLook,
    },
    /// A watch that its server keeps no more.
    WatcherEnded(RequestId),
    /// A connection; `None`: it is gone.
    Connection {
        /// Which connection.
        connection: ConnectionId,
        /// Its state.
        look: Option<ConnectionLook>,
    },
}

/// etcd's newest revision, its history and its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdLook {
    /// The revision of the last write.
    pub revision: u64,
    /// The compacted revision: history below it is gone.
    pub compacted: u64,
    /// Whether there is a leader.
    pub has_leader: bool,
}

/// How far the reflector of a watch cache is (docs/semantics/servers.md#cache-start).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// It lists etcd. Until it is ready, reads of the cache wait or are refused.
    Listing,
    /// It answers requests.
    Ready,
    /// Its list or its watch of etcd failed. After 1 s all watches of the resource end, and it lists again.
    Failed,
}

/// The state of a watch cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLook {
    /// How far its reflector is.
    pub state: CacheState,
    /// The revision up to which it believes to know everything.
    pub revision: u64,
    /// The lowest revision that a watch can start from.
    pub oldest: u64,
    /// Events in its ring.
    pub events: usize,
    /// Events that its ring has room for now.
    pub capacity: usize,
}

/// The buffers of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherLook {
    /// Events that wait for the network.
    pub waiting: usize,
    /// The most live events that may wait.
    pub slots: usize,
    /// Whether the dispatcher waits for this watch.
    pub is_blocking: bool,
    /// Whether etcd serves it past the watch cache.
    pub is_from_etcd: bool,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLook {
    /// The server it goes to.
    pub server: ServerId,
    /// The first word of its client's User-Agent; empty before its first request.
    pub client: Arc<str>,
    /// Whether bytes are held in at least one direction.
    pub is_stalled: bool,
    /// Whether the server's side is gone.
    pub is_cut: bool,
    /// Open responses.
    pub streams: usize,
}

/// Records that wait for the driver.
///
/// Bounded: of more than 65,536 the oldest are dropped and counted.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    records: VecDeque<InsideRecord>,
    dropped: u64,
}

impl Waiting {
    pub(crate) fn push(&mut self, at: Time, event: InsideEvent) {
        if self.records.len() >= WAITING_MOST {
            self.records.pop_front();
            self.dropped += 1;
        }
        self.records.push_back(InsideRecord { at, event });
    }

    pub(crate) fn pop(&mut self) -> Option<InsideRecord> {
        self.records.pop_front()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_nobody_takes_are_dropped_oldest_first_and_counted() {
        let mut waiting = Waiting::default();
        for request in 0..WAITING_MOST as u64 + 3 {
            waiting.push(Time::ZERO, InsideEvent::WatcherEnded(RequestId(request)));
        }
        assert_eq!(waiting.dropped(), 3);
        let first = waiting.pop().map(|record| record.event);
        assert!(matches!(
            first,
            Some(InsideEvent::WatcherEnded(RequestId(3)))
        ));
    }
}
