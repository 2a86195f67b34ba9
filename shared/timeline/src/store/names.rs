//! Numbers for watches and their objects, the same in all epochs, so that watches and objects of the same name share a
//! lane over all epochs.

use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use watchscope_model::id::{Owner, Place};
use watchscope_model::tree;
use watchscope_model::{Object, Text, Time, WatchName};

use crate::id::{ObjectId, ServerId, WatchId};

/// Number of slots for objects that are found by their address in memory; the records of a chapter share their objects.
/// An object with the same slot replaces the older object, which is from then on found by its name. A power of two,
/// because the slot is some low bits of the address, mixed with the watch's number. The number has no other source.
const LATELY: usize = 1 << 14;

/// All names met. The number of names grows with the cluster's, and never shrinks while the page lives.
#[derive(Debug, Default)]
pub(crate) struct Names {
    watches: IndexSet<WatchName, FxBuildHasher>,
    watch_order: Vec<WatchId>,
    objects: Vec<ObjectNames>,
    /// Objects met lately, by their address. Comparing names instead would take a quarter of the time in which a
    /// chapter is read. An object with the same slot replaces the older object. The list is empty except between
    /// [`await_many`](Self::await_many) and [`settle`](Self::settle), which sorts new names.
    lately: Vec<Option<Met>>,
    servers: Vec<Text>,
    server_order: Vec<ServerId>,
    /// Whether the records that are being read name controllers.
    has_controllers: bool,
}

/// An object and its number in a watch.
#[derive(Debug)]
struct Met {
    object: Arc<Object>,
    watch: WatchId,
    number: ObjectId,
}

/// The controller of an object, as far as loaded records say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Controller {
    /// No change of the object is loaded.
    #[default]
    NotLoaded,
    /// The records say nothing of controllers, because an older version wrote them.
    NotRecorded,
    /// The object has no controller.
    None,
    /// The controller that the object's latest loaded change names.
    Named(Owner),
}

#[derive(Debug, Default)]
struct ObjectNames {
    places: IndexSet<Place, FxBuildHasher>,
    /// The controllers of objects, by the objects' numbers, with the time of the change that named the controller.
    /// Objects beyond the end have no loaded change.
    controllers: Vec<(Time, Controller)>,
    /// Objects by name; the first `settled` of them are sorted.
    order: Vec<ObjectId>,
    settled: usize,
}

impl ObjectNames {
    /// Sorts the names that came since the last call. To compare names is the expensive part, so the position of each
    /// name is searched from that of the name before it, in steps that double.
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
    /// Returns the number of a watch's name; a new name gets a new number.
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

    /// Announces many names. [`settle`](Self::settle) sorts them together, and must be called before their order is
    /// read.
    pub(crate) fn await_many(&mut self) {
        self.lately.resize_with(LATELY, || None);
    }

    /// Sorts the names that came since [`await_many`](Self::await_many).
    pub(crate) fn settle(&mut self) {
        // The next chapter has objects of its own.
        self.lately.clear();
        self.objects.iter_mut().for_each(ObjectNames::settle);
    }

    /// Returns the number of an object's namespace and name in a watch; a new object gets a new number.
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

    /// Returns the number of a watch's name; `None` if the name was not met.
    pub(crate) fn find_watch(&self, name: &WatchName) -> Option<WatchId> {
        self.watches
            .get_index_of(name)
            .map(|place| WatchId(place as u32))
    }

    /// Returns the number of an object's namespace and name in a watch; `None` if they were not met.
    pub(crate) fn find_object(&self, watch: WatchId, object: &Arc<Object>) -> Option<ObjectId> {
        let names = self.objects.get(watch.0 as usize)?;
        names
            .places
            .get_index_of(&Place(object.clone()))
            .map(|place| ObjectId(place as u32))
    }

    /// Returns a watch's name.
    pub(crate) fn watch_name(&self, watch: WatchId) -> &WatchName {
        &self.watches[watch.0 as usize]
    }

    /// Returns the object that was first met under a number.
    pub(crate) fn object_at(&self, watch: WatchId, object: ObjectId) -> &Arc<Object> {
        &self.objects[watch.0 as usize].places[object.0 as usize].0
    }

    /// Takes the controller that a change of an object names. A change that happened before the one whose controller is
    /// known changes nothing, even if it is loaded later.
    pub(crate) fn take_controller(
        &mut self,
        watch: WatchId,
        object: ObjectId,
        at: Time,
        owner: Option<&Owner>,
    ) {
        let controllers = &mut self.objects[watch.0 as usize].controllers;
        let place = object.0 as usize;
        if controllers.len() <= place {
            controllers.resize_with(place + 1, Default::default);
        }
        let (known_at, known) = &mut controllers[place];
        if *known != Controller::NotLoaded && *known_at > at {
            return;
        }
        *known_at = at;
        match (owner, &*known) {
            (Some(owner), Controller::Named(same)) if same == owner => {}
            (Some(owner), _) => *known = Controller::Named(owner.clone()),
            (None, _) if self.has_controllers => *known = Controller::None,
            (None, _) => *known = Controller::NotRecorded,
        }
    }

    /// Says whether the records that come next name controllers.
    pub(crate) fn await_controllers(&mut self, has_controllers: bool) {
        self.has_controllers = has_controllers;
    }

    /// Returns the controller of an object.
    pub(crate) fn controller(&self, watch: WatchId, object: ObjectId) -> &Controller {
        let controllers = &self.objects[watch.0 as usize].controllers;
        let known = controllers.get(object.0 as usize);
        known.map_or(&Controller::NotLoaded, |(_, known)| known)
    }

    /// Returns the number of a server's address; a new address gets a new number.
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

    /// Returns the number of a server's address; `None` if the address was not met.
    pub(crate) fn find_server(&self, remote: &Text) -> Option<ServerId> {
        let place = self.servers.iter().position(|known| known == remote)?;
        Some(ServerId(place as u32))
    }

    /// Returns a server's address.
    pub(crate) fn server_name(&self, server: ServerId) -> &Text {
        &self.servers[server.0 as usize]
    }

    /// Returns all servers, by address.
    pub(crate) fn servers_by_name(&self) -> &[ServerId] {
        &self.server_order
    }

    /// Returns all watches, by name.
    pub(crate) fn watches_by_name(&self) -> &[WatchId] {
        &self.watch_order
    }

    /// Returns all objects of a watch, by namespace and name.
    pub(crate) fn objects_by_name(&self, watch: WatchId) -> &[ObjectId] {
        &self.objects[watch.0 as usize].order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_at_once_get_the_order_and_numbers_of_names_one_by_one() {
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
