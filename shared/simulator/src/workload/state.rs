//! The workload's state: the queues of the controllers, and the rounds of each activity.

use std::sync::Arc;
use std::time::Duration;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::context::Context;
use super::task::{Activity, Controller, Name, Task};
use super::{definitions, garbage, install};
use crate::change::Change;
use crate::json::{items, text};
use crate::object::Object;

/// Delay from an informer's event until a worker takes the key from the queue: minimum and maximum. Changes of one
/// object within the delay are handled together. The numbers have no source: any delay of a few milliseconds would do.
const QUEUE_DELAY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(15));

/// The choice whether controllers, scheduler and kubelets react to writes, and install the cluster's first objects:
/// [`Controllers::ALL`] or [`Controllers::NONE`].
#[derive(Clone, Copy, Debug)]
pub struct Controllers(pub(super) Option<&'static Table>);

/// The functions of the controllers, the scheduler and the kubelets.
#[derive(Debug)]
pub(super) struct Table {
    /// Handles a change that has reached the controllers' informers.
    pub(super) observe: fn(&mut Workload, &Arc<Change>, &mut Context<'_>),
    /// Runs a task of the workload that is due.
    pub(super) work: fn(&mut Workload, Task, &mut Context<'_>),
    /// Installs the cluster's first objects besides its four namespaces, and starts the activities.
    pub(super) install: fn(&mut Context<'_>),
    /// Begins the load, if the configuration has a load.
    pub(super) load: fn(&mut Context<'_>),
}

impl PartialEq for Controllers {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for Controllers {}

/// The state of the workload.
///
/// Bounded by the cluster: at most one entry per controller and object, and one entry per CustomResourceDefinition.
#[derive(Debug)]
pub(crate) struct Workload {
    controllers: Controllers,
    /// The entries of the controllers' queues. Several changes of an object before a controller handles it have one
    /// entry.
    pub(super) queued: BTreeSet<(Controller, Name)>,
    /// The `metadata.generation` at which each CustomResourceDefinition was established, by name.
    pub(super) established: BTreeMap<String, i64>,
    /// The number of completed rounds of each activity.
    pub(super) rounds: BTreeMap<Activity, u64>,
}

impl Workload {
    pub(crate) fn new(controllers: Controllers) -> Workload {
        Workload {
            controllers,
            queued: BTreeSet::new(),
            established: BTreeMap::new(),
            rounds: BTreeMap::new(),
        }
    }

    /// Handles a change that has reached the informers of the controllers.
    pub(crate) fn observe(&mut self, change: &Arc<Change>, ctx: &mut Context<'_>) {
        if ctx.kinds.get(change.resource).kind == "CustomResourceDefinition" {
            self.enqueue(Controller::Definition, Name::of(&change.object), ctx);
        }
        if let Some(controllers) = self.controllers.0 {
            (controllers.observe)(self, change, ctx);
        }
    }

    /// Runs a task of the workload that is due.
    pub(crate) fn work(&mut self, task: Task, ctx: &mut Context<'_>) {
        if let Task::Reconcile(controller @ Controller::Definition, name) = task {
            self.queued.remove(&(controller, name.clone()));
            let emptied = definitions::reconcile(&name, &mut self.established, ctx);
            if emptied == garbage::Emptied::NotYet {
                self.enqueue_after(definitions::CLEAN_UP_PERIOD, controller, name, ctx);
            }
        } else if let Some(controllers) = self.controllers.0 {
            (controllers.work)(self, task, ctx);
        }
    }

    /// Installs the cluster's first objects.
    pub(crate) fn install(&mut self, ctx: &mut Context<'_>) {
        install::namespaces(ctx);
        if let Some(controllers) = self.controllers.0 {
            (controllers.install)(ctx);
        }
    }

    /// Begins the load, if the configuration has a load and the cluster has controllers.
    pub(crate) fn begin_load(&self, ctx: &mut Context<'_>) {
        if let Some(controllers) = self.controllers.0 {
            (controllers.load)(ctx);
        }
    }

    pub(super) fn enqueue(&mut self, controller: Controller, name: Name, ctx: &mut Context<'_>) {
        let (least, most) = QUEUE_DELAY;
        let delay = ctx.random.span(least, most);
        self.enqueue_after(delay, controller, name, ctx);
    }

    pub(super) fn enqueue_after(
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

    pub(super) fn enqueue_owner(
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
