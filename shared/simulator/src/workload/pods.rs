//! The scheduler and the kubelets, which take a pod from pending to ready, and from its deletion to its removal.

use std::sync::Arc;

use serde_json::{Value, json};

use super::context::{Context, place};
use super::deployments::set_condition;
use super::recorder;
use super::task::{Name, PodName, PodStep, Task};
use crate::change::Change;
use crate::json::{at, items, set, text};
use crate::manager::Manager;
use crate::object::{ChangeKind, Object};
use crate::registry::DeleteOptions;

/// The field manager of the kubelets: the name of their program, as for
/// [`CONTROLLER_MANAGER`](super::context::CONTROLLER_MANAGER). It is also the source of their events
/// (`componentKubelet` of `cmd/kubelet/app/server.go`).
const KUBELET: &str = "kubelet";

/// Binds a pod to a node.
pub(super) fn schedule(name: &Name, ctx: &mut Context<'_>) {
    let Some(pod) = ctx.get("pods", name) else {
        return;
    };
    let is_ours = text(pod.value(), &["spec", "schedulerName"]) == "default-scheduler";
    let is_bound = !text(pod.value(), &["spec", "nodeName"]).is_empty();
    if pod.is_terminating() || is_bound || !is_ours {
        return;
    }
    let nodes = ctx.list("nodes", "");
    let fits: Vec<&Arc<Object>> = nodes
        .iter()
        .filter(|n| n.value()["spec"]["unschedulable"] != true)
        .collect();
    if fits.is_empty() {
        return mark_unschedulable(name, nodes.len(), ctx);
    }
    let node = fits[ctx.random.index(fits.len())].name().to_owned();
    let Some(pods) = ctx.kinds.named("pods") else {
        return;
    };
    if ctx.registry().bind(place(pods, name), &node).is_ok() {
        let message = format!(
            "Successfully assigned {}/{} to {node}",
            name.namespace, name.name
        );
        recorder::normal(&pod, "Scheduled", &message, "default-scheduler", ctx);
    }
}

/// Lets a node's kubelet react to a change of a pod on the node.
pub(super) fn observe(change: &Change, ctx: &mut Context<'_>) {
    let pod = &change.object;
    let was = change.previous.as_deref();
    let name = PodName {
        name: Name::of(pod),
        uid: pod.uid().to_owned(),
    };
    if pod.is_terminating() {
        if was.is_none_or(|w| !w.is_terminating()) {
            recorder::normal(
                pod,
                "Killing",
                &format!("Stopping container {}", first_container(pod)),
                KUBELET,
                ctx,
            );
            ctx.later_between(200, 1800, Task::Pod(PodStep::Stop, name));
        }
        return;
    }
    let newly_bound = was.is_none_or(|w| text(w.value(), &["spec", "nodeName"]).is_empty());
    if newly_bound || change.kind == ChangeKind::Added {
        ctx.later_between(20, 250, Task::Pod(PodStep::Accept, name));
    }
}

/// Takes a pod to its next state, if the pod still has the same uid and is in the state that the step expects.
pub(super) fn step(step: PodStep, pod: &PodName, ctx: &mut Context<'_>) {
    let Some(object) = ctx.get("pods", &pod.name) else {
        return;
    };
    let ending = matches!(step, PodStep::Stop | PodStep::Remove);
    if object.uid() != pod.uid || object.is_terminating() != ending {
        return;
    }
    let next = |step| Task::Pod(step, pod.clone());
    let now = ctx.timestamp();
    match step {
        PodStep::Accept => {
            write_status(&pod.name, ctx, |value| accept(value, &now));
            ctx.later_between(700, 2600, next(PodStep::Start));
        }
        PodStep::Start => {
            let image = text(first(&object), &["image"]).to_owned();
            let container = first_container(&object).to_owned();
            let pulled = format!("Container image \"{image}\" already present on machine");
            recorder::normal(&object, "Pulled", &pulled, KUBELET, ctx);
            recorder::normal(
                &object,
                "Created",
                &format!("Created container: {container}"),
                KUBELET,
                ctx,
            );
            recorder::normal(
                &object,
                "Started",
                &format!("Started container {container}"),
                KUBELET,
                ctx,
            );
            let ip = format!(
                "10.244.{}.{}",
                ctx.random.between(0, 3),
                ctx.random.between(2, 250)
            );
            write_status(&pod.name, ctx, |value| start(value, &ip, &now));
            ctx.later_between(400, 2500, next(PodStep::BecomeReady));
        }
        PodStep::BecomeReady => {
            write_status(&pod.name, ctx, |value| ready(value, &now));
            if text(object.value(), &["spec", "restartPolicy"]) != "Always" {
                ctx.later_between(3000, 9000, next(PodStep::Complete));
            }
        }
        PodStep::Complete => {
            write_status(&pod.name, ctx, |value| complete(value, &now));
        }
        PodStep::Stop => {
            write_status(&pod.name, ctx, |value| stop(value, &now));
            ctx.later_between(20, 150, next(PodStep::Remove));
        }
        PodStep::Remove => ctx.delete("pods", &pod.name, &DeleteOptions::now()),
    }
}

fn mark_unschedulable(name: &Name, nodes: usize, ctx: &mut Context<'_>) {
    let message = format!("0/{nodes} nodes are available: no node takes new pods.");
    let now = ctx.timestamp();
    ctx.modify("pods", name, &Manager::status("kube-scheduler"), |value| {
        set_condition(
            value,
            "PodScheduled",
            false,
            "Unschedulable",
            &message,
            &now,
        );
    });
}

fn write_status(name: &Name, ctx: &mut Context<'_>, change: impl FnOnce(&mut Value)) {
    ctx.modify("pods", name, &Manager::status(KUBELET), change);
}

fn accept(value: &mut Value, now: &str) {
    for (kind, holds) in [
        ("PodReadyToStartContainers", false),
        ("Initialized", true),
        ("Ready", false),
        ("ContainersReady", false),
    ] {
        let (reason, message) = match (kind, holds) {
            ("Ready" | "ContainersReady", false) => {
                ("ContainersNotReady", "containers with unready status")
            }
            _ => ("", ""),
        };
        set_condition(value, kind, holds, reason, message, now);
    }
    set(value, &["status", "startTime"], json!(now));
    set(value, &["status", "hostIP"], json!("192.168.5.10"));
    set_containers(
        value,
        |_| json!({"waiting": {"reason": "ContainerCreating"}}),
        false,
    );
}

fn start(value: &mut Value, ip: &str, now: &str) {
    set(value, &["status", "phase"], json!("Running"));
    set(value, &["status", "podIP"], json!(ip));
    set(value, &["status", "podIPs"], json!([{"ip": ip}]));
    set_condition(value, "PodReadyToStartContainers", true, "", "", now);
    set_containers(value, |_| json!({"running": {"startedAt": now}}), false);
}

fn ready(value: &mut Value, now: &str) {
    set_condition(value, "Ready", true, "", "", now);
    set_condition(value, "ContainersReady", true, "", "", now);
    set_containers(value, |old| old.clone(), true);
}

fn complete(value: &mut Value, now: &str) {
    set(value, &["status", "phase"], json!("Succeeded"));
    set_condition(value, "Ready", false, "PodCompleted", "", now);
    set_condition(value, "ContainersReady", false, "PodCompleted", "", now);
    set_containers(value, |old| terminated(old, now), false);
}

fn stop(value: &mut Value, now: &str) {
    let message = "containers with unready status";
    set_condition(value, "Ready", false, "ContainersNotReady", message, now);
    set_condition(
        value,
        "ContainersReady",
        false,
        "ContainersNotReady",
        message,
        now,
    );
    set_containers(value, |old| terminated(old, now), false);
}

fn terminated(old: &Value, now: &str) -> Value {
    json!({"terminated": {
        "exitCode": 0,
        "reason": "Completed",
        "startedAt": at(old, &["running", "startedAt"]).cloned(),
        "finishedAt": now,
    }})
}

/// Writes a status for each container of a pod's spec; `state` makes a container's new state from its previous state.
fn set_containers(value: &mut Value, state: impl Fn(&Value) -> Value, ready: bool) {
    let before = items(value, &["status", "containerStatuses"]).to_vec();
    let statuses: Vec<Value> = items(value, &["spec", "containers"])
        .iter()
        .enumerate()
        .map(|(i, container)| {
            let old = before
                .get(i)
                .map_or(&Value::Null, |status| &status["state"]);
            json!({
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": ready,
                "started": ready,
                "restartCount": 0,
                "lastState": {},
                "state": state(old),
            })
        })
        .collect();
    set(value, &["status", "containerStatuses"], json!(statuses));
}

fn first(pod: &Object) -> &Value {
    items(pod.value(), &["spec", "containers"])
        .first()
        .unwrap_or(&Value::Null)
}

fn first_container(pod: &Object) -> &str {
    text(first(pod), &["name"])
}
