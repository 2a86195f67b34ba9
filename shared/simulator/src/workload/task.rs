//! The tasks of the workload, and the objects that they concern.

use crate::object::Object;

/// A task of the workload.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Task {
    /// A controller reconciles an object.
    Reconcile(Controller, Name),
    /// A kubelet takes a pod to its next state.
    Pod(PodStep, PodName),
    /// An activity runs its next round.
    Activity(Activity),
    /// A Kubernetes Event object has reached its lifetime of an hour.
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

/// An activity of the cluster that repeats by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Activity {
    Rollout,
    Scale,
    WriteConfigMap,
    CreateTemporary,
    DeleteTemporary,
    StartJob,
    Custom,
    /// Renewing the lease of the node with this number.
    NodeLease(u16),
    /// Reporting the status of the node with this number.
    NodeStatus(u16),
    /// Renewing the leases of the control plane.
    ControlPlaneLeases,
    /// Making the writes of the load.
    Load,
}

/// A step that a kubelet takes with a pod. A pod's steps come in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PodStep {
    /// The kubelet accepts the pod: it makes volumes and network and pulls the image (`ContainerCreating`).
    Accept,
    /// The containers run.
    Start,
    /// The readiness probe succeeds.
    BecomeReady,
    /// The containers of a job's pod end.
    Complete,
    /// The containers have ended after SIGTERM.
    Stop,
    /// The pod is removed from the apiserver.
    Remove,
}

/// An object's name and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The identity of one pod, as distinct from a later pod of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodName {
    pub(crate) name: Name,
    pub(crate) uid: String,
}

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
