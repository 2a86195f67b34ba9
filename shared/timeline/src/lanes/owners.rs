//! The controllers of objects: the chain from an object up to the uppermost controller that records name.

use std::sync::Arc;

use watchscope_model::id::Extent;
use watchscope_model::id::Owner;
use watchscope_model::tree::BTreeMap;
use watchscope_model::{Object, Uid};

use super::filter::is_kind;
use crate::id::{LaneId, ObjectId, WatchId};
use crate::store::{Controller, Store};

/// The most controllers above an object. A pod of a Deployment (apps/v1) has two: its ReplicaSet and the Deployment. A
/// longer chain is cut after 5 controllers, and so is a chain that leads back to itself. The number has no other
/// source.
const STEPS_MOST: usize = 5;

/// A controller above an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerStep {
    /// The controller's kind and name. Kind and name come from the cluster: show as text.
    pub owner: Owner,
    /// The controller's lane; `None` if no watch that covers the controller has met it.
    pub lane: Option<LaneId>,
    /// Whether a watch that the store met covers the controller's kind in the namespace of the object that it controls.
    pub is_watched: bool,
}

/// The controllers above an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// The controllers from the object's own upwards, at most 5; more are left out. The chain ends where the next
    /// controller is not known. The list is empty if the object has no controller, or if `is_unrecorded`.
    pub steps: Vec<OwnerStep>,
    /// Whether the latest loaded change of the object says nothing of controllers, because an older version wrote it.
    pub is_unrecorded: bool,
}

/// Returns the controllers above the object of a lane; `None` for other lanes, and before any change of the object was
/// loaded. A deletion that names no controller does not count. Panics if the store never gave out the number of the
/// lane's watch.
#[must_use]
pub fn owners_of(store: &Store, lane: LaneId) -> Option<Owners> {
    let LaneId::Object(watch, object) = lane else {
        return None;
    };
    OwnerFinder::new(store).owners(watch, object)
}

/// A finder of controllers, which keeps its answers for one set of rows.
pub(super) struct OwnerFinder<'a> {
    store: &'a Store,
    /// The watches of each kind, by the kind as an owner reference names it.
    watches: BTreeMap<String, Vec<WatchId>>,
    /// The objects that were found as uppermost controllers of others, with their kind and name.
    named: BTreeMap<(WatchId, ObjectId), String>,
}

impl<'a> OwnerFinder<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            watches: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }

    /// Returns the name of the uppermost known controller of an object: `Deployment shop/web`. An object without a
    /// controller counts as its own controller if an earlier call found it as the controller of another object.
    pub(super) fn uppermost(&mut self, watch: WatchId, object: ObjectId) -> Option<String> {
        let found = self.owners(watch, object);
        let Some(step) = found.as_ref().and_then(|owners| owners.steps.last()) else {
            return self.named.get(&(watch, object)).cloned();
        };
        let namespace = match &self.store.names().object_at(watch, object).namespace {
            Some(namespace) => format!("{namespace}/"),
            None => String::new(),
        };
        let name = format!("{} {namespace}{}", step.owner.kind(), step.owner.name());
        if let Some(LaneId::Object(watch, object)) = step.lane {
            self.named.insert((watch, object), name.clone());
        }
        Some(name)
    }

    fn owners(&mut self, watch: WatchId, object: ObjectId) -> Option<Owners> {
        let mut owners = Owners::default();
        let (mut watch, mut object) = (watch, object);
        for step in 0..STEPS_MOST {
            let owner = match self.store.names().controller(watch, object) {
                Controller::Named(owner) => owner.clone(),
                Controller::None => break,
                Controller::NotRecorded => {
                    owners.is_unrecorded = step == 0;
                    break;
                }
                Controller::NotLoaded if step == 0 => return None,
                Controller::NotLoaded => break,
            };
            let namespace = self
                .store
                .names()
                .object_at(watch, object)
                .namespace
                .clone();
            let (lane, is_watched) = self.find(&owner, namespace.as_deref());
            owners.steps.push(OwnerStep {
                owner,
                lane,
                is_watched,
            });
            let Some(LaneId::Object(of, next)) = lane else {
                break;
            };
            (watch, object) = (of, next);
        }
        Some(owners)
    }

    /// Returns the lane of a controller, if the store knows it, and whether a watch covers the controller.
    fn find(&mut self, owner: &Owner, namespace: Option<&str>) -> (Option<LaneId>, bool) {
        let names = self.store.names();
        let kind = owner.kind();
        if !self.watches.contains_key(kind) {
            let wanted = kind.to_ascii_lowercase();
            let of_kind = |watch: &&WatchId| is_kind(names.watch_name(**watch).resource(), &wanted);
            let found = names.watches_by_name().iter().filter(of_kind);
            self.watches
                .insert(kind.to_owned(), found.copied().collect());
        }
        let mut is_watched = false;
        for &watch in &self.watches[kind] {
            let covers = match names.watch_name(watch).extent() {
                Extent::One(of) => Some(of) == namespace,
                Extent::All | Extent::Cluster => true,
            };
            if !covers {
                continue;
            }
            is_watched = true;
            for namespace in [namespace, None] {
                let place = Arc::new(Object {
                    namespace: namespace.map(Into::into),
                    name: owner.name().into(),
                    uid: Uid::parse(""),
                });
                if let Some(object) = names.find_object(watch, &place) {
                    return (Some(LaneId::Object(watch, object)), true);
                }
            }
        }
        (None, is_watched)
    }
}
