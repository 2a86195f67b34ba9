//! A write, as etcd keeps it and delivers it to watches.

use std::sync::Arc;

use crate::kinds::ResourceId;
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// One write. Each write touches one key, so one revision is one change (docs/semantics/servers.md#revisions).
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
    /// What the write did to the key.
    pub kind: ChangeKind,
    /// The object after the write; for a deletion its last stored state, with the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the write, if the key existed.
    pub previous: Option<Arc<Object>>,
}
