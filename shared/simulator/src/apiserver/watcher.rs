//! One watch as the apiserver keeps it: what it selects, what it is past, and which frame a change becomes for it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::answers::Answers;
use super::negotiate::Representation;
use crate::change::Change;
use crate::json::{encode, sort_all};
use crate::kinds::{ResourceId, ResourceType};
use crate::kubectl::table::{IncludeObject, Rows};
use crate::object::{ChangeKind, Object, frame, partial_metadata};
use crate::schema::Struct;
use crate::selector::Selector;
use crate::time::{Time, Wall};

/// A watch.
#[derive(Debug)]
pub(super) struct Watcher {
    parameters: WatchParameters,
    /// Events and bookmarks at or below this are not sent: they are in what it was sent first, or were not wanted.
    floor: u64,
    /// Whether a Table's columns were sent: only the first has them.
    columns_sent: bool,
}

/// What a watch asks for, and how its server answers.
#[derive(Clone, Debug)]
pub(super) struct WatchParameters {
    pub(super) resource: ResourceId,
    pub(super) prefix: String,
    pub(super) selector: Selector,
    pub(super) representation: Representation,
    pub(super) bookmarks: bool,
    pub(super) deadline: Time,
    /// DELETED has the object's last version, as servers before 1.9.3 sent it (F23).
    pub(super) delete_keeps_old_revision: bool,
}

/// What the frames of a moment need to know.
#[derive(Clone, Copy)]
pub(super) struct Telling<'a> {
    pub(super) answers: Answers,
    pub(super) kind: &'a ResourceType,
    pub(super) wall: Wall,
    pub(super) now: Time,
}

impl Watcher {
    pub(super) fn new(parameters: WatchParameters, floor: u64) -> Watcher {
        Watcher {
            parameters,
            floor,
            columns_sent: false,
        }
    }

    pub(super) fn resource(&self) -> ResourceId {
        self.parameters.resource
    }

    pub(super) fn deadline(&self) -> Time {
        self.parameters.deadline
    }

    pub(super) fn bookmarks(&self) -> bool {
        self.parameters.bookmarks
    }

    pub(super) fn prefix(&self) -> &str {
        &self.parameters.prefix
    }

    /// Raises what the watch is past.
    pub(super) fn is_past(&mut self, revision: u64) {
        self.floor = self.floor.max(revision);
    }

    /// The frame of a synthetic ADDED of the initial events.
    pub(super) fn initial(&mut self, object: &Arc<Object>, telling: Telling<'_>) -> Bytes {
        self.encode(ChangeKind::Added, object, telling)
    }

    /// The frame a live change becomes for this watch, if it becomes one.
    pub(super) fn live(&mut self, change: &Change, telling: Telling<'_>) -> Option<Bytes> {
        if change.revision <= self.floor {
            return None;
        }
        self.event(change, telling)
    }

    /// The frame a change becomes for this watch, if it becomes one (docs/semantics/servers.md#type-translation).
    pub(super) fn event(&mut self, change: &Change, telling: Telling<'_>) -> Option<Bytes> {
        if !change.key.starts_with(self.prefix()) {
            return None;
        }
        let selector = &self.parameters.selector;
        let gone = change.kind == ChangeKind::Deleted;
        let matches = !gone && selector.matches(&change.object);
        let matched = change
            .previous
            .as_ref()
            .is_some_and(|o| selector.matches(o));
        let told = match (matches, matched) {
            (true, false) => ChangeKind::Added,
            (true, true) => ChangeKind::Modified,
            (false, true) => ChangeKind::Deleted,
            (false, false) => return None,
        };
        match &change.previous {
            Some(previous) if told == ChangeKind::Deleted => {
                if self.parameters.delete_keeps_old_revision {
                    Some(self.encode(told, previous, telling))
                } else if gone {
                    Some(self.encode(told, &change.object, telling))
                } else {
                    // It left the selection and is still there: the watch gets its last matching state.
                    let last = previous.at_revision(change.revision, told);
                    Some(self.encode(told, &Arc::new(last), telling))
                }
            }
            _ => Some(self.encode(told, &change.object, telling)),
        }
    }

    /// The frame of a bookmark at `revision`, unless it says nothing new; `ends_initial` marks the end of the
    /// initial events, which is always told.
    pub(super) fn bookmark(
        &mut self,
        revision: u64,
        ends_initial: bool,
        telling: Telling<'_>,
    ) -> Option<Bytes> {
        if !self.bookmarks() || (revision <= self.floor && !ends_initial) {
            return None;
        }
        let mut value = json!({
            "kind": telling.kind.kind,
            "apiVersion": telling.kind.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if ends_initial {
            value["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        if let Some(shape) = Struct::of(telling.kind) {
            shape.fill(&mut value);
        } else {
            sort_all(&mut value);
        }
        Some(match self.parameters.representation {
            Representation::Whole => frame("BOOKMARK", &encode(&value)),
            Representation::Metadata => frame("BOOKMARK", &encode(&partial_metadata(&value))),
            Representation::Table(include) => {
                let object = Arc::new(Object::new(value, ChangeKind::Modified));
                frame("BOOKMARK", &self.table(include, &object, telling))
            }
        })
    }

    /// The frame of a change as a server tells it that answers with Tables whatever was asked for (F39).
    pub(super) fn of_wrong_kind(
        &mut self,
        told: ChangeKind,
        object: &Arc<Object>,
        telling: Telling<'_>,
    ) -> Bytes {
        let table = self.table(IncludeObject::Metadata, object, telling);
        frame(told.as_str(), &table)
    }

    fn encode(&mut self, told: ChangeKind, object: &Arc<Object>, telling: Telling<'_>) -> Bytes {
        match self.parameters.representation {
            Representation::Whole => object.frame(told, false),
            Representation::Metadata => object.frame(told, true),
            Representation::Table(include) => {
                frame(told.as_str(), &self.table(include, object, telling))
            }
        }
    }

    /// A Table with one row; only a watch's first has columns.
    fn table(
        &mut self,
        include: IncludeObject,
        object: &Arc<Object>,
        telling: Telling<'_>,
    ) -> Bytes {
        let with_columns = !self.columns_sent;
        self.columns_sent = true;
        let Telling {
            answers,
            kind,
            wall,
            now,
        } = telling;
        let rows = Rows {
            objects: std::slice::from_ref(object),
            kind,
            include,
            with_columns,
            wall,
            now,
        };
        let table = answers.watch_event(rows);
        table.map_or_else(|| object.json(), |table| encode(&table))
    }
}
