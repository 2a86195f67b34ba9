//! What the parts of a simulated cluster report of their inside: etcd's revision and writes, watch caches, watches,
//! connections.
//!
//! No client sees these reports. They serve pictures of all layers, and comparisons of a client's belief with the
//! truth.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{ConnectionId, RequestId, ServerId};
use crate::object::{ChangeKind, Object};
use crate::time::Time;
use crate::version::Version;

/// The most inside records that may wait for the driver; a further one drops the oldest, which is counted. This bounds
/// the memory of a world whose driver takes no records. The number has no source.
const WAITING_MOST: usize = 1 << 16;

/// A report of a part of a simulated cluster about its own inside.
#[derive(Clone, Debug)]
pub struct InsideRecord {
    /// The instant that the report describes, in virtual time. The report has the part's state at the end of this
    /// instant, when [`World::run_until`](crate::World::run_until) returned or went on. If the driver acts at the same
    /// instant after that return, another report of the instant may follow.
    pub at: Time,
    /// The reported change.
    pub event: InsideEvent,
}

/// A change in the inside of a part of a simulated cluster. "At the beginning" means the end of the instant at which
/// [`World::tell_inside`](crate::World::tell_inside) was called. Resources are named like `pods` or `deployments.apps`.
#[derive(Clone, Debug)]
pub enum InsideEvent {
    /// etcd's revision, history and leader: at the beginning, and when something other than a write changed them. Such
    /// a change is a compaction, a restore, the loss or return of a leader, or a crash that lowers the revision.
    Etcd(EtcdLook),
    /// A committed write. At the beginning each object in etcd gets one such report. After a restore each object that
    /// differs gets one such report: ADDED if etcd has the object, DELETED if it is gone.
    Write {
        /// The resource: `deployments.apps`.
        resource: Arc<str>,
        /// What the write did to the object.
        kind: ChangeKind,
        /// The object after the write; a deleted object's last state.
        object: Arc<Object>,
        /// etcd's revision of the write; at the beginning and after a restore, the object's own revision.
        revision: u64,
    },
    /// An apiserver: reported at the beginning, and when it begins or ceases to take connections.
    Server {
        /// The server that this report is about.
        server: ServerId,
        /// The server's version.
        version: Version,
        /// Whether the server takes connections; `false` also while a fault refuses all connections
        /// ([`Fault::Refuse`](crate::Fault::Refuse)).
        is_serving: bool,
    },
    /// A watch cache: reported at the beginning, and when its state or its objects changed.
    Cache {
        /// The server.
        server: ServerId,
        /// The resource.
        resource: Arc<str>,
        /// The watch cache's state; `None`: the cache exists no more.
        look: Option<CacheLook>,
    },
    /// An object that came into a watch cache, changed in it, or left it; at the beginning, an object that the cache
    /// holds. When a cache ceases to exist ([`InsideEvent::Cache`]), its objects get no report of their own.
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
    /// A watch that a server serves: reported at the beginning, when the watch began, and when `look` changed.
    Watcher {
        /// The server.
        server: ServerId,
        /// The request of the watch.
        watcher: RequestId,
        /// The connection that carries the watch.
        connection: ConnectionId,
        /// The client's User-Agent up to the first space or slash; empty if the client sends none.
        client: Arc<str>,
        /// The resource that the client watches.
        resource: Arc<str>,
        /// The watch's buffers, and whether its events come from the watch cache or from etcd.
        look: WatcherLook,
    },
    /// A watch whose server has dropped it.
    WatcherEnded(RequestId),
    /// A connection: reported at the beginning, when the client opened it, and when its state changed.
    Connection {
        /// The connection that this report is about.
        connection: ConnectionId,
        /// The connection's state; `None`: the connection is gone.
        look: Option<ConnectionLook>,
    },
}

/// etcd's newest revision, its history and its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtcdLook {
    /// etcd's newest revision, as [`Truth::revision`](crate::Truth::revision) returns it; 1 before the first write.
    pub revision: u64,
    /// etcd's compacted revision: history below that revision is gone; 0 before the first compaction.
    pub compacted: u64,
    /// Whether etcd has a leader. A partition of one member does not make this `false`.
    pub has_leader: bool,
}

/// What the reflector of a watch cache does now (docs/semantics/servers.md#cache-start).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// The reflector lists etcd. Until the cache is ready, reads that need it wait or are refused; other reads go to
    /// etcd.
    Listing,
    /// The cache is ready and answers requests.
    Ready,
    /// The cache's list or watch of etcd failed. After 1 s all watches that the cache serves end, and it lists etcd
    /// again.
    Failed,
}

/// The state of a watch cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLook {
    /// What the cache's reflector does now: it lists, is ready, or has failed.
    pub state: CacheState,
    /// The revision up to which the cache believes to have all changes; 0 before its first list.
    pub revision: u64,
    /// The lowest revision that a watch of the cache can start from (docs/semantics/servers.md#cache-resume); 0 before
    /// the cache's first list.
    pub oldest: u64,
    /// The number of events in the cache's ring.
    pub events: usize,
    /// The number of events at which the cache's ring is full now. A full ring drops its oldest events or grows
    /// (docs/semantics/servers.md#ring).
    pub capacity: usize,
}

/// The buffers of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatcherLook {
    /// The number of the watch's events and bookmarks that wait for the network, without the bookmark that ends initial
    /// events. Initial events, replayed events and an event that the dispatcher waits to add count too, so this number
    /// may be above `slots`. Of a replay all events of the resource count, also those that the watch will not get.
    pub waiting: usize,
    /// The most live events and bookmarks of the watch that may wait now: half as many while the watch's first events
    /// are sent (docs/semantics/servers.md#buffers). At a further event the dispatcher waits for this watch, and may
    /// end it; a watch that etcd serves ends at once. A further bookmark is left out.
    pub slots: usize,
    /// Whether the dispatcher waits for room in the buffer of this watch (docs/semantics/servers.md#slow-watch).
    pub is_blocking: bool,
    /// Whether the watch's events come from etcd, not from the watch cache
    /// (docs/semantics/lists-and-watches.md#uncached). `false` also for a watch that gets no events at all: while it
    /// waits for etcd's leader, or after its resource was replaced (F17).
    pub is_from_etcd: bool,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLook {
    /// The server that the connection leads to; 65,535, the id of no server, if the load balancer had no server for it.
    pub server: ServerId,
    /// The client's User-Agent up to the first space or slash; empty before the client's first request, or if the
    /// client sends none.
    pub client: Arc<str>,
    /// Whether nothing passes on the connection in at least one direction, by a fault or because a middlebox forgot the
    /// connection.
    pub is_stalled: bool,
    /// Whether the server's side of the connection is gone, and the client has not yet learned that.
    pub is_cut: bool,
    /// The number of open requests on the connection. A request is open from when the client sends it until its
    /// response ends, or until the server learns that the client cancelled it.
    pub streams: usize,
}

/// The queue of inside records that the driver has not yet taken.
///
/// Bounded: of more than 65,536 records the oldest are dropped and counted.
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
