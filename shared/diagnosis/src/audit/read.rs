//! A request of the audit, and its result.

use watchscope_model::event::RequestSent;
use watchscope_model::read::{Page, Seen, Told};
use watchscope_model::request::{ACCEPT_METADATA, ACCEPT_METADATA_LIST};
use watchscope_model::vocabulary::Verb;
use watchscope_model::{ConnectionId, RequestId, ResourceVersion, Text, WatchName};

/// A GET request that the driver has to send over a connection of the audit. A second watch of the same objects must
/// use another connection than other reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The name of the watch that the read is for.
    pub watch: WatchName,
    /// The name under which the log has the read: the watch's name with `#a`, or with `#w` for a second watch.
    pub lane: WatchName,
    /// The address (`host:port`) of the apiserver that watch and read are pinned to; `None` if any server may answer.
    pub server: Option<Text>,
    /// What the request does: `Get` for one object, `List`, or `Watch` for a second watch.
    pub verb: Verb,
    /// URL path, percent-encoded.
    pub path: String,
    /// Query without its question mark, percent-encoded; `None` for a `Get`.
    pub query: Option<String>,
}

impl Read {
    /// Returns path and query as the target of a request line (RFC 9112, section 3.2.1): `PATH?QUERY`, percent-encoded
    /// as the fields are. Without a query, as for a `Get`, the target is the path alone.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// Returns the value of the `Accept` header. The value asks for metadata as JSON
    /// (docs/semantics/requests.md#forms), because only metadata is compared.
    #[must_use]
    pub fn accept(&self) -> &'static str {
        if self.verb == Verb::List {
            ACCEPT_METADATA_LIST
        } else {
            ACCEPT_METADATA
        }
    }

    /// Returns the event that records that this request was sent over a connection.
    #[must_use]
    pub fn sent(&self, request: RequestId, connection: ConnectionId) -> RequestSent {
        RequestSent {
            watch: self.lane.clone(),
            request,
            connection,
            verb: self.verb.word().into(),
            path: self.path.as_str().into(),
            query: self.query.clone(),
        }
    }

    /// Returns the reply for an answer with this HTTP status; `status` is `None` if no complete answer came. `current`,
    /// `one`, `page` and `told` parse the answer's body, and only the function that fits the request and status is
    /// called. A status of 200 whose body cannot be parsed is [`Reply::Failed`]; so is a missing status.
    /// `retry_after_ms` counts only for a status other than 200.
    pub fn reply(
        &self,
        status: Option<u16>,
        retry_after_ms: Option<u64>,
        current: impl FnOnce() -> Option<ResourceVersion>,
        one: impl FnOnce() -> Option<Seen>,
        page: impl FnOnce() -> Option<Page>,
        told: impl FnOnce() -> Option<Told>,
    ) -> Reply {
        let reply = match status {
            Some(200) if self.verb == Verb::Get => one().map(Reply::One),
            Some(200) if self.verb == Verb::Watch => told().map(Reply::Told),
            Some(200) => page().map(Reply::Page),
            Some(status) => Some(Reply::Refused {
                status,
                retry_after_ms,
                current: current(),
            }),
            None => None,
        };
        reply.unwrap_or(Reply::Failed)
    }
}

/// The result of a [`Read`], with the versions as the server wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A page of a list; it may have no items.
    Page(Page),
    /// The object that a `Get` found.
    One(Seen),
    /// The events of a second watch, from its begin to its end; there may be none.
    Told(Told),
    /// An HTTP status other than 200.
    Refused {
        /// The status.
        status: u16,
        /// The wait that the server asks for, in ms; `None` if it asks for none.
        retry_after_ms: Option<u64>,
        /// The resourceVersion that the server has reached, if it says that it has not reached the requested one
        /// (docs/semantics/requests.md#too-large); else `None`.
        current: Option<ResourceVersion>,
    },
    /// An answer of 200 that cannot be parsed, or no complete answer.
    Failed,
    /// There was no connection to the server, or there were no credentials for it.
    Unreached,
}

impl Reply {
    /// Returns the reply with all versions marked as having no order, for an aggregated apiserver.
    pub(super) fn unordered(mut self) -> Self {
        let seen = |seen: &mut Seen| seen.version = seen.version.unordered();
        match &mut self {
            Self::Page(page) => {
                page.version = page.version.unordered();
                page.items.iter_mut().for_each(seen);
            }
            Self::One(one) => seen(one),
            Self::Told(_) | Self::Refused { .. } | Self::Failed | Self::Unreached => {}
        }
        self
    }
}
