//! The cluster as the workload sees it. The workload reads etcd's present state, and writes through the registry.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::task::{Name, Task};
use crate::etcd::Etcd;
use crate::json::{items, text};
use crate::kinds::{Kinds, ResourceId};
use crate::manager::Manager;
use crate::object::Object;
use crate::random::Random;
use crate::registry::{DeleteOptions, Place, Registry};
use crate::settings::WorkloadConfig;
use crate::time::{Time, Wall};

/// The field manager of the built-in controllers: the name of their program, which begins its User-Agent. An apiserver
/// takes this name for a write that names no manager (`prefixFromUserAgent` of apiserver
/// `pkg/endpoints/handlers/create.go`, 1.36).
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";

/// The parts of the world that the workload uses.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) wall: Wall,
    pub(crate) config: &'a WorkloadConfig,
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a Kinds,
    pub(crate) random: &'a mut Random,
    /// Tasks of the workload for later, each with the time at which it is due.
    pub(crate) tasks: &'a mut Vec<(Time, Task)>,
    /// CustomResourceDefinitions that begin or cease to be served.
    pub(crate) definitions: &'a mut Vec<Definition>,
}

/// A change of the served custom resources.
#[derive(Clone, Debug)]
pub(crate) enum Definition {
    /// A CustomResourceDefinition was created or changed.
    Established(Value),
    /// The resource type of a CustomResourceDefinition is no longer served.
    Gone(ResourceId),
}

impl Context<'_> {
    pub(super) fn later(&mut self, delay: Duration, task: Task) {
        self.tasks.push((self.now + delay, task));
    }

    pub(super) fn later_between(&mut self, least_ms: u64, most_ms: u64, task: Task) {
        let delay = self.random.span(
            Duration::from_millis(least_ms),
            Duration::from_millis(most_ms),
        );
        self.later(delay, task);
    }

    pub(super) fn timestamp(&self) -> String {
        self.wall.seconds(self.now)
    }

    pub(super) fn get(&self, resource: &str, name: &Name) -> Option<Arc<Object>> {
        let kind = self.kinds.get(self.kinds.named(resource)?);
        self.etcd
            .get(&kind.key(&name.namespace, &name.name))
            .cloned()
    }

    /// Returns the objects of a resource in a namespace; in all namespaces if `namespace` is empty.
    pub(super) fn list(&self, resource: &str, namespace: &str) -> Vec<Arc<Object>> {
        let Some(id) = self.kinds.named(resource) else {
            return Vec::new();
        };
        let prefix = self.kinds.get(id).scope_prefix(namespace);
        match self.etcd.range(&prefix, "", self.etcd.revision()) {
            Ok(found) => found.map(|(_, object)| Arc::clone(object)).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Returns the objects of a resource that `owner` owns, in the owner's namespace.
    pub(super) fn owned(&self, resource: &str, owner: &Object) -> Vec<Arc<Object>> {
        let mut objects = self.list(resource, owner.namespace());
        objects.retain(|object| {
            items(object.value(), &["metadata", "ownerReferences"])
                .iter()
                .any(|reference| reference["uid"] == owner.uid())
        });
        objects
    }

    /// Creates and returns an object; `None` if the write is refused or the resource is not served. The controller
    /// tries again at the next change.
    pub(super) fn create(
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

    /// Changes and returns an object, if it still exists; `None` if it does not, or the write is refused.
    pub(super) fn modify(
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

    /// Deletes an object if it still exists.
    pub(super) fn delete(&mut self, resource: &str, name: &Name, options: &DeleteOptions) {
        if let Some(id) = self.kinds.named(resource) {
            // If it is already gone, nothing remains to do.
            let _ = self.registry().delete(place(id, name), options);
        }
    }

    pub(super) fn registry(&mut self) -> Registry<'_> {
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

pub(super) fn place(resource: ResourceId, name: &Name) -> Place<'_> {
    Place {
        resource,
        namespace: &name.namespace,
        name: &name.name,
    }
}

/// Returns the owner reference that a controller puts into the objects that it creates for `owner`.
pub(super) fn owner_reference(owner: &Object) -> Value {
    serde_json::json!([{
        "apiVersion": text(owner.value(), &["apiVersion"]),
        "kind": text(owner.value(), &["kind"]),
        "name": owner.name(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}
