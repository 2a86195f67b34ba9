//! The queue of an informer: DeltaFIFO, which groups changes by object, or RealFIFO, which keeps their order
//! (docs/semantics/clients.md#informer).

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::super::belief::Key;
use super::super::wire::Document;
use super::reflector::StoreOp;
use super::version::QueueKind;

/// The objects that an informer holds, by namespace and name.
pub(crate) type Indexer = BTreeMap<Key, Arc<Document>>;

/// A queued change on its way to the handlers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delta {
    /// An addition, update, replacement or resync of one object. The indexer decides whether handlers get an add or an
    /// update.
    Set(Arc<Document>),
    Deleted(Tombstone),
    /// A whole list as one change (client-go 1.36).
    ReplacedAll(Vec<Arc<Document>>),
    /// A whole resync as one change (client-go 1.36).
    SyncAll,
}

/// A deletion, received as DELETED or inferred from a list (`DeletedFinalStateUnknown`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) object: Arc<Document>,
    pub(crate) is_inferred: bool,
}

impl Delta {
    fn key(&self) -> Option<Key> {
        match self {
            Delta::Set(object) => Some(object.key()),
            Delta::Deleted(tombstone) => Some(tombstone.object.key()),
            Delta::ReplacedAll(_) | Delta::SyncAll => None,
        }
    }
}

/// The queue between reflector and indexer.
///
/// Bounded by the objects of the type, and by the changes that arrive faster than changes are taken out. Like
/// client-go's queue (`tools/cache/delta_fifo.go`, `the_real_fifo.go`) it has no limit of its own.
#[derive(Debug)]
pub(crate) struct Queue {
    changes: Changes,
    /// Whether the reflector's first list, or a change before it, was queued.
    is_populated: bool,
    /// The number of entries of the first list that are still queued.
    initial: usize,
}

#[derive(Debug)]
enum Changes {
    Delta {
        order: VecDeque<Key>,
        groups: BTreeMap<Key, Vec<Delta>>,
    },
    Real {
        items: VecDeque<Delta>,
        batch: usize,
        is_atomic: bool,
    },
}

impl Queue {
    pub(crate) fn new(kind: QueueKind) -> Queue {
        let changes = match kind {
            QueueKind::Delta => Changes::Delta {
                order: VecDeque::new(),
                groups: BTreeMap::new(),
            },
            QueueKind::Real { batch, atomic } => Changes::Real {
                items: VecDeque::new(),
                batch,
                is_atomic: atomic,
            },
        };
        Queue {
            changes,
            is_populated: false,
            initial: 0,
        }
    }

    /// Returns whether all entries of the first list were taken out.
    pub(crate) fn has_synced(&self) -> bool {
        self.is_populated && self.initial == 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.changes {
            Changes::Delta { order, .. } => order.is_empty(),
            Changes::Real { items, .. } => items.is_empty(),
        }
    }

    /// Queues an operation that the reflector does on its store.
    pub(crate) fn put(&mut self, op: StoreOp, known: &Indexer) {
        match op {
            StoreOp::Added(object) | StoreOp::Updated(object) => {
                self.is_populated = true;
                self.changes.push(Delta::Set(object));
            }
            StoreOp::Deleted(object) => {
                self.is_populated = true;
                self.changes.delete(object, known);
            }
            StoreOp::Replaced(objects, _) => {
                self.changes.replace(objects, known);
                if !self.is_populated {
                    self.is_populated = true;
                    self.initial = self.changes.len();
                }
            }
            StoreOp::Resync => self.changes.resync(known),
            StoreOp::Bookmark(_) => {}
        }
    }

    /// Takes out the next changes: the changes of one object, or a batch of changes of different objects.
    pub(crate) fn pop(&mut self) -> Vec<Delta> {
        let (deltas, count) = self.changes.pop(self.initial);
        self.initial = self.initial.saturating_sub(count);
        deltas
    }
}

impl Changes {
    fn len(&self) -> usize {
        match self {
            Changes::Delta { order, .. } => order.len(),
            Changes::Real { items, .. } => items.len(),
        }
    }

    fn push(&mut self, delta: Delta) {
        match self {
            Changes::Real { items, .. } => items.push_back(delta),
            Changes::Delta { order, groups } => {
                let Some(key) = delta.key() else {
                    return;
                };
                let group = groups.entry(key.clone()).or_default();
                if group.is_empty() {
                    order.push_back(key);
                }
                push_unless_deleted_twice(group, delta);
            }
        }
    }

    fn delete(&mut self, object: Arc<Document>, known: &Indexer) {
        if let Changes::Delta { groups, .. } = self {
            let key = object.key();
            // An earlier list presumably removed it.
            if !known.contains_key(&key) && !groups.contains_key(&key) {
                return;
            }
        }
        self.push(Delta::Deleted(Tombstone {
            object,
            is_inferred: false,
        }));
    }

    /// Queues a list, and a deletion of each object that is known or queued and not listed.
    fn replace(&mut self, objects: Vec<Arc<Document>>, known: &Indexer) {
        if let Changes::Real {
            items,
            is_atomic: true,
            ..
        } = self
        {
            items.push_back(Delta::ReplacedAll(objects));
            return;
        }
        let listed: BTreeSet<Key> = objects.iter().map(|object| object.key()).collect();
        let deletions = self.missing(&listed, known);
        let sets = objects.into_iter().map(Delta::Set);
        if matches!(self, Changes::Delta { .. }) {
            sets.for_each(|delta| self.push(delta));
            deletions.into_iter().for_each(|delta| self.push(delta));
        } else {
            deletions.into_iter().for_each(|delta| self.push(delta));
            sets.for_each(|delta| self.push(delta));
        }
    }

    /// Returns deletions of the objects that are known or queued and not listed.
    fn missing(&self, listed: &BTreeSet<Key>, known: &Indexer) -> Vec<Delta> {
        let mut last: BTreeMap<Key, &Delta> = BTreeMap::new();
        match self {
            Changes::Delta { groups, .. } => {
                last.extend(
                    groups
                        .iter()
                        .filter_map(|(k, g)| Some((k.clone(), g.last()?))),
                );
            }
            Changes::Real { items, .. } => {
                last.extend(items.iter().filter_map(|d| Some((d.key()?, d))));
            }
        }
        let in_queue = last.iter().filter_map(|(key, delta)| match delta {
            Delta::Set(object) if !listed.contains(key) => Some(Arc::clone(object)),
            _ => None,
        });
        let elsewhere = known
            .iter()
            .filter(|(key, _)| !listed.contains(*key) && !last.contains_key(*key))
            .map(|(_, object)| Arc::clone(object));
        let inferred = |object| {
            Delta::Deleted(Tombstone {
                object,
                is_inferred: true,
            })
        };
        in_queue.chain(elsewhere).map(inferred).collect()
    }

    /// Queues each known object for which nothing is queued.
    fn resync(&mut self, known: &Indexer) {
        if let Changes::Real {
            items,
            is_atomic: true,
            ..
        } = self
        {
            items.push_back(Delta::SyncAll);
            return;
        }
        let queued: BTreeSet<Key> = match self {
            Changes::Delta { groups, .. } => groups.keys().cloned().collect(),
            Changes::Real { items, .. } => items.iter().filter_map(Delta::key).collect(),
        };
        for (key, object) in known {
            if !queued.contains(key) {
                self.push(Delta::Set(Arc::clone(object)));
            }
        }
    }

    /// Takes out the next changes. Returns these changes, and the number of queue entries that they took.
    fn pop(&mut self, initial: usize) -> (Vec<Delta>, usize) {
        match self {
            Changes::Delta { order, groups } => {
                let group = order.pop_front().and_then(|key| groups.remove(&key));
                (group.unwrap_or_default(), 1)
            }
            Changes::Real { items, batch, .. } => {
                let most = if initial > 0 {
                    initial.min(*batch)
                } else {
                    *batch
                };
                let mut keys = BTreeSet::new();
                let mut taken = Vec::new();
                while taken.len() < most
                    && let Some(next) = items.front()
                {
                    let key = next.key();
                    let is_whole = key.is_none();
                    let fits = match key {
                        Some(key) => keys.insert(key),
                        None => taken.is_empty(),
                    };
                    if !fits {
                        break;
                    }
                    taken.extend(items.pop_front());
                    if is_whole {
                        break;
                    }
                }
                let count = taken.len();
                (taken, count)
            }
        }
    }
}

/// Appends a change. Of two deletions in a row only one is kept, preferably one that was received, not inferred.
fn push_unless_deleted_twice(group: &mut Vec<Delta>, delta: Delta) {
    if let (Some(Delta::Deleted(before)), Delta::Deleted(_)) = (group.last(), &delta) {
        if before.is_inferred {
            group.pop();
            group.push(delta);
        }
        return;
    }
    group.push(delta);
}

#[cfg(test)]
mod tests {
    use super::super::super::wire::Metadata;
    use super::super::ClientGo;
    use super::*;

    fn object(name: &str, version: u64) -> Arc<Document> {
        Arc::new(Document {
            metadata: Metadata {
                name: name.to_owned(),
                resource_version: version.to_string(),
                ..Metadata::default()
            },
            ..Document::default()
        })
    }

    fn indexer(objects: &[Arc<Document>]) -> Indexer {
        objects.iter().map(|o| (o.key(), Arc::clone(o))).collect()
    }

    fn queue(minor: u8) -> Queue {
        Queue::new(ClientGo::minor(minor).queue())
    }

    /// Takes out all changes and returns them as text, one line for each take.
    fn drained(queue: &mut Queue) -> String {
        let mut lines = Vec::new();
        while !queue.is_empty() {
            let words: Vec<String> = queue.pop().iter().map(word).collect();
            lines.push(words.join(" "));
        }
        lines.join("\n")
    }

    fn word(delta: &Delta) -> String {
        let text =
            |o: &Arc<Document>| format!("{}@{}", o.metadata.name, o.metadata.resource_version);
        match delta {
            Delta::Set(object) => text(object),
            Delta::Deleted(t) if t.is_inferred => format!("-{}?", text(&t.object)),
            Delta::Deleted(t) => format!("-{}", text(&t.object)),
            Delta::ReplacedAll(all) => format!("all {}", all.len()),
            Delta::SyncAll => "sync all".to_owned(),
        }
    }

    #[test]
    fn a_delta_fifo_groups_by_object_and_a_real_fifo_keeps_the_order() {
        let ops = [
            StoreOp::Added(object("a", 1)),
            StoreOp::Added(object("b", 2)),
            StoreOp::Updated(object("a", 3)),
            StoreOp::Deleted(object("b", 4)),
            StoreOp::Added(object("b", 5)),
        ];
        let mut takes = Vec::new();
        for minor in [32, 34, 35] {
            let mut queue = queue(minor);
            for op in ops.clone() {
                queue.put(op, &Indexer::new());
            }
            takes.push(drained(&mut queue));
        }
        insta::assert_snapshot!(takes.join("\n--\n"), @r#"
        a@1 a@3
        b@2 -b@4 b@5
        --
        a@1
        b@2
        a@3
        -b@4
        b@5
        --
        a@1 b@2
        a@3 -b@4
        b@5
        "#);
    }

    #[test]
    fn a_list_makes_deletions_of_what_it_lacks_known_or_queued() {
        let known = indexer(&[object("gone", 1), object("kept", 2)]);
        let mut takes = Vec::new();
        for minor in [32, 34, 36] {
            let mut queue = queue(minor);
            queue.put(StoreOp::Added(object("passing", 3)), &known);
            let list = vec![object("kept", 2), object("new", 5)];
            queue.put(StoreOp::Replaced(list, "6".to_owned()), &known);
            takes.push(drained(&mut queue));
        }
        insta::assert_snapshot!(takes.join("\n--\n"), @r#"
        passing@3 -passing@3?
        kept@2
        new@5
        -gone@1?
        --
        passing@3
        -passing@3?
        -gone@1?
        kept@2
        new@5
        --
        passing@3
        all 2
        "#);
    }

    #[test]
    fn a_resync_repeats_what_nothing_is_queued_about() {
        let known = indexer(&[object("a", 1), object("b", 2)]);
        let mut takes = Vec::new();
        for minor in [32, 34, 36] {
            let mut queue = queue(minor);
            queue.put(StoreOp::Updated(object("a", 3)), &known);
            queue.put(StoreOp::Resync, &known);
            takes.push(drained(&mut queue));
        }
        insta::assert_snapshot!(takes.join("\n--\n"), @r#"
        a@3
        b@2
        --
        a@3
        b@2
        --
        a@3
        sync all
        "#);
    }

    #[test]
    fn it_has_synced_when_all_of_the_first_list_was_taken_out() {
        for minor in [32, 34, 35, 36] {
            let mut queue = queue(minor);
            assert!(!queue.has_synced());
            let list = vec![object("a", 1), object("b", 2)];
            queue.put(StoreOp::Replaced(list, "3".to_owned()), &Indexer::new());
            queue.put(StoreOp::Added(object("c", 4)), &Indexer::new());
            while !queue.has_synced() {
                assert!(!queue.pop().is_empty());
            }
            assert!(!queue.is_empty(), "1.{minor}: c is not of the first list");
        }
    }
}
