//! The result of an audit's read: objects with their versions and the facts that make them suspect, without bodies.

use std::sync::Arc;

use crate::{Object, ResourceVersion, Text, Uid};

/// An object as a read returned it, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The object's namespace, name and uid.
    pub object: Arc<Object>,
    /// Its `metadata.resourceVersion`.
    pub version: ResourceVersion,
    /// Its `metadata.deletionTimestamp`, as the server wrote it; `None` if its deletion was not requested
    /// (docs/semantics/checks.md#trap-finalizers). Also if it is no text, or stands behind an owner of a wrong type.
    pub deleted_at: Option<Text>,
    /// The uids in its `metadata.ownerReferences`, in their order; a reference without a uid is left out. Empty if it
    /// has no owner. From the first wrong type in an owner or in the deletion timestamp on, uids are left out.
    pub owners: Vec<Uid>,
}

/// The events that a second watch delivered, from its start to its end. The lifetime of that watch bounds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its ADDED, MODIFIED and DELETED events in their order; empty if it delivered none.
    pub events: Vec<Seen>,
    /// The version of its last event or bookmark: it delivered every event up to there. `None` if none came.
    pub reached: Option<ResourceVersion>,
}

/// A page of a list. The size of the response body bounds it; so does the `limit` of its request, unless a server
/// ignores that (docs/semantics/requests.md#parameters).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The list's resourceVersion, the same on each of its pages (docs/semantics/lists-and-watches.md#list); empty if
    /// the page has none.
    pub version: ResourceVersion,
    /// The continue token of the next page; `None` on the last one.
    pub token: Option<String>,
    /// Its readable items, in the order of the page; empty if it has none.
    pub items: Vec<Seen>,
    /// The number of items that are not in `items`, because they or their name or version cannot be read.
    pub unreadable: u64,
    /// Whether the items are whole objects: the server did not list their metadata alone.
    pub is_whole: bool,
}
