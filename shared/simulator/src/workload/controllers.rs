//! Controllers, scheduler and kubelets, which react to changes, as a table of functions.
//!
//! A cluster that is configured without controllers reaches none of their code, so a lesson's WebAssembly module does
//! not contain that code.

use std::sync::Arc;
use std::time::Duration;

use super::context::Context;
use super::state::{Controllers, Table, Workload};
use super::task::{Controller, Name, Task};
use super::{activity, deployments, garbage, install, jobs, load, pods, recorder, services};
use crate::change::Change;
use crate::json::text;
use crate::object::ChangeKind;
use crate::registry::DeleteOptions;

/// The functions behind [`Controllers::ALL`].
static ALL: Table = Table {
    observe,
    work,
    install: |ctx| {
        install::install(ctx);
        activity::start(ctx);
    },
    load: load::begin,
};

impl Controllers {
    /// All controllers, the scheduler and the kubelets. The [`WorkloadConfig`](crate::WorkloadConfig) counts only with
    /// this value.
    pub const ALL: Self = Self(Some(&ALL));
    /// No controllers, scheduler and kubelets: the cluster has only etcd, its apiservers, and the four namespaces of a
    /// new cluster. The apiserver still establishes CustomResourceDefinitions. So does a real one, by a controller of
    /// its own (`pkg/controller/establish` of apiextensions-apiserver).
    pub const NONE: Self = Self(None);
}

fn observe(workload: &mut Workload, change: &Arc<Change>, ctx: &mut Context<'_>) {
    let kind = ctx.kinds.get(change.resource);
    let own = Name::of(&change.object);
    match kind.kind.as_str() {
        "Deployment" => workload.enqueue(Controller::Deployment, own, ctx),
        "ReplicaSet" => {
            workload.enqueue_owner(&change.object, "Deployment", Controller::Deployment, ctx);
            workload.enqueue(Controller::ReplicaSet, own, ctx);
        }
        "Job" => workload.enqueue(Controller::Job, own, ctx),
        "Pod" => {
            workload.enqueue_owner(&change.object, "ReplicaSet", Controller::ReplicaSet, ctx);
            workload.enqueue_owner(&change.object, "Job", Controller::Job, ctx);
            for service in services::selecting(&change.object, ctx) {
                workload.enqueue(Controller::Endpoints, service, ctx);
            }
            if change.kind != ChangeKind::Deleted {
                if text(change.object.value(), &["spec", "nodeName"]).is_empty() {
                    workload.enqueue(Controller::Scheduler, own, ctx);
                } else {
                    pods::observe(change, ctx);
                }
            }
        }
        "Service" => workload.enqueue(Controller::Endpoints, own, ctx),
        "Namespace" if change.kind == ChangeKind::Added => {
            workload.enqueue(Controller::NewNamespace, own, ctx)
        }
        "Namespace" if change.object.is_terminating() && change.kind != ChangeKind::Deleted => {
            workload.enqueue(Controller::EndingNamespace, own, ctx);
        }
        "Event" if change.kind == ChangeKind::Added => {
            ctx.later(recorder::EVENT_LIFETIME, Task::ExpireEvent(own));
        }
        _ => {}
    }
    garbage::observe(change, ctx);
}

fn work(workload: &mut Workload, task: Task, ctx: &mut Context<'_>) {
    match task {
        Task::Reconcile(controller, name) => {
            workload.queued.remove(&(controller, name.clone()));
            match controller {
                Controller::Deployment => deployments::reconcile_deployment(&name, ctx),
                Controller::ReplicaSet => deployments::reconcile_replica_set(&name, ctx),
                Controller::Job => jobs::reconcile(&name, ctx),
                Controller::Scheduler => pods::schedule(&name, ctx),
                Controller::Endpoints => services::reconcile(&name, ctx),
                Controller::NewNamespace => garbage::furnish_namespace(&name, ctx),
                Controller::EndingNamespace => {
                    if garbage::empty_namespace(&name, ctx) == garbage::Emptied::NotYet {
                        workload.enqueue_after(Duration::from_secs(1), controller, name, ctx);
                    }
                }
                // The apiserver itself handles definitions.
                Controller::Definition => {}
            }
        }
        Task::Pod(step, pod) => pods::step(step, &pod, ctx),
        Task::Activity(activity) => {
            let round = workload.rounds.entry(activity).or_default();
            activity::act(activity, *round, ctx);
            *round += 1;
        }
        Task::ExpireEvent(name) => ctx.delete("events", &name, &DeleteOptions::now()),
    }
}
