//! A request of the audit, and its result.

use watchscope_model::event::RequestSent;
use watchscope_model::read::{Page, Seen, Told};
use watchscope_model::request::{ACCEPT_METADATA, ACCEPT_METADATA_LIST};
use watchscope_model::vocabulary::Verb;
use watchscope_model::{ConnectionId, RequestId, ResourceVersion, Text, WatchName};

/// A request that the driver has to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The watch that it is for.
    pub watch: WatchName,
    /// Its name in the log: the watch's, with `#a`.
    pub lane: WatchName,
    /// The address of the apiserver that watch and read are pinned to; `None`: any.
    pub server: Option<Text>,
    /// Its verb.
    pub verb: Verb,
    /// URL path.
    pub path: String,
    /// Query, percent-encoded; `None` for a get.
    pub query: Option<String>,
}

impl Read {
    /// Returns path and query.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// Returns the `Accept` header: only metadata is compared.
    #[must_use]
    pub fn accept(&self) -> &'static str {
        if self.verb == Verb::List {
            ACCEPT_METADATA_LIST
        } else {
            ACCEPT_METADATA
        }
    }

    /// Returns the record of its request.
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

    /// Returns the reply for an answer of this status; `status` is `None` if no answer came whole. `current`, `one`,
    /// `page` and `told` parse its body.
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

/// The result of a [`Read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A page of a list.
    Page(Page),
    /// An object.
    One(Seen),
    /// The events of a watch, from its begin to its end.
    Told(Told),
    /// An HTTP status other than 200.
    Refused {
        /// The status.
        status: u16,
        /// The wait that the server asks for, in ms.
        retry_after_ms: Option<u64>,
        /// The version that the server has reached, if it says that it has not reached the requested one.
        current: Option<ResourceVersion>,
    },
    /// No answer that can be parsed.
    Failed,
    /// No connection, or no credentials for it.
    Unreached,
}

impl Reply {
    /// Returns the reply with versions that have no order, as another apiserver's.
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
