//! What a read of the audit returned: objects by who they are, their versions and what makes one suspect, no bodies.

use std::sync::Arc;

use crate::{Object, ResourceVersion, Text, Uid};

/// An object as a read returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Which.
    pub object: Arc<Object>,
    /// Its version.
    pub version: ResourceVersion,
    /// Since when it is to be deleted, as the server has it: of RFC 3339 in UTC the order of texts is that of times.
    pub deleted_at: Option<Text>,
    /// Whom it belongs to, and is to be deleted with.
    pub owners: Vec<Uid>,
}

/// What a watch of a second told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its events in their order, each with the version it is of.
    pub events: Vec<Seen>,
    /// The version of the last event or bookmark: it told of all up to there.
    pub reached: Option<ResourceVersion>,
}

/// A page of a list. Bounded by the `limit` it was asked for with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The list's version.
    pub version: ResourceVersion,
    /// Where the next page begins.
    pub token: Option<String>,
    /// Its items.
    pub items: Vec<Seen>,
    /// Items of which not even name and version can be read.
    pub unreadable: u64,
    /// Its items came whole, though their metadata alone was asked for.
    pub is_whole: bool,
}
