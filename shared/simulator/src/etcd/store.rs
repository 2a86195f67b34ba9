//! etcd's store: the versions of every key since the last compaction, and the changes that made these versions.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};
use watchscope_model::tree::{BTreeMap, BTreeSet};

use crate::change::Change;
use crate::json::set;
use crate::kinds::ResourceId;
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// The error of a read in the past whose revision was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

/// Revisions that a member of etcd never applied; empty if the fault `MissWrites` never struck it.
pub(crate) type Missed = BTreeSet<u64>;

/// etcd's multi-version store of all keys.
///
/// Compaction bounds the store. It drops changes below the compacted revision. It also drops older versions of a key,
/// except the newest one at that revision and versions that some member still has instead.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    revision: u64,
    compacted: u64,
    keys: BTreeMap<Arc<str>, Vec<Version>>,
    /// The changes from the compacted revision on: a watch may still start at that revision.
    history: VecDeque<Arc<Change>>,
}

#[derive(Clone, Debug)]
struct Version {
    revision: u64,
    object: Option<Arc<Object>>,
}

/// A write that is about to happen.
pub(crate) struct Write<'a> {
    pub(crate) resource: ResourceId,
    pub(crate) key: &'a str,
    /// The new state; `None` deletes the key.
    pub(crate) value: Option<Value>,
    pub(crate) at: Time,
}

impl Store {
    pub(crate) fn new() -> Store {
        Store {
            revision: 1,
            compacted: 0,
            keys: BTreeMap::new(),
            history: VecDeque::new(),
        }
    }

    /// Returns the revision of the last write, or the one that a bump or a recount has set; 1 before the first write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the compacted revision, below which history is gone.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// Returns the present state of a key at a member that missed some writes; `None` if the key does not exist there.
    pub(crate) fn get(&self, key: &str, missed: &Missed) -> Option<&Arc<Object>> {
        let versions = self.keys.get(key)?;
        let applied = versions
            .iter()
            .rev()
            .find(|v| missed.is_empty() || !missed.contains(&v.revision));
        applied?.object.as_ref()
    }

    /// Returns the keys under `prefix` from `start` on, as they were at `revision`, in key order. Returns [`Compacted`]
    /// if `revision` is below the compacted revision.
    pub(crate) fn range<'a>(
        &'a self,
        prefix: &'a str,
        start: &str,
        revision: u64,
        missed: &'a Missed,
    ) -> Result<impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted);
        }
        let from = if start > prefix { start } else { prefix };
        let applied = move |v: &&Version| {
            v.revision <= revision && (missed.is_empty() || !missed.contains(&v.revision))
        };
        Ok(self
            .keys
            .range::<str, _>((Bound::Included(from), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .filter_map(move |(key, versions)| {
                let version = versions.iter().rev().find(applied)?;
                Some((key, version.object.as_ref()?))
            }))
    }

    /// The changes from `revision` on, oldest first. Changes below the compacted revision are gone.
    pub(crate) fn changes_from(&self, revision: u64) -> impl Iterator<Item = &Arc<Change>> {
        let from = self.history.partition_point(|c| c.revision < revision);
        self.history.range(from..)
    }

    /// All changes that the store still has, oldest first.
    pub(crate) fn history(&self) -> impl Iterator<Item = &Arc<Change>> {
        self.history.iter()
    }

    /// Returns whether the object's state before a change can still be read; `false`, too, if the object did not exist.
    /// etcd reads that state for `prevKV` when it sends the change (docs/semantics/servers.md#prev-kv-read).
    pub(crate) fn has_previous(&self, change: &Change) -> bool {
        change.previous.is_some() && change.revision > self.compacted
    }

    /// Commits a write at the next revision.
    pub(crate) fn write(&mut self, write: Write<'_>) -> Arc<Change> {
        self.revision += 1;
        let revision = self.revision;
        let key: Arc<str> = match self.keys.get_key_value(write.key) {
            Some((key, _)) => Arc::clone(key),
            None => Arc::from(write.key),
        };
        let versions = self.keys.entry(Arc::clone(&key)).or_default();
        let previous = versions.last().and_then(|v| v.object.clone());
        let (kind, object) = match (&previous, write.value) {
            (Some(previous), None) => {
                let kind = ChangeKind::Deleted;
                (kind, previous.at_revision(revision, kind))
            }
            (None, None) => stored(json!({}), revision, ChangeKind::Deleted),
            (None, Some(value)) => stored(value, revision, ChangeKind::Added),
            (Some(_), Some(value)) => stored(value, revision, ChangeKind::Modified),
        };
        let object = Arc::new(object);
        versions.push(Version {
            revision,
            object: (kind != ChangeKind::Deleted).then(|| Arc::clone(&object)),
        });
        let change = Arc::new(Change {
            revision,
            at: write.at,
            resource: write.resource,
            key,
            kind,
            object,
            previous,
        });
        self.history.push_back(Arc::clone(&change));
        change
    }

    /// Drops the history below `revision`, or below the store's revision if that is lower. Does nothing if this history
    /// is already compacted. Each key keeps its newest version at or below `revision` that all members `have`, and all
    /// later versions. A watch that starts at `revision` can still get a deletion at `revision`, unless etcd has the
    /// defect of etcd#18089.
    pub(crate) fn compact(
        &mut self,
        revision: u64,
        keeps_tombstone: bool,
        have: impl Fn(u64) -> bool,
    ) {
        let revision = revision.min(self.revision);
        if revision <= self.compacted {
            return;
        }
        self.compacted = revision;
        while self.history.front().is_some_and(|c| c.revision < revision) {
            self.history.pop_front();
        }
        if !keeps_tombstone {
            self.drop_tombstone_at_compaction();
        }
        self.keys.retain(|_, versions| {
            let kept_from = versions
                .iter()
                .rposition(|v| v.revision <= revision && have(v.revision))
                .unwrap_or(0);
            versions.drain(..kept_from);
            let gone = |v: &Version| v.object.is_none() && v.revision <= revision;
            !(versions.len() == 1 && versions.first().is_some_and(gone))
        });
    }

    /// Forgets a deletion at exactly the compacted revision. A watch that starts at that revision misses the deletion.
    pub(crate) fn drop_tombstone_at_compaction(&mut self) {
        let lost = |c: &Arc<Change>| c.revision == self.compacted && c.kind == ChangeKind::Deleted;
        if self.history.front().is_some_and(lost) {
            self.history.pop_front();
        }
    }

    /// Sets the store's revision to the highest one among the remaining versions, which can be lower than before. etcd
    /// does this after a crash in which it lost its compaction progress (etcd#17780).
    pub(crate) fn recount_revision(&mut self) {
        let newest = self.keys.values().flatten().map(|v| v.revision).max();
        self.revision = newest.unwrap_or(1);
        self.compacted = self.compacted.min(self.revision);
        while self
            .history
            .back()
            .is_some_and(|c| c.revision > self.revision)
        {
            self.history.pop_back();
        }
    }

    /// Raises the revision by `by` and marks all earlier history as compacted, as a restore with `--bump-revision
    /// --mark-compacted` does.
    pub(crate) fn bump(&mut self, by: u64) {
        self.revision += by;
        self.compact(self.revision, true, |_| true);
    }
}

/// Encodes an object with its new revision as the resourceVersion. Returns it, after `kind`.
pub(super) fn stored(mut value: Value, revision: u64, kind: ChangeKind) -> (ChangeKind, Object) {
    let revision = json!(revision.to_string());
    set(&mut value, &["metadata", "resourceVersion"], revision);
    (kind, Object::new(value, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prefix of the etcd keys of pods.
    const PODS: &str = "/registry/pods/";

    fn write(store: &mut Store, name: &str, value: Option<Value>) -> Arc<Change> {
        let key = format!("{PODS}shop/{name}");
        let at = Time::from_secs(store.revision());
        store.write(Write {
            resource: ResourceId(0),
            key: &key,
            value,
            at,
        })
    }

    fn pod(name: &str) -> Option<Value> {
        Some(json!({"metadata": {"name": name}}))
    }

    /// Returns a store with writes of a at revision 2, b at 3, a at 4, and the deletion of b at 5.
    fn store() -> Store {
        let mut store = Store::new();
        write(&mut store, "a", pod("a"));
        write(&mut store, "b", pod("b"));
        write(&mut store, "a", pod("a"));
        write(&mut store, "b", None);
        store
    }

    fn names(store: &Store, revision: u64) -> Option<Vec<String>> {
        let nothing = Missed::new();
        let found = store.range(PODS, "", revision, &nothing);
        let entry = |o: &Arc<Object>| format!("{}@{}", o.name(), o.revision());
        Some(found.ok()?.map(|(_, o)| entry(o)).collect())
    }

    #[test]
    fn every_revision_can_be_read_until_it_is_compacted() {
        let mut store = store();
        assert_eq!(names(&store, 3).unwrap(), ["a@2", "b@3"]);
        assert_eq!(names(&store, 4).unwrap(), ["a@4", "b@3"]);
        assert_eq!(names(&store, 5).unwrap(), ["a@4"]);
        store.compact(4, true, |_| true);
        assert_eq!(names(&store, 3), None);
        assert_eq!(names(&store, 4).unwrap(), ["a@4", "b@3"]);
        assert_eq!(names(&store, 5).unwrap(), ["a@4"]);
        store.compact(9, true, |_| true);
        assert_eq!(store.compacted(), 5);
        assert_eq!(names(&store, 5).unwrap(), ["a@4"]);
        assert_eq!(
            store.keys.len(),
            1,
            "a compacted tombstone takes its key along"
        );
    }

    #[test]
    fn changes_know_what_was_there_before() {
        let store = store();
        let previous: Vec<String> = store
            .history()
            .map(|c| {
                let before = c.previous.as_ref().map_or(0, |o| o.revision());
                let (kind, revision) = (c.kind.as_str(), c.object.revision());
                format!("{kind} {} {revision} before {before}", c.object.name())
            })
            .collect();
        assert_eq!(
            previous,
            [
                "ADDED a 2 before 0",
                "ADDED b 3 before 0",
                "MODIFIED a 4 before 2",
                "DELETED b 5 before 3"
            ]
        );
    }

    #[test]
    fn the_change_at_the_compacted_revision_can_be_sent_but_not_the_state_before_it() {
        let mut store = store();
        store.compact(5, true, |_| true);
        let left: Vec<u64> = store.changes_from(0).map(|c| c.revision).collect();
        assert_eq!(left, [5]);
        let deletion = store.changes_from(5).next().unwrap();
        assert!(
            !store.has_previous(deletion),
            "prevKV would be read at 4, which is compacted"
        );
        let mut store = self::store();
        store.compact(4, true, |_| true);
        assert!(store.has_previous(store.changes_from(5).next().unwrap()));
        let mut defective = self::store();
        defective.compact(5, false, |_| true);
        assert_eq!(defective.changes_from(0).count(), 0, "etcd#18089");
    }

    #[test]
    fn a_crash_during_compaction_can_lower_the_revision() {
        let mut store = store();
        store.compact(5, true, |_| true);
        store.recount_revision();
        assert_eq!((store.revision(), store.compacted()), (4, 4));
        assert_eq!(write(&mut store, "c", pod("c")).revision, 5);
    }

    #[test]
    fn a_member_that_missed_a_write_has_the_version_before_it() {
        let mut store = store();
        let missed = Missed::from([4, 5]);
        let b = format!("{PODS}shop/b");
        assert!(store.get(&b, &Missed::new()).is_none());
        assert_eq!(store.get(&b, &missed).unwrap().revision(), 3);
        let seen: Vec<u64> = store
            .range(PODS, "", 5, &missed)
            .unwrap()
            .map(|(_, o)| o.revision())
            .collect();
        assert_eq!(seen, [2, 3]);
        // A compaction neither gives the member the write that it missed, nor takes the version that it has.
        store.compact(5, true, |revision| !missed.contains(&revision));
        assert_eq!(store.get(&b, &missed).unwrap().revision(), 3);
        assert!(store.get(&b, &Missed::new()).is_none());
        assert_eq!(names(&store, 5).unwrap(), ["a@4"]);
        store.bump(1000);
        assert_eq!((store.revision(), store.compacted()), (1005, 1005));
    }
}
