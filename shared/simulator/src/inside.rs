//! What the parts of a world tell of their insides: etcd's head and writes, caches, watches, connections.
//!
//! Nothing of it reaches a client: it is for pictures that show all layers, and for comparing what a client believes
//! with what is so.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{ConnectionId, RequestId, ServerId};
use crate::object::{ChangeKind, Object};
use crate::time::Time;
use crate::version::Version;

/// Records that may wait to be taken.
const WAITING_MOST: usize = 1 << 16;

/// Something a part tells of its inside.
#[derive(Clone, Debug)]
pub struct InsideRecord {
    /// The instant at whose end it was so.
    pub at: Time,
    /// What.
    pub event: InsideEvent,
}

/// The kinds of it.
#[derive(Clone, Debug)]
pub enum InsideEvent {
    /// etcd's head where no write tells it.
    Etcd(EtcdLook),
    /// A write was committed; at the beginning, or after a restore, what is there.
    Write {
        /// The resource: `deployments.apps`.
        resource: Arc<str>,
        /// What it did.
        kind: ChangeKind,
        /// The object.
        object: Arc<Object>,
        /// etcd's revision.
        revision: u64,
    },
    /// An apiserver.
    Server {
        /// Which.
        server: ServerId,
        /// Its version.
        version: Version,
        /// Whether it takes connections.
        is_serving: bool,
    },
    /// A watch cache; `None`: there is no such cache any more.
    Cache {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// How it is.
        look: Option<CacheLook>,
    },
    /// An object in a watch cache came, changed or went.
    Held {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// The object, as it is there or was.
        object: Arc<Object>,
        /// Whether it is there.
        is_held: bool,
    },
    /// A watch, as its server keeps it.
    Watcher {
        /// The server.
        server: ServerId,
        /// Its request.
        watcher: RequestId,
        /// Over which connection.
        connection: ConnectionId,
        /// The first word of its client's User-Agent.
        client: Arc<str>,
        /// What it watches.
        resource: Arc<str>,
        /// How it is.
        look: WatcherLook,
    },
    /// A watch is over for its server.
    WatcherEnded(RequestId),
    /// A connection; `None`: it is gone.
    Connection {
        /// Which.
        connection: ConnectionId,
        /// How it is.
        look: Option<ConnectionLook>,
    },
}

/// etcd's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdLook {
    /// The revision of the last write.
    pub revision: u64,
    /// The revision below which history is gone.
    pub compacted: u64,
    /// Whether there is a leader.
    pub has_leader: bool,
}

/// How far a cacher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// It reads all there is.
    Listing,
    /// It answers.
    Ready,
    /// It lost etcd and begins again soon.
    Failed,
}

/// A watch cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLook {
    /// How far its cacher is.
    pub state: CacheState,
    /// The revision up to which it believes to know everything.
    pub revision: u64,
    /// The lowest revision a watch can start from.
    pub oldest: u64,
    /// Events in its ring.
    pub events: usize,
    /// Events the ring has room for now.
    pub capacity: usize,
}

/// What waits for a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherLook {
    /// Events that wait for the network.
    pub waiting: usize,
    /// How many live ones may.
    pub slots: usize,
    /// Whether the dispatcher waits for it.
    pub is_blocking: bool,
    /// Whether etcd serves it past the watch cache.
    pub is_from_etcd: bool,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLook {
    /// The server it goes to.
    pub server: ServerId,
    /// The first word of its client's User-Agent; empty before its first request.
    pub client: Arc<str>,
    /// Whether what is sent is held, in at least one direction.
    pub is_stalled: bool,
    /// Whether the server's side is gone.
    pub is_cut: bool,
    /// Responses that are open.
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
