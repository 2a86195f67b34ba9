//! Numbers for watches and the places of their objects, the same in all epochs: lanes are joined by name.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use watchscope_model::id::Place;
use watchscope_model::tree;
use watchscope_model::{Object, Text, WatchName};

use crate::id::{ObjectId, ServerId, WatchId};

/// The number of objects that are remembered by where they lie in memory: within a chapter its records share them. A power of
/// two.
const LATELY: usize = 1 << 14;

/// All names met. Grows with the names of the cluster; never shrinks while the page lives.
#[derive(Debug, Default)]
pub(crate) struct Names {
    watches: IndexSet<WatchName, FxBuildHasher>,
    watch_order: Vec<WatchId>,
    objects: Vec<ObjectNames>,
    /// What was met lately: found without looking at the names, which takes a quarter of the time of a chapter. The newer of
    /// two with the same place stays.
    /// Empty but between [`await_many`](Self::await_many) and [`settle`](Self::settle), which puts new names in order.
    lately: Vec<Option<Met>>,
    servers: Vec<Text>,
    server_order: Vec<ServerId>,
}

/// An object and the number that its place has in a watch.
#[derive(Debug)]
struct Met {
    object: Arc<Object>,
    watch: WatchId,
    number: ObjectId,
}

#[derive(Debug, Default)]
struct ObjectNames {
    places: IndexSet<Place, FxBuildHasher>,
    /// By name, as far as it is settled.
    order: Vec<ObjectId>,
    settled: usize,
}

impl ObjectNames {
    /// Puts in order what came since the last time. Comparing names is what costs: each is looked for behind the one before
    /// it, in steps that double.
    fn settle(&mut self) {
        if self.settled == self.order.len() {
            return;
        }
        let place = |id: &ObjectId| &self.places[id.0 as usize];
        let mut came = self.order.split_off(self.settled);
        tree::sort_by(&mut came, |a, b| place(a).cmp(place(b)));
        let (known, mut from) = (std::mem::take(&mut self.order), 0);
        let mut order = Vec::with_capacity(known.len() + came.len());
        for id in came {
            let is_before = |other: &ObjectId| place(other) < place(&id);
            let mut step = 1;
            while known.get(from + step - 1).is_some_and(is_before) {
                step *= 2;
            }
            let (low, high) = (from + step / 2, (from + step).min(known.len()));
            let at = low + known[low..high].partition_point(is_before);
            order.extend_from_slice(&known[from..at]);
            order.push(id);
            from = at;
        }
        order.extend_from_slice(&known[from..]);
        self.settled = order.len();
        self.order = order;
    }
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

    /// Many names may follow: they are put in order all at once, which is to be done before the order is asked for.
    pub(crate) fn await_many(&mut self) {
        self.lately.resize_with(LATELY, || None);
    }

    /// Puts in order what came since.
    pub(crate) fn settle(&mut self) {
        // Another chapter has objects of its own.
        self.lately.clear();
        self.objects.iter_mut().for_each(ObjectNames::settle);
    }

    /// The number of an object's place in a watch, given if it is new.
    pub(crate) fn object(&mut self, watch: WatchId, object: &Arc<Object>) -> ObjectId {
        // Objects lie at least 16 bytes apart.
        let address = Arc::as_ptr(object).addr() >> 4;
        let place = (address ^ (watch.0 as usize).wrapping_mul(977)) & (LATELY - 1);
        if let Some(Some(met)) = self.lately.get(place)
            && Arc::ptr_eq(&met.object, object)
            && met.watch == watch
        {
            return met.number;
        }
        let number = self.object_by_name(watch, object);
        if let Some(lately) = self.lately.get_mut(place) {
            *lately = Some(Met {
                object: object.clone(),
                watch,
                number,
            });
        }
        number
    }

    fn object_by_name(&mut self, watch: WatchId, object: &Arc<Object>) -> ObjectId {
        let names = &mut self.objects[watch.0 as usize];
        let place = Place(object.clone());
        if let Some(known) = names.places.get_index_of(&place) {
            return ObjectId(known as u32);
        }
        let id = ObjectId(names.places.len() as u32);
        if !self.lately.is_empty() {
            names.order.push(id);
        } else {
            let at = names
                .order
                .partition_point(|other| names.places[other.0 as usize] < place);
            names.order.insert(at, id);
            names.settled = names.order.len();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_came_many_at_once_have_the_order_and_numbers_of_those_that_came_one_by_one() {
        let object = |step: usize| {
            Arc::new(Object {
                namespace: Some("shop".into()),
                name: format!("pod-{}", step * 7_919 % 1_013).into(),
                uid: watchscope_model::Uid::parse("uid"),
            })
        };
        let (mut one, mut many) = (Names::default(), Names::default());
        for names in [&mut one, &mut many] {
            names.watch(&WatchName::from("shop/pods"));
        }
        let watch = WatchId(0);
        for (from, to) in [(0, 1), (1, 3), (3, 40), (40, 44), (44, 900), (900, 901)] {
            many.await_many();
            for step in from..to {
                let object = object(step);
                let number = one.object(watch, &object);
                assert_eq!(many.object(watch, &object), number);
                assert_eq!(many.object(watch, &object), number, "met lately");
            }
            many.settle();
            assert_eq!(many.objects_by_name(watch), one.objects_by_name(watch));
        }
    }
}
