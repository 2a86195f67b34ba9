//! One write, as etcd keeps and tells it.

use std::sync::Arc;

use crate::kinds::ResourceId;
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// One write: each touches one key, so one revision is one change (docs/semantics/servers.md#revisions).
#[derive(Debug)]
pub struct Change {
    /// etcd's revision, which is the resourceVersion.
    pub revision: u64,
    /// When it was committed.
    pub at: Time,
    /// The resource of its object.
    pub resource: ResourceId,
    /// The key under `/registry/`.
    pub key: Arc<str>,
    /// What the write did.
    pub kind: ChangeKind,
    /// The object after the write; for a deletion the last stored state with the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the write.
    pub previous: Option<Arc<Object>>,
}
