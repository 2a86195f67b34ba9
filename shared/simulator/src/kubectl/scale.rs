//! The scale subresource: the replicas of a deployment or replica set as an autoscaling/v1 Scale.

use serde_json::{Value, json};
use watchscope_model::tree;

use crate::json::{at, items, number, text};
use crate::object::Object;
use crate::schema::Struct;

/// Returns the autoscaling/v1 Scale of an object.
pub(crate) fn of(object: &Object) -> Value {
    let value = object.value();
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {"replicas": number(value, &["spec", "replicas"]).unwrap_or(0)},
        "status": {
            "replicas": number(value, &["status", "replicas"]).unwrap_or(0),
            "selector": selector(value),
        },
    });
    for key in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(found) = at(value, &["metadata", key]) {
            scale["metadata"][key] = found.clone();
        }
    }
    if let Some(shape) = Struct::named("Scale") {
        shape.fill(&mut scale);
    }
    scale
}

/// Returns a LabelSelector as one text, sorted by keys.
fn selector(value: &Value) -> String {
    let mut parts: Vec<(String, String)> = Vec::new();
    let labels = at(value, &["spec", "selector", "matchLabels"]).and_then(Value::as_object);
    for (key, label) in labels.into_iter().flatten() {
        parts.push((
            key.clone(),
            format!("{key}={}", label.as_str().unwrap_or("")),
        ));
    }
    for expression in items(value, &["spec", "selector", "matchExpressions"]) {
        let key = text(expression, &["key"]);
        let mut values: Vec<&str> = items(expression, &["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        tree::sort(&mut values);
        let values = values.join(",");
        let part = match text(expression, &["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_owned(), part));
    }
    tree::sort(&mut parts);
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ChangeKind;

    #[test]
    fn a_scale_has_replicas_and_selector() {
        let object = Object::new(
            json!({
                "metadata": {"name": "web", "namespace": "shop", "labels": {"a": "b"}, "resourceVersion": "7"},
                "spec": {"replicas": 3, "selector": {"matchLabels": {"b": "2"},
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "DoesNotExist"}]}},
                "status": {"replicas": 2},
            }),
            ChangeKind::Added,
        );
        insta::assert_snapshot!(of(&object), @r#"{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"shop","resourceVersion":"7"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"a in (x,y),b=2,!c"}}"#);
    }
}
