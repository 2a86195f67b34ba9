//! A table of functions for answers other than objects, lists and watches.
//!
//! A cluster that is configured without these functions reaches none of their code, so a lesson's WebAssembly module
//! does not contain that code.

use serde_json::{Value, json};

use super::about::about_itself;
use super::answer::Answer;
use super::route::Route;
use crate::json::text;
use crate::kinds::Kinds;
use crate::kubectl::table::{self, Rows};
use crate::message::Request;
use crate::version::Version;

/// The choice whether an apiserver answers about itself (discovery, versions, health) and in Tables: [`Answers::ALL`]
/// or [`Answers::OBJECTS`].
#[derive(Clone, Copy, Debug)]
pub struct Answers(Option<&'static Table>);

#[derive(Debug)]
struct Table {
    about_itself: fn(&Route, &Request, &Kinds, Version) -> Answer,
    rows: fn(Rows<'_>, Value) -> Value,
}

/// The functions behind [`Answers::ALL`].
static ALL: Table = Table {
    about_itself,
    rows: table::table,
};

impl Answers {
    /// The server also answers paths about itself (version, health, discovery), and sends Tables where a client accepts
    /// them.
    pub const ALL: Self = Self(Some(&ALL));
    /// The server answers only requests for objects, lists and watches. A request about the apiserver itself gets 404;
    /// a request for a Table gets whole objects.
    pub const OBJECTS: Self = Self(None);

    /// Returns the answer about the apiserver itself; `None` if it is configured without such answers.
    pub(super) fn about_itself(
        self,
        route: &Route,
        request: &Request,
        kinds: &Kinds,
        version: Version,
    ) -> Option<Answer> {
        self.0
            .map(|table| (table.about_itself)(route, request, kinds, version))
    }

    /// Returns the Table of a watch event, with the resourceVersion of the event's object; `None` if the apiserver has
    /// no Tables.
    pub(super) fn watch_event(self, rows: Rows<'_>) -> Option<Value> {
        let revision = rows
            .objects
            .first()
            .map_or("", |o| text(o.value(), &["metadata", "resourceVersion"]));
        self.rows(rows, json!({"resourceVersion": revision}))
    }

    /// Returns a Table of objects with the list's `metadata`; `None` if the apiserver has no Tables.
    pub(super) fn rows(self, rows: Rows<'_>, metadata: Value) -> Option<Value> {
        self.0.map(|table| (table.rows)(rows, metadata))
    }
}

impl PartialEq for Answers {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_some() == other.0.is_some()
    }
}

impl Eq for Answers {}
