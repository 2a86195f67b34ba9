//! The true state of the cluster, for tests and oracles: etcd's own state and history.

use std::sync::Arc;

use crate::change::Change;
use crate::etcd::Etcd;
use crate::kinds::{Kinds, ResourceType};
use crate::object::Object;
use crate::scope::Scope;
use crate::selector::Selector;

/// A view of etcd, past every cache, network and fault.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    etcd: &'a Etcd,
    kinds: &'a Kinds,
}

impl<'a> Truth<'a> {
    pub(crate) fn new(etcd: &'a Etcd, kinds: &'a Kinds) -> Truth<'a> {
        Truth { etcd, kinds }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.etcd.revision()
    }

    /// How many times etcd was restored from a snapshot. Revisions from before and after a restore do not compare.
    pub fn restores(&self) -> u32 {
        self.etcd.restores()
    }

    /// The compacted revision: etcd has forgotten the history below it.
    pub fn compacted(&self) -> u64 {
        self.etcd.compacted()
    }

    /// Returns a resource type by its name, `pods` or `deployments.apps`; also one that is no longer served.
    pub fn resource_type(&self, qualified: &str) -> Option<&'a ResourceType> {
        self.kinds
            .all()
            .map(|(_, t)| t)
            .find(|t| t.qualified() == qualified)
    }

    /// The resource type of a change.
    pub fn resource_of(&self, change: &Change) -> &'a ResourceType {
        self.kinds.get(change.resource)
    }

    /// The objects of a resource as they are now, in key order. An empty `namespace` means all namespaces.
    pub fn objects(&self, qualified: &str, namespace: &str) -> Vec<Arc<Object>> {
        self.objects_at(qualified, namespace, self.etcd.revision())
            .unwrap_or_default()
    }

    /// The objects of a client's scope as they are now: the resource, the namespace and the selectors.
    pub fn selected(&self, scope: &Scope) -> Vec<Arc<Object>> {
        let qualified = scope.qualified();
        let Some(kind) = self.resource_type(&qualified) else {
            return Vec::new();
        };
        let mut objects = self.objects(&qualified, &scope.namespace);
        if let Ok(selector) = Selector::parse(&scope.label_selector, &scope.field_selector, kind) {
            objects.retain(|object| selector.matches(object));
        }
        objects
    }

    /// The objects of a resource as they were at a revision; `None` if it is compacted.
    pub fn objects_at(
        &self,
        qualified: &str,
        namespace: &str,
        revision: u64,
    ) -> Option<Vec<Arc<Object>>> {
        let Some(kind) = self.resource_type(qualified) else {
            return Some(Vec::new());
        };
        let prefix = kind.scope_prefix(namespace);
        let found = self.etcd.range(&prefix, "", revision).ok()?;
        Some(found.map(|(_, object)| Arc::clone(object)).collect())
    }

    /// All changes that etcd keeps, oldest first: since the beginning with
    /// [`EtcdConfig::keep_journal`](crate::EtcdConfig::keep_journal), else since the last compaction.
    pub fn history(&self) -> Vec<Arc<Change>> {
        self.etcd.kept_changes()
    }

    /// All changes of one resource that etcd keeps, oldest first.
    pub fn history_of(&self, qualified: &str) -> Vec<Arc<Change>> {
        let mut changes = self.history();
        changes.retain(|change| self.kinds.get(change.resource).qualified() == qualified);
        changes
    }
}
