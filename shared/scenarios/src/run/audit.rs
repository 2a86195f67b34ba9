//! The audit in a simulated cluster. This module carries out the audit's reads over connections of the audit's own, one
//! to each server, as `backend/src/audit` does over sockets. The module decides nothing.

use watchscope_diagnosis::audit::{Read, Reply};
use watchscope_model::event::{ConnectionClosed, ConnectionOpened, RequestAnswered};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::{Cause, Verb};
use watchscope_model::{ConnectionId, RequestId, Text, Time};
use watchscope_probe::{
    Ids as _, asked_to_wait_ms, headers_worth_keeping, read_current, read_object, read_page,
    read_watch,
};
use watchscope_simulator::{self as sim, Arrival, Cut};

use super::Run;
use super::links::{opened, server_at};

/// How long a read waits for its answer, in milliseconds; after this time the read is given up and its connection
/// closed. An apiserver answers within 60 s or not at all (docs/semantics/servers.md#request-timeout). The number has
/// no other source.
const PATIENCE_MS: u64 = 70_000;

/// A connection of the audit, and the pending read on that connection.
#[derive(Debug)]
pub(super) struct AuditLink {
    pub(super) world: sim::ConnectionId,
    /// The only server that the connection leads to, because the audited watches are pinned to it; `None` for any
    /// server.
    server: Option<Text>,
    /// Whether the connection is for the audit's second watches, which do not share a connection with the other reads.
    is_witness: bool,
    log: Option<ConnectionId>,
    pub(super) pending: Option<PendingRead>,
}

/// A read of the audit that has no answer yet.
#[derive(Debug)]
pub(super) struct PendingRead {
    read: Read,
    pub(super) until: Time,
    /// The request's ids in the world and in the log; `None` until the request is sent.
    ids: Option<(sim::RequestId, RequestId)>,
    status: Option<u16>,
    headers: Headers,
    body: Vec<u8>,
}

/// The functions that carry out the reads of an audit, in a table that [`Run::audit`] fills. A lesson never audits, so
/// its module contains none of them.
#[derive(Clone, Copy)]
pub(super) struct Reads {
    /// Sends the reads that the audit wants next.
    pub(super) ask: fn(&mut Run),
    /// Takes an arrival on one of the audit's connections.
    pub(super) take: fn(&mut Run, usize, Arrival),
    /// Gives up the reads that have waited for [`PATIENCE_MS`].
    pub(super) give_up: fn(&mut Run, Time),
}

/// The table of functions that [`Run::audit`] puts into a run.
pub(super) const READS: Reads = Reads {
    ask: Run::ask_audit,
    take: Run::take_audit,
    give_up: Run::give_up_audit,
};

impl Run {
    fn ask_audit(&mut self) {
        let now = self.now();
        while let Some(read) = self.recorder.ask(now) {
            let is_witness = read.verb == Verb::Watch;
            let is_its =
                |link: &AuditLink| link.server == read.server && link.is_witness == is_witness;
            let link = self.audits.iter().position(is_its).unwrap_or_else(|| {
                let server = read.server.clone();
                let world = self.connect(server.as_deref().and_then(server_at));
                self.audits.push(AuditLink {
                    world,
                    server,
                    is_witness,
                    log: None,
                    pending: None,
                });
                self.audits.len() - 1
            });
            self.audits[link].pending = Some(PendingRead::new(read, now));
            self.send_audit(link);
        }
    }

    fn send_audit(&mut self, link: usize) {
        let now = self.now();
        let link = &mut self.audits[link];
        if let (Some(pending), Some(connection)) = (&mut link.pending, link.log) {
            let request = self.ids.request();
            pending.ids = Some((self.world.send(link.world, pending.request()), request));
            let sent = pending.read.sent(request, connection);
            self.recorder.record(sent.into(), now);
        }
    }

    fn take_audit(&mut self, link: usize, arrival: Arrival) {
        let pending = &mut self.audits[link].pending;
        let under_way = pending
            .as_ref()
            .and_then(|pending| pending.ids)
            .map(|(id, _)| id);
        if arrival.request().is_some() && arrival.request() != under_way {
            return;
        }
        match arrival {
            Arrival::Connected => {
                self.ids.connection += 1;
                let connection = ConnectionId(self.ids.connection);
                let now = self.now();
                let to = &mut self.audits[link];
                to.log = Some(connection);
                let server = to.server.as_deref().and_then(server_at);
                let version = self.world.version_at(to.world);
                let event = ConnectionOpened {
                    version: version.map(|version| version.to_string().as_str().into()),
                    ..opened(connection, server)
                };
                self.recorder.record(event.into(), now);
                self.send_audit(link);
            }
            Arrival::Head { head, .. } => {
                if let Some(pending) = pending {
                    pending.head(&head);
                }
            }
            Arrival::Chunk { bytes, .. } => {
                if let Some(pending) = pending {
                    pending.body(&bytes);
                }
            }
            Arrival::End { .. } => self.answer_audit(link, None),
            Arrival::Reset { .. } => self.answer_audit(link, Some("the stream was reset")),
            Arrival::GoAway => {}
            Arrival::Refused => self.lose_audit(link, None, "the connection was refused"),
            Arrival::Closed(Cut::Reset) => {
                self.lose_audit(link, Some(Cause::TcpReset), "the connection was reset");
            }
            Arrival::Closed(Cut::Eof) => {
                self.lose_audit(link, Some(Cause::Eof), "the connection was closed");
            }
        }
    }

    fn answer_audit(&mut self, link: usize, error: Option<&str>) {
        let Some(pending) = self.audits[link].pending.take() else {
            return;
        };
        let now = self.now();
        let (event, reply) = pending.answered(error);
        if pending.ids.is_some() {
            self.recorder.record(event.into(), now);
        }
        self.recorder.answer(&pending.read, reply, now);
    }

    /// Handles the loss of a connection of the audit.
    fn lose_audit(&mut self, link: usize, cause: Option<Cause>, why: &str) {
        self.answer_audit(link, Some(why));
        let log = self.audits.remove(link).log;
        if let (Some(connection), Some(cause)) = (log, cause) {
            let event = ConnectionClosed::unasked(connection, cause);
            self.recorder.record(event.into(), self.now());
        }
    }

    fn give_up_audit(&mut self, now: Time) {
        let is_late = |link: &AuditLink| {
            link.pending
                .as_ref()
                .is_some_and(|pending| pending.until <= now)
        };
        while let Some(link) = self.audits.iter().position(is_late) {
            self.world.close(self.audits[link].world);
            self.lose_audit(link, Some(Cause::Cancelled), "given up");
        }
    }
}

impl PendingRead {
    fn new(read: Read, now: Time) -> Self {
        Self {
            read,
            until: now.plus_millis(PATIENCE_MS),
            ids: None,
            status: None,
            headers: Headers::default(),
            body: Vec::new(),
        }
    }

    fn request(&self) -> sim::Request {
        sim::Request::get(&self.read.target())
            .header("accept", self.read.accept())
            .header("user-agent", "watchscope-audit")
    }

    fn head(&mut self, head: &sim::Head) {
        self.status = Some(head.status);
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str().into(), value.as_str().into()));
        self.headers = Headers(headers.collect());
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    /// Returns the answer twice: as the log records it, and as the audit reads it. `error` says why the answer is
    /// missing or incomplete.
    fn answered(&self, error: Option<&str>) -> (RequestAnswered, Reply) {
        // Only a refusal has a Status as its body; other bodies are long.
        let refused = self.status.filter(|&status| status != 200);
        let retry_after_ms = refused.and_then(|_| asked_to_wait_ms(&self.headers, &self.body));
        let event = RequestAnswered {
            watch: self.read.lane.clone(),
            request: self.ids.map_or(RequestId(0), |(_, request)| request),
            status: self.status,
            headers: headers_worth_keeping(self.headers.clone()),
            retry_after_ms,
            error: error.map(str::to_owned),
            error_text: None,
        };
        let reply = self.read.reply(
            self.status.filter(|_| error.is_none()),
            retry_after_ms,
            || read_current(&self.body),
            || read_object(&self.body),
            || read_page(&self.body),
            || read_watch(&self.body),
        );
        (event, reply)
    }
}
