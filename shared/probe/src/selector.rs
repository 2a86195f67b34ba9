//! Checks whether a watch's selectors match an object, by its labels and its name (docs/semantics/checks.md#scope).
//!
//! A condition of a selector that is not understood matches everything here, so that no server is blamed for a
//! condition that cannot be checked. Fields other than `metadata.name` and `metadata.namespace` differ by resource and
//! are not checked.

use std::borrow::Cow;

use crate::decode::ObjectHead;
use crate::spec::WatchSpec;
use watchscope_model::json_reader::Reader;

/// The selectors of a watch, split into conditions. The length of the selectors bounds the number of conditions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<Part>,
    fields: Vec<Part>,
}

/// A condition on one key.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    key: String,
    is: Asked,
}

#[derive(Debug, PartialEq, Eq)]
enum Asked {
    There,
    Absent,
    /// The object has the key, with one of these values.
    OneOf(Vec<String>),
    /// The object lacks the key, or has it with none of these values.
    NoneOf(Vec<String>),
}

impl Selector {
    /// The selector of a watch; `None` if it matches everything.
    pub(crate) fn of(spec: &WatchSpec) -> Option<Self> {
        let labels = spec.label_selector.as_deref().map(parts);
        let fields = spec.field_selector.as_deref().map(parts);
        let selector = Self {
            labels: labels.unwrap_or_default(),
            fields: fields.unwrap_or_default(),
        };
        (!selector.labels.is_empty() || !selector.fields.is_empty()).then_some(selector)
    }

    /// Whether the selectors match an object.
    pub(crate) fn asks_for(&self, head: &ObjectHead<'_>) -> bool {
        let labels = head.labels.map_or_else(Vec::new, labels_of);
        let label = |key: &str| {
            let mut labels = labels.iter();
            labels.find_map(|(label, value)| (label == key).then_some(&**value))
        };
        let is_asked = |part: &Part| match &*part.key {
            "metadata.name" => part.is.holds(head.name.as_deref()),
            "metadata.namespace" => part.is.holds(head.namespace.as_deref()),
            _ => true,
        };
        self.labels
            .iter()
            .all(|part| part.is.holds(label(&part.key)))
            && self.fields.iter().all(is_asked)
    }
}

impl Asked {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_among = |values: &[String]| value.is_some_and(|it| values.iter().any(|v| v == it));
        match self {
            Self::There => value.is_some(),
            Self::Absent => value.is_none(),
            Self::OneOf(values) => is_among(values),
            Self::NoneOf(values) => !is_among(values),
        }
    }
}

fn labels_of(json: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let mut labels = Vec::new();
    let mut reader = Reader::new(json);
    // The text was read before, so it is an object, or null, which has no labels.
    let _ = reader.object(|reader, key| {
        if let Some(value) = reader.optional_string()? {
            labels.push((key, value));
        }
        Ok(())
    });
    labels
}

/// The conditions of a selector that are understood (k8s.io/apimachinery labels.Parse and fields.ParseSelector).
fn parts(selector: &str) -> Vec<Part> {
    if selector.contains('\\') {
        // Values of fields may contain escaped separators.
        return Vec::new();
    }
    let mut depth = 0_u32;
    let between = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    selector.split(between).filter_map(part).collect()
}

fn part(text: &str) -> Option<Part> {
    let text = text.trim();
    let (key, is) = if let Some((key, value)) = text.split_once("!=") {
        (key, Asked::NoneOf(vec![value.trim().to_owned()]))
    } else if let Some((key, value)) = text.split_once('=') {
        let value = value.strip_prefix('=').unwrap_or(value);
        (key, Asked::OneOf(vec![value.trim().to_owned()]))
    } else if let Some(key) = text.strip_prefix('!') {
        (key, Asked::Absent)
    } else if let Some((before, values)) = text.split_once('(') {
        let values = values.trim_end().strip_suffix(')')?;
        let values = values.split(',').map(|value| value.trim().to_owned());
        let values = values.collect();
        let (key, word) = before.trim_end().rsplit_once(char::is_whitespace)?;
        match word {
            "in" => (key, Asked::OneOf(values)),
            "notin" => (key, Asked::NoneOf(values)),
            _ => return None,
        }
    } else {
        (text, Asked::There)
    };
    let key = key.trim();
    // Numeric comparisons, and forms that may be added, are not understood.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let is_understood = !key.is_empty() && key.chars().all(is_plain);
    is_understood.then(|| Part {
        key: key.to_owned(),
        is,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks_for(labels: &str, fields: &str, object: &str) -> bool {
        let spec = WatchSpec {
            label_selector: (!labels.is_empty()).then(|| labels.into()),
            field_selector: (!fields.is_empty()).then(|| fields.into()),
            ..WatchSpec::of("*", "pods", "Pod")
        };
        let mut decoder = crate::decode::Decoder::new("", "Pod", false);
        let text = format!(r#"{{"metadata":{object}}}"#);
        let object = crate::decode::decode_object(text.as_bytes(), &mut decoder).unwrap();
        Selector::of(&spec).is_none_or(|selector| selector.asks_for(&object.head))
    }

    #[test]
    fn labels_are_matched_as_kubernetes_does() {
        let web = r#"{"name":"a","labels":{"tier":"web","app.example.com/name":"x","empty":""}}"#;
        for asked in [
            "",
            "tier=web",
            "tier==web",
            " tier = web , tier",
            "tier!=db",
            "zone!=a",
            "tier in (db, web)",
            "tier notin (db)",
            "zone notin (a,b)",
            "!zone",
            "app.example.com/name=x,tier in (web),!zone",
            "empty=",
        ] {
            assert!(asks_for(asked, "", web), "{asked}");
        }
        for asked in [
            "tier=db",
            "tier!=web",
            "tier in (db,cache)",
            "zone in (a)",
            "tier notin (db,web)",
            "zone",
            "zone=",
            "!tier",
            "tier=web,zone",
        ] {
            assert!(!asks_for(asked, "", web), "{asked}");
        }
        for none in [r#"{"name":"a"}"#, r#"{"name":"a","labels":null}"#] {
            assert!(!asks_for("tier=web", "", none) && asks_for("tier!=web", "", none));
        }
    }

    #[test]
    fn name_and_namespace_of_fields_are_checked() {
        let object = r#"{"name":"a","namespace":"shop"}"#;
        assert!(asks_for(
            "",
            "metadata.name=a,metadata.namespace!=db",
            object
        ));
        assert!(!asks_for("", "metadata.name=b", object));
        assert!(!asks_for("", "metadata.namespace==db", object));
        assert!(asks_for(
            "",
            "spec.nodeName=n1,status.phase!=Running",
            object
        ));
    }

    #[test]
    fn a_part_that_is_not_understood_matches_everything() {
        let object = r#"{"name":"a","labels":{"n":"5"}}"#;
        for asked in ["n>7", "n in 7", "n in (7", "n within (7)", "n=7\\,8", ",,"] {
            assert!(asks_for(asked, "", object), "{asked}");
        }
    }
}
