//! The audit in a simulated cluster: carries out its reads over a connection of its own, as `backend/src/audit` does over
//! sockets, and decides nothing.

use watchscope_diagnosis::audit::{Read, Reply};
use watchscope_model::event::RequestAnswered;
use watchscope_model::field::Headers;
use watchscope_model::{ConnectionId, RequestId, Time};
use watchscope_probe::{asked_to_wait_ms, headers_worth_keeping, read_object, read_page};
use watchscope_simulator as sim;

/// A read without an answer is given up after so long, in milliseconds; an apiserver answers within 60 s or not at all.
pub(crate) const PATIENCE_MS: u64 = 70_000;

/// The connection of the audit, and the read on it.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) world: sim::ConnectionId,
    pub(crate) log: Option<ConnectionId>,
    pub(crate) asked: Option<Asked>,
}

/// A read under way.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) read: Read,
    pub(crate) until: Time,
    /// Its ids in the world and in the log, once it is sent.
    pub(crate) ids: Option<(sim::RequestId, RequestId)>,
    status: Option<u16>,
    headers: Headers,
    body: Vec<u8>,
}

impl Asked {
    pub(crate) fn new(read: Read, now: Time) -> Self {
        Self {
            read,
            until: now.plus_millis(PATIENCE_MS),
            ids: None,
            status: None,
            headers: Headers::default(),
            body: Vec::new(),
        }
    }

    pub(crate) fn request(&self) -> sim::Request {
        sim::Request::get(&self.read.target())
            .header("accept", self.read.accept())
            .header("user-agent", "watchscope-audit")
    }

    pub(crate) fn head(&mut self, head: &sim::Head) {
        self.status = Some(head.status);
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str().into(), value.as_str().into()));
        self.headers = Headers(headers.collect());
    }

    pub(crate) fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    /// The answer, as it is recorded and as the audit reads it. `error`: why there is none, or not all of it.
    pub(crate) fn answered(&self, error: Option<&str>) -> (RequestAnswered, Reply) {
        // The body of what is no refusal is long, and no Status.
        let refused = self.status.filter(|&status| status != 200);
        let retry_after_ms = refused.and_then(|_| asked_to_wait_ms(&self.headers, &self.body));
        let event = RequestAnswered {
            watch: self.read.lane.clone(),
            request: self.ids.map_or(RequestId(0), |(_, request)| request),
            status: self.status,
            headers: headers_worth_keeping(self.headers.clone()),
            retry_after_ms,
            error: error.map(str::to_owned),
        };
        let reply = self.read.reply(
            self.status.filter(|_| error.is_none()),
            retry_after_ms,
            || read_object(&self.body),
            || read_page(&self.body),
        );
        (event, reply)
    }
}
