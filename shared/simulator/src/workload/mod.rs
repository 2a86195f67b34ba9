//! What lives in the cluster: its controllers, which answer to what is written, and its standing activities.
//!
//! Everything here writes through the apiserver's registry, under the field managers real controllers have, and
//! learns of writes when the watch caches do. It reads etcd's present state, as a controller does whose informer is
//! up to date.

mod activity;
mod controllers;
mod definitions;
mod deployments;
mod garbage;
mod install;
mod jobs;
mod pods;
mod recorder;
mod services;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use watchscope_model::tree::{BTreeMap, BTreeSet};

use crate::apiserver::managed_fields::Manager;
use crate::apiserver::registry::{DeleteOptions, Place, Registry};
use crate::config::WorkloadConfig;
use crate::etcd::{Change, Etcd};
use crate::kinds::{Kinds, ResourceId};
use crate::object::{Object, items, text};
use crate::random::Random;
use crate::time::{Time, Wall};

pub(crate) use activity::Activity;
pub use controllers::Controllers;
pub(crate) use pods::PodStep;

/// The field manager of the built-in controllers.
const CONTROLLER_MANAGER: &str = "kube-controller-manager";

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
pub(crate) enum Task {
    /// A controller looks at one object.
    Reconcile(Controller, Name),
    /// The kubelet takes a pod a step further.
    Pod(PodStep, PodName),
    /// Something that goes on by itself.
    Activity(Activity),
    /// An event object has lived its hour.
    ExpireEvent(Name),
}

/// The controllers that work from a queue of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Controller {
    Deployment,
    ReplicaSet,
    Job,
    Scheduler,
    Endpoints,
    NewNamespace,
    EndingNamespace,
    Definition,
}

/// An object's name in its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// One pod, not its successor of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodName {
    pub(crate) name: Name,
    pub(crate) uid: String,
}

/// A change of what is served.
#[derive(Clone, Debug)]
pub(crate) enum Definition {
    /// A definition, new or changed.
    Established(Value),
    /// Its type is served no more.
    Gone(ResourceId),
}

/// The workload.
///
/// Bounded by the cluster: at most one entry per controller and object, and one per definition.
#[derive(Debug, Default)]
pub(crate) struct Workload {
    /// What is in the controllers' queues, so that many changes of an object are one look at it.
    queued: BTreeSet<(Controller, Name)>,
    /// The generation at which each definition was established.
    established: BTreeMap<String, i64>,
    /// How far each activity has come.
    turns: BTreeMap<Activity, u64>,
}

impl Workload {
    /// A change has reached the informers.
    pub(crate) fn observe(&mut self, change: &Arc<Change>, ctx: &mut Context<'_>) {
        if ctx.kinds.get(change.resource).kind == "CustomResourceDefinition" {
            self.enqueue(Controller::Definition, Name::of(&change.object), ctx);
        }
        if let Some(controllers) = ctx.config.controllers.0 {
            (controllers.observe)(self, change, ctx);
        }
    }

    /// Something is due.
    pub(crate) fn work(&mut self, task: Task, ctx: &mut Context<'_>) {
        if let Task::Reconcile(controller @ Controller::Definition, name) = task {
            self.queued.remove(&(controller, name.clone()));
            let emptied = definitions::reconcile(&name, &mut self.established, ctx);
            if emptied == garbage::Emptied::NotYet {
                self.enqueue_after(definitions::CLEAN_UP_PERIOD, controller, name, ctx);
            }
        } else if let Some(controllers) = ctx.config.controllers.0 {
            (controllers.work)(self, task, ctx);
        }
    }

    /// Installs the cluster.
    pub(crate) fn install(&mut self, ctx: &mut Context<'_>) {
        install::namespaces(ctx);
        if let Some(controllers) = ctx.config.controllers.0 {
            (controllers.install)(ctx);
        }
    }

    fn enqueue(&mut self, controller: Controller, name: Name, ctx: &mut Context<'_>) {
        let (least, most) = QUEUE_DELAY;
        let delay = ctx.random.span(least, most);
        self.enqueue_after(delay, controller, name, ctx);
    }

    fn enqueue_after(
        &mut self,
        delay: Duration,
        controller: Controller,
        name: Name,
        ctx: &mut Context<'_>,
    ) {
        if self.queued.insert((controller, name.clone())) {
            ctx.later(delay, Task::Reconcile(controller, name));
        }
    }

    fn enqueue_owner(
        &mut self,
        object: &Object,
        kind: &str,
        controller: Controller,
        ctx: &mut Context<'_>,
    ) {
        let owner = items(object.value(), &["metadata", "ownerReferences"])
            .iter()
            .find(|owner| owner["kind"] == kind);
        if let Some(owner) = owner {
            let name = Name::new(object.namespace(), text(owner, &["name"]));
            self.enqueue(controller, name, ctx);
        }
    }
}

/// From an informer's event to a worker taking the key from the queue.
const QUEUE_DELAY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(15));

impl Name {
    pub(crate) fn new(namespace: &str, name: &str) -> Name {
        Name {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) fn of(object: &Object) -> Name {
        Name::new(object.namespace(), object.name())
    }
}

impl Context<'_> {
    fn later(&mut self, delay: Duration, task: Task) {
        self.tasks.push((self.now + delay, task));
    }

    fn later_between(&mut self, least_ms: u64, most_ms: u64, task: Task) {
        let delay = self.random.span(
            Duration::from_millis(least_ms),
            Duration::from_millis(most_ms),
        );
        self.later(delay, task);
    }

    fn timestamp(&self) -> String {
        self.wall.seconds(self.now)
    }

    fn get(&self, resource: &str, name: &Name) -> Option<Arc<Object>> {
        let kind = self.kinds.get(self.kinds.named(resource)?);
        self.etcd
            .get(&kind.key(&name.namespace, &name.name))
            .cloned()
    }

    /// The objects of a resource in a namespace, or in all if it is empty.
    fn list(&self, resource: &str, namespace: &str) -> Vec<Arc<Object>> {
        let Some(id) = self.kinds.named(resource) else {
            return Vec::new();
        };
        let prefix = self.kinds.get(id).scope_prefix(namespace);
        match self.etcd.range(&prefix, "", self.etcd.revision()) {
            Ok(found) => found.map(|(_, object)| Arc::clone(object)).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// The objects of a resource in a namespace that `owner` controls.
    fn owned(&self, resource: &str, owner: &Object) -> Vec<Arc<Object>> {
        let mut objects = self.list(resource, owner.namespace());
        objects.retain(|object| {
            items(object.value(), &["metadata", "ownerReferences"])
                .iter()
                .any(|reference| reference["uid"] == owner.uid())
        });
        objects
    }

    /// Creates an object. A refusal is dropped: the controller looks again at the next change.
    fn create(
        &mut self,
        resource: &str,
        namespace: &str,
        body: Value,
        manager: &str,
    ) -> Option<Arc<Object>> {
        let id = self.kinds.named(resource)?;
        self.registry()
            .create(id, namespace, body, &Manager::new(manager))
            .ok()
    }

    /// Changes an object that may be gone.
    fn modify(
        &mut self,
        resource: &str,
        name: &Name,
        manager: &Manager,
        change: impl FnOnce(&mut Value),
    ) -> Option<Arc<Object>> {
        let id = self.kinds.named(resource)?;
        self.registry()
            .modify(place(id, name), manager, change)
            .ok()
    }

    /// Deletes an object that may be gone.
    fn delete(&mut self, resource: &str, name: &Name, options: &DeleteOptions) {
        if let Some(id) = self.kinds.named(resource) {
            // Gone already is what was wanted.
            let _ = self.registry().delete(place(id, name), options);
        }
    }

    fn registry(&mut self) -> Registry<'_> {
        Registry {
            etcd: self.etcd,
            kinds: self.kinds,
            random: self.random,
            wall: self.wall,
            now: self.now,
            dry_run: false,
        }
    }
}

fn place(resource: ResourceId, name: &Name) -> Place<'_> {
    Place {
        resource,
        namespace: &name.namespace,
        name: &name.name,
    }
}

/// A controller's reference to the object it works for.
fn owner_reference(owner: &Object) -> Value {
    serde_json::json!([{
        "apiVersion": text(owner.value(), &["apiVersion"]),
        "kind": text(owner.value(), &["kind"]),
        "name": owner.name(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}
