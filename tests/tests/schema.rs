//! The simulator's table of shapes, compared with a real kube-apiserver's description of its types.
//!
//! The server's OpenAPI has every field with its type and how it is merged and owned. It lacks the order of fields, and
//! which fields are written when empty; the conformance exchanges compare those.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};
use watchscope_tests::{KubeCluster, KubeTools, or_skip};

const TABLE: &str = include_str!("../../shared/simulator/src/schema.txt");

/// The group versions of the kinds that the simulator has.
const DOCUMENTS: [&str; 6] = [
    "api/v1",
    "apis/apiextensions.k8s.io/v1",
    "apis/apps/v1",
    "apis/autoscaling/v1",
    "apis/batch/v1",
    "apis/coordination.k8s.io/v1",
];

/// Fields with their types and marks, as the table writes them.
type Fields = BTreeMap<String, String>;

#[tokio::test]
async fn the_shapes_of_built_in_kinds_are_those_of_a_real_apiserver() -> Result<()> {
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    // Schemas by the last part of their names, which several groups may use.
    let mut real: BTreeMap<String, Vec<Fields>> = BTreeMap::new();
    for document in DOCUMENTS {
        let path = format!("/openapi/v3/{document}");
        let text = cluster.kubectl().run(&["get", "--raw", &path]).await?;
        let document: Value = serde_json::from_str(&text)?;
        let schemas = document.pointer("/components/schemas");
        let schemas = schemas.and_then(Value::as_object).context("its schemas")?;
        for (name, schema) in schemas {
            let fields = described(schema);
            real.entry(last(name).to_owned()).or_default().push(fields);
        }
    }
    let mut wrong = BTreeSet::new();
    for line in TABLE.lines() {
        let (name, ours) = written(line)?;
        match real.get(name).map(Vec::as_slice) {
            None => wrong.insert(format!("{name}: unknown there")),
            Some(theirs) if theirs.contains(&ours) => false,
            Some(theirs) => wrong.insert(format!("{name}:\n  here  {ours:?}\n  there {theirs:?}")),
        };
    }
    ensure!(
        wrong.is_empty(),
        "{}",
        wrong.into_iter().collect::<Vec<_>>().join("\n")
    );
    Ok(())
}

/// The key under which the marks of a struct itself stand.
const ITSELF: &str = "";

/// Parses a line of the table, without the marks that OpenAPI lacks: `?` and `!`.
fn written(line: &str) -> Result<(&str, Fields)> {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    let mut fields = Fields::new();
    if name.ends_with('^') {
        fields.insert(ITSELF.to_owned(), "^".to_owned());
    }
    for word in words {
        let (field, shape) = word.split_once(':').with_context(|| line.to_owned())?;
        fields.insert(field.to_owned(), shape.replace(['?', '!'], ""));
    }
    Ok((name.trim_end_matches('^'), fields))
}

/// Returns a schema's fields as the table would write them.
fn described(schema: &Value) -> Fields {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let mut fields: Fields = properties
        .iter()
        .map(|(name, field)| (name.clone(), format!("{}{}", shape(field), marks(field))))
        .collect();
    if schema["x-kubernetes-map-type"] == "atomic" {
        fields.insert(ITSELF.to_owned(), "^".to_owned());
    }
    fields
}

fn shape(schema: &Value) -> String {
    // A reference with a default is wrapped in `allOf`.
    let schema = schema.pointer("/allOf/0").unwrap_or(schema);
    if let Some(reference) = schema["$ref"].as_str() {
        let code = match last(reference) {
            "Time" => "t",
            "MicroTime" => "u",
            "Quantity" => "q",
            "IntOrString" => "x",
            "FieldsV1" | "JSON" | "RawExtension" => "*",
            "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
                "*"
            }
            name => name,
        };
        return code.to_owned();
    }
    let text = |key: &str| schema[key].as_str().unwrap_or_default();
    match (text("type"), text("format")) {
        ("string", "byte") => "y".to_owned(),
        ("string", _) => "s".to_owned(),
        ("integer", "int64") => "l".to_owned(),
        ("integer", _) => "i".to_owned(),
        ("number", _) => "f".to_owned(),
        ("boolean", _) => "b".to_owned(),
        ("array", _) => format!("[{}]", shape(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("{{{}}}", shape(&schema["additionalProperties"]))
        }
        _ => "*".to_owned(),
    }
}

fn marks(field: &Value) -> String {
    let text = |key: &str| field[key].as_str().unwrap_or_default();
    let mut marks = String::new();
    match text("x-kubernetes-list-type") {
        "set" => marks.push('@'),
        "map" => {
            let keys = field["x-kubernetes-list-map-keys"].as_array();
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            marks.push('@');
            marks.push_str(&keys.collect::<Vec<_>>().join(","));
        }
        _ => {}
    }
    let strategy = text("x-kubernetes-patch-strategy");
    if strategy.contains("merge") {
        marks.push('~');
        marks.push_str(text("x-kubernetes-patch-merge-key"));
    }
    if strategy.contains("retainKeys") {
        marks.push('+');
    }
    if text("x-kubernetes-map-type") == "atomic" {
        marks.push('^');
    }
    marks
}

/// Returns the last part of a schema's name.
fn last(name: &str) -> &str {
    name.rsplit(['.', '/']).next().unwrap_or(name)
}
