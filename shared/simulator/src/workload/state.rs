//! The workload: the queues of the controllers, and how far each activity has come.

use std::sync::Arc;
use std::time::Duration;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::context::Context;
use super::task::{Activity, Controller, Name, Task};
use super::{definitions, garbage, install};
use crate::change::Change;
use crate::json::{items, text};
use crate::object::Object;

/// From an informer's event to a worker taking the key from the queue.
const QUEUE_DELAY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(15));

/// Whether controllers, scheduler and kubelets answer to what is written, and install what the cluster begins with.
#[derive(Clone, Copy, Debug)]
pub struct Controllers(pub(super) Option<&'static Table>);

/// What they do.
#[derive(Debug)]
pub(super) struct Table {
    /// A change has reached their informers.
    pub(super) observe: fn(&mut Workload, &Arc<Change>, &mut Context<'_>),
    /// Something is due.
    pub(super) work: fn(&mut Workload, Task, &mut Context<'_>),
    /// The cluster begins.
    pub(super) install: fn(&mut Context<'_>),
}

impl PartialEq for Controllers {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for Controllers {}

/// The workload.
///
/// Bounded by the cluster: at most one entry per controller and object, and one per definition.
#[derive(Debug)]
pub(crate) struct Workload {
    controllers: Controllers,
    /// The entries of the controllers' queues, so that many changes of an object are one look at it.
    pub(super) queued: BTreeSet<(Controller, Name)>,
    /// The generation at which each definition was established.
    pub(super) established: BTreeMap<String, i64>,
    /// How far each activity has come.
    pub(super) turns: BTreeMap<Activity, u64>,
}

impl Workload {
    pub(crate) fn new(controllers: Controllers) -> Workload {
        Workload {
            controllers,
            queued: BTreeSet::new(),
            established: BTreeMap::new(),
            turns: BTreeMap::new(),
        }
    }

    /// A change has reached the informers.
    pub(crate) fn observe(&mut self, change: &Arc<Change>, ctx: &mut Context<'_>) {
        if ctx.kinds.get(change.resource).kind == "CustomResourceDefinition" {
            self.enqueue(Controller::Definition, Name::of(&change.object), ctx);
        }
        if let Some(controllers) = self.controllers.0 {
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
        } else if let Some(controllers) = self.controllers.0 {
            (controllers.work)(self, task, ctx);
        }
    }

    /// Installs the cluster.
    pub(crate) fn install(&mut self, ctx: &mut Context<'_>) {
        install::namespaces(ctx);
        if let Some(controllers) = self.controllers.0 {
            (controllers.install)(ctx);
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
