//! The true state of the cluster, for tests and oracles: etcd's own state and history.

use std::sync::Arc;

use crate::change::Change;
use crate::etcd::Etcd;
use crate::kinds::{Kinds, ResourceType};
use crate::object::Object;
use crate::scope::Scope;
use crate::selector::Selector;

/// A view of etcd's store, past every cache and network, and past the faults of etcd's members and watch streams.
/// Faults that change the store itself, such as a restore, show in this view.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    etcd: &'a Etcd,
    kinds: &'a Kinds,
}

impl<'a> Truth<'a> {
    pub(crate) fn new(etcd: &'a Etcd, kinds: &'a Kinds) -> Truth<'a> {
        Truth { etcd, kinds }
    }

    /// Returns etcd's revision, which is that of its last write; 1 before the first write. A restore sets the revision
    /// to the snapshot's, or to 1 without a snapshot, and a bump raises it without a write.
    /// [`Defect::RevisionDecreasesAfterCrash`](crate::Defect::RevisionDecreasesAfterCrash) lowers the revision.
    pub fn revision(&self) -> u64 {
        self.etcd.revision()
    }

    /// Returns how many times etcd was restored, from a snapshot or to its initial state. A revision from before a
    /// restore and one from after it cannot be compared.
    pub fn restores(&self) -> u32 {
        self.etcd.restores()
    }

    /// Returns the compacted revision, below which etcd has forgotten the history; 0 before the first compaction.
    pub fn compacted(&self) -> u64 {
        self.etcd.compacted()
    }

    /// Returns a resource type by its name, `pods` or `deployments.apps`; also a type that is no longer served. If
    /// several versions have that name, returns the version that came into the world first. Returns `None` if the world
    /// never had the name.
    pub fn resource_type(&self, qualified: &str) -> Option<&'a ResourceType> {
        self.kinds
            .all()
            .map(|(_, t)| t)
            .find(|t| t.qualified() == qualified)
    }

    /// Returns the resource type of a change. With a change of another world this function may panic, or return a wrong
    /// type.
    pub fn resource_of(&self, change: &Change) -> &'a ResourceType {
        self.kinds.get(change.resource)
    }

    /// Returns the objects of a resource as they are now, in the order of their keys as text (`NAMESPACE/NAME`). An
    /// empty `namespace` means all namespaces; for a cluster-scoped resource `namespace` does not count. The list is
    /// empty if the world has no such resource.
    pub fn objects(&self, qualified: &str, namespace: &str) -> Vec<Arc<Object>> {
        self.objects_at(qualified, namespace, self.etcd.revision())
            .unwrap_or_default()
    }

    /// Returns the objects of a client's scope as they are now, in key order: the resource's objects in the namespace
    /// that both selectors match. If one of the two selectors cannot be parsed, neither selector counts. The list is
    /// empty if the world has no such resource.
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

    /// Returns the objects of a resource as they were at a revision, in key order; `None` if the revision is below the
    /// compacted one. A revision above etcd's present one counts as the present one. The objects' state is that after
    /// the write of the revision. An empty `namespace` means all namespaces; for a cluster-scoped resource `namespace`
    /// does not count. The list is empty, at any revision, if the world has no such resource.
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

    /// Returns all changes that etcd keeps, the oldest first: since the world was made with
    /// [`EtcdConfig::keep_journal`](crate::EtcdConfig::keep_journal), else from the change at the compacted revision
    /// on. The list may be empty. After a restore, the changes above etcd's revision are gone. After a restore with a
    /// bump, the journal still has undone changes up to the raised revision.
    pub fn history(&self) -> Vec<Arc<Change>> {
        self.etcd.kept_changes()
    }

    /// Returns the changes of one resource (`pods`, `deployments.apps`) in [`Truth::history`], the oldest first. The
    /// list is empty if etcd keeps no such change, or the world never had the resource.
    pub fn history_of(&self, qualified: &str) -> Vec<Arc<Change>> {
        let mut changes = self.history();
        changes.retain(|change| self.kinds.get(change.resource).qualified() == qualified);
        changes
    }
}
