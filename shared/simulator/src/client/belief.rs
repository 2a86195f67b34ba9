//! What a client program believes to be in the cluster, and how this belief differs from the truth.

use serde_json::{Map, Value, json};
use watchscope_model::tree::BTreeMap;

use crate::object::Object;
use crate::scope::Scope;

/// The most objects that a reported belief names: the first by namespace and name. The report counts all objects. The
/// bound limits the size of a record. Findings of ghosts compare as many objects (`NAMED` of diagnosis); the number has
/// no other source.
pub(crate) const NAMED_MOST: usize = 64;

/// An object's namespace and name, in this order; the namespace is empty for a cluster-scoped object.
pub type Key = (String, String);

/// A version of an object, as a client holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// `metadata.uid`, as it was delivered; empty if the object had none.
    pub uid: String,
    /// `metadata.resourceVersion`, as it was delivered; empty if the object had none.
    pub resource_version: String,
}

/// The objects of one resource that a client holds.
///
/// Bounded by the objects that the cluster delivered to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belief {
    /// The part of the client that holds the belief: `cache` or `queue` of the mini-scheduler; empty for every other
    /// belief.
    pub part: &'static str,
    /// The scope whose objects the belief should equal: the one that the client lists or watches. The mini-scheduler's
    /// `cache` and `queue` each have the pods that a field selector chooses.
    pub scope: Scope,
    /// The objects that the client holds, sorted by namespace, then name; empty before the client's first list or
    /// event.
    pub objects: BTreeMap<Key, Held>,
    /// The resourceVersion up to which the client believes to have all changes; empty if the client keeps none, or has
    /// none yet.
    pub resource_version: String,
    /// A counter that rises by one with every change of the belief.
    edits: u64,
}

impl Belief {
    /// Returns an empty belief of a whole client.
    pub(crate) fn new(scope: Scope) -> Belief {
        Belief::part("", scope)
    }

    /// Returns an empty belief of a part of a client.
    pub(crate) fn part(part: &'static str, scope: Scope) -> Belief {
        Belief {
            part,
            scope,
            objects: BTreeMap::new(),
            resource_version: String::new(),
            edits: 0,
        }
    }

    /// Returns the number of changes of the belief so far.
    pub(crate) fn edits(&self) -> u64 {
        self.edits
    }

    pub(crate) fn hold(&mut self, key: Key, held: Held) {
        self.objects.insert(key, held);
        self.edits += 1;
    }

    pub(crate) fn drop(&mut self, key: &Key) -> Option<Held> {
        let dropped = self.objects.remove(key);
        self.edits += u64::from(dropped.is_some());
        dropped
    }

    pub(crate) fn replace(&mut self, objects: BTreeMap<Key, Held>) {
        self.objects = objects;
        self.edits += 1;
    }

    pub(crate) fn know_until(&mut self, resource_version: &str) {
        if self.resource_version != resource_version {
            resource_version.clone_into(&mut self.resource_version);
            self.edits += 1;
        }
    }

    /// Returns the belief as records carry it:
    /// `{"resource":…,"part":…,"resourceVersion":…,"objects":N,"held":{"NAMESPACE/NAME":"UID@RV"}}`. The JSON names the
    /// first [`NAMED_MOST`] objects.
    pub(crate) fn to_json(&self) -> Value {
        let held = self.objects.iter().take(NAMED_MOST);
        let held: Map<String, Value> = held
            .map(|((namespace, name), held)| {
                let key = if namespace.is_empty() {
                    name.clone()
                } else {
                    format!("{namespace}/{name}")
                };
                (
                    key,
                    json!(format!("{}@{}", held.uid, held.resource_version)),
                )
            })
            .collect();
        let mut belief = json!({"resource": self.scope.qualified()});
        if !self.part.is_empty() {
            belief["part"] = json!(self.part);
        }
        if !self.resource_version.is_empty() {
            belief["resourceVersion"] = json!(self.resource_version);
        }
        belief["objects"] = json!(self.objects.len());
        belief["held"] = Value::Object(held);
        belief
    }

    /// Compares the belief with the true objects of its scope, which come in any order, each once. A held object with
    /// namespace, name and uid of a true object is stale if its resourceVersion differs, or is no number. A held object
    /// whose name now belongs to an object with another uid is a ghost, and the true object is missing.
    pub fn compare<'a>(&self, truth: impl Iterator<Item = &'a Object>) -> Comparison {
        let mut comparison = Comparison::default();
        let mut unseen: BTreeMap<&Key, &Held> = self.objects.iter().collect();
        for object in truth {
            comparison.truth += 1;
            let key = (object.namespace().to_owned(), object.name().to_owned());
            match unseen.get(&key) {
                Some(held) if held.uid == object.uid() => {
                    if held.resource_version.parse() != Ok(object.revision()) {
                        comparison.stale.push(key.clone());
                    }
                    unseen.remove(&key);
                }
                // It is another object of that name: the held one is a ghost, and the true one is missing
                // (docs/semantics/checks.md#procedure).
                _ => comparison.missing.push(key),
            }
        }
        comparison.ghosts = unseen.into_keys().cloned().collect();
        comparison.held = self.objects.len();
        comparison
    }
}

/// How the objects that a client holds differ from the true objects, which are those of the belief's scope
/// ([`Belief::compare`]). An object is in at most one list. A name may be in `ghosts` and in `missing`: two objects had
/// this name one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The number of objects that the client holds.
    pub held: usize,
    /// The number of true objects.
    pub truth: usize,
    /// Objects that the client holds and that are not among the true objects; sorted by namespace, then name. An object
    /// that the selectors match no more is among them.
    pub ghosts: Vec<Key>,
    /// True objects that the client does not hold; in the order of the true objects.
    pub missing: Vec<Key>,
    /// Objects that the client holds at another resourceVersion than the true one: older, newer, or no number. They are
    /// in the order of the true objects.
    pub stale: Vec<Key>,
}

impl Comparison {
    /// Returns whether belief and true objects agree: no ghost, no missing and no stale object.
    pub fn agrees(&self) -> bool {
        self.ghosts.is_empty() && self.missing.is_empty() && self.stale.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, uid: &str, revision: u64) -> Object {
        let value = json!({"metadata": {
            "name": name, "namespace": "shop", "uid": uid, "resourceVersion": revision.to_string(),
        }});
        Object::new(value, crate::object::ChangeKind::Added)
    }

    fn key(name: &str) -> Key {
        ("shop".to_owned(), name.to_owned())
    }

    fn belief(objects: &[(&str, &str, u64)]) -> Belief {
        let mut belief = Belief::new(Scope::new("v1", "configmaps", "ConfigMap"));
        for (name, uid, version) in objects {
            let held = Held {
                uid: (*uid).to_owned(),
                resource_version: version.to_string(),
            };
            belief.hold(key(name), held);
        }
        belief
    }

    #[test]
    fn a_comparison_tells_ghosts_missing_and_stale_objects_apart() {
        let belief = belief(&[("a", "1", 5), ("b", "2", 6), ("c", "3", 7), ("d", "4", 8)]);
        let truth = [
            object("a", "1", 5),
            object("b", "2", 9),
            object("c", "33", 10),
            object("e", "5", 11),
        ];
        let comparison = belief.compare(truth.iter());
        assert_eq!(comparison.ghosts, [key("c"), key("d")]);
        assert_eq!(comparison.missing, [key("c"), key("e")]);
        assert_eq!(comparison.stale, [key("b")]);
        assert_eq!((comparison.held, comparison.truth), (4, 4));
        assert!(!comparison.agrees());
        assert!(belief.compare(std::iter::empty()).missing.is_empty());
    }

    #[test]
    fn a_reported_belief_names_64_objects_and_counts_all() {
        let names: Vec<String> = (0..100).map(|n| format!("map-{n:03}")).collect();
        let objects: Vec<(&str, &str, u64)> = names.iter().map(|n| (n.as_str(), "u", 1)).collect();
        let json = belief(&objects).to_json();
        assert_eq!(json["objects"], 100);
        assert_eq!(json["held"].as_object().unwrap().len(), NAMED_MOST);
        assert_eq!(json["held"]["shop/map-000"], "u@1");
    }
}
