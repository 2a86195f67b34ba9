//! One watch as the apiserver keeps it: what it selects, what it was sent, and which frame a change becomes.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::negotiate::{IncludeObject, Representation};
use super::schema::Struct;
use super::selector::Selector;
use super::table;
use crate::etcd::{Change, ChangeKind};
use crate::kinds::{ResourceId, ResourceType};
use crate::object::{Object, encode, frame, partial_metadata, set};
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
        self.encode(ChangeKind::Added, object, kind, wall, now)
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
        match &change.previous {
            Some(previous) if left_the_selection => {
                // The object is still there: the watch gets its last matching state at the event's revision.
                let mut last = previous.decode();
                set(
                    &mut last,
                    &["metadata", "resourceVersion"],
                    json!(change.revision.to_string()),
                );
                let last = Object::new(last, told);
                Some(self.encode(told, &Arc::new(last), kind, wall, now))
            }
            _ => Some(self.encode(told, &change.object, kind, wall, now)),
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
        if let Some(shape) = Struct::of(kind) {
            shape.fill(&mut value);
        } else {
            value.sort_all_objects();
        }
        Some(match self.representation {
            Representation::Whole => frame("BOOKMARK", &encode(&value)),
            Representation::Metadata => frame("BOOKMARK", &encode(&partial_metadata(&value))),
            Representation::Table(include) => {
                let object = Arc::new(Object::new(value, ChangeKind::Modified));
                frame("BOOKMARK", &self.table(include, &object, kind, wall, now))
            }
        })
    }

    fn encode(
        &mut self,
        told: ChangeKind,
        object: &Arc<Object>,
        kind: &ResourceType,
        wall: Wall,
        now: Time,
    ) -> Bytes {
        match self.representation {
            Representation::Whole => object.frame(told, false),
            Representation::Metadata => object.frame(told, true),
            Representation::Table(include) => {
                frame(told.as_str(), &self.table(include, object, kind, wall, now))
            }
        }
    }

    /// A Table with one row; only a watch's first has columns.
    fn table(
        &mut self,
        include: IncludeObject,
        object: &Arc<Object>,
        kind: &ResourceType,
        wall: Wall,
        now: Time,
    ) -> Bytes {
        let with_columns = !self.columns_sent;
        self.columns_sent = true;
        let row = std::slice::from_ref(object);
        encode(&table::watch_event(
            row,
            kind,
            include,
            with_columns,
            wall,
            now,
        ))
    }
}
