//! The deployment and replicaset controllers: rolling updates from deployments through replicasets to pods.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::{Value, json};
use watchscope_model::tree;

use super::context::{CONTROLLER_MANAGER, Context, owner_reference};
use super::recorder;
use super::task::Name;
use crate::json::{at, items, number, remove, set, text};
use crate::manager::Manager;
use crate::object::Object;
use crate::random::{fnv32, safe_encoded};
use crate::registry::DeleteOptions;

/// The label that distinguishes the pods of one template from those of another (`DefaultDeploymentUniqueLabelKey` of
/// apps/v1).
const TEMPLATE_HASH: &str = "pod-template-hash";
/// The most pods that the replicaset controller creates at a time (`BurstReplicas` of `pkg/controller/replicaset`,
/// 1.31). Events of these pods start the next reconciliation.
const BURST: i64 = 500;
/// The most pods of one replicaset, even if more are requested. A greater number of replicas, `maxSurge` or
/// `maxUnavailable` of a deployment counts as this number, too. This bounds the memory of a world whose client requests
/// too many pods. The number has no source.
const MOST_REPLICAS: i64 = 1000;
/// The annotation of a deployment and of its replicasets with the number of a template, from 1 (`RevisionAnnotation` of
/// `pkg/controller/deployment/util`). A template that becomes current again gets a new number.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Takes the next step of a deployment's rolling update, if the update needs a step.
pub(super) fn reconcile_deployment(name: &Name, ctx: &mut Context<'_>) {
    let Some(deployment) = ctx.get("deployments.apps", name) else {
        return;
    };
    if deployment.is_terminating() {
        return;
    }
    let sets = ctx.owned("replicasets.apps", &deployment);
    let hash = template_hash(deployment.value());
    let (current, old): (Vec<_>, Vec<_>) = sets
        .into_iter()
        .partition(|set| template_hash_of(set) == hash);
    match current.first() {
        Some(current) => {
            note_revision(&deployment, current, &old, ctx);
            roll(&deployment, current, &old, ctx);
            forget_old_sets(&deployment, &old, ctx);
        }
        None => create_replica_set(&deployment, &hash, &old, ctx),
    }
    write_deployment_status(name, ctx);
}

/// Creates or deletes pods of a replicaset towards its requested number, and updates the replicaset's status.
pub(super) fn reconcile_replica_set(name: &Name, ctx: &mut Context<'_>) {
    let Some(set) = ctx.get("replicasets.apps", name) else {
        return;
    };
    let mut pods = ctx.owned("pods", &set);
    pods.retain(|pod| !pod.is_terminating() && !matches!(phase(pod), "Succeeded" | "Failed"));
    let wanted = if set.is_terminating() {
        0
    } else {
        replicas(&set)
    };
    let have = count(pods.len());
    if have < wanted {
        for _ in have..wanted.min(have + BURST) {
            create_pod(&set, ctx);
        }
    } else if have > wanted {
        // Ready pods stay; among equals, older ones stay.
        tree::sort_by_key(&mut pods, |pod| (is_ready(pod), Reverse(pod.revision())));
        let surplus = usize::try_from(have - wanted).unwrap_or(0);
        for pod in pods.iter().take(surplus) {
            ctx.delete("pods", &Name::of(pod), &DeleteOptions::default());
            let message = format!("Deleted pod: {}", pod.name());
            recorder::normal(
                &set,
                "SuccessfulDelete",
                &message,
                "replicaset-controller",
                ctx,
            );
        }
    }
    write_replica_set_status(&set, ctx);
}

/// Returns whether a pod's condition Ready is True.
pub(super) fn is_ready(pod: &Object) -> bool {
    items(pod.value(), &["status", "conditions"])
        .iter()
        .any(|c| c["type"] == "Ready" && c["status"] == "True")
}

/// Returns a pod from the template of an owner, which is the pod's controller.
pub(super) fn pod_from_template(owner: &Object) -> Value {
    let template = at(owner.value(), &["spec", "template"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": template.get("metadata").cloned().unwrap_or_else(|| json!({})),
        "spec": template.get("spec").cloned().unwrap_or_else(|| json!({})),
    });
    set(
        &mut pod,
        &["metadata", "generateName"],
        json!(format!("{}-", owner.name())),
    );
    set(
        &mut pod,
        &["metadata", "ownerReferences"],
        owner_reference(owner),
    );
    remove(&mut pod, &["metadata", "creationTimestamp"]);
    pod
}

fn create_pod(set: &Object, ctx: &mut Context<'_>) {
    let pod = pod_from_template(set);
    if let Some(pod) = ctx.create("pods", set.namespace(), pod, CONTROLLER_MANAGER) {
        let message = format!("Created pod: {}", pod.name());
        recorder::normal(
            set,
            "SuccessfulCreate",
            &message,
            "replicaset-controller",
            ctx,
        );
    }
}

fn create_replica_set(deployment: &Object, hash: &str, old: &[Arc<Object>], ctx: &mut Context<'_>) {
    let mut template = at(deployment.value(), &["spec", "template"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    set(
        &mut template,
        &["metadata", "labels", TEMPLATE_HASH],
        json!(hash),
    );
    let mut selector = at(deployment.value(), &["spec", "selector"])
        .cloned()
        .unwrap_or_else(|| json!({}));
    set(&mut selector, &["matchLabels", TEMPLATE_HASH], json!(hash));
    let labels = template["metadata"]["labels"].clone();
    let running: i64 = old.iter().map(|set| replicas(set)).sum();
    let room = (replicas(deployment) + limits(deployment).surge - running).max(0);
    let count = room.min(replicas(deployment));
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", deployment.name()),
            "labels": labels,
            "annotations": {REVISION: (newest_revision(old) + 1).to_string()},
            "ownerReferences": owner_reference(deployment),
        },
        "spec": {"replicas": count, "selector": selector, "template": template},
    });
    if let Some(set) = ctx.create(
        "replicasets.apps",
        deployment.namespace(),
        set,
        CONTROLLER_MANAGER,
    ) {
        let message = format!("Scaled up replica set {} from 0 to {count}", set.name());
        recorder::normal(
            deployment,
            "ScalingReplicaSet",
            &message,
            "deployment-controller",
            ctx,
        );
    }
}

/// How many pods a rolling update may have above the requested number, and how many of its pods may be unavailable.
struct Limits {
    surge: i64,
    unavailable: i64,
}

fn limits(deployment: &Object) -> Limits {
    let wanted = replicas(deployment);
    let limit = |key: &str, up: bool| {
        let given = at(
            deployment.value(),
            &["spec", "strategy", "rollingUpdate", key],
        );
        match given {
            Some(Value::Number(n)) => n.as_i64().unwrap_or(0).clamp(0, MOST_REPLICAS),
            Some(Value::String(text)) => {
                let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(25);
                let whole = wanted * percent.clamp(0, 100);
                if up { (whole + 99) / 100 } else { whole / 100 }
            }
            _ => 0,
        }
    };
    let surge = limit("maxSurge", true);
    let unavailable = limit("maxUnavailable", false);
    Limits {
        surge,
        // If both were zero, the update could never move (deployment util `ResolveFenceposts`).
        unavailable: if surge == 0 && unavailable == 0 {
            1
        } else {
            unavailable
        },
    }
}

fn roll(deployment: &Object, current: &Object, old: &[Arc<Object>], ctx: &mut Context<'_>) {
    let wanted = replicas(deployment);
    let limits = limits(deployment);
    let new = replicas(current);
    let all: i64 = new + old.iter().map(|set| replicas(set)).sum::<i64>();
    if new > wanted {
        return scale(deployment, current, wanted, ctx);
    }
    if new < wanted {
        let room = wanted + limits.surge - all;
        if room > 0 {
            scale(deployment, current, wanted.min(new + room), ctx);
        }
    }
    let available = available(current) + old.iter().map(|set| self::available(set)).sum::<i64>();
    let new_unavailable = (new - self::available(current)).max(0);
    let mut removable = all - (wanted - limits.unavailable) - new_unavailable;
    // Pods that are unavailable anyway go first, then as many as may be unavailable.
    for set in old {
        let broken = (replicas(set) - self::available(set)).clamp(0, removable.max(0));
        if broken > 0 {
            scale(deployment, set, replicas(set) - broken, ctx);
            return;
        }
    }
    removable = removable.min(available - (wanted - limits.unavailable));
    for set in old {
        let step = replicas(set).min(removable);
        if step > 0 {
            scale(deployment, set, replicas(set) - step, ctx);
            removable -= step;
        }
    }
}

fn scale(deployment: &Object, set: &Object, to: i64, ctx: &mut Context<'_>) {
    let from = replicas(set);
    let manager = Manager::new(CONTROLLER_MANAGER);
    let written = ctx.modify("replicasets.apps", &Name::of(set), &manager, |value| {
        crate::json::set(value, &["spec", "replicas"], json!(to));
    });
    if written.is_some() {
        let direction = if to > from { "up" } else { "down" };
        let message = format!(
            "Scaled {direction} replica set {} from {from} to {to}",
            set.name()
        );
        recorder::normal(
            deployment,
            "ScalingReplicaSet",
            &message,
            "deployment-controller",
            ctx,
        );
    }
}

/// Gives the current replicaset the newest revision, also if an older template became current again, and notes the
/// revision in the deployment.
fn note_revision(
    deployment: &Object,
    current: &Object,
    old: &[Arc<Object>],
    ctx: &mut Context<'_>,
) {
    let revision = revision_of(current).max(newest_revision(old) + 1);
    let manager = Manager::new(CONTROLLER_MANAGER);
    let annotate = |value: &mut Value| {
        set(
            value,
            &["metadata", "annotations", REVISION],
            json!(revision.to_string()),
        )
    };
    if revision_of(current) != revision {
        ctx.modify("replicasets.apps", &Name::of(current), &manager, annotate);
    }
    if revision_of(deployment) != revision {
        ctx.modify(
            "deployments.apps",
            &Name::of(deployment),
            &manager,
            annotate,
        );
    }
}

/// Deletes the oldest replicasets without pods above the deployment's history limit.
fn forget_old_sets(deployment: &Object, old: &[Arc<Object>], ctx: &mut Context<'_>) {
    let limit = number(deployment.value(), &["spec", "revisionHistoryLimit"]).unwrap_or(10);
    let mut empty: Vec<&Arc<Object>> = old
        .iter()
        .filter(|set| {
            replicas(set) == 0 && number(set.value(), &["status", "replicas"]).unwrap_or(0) == 0
        })
        .collect();
    tree::sort_by_key(&mut empty, |set| revision_of(set));
    let surplus = empty
        .len()
        .saturating_sub(usize::try_from(limit).unwrap_or(0));
    for set in empty.into_iter().take(surplus) {
        ctx.delete(
            "replicasets.apps",
            &Name::of(set),
            &DeleteOptions::default(),
        );
    }
}

fn write_deployment_status(name: &Name, ctx: &mut Context<'_>) {
    let Some(deployment) = ctx.get("deployments.apps", name) else {
        return;
    };
    let hash = template_hash(deployment.value());
    let sets = ctx.owned("replicasets.apps", &deployment);
    let sum = |key: &str, only_new: bool| -> i64 {
        sets.iter()
            .filter(|set| !only_new || template_hash_of(set) == hash)
            .map(|set| number(set.value(), &["status", key]).unwrap_or(0))
            .sum()
    };
    let wanted = replicas(&deployment);
    let (total, updated) = (sum("replicas", false), sum("replicas", true));
    let (ready, available) = (sum("readyReplicas", false), sum("availableReplicas", false));
    let complete = updated == wanted && total == wanted && available == wanted;
    let enough = available >= wanted - limits(&deployment).unavailable;
    let now = ctx.timestamp();
    let generation = number(deployment.value(), &["metadata", "generation"]);
    ctx.modify(
        "deployments.apps",
        name,
        &Manager::status(CONTROLLER_MANAGER),
        |value| {
            set(value, &["status", "observedGeneration"], json!(generation));
            for (key, count) in [
                ("replicas", total),
                ("updatedReplicas", updated),
                ("readyReplicas", ready),
                ("availableReplicas", available),
                ("unavailableReplicas", (wanted - available).max(0)),
            ] {
                if count == 0 {
                    remove(value, &["status", key]);
                } else {
                    set(value, &["status", key], json!(count));
                }
            }
            let (reason, message) = if enough {
                (
                    "MinimumReplicasAvailable",
                    "Deployment has minimum availability.",
                )
            } else {
                (
                    "MinimumReplicasUnavailable",
                    "Deployment does not have minimum availability.",
                )
            };
            set_condition(value, "Available", enough, reason, message, &now);
            let reason = if complete {
                "NewReplicaSetAvailable"
            } else {
                "ReplicaSetUpdated"
            };
            let what = if complete {
                "has successfully progressed"
            } else {
                "is progressing"
            };
            let message = format!("ReplicaSet \"{}-{hash}\" {what}.", name.name);
            set_condition(value, "Progressing", true, reason, &message, &now);
        },
    );
}

fn write_replica_set_status(set: &Object, ctx: &mut Context<'_>) {
    let mut pods = ctx.owned("pods", set);
    pods.retain(|pod| !pod.is_terminating() && !matches!(phase(pod), "Succeeded" | "Failed"));
    let ready = count(pods.iter().filter(|pod| is_ready(pod)).count());
    let total = count(pods.len());
    let generation = number(set.value(), &["metadata", "generation"]);
    ctx.modify(
        "replicasets.apps",
        &Name::of(set),
        &Manager::status(CONTROLLER_MANAGER),
        |value| {
            let mut status = json!({"replicas": total, "observedGeneration": generation});
            if total > 0 {
                status["fullyLabeledReplicas"] = json!(total);
            }
            if ready > 0 {
                status["readyReplicas"] = json!(ready);
                status["availableReplicas"] = json!(ready);
            }
            value["status"] = status;
        },
    );
}

/// Sets a condition of a status. The condition's transition time changes only if the condition's own status changes.
pub(super) fn set_condition(
    value: &mut Value,
    kind: &str,
    holds: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let status = if holds { "True" } else { "False" };
    let mut conditions = items(value, &["status", "conditions"]).to_vec();
    let position = conditions.iter().position(|c| c["type"] == kind);
    let since = position
        .map(|i| &conditions[i])
        .filter(|c| c["status"] == status)
        .map_or_else(|| json!(now), |c| c["lastTransitionTime"].clone());
    let mut condition = json!({
        "type": kind,
        "status": status,
        "lastTransitionTime": since,
    });
    if !reason.is_empty() {
        condition["reason"] = json!(reason);
    }
    if !message.is_empty() {
        condition["message"] = json!(message);
    }
    match position {
        Some(i) => conditions[i] = condition,
        None => conditions.push(condition),
    }
    set(value, &["status", "conditions"], json!(conditions));
}

fn phase(pod: &Object) -> &str {
    text(pod.value(), &["status", "phase"])
}

fn replicas(object: &Object) -> i64 {
    number(object.value(), &["spec", "replicas"])
        .unwrap_or(1)
        .clamp(0, MOST_REPLICAS)
}

fn available(set: &Object) -> i64 {
    number(set.value(), &["status", "availableReplicas"]).unwrap_or(0)
}

fn count(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

fn revision_of(object: &Object) -> i64 {
    text(object.value(), &["metadata", "annotations", REVISION])
        .parse()
        .unwrap_or(0)
}

fn newest_revision(sets: &[Arc<Object>]) -> i64 {
    sets.iter().map(|set| revision_of(set)).max().unwrap_or(0)
}

fn template_hash(deployment: &Value) -> String {
    let template = at(deployment, &["spec", "template"])
        .map(Value::to_string)
        .unwrap_or_default();
    safe_encoded(fnv32(template.as_bytes()))
}

fn template_hash_of(set: &Object) -> &str {
    text(set.value(), &["metadata", "labels", TEMPLATE_HASH])
}
