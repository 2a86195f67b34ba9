//! The objects that the watch holds, by namespace and name with their versions, so that a list can be compared with
//! them.
//!
//! The rule is that of the fold: a change that is older than the held object of its name has no effect. A relist
//! therefore writes exactly the changes that a reader of the log lacks.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};
use rustc_hash::FxBuildHasher;
use watchscope_model::id::{Owner, Place};
use watchscope_model::{Object, ResourceVersion, Text, Uid, tree};

/// The held objects by namespace and name. The cluster bounds their number, not this type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(IndexMap<Place, Version, FxBuildHasher>);

#[derive(Clone, Debug)]
struct Version {
    version: ResourceVersion,
    /// The number of the last list that had the object.
    list: u64,
}

/// How the object that is held under a name relates to an object that came.
#[derive(Debug)]
pub(crate) enum Relation {
    /// No object is held under that name.
    Absent,
    /// The same version is held.
    Same,
    /// An older version is held.
    Older,
    /// A newer version is held, of the same object or a later one of that name; the object that came is from the past.
    Newer,
    /// An object with another uid is held that is not newer, so the held object must have been deleted.
    Replaced(Arc<Object>, ResourceVersion),
}

/// The evidence that etcd was restored: objects that a state has at lower versions than the watch holds.
///
/// In one history the version of a living object never goes down. A server that lost an event also shows an object at a
/// lower version. But such a server still shows some objects at the later versions that the watch saw. After a restore
/// of etcd a server shows no object at the later versions that the watch saw.
///
/// This type keeps a single object, however many differ.
#[derive(Debug, Default)]
pub(crate) struct Reversal {
    /// The first object with a lower version in the state, and that version.
    first: Option<(Arc<Object>, ResourceVersion)>,
    /// The lowest version at which the watch holds any object that has a lower version in the state.
    lowest_held: Option<u64>,
    /// The highest version at which the state has an object exactly as the watch holds it.
    highest_kept: u64,
}

impl Reversal {
    /// Adds an object of the state. `progress` is that of the watch. Held versions above `progress` came from an
    /// attempt at a list, so a lower version than one of those proves nothing.
    pub(crate) fn take(
        &mut self,
        held: &Held,
        progress: &ResourceVersion,
        (namespace, name, uid): (Option<&str>, &str, &str),
        version: &ResourceVersion,
    ) {
        let Some((Place(object), known)) = held.0.get_key_value(&Key(namespace, name)) else {
            return;
        };
        let (Some(held), Some(listed)) = (known.version.number(), version.number()) else {
            return;
        };
        if uid.is_empty() || !object.uid.is(uid) || known.version.is_after(progress) {
            return;
        }
        if listed == held {
            self.highest_kept = self.highest_kept.max(held);
        } else if listed < held {
            let lowest = self.lowest_held.unwrap_or(held);
            self.lowest_held = Some(lowest.min(held));
            self.first
                .get_or_insert_with(|| (object.clone(), version.clone()));
        }
    }

    /// The first object at a lower version, with that version, if the evidence shows that etcd was restored; else
    /// `None`.
    pub(crate) fn shown(self) -> Option<(Arc<Object>, ResourceVersion)> {
        let is_shown = self.lowest_held? > self.highest_kept;
        self.first.filter(|_| is_shown)
    }
}

impl Held {
    /// Returns the object with this identity (the shared copy if it is held), and the relation of the held object to
    /// `version`.
    pub(crate) fn relate(
        &self,
        namespace: Option<&str>,
        name: &str,
        uid: &str,
        version: &ResourceVersion,
    ) -> (Arc<Object>, Relation) {
        let Some((Place(object), held)) = self.0.get_key_value(&Key(namespace, name)) else {
            return (new_object(namespace, name, uid), Relation::Absent);
        };
        let newer = held.version.is_after(version);
        if !object.uid.is(uid) {
            let relation = if newer {
                Relation::Newer
            } else {
                Relation::Replaced(object.clone(), held.version.clone())
            };
            return (new_object(namespace, name, uid), relation);
        }
        let relation = if newer {
            Relation::Newer
        } else if held.version == *version {
            Relation::Same
        } else {
            Relation::Older
        };
        (object.clone(), relation)
    }

    /// The object held under a namespace and name, and its version.
    pub(crate) fn named(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<(Arc<Object>, ResourceVersion)> {
        let (Place(object), held) = self.0.get_key_value(&Key(namespace, name))?;
        Some((object.clone(), held.version.clone()))
    }

    /// Holds a version of an object, which the list with the number `list` had.
    pub(crate) fn hold(&mut self, object: Arc<Object>, version: ResourceVersion, list: u64) {
        let version = Version { version, list };
        let place = Place(object);
        match self.0.get_full_mut(&place) {
            Some((_, key, held)) if key.0.uid == place.0.uid => *held = version,
            // The key of a place must carry the uid of its present object, so the old key is removed with the old
            // object.
            Some(_) => {
                self.0.swap_remove(&place);
                self.0.insert(place, version);
            }
            None => {
                self.0.insert(place, version);
            }
        }
    }

    /// Notes that the list with the number `list` had an object with the namespace and name of `object`.
    pub(crate) fn touch(&mut self, object: &Arc<Object>, list: u64) {
        if let Some(held) = self.0.get_mut(&Place(object.clone())) {
            held.list = list;
        }
    }

    /// Like [`Self::touch`], by namespace and name.
    pub(crate) fn touch_named(&mut self, namespace: Option<&str>, name: &str, list: u64) {
        if let Some(held) = self.0.get_mut(&Key(namespace, name)) {
            held.list = list;
        }
    }

    /// Removes the object held under the namespace and name of `object`.
    pub(crate) fn remove(&mut self, object: &Arc<Object>) {
        self.0.swap_remove(&Place(object.clone()));
    }

    /// Removes and returns all objects that the list with the number `list`, a state at `version`, did not have and
    /// that are not newer. The removed objects are sorted by namespace and name.
    pub(crate) fn take_unseen(
        &mut self,
        list: u64,
        version: &ResourceVersion,
    ) -> Vec<(Arc<Object>, ResourceVersion)> {
        let mut unseen = Vec::new();
        self.0.retain(|place, held| {
            let is_newer = version.is_position() && held.version.is_after(version);
            let seen = held.list == list || is_newer;
            if !seen {
                unseen.push((place.0.clone(), held.version.clone()));
            }
            seen
        });
        tree::sort_by(
            &mut unseen,
            |(a, _): &(Arc<Object>, _), (b, _): &(Arc<Object>, _)| {
                (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name))
            },
        );
        unseen
    }

    /// All objects, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<Object>, &ResourceVersion)> {
        self.0.iter().map(|(place, held)| (&place.0, &held.version))
    }
}

pub(crate) fn new_object(namespace: Option<&str>, name: &str, uid: &str) -> Arc<Object> {
    Arc::new(Object {
        namespace: namespace.map(Into::into),
        name: name.into(),
        uid: Uid::parse(uid),
    })
}

/// A namespace and name, for look-ups without an allocation. It hashes as [`Place`] does.
struct Key<'a>(Option<&'a str>, &'a str);

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0, self.1).hash(state);
    }
}

impl Equivalent<Place> for Key<'_> {
    fn equivalent(&self, place: &Place) -> bool {
        (place.0.namespace.as_deref(), &*place.0.name) == (self.0, self.1)
    }
}

/// The most characters of a recurring text: a manager, a subresource or a reason. A longer text is cut after them; the
/// texts of a controller are not cut. Kubernetes allows 128 bytes for the name of a field manager
/// (FieldManagerMaxLength in apimachinery), and a Status names its reason in a word. The number has no other source.
const MOST_CHARACTERS: usize = 512;

/// Values that recur (managers, subresources, reasons, controllers), shared. At most 64 values are kept; a further one
/// replaces the oldest.
#[derive(Clone, Debug)]
pub(crate) struct Recent<T> {
    values: Vec<T>,
    next: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            next: 0,
        }
    }
}

impl<T: Clone> Recent<T> {
    /// Returns the kept value that matches; makes and keeps one if there is none.
    fn share(&mut self, is_wanted: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> T {
        if let Some(shared) = self.values.iter().find(|value| is_wanted(value)) {
            return shared.clone();
        }
        let shared = make();
        if self.values.len() < 64 {
            self.values.push(shared.clone());
        } else {
            self.values[self.next] = shared.clone();
            self.next = (self.next + 1) % 64;
        }
        shared
    }
}

impl Recent<Text> {
    /// The shared copy of a text's first 512 characters.
    pub(crate) fn text(&mut self, text: &str) -> Text {
        // A text of at most as many bytes has no more characters.
        let text = if text.len() > MOST_CHARACTERS {
            let end = text.char_indices().nth(MOST_CHARACTERS).map(|(at, _)| at);
            &text[..end.unwrap_or(text.len())]
        } else {
            text
        };
        self.share(|known| **known == *text, || text.into())
    }
}

impl Recent<Owner> {
    /// The shared copy of a controller.
    pub(crate) fn owner(&mut self, kind: &str, name: &str, uid: &str) -> Owner {
        let uid = Uid::parse(uid);
        let is_same =
            |known: &Owner| *known.uid() == uid && known.name() == name && known.kind() == kind;
        self.share(is_same, || {
            Owner::new(kind.into(), name.into(), uid.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_by_name_and_related_by_uid_and_version() {
        let mut held = Held::default();
        let relate = |held: &Held, uid: &str, version: u64| {
            format!("{:?}", held.relate(Some("a"), "b", uid, &version.into()).1)
                .split('(')
                .next()
                .unwrap()
                .to_owned()
        };
        assert_eq!(relate(&held, "u1", 5), "Absent");
        let (object, _) = held.relate(Some("a"), "b", "u1", &5.into());
        held.hold(object.clone(), 5.into(), 0);
        assert_eq!(relate(&held, "u1", 5), "Same");
        assert_eq!(relate(&held, "u1", 6), "Older");
        assert_eq!(relate(&held, "u1", 4), "Newer");
        assert_eq!(relate(&held, "u2", 6), "Replaced");
        assert_eq!(relate(&held, "u0", 4), "Newer");
        let (again, _) = held.relate(Some("a"), "b", "u1", &9.into());
        assert!(Arc::ptr_eq(&object, &again));
    }

    #[test]
    fn a_text_that_recurs_is_cut_at_512_characters() {
        let mut texts = Recent::<Text>::default();
        for long in ["ö".repeat(513), "ö".repeat(8 << 20)] {
            assert_eq!(texts.text(&long).chars().count(), 512);
        }
        assert_eq!(texts.values.len(), 1);
        assert_eq!(&*texts.text("kubelet"), "kubelet");
    }

    #[test]
    fn objects_that_a_list_did_not_have_come_out_in_order() {
        let mut held = Held::default();
        for name in ["c", "a", "b"] {
            let (object, _) = held.relate(None, name, "u", &1.into());
            held.hold(object, 1.into(), 0);
        }
        let (b, _) = held.relate(None, "b", "u", &1.into());
        held.touch(&b, 1);
        let names: Vec<String> = held
            .take_unseen(1, &9.into())
            .iter()
            .map(|(object, _)| object.name.to_string())
            .collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(held.iter().count(), 1);
    }

    #[test]
    fn an_object_newer_than_a_list_is_not_missing_from_it() {
        let mut held = Held::default();
        let (object, _) = held.relate(None, "a", "u", &80.into());
        held.hold(object, 80.into(), 0);
        assert_eq!(held.take_unseen(1, &60.into()).len(), 0);
        assert_eq!(held.take_unseen(1, &80.into()).len(), 1);
    }
}
