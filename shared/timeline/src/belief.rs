//! What a client program believes, read from the JSON of its reports.

use std::sync::Arc;

use serde_json::Value;
use watchscope_model::{Layers, Object, Text, Uid};

/// What a client holds of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Belief {
    /// The resource: `pods`, `deployments.apps`.
    pub resource: Text,
    /// Which part of the client holds it, where it has several; else empty.
    pub part: Text,
    /// The revision up to which it believes to know everything, if it keeps one that is a number.
    pub revision: Option<u64>,
    /// How many objects it holds.
    pub objects: u64,
    /// Those it named.
    pub held: Vec<HeldThere>,
}

/// An object a client holds.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldThere {
    /// Which.
    pub object: Arc<Object>,
    /// At which resourceVersion.
    pub version: Text,
}

impl Belief {
    /// Whether it names each object that it holds.
    #[must_use]
    pub fn names_all(&self) -> bool {
        self.objects == self.held.len() as u64
    }
}

impl HeldThere {
    /// Whether it has the namespace and name of another, whatever their uids.
    pub(crate) fn is_in_place_of(&self, other: &Self) -> bool {
        self.object.name == other.object.name && self.object.namespace == other.object.namespace
    }

    /// Whether etcd holds it; of what is not known there, it is taken for so.
    pub(crate) fn is_in_etcd(&self, layers: &Layers, resource: &Text) -> bool {
        let stock = layers
            .etcd
            .as_ref()
            .and_then(|etcd| etcd.objects.get(resource));
        stock.is_none_or(|stock| {
            stock.unnamed() > 0
                || stock
                    .get(&self.object)
                    .is_some_and(|(there, _)| there.uid == self.object.uid)
        })
    }
}

/// Reads the `belief` of a `client.report`: a list with an entry for each resource. What is no such thing is passed
/// over.
#[must_use]
pub fn read(belief: &str) -> Vec<Belief> {
    let parts = match serde_json::from_str(belief) {
        Ok(Value::Array(parts)) => parts,
        _ => Vec::new(),
    };
    parts.iter().map(read_part).collect()
}

fn read_part(part: &Value) -> Belief {
    let text = |name: &str| -> Text { part[name].as_str().unwrap_or_default().into() };
    let held = part["held"].as_object();
    let held = held.map_or_else(Vec::new, |held| {
        let entry = |(key, value): (&String, &Value)| {
            let (namespace, name) = match key.split_once('/') {
                Some((namespace, name)) => (Some(namespace.into()), name),
                None => (None, key.as_str()),
            };
            let (uid, version) = value.as_str()?.rsplit_once('@')?;
            let object = Arc::new(Object {
                namespace,
                name: name.into(),
                uid: Uid::parse(uid),
            });
            Some(HeldThere {
                object,
                version: version.into(),
            })
        };
        held.iter().filter_map(entry).collect()
    });
    Belief {
        resource: text("resource"),
        part: text("part"),
        revision: part["resourceVersion"]
            .as_str()
            .and_then(|text| text.parse().ok()),
        objects: part["objects"].as_u64().unwrap_or(held.len() as u64),
        held,
    }
}

/// Whether a client in this phase has ended: its process is no more, and holds nothing.
pub(crate) fn has_ended(phase: &str) -> bool {
    matches!(phase, "failed" | "done")
}

/// Whether a request, as `VERB PATH?QUERY`, asks for the objects that a selector matches only.
pub(crate) fn is_selective(request: &str) -> bool {
    request.contains("labelSelector=") || request.contains("fieldSelector=")
}

/// The namespace of a request, as `VERB PATH?QUERY`; empty if it is about all.
pub(crate) fn namespace(request: &str) -> &str {
    let path = request.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces");
    parts.nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_belief_is_read_and_what_is_none_is_passed_over() {
        let text = r#"[{"resource":"configmaps","resourceVersion":"604","objects":70,
            "held":{"shop/a":"u1@519","b":"u2@603","odd":7}}]"#;
        let [belief] = &read(text)[..] else {
            panic!("one belief")
        };
        assert_eq!(
            (&*belief.resource, belief.revision, belief.objects),
            ("configmaps", Some(604), 70)
        );
        let names: Vec<(&str, &str)> = belief
            .held
            .iter()
            .map(|held| (&*held.object.name, &*held.version))
            .collect();
        assert_eq!(names, [("a", "519"), ("b", "603")]);
        assert_eq!(belief.held[1].object.namespace, None);
        assert_eq!(read("nothing"), []);
        assert_eq!(read("{}"), []);
    }
}
