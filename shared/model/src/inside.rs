//! Records of the inside of a simulated cluster: the state that no client can see, recorded so that a picture can show
//! it.
//!
//! They are a kind of their own. They stand in the log among the other records and take seqs. But neither
//! [`Event`](crate::Event) nor [`Record`] can hold one, so code that judges a client's view cannot look inside.
//!
//! Their kind numbers begin at 64 and are only appended, like those of events. Revisions are written as whole numbers,
//! so a reader that skips these records reads all others correctly.

use std::sync::Arc;

use crate::event::Record;
use crate::id::{Object, Seq, Text};
use crate::kinds::events;
use crate::time::Time;
use crate::vocabulary::{CachePhase, ChangeType, Way};

events! {
    /// An event inside a simulated cluster. It has one variant per `type` of the JSON form that begins with `inside.`.
    enum Inside;

    /// etcd's head, when no write shows it: at the beginning, after a compaction or a restore, and when the leader is
    /// lost or found. Also after a crash that lowers the revision.
    64 "inside.etcd" InsideEtcd {
        /// The newest revision: that of the last write, 1 before the first.
        revision "revision": u64,
        /// The revision below which history is compacted away (docs/semantics/servers.md#revisions); 0 if nothing is.
        compacted "compacted": u64,
        /// Whether etcd has a leader; without one the simulated etcd takes no writes.
        has_leader "hasLeader": bool,
    }
    /// A write was committed. At the beginning there is one for each existing object. After a restore of etcd there is
    /// one for each object that differs: ADDED if it is there, DELETED if it is gone.
    65 "inside.write" InsideWrite {
        /// The resource that was written: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The type of the change.
        change "change": ChangeType,
        /// The object.
        object "object": Arc<Object>,
        /// The revision of the write; for a deletion, that of the deletion. At the beginning and after a restore it is
        /// that of the object.
        revision "revision": u64,
    }
    /// The state of an apiserver: at the beginning, and when it began or ceased to accept connections.
    66 "inside.server" InsideServer {
        /// The server's number, from 0.
        server "server": u64,
        /// Its version, such as `v1.34.1`.
        version "version": Text as Fixed,
        /// Whether it accepts connections.
        is_serving "isServing": bool,
    }
    /// The watch cache of a resource in an apiserver (docs/semantics/servers.md#watch-cache), at the beginning and when
    /// its state or its objects changed. Phase `failed` with revision 0 means that the cache is gone, or that its first
    /// list failed. Of one that is gone all numbers are 0.
    67 "inside.cache" InsideCache {
        /// The server's number, from 0.
        server "server": u64,
        /// The resource: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The phase of its cacher.
        phase "phase": CachePhase,
        /// The revision up to which the cache believes to know everything; 0 before its first list.
        revision "revision": u64,
        /// The lowest revision that a watch can start from: the start of the cache's window; 0 before its first list.
        oldest "oldest": u64,
        /// The number of events in the window.
        events "events": u64,
        /// The number of events that the window has room for now (docs/semantics/servers.md#ring).
        capacity "capacity": u64,
    }
    /// An object in a watch cache changed, came or went. At the beginning there is one for each object that a cache
    /// holds. A cache that is gone drops its objects without such records.
    68 "inside.held" InsideHeld {
        /// The server's number, from 0.
        server "server": u64,
        /// The resource: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The object.
        object "object": Arc<Object>,
        /// The revision at which the cache holds it; absent if it no longer does.
        revision "revision": Option<u64>,
    }
    /// A watch as its apiserver keeps it, with the length of its queue.
    69 "inside.watcher" InsideWatcher {
        /// The server's number, from 0.
        server "server": u64,
        /// The number of the watch's request in the world. It is no [`RequestId`](crate::RequestId) of the log.
        watcher "watcher": u64,
        /// The number of its connection in the world. It is no [`ConnectionId`](crate::ConnectionId) of the log.
        connection "connection": u64,
        /// The client: its User-Agent up to the first space or slash; empty if it sent none.
        client "client": Text as Name,
        /// The resource that it watches: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The number of events and bookmarks that wait for the network. Initial and replayed ones count too, and one
        /// that the server delays, so it may be above `slots`. Of a replay all events of the resource count, also those
        /// that the watch will not get.
        waiting "waiting": u64,
        /// The most live events that may wait now (docs/semantics/servers.md#buffers): half as many while the first
        /// events are sent.
        slots "slots": u64,
        /// Whether its queue is full, so the server delays the next event before it ends the watch
        /// (docs/semantics/servers.md#slow-watch).
        is_blocking "isBlocking": bool,
        /// Whether etcd serves it without the watch cache (docs/semantics/lists-and-watches.md#uncached); absent: no.
        from_etcd "fromEtcd": Option<bool>,
    }
    /// An apiserver keeps a watch no more, whoever ended it.
    70 "inside.watcher.ended" InsideWatcherEnded {
        /// The number of the watch's request in the world.
        watcher "watcher": u64,
    }
    /// A connection of the simulated network. Once it is closed, it names no client, server 0 and no streams.
    71 "inside.connection" InsideConnection {
        /// Its number in the world. It is no [`ConnectionId`](crate::ConnectionId) of the log.
        connection "connection": u64,
        /// The client that opened it: the first User-Agent on it, up to the first space or slash. Absent before that,
        /// without one, and once it is closed.
        client "client": Option<Text> as Name,
        /// The number of the server at its other end, from 0; also 0 once it is closed. 65,535, which no server has, if
        /// the load balancer had none for it.
        server "server": u64,
        /// The state of the link.
        way "way": Way,
        /// The number of open requests on it, from their sending to the end of their responses; 0 once it is closed.
        streams "streams": u64,
    }
}

/// A record of the inside with its place and time. It never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct InsideRecord {
    /// Its seq, its place in the epoch; no other record has it.
    pub seq: Seq,
    /// Its time on the log's clock, as [`Record::at`].
    pub at: Time,
    /// The event.
    pub inside: Inside,
}

/// A record of either kind at one place of a log.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all entries are records, and none is kept for long"
)]
pub enum Entry {
    /// A record that a client could have observed.
    Record(Record),
    /// A record that only a simulated cluster can make.
    Inside(InsideRecord),
}

impl Entry {
    /// Its seq, its place in the epoch.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Record(record) => record.seq,
            Self::Inside(record) => record.seq,
        }
    }

    /// Its time on the log's clock, as [`Record::at`].
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::Record(record) => record.at,
            Self::Inside(record) => record.at,
        }
    }

    /// The record, by value; `None` for one of the inside.
    #[must_use]
    pub fn into_record(self) -> Option<Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Inside(_) => None,
        }
    }

    /// The record; `None` for one of the inside.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Inside(_) => None,
        }
    }
}
