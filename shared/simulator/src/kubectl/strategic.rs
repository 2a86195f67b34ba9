//! Strategic merge patch, which merges lists item by item where the kind's schema names the lists' merge key.

use serde_json::{Map, Value};
use watchscope_model::tree;

use crate::schema::{Field, Shape, Struct};

/// The key of a directive: `merge`, `replace` or `delete`. All keys of this file are those of apimachinery
/// (`pkg/util/strategicpatch/patch.go`, 1.36).
const DIRECTIVE: &str = "$patch";
/// The key of the list of keys that a map keeps; all other keys of the map are removed.
const RETAIN_KEYS: &str = "$retainKeys";
/// Prefix of a list's name in the patch's key that gives the list's order.
const ELEMENT_ORDER: &str = "$setElementOrder/";
/// Prefix of a list's name in the patch's key that lists the values to remove from the list.
const DELETE_VALUES: &str = "$deleteFromPrimitiveList/";

/// Returns `object` as the patch changes it, or the reason why the patch is not valid.
pub(crate) fn merge(
    object: &Value,
    patch: &Value,
    shape: Option<&'static Struct>,
) -> Result<Value, String> {
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Err("expected a JSON object".to_owned());
    };
    let merged = merge_map(object.clone(), patch, shape)?;
    Ok(Value::Object(merged.unwrap_or_default()))
}

/// Merges a patch into a map; returns `None` if the patch deletes the map. The error is the reason why the patch is not
/// valid.
fn merge_map(
    mut map: Map<String, Value>,
    patch: &Map<String, Value>,
    shape: Option<&'static Struct>,
) -> Result<Option<Map<String, Value>>, String> {
    match patch.get(DIRECTIVE).map(|d| d.as_str().unwrap_or("")) {
        None | Some("merge") => {}
        Some("replace") => {
            let mut replacement = patch.clone();
            replacement.shift_remove(DIRECTIVE);
            return Ok(Some(replacement));
        }
        Some("delete") => return Ok(None),
        Some(other) => return Err(format!("unknown patch type found: {other}")),
    }
    if let Some(retained) = patch.get(RETAIN_KEYS).and_then(Value::as_array) {
        map.retain(|key, _| retained.iter().any(|kept| kept == key));
    }
    for (key, change) in patch {
        if key == DIRECTIVE || key == RETAIN_KEYS || key.starts_with(ELEMENT_ORDER) {
            continue;
        }
        if let Some(name) = key.strip_prefix(DELETE_VALUES) {
            let gone = change.as_array().map_or(&[][..], Vec::as_slice);
            if let Some(Value::Array(list)) = map.get_mut(name) {
                list.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if change.is_null() {
            map.shift_remove(key);
            continue;
        }
        let field = shape.and_then(|s| s.field(key));
        let order = patch
            .get(&format!("{ELEMENT_ORDER}{key}"))
            .and_then(Value::as_array);
        match (map.get(key), change) {
            (Some(Value::Object(old)), Value::Object(change)) => {
                let inner = field.and_then(|f| struct_of(&f.shape));
                match merge_map(old.clone(), change, inner)? {
                    Some(merged) => map.insert(key.clone(), Value::Object(merged)),
                    None => map.shift_remove(key),
                };
            }
            (old, Value::Array(change)) if field.is_some_and(|f| f.merge.is_some()) => {
                let old = old.and_then(Value::as_array).cloned().unwrap_or_default();
                let merged = merge_list(&old, change, field, order)?;
                map.insert(key.clone(), Value::Array(merged));
            }
            (_, Value::Object(change)) => {
                // There is nothing to merge with: the patch is inserted without its directives.
                let inner = field.and_then(|f| struct_of(&f.shape));
                if let Some(made) = merge_map(Map::new(), change, inner)? {
                    map.insert(key.clone(), Value::Object(made));
                }
            }
            _ => {
                map.insert(key.clone(), change.clone());
            }
        }
    }
    // An order without its list in the patch sorts the present list.
    for (key, order) in patch {
        let (Some(name), Value::Array(order)) = (key.strip_prefix(ELEMENT_ORDER), order) else {
            continue;
        };
        let field = shape.and_then(|s| s.field(name));
        if !patch.contains_key(name)
            && let Some(Value::Array(list)) = map.get(name)
        {
            let sorted = in_order(list.clone(), order, list, merge_key(field));
            map.insert(name.to_owned(), Value::Array(sorted));
        }
    }
    Ok(Some(map))
}

fn struct_of(shape: &Shape) -> Option<&'static Struct> {
    match shape {
        Shape::Struct(name) => Struct::named(name),
        _ => None,
    }
}

fn merge_key(field: Option<&Field>) -> &'static str {
    field.and_then(|f| f.merge).unwrap_or("")
}

/// Merges the items of a patch into a list: by the list's merge key, or by value without a key. The error is the reason
/// why the patch is not valid.
fn merge_list(
    old: &[Value],
    change: &[Value],
    field: Option<&Field>,
    order: Option<&Vec<Value>>,
) -> Result<Vec<Value>, String> {
    let key = merge_key(field);
    if key.is_empty() {
        let mut merged: Vec<Value> = Vec::new();
        for item in old.iter().chain(change) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        let order = order.map_or(change, Vec::as_slice);
        return Ok(in_order(merged, order, old, key));
    }
    let item_shape = field.and_then(|f| match &f.shape {
        Shape::List(item) => struct_of(item),
        _ => None,
    });
    let mut merged = old.to_vec();
    let mut plain: Vec<&Map<String, Value>> = Vec::new();
    let mut replaces = false;
    for item in change {
        let Value::Object(item) = item else {
            return Err(format!("expected a map, got {item}"));
        };
        match item.get(DIRECTIVE).map(|d| d.as_str().unwrap_or("")) {
            None => plain.push(item),
            Some("replace") => replaces = true,
            Some("delete") => {
                let Some(wanted) = item.get(key) else {
                    return Err(missing_key(item, key));
                };
                merged.retain(|there| there.get(key) != Some(wanted));
            }
            Some("merge") => {}
            Some(other) => return Err(format!("unknown patch type found: {other}")),
        }
    }
    if replaces {
        let kept = change
            .iter()
            .filter(|item| item.get(DIRECTIVE).is_none())
            .cloned();
        return Ok(kept.collect());
    }
    for item in plain {
        let Some(wanted) = item.get(key) else {
            return Err(missing_key(item, key));
        };
        let place = merged
            .iter()
            .position(|there| there.get(key) == Some(wanted));
        match place.map(|place| (place, merged[place].clone())) {
            Some((place, Value::Object(there))) => {
                if let Some(made) = merge_map(there, item, item_shape)? {
                    merged[place] = Value::Object(made);
                }
            }
            _ => {
                if let Some(made) = merge_map(Map::new(), item, item_shape)? {
                    merged.push(Value::Object(made));
                }
            }
        }
    }
    let order = order.map_or(change, Vec::as_slice);
    Ok(in_order(merged, order, old, key))
}

fn missing_key(item: &Map<String, Value>, key: &str) -> String {
    let shown: Vec<String> = item
        .iter()
        .map(|(key, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("{key}:{value}")
        })
        .collect();
    format!(
        "map: map[{}] does not contain declared merge key: {key}",
        shown.join(" ")
    )
}

/// Orders a merged list as `order` gives it. Items that `order` does not name keep their position relative to the other
/// items.
fn in_order(merged: Vec<Value>, order: &[Value], old: &[Value], key: &str) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| {
        list.iter().position(|there| {
            if key.is_empty() {
                there == item
            } else {
                there.get(key) == item.get(key)
            }
        })
    };
    let (mut named, mut others): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| place(order, item).is_some());
    tree::sort_by_key(&mut named, |item| place(order, item));
    tree::sort_by_key(&mut others, |item| place(old, item));
    let mut sorted = Vec::new();
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return sorted,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(named)) => {
                matches!((place(old, other), place(old, named)), (Some(o), Some(n)) if o < n)
            }
        };
        sorted.extend(if other_first {
            others.next()
        } else {
            named.next()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(object: Value, patch: Value) -> String {
        match merge(&object, &patch, Struct::named("Deployment")) {
            Ok(value) => value.to_string(),
            Err(why) => why,
        }
    }

    fn spec(containers: Value) -> Value {
        json!({"spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn lists_are_merged_by_their_keys() {
        let object = spec(
            json!([{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "1"}]),
        );
        insta::assert_snapshot!(merged(object.clone(), spec(json!([{"name": "c", "image": "3"}, {"name": "a", "env": [{"name": "Y", "value": "2"}]}]))), @r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"3"},{"name":"a","image":"1","env":[{"name":"Y","value":"2"},{"name":"X","value":"1"}]},{"name":"b","image":"1"}]}}}}"#);
        insta::assert_snapshot!(merged(object.clone(), spec(json!([{"name": "a", "$patch": "delete"}]))), @r#"{"spec":{"template":{"spec":{"containers":[{"name":"b","image":"1"}]}}}}"#);
        insta::assert_snapshot!(merged(object.clone(), spec(json!([{"$patch": "replace"}, {"name": "z"}]))), @r#"{"spec":{"template":{"spec":{"containers":[{"name":"z"}]}}}}"#);
        insta::assert_snapshot!(merged(object, spec(json!([{"image": "z"}]))), @"map: map[image:z] does not contain declared merge key: name");
    }

    #[test]
    fn directives_remove_retain_and_order() {
        let object = json!({"metadata": {"finalizers": ["a", "b"]}, "spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
        insta::assert_snapshot!(merged(object.clone(), json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})), @r#"{"metadata":{"finalizers":["b"]},"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}"#);
        insta::assert_snapshot!(merged(object.clone(), json!({"metadata": {"finalizers": ["c"]}})), @r#"{"metadata":{"finalizers":["c","a","b"]},"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}"#);
        insta::assert_snapshot!(merged(object.clone(), json!({"metadata": {"$setElementOrder/finalizers": ["b", "a"]}})), @r#"{"metadata":{"finalizers":["b","a"]},"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}"#);
        insta::assert_snapshot!(merged(object, json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}})), @r#"{"metadata":{"finalizers":["a","b"]},"spec":{"strategy":{"type":"Recreate"}}}"#);
    }
}
