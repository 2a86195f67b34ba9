//! One watch as the apiserver keeps it: what it selects, what it was sent, and which frame a change becomes.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::negotiate::Representation;
use super::selector::Selector;
use super::table;
use crate::etcd::{Change, ChangeKind};
use crate::kinds::{ResourceId, ResourceType};
use crate::object::{Object, encode, frame, set};
use crate::time::{Time, Wall};

/// A watch.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) resource: ResourceId,
    /// Its scope: the prefix of the keys it sees.
    prefix: String,
    selector: Selector,
    representation: Representation,
    pub(crate) bookmarks: bool,
    pub(crate) deadline: Time,
    /// Events and bookmarks at or below this were sent, or are not wanted.
    sent_revision: u64,
    /// Frames that may wait for the network before the watch is ended (1.9 rule 4).
    pub(crate) buffer_slots: usize,
    /// Whether a Table's columns were sent: only the first has them.
    columns_sent: bool,
}

/// What a watch asks for.
#[derive(Clone, Debug)]
pub(crate) struct WatchParameters {
    pub(crate) resource: ResourceId,
    pub(crate) prefix: String,
    pub(crate) selector: Selector,
    pub(crate) representation: Representation,
    pub(crate) bookmarks: bool,
    pub(crate) deadline: Time,
}

impl Watcher {
    pub(crate) fn new(parameters: WatchParameters, start: u64, buffer_slots: usize) -> Watcher {
        Watcher {
            resource: parameters.resource,
            prefix: parameters.prefix,
            selector: parameters.selector,
            representation: parameters.representation,
            bookmarks: parameters.bookmarks,
            deadline: parameters.deadline,
            sent_revision: start,
            buffer_slots,
            columns_sent: false,
        }
    }

    /// Whether an object is in its scope and selection.
    pub(crate) fn selects(&self, key: &str, object: &Object) -> bool {
        key.starts_with(&self.prefix) && self.selector.matches(object)
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The frame of a synthetic ADDED of the initial events.
    pub(crate) fn initial(
        &mut self,
        object: &Arc<Object>,
        kind: &ResourceType,
        wall: Wall,
        now: Time,
    ) -> Bytes {
        match self.representation {
            Representation::Whole => object.added_frame(false).clone(),
            Representation::Metadata => object.added_frame(true).clone(),
            Representation::Table(_) => self.encode("ADDED", object, kind, wall, now),
        }
    }

    /// The frame a change becomes for this watch, if it becomes one (1.9 rule 7).
    pub(crate) fn event(
        &mut self,
        change: &Change,
        kind: &ResourceType,
        wall: Wall,
        now: Time,
    ) -> Option<Bytes> {
        if change.revision <= self.sent_revision || !change.key.starts_with(&self.prefix) {
            return None;
        }
        let gone = change.kind == ChangeKind::Deleted;
        let matches = !gone && self.selector.matches(&change.object);
        let matched = change
            .previous
            .as_ref()
            .is_some_and(|o| self.selector.matches(o));
        let told = match (matches, matched) {
            (true, false) => ChangeKind::Added,
            (true, true) => ChangeKind::Modified,
            (false, true) => ChangeKind::Deleted,
            (false, false) => return None,
        };
        self.sent_revision = change.revision;
        let left_the_selection = told == ChangeKind::Deleted && !gone;
        match (self.representation, &change.previous) {
            (_, Some(previous)) if left_the_selection => {
                // The object is still there: the watch gets its last matching state at the event's revision.
                let mut last = previous.value().clone();
                set(
                    &mut last,
                    &["metadata", "resourceVersion"],
                    json!(change.revision.to_string()),
                );
                Some(self.encode(told.as_str(), &Arc::new(Object::new(last)), kind, wall, now))
            }
            (Representation::Whole, _) => Some(change.frame(told, false)),
            (Representation::Metadata, _) => Some(change.frame(told, true)),
            (Representation::Table(_), _) => {
                Some(self.encode(told.as_str(), &change.object, kind, wall, now))
            }
        }
    }

    /// The frame of a bookmark at `revision`, unless it says nothing new; `ends_initial` marks the end of the
    /// initial events, which is always told.
    pub(crate) fn bookmark(
        &mut self,
        revision: u64,
        ends_initial: bool,
        kind: &ResourceType,
        wall: Wall,
        now: Time,
    ) -> Option<Bytes> {
        if !self.bookmarks || (revision <= self.sent_revision && !ends_initial) {
            return None;
        }
        self.sent_revision = self.sent_revision.max(revision);
        let mut value = json!({
            "kind": kind.kind,
            "apiVersion": kind.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if ends_initial {
            value["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        Some(self.encode("BOOKMARK", &Arc::new(Object::new(value)), kind, wall, now))
    }

    fn encode(
        &mut self,
        told: &str,
        object: &Arc<Object>,
        kind: &ResourceType,
        wall: Wall,
        now: Time,
    ) -> Bytes {
        match self.representation {
            Representation::Whole => frame(told, object.json()),
            Representation::Metadata => frame(told, object.metadata_json()),
            Representation::Table(include) => {
                let with_columns = !self.columns_sent;
                self.columns_sent = true;
                let row = std::slice::from_ref(object);
                let table = table::watch_event(row, kind, include, with_columns, wall, now);
                frame(told, &encode(&table))
            }
        }
    }
}
