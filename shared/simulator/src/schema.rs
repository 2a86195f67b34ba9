//! The shapes of the built-in kinds: their fields in the order in which the apiserver writes them, their types, and how
//! their lists and maps are merged and owned.
//!
//! `schema.txt` has one line per struct: `Name^ field:TYPE…`. A `^` after a struct, or after a map's type, means that
//! one field manager owns the struct or map as a whole. A TYPE is a struct's name or
//!
//! ```text
//! s text   i int32   l int64   f float   b bool   t time   u time with micros   y bytes   q quantity
//! x number or text   * anything   [T] list   {T} map of text to T
//! ```
//!
//! Marks may follow the TYPE. `@keys`: a list whose items differ by keys (`@` alone: a set). `~key`: a list that a
//! strategic merge patch merges (`~` alone: by value). `+`: the directive `$retainKeys` of strategic merge patches
//! works. `?`: a pointer, whose empty value is kept. `!`: written also when it is empty.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use watchscope_model::tree::{self, BTreeMap};

use crate::json::go::kind_of;
use crate::json::{json_text, sort_all, sort_keys};
use crate::kinds::{Printer, ResourceType};

/// The shapes of the built-in kinds, parsed from `schema.txt` at the first use. A test compares them with the OpenAPI
/// of a real server (docs/simulator.md).
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(include_str!("schema.txt")));

/// All structs of `schema.txt`.
#[derive(Debug)]
struct Schema {
    structs: Vec<Struct>,
    names: BTreeMap<&'static str, usize>,
}

/// A struct of the API.
#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) name: &'static str,
    /// Whether one field manager owns the struct as a whole.
    pub(crate) atomic: bool,
    fields: Vec<Field>,
    places: BTreeMap<&'static str, usize>,
    /// The indices of the fields that are written also when they are empty.
    always: Vec<usize>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// Whether one field manager owns the map as a whole.
    pub(crate) atomic: bool,
    /// The keys that distinguish the items of a list; empty for a set; `None` for any other field.
    pub(crate) keys: Option<Vec<&'static str>>,
    /// The key of a list that a strategic merge patch merges; empty for a list of plain values; `None` for any other
    /// field.
    pub(crate) merge: Option<&'static str>,
    pointer: bool,
    always: bool,
}

/// A field's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    Int32,
    Int64,
    Float,
    Bool,
    Time,
    MicroTime,
    Bytes,
    Quantity,
    NumberOrText,
    Any,
    Struct(&'static str),
    List(Box<Shape>),
    Map(Box<Shape>),
}

impl Schema {
    fn parse(text: &'static str) -> Schema {
        let structs: Vec<Struct> = text.lines().map(Struct::parse).collect();
        let names = (0..).zip(&structs).map(|(i, s)| (s.name, i)).collect();
        Schema { structs, names }
    }

    fn named(&'static self, name: &str) -> Option<&'static Struct> {
        self.names.get(name).map(|place| &self.structs[*place])
    }
}

impl Struct {
    fn parse(line: &'static str) -> Struct {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or("");
        let fields: Vec<Field> = words.filter_map(Field::parse).collect();
        let places = (0..).zip(&fields).map(|(i, f)| (f.name, i)).collect();
        let always = (0..)
            .zip(&fields)
            .filter(|(_, f)| f.always)
            .map(|(i, _)| i)
            .collect();
        Struct {
            name: name.trim_end_matches('^'),
            atomic: name.ends_with('^'),
            fields,
            places,
            always,
        }
    }

    /// Returns the shape of a built-in kind; `None` for custom types, whose fields are written in alphabetical order.
    pub(crate) fn of(kind: &ResourceType) -> Option<&'static Struct> {
        match kind.printer {
            Printer::BuiltIn => SCHEMA.named(&kind.kind),
            Printer::Columns(_) => None,
        }
    }

    /// Returns a struct of the schema by its name; `None` if the schema has none.
    pub(crate) fn named(name: &str) -> Option<&'static Struct> {
        SCHEMA.named(name)
    }

    /// Inserts the fields that are written also when they are empty, and brings all fields into the schema's order.
    pub(crate) fn fill(&self, value: &mut Value) {
        if let Value::Object(map) = value {
            self.tidy(map);
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.places.get(name).map(|place| &self.fields[*place])
    }
}

impl Field {
    fn parse(word: &'static str) -> Option<Field> {
        let (name, rest) = word.split_once(':')?;
        let marks = rest
            .find(['@', '~', '+', '?', '!', '^', '='])
            .unwrap_or(rest.len());
        let (code, marks) = rest.split_at(marks);
        let after = |mark: char| -> Option<&'static str> {
            let (_, tail) = marks.split_once(mark)?;
            let end = tail
                .find(|c: char| !c.is_ascii_alphanumeric() && c != ',')
                .unwrap_or(tail.len());
            Some(&tail[..end])
        };
        Some(Field {
            name,
            shape: Shape::parse(code),
            atomic: marks.contains('^'),
            keys: after('@').map(|keys| keys.split(',').filter(|k| !k.is_empty()).collect()),
            merge: after('~'),
            pointer: marks.contains('?'),
            always: marks.contains('!'),
        })
    }
}

impl Shape {
    fn parse(code: &'static str) -> Shape {
        let inner = |code: &'static str| Box::new(Shape::parse(&code[1..code.len() - 1]));
        match code {
            "s" => Shape::Text,
            "i" => Shape::Int32,
            "l" => Shape::Int64,
            "f" => Shape::Float,
            "b" => Shape::Bool,
            "t" => Shape::Time,
            "u" => Shape::MicroTime,
            "y" => Shape::Bytes,
            "q" => Shape::Quantity,
            "x" => Shape::NumberOrText,
            "*" => Shape::Any,
            list if list.starts_with('[') => Shape::List(inner(list)),
            map if map.starts_with('{') => Shape::Map(inner(map)),
            name => Shape::Struct(name),
        }
    }

    fn as_struct(&self) -> Option<&'static Struct> {
        match self {
            Shape::Struct(name) => SCHEMA.named(name),
            _ => None,
        }
    }

    /// Returns the value that is written for a field of this type that is not set.
    fn zero(&self) -> Value {
        match self {
            Shape::Text => json!(""),
            Shape::Int32 | Shape::Int64 | Shape::Float => json!(0),
            Shape::Bool => json!(false),
            Shape::Quantity => json!("0"),
            Shape::NumberOrText => json!(0),
            Shape::Struct(_) => {
                let mut value = json!({});
                self.tidy(&mut value);
                value
            }
            _ => Value::Null,
        }
    }

    fn is_empty(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Bool(flag) => !flag,
            Value::Number(number) => number.as_f64() == Some(0.0) && *self != Shape::NumberOrText,
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty() && !matches!(self, Shape::Struct(_)),
        }
    }

    fn tidy(&self, value: &mut Value) {
        match (self, value) {
            (Shape::Struct(_), value @ Value::Object(_)) => {
                if let (Some(shape), Value::Object(map)) = (self.as_struct(), value) {
                    shape.tidy(map);
                }
            }
            (Shape::List(item), Value::Array(items)) => {
                items.iter_mut().for_each(|value| item.tidy(value));
            }
            (Shape::Map(inner), Value::Object(map)) => {
                sort_keys(map);
                map.values_mut().for_each(|value| inner.tidy(value));
            }
            (Shape::Quantity, value @ Value::Number(_)) => *value = json!(json_text(value)),
            (Shape::Any, value @ (Value::Object(_) | Value::Array(_))) => {
                sort_all(value);
            }
            _ => {}
        }
    }

    /// Returns the name of the Go type, as Go's JSON decoder writes it in errors.
    fn go_name(&self) -> String {
        match self {
            Shape::Text => "string".to_owned(),
            Shape::Int32 => "int32".to_owned(),
            Shape::Int64 => "int64".to_owned(),
            Shape::Float => "float64".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Bytes => "[]uint8".to_owned(),
            Shape::Struct(name) => format!("v1.{name}"),
            Shape::List(item) => format!("[]{}", item.go_name()),
            Shape::Map(item) => format!("map[string]{}", item.go_name()),
            _ => String::new(),
        }
    }
}

impl Struct {
    /// Brings a struct into the form in which the apiserver writes it: fields in the schema's order, unknown and empty
    /// fields removed, always-written fields inserted.
    fn tidy(&self, map: &mut Map<String, Value>) {
        let mut order: Vec<usize> = Vec::with_capacity(map.len() + self.always.len());
        let mut is_tidy = true;
        for (key, value) in map.iter_mut() {
            let Some(&place) = self.places.get(key.as_str()) else {
                is_tidy = false;
                continue;
            };
            let field = &self.fields[place];
            field.shape.tidy(value);
            let dropped = if field.always || field.pointer {
                value.is_null()
            } else {
                field.shape.is_empty(value)
            };
            if dropped || order.last().is_some_and(|last| *last >= place) {
                is_tidy = false;
            }
            order.push(place);
        }
        is_tidy &= self.always.iter().all(|place| order.contains(place));
        if is_tidy {
            return;
        }
        let mut entries: Vec<(usize, String, Value)> = Vec::with_capacity(order.len());
        for (key, value) in std::mem::take(map) {
            let Some(&place) = self.places.get(key.as_str()) else {
                continue;
            };
            let field = &self.fields[place];
            let dropped = if field.always || field.pointer {
                value.is_null()
            } else {
                field.shape.is_empty(&value)
            };
            if !dropped {
                entries.push((place, key, value));
            }
        }
        for &place in &self.always {
            if !entries.iter().any(|(there, _, _)| *there == place) {
                let field = &self.fields[place];
                entries.push((place, field.name.to_owned(), field.shape.zero()));
            }
        }
        tree::sort_by(&mut entries, |(one, ..), (other, ..)| one.cmp(other));
        map.extend(entries.into_iter().map(|(_, key, value)| (key, value)));
    }
}

/// Brings an object into the form in which the apiserver writes its kind, and adds a resourceVersion if the object has
/// none.
pub(crate) fn tidy(value: &mut Value, kind: &ResourceType) {
    let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata
        && !metadata.contains_key("resourceVersion")
    {
        metadata.insert("resourceVersion".to_owned(), json!("0"));
    }
    match (Struct::of(kind), value) {
        (Some(shape), Value::Object(map)) => shape.tidy(map),
        (_, value) => sort_all(value),
    }
}

/// Orders `after` as Go's JSON patch library writes it: maps that the patch changed by key, other maps as in `before`.
pub(crate) fn patched_order(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (before, after) if before == after => before.clone(),
        (_, Value::Object(after)) => {
            let mut sorted: Map<String, Value> = after
                .iter()
                .map(|(key, value)| {
                    let before = before.get(key).unwrap_or(&Value::Null);
                    (key.clone(), patched_order(before, value))
                })
                .collect();
            sort_keys(&mut sorted);
            Value::Object(sorted)
        }
        _ => after.clone(),
    }
}

/// Brings the metadata of an object of any kind into the order of ObjectMeta.
pub(crate) fn tidy_metadata(metadata: &mut Value) {
    if let (Some(shape), Value::Object(map)) = (Struct::named("ObjectMeta"), metadata) {
        shape.tidy(map);
    }
}

/// The parts of a request body that do not fit its kind, in the words of Go's decoders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Misfits {
    /// Paths of the body's fields that the kind does not have, in the order of the body.
    pub(crate) unknown: Vec<String>,
    /// The error for the body's first value of a wrong type, in the words of Go's JSON decoder.
    pub(crate) wrong_type: Option<String>,
}

/// Compares a body with its kind's shape. Custom types have no shape, so every body fits them.
pub(crate) fn misfits(value: &Value, kind: &ResourceType) -> Misfits {
    Struct::of(kind).map_or_else(Misfits::default, |shape| shape.misfits(value))
}

impl Struct {
    /// Returns the parts of a body that do not fit this shape.
    pub(crate) fn misfits(&self, value: &Value) -> Misfits {
        let mut found = Misfits::default();
        if let Value::Object(map) = value {
            self.compare(map, &mut Vec::new(), &mut found);
        }
        found
    }

    fn compare(&self, map: &Map<String, Value>, path: &mut Vec<String>, found: &mut Misfits) {
        for (key, value) in map {
            path.push(key.clone());
            match self.field(key) {
                None => found.unknown.push(joined(path)),
                Some(field) => field.shape.compare(value, path, self.name, found),
            }
            path.pop();
        }
    }
}

impl Shape {
    fn compare(
        &self,
        value: &Value,
        path: &mut Vec<String>,
        holder: &'static str,
        found: &mut Misfits,
    ) {
        let fits = match (self, value) {
            (_, Value::Null)
            | (Shape::Any, _)
            | (Shape::Text | Shape::Bytes, Value::String(_))
            | (Shape::Time | Shape::MicroTime, Value::String(_))
            | (Shape::Float, Value::Number(_))
            | (Shape::Quantity | Shape::NumberOrText, Value::String(_) | Value::Number(_))
            | (Shape::Bool, Value::Bool(_)) => true,
            (Shape::Int32 | Shape::Int64, Value::Number(number)) => number.is_i64(),
            (Shape::Struct(_), Value::Object(map)) => {
                if let Some(shape) = self.as_struct() {
                    shape.compare(map, path, found);
                }
                true
            }
            (Shape::List(item), Value::Array(items)) => {
                for (i, value) in items.iter().enumerate() {
                    path.push(format!("[{i}]"));
                    item.compare(value, path, holder, found);
                    path.pop();
                }
                true
            }
            (Shape::Map(item), Value::Object(map)) => {
                for (key, value) in map {
                    path.push(format!("{{{key}"));
                    item.compare(value, path, holder, found);
                    path.pop();
                }
                true
            }
            _ => false,
        };
        if !fits && found.wrong_type.is_none() {
            let got = kind_of(value);
            // The decoder names fields, but no list indices or map keys.
            let fields: Vec<&str> = path
                .iter()
                .map(String::as_str)
                .filter(|part| !part.starts_with(['[', '{']))
                .collect();
            found.wrong_type = Some(format!(
                "json: cannot unmarshal {got} into Go struct field {holder}.{} of type {}",
                fields.join("."),
                self.go_name()
            ));
        }
    }
}

/// Joins the parts of a field's path: `spec.containers[0].image`.
fn joined(path: &[String]) -> String {
    let mut text = String::new();
    for part in path {
        if !text.is_empty() && !part.starts_with('[') {
            text.push('.');
        }
        text.push_str(part.strip_prefix('{').unwrap_or(part));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    fn kind(name: &str) -> ResourceType {
        let kinds = Kinds::built_in();
        kinds.get(kinds.named(name).unwrap()).clone()
    }

    #[test]
    fn every_struct_that_is_named_is_there() {
        fn check(shape: &Shape) {
            match shape {
                Shape::Struct(name) => assert!(SCHEMA.named(name).is_some(), "{name}"),
                Shape::List(inner) | Shape::Map(inner) => check(inner),
                _ => {}
            }
        }
        for shape in &SCHEMA.structs {
            for field in &shape.fields {
                check(&field.shape);
            }
        }
        for (_, kind) in Kinds::built_in().all() {
            assert!(Struct::of(kind).is_some(), "{}", kind.kind);
        }
    }

    #[test]
    fn objects_are_written_in_the_order_of_their_kind() {
        let mut pod = json!({
            "spec": {"containers": [{"image": "i", "name": "c", "args": [], "tty": false, "taste": 1}], "hostNetwork": false,
                "automountServiceAccountToken": false, "nodeSelector": {"b": "2", "a": "1"}},
            "metadata": {"labels": {}, "name": "p"}, "kind": "Pod", "apiVersion": "v1",
        });
        tidy(&mut pod, &kind("pods"));
        insta::assert_snapshot!(pod, @r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","resourceVersion":"0"},"spec":{"containers":[{"name":"c","image":"i","resources":{}}],"nodeSelector":{"a":"1","b":"2"},"automountServiceAccountToken":false},"status":{}}"#);
        let once = pod.to_string();
        tidy(&mut pod, &kind("pods"));
        assert_eq!(pod.to_string(), once);
    }

    #[test]
    fn a_body_that_does_not_fit_is_refused_in_gos_words() {
        let deployment = json!({"spec": {"replicas": "two", "colour": 1, "template": {"spec": {"containers": [{"taste": 1}]}}}});
        let found = misfits(&deployment, &kind("deployments.apps"));
        assert_eq!(
            found.unknown,
            ["spec.colour", "spec.template.spec.containers[0].taste"]
        );
        insta::assert_snapshot!(found.wrong_type.unwrap(), @"json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32");
    }
}
