//! The activities of the cluster: rollouts, scaling, configuration, jobs, custom resources, leases.
//!
//! Each activity is a task that runs one round and schedules the next round. An activity without a configured period is
//! never scheduled.

use std::time::Duration;

use serde_json::{Value, json};
use watchscope_model::tree;

use super::context::{CONTROLLER_MANAGER, Context};
use super::install::{self, APPLICATIONS, NAMESPACE};
use super::load;
use super::task::{Activity, Name, Task};
use crate::json::{items_mut, number, set, text};
use crate::manager::Manager;
use crate::registry::DeleteOptions;

/// Time between two renewals of a lease by a node or by the control plane; the time varies by up to 5 %. Kubelets renew
/// their leases every 10 s (KEP-589). For the control plane the number has no source.
const LEASE_PERIOD: Duration = Duration::from_secs(10);
/// Time between two reports of a node's status; the time varies by up to 5 %. The number is the default of a kubelet's
/// `nodeStatusReportFrequency` since 1.17 (k/k#84007).
const NODE_STATUS_PERIOD: Duration = Duration::from_secs(300);
/// The most ended jobs that are kept. When a job starts, the oldest ended jobs above this number are deleted. The
/// number is the default of a CronJob's `successfulJobsHistoryLimit` in batch/v1.
const JOBS_KEPT: usize = 3;

/// Schedules the first round of each configured activity.
pub(super) fn start(ctx: &mut Context<'_>) {
    for activity in [
        Activity::Rollout,
        Activity::Scale,
        Activity::WriteConfigMap,
        Activity::CreateTemporary,
        Activity::StartJob,
        Activity::Custom,
    ] {
        if let Some(period) = period(activity, ctx) {
            let first = ctx.random.span(period / 4, period);
            ctx.later(first, Task::Activity(activity));
        }
    }
    if ctx.config.leases {
        for node in 0..install::node_count(ctx.config) {
            for activity in [Activity::NodeLease(node), Activity::NodeStatus(node)] {
                ctx.later_between(0, 10_000, Task::Activity(activity));
            }
        }
        ctx.later_between(0, 10_000, Task::Activity(Activity::ControlPlaneLeases));
    }
}

/// Runs one round of an activity and schedules its next round.
pub(super) fn act(activity: Activity, round: u64, ctx: &mut Context<'_>) {
    match activity {
        Activity::Rollout => rollout(round, ctx),
        Activity::Scale => scale(round, ctx),
        Activity::WriteConfigMap => write_config_map(round, ctx),
        Activity::CreateTemporary => create_temporary(ctx),
        Activity::DeleteTemporary => return delete_temporary(ctx),
        Activity::StartJob => start_job(round, ctx),
        Activity::Custom => custom(round, ctx),
        Activity::NodeLease(node) => renew_node_lease(node, ctx),
        Activity::NodeStatus(node) => report_node_status(node, ctx),
        Activity::ControlPlaneLeases => renew_control_plane_leases(ctx),
        Activity::Load => load::act(round, ctx),
    }
    if let Some(period) = period(activity, ctx) {
        let next = ctx.random.span(period - period / 20, period + period / 20);
        ctx.later(next, Task::Activity(activity));
    }
}

fn period(activity: Activity, ctx: &Context<'_>) -> Option<Duration> {
    let config = ctx.config;
    match activity {
        Activity::Rollout => config.rollout_every,
        Activity::Scale => config.scale_every,
        Activity::WriteConfigMap => config.configmap_every,
        Activity::CreateTemporary => config.temporary_every,
        Activity::DeleteTemporary => None,
        Activity::StartJob => config.job_every,
        Activity::Custom => config.custom_every,
        Activity::NodeLease(_) | Activity::ControlPlaneLeases => Some(LEASE_PERIOD),
        Activity::NodeStatus(_) => Some(NODE_STATUS_PERIOD),
        Activity::Load => Some(load::PERIOD),
    }
}

/// Gives one of the deployments its next image. The deployments take turns.
fn rollout(round: u64, ctx: &mut Context<'_>) {
    let applications = u64::try_from(APPLICATIONS.len()).unwrap_or(1);
    let application = &APPLICATIONS[usize::try_from(round % applications).unwrap_or(0)];
    // Five images alternate, so that old replicasets become current again, as after a rollback.
    let version = (round / applications + 1) % 5;
    let image = install::image(application.name, version);
    let manager = Manager::new("kubectl-client-side-apply");
    let name = Name::new(NAMESPACE, application.name);
    ctx.modify("deployments.apps", &name, &manager, |value| {
        let containers = items_mut(value, &["spec", "template", "spec", "containers"]);
        if let Some(container) = containers.first_mut() {
            set(container, &["image"], json!(image));
        }
        let manifest = install::deployment_manifest(application, version);
        set(
            value,
            &["metadata", "annotations", install::LAST_APPLIED],
            json!(format!("{manifest}\n")),
        );
    });
}

/// Scales one of the deployments up or down by one, as an autoscaler does. The deployments take turns.
fn scale(round: u64, ctx: &mut Context<'_>) {
    let applications = u64::try_from(APPLICATIONS.len()).unwrap_or(1);
    let application = &APPLICATIONS[usize::try_from((round + 1) % applications).unwrap_or(0)];
    let up = (round / applications).is_multiple_of(2);
    let manager = Manager {
        name: CONTROLLER_MANAGER.to_owned(),
        subresource: "scale".to_owned(),
    };
    let name = Name::new(NAMESPACE, application.name);
    ctx.modify("deployments.apps", &name, &manager, |value| {
        let replicas = application.replicas + i64::from(up);
        set(value, &["spec", "replicas"], json!(replicas));
    });
}

fn write_config_map(round: u64, ctx: &mut Context<'_>) {
    let name = if round.is_multiple_of(3) {
        "prices"
    } else {
        "feature-flags"
    };
    let percent = ctx.random.between(1, 100).to_string();
    let key = ["new-checkout", "fast-search", "gift-wrap", "dark-mode"][ctx.random.index(4)];
    let body = json!({"metadata": {"name": name}, "data": {key: percent}});
    let full_name = Name::new(NAMESPACE, name);
    if ctx.get("configmaps", &full_name).is_none() {
        ctx.create("configmaps", NAMESPACE, body, "flag-service");
        return;
    }
    ctx.modify(
        "configmaps",
        &full_name,
        &Manager::new("flag-service"),
        |value| {
            set(value, &["data", key], json!(percent));
        },
    );
}

fn create_temporary(ctx: &mut Context<'_>) {
    let body = json!({
        "metadata": {"generateName": "session-", "labels": {"app": "web", "lifetime": "short"}},
        "data": {"cart": "[]"},
    });
    if ctx.create("configmaps", NAMESPACE, body, "web").is_some()
        && let Some(period) = ctx.config.temporary_every
    {
        ctx.later(period / 2, Task::Activity(Activity::DeleteTemporary));
    }
}

/// Deletes the oldest short-lived configmap.
fn delete_temporary(ctx: &mut Context<'_>) {
    let oldest = ctx
        .list("configmaps", NAMESPACE)
        .into_iter()
        .filter(|object| text(object.value(), &["metadata", "labels", "lifetime"]) == "short")
        .min_by_key(|object| object.revision());
    if let Some(oldest) = oldest {
        ctx.delete("configmaps", &Name::of(&oldest), &DeleteOptions::default());
    }
}

/// Starts a job and deletes old ended jobs, so that three ended jobs are kept.
fn start_job(round: u64, ctx: &mut Context<'_>) {
    let name = format!("report-{}", round + 1);
    let job = json!({
        "metadata": {"name": name, "labels": {"app": "report"}},
        "spec": {"template": {
            "metadata": {"labels": {"app": "report", "batch.kubernetes.io/job-name": name}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "report", "image": install::image("report", 1)}],
            },
        }},
    });
    ctx.create("jobs.batch", NAMESPACE, job, "kubectl-create");
    let mut ended = ctx.list("jobs.batch", NAMESPACE);
    ended.retain(|job| !text(job.value(), &["status", "completionTime"]).is_empty());
    tree::sort_by_key(&mut ended, |job| job.revision());
    let surplus = ended.len().saturating_sub(JOBS_KEPT);
    for job in ended.into_iter().take(surplus) {
        ctx.delete("jobs.batch", &Name::of(&job), &DeleteOptions::default());
    }
}

/// Creates the custom resources `promotions` that are missing, and moves one of them to its next phase. The promotions
/// take turns.
fn custom(round: u64, ctx: &mut Context<'_>) {
    /// The phases of a custom resource `promotions`, in their order; after the last phase the first follows.
    const PHASES: [&str; 3] = ["Scheduled", "Active", "Ended"];
    let names = install::PROMOTIONS;
    let Some(resource) = ctx.kinds.named(install::PROMOTION_RESOURCE) else {
        return;
    };
    let kind = ctx.kinds.get(resource).qualified();
    for name in names {
        if ctx.get(&kind, &Name::new(NAMESPACE, name)).is_none() {
            let body = json!({"metadata": {"name": name}, "spec": {"discountPercent": 10}});
            ctx.create(&kind, NAMESPACE, body, "kubectl-client-side-apply");
        }
    }
    let step = usize::try_from(round).unwrap_or(0);
    let phase = PHASES[(step / names.len()) % PHASES.len()];
    let name = Name::new(NAMESPACE, names[step % names.len()]);
    let now = ctx.timestamp();
    ctx.modify(
        &kind,
        &name,
        &Manager::status("promotion-controller"),
        |value| {
            set(value, &["status", "phase"], json!(phase));
            set(value, &["status", "since"], json!(now));
            let generation = number(value, &["metadata", "generation"]);
            set(value, &["status", "observedGeneration"], json!(generation));
        },
    );
}

fn renew_node_lease(node: u16, ctx: &mut Context<'_>) {
    let name = install::node_name(node);
    let body = json!({
        "metadata": {"name": name},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40},
    });
    renew_lease("kube-node-lease", &name, body, "kubelet", ctx);
}

fn renew_control_plane_leases(ctx: &mut Context<'_>) {
    for name in ["kube-controller-manager", "kube-scheduler"] {
        let body = json!({
            "metadata": {"name": name},
            "spec": {"holderIdentity": format!("control-plane_{name}"), "leaseDurationSeconds": 15},
        });
        renew_lease("kube-system", name, body, name, ctx);
    }
}

fn renew_lease(namespace: &str, name: &str, mut body: Value, manager: &str, ctx: &mut Context<'_>) {
    let now = json!(ctx.wall.with_micros(ctx.now));
    let full_name = Name::new(namespace, name);
    let leases = "leases.coordination.k8s.io";
    if ctx.get(leases, &full_name).is_none() {
        set(&mut body, &["spec", "renewTime"], now);
        ctx.create(leases, namespace, body, manager);
        return;
    }
    ctx.modify(leases, &full_name, &Manager::new(manager), |value| {
        set(value, &["spec", "renewTime"], now);
    });
}

fn report_node_status(node: u16, ctx: &mut Context<'_>) {
    let now = ctx.timestamp();
    let name = Name::new("", &install::node_name(node));
    ctx.modify("nodes", &name, &Manager::status("kubelet"), |value| {
        for condition in items_mut(value, &["status", "conditions"]) {
            set(condition, &["lastHeartbeatTime"], json!(now));
        }
    });
}
