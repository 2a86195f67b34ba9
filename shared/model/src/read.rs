//! The result of an audit's read: objects with their versions and the facts that make them suspect, without bodies.

use std::sync::Arc;

use crate::{Object, ResourceVersion, Text, Uid};

/// An object as a read returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The object.
    pub object: Arc<Object>,
    /// Its version.
    pub version: ResourceVersion,
    /// Its deletion timestamp, as the server wrote it: RFC 3339 in UTC, so texts sort by time.
    pub deleted_at: Option<Text>,
    /// The uids of its owners; the garbage collector deletes it with them.
    pub owners: Vec<Uid>,
}

/// What a second watch delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its events in their order, each with its version.
    pub events: Vec<Seen>,
    /// The version of its last event or bookmark: it delivered every event up to there.
    pub reached: Option<ResourceVersion>,
}

/// A page of a list. The `limit` of its request bounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The list's version.
    pub version: ResourceVersion,
    /// The continue token of the next page; absent on the last one.
    pub token: Option<String>,
    /// Its items.
    pub items: Vec<Seen>,
    /// The number of items whose name or version cannot be read.
    pub unreadable: u64,
    /// Whether the items are whole objects, although only their metadata was requested.
    pub is_whole: bool,
}
