//! The result of an audit's read: objects with their versions, and the facts that explain why they may soon be gone,
//! without bodies.

use std::sync::Arc;

use crate::{Object, ResourceVersion, Text, Uid};

/// An object as a read returned it, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The object's namespace, name and uid.
    pub object: Arc<Object>,
    /// The object's `metadata.resourceVersion`.
    pub version: ResourceVersion,
    /// The object's `metadata.deletionTimestamp`, as the server wrote it; `None` if nobody requested its deletion
    /// (docs/semantics/checks.md#trap-finalizers). It is also `None` if the timestamp is no text, or comes after an
    /// owner of a wrong type.
    pub deleted_at: Option<Text>,
    /// The uids in the object's `metadata.ownerReferences`, in their order; a reference without a uid is left out.
    /// Empty if the object has no owner, or the references are no array. From the first wrong type in an owner on, uids
    /// are left out.
    pub owners: Vec<Uid>,
}

/// The events that a second watch delivered, from its start to its end. The lifetime of that watch bounds the number of
/// events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The watch's ADDED, MODIFIED and DELETED events in their order; empty if it delivered none.
    pub events: Vec<Seen>,
    /// The version of the watch's last event or bookmark: the watch delivered every event up to that version. `None` if
    /// none came.
    pub reached: Option<ResourceVersion>,
}

/// A page of a list. The size of the response body bounds it; so does the `limit` of its request, unless a server
/// ignores the limit (docs/semantics/requests.md#parameters).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The list's resourceVersion, which is the same on each page of the list
    /// (docs/semantics/lists-and-watches.md#list); empty if the page has none.
    pub version: ResourceVersion,
    /// The continue token of the next page; `None` on the last page.
    pub token: Option<String>,
    /// The readable items, in the order of the page; empty if there are none.
    pub items: Vec<Seen>,
    /// The number of the page's items that are not in `items`, because the item, its name or its version cannot be
    /// read.
    pub unreadable: u64,
    /// Whether the items are whole objects: the server did not list only their metadata.
    pub is_whole: bool,
}
