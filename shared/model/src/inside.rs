//! Records of the inside of a simulated cluster: the state that no client can see, recorded so that a picture can show
//! it.
//!
//! Records of the inside are a kind of their own. Such records are in the log among the other records, and have seqs of
//! the same sequence. But neither [`Event`](crate::Event) nor [`Record`] can hold one, so code that judges a client's
//! view cannot see the inside.
//!
//! Kind numbers of the inside begin at 64 and are only appended, like those of events. Revisions are written as whole
//! numbers, not as distances, so a reader that skips records of the inside reads all other records correctly.

use std::sync::Arc;

use crate::event::Record;
use crate::id::{Object, Seq, Text};
use crate::kinds::events;
use crate::time::Time;
use crate::vocabulary::{CachePhase, ChangeType, Way};

events! {
    /// An event inside a simulated cluster. It has one variant per `type` of the JSON form that begins with `inside.`.
    enum Inside;

    /// etcd's newest revision, recorded when no write shows it: at the beginning, after a compaction or restore, when
    /// the leader is lost or found. The revision is recorded after a crash that lowers it, too.
    64 "inside.etcd" InsideEtcd {
        /// etcd's newest revision: that of the last write, unless a restore or a crash has set another; 1 before the
        /// first write.
        revision "revision": u64,
        /// The revision below which history is compacted away (docs/semantics/servers.md#revisions); 0 if nothing is.
        compacted "compacted": u64,
        /// Whether etcd has a leader; without one the simulated etcd takes no writes.
        has_leader "hasLeader": bool,
    }
    /// A write was committed. At the beginning there is one such record for each existing object. After a restore of
    /// etcd there is one for each object that differs: ADDED if the restored state has the object, else DELETED.
    65 "inside.write" InsideWrite {
        /// The resource that was written: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The type of the change.
        change "change": ChangeType,
        /// The object.
        object "object": Arc<Object>,
        /// The revision of the write, also if the write is a deletion. At the beginning and after a restore it is the
        /// object's own revision.
        revision "revision": u64,
    }
    /// The state of an apiserver: at the beginning, and when it began or ceased to accept connections.
    66 "inside.server" InsideServer {
        /// The server's number, from 0.
        server "server": u64,
        /// The server's version, such as `v1.34.1`.
        version "version": Text as Fixed,
        /// Whether the server accepts connections.
        is_serving "isServing": bool,
    }
    /// The watch cache of a resource in an apiserver (docs/semantics/servers.md#watch-cache), recorded at the beginning
    /// and when its state or its objects changed. Phase `failed` with revision 0 means that the cache is gone, or that
    /// its first list failed. The record of a cache that is gone has 0 for all its numbers but the server's.
    67 "inside.cache" InsideCache {
        /// The server's number, from 0.
        server "server": u64,
        /// The resource: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The phase of the cache's cacher.
        phase "phase": CachePhase,
        /// The revision up to which, included, the cache believes to know everything; 0 before its first list.
        revision "revision": u64,
        /// The lowest revision that a watch can start from: the start of the cache's window; 0 before its first list.
        oldest "oldest": u64,
        /// The number of events in the cache's window.
        events "events": u64,
        /// The number of events that the cache's window has room for now (docs/semantics/servers.md#ring).
        capacity "capacity": u64,
    }
    /// An object in a watch cache changed, came or went. At the beginning there is one such record for each object that
    /// a cache holds. A cache that is gone drops its objects without such records.
    68 "inside.held" InsideHeld {
        /// The server's number, from 0.
        server "server": u64,
        /// The resource: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The object.
        object "object": Arc<Object>,
        /// The revision at which the cache holds the object; absent if it no longer holds it.
        revision "revision": Option<u64>,
    }
    /// A watch as its apiserver keeps it, recorded at the beginning, when the watch began, and when one of these fields
    /// changed.
    69 "inside.watcher" InsideWatcher {
        /// The server's number, from 0.
        server "server": u64,
        /// The number of the watch's request in the world. This number is no [`RequestId`](crate::RequestId) of the
        /// log.
        watcher "watcher": u64,
        /// The number of the watch's connection in the world. This number is no [`ConnectionId`](crate::ConnectionId)
        /// of the log.
        connection "connection": u64,
        /// The watching client: its User-Agent up to the first space or slash; empty if the client sent none.
        client "client": Text as Name,
        /// The resource that is watched: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// The number of events and bookmarks that wait for the network, without the bookmark that ends initial events.
        /// Initial and replayed events count, too, and so does an event that the server delays; the number may be above
        /// `slots`. All events of the resource in a replay count, also those that the watch will not get.
        waiting "waiting": u64,
        /// The most live events and bookmarks that may wait now (docs/semantics/servers.md#buffers): half the usual
        /// number while the first events are sent. A further bookmark is left out.
        slots "slots": u64,
        /// Whether the watch's queue is full, so that the server delays the next event before it ends the watch
        /// (docs/semantics/servers.md#slow-watch).
        is_blocking "isBlocking": bool,
        /// Whether etcd serves the watch without the watch cache (docs/semantics/lists-and-watches.md#uncached); absent
        /// if the watch cache serves it. It is also absent if the watch gets no events at all: while it waits for
        /// etcd's leader, or after its resource was replaced (F17).
        from_etcd "fromEtcd": Option<bool>,
    }
    /// An apiserver no longer keeps a watch, whoever ended it.
    70 "inside.watcher.ended" InsideWatcherEnded {
        /// The number of the watch's request in the world.
        watcher "watcher": u64,
    }
    /// A connection of the simulated network, recorded at the beginning, when it is opened, and when one of these
    /// fields changed. The record of a closed connection names no client, server 0 and no streams.
    71 "inside.connection" InsideConnection {
        /// The connection's number in the world. This number is no [`ConnectionId`](crate::ConnectionId) of the log.
        connection "connection": u64,
        /// The client that opened the connection: the first User-Agent on it, up to the first space or slash. Absent
        /// before the first request, if it sent no User-Agent, and once the connection is closed.
        client "client": Option<Text> as Name,
        /// The number of the server at the connection's other end, from 0; also 0 once the connection is closed. The
        /// number is 65,535, which no server has, if the load balancer had no server for the connection.
        server "server": u64,
        /// The state of the link.
        way "way": Way,
        /// The number of open requests on the connection; 0 once it is closed. A request is open from its sending to
        /// the end of its response, or until the server learns that the client cancelled it.
        streams "streams": u64,
    }
}

/// A record of the inside of a simulated cluster, with its seq and time. It never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct InsideRecord {
    /// The record's seq in its epoch; no other record, of either kind, has the same.
    pub seq: Seq,
    /// The record's time on the log's clock, as [`Record::at`].
    pub at: Time,
    /// The event.
    pub inside: Inside,
}

/// A record of either kind: of a client's view, or of the inside of a simulated cluster.
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
    /// The record's seq in its epoch.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Record(record) => record.seq,
            Self::Inside(record) => record.seq,
        }
    }

    /// The record's time on the log's clock, as [`Record::at`].
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::Record(record) => record.at,
            Self::Inside(record) => record.at,
        }
    }

    /// The record, by value; `None` for a record of the inside.
    #[must_use]
    pub fn into_record(self) -> Option<Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Inside(_) => None,
        }
    }

    /// The record; `None` for a record of the inside.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Inside(_) => None,
        }
    }
}
