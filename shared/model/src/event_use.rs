//! Methods of events: constructors for common cases, and the meaning of a field's word.

use crate::event::{
    Attribution, Audit, ClientReport, ClientStarted, ConnectionClosed, Loss, Note, RequestAnswered,
    RequestSent, WatchStarted,
};
use crate::id::{ConnectionId, Seq, WatchName};
use crate::options::ListOptions;
use crate::row::Attributed;
use crate::vocabulary::{
    AuditMethod, AuditOutcome, Author, Authority, Cause, ClientPhase, ClientProgram, LossPlace,
    Verb,
};

impl WatchStarted {
    /// A watch of a resource at version `v1`, in all namespaces or of cluster-scoped objects, and without selectors. An
    /// empty `group` is core.
    #[must_use]
    pub fn plain(watch: WatchName, group: &str, resource: &str) -> Self {
        Self {
            watch,
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        }
    }
}

impl Note {
    /// A note about the time of its own record and the whole cluster, which replaces no other note.
    #[must_use]
    pub fn new(author: Author, text: String) -> Self {
        Self {
            author,
            text,
            watch: None,
            over: None,
            object: None,
            from: None,
            to: None,
            replaces: None,
        }
    }
}

impl Loss {
    /// The loss of all records from `first` to `last`, both included. `last` must not be before `first`: a debug build
    /// panics, and a release build wraps the count.
    #[must_use]
    pub fn of_run(place: LossPlace, first: Seq, last: Seq) -> Self {
        Self {
            place,
            count: last.0 - first.0 + 1,
            from_seq: Some(first),
            to_seq: Some(last),
            watch: None,
            bytes: None,
            reason: None,
            what: None,
        }
    }
}

impl ConnectionClosed {
    /// The end of a connection whose server was sent no ping.
    #[must_use]
    pub fn unasked(connection: ConnectionId, cause: Cause) -> Self {
        Self {
            connection,
            cause,
            ping_ms: None,
        }
    }
}

impl ClientReport {
    /// The client's phase; [`ClientPhase::Unknown`] if the word in the record is not in the closed list.
    #[must_use]
    pub fn doing(&self) -> ClientPhase {
        ClientPhase::of(&self.phase)
    }
}

impl RequestSent {
    /// The request's verb; [`Verb::Unknown`] if the word in the record is not in the closed list.
    #[must_use]
    pub fn verb(&self) -> Verb {
        Verb::of(&self.verb)
    }

    /// The options of the request's query, for a list or a watch. Without a query all options are absent or false.
    #[must_use]
    pub fn options(&self) -> ListOptions<'_> {
        ListOptions::parse(self.query.as_deref().unwrap_or_default())
    }
}

impl RequestAnswered {
    /// Whether the request failed: no answer, a broken one, or a status other than 200.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.error.is_some() || self.status != Some(200)
    }
}

impl ClientStarted {
    /// The program; [`ClientProgram::Unknown`] if the word in the record is not in the closed list.
    #[must_use]
    pub fn program(&self) -> ClientProgram {
        ClientProgram::of(&self.program)
    }
}

/// The fields of an audit as values of closed lists, and what they imply.
impl Audit {
    /// How the read was made; [`AuditMethod::Unknown`] if the word in the record is not in the closed list.
    #[must_use]
    pub fn method(&self) -> AuditMethod {
        AuditMethod::of(&self.method)
    }

    /// The result of the comparison; [`AuditOutcome::Unknown`] if the word in the record is not in the closed list.
    #[must_use]
    pub fn outcome(&self) -> AuditOutcome {
        AuditOutcome::of(&self.outcome)
    }

    /// Whether the read compared all objects that the watch held at the record's `resource_version`; false if unknown.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole == Some(true)
    }

    /// Whether the read may show only the belief of the apiserver's watch cache (docs/semantics/checks.md#reads). True
    /// unless the record states that etcd answered. The result is true for a GET of one object or of sampled objects,
    /// too, because its record states no source.
    #[must_use]
    pub fn may_be_a_caches(&self) -> bool {
        self.authority != Some(Authority::Etcd)
    }
}

impl Attribution {
    /// The meaning of the attribution's code; `None` for a code of a later version, and for any other text.
    #[must_use]
    pub fn why(&self) -> Option<Attributed> {
        Attributed::of(&self.code)
    }
}
