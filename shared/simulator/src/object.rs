//! A stored version of an object. This version is immutable, encoded once per form, and shared by all watches and lists
//! that send it.
//!
//! A stored version keeps only its encoding: a watch frame, whose bytes contain the object's JSON. The JSON as a tree
//! is decoded at the first need and kept from then on. A version whose fields nobody reads costs little more than its
//! bytes.

use std::borrow::Cow;
use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::json::{self, at, encode, encode_into, set, text};
use crate::schema::tidy_metadata;

/// What a write did to its key in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The key did not exist before the write.
    Added,
    /// The key existed before the write and still exists.
    Modified,
    /// The write removed the key.
    Deleted,
}

impl ChangeKind {
    /// Returns the type of the write's event in a watch without selectors: `ADDED`, `MODIFIED` or `DELETED`.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Added => "ADDED",
            ChangeKind::Modified => "MODIFIED",
            ChangeKind::Deleted => "DELETED",
        }
    }
}

/// One version of an object. The version never changes. It holds its encoding, and keeps each further form from the
/// form's first use on: the JSON as a tree, and at most five other frames.
#[derive(Debug)]
pub struct Object {
    /// What the write that made this version did. Most watches deliver exactly the event of this write.
    made_by: ChangeKind,
    /// The watch frame of the write's event, with the whole object.
    frame: Bytes,
    /// The byte offset at which the key `metadata` begins in the object's JSON.
    metadata_at: usize,
    name: Box<str>,
    namespace: Box<str>,
    uid: Box<str>,
    revision: u64,
    is_terminating: bool,
    value: OnceLock<Box<Value>>,
    others: OnceLock<Box<Others>>,
}

/// Frames that only some watches need: other event types, or metadata only.
#[derive(Debug, Default)]
struct Others {
    whole: [OnceLock<Bytes>; 3],
    metadata: [OnceLock<Bytes>; 3],
}

/// The end of a watch frame, after the object (docs/semantics/requests.md#framing).
const FRAME_END: &str = "}\n";

fn frame_start(kind: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":")
}

/// Returns a watch frame, which is one line of JSON.
pub(crate) fn frame(kind: &str, object: &[u8]) -> Bytes {
    let start = frame_start(kind);
    Bytes::from([start.as_bytes(), object, FRAME_END.as_bytes()].concat())
}

/// Returns the object's JSON in a frame, sharing the frame's bytes.
fn json_of(frame: &Bytes, kind: ChangeKind) -> Bytes {
    frame.slice(frame_start(kind.as_str()).len()..frame.len() - FRAME_END.len())
}

impl Object {
    /// Makes a version of a whole object: `value` has `kind`, `apiVersion`, `metadata` and all other fields, in the
    /// order of the encoding.
    pub(crate) fn new(value: Value, made_by: ChangeKind) -> Object {
        let owned = |path: &[&str]| text(&value, path).into();
        let mut bytes = frame_start(made_by.as_str()).into_bytes();
        let json_at = bytes.len();
        let metadata_at = encode_into(&mut bytes, &value) - json_at;
        bytes.extend_from_slice(FRAME_END.as_bytes());
        Object {
            made_by,
            frame: Bytes::from(bytes),
            metadata_at,
            name: owned(&["metadata", "name"]),
            namespace: owned(&["metadata", "namespace"]),
            uid: owned(&["metadata", "uid"]),
            revision: text(&value, &["metadata", "resourceVersion"])
                .parse()
                .unwrap_or(0),
            is_terminating: at(&value, &["metadata", "deletionTimestamp"]).is_some(),
            value: OnceLock::new(),
            others: OnceLock::new(),
        }
    }

    /// Returns the object with another resourceVersion.
    pub(crate) fn at_revision(&self, revision: u64, made_by: ChangeKind) -> Object {
        let mut value = self.decode();
        let revision = json!(revision.to_string());
        set(&mut value, &["metadata", "resourceVersion"], revision);
        Object::new(value, made_by)
    }

    /// Returns the object as a JSON tree, which is decoded once, then kept.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| Box::new(self.decode()))
    }

    /// Returns the object as a JSON tree. The tree is decoded anew unless [`Object::value`] has kept it, and this
    /// function does not keep it.
    pub(crate) fn tree(&self) -> Cow<'_, Value> {
        match self.value.get() {
            Some(value) => Cow::Borrowed(value),
            None => Cow::Owned(
                json::read(&self.json()).expect("what was encoded from JSON reads as JSON"),
            ),
        }
    }

    /// Returns a copy of the object as a JSON tree, which the caller may change.
    pub(crate) fn decode(&self) -> Value {
        self.tree().into_owned()
    }

    /// Returns the object's JSON as Go's encoder writes it, without a line end. The returned bytes share the object's
    /// memory.
    pub fn json(&self) -> Bytes {
        json_of(&self.frame, self.made_by)
    }

    /// Returns the JSON of the object as a PartialObjectMetadata of meta.k8s.io/v1; the JSON is encoded once, then
    /// kept.
    pub fn metadata_json(&self) -> Bytes {
        json_of(&self.frame(ChangeKind::Added, true), ChangeKind::Added)
    }

    /// Returns the watch frame of an event of type `kind`, with the whole object or its metadata only. Each frame is
    /// encoded once, then kept.
    pub(crate) fn frame(&self, kind: ChangeKind, metadata_only: bool) -> Bytes {
        if kind == self.made_by && !metadata_only {
            return self.frame.clone();
        }
        let others = self.others.get_or_init(Box::default);
        let slot = match kind {
            ChangeKind::Added => 0,
            ChangeKind::Modified => 1,
            ChangeKind::Deleted => 2,
        };
        let encoded = if metadata_only {
            others.metadata[slot].get_or_init(|| {
                let partial = encode(&partial_metadata(&self.decode()));
                frame(kind.as_str(), &partial)
            })
        } else {
            others.whole[slot].get_or_init(|| frame(kind.as_str(), &self.json()))
        };
        encoded.clone()
    }

    /// Returns the object's JSON as an item of a typed list, without the opening brace. Items of typed lists have no
    /// `kind` and `apiVersion` of their own.
    pub(crate) fn item_json(&self) -> Bytes {
        self.json().slice(self.metadata_at..)
    }

    /// Returns the size of the object's watch frame in bytes.
    pub(crate) fn size(&self) -> usize {
        self.frame.len()
    }

    /// Returns `metadata.name`; empty if the object has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `metadata.namespace`; empty if the object is cluster-scoped.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns `metadata.uid`, a UUID in lower case; empty if the object has none.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns `metadata.resourceVersion`: the etcd revision that wrote this version, or, for the last state of a
    /// deleted object, that of the deletion. Returns 0 if the resourceVersion is missing or no number.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns whether the object has a `metadata.deletionTimestamp`: its deletion was requested, and finalizers or a
    /// grace period keep it, or kept it until its removal.
    pub fn is_terminating(&self) -> bool {
        self.is_terminating
    }
}

/// Returns an object's JSON as a PartialObjectMetadata of meta.k8s.io/v1.
pub(crate) fn partial_metadata(value: &Value) -> Value {
    let mut metadata = value.get("metadata").cloned().unwrap_or_else(|| json!({}));
    tidy_metadata(&mut metadata);
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_representations_carry_the_same_metadata() {
        let object = Object::new(
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "12"},
                "spec": {"nodeName": "node-1"},
            }),
            ChangeKind::Modified,
        );
        assert_eq!(
            (object.revision(), object.name(), object.namespace()),
            (12, "web", "shop")
        );
        let partial: Value = serde_json::from_slice(&object.metadata_json()).unwrap();
        assert_eq!(partial["kind"], "PartialObjectMetadata");
        assert_eq!(partial["metadata"], object.value()["metadata"]);
        assert_eq!(partial.get("spec"), None);
        let frame = object.frame(ChangeKind::Modified, false);
        assert!(
            frame.as_ptr_range().contains(&object.json().as_ptr()),
            "on the same bytes"
        );
        for kind in [ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted] {
            let whole = object.frame(kind, false);
            assert_eq!(whole, super::frame(kind.as_str(), &object.json()));
            assert_eq!(
                whole.as_ptr(),
                object.frame(kind, false).as_ptr(),
                "encoded once"
            );
        }
    }

    #[test]
    fn an_item_of_a_list_begins_with_its_metadata() {
        let object = Object::new(
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a\"b"}, "spec": {}}),
            ChangeKind::Added,
        );
        assert_eq!(
            object.json(),
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\"b"},"spec":{}}"#
        );
        assert_eq!(
            object.item_json(),
            r#""metadata":{"name":"a\"b"},"spec":{}}"#
        );
    }
}
