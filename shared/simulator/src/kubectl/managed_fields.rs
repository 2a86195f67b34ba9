//! `metadata.managedFields`: which manager wrote which fields, when, and through which subresource.
//!
//! The sets are those of structured-merge-diff: structs and maps field by field, lists item by item where the schema
//! names their keys, all other values as a whole. Custom resources have no schema in the simulator, so one manager owns
//! a whole list of theirs.

use serde_json::{Map, Value, json};
use watchscope_model::tree;

use crate::json::{json_text, read, remove, set, sort_all, text};
use crate::kinds::ResourceType;
use crate::manager::Manager;
use crate::schema::{Field, Shape, Struct, tidy};

/// Fields of metadata that have no manager: those that apimachinery strips (`managedfields/internal/stripmeta.go`,
/// 1.36), except `selfLink` and `clusterName`, and also the two fields of a deletion.
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

/// Records in `new` that `manager` owns the fields that differ from `old`. `new` already has the managed fields of
/// `old`.
///
/// Where status is a subresource, only writers of that subresource own status. `old` is `None` for a new object, which
/// is compared with an empty object of its kind.
pub(crate) fn record(
    old: Option<&Value>,
    new: &mut Value,
    manager: &Manager,
    kind: &ResourceType,
    time: &str,
) {
    let with_status = !kind.has_status || manager.subresource == "status";
    let empty;
    let old = match old {
        Some(old) => old,
        None => {
            let mut made = json!({});
            tidy(&mut made, kind);
            empty = made;
            &empty
        }
    };
    let changed = managed_difference(old, new, kind, with_status);
    let mut entries = match remove(new, &["metadata", "managedFields"]) {
        Some(Value::Array(entries)) => entries,
        _ => Vec::new(),
    };
    let Some(changed) = changed else {
        // Nobody owns fields that were removed.
        for entry in &mut entries {
            retain_existing(&mut entry["fieldsV1"], new);
        }
        entries.retain(|entry| entry["fieldsV1"].as_object().is_some_and(|m| !m.is_empty()));
        if !entries.is_empty() {
            set(new, &["metadata", "managedFields"], json!(entries));
        }
        return;
    };
    let api_version = text(new, &["apiVersion"]).to_owned();
    let is_ours = |entry: &Value| {
        entry["manager"] == manager.name.as_str()
            && entry["operation"] == "Update"
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
    retain_existing(&mut ours, new);
    unite(&mut ours, changed);
    sort_all(&mut ours);
    let mut entry = json!({
        "manager": manager.name,
        "operation": "Update",
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": ours,
    });
    if manager.subresource == "scale" {
        // The handler of the scale subresource notes no time.
        remove(&mut entry, &["time"]);
    }
    if !manager.subresource.is_empty() {
        entry["subresource"] = json!(manager.subresource);
    }
    entries.push(entry);
    let place = |entry: &Value| {
        ["operation", "time", "manager", "apiVersion", "subresource"]
            .map(|key| text(entry, &[key]).to_owned())
    };
    tree::sort_by_key(&mut entries, place);
    set(new, &["metadata", "managedFields"], json!(entries));
}

/// Returns the fields of `new` that differ from `old`, without fields that have no manager; `None` if no field is left.
fn managed_difference(
    old: &Value,
    new: &Value,
    kind: &ResourceType,
    with_status: bool,
) -> Option<Value> {
    let shape = Struct::of(kind);
    let metadata = Struct::named("ObjectMeta");
    let mut fields = Map::new();
    for (key, value) in new.as_object()? {
        let before = old.get(key);
        let inner = match key.as_str() {
            "apiVersion" | "kind" => None,
            "status" if !with_status => None,
            "metadata" => {
                let mut inner = Map::new();
                for (key, value) in value.as_object().into_iter().flatten() {
                    if !SYSTEM.contains(&key.as_str()) {
                        let field = metadata.and_then(|m| m.field(key));
                        let before = before.and_then(|b| b.get(key));
                        note(
                            &mut inner,
                            format!("f:{key}"),
                            difference(before, value, Kind::of(field)),
                        );
                    }
                }
                (!inner.is_empty()).then_some(Value::Object(inner))
            }
            _ => {
                let field = shape.and_then(|s| s.field(key));
                difference(before, value, Kind::of(field))
            }
        };
        note(&mut fields, format!("f:{key}"), inner);
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn note(fields: &mut Map<String, Value>, key: String, inner: Option<Value>) {
    if let Some(inner) = inner {
        fields.insert(key, inner);
    }
}

/// How ownership of a value is divided.
#[derive(Clone, Copy)]
enum Kind<'a> {
    /// Managers own the value as a whole.
    Leaf,
    /// Each field has its owners.
    Struct(&'static Struct),
    /// Each entry has its owners.
    Map(&'a Shape),
    /// Each item has its owners; keys identify the items.
    Keyed(&'a [&'static str], &'a Shape),
    /// Each value of a set has its owners.
    Set,
    /// The value has no schema: each entry of a map has its owners, any other value is owned as a whole.
    Unknown,
}

impl<'a> Kind<'a> {
    fn of(field: Option<&'a Field>) -> Kind<'a> {
        let Some(field) = field else {
            return Kind::Unknown;
        };
        match (&field.shape, &field.keys) {
            _ if field.atomic => Kind::Leaf,
            (Shape::List(_), Some(keys)) if keys.is_empty() => Kind::Set,
            (Shape::List(item), Some(keys)) => Kind::Keyed(keys, item),
            (shape, _) => Kind::of_shape(shape),
        }
    }

    fn of_shape(shape: &'a Shape) -> Kind<'a> {
        match shape {
            Shape::Struct(name) => match Struct::named(name) {
                Some(shape) if !shape.atomic => Kind::Struct(shape),
                _ => Kind::Leaf,
            },
            Shape::Map(inner) => Kind::Map(inner),
            Shape::Any => Kind::Unknown,
            _ => Kind::Leaf,
        }
    }
}

/// Returns the set of fields of `new` that are absent or different in `old`. A field that is absent in `old` is itself
/// a member of the set, besides the fields below it. `None` if the set is empty.
fn difference(old: Option<&Value>, new: &Value, kind: Kind<'_>) -> Option<Value> {
    if old == Some(new) {
        return None;
    }
    let mut fields = Map::new();
    match (kind, new) {
        (Kind::Struct(_) | Kind::Map(_) | Kind::Unknown, Value::Object(map)) => {
            for (key, value) in map {
                let before = old.and_then(|o| o.get(key));
                let inner = match kind {
                    Kind::Struct(shape) => Kind::of(shape.field(key)),
                    Kind::Map(inner) => Kind::of_shape(inner),
                    _ => Kind::Unknown,
                };
                note(
                    &mut fields,
                    format!("f:{key}"),
                    difference(before, value, inner),
                );
            }
        }
        (Kind::Keyed(keys, item_shape), Value::Array(list)) => {
            let before = old.and_then(Value::as_array);
            for item in list {
                let same = |o: &&Value| keys.iter().all(|key| o[*key] == item[*key]);
                let old_item = before.and_then(|l| l.iter().find(same));
                let inner = difference(old_item, item, Kind::of_shape(item_shape));
                note(&mut fields, item_key(keys, item), inner);
            }
        }
        (Kind::Set, Value::Array(list)) => {
            let before = old.and_then(Value::as_array);
            for item in list {
                if before.is_none_or(|l| !l.contains(item)) {
                    fields.insert(format!("v:{}", json_text(item)), json!({}));
                }
            }
        }
        _ => return Some(json!({})),
    }
    if old.is_none() && !fields.is_empty() {
        fields.insert(".".to_owned(), json!({}));
    }
    (old.is_none() || !fields.is_empty()).then_some(Value::Object(fields))
}

fn item_key(keys: &[&str], item: &Value) -> String {
    let mut sorted: Vec<&str> = keys.to_vec();
    tree::sort(&mut sorted);
    let key: Map<String, Value> = sorted
        .into_iter()
        .filter(|key| !item[*key].is_null())
        .map(|key| (key.to_owned(), item[key].clone()))
        .collect();
    format!("k:{}", json_text(&Value::Object(key)))
}

/// Returns whether a node of a field set is itself a member of the set, and not only nodes below it.
fn is_member(node: &Map<String, Value>) -> bool {
    node.is_empty() || node.contains_key(".")
}

fn unite(into: &mut Value, from: Value) {
    let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) else {
        return;
    };
    for (key, inner) in from {
        match into.get_mut(&key) {
            None => {
                into.insert(key, inner);
            }
            Some(known) => {
                let is_in = |node: &Value| node.as_object().is_none_or(is_member);
                let member = is_in(known) || is_in(&inner);
                unite(known, inner);
                set_member(known, member);
            }
        }
    }
}

/// Sets whether a node of a field set is itself a member of the set. A node with nodes below it is marked by `.`.
fn set_member(node: &mut Value, member: bool) {
    if let Some(map) = node.as_object_mut() {
        map.remove(".");
        if member && !map.is_empty() {
            map.insert(".".to_owned(), json!({}));
        }
    }
}

/// Removes from the field set `fields` the members of `taken`.
fn subtract(fields: &mut Value, taken: &Value) {
    let (Some(map), Some(taken)) = (fields.as_object_mut(), taken.as_object()) else {
        return;
    };
    map.retain(|key, inner| {
        if key == "." {
            return true;
        }
        let Some(gone) = taken.get(key) else {
            return true;
        };
        let is_in = |node: &Value| node.as_object().is_none_or(is_member);
        let member = is_in(inner) && !is_in(gone);
        set_member(inner, false);
        subtract(inner, gone);
        let below = inner.as_object().is_some_and(|m| !m.is_empty());
        set_member(inner, member);
        member || below
    });
}

/// Removes from the field set `fields` the fields that the object no longer has.
fn retain_existing(fields: &mut Value, object: &Value) {
    let Some(map) = fields.as_object_mut() else {
        return;
    };
    map.retain(|key, inner| {
        let place = if let Some(name) = key.strip_prefix("f:") {
            object.get(name)
        } else if let Some(item) = key.strip_prefix("k:") {
            let wanted = read(item.as_bytes()).unwrap_or_default();
            let same = |o: &&Value| {
                let keys = wanted.as_object();
                keys.is_some_and(|w| w.iter().all(|(k, v)| &o[k] == v))
            };
            object.as_array().and_then(|list| list.iter().find(same))
        } else if let Some(item) = key.strip_prefix("v:") {
            let wanted = read(item.as_bytes()).unwrap_or_default();
            let list = object.as_array();
            list.and_then(|list| list.iter().find(|o| **o == wanted))
        } else {
            return true;
        };
        let Some(place) = place else {
            return false;
        };
        let member = inner.as_object().is_none_or(is_member);
        if member && inner.as_object().is_none_or(Map::is_empty) {
            return true;
        }
        set_member(inner, false);
        retain_existing(inner, place);
        let below = inner.as_object().is_some_and(|m| !m.is_empty());
        set_member(inner, member);
        member || below
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::items;
    use crate::kinds::Kinds;

    fn entries_of(object: &Value) -> String {
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

    fn kind(name: &str) -> ResourceType {
        let kinds = Kinds::built_in();
        kinds.get(kinds.named(name).unwrap()).clone()
    }

    fn recorded(old: Option<&Value>, new: &mut Value, manager: &Manager, name: &str, time: &str) {
        let kind = kind(name);
        tidy(new, &kind);
        record(old, new, manager, &kind, time);
        tidy(new, &kind);
    }

    #[test]
    fn each_writer_owns_what_it_wrote_last() {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
        recorded(
            None,
            &mut pod,
            &Manager::new("kubectl-create"),
            "pods",
            "T1",
        );
        let mut with_status = pod.clone();
        with_status["status"] =
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        recorded(
            Some(&pod),
            &mut with_status,
            &Manager::status("kubelet"),
            "pods",
            "T2",
        );
        let mut edited = with_status.clone();
        edited["spec"]["containers"][0]["image"] = json!("i:2");
        edited["metadata"]["labels"] = json!({});
        recorded(
            Some(&with_status),
            &mut edited,
            &Manager::new("kubectl-edit"),
            "pods",
            "T3",
        );
        insta::assert_snapshot!(entries_of(&edited), @r#"
        kubectl-create  T1 {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:resources":{}}}}}
        kubelet status T2 {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:phase":{}}}
        kubectl-edit  T3 {"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:image":{}}}}}
        "#);
    }

    #[test]
    fn a_write_that_changes_nothing_leaves_the_entries() {
        let mut object = json!({"metadata": {"name": "a"}, "data": {"x": "1"}});
        recorded(None, &mut object, &Manager::new("one"), "configmaps", "T1");
        let before = entries_of(&object);
        let mut again = object.clone();
        recorded(
            Some(&object),
            &mut again,
            &Manager::new("two"),
            "configmaps",
            "T2",
        );
        assert_eq!(entries_of(&again), before);
        insta::assert_snapshot!(before, @r#"one  T1 {"f:data":{".":{},"f:x":{}}}"#);
    }
}
