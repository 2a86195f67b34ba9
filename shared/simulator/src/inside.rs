//! What the parts of a world report of their inside: etcd's head and writes, caches, watches, connections.
//!
//! No client sees any of it. It serves pictures of all layers, and comparisons of a client's belief with the truth.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{ConnectionId, RequestId, ServerId};
use crate::object::{ChangeKind, Object};
use crate::time::Time;
use crate::version::Version;

/// The most records that may wait to be taken; more drop the oldest, and count it as dropped. It bounds the memory of a
/// world whose records nobody takes. The number has no source.
const WAITING_MOST: usize = 1 << 16;

/// A report of a part about its inside.
#[derive(Clone, Debug)]
pub struct InsideRecord {
    /// The instant that the report describes, in virtual time. The report has the state when
    /// [`World::run_until`](crate::World::run_until) returned or went on; if the driver acts then, another one may
    /// follow of the same instant.
    pub at: Time,
    /// The reported change.
    pub event: InsideEvent,
}

/// A change in the inside of a part. The beginning is the end of the instant of
/// [`World::tell_inside`](crate::World::tell_inside). Resources are named `pods` or `deployments.apps`.
#[derive(Clone, Debug)]
pub enum InsideEvent {
    /// etcd's head, at the beginning, and when something other than a write changed it. That is a compaction, a
    /// restore, the loss or return of a leader, or a crash that lowers the revision.
    Etcd(EtcdLook),
    /// A committed write. At the beginning there is one for each object. After a restore there is one for each object
    /// that differs: ADDED if it is there, DELETED if it is gone.
    Write {
        /// The resource: `deployments.apps`.
        resource: Arc<str>,
        /// What the write did to the object.
        kind: ChangeKind,
        /// The object after the write; if it is deleted, its last state.
        object: Arc<Object>,
        /// etcd's revision of the write; at the beginning and after a restore, that of the object.
        revision: u64,
    },
    /// An apiserver, at the beginning, and when it begins or ceases to take connections.
    Server {
        /// Which server.
        server: ServerId,
        /// Its version.
        version: Version,
        /// Whether it takes connections; `false` also while all are refused ([`Fault::Refuse`](crate::Fault::Refuse)).
        is_serving: bool,
    },
    /// A watch cache, at the beginning, and when its state or its objects changed.
    Cache {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// Its state; `None`: it exists no more.
        look: Option<CacheLook>,
    },
    /// An object that came into a watch cache, changed there, or left it; at the beginning, one that the cache holds. A
    /// cache that exists no more ([`InsideEvent::Cache`]) has left all, without a record for each.
    Held {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// The object, as the cache holds it or held it.
        object: Arc<Object>,
        /// Whether the cache holds it; `false`: it left the cache.
        is_held: bool,
    },
    /// A watch: at the beginning, when it began, and when its buffers changed.
    Watcher {
        /// The server.
        server: ServerId,
        /// The request of the watch.
        watcher: RequestId,
        /// The connection that carries it.
        connection: ConnectionId,
        /// Its client's User-Agent up to the first space or slash; empty if the client sends none.
        client: Arc<str>,
        /// The resource that it watches.
        resource: Arc<str>,
        /// Its buffers and where its events come from.
        look: WatcherLook,
    },
    /// A watch that its server keeps no more.
    WatcherEnded(RequestId),
    /// A connection: at the beginning, when the client opened it, and when its state changed.
    Connection {
        /// Which connection.
        connection: ConnectionId,
        /// Its state; `None`: it is gone.
        look: Option<ConnectionLook>,
    },
}

/// etcd's newest revision, its history and its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdLook {
    /// The newest revision, as [`Truth::revision`](crate::Truth::revision) returns it; 1 before the first write.
    pub revision: u64,
    /// The compacted revision: history below it is gone; 0 before the first compaction.
    pub compacted: u64,
    /// Whether there is a leader. A partition of one member does not count.
    pub has_leader: bool,
}

/// How far the reflector of a watch cache is (docs/semantics/servers.md#cache-start).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// It lists etcd. Until it is ready, reads that need the cache wait or are refused; the others go to etcd.
    Listing,
    /// It answers requests.
    Ready,
    /// Its list or its watch of etcd failed. After 1 s all watches that it serves end, and it lists again.
    Failed,
}

/// The state of a watch cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLook {
    /// How far its reflector is.
    pub state: CacheState,
    /// The revision up to which it believes to know everything; 0 before its first list.
    pub revision: u64,
    /// The lowest revision that a watch can start from (docs/semantics/servers.md#cache-resume); 0 before its first
    /// list.
    pub oldest: u64,
    /// The number of events in its ring.
    pub events: usize,
    /// The number of events at which its ring is full now; then the oldest are dropped, or the ring grows
    /// (docs/semantics/servers.md#ring).
    pub capacity: usize,
}

/// The buffers of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherLook {
    /// The number of events and bookmarks that wait for the network. Initial events, replayed ones and one that the
    /// dispatcher waits for count too, so it may be above `slots`. Of a replay it counts all events of the resource,
    /// also those that the watch will not get.
    pub waiting: usize,
    /// The most live events that may wait now: half as many while its first events are sent
    /// (docs/semantics/servers.md#buffers). At the next one the dispatcher waits for this watch, and may end it; a
    /// watch that etcd serves ends at once.
    pub slots: usize,
    /// Whether the dispatcher waits for this watch to have room (docs/semantics/servers.md#slow-watch).
    pub is_blocking: bool,
    /// Whether etcd serves it past the watch cache (docs/semantics/lists-and-watches.md#uncached).
    pub is_from_etcd: bool,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLook {
    /// The server it goes to; 65,535, which no server has, if the load balancer had none for it.
    pub server: ServerId,
    /// Its client's User-Agent up to the first space or slash; empty before its first request, or if it sends none.
    pub client: Arc<str>,
    /// Whether nothing passes in at least one direction, by a fault or because a middlebox forgot it.
    pub is_stalled: bool,
    /// Whether the server's side is gone, and the client has yet to learn of it.
    pub is_cut: bool,
    /// The number of open requests on it, from when the client sends them to the end of their responses.
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
