//! The store: one revision per write, every version of every key since the last compaction, and the log of changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::ResourceId;
use crate::object::{Object, set};
use crate::time::Time;

/// What a write did to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The key was not there.
    Added,
    /// The key was there.
    Modified,
    /// The key is gone.
    Deleted,
}

impl ChangeKind {
    /// The watch event type of it.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Added => "ADDED",
            ChangeKind::Modified => "MODIFIED",
            ChangeKind::Deleted => "DELETED",
        }
    }
}

/// One write: each touches one key, so one revision is one change (semantics 1.10).
#[derive(Debug)]
pub struct Change {
    /// etcd's revision, which is the resourceVersion.
    pub revision: u64,
    /// When it was committed.
    pub at: Time,
    /// Of which resource.
    pub resource: ResourceId,
    /// The key under `/registry/`.
    pub key: Arc<str>,
    /// What the write did.
    pub kind: ChangeKind,
    /// The object after the write; for a deletion its last state with the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the write.
    pub previous: Option<Arc<Object>>,
}

/// Why a read of the past failed: the revision was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

/// The store.
///
/// Bounded by compaction: versions and changes below the compacted revision are dropped, but for each key's newest.
#[derive(Debug)]
pub(crate) struct Etcd {
    revision: u64,
    compacted: u64,
    keys: BTreeMap<Arc<str>, Vec<Version>>,
    history: VecDeque<Arc<Change>>,
    committed: Vec<Arc<Change>>,
    journal: Option<Vec<Arc<Change>>>,
}

#[derive(Debug)]
struct Version {
    revision: u64,
    object: Option<Arc<Object>>,
}

impl Etcd {
    pub(crate) fn new(keep_journal: bool) -> Etcd {
        Etcd {
            revision: 1,
            compacted: 0,
            keys: BTreeMap::new(),
            history: VecDeque::new(),
            committed: Vec::new(),
            journal: keep_journal.then(Vec::new),
        }
    }

    /// The revision of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision up to which history is gone.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.keys.get(key)?.last()?.object.as_ref()
    }

    /// Writes `value` at `key` and stamps it with its new revision.
    pub(crate) fn put(
        &mut self,
        resource: ResourceId,
        key: &str,
        value: Value,
        at: Time,
    ) -> Arc<Object> {
        self.commit(resource, key, value, at, false)
    }

    /// Deletes `key`; `last` is the object's last state.
    pub(crate) fn delete(
        &mut self,
        resource: ResourceId,
        key: &str,
        last: Value,
        at: Time,
    ) -> Arc<Object> {
        self.commit(resource, key, last, at, true)
    }

    /// Keys under `prefix` from `start` on, as they were at `revision`, in key order.
    pub(crate) fn range<'a>(
        &'a self,
        prefix: &'a str,
        start: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted);
        }
        let from = if start > prefix { start } else { prefix };
        Ok(self
            .keys
            .range::<str, _>((Bound::Included(from), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .filter_map(move |(key, versions)| {
                let version = versions.iter().rev().find(|v| v.revision <= revision)?;
                Some((key, version.object.as_ref()?))
            }))
    }

    /// Changes with a revision above `revision`, oldest first; those up to the compacted revision are gone.
    pub(crate) fn changes_after(&self, revision: u64) -> impl Iterator<Item = &Arc<Change>> {
        let from = self.history.partition_point(|c| c.revision <= revision);
        self.history.range(from..)
    }

    /// The revision etcd had at the moment `at`.
    pub(crate) fn revision_at(&self, at: Time) -> u64 {
        let count = self.history.partition_point(|c| c.at <= at);
        match count.checked_sub(1).and_then(|last| self.history.get(last)) {
            Some(change) => change.revision,
            None => self
                .history
                .front()
                .map_or(self.revision, |c| c.revision - 1),
        }
    }

    /// Drops the history up to `revision`; each key keeps its newest version at or below it.
    pub(crate) fn compact(&mut self, revision: u64) {
        let revision = revision.min(self.revision);
        if revision <= self.compacted {
            return;
        }
        self.compacted = revision;
        while self.history.front().is_some_and(|c| c.revision <= revision) {
            self.history.pop_front();
        }
        self.keys.retain(|_, versions| {
            let kept_from = versions
                .iter()
                .rposition(|v| v.revision <= revision)
                .unwrap_or(0);
            versions.drain(..kept_from);
            let gone = |v: &Version| v.object.is_none() && v.revision <= revision;
            !(versions.len() == 1 && versions.first().is_some_and(gone))
        });
    }

    /// What was committed since this was asked last; the world passes it on to watchers.
    pub(crate) fn take_committed(&mut self) -> Vec<Arc<Change>> {
        std::mem::take(&mut self.committed)
    }

    /// All changes kept: from the beginning if a journal is kept, else since the last compaction.
    pub(crate) fn kept_changes(&self) -> Vec<Arc<Change>> {
        match &self.journal {
            Some(journal) => journal.clone(),
            None => self.history.iter().cloned().collect(),
        }
    }

    fn commit(
        &mut self,
        resource: ResourceId,
        key: &str,
        mut value: Value,
        at: Time,
        gone: bool,
    ) -> Arc<Object> {
        self.revision += 1;
        let revision = self.revision;
        set(
            &mut value,
            &["metadata", "resourceVersion"],
            json!(revision.to_string()),
        );
        let key: Arc<str> = match self.keys.get_key_value(key) {
            Some((key, _)) => Arc::clone(key),
            None => Arc::from(key),
        };
        let versions = self.keys.entry(Arc::clone(&key)).or_default();
        let previous = versions.last().and_then(|v| v.object.clone());
        let kind = match (&previous, gone) {
            (_, true) => ChangeKind::Deleted,
            (None, false) => ChangeKind::Added,
            (Some(_), false) => ChangeKind::Modified,
        };
        let object = Arc::new(Object::new(value, kind));
        versions.push(Version {
            revision,
            object: (!gone).then(|| Arc::clone(&object)),
        });
        let change = Arc::new(Change {
            revision,
            at,
            resource,
            key,
            kind,
            object: Arc::clone(&object),
            previous,
        });
        if let Some(journal) = &mut self.journal {
            journal.push(Arc::clone(&change));
        }
        self.history.push_back(Arc::clone(&change));
        self.committed.push(change);
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: ResourceId = ResourceId(0);

    fn names(etcd: &Etcd, prefix: &str, revision: u64) -> Option<Vec<String>> {
        let found = etcd.range(prefix, "", revision).ok()?;
        Some(
            found
                .map(|(_, o)| format!("{}@{}", o.name(), o.revision()))
                .collect(),
        )
    }

    fn store() -> Etcd {
        let mut etcd = Etcd::new(false);
        let pod = |name: &str| json!({"metadata": {"name": name}});
        etcd.put(PODS, "/registry/pods/shop/a", pod("a"), Time::from_secs(1));
        etcd.put(PODS, "/registry/pods/shop/b", pod("b"), Time::from_secs(2));
        etcd.put(PODS, "/registry/pods/shop/a", pod("a"), Time::from_secs(3));
        etcd.delete(PODS, "/registry/pods/shop/b", pod("b"), Time::from_secs(4));
        etcd
    }

    #[test]
    fn every_revision_can_be_read_until_it_is_compacted() {
        let mut etcd = store();
        let pods = "/registry/pods/";
        assert_eq!(names(&etcd, pods, 3).unwrap(), ["a@2", "b@3"]);
        assert_eq!(names(&etcd, pods, 4).unwrap(), ["a@4", "b@3"]);
        assert_eq!(names(&etcd, pods, 5).unwrap(), ["a@4"]);
        etcd.compact(4);
        assert_eq!(names(&etcd, pods, 3), None);
        assert_eq!(names(&etcd, pods, 4).unwrap(), ["a@4", "b@3"]);
        assert_eq!(names(&etcd, pods, 5).unwrap(), ["a@4"]);
        etcd.compact(9);
        assert_eq!(etcd.compacted(), 5);
        assert_eq!(names(&etcd, pods, 5).unwrap(), ["a@4"]);
        assert_eq!(
            etcd.keys.len(),
            1,
            "a compacted tombstone takes its key along"
        );
    }

    #[test]
    fn changes_know_what_was_there_before() {
        let mut etcd = store();
        let told: Vec<String> = etcd
            .take_committed()
            .iter()
            .map(|c| {
                let before = c.previous.as_ref().map_or(0, |o| o.revision());
                format!(
                    "{} {} before {before}",
                    c.kind.as_str(),
                    c.object.revision()
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                "ADDED 2 before 0",
                "ADDED 3 before 0",
                "MODIFIED 4 before 2",
                "DELETED 5 before 3"
            ]
        );
        assert!(etcd.take_committed().is_empty());
    }

    #[test]
    fn the_revision_of_a_moment_is_found_in_the_history() {
        let mut etcd = store();
        let at = |secs| Time::from_secs(secs);
        assert_eq!([0, 1, 3, 9].map(|s| etcd.revision_at(at(s))), [1, 2, 4, 5]);
        etcd.compact(5);
        assert_eq!(etcd.revision_at(at(9)), 5);
    }
}
