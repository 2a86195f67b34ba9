//! The objects that a watch holds: one per namespace and name.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::ser::SerializeMap;

use super::moment::Moment;
use crate::codec::{Reader, Writer};
use crate::event::Change;
use crate::field::Field;
use crate::id::{Object, Place, ResourceVersion};
use crate::rewrite::{Rewrite, Rewriter, classed_fields};
use crate::tree;
use crate::vocabulary::{ChangeType, Origin};

classed_fields! {
    /// An object that a watch holds, without its body.
    struct Held {
        /// The object.
        object "object": Arc<Object>,
        /// The object's resourceVersion.
        resource_version "resourceVersion": ResourceVersion,
        /// The object's `metadata.generation`; absent if it has none.
        generation "generation": Option<u64>,
        /// Where the watch learned the object's last version.
        origin "origin": Origin,
        /// Since when the watch holds the object with this uid.
        since "since": Moment,
    }
}

impl Held {
    /// Whether `change` touches the status only: it is MODIFIED, its `generation` is known and the same as here, and
    /// its `subresource` is `status`.
    #[must_use]
    pub fn is_status_only(&self, change: &Change) -> bool {
        change.change == ChangeType::Modified
            && change.subresource.as_deref() == Some("status")
            && change.generation.is_some()
            && self.generation == change.generation
    }

    /// Whether `change` is from the past: a replay or a step back (F21, F23, F29, F30). A correct client ignores such a
    /// change, because it holds a later version under the object's name.
    fn is_newer_than(&self, change: &Change) -> bool {
        self.resource_version.is_after(&change.resource_version)
    }
}

/// The objects of a watch by namespace and name. The cluster bounds their number, not this type.
///
/// The objects are in a hash table, whose order depends on history. Objects that are written or shown are sorted first.
#[derive(Clone, Debug, Default)]
pub struct Objects(IndexMap<Place, Held, FxBuildHasher>);

impl Objects {
    /// The object held under the namespace and name of `object`, whatever its uid; `None` if none is held.
    #[must_use]
    pub fn get(&self, object: &Arc<Object>) -> Option<&Held> {
        self.0.get(&Place(object.clone()))
    }

    /// The number of objects held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no object is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All objects. After a decode they are in the order of the snapshot: that of namespace and name, if watchscope
    /// wrote it. After any change the order depends on history.
    pub fn iter(&self) -> impl Iterator<Item = &Held> {
        self.0.values()
    }

    /// All objects, sorted by namespace, then name; cluster-scoped ones come first.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Held> {
        let mut held: Vec<&Held> = self.0.values().collect();
        tree::sort_by(&mut held, |a, b| {
            (&a.object.namespace, &a.object.name).cmp(&(&b.object.namespace, &b.object.name))
        });
        held
    }

    /// Applies an ADDED or MODIFIED; a change that is older than the held object has no effect.
    pub(super) fn hold(&mut self, change: &Change, now: Moment) {
        let place = Place(change.object.clone());
        match self.0.get_mut(&place) {
            Some(held) if held.is_newer_than(change) => {}
            Some(held) if held.object.uid == change.object.uid => {
                held.resource_version = change.resource_version.clone();
                held.generation = change.generation;
                held.origin = change.origin;
            }
            _ => {
                // The key of a place must carry the uid of its present object, so the old key is removed with the old
                // object.
                self.0.swap_remove(&place);
                let held = Held {
                    object: change.object.clone(),
                    resource_version: change.resource_version.clone(),
                    generation: change.generation,
                    origin: change.origin,
                    since: now,
                };
                self.0.insert(place, held);
            }
        }
    }

    /// Applies a DELETED; a DELETED that is older than the held object has no effect.
    pub(super) fn remove(&mut self, change: &Change) {
        let place = Place(change.object.clone());
        if !self
            .0
            .get(&place)
            .is_some_and(|held| held.is_newer_than(change))
        {
            self.0.swap_remove(&place);
        }
    }
}

/// Two `Objects` are equal if they hold the same objects, in whatever order.
impl PartialEq for Objects {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Rewrite for Objects {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        let held = std::mem::take(&mut self.0).into_values();
        self.0 = held
            .map(|mut held| {
                held.rewrite(with);
                (Place(held.object.clone()), held)
            })
            .collect();
    }
}

/// The encoding is the count, then the objects sorted by namespace and name, so that names share their beginnings in
/// the dictionary.
impl Field for Objects {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.varint(self.len() as u64);
        writer.row(|writer| {
            for held in self.sorted() {
                held.object.write(writer);
                held.resource_version.write(writer);
                writer.go_on_from(&held.resource_version);
                held.generation.write(writer);
                held.origin.write(writer);
                held.since.write(writer);
            }
        });
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        // The index table beside the entries takes two words per entry.
        let memory = 2 * size_of::<u64>() + size_of::<(u64, Place, Held)>();
        let count = reader.count(5, 0);
        let mut objects = IndexMap::with_hasher(FxBuildHasher);
        reader.row(|reader| {
            for _ in 0..count {
                let held = Held {
                    object: Field::read(reader),
                    resource_version: Field::read(reader),
                    generation: Field::read(reader),
                    origin: Field::read(reader),
                    since: Field::read(reader),
                };
                reader.go_on_from(&held.resource_version);
                if objects.len() == objects.capacity() {
                    reader.charge((objects.len() + 1) * memory);
                }
                if reader.has_failed() {
                    break;
                }
                objects.insert(Place(held.object.clone()), held);
            }
        });
        Self(objects)
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, &self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Uid;

    fn change(change: ChangeType, uid: &str, version: u64) -> Change {
        Change {
            watch: "shop/pods".into(),
            stream: None,
            change,
            origin: Origin::Live,
            object: Arc::new(Object {
                namespace: None,
                name: "a".into(),
                uid: Uid::parse(uid),
            }),
            resource_version: version.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        }
    }

    #[test]
    fn a_change_from_the_past_changes_nothing_held() {
        let mut objects = Objects::default();
        objects.hold(&change(ChangeType::Added, "u2", 130), Moment::default());
        // The replay of 1.9.2 (F23): it delivers the life and end of the object that had the name before.
        objects.hold(&change(ChangeType::Added, "u1", 110), Moment::default());
        objects.remove(&change(ChangeType::Deleted, "u1", 110));
        let version = |objects: &Objects| {
            let held = objects.get(&change(ChangeType::Added, "", 0).object)?;
            held.resource_version.number()
        };
        assert_eq!(version(&objects), Some(130));
        // A DELETED that carries the last held version is not older than it.
        objects.remove(&change(ChangeType::Deleted, "u2", 130));
        assert_eq!(version(&objects), None);
    }
}
