//! One read of a watch.

use std::sync::Arc;

use watchscope_model::vocabulary::AuditMethod;
use watchscope_model::{Object, ResourceVersion};

use crate::audit::compare::{Comparison, Difference};

/// A read to make.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// All objects, at exactly a version.
    Exact(Comparison),
    /// The first page of the newest list.
    Newest,
    /// The version that the server's cache has reached.
    Any,
    /// An object, as it is now.
    Get(Arc<Object>),
    /// An object that a watch with a selector reported as deleted at a version: it may still be there.
    SelectorExit {
        object: Arc<Object>,
        version: ResourceVersion,
    },
    /// An object, at exactly a version. The second read carries the difference that the first one found.
    One {
        object: Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
    },
    /// An object that is confirmed to be wrong, at the very version that the watch holds. etcd may never have had it
    /// at that version. The read is repeated if etcd does not have it.
    HistoryCheck {
        object: Arc<Object>,
        at: ResourceVersion,
        is_second: bool,
    },
}

impl Task {
    /// Returns whether it reads this object alone.
    pub(super) fn is_of(&self, object: &Object) -> bool {
        let (Self::Get(of) | Self::One { object: of, .. }) = self else {
            return false;
        };
        same_place(of, object)
    }

    pub(super) fn method(&self) -> AuditMethod {
        match self {
            Self::Exact(_) => AuditMethod::ListExact,
            Self::Newest => AuditMethod::ListNewest,
            Self::Any => AuditMethod::ListAny,
            Self::Get(_) => AuditMethod::Get,
            Self::SelectorExit { .. } => AuditMethod::GetLeft,
            Self::One { .. } => AuditMethod::ListOne,
            Self::HistoryCheck { .. } => AuditMethod::ListOneTwice,
        }
    }
}

pub(crate) fn same_place(a: &Object, b: &Object) -> bool {
    a.name == b.name && a.namespace == b.namespace
}
