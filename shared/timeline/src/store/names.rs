//! Numbers for watches and the places of their objects, the same in all epochs: lanes are joined by name.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use watchscope_model::id::Place;
use watchscope_model::{Object, Text, WatchName};

use crate::id::{ObjectId, ServerId, WatchId};

/// All names met. Grows with the names of the cluster; never shrinks while the page lives.
#[derive(Debug, Default)]
pub(crate) struct Names {
    watches: IndexSet<WatchName, FxBuildHasher>,
    watch_order: Vec<WatchId>,
    objects: Vec<ObjectNames>,
    servers: Vec<Text>,
    server_order: Vec<ServerId>,
}

#[derive(Debug, Default)]
struct ObjectNames {
    places: IndexSet<Place, FxBuildHasher>,
    order: Vec<ObjectId>,
}

impl Names {
    /// The number of a watch, given if it is new.
    pub(crate) fn watch(&mut self, name: &WatchName) -> WatchId {
        if let Some(place) = self.watches.get_index_of(name) {
            return WatchId(place as u32);
        }
        let id = WatchId(self.watches.len() as u32);
        let place = self
            .watch_order
            .partition_point(|other| self.watches[other.0 as usize] < *name);
        self.watch_order.insert(place, id);
        self.watches.insert(name.clone());
        self.objects.push(ObjectNames::default());
        id
    }

    /// The number of an object's place in a watch, given if it is new.
    pub(crate) fn object(&mut self, watch: WatchId, object: &Arc<Object>) -> ObjectId {
        let names = &mut self.objects[watch.0 as usize];
        let place = Place(object.clone());
        if let Some(known) = names.places.get_index_of(&place) {
            return ObjectId(known as u32);
        }
        let id = ObjectId(names.places.len() as u32);
        let at = names
            .order
            .partition_point(|other| names.places[other.0 as usize] < place);
        names.order.insert(at, id);
        names.places.insert(place);
        id
    }

    /// The number of a watch, if it was met.
    pub(crate) fn find_watch(&self, name: &WatchName) -> Option<WatchId> {
        self.watches
            .get_index_of(name)
            .map(|place| WatchId(place as u32))
    }

    /// The number of an object's place, if it was met.
    pub(crate) fn find_object(&self, watch: WatchId, object: &Arc<Object>) -> Option<ObjectId> {
        let names = self.objects.get(watch.0 as usize)?;
        names
            .places
            .get_index_of(&Place(object.clone()))
            .map(|place| ObjectId(place as u32))
    }

    /// A watch's name.
    pub(crate) fn watch_name(&self, watch: WatchId) -> &WatchName {
        &self.watches[watch.0 as usize]
    }

    /// The object that was first met in a place.
    pub(crate) fn object_at(&self, watch: WatchId, object: ObjectId) -> &Arc<Object> {
        &self.objects[watch.0 as usize].places[object.0 as usize].0
    }

    /// The number of a server's address, given if it is new.
    pub(crate) fn server(&mut self, remote: &Text) -> ServerId {
        if let Some(known) = self.find_server(remote) {
            return known;
        }
        let id = ServerId(self.servers.len() as u32);
        let place = self
            .server_order
            .partition_point(|other| self.servers[other.0 as usize] < *remote);
        self.server_order.insert(place, id);
        self.servers.push(remote.clone());
        id
    }

    /// The number of a server's address, if it was met.
    pub(crate) fn find_server(&self, remote: &Text) -> Option<ServerId> {
        let place = self.servers.iter().position(|known| known == remote)?;
        Some(ServerId(place as u32))
    }

    /// A server's address.
    pub(crate) fn server_name(&self, server: ServerId) -> &Text {
        &self.servers[server.0 as usize]
    }

    /// All servers, by address.
    pub(crate) fn servers_by_name(&self) -> &[ServerId] {
        &self.server_order
    }

    /// All watches, by name.
    pub(crate) fn watches_by_name(&self) -> &[WatchId] {
        &self.watch_order
    }

    /// All objects of a watch, by namespace and name.
    pub(crate) fn objects_by_name(&self, watch: WatchId) -> &[ObjectId] {
        &self.objects[watch.0 as usize].order
    }
}
