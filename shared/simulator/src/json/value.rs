//! JSON as a tree: reads and changes the value at a path of keys, and sorts keys.

use serde_json::{Map, Value, json};
use watchscope_model::tree;

/// Returns the value at a path of keys; `None` if the value is absent or null.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(value, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

/// Returns the string at a path of keys; empty if the path has no string.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// Returns the whole number at a path of keys; `None` if the path has none.
pub(crate) fn number(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path).and_then(Value::as_i64)
}

/// Returns the list at a path of keys; empty if the path has no list.
pub(crate) fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the list at a path of keys, for changes; empty if the path has no list.
pub(crate) fn items_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut [Value] {
    let found = path
        .iter()
        .try_fold(value, |value, key| value.get_mut(*key));
    found
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}

/// Sets the value at a path of keys, and creates the missing maps on the path.
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

/// Sets the value at a path of keys if the path has no value, as a default.
pub(crate) fn set_default(value: &mut Value, path: &[&str], new: Value) {
    if at(value, path).is_none() {
        set(value, path, new);
    }
}

/// Removes and returns the value at a path of keys; `None` if the path has no value.
pub(crate) fn remove(value: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let mut place = value;
    for key in parents {
        place = place.get_mut(key)?;
    }
    place.as_object_mut()?.shift_remove(*last)
}

/// Sorts the keys of a map, but not those of maps inside it.
pub(crate) fn sort_keys(map: &mut Map<String, Value>) {
    if map.keys().is_sorted() {
        return;
    }
    let mut entries: Vec<(String, Value)> = std::mem::take(map).into_iter().collect();
    tree::sort_by(&mut entries, |(one, _), (other, _)| one.cmp(other));
    map.extend(entries);
}

/// Sorts the keys of all maps in a value, at any depth.
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
