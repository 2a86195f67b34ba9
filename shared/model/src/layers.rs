//! The fold of the inside: what each layer of a simulated cluster holds after some record.
//!
//! Apart from [`State`](crate::State), so that what is given a `State` cannot look inside. Client programs are folded
//! here too: they are no secret, but only where they run is there something to set beside them.

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

/// Objects that are kept by name of one resource in etcd or in a cache; those beyond are counted.
pub const OBJECTS_KEPT: usize = 4_096;

classed_fields! {
    /// What each layer holds.
    struct Layers {
        /// etcd, once it told anything.
        etcd "etcd": Option<EtcdLayer>,
        /// The apiservers.
        servers "servers": Map<u64, ServerLayer>,
        /// The watches the apiservers keep, by their requests.
        watchers "watchers": Map<u64, WatcherLayer>,
        /// The connections that are not gone.
        connections "connections": Map<u64, ConnectionLayer>,
        /// The client programs, by name.
        clients "clients": Map<Text, ClientLayer> as Name,
    }

    /// What etcd holds.
    struct EtcdLayer {
        /// The revision of the last write.
        revision "revision": u64,
        /// The revision below which history is gone.
        compacted "compacted": u64,
        /// Whether there is a leader.
        has_leader "hasLeader": bool,
        /// The objects, by resource.
        objects "objects": Map<Text, Stock> as Resource,
        /// When it changed last.
        since "since": Moment,
    }

    /// An apiserver.
    struct ServerLayer {
        /// Its version; empty before it told.
        version "version": Text as Fixed,
        /// Whether it takes connections.
        is_serving "isServing": bool,
        /// Its watch caches, by resource.
        caches "caches": Map<Text, CacheLayer> as Resource,
    }

    /// A watch cache.
    struct CacheLayer {
        /// How far its cacher is.
        phase "phase": CachePhase,
        /// The revision up to which it believes to know everything.
        revision "revision": u64,
        /// Where its window begins.
        oldest "oldest": u64,
        /// Events in it.
        events "events": u64,
        /// Events it has room for.
        capacity "capacity": u64,
        /// The objects it holds.
        objects "objects": Stock,
        /// When it changed last.
        since "since": Moment,
    }

    /// A watch as its apiserver keeps it.
    struct WatcherLayer {
        /// The last word of it.
        told "told": InsideWatcher,
        /// When that came.
        since "since": Moment,
    }

    /// A connection.
    struct ConnectionLayer {
        /// The last word of it.
        told "told": InsideConnection,
        /// When that came.
        since "since": Moment,
    }

    /// A client program.
    struct ClientLayer {
        /// What it is.
        program "program": Text as Fixed,
        /// Its version.
        version "version": Option<Text> as Fixed,
        /// Its last request, as `VERB PATH?QUERY`.
        request "request": Option<String> as Request,
        /// Requests it sent.
        requests "requests": u64,
        /// What it does; empty before it told.
        phase "phase": Text as Fixed,
        /// Since when.
        since "since": Moment,
        /// Turns of its loop.
        iterations "iterations": u64,
        /// Events its handler took.
        handled "handled": u64,
        /// What it believes, as JSON.
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

/// Objects by namespace and name, each at a revision.
///
/// Bounded: [`OBJECTS_KEPT`] by name, the rest counted.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    named: BTreeMap<Place, u64>,
    unnamed: u64,
}

/// Places are equal whatever the uid; what is held is not.
impl PartialEq for Stock {
    fn eq(&self, other: &Self) -> bool {
        self.unnamed == other.unnamed && self.iter().eq(other.iter())
    }
}

impl Stock {
    /// The objects kept by name, in order, each with its revision.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Object>, u64)> {
        self.named
            .iter()
            .map(|(place, &revision)| (&place.0, revision))
    }

    /// The object in the place of `object`, and its revision.
    #[must_use]
    pub fn get(&self, object: &Arc<Object>) -> Option<(&Arc<Object>, u64)> {
        self.named
            .get_key_value(&Place(object.clone()))
            .map(|(place, &revision)| (&place.0, revision))
    }

    /// How many objects there are, those without a name here too.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.unnamed.wrapping_add(self.named.len() as u64)
    }

    /// How many of them are only counted.
    #[must_use]
    pub fn unnamed(&self) -> u64 {
        self.unnamed
    }

    fn set(&mut self, object: &Arc<Object>, revision: Option<u64>) {
        let place = Place(object.clone());
        // The key carries the uid of who has the place now.
        let was_named = self.named.remove(&place).is_some();
        match revision {
            Some(revision) if was_named || self.named.len() < OBJECTS_KEPT => {
                self.named.insert(place, revision);
            }
            // It may be one of those already counted: past the bound the count is only about right.
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

/// The number of those without a name, a count, then the objects in order, each with its revision.
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
        // A tree's nodes are at least half full.
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

/// In a map of the state's JSON form: how many.
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
    /// Nothing was told yet.
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
    /// Whether nothing was told: a real cluster, which has no inside to tell and no programs that report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Folds the next entry of the log in.
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

    /// Folds a record of the inside in.
    pub fn apply_inside(&mut self, inside: &Inside, now: Moment) {
        match inside {
            Inside::InsideEtcd(told) => self.apply_etcd(told, now),
            Inside::InsideWrite(write) => self.apply_write(write, now),
            Inside::InsideServer(told) => {
                let server = self.server(told.server);
                server.version = told.version.clone();
                server.is_serving = told.is_serving;
            }
            Inside::InsideCache(told) => self.apply_cache(told, now),
            Inside::InsideHeld(told) => {
                let cache = self.cache(told.server, &told.resource, now);
                cache.objects.set(&told.object, told.revision);
            }
            Inside::InsideWatcher(told) => {
                let layer = WatcherLayer {
                    told: told.clone(),
                    since: now,
                };
                self.watchers.insert(told.watcher, layer);
            }
            Inside::InsideWatcherEnded(told) => {
                self.watchers.remove(&told.watcher);
            }
            Inside::InsideConnection(told) if told.way == Way::Closed => {
                self.connections.remove(&told.connection);
            }
            Inside::InsideConnection(told) => {
                let layer = ConnectionLayer {
                    told: told.clone(),
                    since: now,
                };
                self.connections.insert(told.connection, layer);
            }
        }
    }

    /// Folds an event in: what client programs tell, and nothing else.
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

    /// The fold as JSON lines, one for each thing in each layer.
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

    fn apply_etcd(&mut self, told: &InsideEtcd, now: Moment) {
        let etcd = self.etcd(now);
        etcd.revision = told.revision;
        etcd.compacted = told.compacted;
        etcd.has_leader = told.has_leader;
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

    fn apply_cache(&mut self, told: &InsideCache, now: Moment) {
        if told.phase == CachePhase::Failed && told.revision == 0 {
            self.server(told.server).caches.remove(&told.resource);
            return;
        }
        let cache = self.cache(told.server, &told.resource, now);
        cache.phase = told.phase;
        cache.revision = told.revision;
        cache.oldest = told.oldest;
        cache.events = told.events;
        cache.capacity = told.capacity;
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
        // Absent: as last reported.
        if report.belief.is_some() {
            self.belief.clone_from(&report.belief);
        }
    }
}
