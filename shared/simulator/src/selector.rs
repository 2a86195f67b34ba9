//! Label and field selectors: their text forms, and which objects match them.

use serde_json::Value;
use watchscope_model::tree::BTreeSet;

use crate::json::at;
use crate::kinds::{Printer, ResourceType};
use crate::names::{label_key_error, label_value_error};
use crate::object::Object;
use crate::status::{ApiError, bad_request};

/// The label and field selector of a list or watch; by default it selects all objects.
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
    /// Parses both selectors of a request for `resource`; a selector that cannot be parsed is refused with 400.
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

    /// Returns the name that the field selector requires; `None` if it requires no name.
    pub(crate) fn one_name(&self) -> Option<&str> {
        self.fields
            .iter()
            .find(|f| f.equal && f.path == ["metadata", "name"])
            .map(|f| f.value.as_str())
    }

    /// Returns whether this is the field selector of kubelets (`spec.nodeName`), for which the watch cache has an index
    /// (docs/semantics/servers.md#buffers).
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

/// Returns a field's value as field selectors compare it: a string, empty if the field is absent.
fn field_value(object: &Object, path: &[String]) -> String {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    match at(object.value(), &keys) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        // An absent boolean or count has its zero value, as in the typed fields.
        None if keys == ["spec", "hostNetwork"] || keys == ["spec", "unschedulable"] => {
            "false".to_owned()
        }
        None if keys == ["status", "replicas"] || keys == ["status", "succeeded"] => "0".to_owned(),
        _ => String::new(),
    }
}

/// Parses a label selector as apimachinery's `labels.Parse` does, and refuses an invalid one in the words of
/// `labels.Parse`.
fn parse_labels(text: &str) -> Result<Vec<LabelRequirement>, ApiError> {
    Parser {
        tokens: tokens(text),
        at: 0,
    }
    .requirements()
    .map_err(bad_request)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Identifier,
    /// `in` and `notin` as operators; where a value is expected, these words are identifiers.
    Word,
    Operator,
    End,
}

/// Splits a label selector into tokens with their texts; the last token is [`Token::End`].
fn tokens(text: &str) -> Vec<(Token, &str)> {
    let is_symbol = |c: char| "=!(),><".contains(c);
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next() else {
            found.push((Token::End, ""));
            return found;
        };
        let length = if is_symbol(first) {
            let two = rest.get(..2).unwrap_or("");
            if matches!(two, "==" | "!=") { 2 } else { 1 }
        } else {
            let ends = |c: char| is_symbol(c) || c.is_ascii_whitespace();
            rest.find(ends).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(length);
        let token = match word {
            "in" | "notin" => Token::Word,
            _ if is_symbol(first) => Token::Operator,
            _ => Token::Identifier,
        };
        found.push((token, word));
        rest = after;
    }
}

/// The parser of a label selector. The errors of its functions are in the words of apimachinery's `labels.Parse`.
struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    at: usize,
}

impl<'a> Parser<'a> {
    /// Returns the next token at a position where a value may stand.
    fn peek(&self) -> (Token, &'a str) {
        match self.tokens.get(self.at) {
            Some((Token::Word, text)) => (Token::Identifier, text),
            Some(token) => *token,
            None => (Token::End, ""),
        }
    }

    fn take(&mut self) -> (Token, &'a str) {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<LabelRequirement>, String> {
        let mut found = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier, _) | (Token::Operator, "!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|e| format!("unable to parse requirement: {e}"))?;
                    found.push(requirement);
                    match self.take() {
                        (Token::End, _) => return Ok(found),
                        (Token::Operator, ",") => match self.peek() {
                            (Token::Identifier, _) | (Token::Operator, "!") => {}
                            (_, text) => {
                                return Err(format!(
                                    "found '{text}', expected: identifier after ','"
                                ));
                            }
                        },
                        (_, text) => {
                            return Err(format!(
                                "found '{text}', expected: ',' or 'end of string'"
                            ));
                        }
                    }
                }
                (Token::End, _) => return Ok(found),
                (_, text) => {
                    return Err(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let (mut token, mut key) = self.take();
        let absent = (token, key) == (Token::Operator, "!");
        if absent {
            (token, key) = self.take();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        if let Some(why) = label_key_error(key) {
            return Err(format!("<nil>: Invalid value: {key:?}: {why}"));
        }
        let key = key.to_owned();
        if absent {
            return Ok(LabelRequirement::DoesNotExist(key));
        }
        if matches!(self.peek(), (Token::End, _) | (Token::Operator, ",")) {
            return Ok(LabelRequirement::Exists(key));
        }
        let operator = self.tokens.get(self.at).map_or("", |(_, text)| *text);
        self.at += 1;
        let values = match operator {
            "in" | "notin" => self.values()?,
            "=" | "==" | "!=" | ">" | "<" => BTreeSet::from([self.exact_value()?]),
            other => {
                return Err(format!(
                    "found '{other}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        let mut errors = Vec::new();
        let mut bound = 0;
        if matches!(operator, ">" | "<") {
            for value in &values {
                match value.parse() {
                    Ok(number) => bound = number,
                    Err(_) => errors.push(format!(
                        "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                    )),
                }
            }
        }
        for (i, value) in values.iter().enumerate() {
            if let Some(why) = label_value_error(value) {
                errors.push(format!(
                    "values[{i}][{key}]: Invalid value: {value:?}: {why}"
                ));
            }
        }
        match errors.as_slice() {
            [] => {}
            [one] => return Err(one.clone()),
            many => return Err(format!("[{}]", many.join(", "))),
        }
        Ok(match operator {
            "in" | "=" | "==" => LabelRequirement::In(key, values),
            ">" => LabelRequirement::GreaterThan(key, bound),
            "<" => LabelRequirement::LessThan(key, bound),
            _ => LabelRequirement::NotIn(key, values),
        })
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, text) = self.take();
        if (token, text) != (Token::Operator, "(") {
            return Err(format!("found '{text}' expected: '('"));
        }
        match self.peek() {
            (Token::Operator, ")") => {
                self.at += 1;
                return Ok(BTreeSet::from([String::new()]));
            }
            (Token::Identifier, _) | (Token::Operator, ",") => {}
            (_, text) => return Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.take() {
                (Token::Identifier, value) => {
                    values.insert(value.to_owned());
                    match self.peek() {
                        (Token::Operator, ",") => {}
                        (Token::Operator, ")") => break,
                        (_, text) => return Err(format!("found '{text}', expected: ',' or ')'")),
                    }
                }
                (Token::Operator, ",") => {
                    if values.is_empty() {
                        values.insert(String::new());
                    }
                    match self.peek() {
                        (Token::Operator, ")") => {
                            values.insert(String::new());
                            break;
                        }
                        (Token::Operator, ",") => {
                            values.insert(String::new());
                        }
                        _ => {}
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
        self.at += 1;
        Ok(values)
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            (Token::End, _) | (Token::Operator, ",") => Ok(String::new()),
            (Token::Identifier, value) => {
                self.at += 1;
                Ok(value.to_owned())
            }
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
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
        // Kinds without field selectors of their own get another error than those with some.
        None if resource.fields.is_empty() && resource.printer == Printer::BuiltIn => {
            let known = if resource.namespaced {
                "\"metadata.name\", \"metadata.namespace\""
            } else {
                "\"metadata.name\""
            };
            Err(bad_request(format!(
                "{label:?} is not a known field selector: only {known}"
            )))
        }
        None => Err(bad_request(format!("field label not supported: {label}"))),
    }
}

/// Splits a field selector at the commas that no backslash escapes.
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
        Object::new(value, crate::object::ChangeKind::Added)
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
    fn a_selector_that_cannot_be_read_is_refused() {
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
        let refusals: Vec<String> = [
            "app in web",
            "app=(x",
            "=x",
            "app in (x",
            "a b",
            "size>x",
            "a,",
        ]
        .map(|bad| refused(bad, ""))
        .into();
        insta::assert_snapshot!(refusals.join("\n"), @r#"
        unable to parse requirement: found 'web' expected: '('
        unable to parse requirement: found '(', expected: identifier
        found '=', expected: !, identifier, or 'end of string'
        unable to parse requirement: found '', expected: ',' or ')'
        unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt
        unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer
        found '', expected: identifier after ','
        "#);
        for (bad, begins) in [
            (
                "-a",
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must",
            ),
            (
                "a=-b",
                "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must",
            ),
        ] {
            assert!(refused(bad, "").starts_with(begins), "{bad}");
        }
    }
}
