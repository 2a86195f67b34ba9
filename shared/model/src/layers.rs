//! The fold of the inside: the state of each layer of a simulated cluster after a record.
//!
//! This fold is separate from [`State`](crate::State), so code that gets a `State` cannot see inside the cluster. The
//! fold of the inside has client programs, too. Client programs are not secret, but only a cluster that runs them has
//! layers to compare them with.

use std::sync::Arc;

use crate::tree::BTreeMap;
use serde::ser::SerializeMap;

use crate::codec::{Reader, Writer};
use crate::event::{ClientReport, ClientStarted, Event};
use crate::field::{Field, struct_fields};
use crate::fold::{Moment, StateLine};
use crate::id::{Object, Place, Text};
use crate::inside::{
    Entry, Inside, InsideCache, InsideConnection, InsideEtcd, InsideWatcher, InsideWrite,
};
use crate::json::push_line;
use crate::map::Map;
use crate::rewrite::{Rewrite, Rewriter, classed_fields};
use crate::vocabulary::{CachePhase, ChangeType, Way};

/// The most objects of one resource that the fold of etcd's layer or of a cache's layer keeps by name, so that
/// snapshots stay small. Further objects are only counted. A snapshot in a file may name more, and the frame bounds
/// those. The number has no source.
pub const OBJECTS_KEPT: usize = 4_096;

classed_fields! {
    /// The state of each layer of a simulated cluster, and of its client programs. The world bounds the numbers of
    /// entries; [`OBJECTS_KEPT`] bounds the objects of each resource.
    struct Layers {
        /// etcd; absent until its first record or write.
        etcd "etcd": Option<EtcdLayer>,
        /// The apiservers, by number from 0. A server that stopped stays in the map.
        servers "servers": Map<u64, ServerLayer>,
        /// The watches that the apiservers keep, by the numbers of their requests in the world. A watch that ended is
        /// removed.
        watchers "watchers": Map<u64, WatcherLayer>,
        /// The connections that are not closed, by number in the world.
        connections "connections": Map<u64, ConnectionLayer>,
        /// The client programs, by name; a program that ended stays in the map.
        clients "clients": Map<Text, ClientLayer> as Name,
    }

    /// The state of etcd.
    struct EtcdLayer {
        /// The newest revision, 1 before the first write. The revision is that of the last `inside.etcd` record, or
        /// that of a later write if it is higher.
        revision "revision": u64,
        /// The revision below which history is compacted away; 0 if nothing is.
        compacted "compacted": u64,
        /// Whether etcd has a leader; true until a record states otherwise.
        has_leader "hasLeader": bool,
        /// The objects, by resource (`deployments.apps`), each at the revision of its last write.
        objects "objects": Map<Text, Stock> as Resource,
        /// When the last record of etcd, or of a write, came.
        since "since": Moment,
    }

    /// An apiserver.
    struct ServerLayer {
        /// The server's version, such as `v1.34.1`; empty before its first `inside.server` record.
        version "version": Text as Fixed,
        /// Whether the server accepts connections; true before its first `inside.server` record.
        is_serving "isServing": bool,
        /// The server's watch caches, by resource (`deployments.apps`). A record with the phase `failed` and revision 0
        /// removes a cache: it is gone, or its first list failed.
        caches "caches": Map<Text, CacheLayer> as Resource,
    }

    /// A watch cache (docs/semantics/servers.md#watch-cache). Before the first `inside.cache` record its numbers are 0.
    struct CacheLayer {
        /// The phase of the cache's cacher; `listing` before the first `inside.cache` record.
        phase "phase": CachePhase,
        /// The revision up to which, included, the cache believes to know everything.
        revision "revision": u64,
        /// The lowest revision that a watch can start from: the start of the cache's window.
        oldest "oldest": u64,
        /// The number of events in the cache's window.
        events "events": u64,
        /// The number of events that the cache's window has room for now.
        capacity "capacity": u64,
        /// The objects that the cache holds.
        objects "objects": Stock,
        /// When the cache's last `inside.cache` record came; before the first, when a record first named the cache.
        /// Changes of objects do not count.
        since "since": Moment,
    }

    /// A watch as its apiserver keeps it, by its last record.
    struct WatcherLayer {
        /// The watch's last `inside.watcher` record.
        told "told": InsideWatcher,
        /// When that record came.
        since "since": Moment,
    }

    /// A connection that is not closed, by its last record.
    struct ConnectionLayer {
        /// The connection's last `inside.connection` record.
        told "told": InsideConnection,
        /// When that record came.
        since "since": Moment,
    }

    /// A client program. If the program is started again, all fields are set back.
    struct ClientLayer {
        /// The program: the word of a [`ClientProgram`](crate::vocabulary::ClientProgram), or another word.
        program "program": Text as Fixed,
        /// The program's version; absent if the program has only one.
        version "version": Option<Text> as Fixed,
        /// The client's last request, as `METHOD PATH?QUERY`, or `METHOD PATH` without a query; absent before the first
        /// request.
        request "request": Option<String> as Request,
        /// The number of requests that the client sent since its start. It wraps above 64 bits.
        requests "requests": u64,
        /// The client's phase: the word of a [`ClientPhase`](crate::vocabulary::ClientPhase), or another word; empty
        /// before its first report.
        phase "phase": Text as Fixed,
        /// Since when the client is in its phase; before its first report, when it was started.
        since "since": Moment,
        /// The number of iterations of the client's loop since its start, as last reported; 0 before its first report.
        iterations "iterations": u64,
        /// The number of events that the client's handler took since its start, as last reported; 0 before its first
        /// report.
        handled "handled": u64,
        /// The client's belief, as JSON (see [`crate::belief`]); absent before the first report that states a belief.
        belief "belief": Option<String> as Belief,
    }
}

struct_fields!(
    EtcdLayer,
    ServerLayer,
    CacheLayer,
    WatcherLayer,
    ConnectionLayer,
    ClientLayer,
    InsideWatcher,
    InsideConnection,
);

/// Objects of one resource by namespace and name, each at a revision.
///
/// At most [`OBJECTS_KEPT`] objects are kept by name, unless a decoded snapshot names more. Further objects are only
/// counted, and the count is approximate from then on. Each change of an object that is not kept adds 1 to the count.
/// Each deletion of such an object takes 1 away, unless no object is only counted.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    named: BTreeMap<Place, u64>,
    unnamed: u64,
}

/// Two stocks are equal only if the uids of their objects are equal, too, which [`Place`] does not compare.
impl PartialEq for Stock {
    fn eq(&self, other: &Self) -> bool {
        self.unnamed == other.unnamed && self.iter().eq(other.iter())
    }
}

impl Stock {
    /// The objects that are kept by name, sorted by namespace, then name, each with its revision. Cluster-scoped
    /// objects come first.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Object>, u64)> {
        self.named
            .iter()
            .map(|(place, &revision)| (&place.0, revision))
    }

    /// The object kept under the namespace and name of `object`, whatever its uid, with its revision; `None` if none is
    /// kept.
    #[must_use]
    pub fn get(&self, object: &Arc<Object>) -> Option<(&Arc<Object>, u64)> {
        self.named
            .get_key_value(&Place(object.clone()))
            .map(|(place, &revision)| (&place.0, revision))
    }

    /// The number of all objects, kept by name or only counted. The number is approximate once there were more than
    /// [`OBJECTS_KEPT`].
    #[must_use]
    pub fn count(&self) -> u64 {
        self.unnamed.wrapping_add(self.named.len() as u64)
    }

    /// The number of objects that are only counted; 0 until there were more than [`OBJECTS_KEPT`], and approximate from
    /// then on.
    #[must_use]
    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }

    fn set(&mut self, object: &Arc<Object>, revision: Option<u64>) {
        let place = Place(object.clone());
        // The key must carry the uid of the present object, so the old key is removed first.
        let was_named = self.named.remove(&place).is_some();
        match revision {
            Some(revision) if was_named || self.named.len() < OBJECTS_KEPT => {
                self.named.insert(place, revision);
            }
            // This object may already be counted, so above the bound the count is approximate.
            Some(_) => self.unnamed = self.unnamed.wrapping_add(1),
            None if !was_named => self.unnamed = self.unnamed.saturating_sub(1),
            None => {}
        }
    }
}

impl Rewrite for Stock {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        let mut named = BTreeMap::new();
        for (mut object, revision) in self
            .iter()
            .map(|(object, revision)| (object.clone(), revision))
        {
            object.rewrite(with);
            named.insert(Place(object), revision);
        }
        self.named = named;
    }
}

/// The encoding is the number of unnamed objects, the number of named objects, then the named objects in order, each
/// with its revision.
impl Field for Stock {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.varint(self.unnamed);
        writer.varint(self.named.len() as u64);
        for (object, revision) in self.iter() {
            writer.object(Some(object), 0);
            writer.varint(revision);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let unnamed = reader.varint();
        // The nodes of a tree are at least half full, so an entry takes at most twice its size.
        let count = reader.count(2, 2 * size_of::<(Place, u64)>() + size_of::<usize>());
        let mut named = BTreeMap::new();
        for _ in 0..count {
            let (object, revision) = (reader.object(), reader.varint());
            if reader.has_failed() {
                break;
            }
            named.insert(Place(object), revision);
        }
        Self { named, unnamed }
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, &self.count())
    }
}

/// In the JSON form a stock is its count of objects.
impl crate::field::Fields for Stock {
    fn write_fields(&self, writer: &mut Writer<'_>) {
        self.write(writer);
    }

    fn read_fields(reader: &mut Reader<'_>) -> Self {
        Self::read(reader)
    }

    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("count", &self.count())
    }
}

impl Default for Layers {
    /// The layers before any record of the inside: there are none.
    fn default() -> Self {
        Self {
            etcd: None,
            servers: Map::new(),
            watchers: Map::new(),
            connections: Map::new(),
            clients: Map::new(),
        }
    }
}

impl Layers {
    /// Whether there are no layers, as in a real cluster, which has no records of the inside and no programs that
    /// report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Folds the next entry of the log. Of the entries that are no records of the inside, only those of client programs
    /// change the layers.
    pub fn apply(&mut self, entry: &Entry) {
        let now = Moment {
            seq: entry.seq(),
            at: entry.at(),
        };
        match entry {
            Entry::Record(record) => self.apply_event(&record.event, now),
            Entry::Inside(record) => self.apply_inside(&record.inside, now),
        }
    }

    /// Folds a record of the inside. `now` has the record's seq and time. The end of an unknown watch or connection
    /// changes nothing.
    pub fn apply_inside(&mut self, inside: &Inside, now: Moment) {
        match inside {
            Inside::InsideEtcd(report) => self.apply_etcd(report, now),
            Inside::InsideWrite(write) => self.apply_write(write, now),
            Inside::InsideServer(report) => {
                let server = self.server(report.server);
                server.version = report.version.clone();
                server.is_serving = report.is_serving;
            }
            Inside::InsideCache(report) => self.apply_cache(report, now),
            Inside::InsideHeld(report) => {
                let cache = self.cache(report.server, &report.resource, now);
                cache.objects.set(&report.object, report.revision);
            }
            Inside::InsideWatcher(report) => {
                let layer = WatcherLayer {
                    told: report.clone(),
                    since: now,
                };
                self.watchers.insert(report.watcher, layer);
            }
            Inside::InsideWatcherEnded(report) => {
                self.watchers.remove(&report.watcher);
            }
            Inside::InsideConnection(report) if report.way == Way::Closed => {
                self.connections.remove(&report.connection);
            }
            Inside::InsideConnection(report) => {
                let layer = ConnectionLayer {
                    told: report.clone(),
                    since: now,
                };
                self.connections.insert(report.connection, layer);
            }
        }
    }

    /// Folds an event; `now` has the seq and time of its record. Only events of client programs change the layers. A
    /// request or report of a client that was not started changes nothing.
    pub fn apply_event(&mut self, event: &Event, now: Moment) {
        match event {
            Event::ClientStarted(started) => {
                let client = ClientLayer::new(started, now);
                self.clients.insert(started.client.clone(), client);
            }
            Event::ClientRequest(sent) => {
                if let Some(client) = self.clients.get_mut(&sent.client) {
                    client.requests = client.requests.wrapping_add(1);
                    client.request = Some(sent.request.clone());
                }
            }
            Event::ClientReport(report) => {
                if let Some(client) = self.clients.get_mut(&report.client) {
                    client.report(report, now);
                }
            }
            _ => {}
        }
    }

    /// Appends the fold as JSON lines, one for each part: etcd, caches by server and resource, watches and connections
    /// by number, clients by name. Apiservers and objects have no line of their own. Nothing is appended if there are
    /// no layers.
    pub fn json_lines(&self, out: &mut Vec<u8>) {
        if let Some(etcd) = &self.etcd {
            let line = StateLine {
                type_name: "inside.etcd",
                id: None::<&str>,
                value: etcd,
            };
            push_line(&line, out);
        }
        for (id, server) in &self.servers {
            for (resource, cache) in &server.caches {
                let line = StateLine {
                    type_name: "inside.cache",
                    id: Some((("server", id), ("resource", resource), ())),
                    value: cache,
                };
                push_line(&line, out);
            }
        }
        for watcher in self.watchers.values() {
            let line = StateLine {
                type_name: "inside.watcher",
                id: None::<&str>,
                value: &watcher.told,
            };
            push_line(&line, out);
        }
        for connection in self.connections.values() {
            let line = StateLine {
                type_name: "inside.connection",
                id: None::<&str>,
                value: &connection.told,
            };
            push_line(&line, out);
        }
        for (name, client) in &self.clients {
            let line = StateLine {
                type_name: "client",
                id: Some(("client", name)),
                value: client,
            };
            push_line(&line, out);
        }
    }

    fn etcd(&mut self, now: Moment) -> &mut EtcdLayer {
        let etcd = self.etcd.get_or_insert_with(|| EtcdLayer {
            revision: 0,
            compacted: 0,
            has_leader: true,
            objects: Map::new(),
            since: now,
        });
        etcd.since = now;
        etcd
    }

    fn apply_etcd(&mut self, report: &InsideEtcd, now: Moment) {
        let etcd = self.etcd(now);
        etcd.revision = report.revision;
        etcd.compacted = report.compacted;
        etcd.has_leader = report.has_leader;
    }

    fn apply_write(&mut self, write: &InsideWrite, now: Moment) {
        let etcd = self.etcd(now);
        etcd.revision = etcd.revision.max(write.revision);
        let revision = (write.change != ChangeType::Deleted).then_some(write.revision);
        let resource = &write.resource;
        if !etcd.objects.contains_key(resource) {
            etcd.objects.insert(resource.clone(), Stock::default());
        }
        if let Some(stock) = etcd.objects.get_mut(resource) {
            stock.set(&write.object, revision);
        }
    }

    fn apply_cache(&mut self, report: &InsideCache, now: Moment) {
        if report.phase == CachePhase::Failed && report.revision == 0 {
            self.server(report.server).caches.remove(&report.resource);
            return;
        }
        let cache = self.cache(report.server, &report.resource, now);
        cache.phase = report.phase;
        cache.revision = report.revision;
        cache.oldest = report.oldest;
        cache.events = report.events;
        cache.capacity = report.capacity;
        cache.since = now;
    }

    fn server(&mut self, id: u64) -> &mut ServerLayer {
        if !self.servers.contains_key(&id) {
            let server = ServerLayer {
                version: "".into(),
                is_serving: true,
                caches: Map::new(),
            };
            self.servers.insert(id, server);
        }
        self.servers.get_mut(&id).expect("it was just put there")
    }

    fn cache(&mut self, server: u64, resource: &Text, now: Moment) -> &mut CacheLayer {
        let caches = &mut self.server(server).caches;
        if !caches.contains_key(resource) {
            let cache = CacheLayer {
                phase: CachePhase::Listing,
                revision: 0,
                oldest: 0,
                events: 0,
                capacity: 0,
                objects: Stock::default(),
                since: now,
            };
            caches.insert(resource.clone(), cache);
        }
        caches.get_mut(resource).expect("it was just put there")
    }
}

impl ClientLayer {
    fn new(started: &ClientStarted, since: Moment) -> Self {
        Self {
            program: started.program.clone(),
            version: started.version.clone(),
            request: None,
            requests: 0,
            phase: "".into(),
            since,
            iterations: 0,
            handled: 0,
            belief: None,
        }
    }

    fn report(&mut self, report: &ClientReport, now: Moment) {
        if self.phase != report.phase {
            self.phase = report.phase.clone();
            self.since = now;
        }
        self.iterations = report.iterations;
        self.handled = report.handled;
        // An absent belief means that it is as last reported.
        if report.belief.is_some() {
            self.belief.clone_from(&report.belief);
        }
    }
}
