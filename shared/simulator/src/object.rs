//! A stored version of an object, immutable, encoded once per representation and shared by all who send it.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};

/// One version of one object.
#[derive(Debug)]
pub struct Object {
    value: Value,
    whole: Encoded,
    metadata: Encoded,
    item_json: OnceLock<Bytes>,
}

/// The encoding of one representation: the frame of its ADDED event, and the JSON inside of it, on the same bytes.
#[derive(Debug, Default)]
struct Encoded {
    added: OnceLock<Bytes>,
    json: OnceLock<Bytes>,
}

impl Encoded {
    fn added(&self, value: impl FnOnce() -> Bytes) -> &Bytes {
        self.added.get_or_init(|| frame("ADDED", &value()))
    }

    fn json(&self, value: impl FnOnce() -> Bytes) -> &Bytes {
        self.json.get_or_init(|| {
            let added = self.added(value);
            let start = frame_start("ADDED").len();
            added.slice(start..added.len() - FRAME_END.len())
        })
    }
}

const FRAME_END: &str = "}\n";

fn frame_start(kind: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":")
}

/// A watch frame: one line of JSON.
pub(crate) fn frame(kind: &str, object: &[u8]) -> Bytes {
    let start = frame_start(kind);
    Bytes::from([start.as_bytes(), object, FRAME_END.as_bytes()].concat())
}

impl Object {
    /// Takes a whole object: `apiVersion`, `kind`, `metadata` and the rest.
    pub(crate) fn new(value: Value) -> Object {
        Object {
            value: in_order(value),
            whole: Encoded::default(),
            metadata: Encoded::default(),
            item_json: OnceLock::new(),
        }
    }

    /// The object as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The object encoded, once.
    pub fn json(&self) -> &Bytes {
        self.whole.json(|| encode(&self.value))
    }

    /// The object as a PartialObjectMetadata, encoded once.
    pub fn metadata_json(&self) -> &Bytes {
        self.metadata
            .json(|| encode(&partial_metadata(&self.value)))
    }

    /// The frame of an ADDED event of it, whole or metadata only; encoded once.
    pub(crate) fn added_frame(&self, metadata_only: bool) -> &Bytes {
        if metadata_only {
            self.metadata
                .added(|| encode(&partial_metadata(&self.value)))
        } else {
            self.whole.added(|| encode(&self.value))
        }
    }

    /// The object as an item of a typed list, which has no `kind` and `apiVersion` of its own; encoded once.
    pub(crate) fn item_json(&self) -> &Bytes {
        self.item_json.get_or_init(|| {
            let mut item = self.value.clone();
            remove(&mut item, &["kind"]);
            remove(&mut item, &["apiVersion"]);
            encode(&item)
        })
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        text(&self.value, &["metadata", "name"])
    }

    /// `metadata.namespace`; empty if cluster-scoped.
    pub fn namespace(&self) -> &str {
        text(&self.value, &["metadata", "namespace"])
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        text(&self.value, &["metadata", "uid"])
    }

    /// `metadata.resourceVersion`, a number as every revision of etcd is.
    pub fn revision(&self) -> u64 {
        text(&self.value, &["metadata", "resourceVersion"])
            .parse()
            .unwrap_or(0)
    }

    /// Whether deletion was asked for and finalizers or a grace period hold it.
    pub fn is_terminating(&self) -> bool {
        at(&self.value, &["metadata", "deletionTimestamp"]).is_some()
    }
}

/// The value at a path of keys; `None` if it is absent or null.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

/// The string at a path of keys; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// The whole number at a path of keys.
pub(crate) fn number(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path).and_then(Value::as_i64)
}

/// The list at a path of keys; empty if there is none.
pub(crate) fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The list at a path of keys, to be changed; empty if there is none.
pub(crate) fn items_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut [Value] {
    let found = path
        .iter()
        .try_fold(value, |value, key| value.get_mut(*key));
    found
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}

/// Puts `new` at a path of keys, making the maps on the way.
pub(crate) fn set(value: &mut Value, path: &[&str], new: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut place = value;
    for key in parents {
        let map = as_map(place);
        place = map.entry((*key).to_owned()).or_insert_with(|| json!({}));
    }
    as_map(place).insert((*last).to_owned(), new);
}

/// Puts `new` at a path of keys if nothing is there: a default.
pub(crate) fn set_default(value: &mut Value, path: &[&str], new: Value) {
    if at(value, path).is_none() {
        set(value, path, new);
    }
}

/// Takes away what is at a path of keys.
pub(crate) fn remove(value: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let mut place = value;
    for key in parents {
        place = place.get_mut(key)?;
    }
    place.as_object_mut()?.remove(*last)
}

/// The object as a PartialObjectMetadata of meta.k8s.io/v1.
pub(crate) fn partial_metadata(value: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": value.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

/// Bytes of a JSON value.
pub(crate) fn encode(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// The object with its parts in the order in which the apiserver writes them.
fn in_order(value: Value) -> Value {
    let Value::Object(mut parts) = value else {
        return value;
    };
    let mut ordered = Map::new();
    for key in ["kind", "apiVersion", "metadata"] {
        if let Some(part) = parts.remove(key) {
            ordered.insert(key.to_owned(), part);
        }
    }
    let status = parts.remove("status");
    ordered.extend(parts);
    if let Some(status) = status {
        ordered.insert("status".to_owned(), status);
    }
    Value::Object(ordered)
}

fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made a map")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_representations_carry_the_same_metadata() {
        let object = Object::new(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "12"},
            "spec": {"nodeName": "node-1"},
        }));
        assert_eq!(object.revision(), 12);
        let partial: Value = serde_json::from_slice(object.metadata_json()).unwrap();
        assert_eq!(partial["kind"], "PartialObjectMetadata");
        assert_eq!(partial["metadata"], object.value()["metadata"]);
        assert_eq!(partial.get("spec"), None);
        let frame = object.added_frame(false);
        let json_at = frame_start("ADDED").len();
        assert_eq!(
            object.json().as_ptr(),
            frame[json_at..].as_ptr(),
            "on the same bytes"
        );
        assert_eq!(frame[..], super::frame("ADDED", object.json())[..]);
    }

    #[test]
    fn paths_are_made_read_and_removed() {
        let mut value = json!({});
        set(&mut value, &["a", "b"], json!(1));
        set_default(&mut value, &["a", "b"], json!(2));
        assert_eq!(number(&value, &["a", "b"]), Some(1));
        assert_eq!(remove(&mut value, &["a", "b"]), Some(json!(1)));
        assert_eq!(at(&value, &["a", "b"]), None);
        assert_eq!(remove(&mut value, &["x", "b"]), None);
    }
}
