//! A write, as etcd keeps it in its history and delivers it to watches.

use std::sync::Arc;

use crate::kinds::ResourceId;
use crate::object::{ChangeKind, Object};
use crate::time::Time;

/// One write in etcd. Each write touches one key, so one revision is one change (docs/semantics/servers.md#revisions).
/// After a restore etcd gives the same revisions to other writes ([`Truth::restores`](crate::Truth::restores)).
#[derive(Debug)]
pub struct Change {
    /// etcd's revision of the write, which is the object's resourceVersion; the first write has 2.
    pub revision: u64,
    /// When the write was committed, in virtual time.
    pub at: Time,
    /// The resource of the written object.
    pub resource: ResourceId,
    /// The object's whole key in etcd: `/registry/pods/shop/web`.
    pub key: Arc<str>,
    /// What the write did to the key.
    pub kind: ChangeKind,
    /// The object after the write; for a deletion its last stored state, with the revision of the deletion.
    pub object: Arc<Object>,
    /// The object before the write; `None` if the key did not exist.
    pub previous: Option<Arc<Object>>,
}
