//! A stored version of an object, immutable, encoded once per representation and shared by all who send it.
//!
//! Only the encoding is kept, as a watch frame that holds the JSON on the same bytes; the JSON as a tree is read from it
//! when somebody asks and kept then. So a version nobody looks into costs little more than its bytes.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use watchscope_model::tree;

use crate::apiserver::schema::tidy_metadata;
use crate::etcd::ChangeKind;
use crate::json;

/// One version of one object.
#[derive(Debug)]
pub struct Object {
    /// What the write that made this version did: most watches are told just that.
    made_by: ChangeKind,
    /// The frame of `made_by`, whole.
    frame: Bytes,
    /// Where the key `metadata` begins in the object's JSON.
    metadata_at: usize,
    name: Box<str>,
    namespace: Box<str>,
    uid: Box<str>,
    revision: u64,
    is_terminating: bool,
    value: OnceLock<Box<Value>>,
    others: OnceLock<Box<Others>>,
}

/// The frames that only some watches need: told as another event, or metadata only.
#[derive(Debug, Default)]
struct Others {
    whole: [OnceLock<Bytes>; 3],
    metadata: [OnceLock<Bytes>; 3],
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

/// The JSON in a frame, on the same bytes.
fn json_of(frame: &Bytes, kind: ChangeKind) -> Bytes {
    frame.slice(frame_start(kind.as_str()).len()..frame.len() - FRAME_END.len())
}

impl Object {
    /// Takes a whole object: `kind`, `apiVersion`, `metadata` and the rest, in the order in which it is to be written.
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

    /// The same object with another resourceVersion.
    pub(crate) fn at_revision(&self, revision: u64, made_by: ChangeKind) -> Object {
        let mut value = self.decode();
        let revision = json!(revision.to_string());
        set(&mut value, &["metadata", "resourceVersion"], revision);
        Object::new(value, made_by)
    }

    /// The object as JSON; read once, then kept with it.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| Box::new(self.decode()))
    }

    /// The object as JSON of one's own, to be changed.
    pub(crate) fn decode(&self) -> Value {
        match self.value.get() {
            Some(value) => (**value).clone(),
            None => json::read(&self.json()).expect("what was encoded from JSON reads as JSON"),
        }
    }

    /// The object encoded.
    pub fn json(&self) -> Bytes {
        json_of(&self.frame, self.made_by)
    }

    /// The object as a PartialObjectMetadata, encoded once.
    pub fn metadata_json(&self) -> Bytes {
        json_of(&self.frame(ChangeKind::Added, true), ChangeKind::Added)
    }

    /// The frame of an event of type `kind` with it, whole or metadata only; encoded once.
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

    /// The object as an item of a typed list, which has no `kind` and `apiVersion` of its own: what follows its
    /// opening brace.
    pub(crate) fn item_json(&self) -> Bytes {
        self.json().slice(self.metadata_at..)
    }

    /// Bytes of its encoding.
    pub(crate) fn size(&self) -> usize {
        self.frame.len()
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `metadata.namespace`; empty if cluster-scoped.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// `metadata.resourceVersion`, a number as every revision of etcd is.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether deletion was asked for and finalizers or a grace period hold it.
    pub fn is_terminating(&self) -> bool {
        self.is_terminating
    }
}

/// Appends a map's JSON, whose `metadata` comes after nothing but `kind` and `apiVersion`; where that key begins.
fn encode_into(bytes: &mut Vec<u8>, value: &Value) -> usize {
    let Value::Object(parts) = value else {
        let at = bytes.len();
        write_json(bytes, value);
        return at;
    };
    let mut metadata_at = None;
    bytes.push(b'{');
    for (i, (key, part)) in parts.iter().enumerate() {
        if i > 0 {
            bytes.push(b',');
        }
        if key == "metadata" {
            metadata_at = Some(bytes.len());
        }
        let from = bytes.len();
        json::write(bytes, key);
        escape_html(bytes, from);
        bytes.push(b':');
        write_json(bytes, part);
    }
    bytes.push(b'}');
    metadata_at.unwrap_or(bytes.len() - 1)
}

/// JSON as Go's encoder writes it.
fn write_json(bytes: &mut Vec<u8>, value: &Value) {
    let from = bytes.len();
    json::write(bytes, value);
    escape_html(bytes, from);
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
    place.as_object_mut()?.shift_remove(*last)
}

/// The object as a PartialObjectMetadata of meta.k8s.io/v1.
pub(crate) fn partial_metadata(value: &Value) -> Value {
    let mut metadata = value.get("metadata").cloned().unwrap_or_else(|| json!({}));
    tidy_metadata(&mut metadata);
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    })
}

/// Bytes of a JSON value as Go's encoder writes them.
pub(crate) fn encode(value: &Value) -> Bytes {
    let mut bytes = Vec::new();
    write_json(&mut bytes, value);
    Bytes::from(bytes)
}

/// Puts a map's keys in order.
pub(crate) fn sort_keys(map: &mut Map<String, Value>) {
    if map.keys().is_sorted() {
        return;
    }
    let mut entries: Vec<(String, Value)> = std::mem::take(map).into_iter().collect();
    tree::sort_by(&mut entries, |(one, _), (other, _)| one.cmp(other));
    map.extend(entries);
}

/// Puts the keys of all maps in a value in order.
pub(crate) fn sort_all(value: &mut Value) {
    match value {
        Value::Object(map) => {
            sort_keys(map);
            map.values_mut().for_each(sort_all);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_all),
        _ => {}
    }
}

/// Escapes in JSON from `from` on what HTML could take for its own, as Go's encoder does.
fn escape_html(bytes: &mut Vec<u8>, from: usize) {
    let is_html = |byte: &u8| matches!(byte, b'<' | b'>' | b'&');
    let tail = &bytes[from..];
    // E2 80 A8 and E2 80 A9 are the line separators of U+2028 and U+2029.
    let is_separator = |at: &[u8]| matches!(at, [0xE2, 0x80, 0xA8 | 0xA9]);
    // Nearly always there is nothing to do. Without a way out of the loop the compiler looks at many bytes at once.
    let is_suspect = |byte: &u8| is_html(byte) | (*byte == 0xE2);
    if !tail.iter().fold(false, |any, byte| any | is_suspect(byte)) {
        return;
    }
    let mut escaped = Vec::with_capacity(tail.len() + 16);
    let mut rest = tail;
    while let Some((byte, after)) = rest.split_first() {
        if is_html(byte) {
            escaped.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            rest = after;
        } else if rest.get(..3).is_some_and(is_separator) {
            escaped.extend_from_slice(format!("\\u20{:02x}", rest[2] - 0x80).as_bytes());
            rest = &rest[3..];
        } else {
            escaped.push(*byte);
            rest = after;
        }
    }
    bytes.truncate(from);
    bytes.extend_from_slice(&escaped);
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
