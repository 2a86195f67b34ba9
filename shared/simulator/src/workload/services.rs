//! The endpoints controller, which keeps the list of ready pods of each service.

use serde_json::{Value, json};

use super::context::{CONTROLLER_MANAGER, Context, owner_reference};
use super::deployments::is_ready;
use super::task::Name;
use crate::json::{at, items, text};
use crate::manager::Manager;
use crate::object::Object;

/// Returns the services whose selector matches a pod.
pub(super) fn selecting(pod: &Object, ctx: &Context<'_>) -> Vec<Name> {
    ctx.list("services", pod.namespace())
        .iter()
        .filter(|service| selects(service, pod))
        .map(|service| Name::of(service))
        .collect()
}

/// Writes a service's endpoints.
pub(super) fn reconcile(name: &Name, ctx: &mut Context<'_>) {
    let Some(service) = ctx.get("services", name) else {
        return;
    };
    if at(service.value(), &["spec", "selector"]).is_none() {
        return;
    }
    let pods = ctx.list("pods", &name.namespace);
    let addresses: Vec<Value> = pods
        .iter()
        .filter(|pod| selects(&service, pod) && is_ready(pod) && !pod.is_terminating())
        .map(|pod| {
            json!({
                "ip": text(pod.value(), &["status", "podIP"]),
                "nodeName": text(pod.value(), &["spec", "nodeName"]),
                "targetRef": {"kind": "Pod", "namespace": pod.namespace(), "name": pod.name(), "uid": pod.uid()},
            })
        })
        .collect();
    let ports: Vec<Value> = items(service.value(), &["spec", "ports"])
        .iter()
        .map(|port| json!({"port": port["targetPort"], "protocol": port["protocol"]}))
        .collect();
    let subsets = if addresses.is_empty() {
        json!([])
    } else {
        json!([{"addresses": addresses, "ports": ports}])
    };
    if ctx.get("endpoints", name).is_none() {
        let body = json!({
            "metadata": {"name": name.name, "ownerReferences": owner_reference(&service)},
            "subsets": subsets,
        });
        ctx.create("endpoints", &name.namespace, body, CONTROLLER_MANAGER);
        return;
    }
    ctx.modify(
        "endpoints",
        name,
        &Manager::new(CONTROLLER_MANAGER),
        |value| {
            value["subsets"] = subsets;
        },
    );
}

fn selects(service: &Object, pod: &Object) -> bool {
    let Some(wanted) = at(service.value(), &["spec", "selector"]).and_then(Value::as_object) else {
        return false;
    };
    let labels = at(pod.value(), &["metadata", "labels"]);
    wanted
        .iter()
        .all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value))
}
