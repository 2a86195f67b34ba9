//! `metadata.managedFields`: who wrote which fields, when, and through which subresource.
//!
//! The sets are those of structured-merge-diff without schemas: maps field by field, lists of things with a `uid`,
//! `name` or `type` item by item, all else as a whole.

use serde_json::{Map, Value, json};

use crate::object::{remove, set, text};

/// Who writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manager {
    /// `kubectl-create`, `kubelet`, `kube-controller-manager`.
    pub(crate) name: String,
    /// `status`, or empty.
    pub(crate) subresource: String,
}

impl Manager {
    pub(crate) fn new(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            subresource: String::new(),
        }
    }

    pub(crate) fn status(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            subresource: "status".to_owned(),
        }
    }
}

/// Metadata the server keeps, which nobody manages.
const SYSTEM: &[&str] = &[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

/// Notes in `new`, which has the entries of `old`, that `manager` made what differs from `old`.
///
/// Where status is a subresource (`has_status`), only its writers manage it.
pub(crate) fn record(
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager,
    has_status: bool,
    time: &str,
) {
    let with_status = !has_status || manager.subresource == "status";
    let Some(changed) = managed_difference(old, new, with_status) else {
        return;
    };
    let mut entries = match remove(new, &["metadata", "managedFields"]) {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    };
    let api_version = text(new, &["apiVersion"]).to_owned();
    let is_ours = |entry: &Value| {
        entry["manager"] == manager.name.as_str()
            && entry["apiVersion"] == api_version.as_str()
            && text(entry, &["subresource"]) == manager.subresource
    };
    let mut ours = entries
        .iter()
        .position(is_ours)
        .map_or_else(|| json!({}), |i| entries.remove(i)["fieldsV1"].take());
    for entry in &mut entries {
        subtract(&mut entry["fieldsV1"], &changed);
        retain_existing(&mut entry["fieldsV1"], new);
    }
    entries.retain(|entry| entry["fieldsV1"].as_object().is_some_and(|m| !m.is_empty()));
    union(&mut ours, changed);
    retain_existing(&mut ours, new);
    ours.sort_all_objects();
    let mut entry = json!({
        "manager": manager.name,
        "operation": "Update",
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": ours,
    });
    if !manager.subresource.is_empty() {
        entry["subresource"] = json!(manager.subresource);
    }
    entries.push(entry);
    set(new, &["metadata", "managedFields"], json!(entries));
}

/// The difference of two objects without what nobody manages.
fn managed_difference(old: Option<&Value>, new: &Value, with_status: bool) -> Option<Value> {
    let mut fields = Map::new();
    for (key, value) in new.as_object()? {
        let before = old.and_then(|o| o.get(key));
        let inner = match key.as_str() {
            "apiVersion" | "kind" => None,
            "status" if !with_status => None,
            "metadata" => metadata_difference(before, value),
            _ => difference(before, value),
        };
        if let Some(inner) = inner {
            fields.insert(format!("f:{key}"), inner);
        }
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn metadata_difference(old: Option<&Value>, new: &Value) -> Option<Value> {
    let mut fields = Map::new();
    for (key, value) in new.as_object()? {
        if !SYSTEM.contains(&key.as_str())
            && let Some(inner) = difference(old.and_then(|o| o.get(key)), value)
        {
            fields.insert(format!("f:{key}"), inner);
        }
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// The fields of `new` that `old` has not, or has otherwise.
fn difference(old: Option<&Value>, new: &Value) -> Option<Value> {
    if old == Some(new) {
        return None;
    }
    let mut fields = Map::new();
    match new {
        Value::Object(map) => {
            for (key, value) in map {
                let before = old.and_then(|o| o.get(key));
                if let Some(inner) = difference(before, value) {
                    fields.insert(format!("f:{key}"), inner);
                }
            }
        }
        Value::Array(list) => {
            let Some(key) = list_key(list) else {
                return Some(json!({}));
            };
            let old_items = old.and_then(Value::as_array);
            for item in list {
                let before = old_items.and_then(|l| l.iter().find(|o| o[key] == item[key]));
                if let Some(mut inner) = difference(before, item) {
                    if before.is_none() {
                        inner["."] = json!({});
                    }
                    fields.insert(item_key(key, item), inner);
                }
            }
        }
        _ => return Some(json!({})),
    }
    let was_a_collection = old.is_some_and(|o| o.is_object() || o.is_array());
    (!fields.is_empty() || !was_a_collection).then_some(Value::Object(fields))
}

/// The key by which the items of a list are told apart.
fn list_key(list: &[Value]) -> Option<&'static str> {
    ["uid", "name", "type"]
        .into_iter()
        .find(|key| !list.is_empty() && list.iter().all(|item| item[*key].is_string()))
}

fn item_key(key: &str, item: &Value) -> String {
    format!("k:{}", json!({key: item[key]}))
}

fn union(into: &mut Value, from: Value) {
    let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) else {
        return;
    };
    for (key, inner) in from {
        match into.get_mut(&key) {
            Some(known) => union(known, inner),
            None => {
                into.insert(key, inner);
            }
        }
    }
}

/// Takes from `fields` the leaves that are in `taken`.
fn subtract(fields: &mut Value, taken: &Value) {
    let (Some(map), Some(taken)) = (fields.as_object_mut(), taken.as_object()) else {
        return;
    };
    map.retain(|key, inner| match taken.get(key) {
        None => true,
        Some(gone) if gone.as_object().is_none_or(Map::is_empty) => false,
        Some(gone) => {
            subtract(inner, gone);
            inner.as_object().is_some_and(|m| !m.is_empty())
        }
    });
}

/// Drops from `fields` what the object no longer has.
fn retain_existing(fields: &mut Value, object: &Value) {
    let Some(map) = fields.as_object_mut() else {
        return;
    };
    map.retain(|key, inner| {
        let place = if let Some(name) = key.strip_prefix("f:") {
            object.get(name)
        } else if let Some(item) = key.strip_prefix("k:") {
            let wanted: Value = serde_json::from_str(item).unwrap_or_default();
            object.as_array().and_then(|list| {
                list.iter().find(|o| {
                    wanted
                        .as_object()
                        .is_some_and(|w| w.iter().all(|(k, v)| &o[k] == v))
                })
            })
        } else {
            Some(object)
        };
        match place {
            None => false,
            Some(place) => {
                if inner.as_object().is_some_and(|m| !m.is_empty()) {
                    retain_existing(inner, place);
                    return inner.as_object().is_some_and(|m| !m.is_empty());
                }
                true
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::items;

    fn told(object: &Value) -> String {
        let lines: Vec<String> = items(object, &["metadata", "managedFields"])
            .iter()
            .map(|e| {
                format!(
                    "{} {} {} {}",
                    text(e, &["manager"]),
                    text(e, &["subresource"]),
                    text(e, &["time"]),
                    e["fieldsV1"]
                )
            })
            .collect();
        lines.join("\n")
    }

    #[test]
    fn each_writer_owns_what_it_wrote_last() {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
        record(None, &mut pod, &Manager::new("kubectl-create"), true, "T1");
        let mut with_status = pod.clone();
        with_status["status"] =
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        record(
            Some(&pod),
            &mut with_status,
            &Manager::status("kubelet"),
            true,
            "T2",
        );
        let mut edited = with_status.clone();
        edited["spec"]["containers"][0]["image"] = json!("i:2");
        edited["metadata"]["labels"] = json!({});
        record(
            Some(&with_status),
            &mut edited,
            &Manager::new("kubectl-edit"),
            true,
            "T3",
        );
        insta::assert_snapshot!(told(&edited), @r#"
        kubectl-create  T1 {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}}
        kubelet status T2 {"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:phase":{}}}
        kubectl-edit  T3 {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}
        "#);
    }

    #[test]
    fn a_write_that_changes_nothing_leaves_the_entries() {
        let mut object = json!({"metadata": {"name": "a"}, "data": {"x": "1"}});
        record(None, &mut object, &Manager::new("one"), false, "T1");
        let before = told(&object);
        let mut again = object.clone();
        record(Some(&object), &mut again, &Manager::new("two"), false, "T2");
        assert_eq!(told(&again), before);
    }
}
