//! What lives in the cluster: its controllers, which answer to what is written, and its standing activities.

use std::sync::Arc;

use serde_json::Value;

use crate::apiserver::managed_fields::Manager;
use crate::apiserver::registry::Registry;
use crate::config::WorkloadConfig;
use crate::etcd::{Change, Etcd};
use crate::kinds::{Kinds, ResourceId};
use crate::random::Random;
use crate::time::{Time, Wall};
use serde_json::json;

/// What the workload needs of the world.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) wall: Wall,
    pub(crate) config: &'a WorkloadConfig,
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a Kinds,
    pub(crate) random: &'a mut Random,
    /// What is to be done later.
    pub(crate) tasks: &'a mut Vec<(Time, Task)>,
    /// CustomResourceDefinitions that begin or cease to be served.
    pub(crate) definitions: &'a mut Vec<Definition>,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {}

/// A change of what is served.
#[derive(Clone, Debug)]
pub(crate) enum Definition {
    Established(Value),
    Gone(ResourceId),
}

/// The workload.
#[derive(Debug, Default)]
pub(crate) struct Workload {}

impl Workload {
    pub(crate) fn install(&mut self, ctx: &mut Context<'_>) {
        let namespaces = ctx.kinds.named("namespaces");
        let mut registry = Registry {
            etcd: ctx.etcd,
            kinds: ctx.kinds,
            random: ctx.random,
            wall: ctx.wall,
            now: ctx.now,
        };
        if let Some(ns) = namespaces {
            for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
                let _ = registry.create(
                    ns,
                    "",
                    json!({"metadata": {"name": name}}),
                    &Manager::new("kube-apiserver"),
                );
            }
        }
    }
    pub(crate) fn observe(&mut self, _change: &Arc<Change>, _ctx: &mut Context<'_>) {}
    pub(crate) fn work(&mut self, task: Task, _ctx: &mut Context<'_>) {
        match task {}
    }
}
