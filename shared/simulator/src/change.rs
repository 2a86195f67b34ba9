//! A write, as etcd keeps it and delivers it to watches.

use std::sync::Arc;

use crate::kinds::ResourceId;
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// One write. Each write touches one key, so one revision is one change (docs/semantics/servers.md#revisions). After a
/// restore revisions come again ([`Truth::restores`](crate::Truth::restores)).
#[derive(Debug)]
pub struct Change {
    /// etcd's revision, which is the resourceVersion; the first write has 2.
    pub revision: u64,
    /// When it was committed, in virtual time.
    pub at: Time,
    /// The resource of its object.
    pub resource: ResourceId,
    /// The whole key in etcd: `/registry/pods/shop/web`.
    pub key: Arc<str>,
    /// What the write did to the key.
    pub kind: ChangeKind,
    /// The object after the write; for a deletion its last stored state, with the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the write; `None` if the key did not exist.
    pub previous: Option<Arc<Object>>,
}
