//! A watch as its apiserver keeps it: its selectors, its position, and the frame of each change.

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

/// A client's watch on the apiserver's side.
#[derive(Debug)]
pub(super) struct Watcher {
    parameters: WatchParameters,
    /// Events and bookmarks at or below this revision are not sent. Such events are already in the watch's first
    /// events, or the client did not request them.
    floor: u64,
    /// Whether a Table's columns were sent: only the first Table of a watch has them.
    columns_sent: bool,
}

/// The parameters of a watch, and the form of its frames.
#[derive(Clone, Debug)]
pub(super) struct WatchParameters {
    pub(super) resource: ResourceId,
    pub(super) prefix: String,
    pub(super) selector: Selector,
    pub(super) representation: Representation,
    pub(super) bookmarks: bool,
    pub(super) deadline: Time,
    /// Whether a DELETED has the object's last version, as servers before 1.9.3 sent it (F23).
    pub(super) delete_keeps_old_revision: bool,
}

/// The context in which the server makes the frames of one point in time.
#[derive(Clone, Copy)]
pub(super) struct FrameContext<'a> {
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

    /// Raises the position of the watch to `revision`.
    pub(super) fn is_past(&mut self, revision: u64) {
        self.floor = self.floor.max(revision);
    }

    /// Returns the frame of an object of the initial state, as a synthetic ADDED.
    pub(super) fn initial(&mut self, object: &Arc<Object>, context: FrameContext<'_>) -> Bytes {
        self.encode(ChangeKind::Added, object, context)
    }

    /// Returns the frame of a live change for this watch; `None` if the watch does not get the change.
    pub(super) fn live(&mut self, change: &Change, context: FrameContext<'_>) -> Option<Bytes> {
        if change.revision <= self.floor {
            return None;
        }
        self.event(change, context)
    }

    /// Returns the frame of a change for this watch; `None` if the change does not concern the watch
    /// (docs/semantics/servers.md#type-translation).
    pub(super) fn event(&mut self, change: &Change, context: FrameContext<'_>) -> Option<Bytes> {
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
        let delivered = match (matches, matched) {
            (true, false) => ChangeKind::Added,
            (true, true) => ChangeKind::Modified,
            (false, true) => ChangeKind::Deleted,
            (false, false) => return None,
        };
        match &change.previous {
            Some(previous) if delivered == ChangeKind::Deleted => {
                if self.parameters.delete_keeps_old_revision {
                    Some(self.encode(delivered, previous, context))
                } else if gone {
                    Some(self.encode(delivered, &change.object, context))
                } else {
                    // The object left the selection and still exists: the watch gets its last matching state.
                    let last = previous.at_revision(change.revision, delivered);
                    Some(self.encode(delivered, &Arc::new(last), context))
                }
            }
            _ => Some(self.encode(delivered, &change.object, context)),
        }
    }

    /// Returns the frame of a bookmark at `revision`; `None` if the revision is not new, or the watch gets no
    /// bookmarks. With `ends_initial` the bookmark marks the end of the initial events, and is sent at any revision.
    pub(super) fn bookmark(
        &mut self,
        revision: u64,
        ends_initial: bool,
        context: FrameContext<'_>,
    ) -> Option<Bytes> {
        if !self.bookmarks() || (revision <= self.floor && !ends_initial) {
            return None;
        }
        let mut value = json!({
            "kind": context.kind.kind,
            "apiVersion": context.kind.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if ends_initial {
            value["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        if let Some(shape) = Struct::of(context.kind) {
            shape.fill(&mut value);
        } else {
            sort_all(&mut value);
        }
        Some(match self.parameters.representation {
            Representation::Whole => frame("BOOKMARK", &encode(&value)),
            Representation::Metadata => frame("BOOKMARK", &encode(&partial_metadata(&value))),
            Representation::Table(include) => {
                let object = Arc::new(Object::new(value, ChangeKind::Modified));
                frame("BOOKMARK", &self.table(include, &object, context))
            }
        })
    }

    /// Returns the frame of a change from a server that answers with Tables, whatever the client requested (F39).
    pub(super) fn of_wrong_kind(
        &mut self,
        delivered: ChangeKind,
        object: &Arc<Object>,
        context: FrameContext<'_>,
    ) -> Bytes {
        let table = self.table(IncludeObject::Metadata, object, context);
        frame(delivered.as_str(), &table)
    }

    fn encode(
        &mut self,
        delivered: ChangeKind,
        object: &Arc<Object>,
        context: FrameContext<'_>,
    ) -> Bytes {
        match self.parameters.representation {
            Representation::Whole => object.frame(delivered, false),
            Representation::Metadata => object.frame(delivered, true),
            Representation::Table(include) => {
                frame(delivered.as_str(), &self.table(include, object, context))
            }
        }
    }

    /// Returns a Table with one row; only the first Table of a watch has columns.
    fn table(
        &mut self,
        include: IncludeObject,
        object: &Arc<Object>,
        context: FrameContext<'_>,
    ) -> Bytes {
        let with_columns = !self.columns_sent;
        self.columns_sent = true;
        let FrameContext {
            answers,
            kind,
            wall,
            now,
        } = context;
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
