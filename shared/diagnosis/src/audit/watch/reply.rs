//! A reply that a viewer waits for.

use std::sync::Arc;

use watchscope_model::Object;

/// The comparison that a viewer requested.
#[derive(Clone, Debug)]
pub(super) enum PendingReply {
    /// A comparison of the whole watch, and whether its objects are being looked up already.
    All { is_looked_into: bool },
    /// A comparison of one object of the watch.
    One(Arc<Object>),
}
