//! The Table form of objects: the columns that kubectl prints, filled as the printers of Kubernetes 1.36 do.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json::{at, items, number, text};
use crate::kinds::{CustomColumn, Printer, ResourceType};
use crate::object::{Object, partial_metadata};
use crate::time::{Time, Wall, human_duration};

/// The objects of a Table, and how the Table shows them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) objects: &'a [Arc<Object>],
    pub(crate) kind: &'a ResourceType,
    pub(crate) include: IncludeObject,
    pub(crate) with_columns: bool,
    pub(crate) wall: Wall,
    pub(crate) now: Time,
}

/// How much of the row's object each row of a Table carries besides the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

/// Returns a Table of `rows` with the list's `metadata`.
pub(crate) fn table(rows: Rows<'_>, metadata: Value) -> Value {
    let Rows {
        objects,
        kind,
        include,
        with_columns,
        wall,
        now,
    } = rows;
    let columns = if with_columns {
        json!(column_definitions(kind))
    } else {
        Value::Null
    };
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut row = json!({"cells": cells(object, kind, Clock { wall, now })});
            match include {
                IncludeObject::None => row["object"] = Value::Null,
                IncludeObject::Metadata => row["object"] = partial_metadata(object.value()),
                IncludeObject::Object => row["object"] = object.value().clone(),
            }
            row
        })
        .collect();
    // The general printer prints definitions; it writes null for no rows.
    let rows = if rows.is_empty() && kind.kind == "CustomResourceDefinition" {
        Value::Null
    } else {
        json!(rows)
    };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// A column of a Table: name, type, priority.
type Column = (&'static str, &'static str, i64);

/// The column with the object's name.
const NAME: Column = ("Name", "string", 0);
/// The column with the time since the object's creation.
const AGE: Column = ("Age", "string", 0);

fn built_in_columns(kind: &str) -> &'static [Column] {
    match kind {
        "Pod" => &[
            NAME,
            ("Ready", "string", 0),
            ("Status", "string", 0),
            ("Restarts", "string", 0),
            AGE,
            ("IP", "string", 1),
            ("Node", "string", 1),
            ("Nominated Node", "string", 1),
            ("Readiness Gates", "string", 1),
        ],
        "Service" => &[
            NAME,
            ("Type", "string", 0),
            ("Cluster-IP", "string", 0),
            ("External-IP", "string", 0),
            ("Port(s)", "string", 0),
            AGE,
            ("Selector", "string", 1),
        ],
        "ConfigMap" => &[NAME, ("Data", "string", 0), AGE],
        "Secret" => &[NAME, ("Type", "string", 0), ("Data", "string", 0), AGE],
        "Node" => &[
            NAME,
            ("Status", "string", 0),
            ("Roles", "string", 0),
            AGE,
            ("Version", "string", 0),
            ("Internal-IP", "string", 1),
            ("External-IP", "string", 1),
            ("OS-Image", "string", 1),
            ("Kernel-Version", "string", 1),
            ("Container-Runtime", "string", 1),
        ],
        "Namespace" => &[NAME, ("Status", "string", 0), AGE],
        "Event" => &[
            ("Last Seen", "string", 0),
            ("Type", "string", 0),
            ("Reason", "string", 0),
            ("Object", "string", 0),
            ("Subobject", "string", 1),
            ("Source", "string", 1),
            ("Message", "string", 0),
            ("First Seen", "string", 1),
            ("Count", "string", 1),
            ("Name", "string", 1),
        ],
        "ServiceAccount" => &[NAME, AGE],
        "Endpoints" => &[NAME, ("Endpoints", "string", 0), AGE],
        "Deployment" => &[
            NAME,
            ("Ready", "string", 0),
            ("Up-to-date", "string", 0),
            ("Available", "string", 0),
            AGE,
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
        "ReplicaSet" => &[
            NAME,
            ("Desired", "integer", 0),
            ("Current", "integer", 0),
            ("Ready", "integer", 0),
            AGE,
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
        "Job" => &[
            NAME,
            ("Status", "string", 0),
            ("Completions", "string", 0),
            ("Duration", "string", 0),
            AGE,
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
        "Lease" => &[NAME, ("Holder", "string", 0), AGE],
        "CustomResourceDefinition" => &[NAME, ("Created At", "date", 0)],
        _ => &[NAME, AGE],
    }
}

fn column_definitions(kind: &ResourceType) -> Vec<Value> {
    let definition = |name: &str, column_type: &str, priority: i64| {
        let format = if name == "Name" { "name" } else { "" };
        json!({"name": name, "type": column_type, "format": format, "description": "", "priority": priority})
    };
    match &kind.printer {
        Printer::BuiltIn => built_in_columns(&kind.kind)
            .iter()
            .map(|(name, column_type, priority)| definition(name, column_type, *priority))
            .collect(),
        Printer::Columns(columns) => std::iter::once(definition("Name", "string", 0))
            .chain(
                columns
                    .iter()
                    .map(|c| definition(&c.name, &c.kind, c.priority)),
            )
            .collect(),
    }
}

#[derive(Clone, Copy)]
struct Clock {
    wall: Wall,
    now: Time,
}

impl Clock {
    fn age(self, timestamp: &str) -> String {
        match self.wall.age_secs(timestamp, self.now) {
            Some(secs) => human_duration(secs),
            None => "<unknown>".to_owned(),
        }
    }
}

fn cells(object: &Object, kind: &ResourceType, clock: Clock) -> Vec<Value> {
    let value = object.value();
    match &kind.printer {
        Printer::BuiltIn => built_in_cells(value, &kind.kind, clock),
        Printer::Columns(columns) => std::iter::once(json!(object.name()))
            .chain(
                columns
                    .iter()
                    .map(|column| custom_cell(value, column, clock)),
            )
            .collect(),
    }
}

fn custom_cell(value: &Value, column: &CustomColumn, clock: Clock) -> Value {
    let path: Vec<&str> = column.path.iter().map(String::as_str).collect();
    match at(value, &path) {
        Some(Value::String(timestamp)) if column.kind == "date" => json!(clock.age(timestamp)),
        Some(found) => found.clone(),
        None => Value::Null,
    }
}

fn built_in_cells(value: &Value, kind: &str, clock: Clock) -> Vec<Value> {
    let name = json!(text(value, &["metadata", "name"]));
    let age = json!(clock.age(text(value, &["metadata", "creationTimestamp"])));
    let count = |path: &[&str]| json!(number(value, path).unwrap_or(0));
    let string = |path: &[&str]| json!(or_none(text(value, path)));
    let entries = |key: &str| {
        at(value, &[key])
            .and_then(Value::as_object)
            .map_or(0, |m| m.len())
    };
    match kind {
        "Pod" => pod_cells(value, name, age, clock),
        "Service" => vec![
            name,
            json!(text(value, &["spec", "type"])),
            string(&["spec", "clusterIP"]),
            json!("<none>"),
            json!(or_none(&service_ports(value))),
            age,
            json!(or_none(&pairs(at(value, &["spec", "selector"])))),
        ],
        "ConfigMap" => vec![name, json!(entries("data") + entries("binaryData")), age],
        "Secret" => vec![
            name,
            json!(text(value, &["type"])),
            json!(entries("data")),
            age,
        ],
        "Node" => vec![
            name,
            json!(node_status(value)),
            json!(or_none(&node_roles(value))),
            age,
            json!(text(value, &["status", "nodeInfo", "kubeletVersion"])),
            json!(or_none(node_address(value, "InternalIP"))),
            json!(or_none(node_address(value, "ExternalIP"))),
            json!(or_unknown(text(value, &["status", "nodeInfo", "osImage"]))),
            json!(or_unknown(text(
                value,
                &["status", "nodeInfo", "kernelVersion"]
            ))),
            json!(or_unknown(text(
                value,
                &["status", "nodeInfo", "containerRuntimeVersion"]
            ))),
        ],
        "Namespace" => vec![name, json!(text(value, &["status", "phase"])), age],
        "Event" => {
            let seen = |keys: &[&str]| {
                let mut times = keys.iter().map(|key| text(value, &[key]));
                clock.age(times.find(|t| !t.is_empty()).unwrap_or(""))
            };
            let kind = text(value, &["involvedObject", "kind"]).to_ascii_lowercase();
            let object = match text(value, &["involvedObject", "name"]) {
                "" => kind,
                name => format!("{kind}/{name}"),
            };
            vec![
                json!(seen(&["lastTimestamp", "firstTimestamp", "eventTime"])),
                json!(text(value, &["type"])),
                json!(text(value, &["reason"])),
                json!(object),
                json!(text(value, &["involvedObject", "fieldPath"])),
                json!(event_source(value)),
                json!(text(value, &["message"]).trim()),
                json!(seen(&["firstTimestamp", "eventTime"])),
                json!(number(value, &["count"]).unwrap_or(0).max(1)),
                name,
            ]
        }
        "ServiceAccount" => vec![name, age],
        "Endpoints" => vec![name, json!(or_none(&endpoints(value))), age],
        "Deployment" => {
            let ready = number(value, &["status", "readyReplicas"]).unwrap_or(0);
            let wanted = number(value, &["spec", "replicas"]).unwrap_or(0);
            let mut cells = vec![
                name,
                json!(format!("{ready}/{wanted}")),
                count(&["status", "updatedReplicas"]),
                count(&["status", "availableReplicas"]),
                age,
            ];
            cells.extend(template_cells(value));
            cells
        }
        "ReplicaSet" => {
            let mut cells = vec![
                name,
                count(&["spec", "replicas"]),
                count(&["status", "replicas"]),
                count(&["status", "readyReplicas"]),
                age,
            ];
            cells.extend(template_cells(value));
            cells
        }
        "Job" => job_cells(value, name, age, clock),
        "Lease" => vec![name, json!(text(value, &["spec", "holderIdentity"])), age],
        "CustomResourceDefinition" => {
            vec![name, json!(text(value, &["metadata", "creationTimestamp"]))]
        }
        _ => vec![name, age],
    }
}

fn node_address<'a>(value: &'a Value, kind: &str) -> &'a str {
    items(value, &["status", "addresses"])
        .iter()
        .find(|a| a["type"] == kind)
        .map_or("", |a| text(a, &["address"]))
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "<unknown>" } else { text }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "<none>" } else { text }
}

fn pod_cells(value: &Value, name: Value, age: Value, clock: Clock) -> Vec<Value> {
    let statuses = items(value, &["status", "containerStatuses"]);
    let ready = statuses.iter().filter(|s| s["ready"] == true).count();
    let containers = items(value, &["spec", "containers"]).len();
    let restarts: i64 = statuses
        .iter()
        .filter_map(|s| s["restartCount"].as_i64())
        .sum();
    let last_restart = statuses
        .iter()
        .map(|s| text(s, &["lastState", "terminated", "finishedAt"]))
        .max()
        .filter(|time| !time.is_empty() && restarts > 0);
    let restarts = match last_restart {
        Some(time) => format!("{restarts} ({} ago)", clock.age(time)),
        None => restarts.to_string(),
    };
    vec![
        name,
        json!(format!("{ready}/{containers}")),
        json!(pod_status(value)),
        json!(restarts),
        age,
        json!(or_none(text(value, &["status", "podIP"]))),
        json!(or_none(text(value, &["spec", "nodeName"]))),
        json!("<none>"),
        json!("<none>"),
    ]
}

/// Returns the source of an Event object: `component, host`, or the component alone without a host. Without a component
/// the event's reporter takes its place.
fn event_source(value: &Value) -> String {
    let source = |key| text(value, &["source", key]);
    let (component, host) = match (source("component"), source("host")) {
        ("", host) => (text(value, &["reportingComponent"]), host),
        both => both,
    };
    if host.is_empty() {
        component.to_owned()
    } else {
        format!("{component}, {host}")
    }
}

/// Returns the status that kubectl shows for a pod: `Terminating` if its deletion was requested. Else it is the reason
/// of the last waiting or terminated container that has one, else the pod's phase.
fn pod_status(value: &Value) -> String {
    if at(value, &["metadata", "deletionTimestamp"]).is_some() {
        return "Terminating".to_owned();
    }
    let statuses = items(value, &["status", "containerStatuses"]).iter().rev();
    let reason = statuses
        .flat_map(|s| ["waiting", "terminated"].map(|state| text(s, &["state", state, "reason"])))
        .find(|reason| !reason.is_empty());
    reason
        .unwrap_or_else(|| text(value, &["status", "phase"]))
        .to_owned()
}

fn node_status(value: &Value) -> String {
    let ready = items(value, &["status", "conditions"])
        .iter()
        .find(|c| c["type"] == "Ready")
        .map(|c| c["status"] == "True");
    let mut status = match ready {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if value["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn node_roles(value: &Value) -> String {
    let labels = at(value, &["metadata", "labels"]).and_then(Value::as_object);
    let roles: Vec<&str> = labels
        .into_iter()
        .flat_map(|l| l.keys())
        .filter_map(|key| key.strip_prefix("node-role.kubernetes.io/"))
        .collect();
    roles.join(",")
}

fn service_ports(value: &Value) -> String {
    let ports: Vec<String> = items(value, &["spec", "ports"])
        .iter()
        .map(|p| {
            let protocol = or_none(text(p, &["protocol"]));
            format!("{}/{protocol}", p["port"].as_i64().unwrap_or(0))
        })
        .collect();
    ports.join(",")
}

/// Returns at most three addresses, then the number of further ones, as Kubernetes' printer does.
fn endpoints(value: &Value) -> String {
    let all: Vec<String> = items(value, &["subsets"])
        .iter()
        .flat_map(|subset| {
            let port = items(subset, &["ports"])
                .first()
                .and_then(|p| p["port"].as_i64());
            items(subset, &["addresses"])
                .iter()
                .map(move |a| format!("{}:{}", text(a, &["ip"]), port.unwrap_or(0)))
        })
        .collect();
    match all.len() {
        0..=3 => all.join(","),
        n => format!("{} + {} more...", all[..3].join(","), n - 3),
    }
}

fn template_cells(value: &Value) -> [Value; 3] {
    let containers = items(value, &["spec", "template", "spec", "containers"]);
    let joined = |key: &str| {
        let all: Vec<&str> = containers.iter().map(|c| text(c, &[key])).collect();
        json!(all.join(","))
    };
    [
        joined("name"),
        joined("image"),
        json!(or_none(&pairs(at(
            value,
            &["spec", "selector", "matchLabels"]
        )))),
    ]
}

fn pairs(map: Option<&Value>) -> String {
    let all: Vec<String> = map
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
        .collect();
    all.join(",")
}

fn job_cells(value: &Value, name: Value, age: Value, clock: Clock) -> Vec<Value> {
    let condition = |wanted: &str| {
        items(value, &["status", "conditions"])
            .iter()
            .any(|c| c["type"] == wanted && c["status"] == "True")
    };
    let status = if condition("Complete") {
        "Complete"
    } else if condition("Failed") {
        "Failed"
    } else {
        "Running"
    };
    let succeeded = number(value, &["status", "succeeded"]).unwrap_or(0);
    let wanted = number(value, &["spec", "completions"]).unwrap_or(1);
    let start = text(value, &["status", "startTime"]);
    let end = text(value, &["status", "completionTime"]);
    let duration = match (
        clock.wall.age_secs(start, clock.now),
        clock.wall.age_secs(end, clock.now),
    ) {
        (Some(started), Some(ended)) => human_duration(started - ended),
        (Some(started), None) => human_duration(started),
        _ => String::new(),
    };
    let mut cells = vec![
        name,
        json!(status),
        json!(format!("{succeeded}/{wanted}")),
        json!(duration),
        age,
    ];
    cells.extend(template_cells(value));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;
    use crate::object::ChangeKind;

    /// The wall clock of these tests.
    const WALL: Wall = Wall {
        epoch_us: 1_795_251_600_000_000,
    };

    fn row(kind: &str, value: Value) -> String {
        let kinds = Kinds::built_in();
        let kind = kinds.get(kinds.named(kind).unwrap());
        let objects = [Arc::new(Object::new(value, ChangeKind::Added))];
        let rows = Rows {
            objects: &objects,
            kind,
            include: IncludeObject::None,
            with_columns: true,
            wall: WALL,
            now: Time::from_secs(90),
        };
        let shown = table(rows, json!({}));
        let columns = shown["columnDefinitions"].as_array().unwrap().len();
        let cells = shown["rows"][0]["cells"].as_array().unwrap();
        assert_eq!(columns, cells.len(), "a cell for each column");
        let shown: Vec<String> = cells
            .iter()
            .map(|c| c.as_str().map_or_else(|| c.to_string(), str::to_owned))
            .collect();
        shown.join(" | ")
    }

    fn meta(name: &str) -> Value {
        json!({"name": name, "creationTimestamp": "2026-11-21T09:00:00Z"})
    }

    #[test]
    fn pods_print_as_kubectl_shows_them() {
        let pod = json!({"metadata": meta("web"), "spec": {"containers": [{}], "nodeName": "n1"},
            "status": {"phase": "Pending", "containerStatuses": [
                {"ready": false, "restartCount": 2, "state": {"waiting": {"reason": "ContainerCreating"}}}]}});
        assert_eq!(
            row("pods", pod),
            "web | 0/1 | ContainerCreating | 2 | 90s | <none> | n1 | <none> | <none>"
        );
    }

    #[test]
    fn other_kinds_print_their_columns() {
        let deployment = json!({"metadata": meta("web"), "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}}, "status": {"readyReplicas": 2}});
        assert_eq!(
            row("deployments.apps", deployment),
            "web | 2/3 | 0 | 0 | 90s | c | i:1 | app=web"
        );
        let job = json!({"metadata": meta("j"), "status": {"succeeded": 1, "startTime": "2026-11-21T09:00:10Z",
            "completionTime": "2026-11-21T09:00:30Z", "conditions": [{"type": "Complete", "status": "True"}]}});
        assert_eq!(
            row("jobs.batch", job),
            "j | Complete | 1/1 | 20s | 90s |  |  | <none>"
        );
        for kind in [
            "services",
            "configmaps",
            "secrets",
            "nodes",
            "namespaces",
            "events",
            "serviceaccounts",
            "endpoints",
            "replicasets.apps",
            "leases.coordination.k8s.io",
            "customresourcedefinitions.apiextensions.k8s.io",
        ] {
            assert!(
                row(kind, json!({"metadata": meta("x")})).contains('x'),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_bookmark_is_a_row_of_an_empty_object() {
        assert_eq!(
            row("configmaps", json!({"metadata": {"resourceVersion": "7"}})),
            " | 0 | <unknown>"
        );
    }
}
