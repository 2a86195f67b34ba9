//! An apiserver's watches at etcd, each with its owner.

use watchscope_model::tree::BTreeMap;

use crate::etcd::{WatchRequest, WatcherId};
use crate::kinds::ResourceId;
use crate::message::RequestId;

/// The owner of a watch of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Cacher(ResourceId),
    Client(RequestId),
}

/// The watches that an apiserver has at etcd.
///
/// Bounded: the server has one watch of etcd per cacher and one per direct watch.
#[derive(Debug, Default)]
pub(super) struct Upstream(pub(super) BTreeMap<WatcherId, Watch>);

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) owner: Owner,
    pub(super) request: WatchRequest,
}
