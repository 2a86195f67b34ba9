//! Records of the inside of a simulated cluster: what no client can see, told so that a picture can show it.
//!
//! A kind of their own: they stand in the log with the others and take their seqs, but neither [`Event`](crate::Event)
//! nor [`Record`] can hold one, so nothing that judges what a client saw can look behind it. Their numbers begin at 64
//! and, as those of events, are only ever appended. Revisions are written whole: a reader that passes over them reads
//! the same of all others.

use std::sync::Arc;

use crate::event::{Record, events};
use crate::id::{Object, Seq, Text};
use crate::time::Time;
use crate::vocabulary::{CachePhase, ChangeType, Way};

events! {
    /// What happened inside. One variant per `type` of the JSON form.
    enum Inside;

    /// etcd's head, where no write tells it: at the beginning, when history was compacted, the leader lost or found, or
    /// a snapshot restored.
    64 "inside.etcd" InsideEtcd {
        /// The revision of the last write.
        revision "revision": u64,
        /// The revision below which history is gone.
        compacted "compacted": u64,
        /// Whether there is a leader: without one nothing is written.
        has_leader "hasLeader": bool,
    }
    /// A write is committed. At the beginning one for each object that is there.
    65 "inside.write" InsideWrite {
        /// What was written: `pods`, `deployments.apps`.
        resource "resource": Text as Resource,
        /// What happened to it.
        change "change": ChangeType,
        /// The object.
        object "object": Arc<Object>,
        /// The write's revision.
        revision "revision": u64,
    }
    /// An apiserver.
    66 "inside.server" InsideServer {
        /// Which, from 0.
        server "server": u64,
        /// Its version.
        version "version": Text as Fixed,
        /// Whether it takes connections.
        is_serving "isServing": bool,
    }
    /// The watch cache of a resource in an apiserver. One with a phase of `failed` and no revision is gone.
    67 "inside.cache" InsideCache {
        /// The server.
        server "server": u64,
        /// The resource.
        resource "resource": Text as Resource,
        /// How far its cacher is.
        phase "phase": CachePhase,
        /// The revision up to which it believes to know everything.
        revision "revision": u64,
        /// The lowest revision a watch can start from: where its window begins.
        oldest "oldest": u64,
        /// Events its window holds.
        events "events": u64,
        /// Events its window has room for now.
        capacity "capacity": u64,
    }
    /// An object in a watch cache changed, came or went.
    68 "inside.held" InsideHeld {
        /// The server.
        server "server": u64,
        /// The resource.
        resource "resource": Text as Resource,
        /// The object.
        object "object": Arc<Object>,
        /// The revision the cache holds it at; absent if it holds it no more.
        revision "revision": Option<u64>,
    }
    /// A watch as its apiserver keeps it: how much waits for it.
    69 "inside.watcher" InsideWatcher {
        /// The server.
        server "server": u64,
        /// The watch's request, by its number in the world.
        watcher "watcher": u64,
        /// Its connection, by its number in the world.
        connection "connection": u64,
        /// Who asked: the first word of its User-Agent.
        client "client": Text as Name,
        /// What it watches.
        resource "resource": Text as Resource,
        /// Events that wait for the network.
        waiting "waiting": u64,
        /// How many may.
        slots "slots": u64,
        /// Whether it is full, and the server waits for it with the next event before it ends it.
        is_blocking "isBlocking": bool,
        /// Whether etcd serves it past the watch cache; absent: no.
        from_etcd "fromEtcd": Option<bool>,
    }
    /// A watch is over for its apiserver.
    70 "inside.watcher.ended" InsideWatcherEnded {
        /// The watch's request, by its number in the world.
        watcher "watcher": u64,
    }
    /// A connection of the simulated network.
    71 "inside.connection" InsideConnection {
        /// Its number in the world.
        connection "connection": u64,
        /// Who opened it: the first word of the User-Agent of its first request; absent before.
        client "client": Option<Text> as Name,
        /// The server it goes to.
        server "server": u64,
        /// How it is.
        way "way": Way,
        /// Responses that are open on it.
        streams "streams": u64,
    }
}

/// A record of the inside with its place and time. Never changes.
#[derive(Clone, Debug, PartialEq)]
pub struct InsideRecord {
    /// Place in the epoch.
    pub seq: Seq,
    /// When the log took it.
    pub at: Time,
    /// What happened.
    pub inside: Inside,
}

/// What stands at one place of a log.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all entries are records, and none is kept for long"
)]
pub enum Entry {
    /// What everybody could see.
    Record(Record),
    /// What only a simulated world can tell.
    Inside(InsideRecord),
}

impl Entry {
    /// Place in the epoch.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Record(record) => record.seq,
            Self::Inside(record) => record.seq,
        }
    }

    /// When the log took it.
    #[must_use]
    pub fn at(&self) -> Time {
        match self {
            Self::Record(record) => record.at,
            Self::Inside(record) => record.at,
        }
    }

    /// The same by value.
    #[must_use]
    pub fn into_record(self) -> Option<Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Inside(_) => None,
        }
    }

    /// The record, if it is one that everybody could see.
    #[must_use]
    pub fn record(&self) -> Option<&Record> {
        match self {
            Self::Record(record) => Some(record),
            Self::Inside(_) => None,
        }
    }
}
