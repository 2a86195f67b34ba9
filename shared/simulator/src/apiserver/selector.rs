//! Label and field selectors: their text forms, and whether an object matches.

use std::collections::BTreeSet;

use serde_json::Value;

use super::status::{ApiError, bad_request};
use crate::kinds::ResourceType;
use crate::object::{Object, at};

/// What a list or watch selects; by default everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum LabelRequirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    DoesNotExist(String),
    GreaterThan(String, i64),
    LessThan(String, i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldRequirement {
    path: Vec<String>,
    value: String,
    equal: bool,
}

impl Selector {
    /// Reads both selectors of a request about `resource`.
    pub(crate) fn parse(
        labels: &str,
        fields: &str,
        resource: &ResourceType,
    ) -> Result<Selector, ApiError> {
        Ok(Selector {
            labels: parse_labels(labels)?,
            fields: parse_fields(fields, resource)?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether this is the selector every kubelet uses, for which the cache has an index (1.9 rule 4).
    pub(crate) fn selects_node(&self) -> bool {
        self.fields
            .iter()
            .any(|f| f.equal && f.path == ["spec", "nodeName"])
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        if self.is_empty() {
            return true;
        }
        let labels = at(object.value(), &["metadata", "labels"]);
        let label = |key: &str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
        self.labels.iter().all(|requirement| match requirement {
            LabelRequirement::In(key, values) => label(key).is_some_and(|v| values.contains(v)),
            LabelRequirement::NotIn(key, values) => label(key).is_none_or(|v| !values.contains(v)),
            LabelRequirement::Exists(key) => label(key).is_some(),
            LabelRequirement::DoesNotExist(key) => label(key).is_none(),
            LabelRequirement::GreaterThan(key, than) => {
                number(label(key)).is_some_and(|n| n > *than)
            }
            LabelRequirement::LessThan(key, than) => number(label(key)).is_some_and(|n| n < *than),
        }) && self
            .fields
            .iter()
            .all(|f| (field_value(object, &f.path) == f.value) == f.equal)
    }
}

fn number(label: Option<&str>) -> Option<i64> {
    label?.parse().ok()
}

/// A field as selectors see it: a string, empty if absent.
fn field_value(object: &Object, path: &[String]) -> String {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    match at(object.value(), &keys) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        // Booleans and counts select by their zero value when absent, as the typed fields do.
        None if keys == ["spec", "hostNetwork"] || keys == ["spec", "unschedulable"] => {
            "false".to_owned()
        }
        None if keys == ["status", "replicas"] || keys == ["status", "succeeded"] => "0".to_owned(),
        _ => String::new(),
    }
}

fn parse_labels(text: &str) -> Result<Vec<LabelRequirement>, ApiError> {
    split_outside_parentheses(text)
        .into_iter()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| label_requirement(part).ok_or_else(|| unreadable("label", text)))
        .collect()
}

fn label_requirement(part: &str) -> Option<LabelRequirement> {
    let key = |text: &str| {
        let key = text.trim();
        let good = !key.is_empty()
            && key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b));
        good.then(|| key.to_owned())
    };
    let one = |value: &str| {
        let value = value.trim();
        let good = value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        good.then(|| BTreeSet::from([value.to_owned()]))
    };
    if let Some((left, list)) = part.split_once('(') {
        let values: BTreeSet<String> = list
            .strip_suffix(')')?
            .split(',')
            .map(|v| v.trim().to_owned())
            .collect();
        let (name, operator) = left.trim().rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => Some(LabelRequirement::In(key(name)?, values)),
            "notin" => Some(LabelRequirement::NotIn(key(name)?, values)),
            _ => None,
        };
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Some(LabelRequirement::NotIn(key(name)?, one(value)?));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(LabelRequirement::In(key(name)?, one(value)?));
    }
    if let Some((name, value)) = part.split_once('>') {
        return Some(LabelRequirement::GreaterThan(
            key(name)?,
            value.trim().parse().ok()?,
        ));
    }
    if let Some((name, value)) = part.split_once('<') {
        return Some(LabelRequirement::LessThan(
            key(name)?,
            value.trim().parse().ok()?,
        ));
    }
    match part.strip_prefix('!') {
        Some(name) => Some(LabelRequirement::DoesNotExist(key(name)?)),
        None => Some(LabelRequirement::Exists(key(part)?)),
    }
}

fn parse_fields(text: &str, resource: &ResourceType) -> Result<Vec<FieldRequirement>, ApiError> {
    split_escaped(text)
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (label, value, equal) = if let Some((label, value)) = part.split_once("!=") {
                (label, value, false)
            } else if let Some((label, value)) = part.split_once("==") {
                (label, value, true)
            } else if let Some((label, value)) = part.split_once('=') {
                (label, value, true)
            } else {
                return Err(bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let path = field_path(label, resource)?;
            Ok(FieldRequirement {
                path,
                value: unescape(value),
                equal,
            })
        })
        .collect()
}

fn field_path(label: &str, resource: &ResourceType) -> Result<Vec<String>, ApiError> {
    if label == "metadata.name" || (label == "metadata.namespace" && resource.namespaced) {
        return Ok(label.split('.').map(str::to_owned).collect());
    }
    match resource.fields.iter().find(|(known, _)| known == label) {
        Some((_, path)) => Ok(path.clone()),
        None => Err(bad_request(format!("field label not supported: {label}"))),
    }
}

fn unreadable(what: &str, text: &str) -> ApiError {
    bad_request(format!(
        "unable to parse requirement: {what} selector {text:?} is not understood"
    ))
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0u32;
    let mut start = 0;
    let mut parts = Vec::new();
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Splits at commas that no backslash escapes.
fn split_escaped(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let mut start = 0;
    let mut parts = Vec::new();
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut escaped = false;
    for c in value.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            out.push(c);
            escaped = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;
    use serde_json::json;

    fn pods() -> ResourceType {
        let kinds = Kinds::built_in();
        kinds.get(kinds.named("pods").unwrap()).clone()
    }

    fn pod() -> Object {
        let value = json!({
            "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web", "size": "7"}},
            "spec": {"nodeName": "node-2"}, "status": {"phase": "Running"},
        });
        Object::new(value, crate::etcd::ChangeKind::Added)
    }

    fn matches(labels: &str, fields: &str) -> bool {
        Selector::parse(labels, fields, &pods())
            .unwrap()
            .matches(&pod())
    }

    #[test]
    fn label_selectors_match_in_all_their_forms() {
        for yes in [
            "app=web",
            "app==web",
            "app",
            "!gone",
            "app in (web, api)",
            "app notin (api)",
            "gone notin (x)",
            "app!=api",
            "gone!=x",
            "app=web,size>6",
            "size<8",
            "",
        ] {
            assert!(matches(yes, ""), "{yes} should match");
        }
        for no in [
            "app=api",
            "gone",
            "!app",
            "app in (api)",
            "app notin (web)",
            "app!=web",
            "size>7",
            "app=web,gone",
        ] {
            assert!(!matches(no, ""), "{no} should not match");
        }
    }

    #[test]
    fn field_selectors_match_names_phases_and_nodes() {
        for yes in [
            "metadata.name=web-1",
            "metadata.namespace=shop",
            "status.phase=Running,spec.nodeName=node-2",
            "status.phase!=Failed",
            "status.podIP=",
            "spec.hostNetwork=false",
        ] {
            assert!(matches("", yes), "{yes} should match");
        }
        for no in [
            "metadata.name=web",
            "status.phase!=Running",
            "spec.nodeName=",
        ] {
            assert!(!matches("", no), "{no} should not match");
        }
    }

    #[test]
    fn what_cannot_be_selected_is_refused() {
        let refused = |labels, fields| {
            Selector::parse(labels, fields, &pods())
                .unwrap_err()
                .message
        };
        assert_eq!(
            refused("", "spec.color=red"),
            "field label not supported: spec.color"
        );
        assert_eq!(
            refused("", "oops"),
            "invalid selector: 'oops'; can't understand 'oops'"
        );
        for bad in ["app in web", "app=(x", "=x", "app in (x", "a b", "size>x"] {
            assert!(
                refused(bad, "").starts_with("unable to parse requirement"),
                "{bad}"
            );
        }
    }
}
