//! The tasks of the workload, and the objects that they are about.

use crate::object::Object;

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

/// Something that goes on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Activity {
    Rollout,
    Scale,
    WriteConfigMap,
    CreateTemporary,
    DeleteTemporary,
    StartJob,
    Custom,
    /// The lease of the node of this number.
    NodeLease(u16),
    /// The status of the node of this number.
    NodeStatus(u16),
    /// The leases of the control plane.
    ControlPlaneLeases,
}

/// What the kubelet does with a pod, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PodStep {
    /// The node takes the pod: volumes and network are made, the image is pulled (`ContainerCreating`).
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
