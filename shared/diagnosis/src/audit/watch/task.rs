//! One read for the audit of a watch.

use std::sync::Arc;

use watchscope_model::vocabulary::AuditMethod;
use watchscope_model::{Object, ResourceVersion};

use crate::audit::compare::{Comparison, Difference};

/// A read that the audit has to make.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// A list of all objects, at exactly a resourceVersion.
    Exact(Comparison),
    /// The first page of the newest list.
    Newest,
    /// A list that shows which version the server's watch cache has reached.
    Any,
    /// A GET of an object, as it is in etcd now.
    Get(Arc<Object>),
    /// A GET of an object for which a watch with a selector delivered a DELETED at this version: it may still exist.
    SelectorExit {
        object: Arc<Object>,
        version: ResourceVersion,
    },
    /// A list of one object, at exactly a resourceVersion. The second read of an object carries the difference that the
    /// first read found.
    One {
        object: Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
    },
    /// A list of one object that is confirmed to be wrong, at the very version that the watch holds. etcd may never
    /// have had the object at that version. The read is repeated if etcd does not have it.
    HistoryCheck {
        object: Arc<Object>,
        at: ResourceVersion,
        is_second: bool,
    },
}

impl Task {
    /// Returns whether the task reads this object alone.
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
