//! The audit in a simulated cluster: carries out its reads over connections of its own, one to each server, as
//! `backend/src/audit` does over sockets, and decides nothing.

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

/// A read without an answer is given up after so long, in milliseconds; an apiserver answers within 60 s or not at all.
const PATIENCE_MS: u64 = 70_000;

/// A connection of the audit, and the read on it.
#[derive(Debug)]
pub(super) struct AuditLink {
    pub(super) world: sim::ConnectionId,
    /// The only server it leads to, as the watches that are asked about.
    server: Option<Text>,
    /// Second watches go over one of their own.
    is_witness: bool,
    log: Option<ConnectionId>,
    pub(super) asked: Option<Asked>,
}

/// A read under way.
#[derive(Debug)]
pub(super) struct Asked {
    read: Read,
    pub(super) until: Time,
    /// Its ids in the world and in the log, once it is sent.
    ids: Option<(sim::RequestId, RequestId)>,
    status: Option<u16>,
    headers: Headers,
    body: Vec<u8>,
}

/// What carries out the reads of an audit: a table of functions that [`Run::audit`] fills. A lesson never audits, so its
/// module holds none of them.
#[derive(Clone, Copy)]
pub(super) struct Reads {
    /// Asks what the audit wants to know next.
    pub(super) ask: fn(&mut Run),
    /// Something came over a connection of the audit's.
    pub(super) take: fn(&mut Run, usize, Arrival),
    /// Gives up the reads that are late by now.
    pub(super) give_up: fn(&mut Run, Time),
}

/// How reads are carried out.
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
                    asked: None,
                });
                self.audits.len() - 1
            });
            self.audits[link].asked = Some(Asked::new(read, now));
            self.send_audit(link);
        }
    }

    fn send_audit(&mut self, link: usize) {
        let now = self.now();
        let link = &mut self.audits[link];
        if let (Some(asked), Some(connection)) = (&mut link.asked, link.log) {
            let request = self.ids.request();
            asked.ids = Some((self.world.send(link.world, asked.request()), request));
            let sent = asked.read.sent(request, connection);
            self.recorder.record(sent.into(), now);
        }
    }

    fn take_audit(&mut self, link: usize, arrival: Arrival) {
        let asked = &mut self.audits[link].asked;
        let under_way = asked.as_ref().and_then(|asked| asked.ids).map(|(id, _)| id);
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
                if let Some(asked) = asked {
                    asked.head(&head);
                }
            }
            Arrival::Chunk { bytes, .. } => {
                if let Some(asked) = asked {
                    asked.body(&bytes);
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
        let Some(asked) = self.audits[link].asked.take() else {
            return;
        };
        let now = self.now();
        let (event, reply) = asked.answered(error);
        if asked.ids.is_some() {
            self.recorder.record(event.into(), now);
        }
        self.recorder.answer(&asked.read, reply, now);
    }

    /// A connection of the audit's is gone.
    fn lose_audit(&mut self, link: usize, cause: Option<Cause>, why: &str) {
        self.answer_audit(link, Some(why));
        let log = self.audits.remove(link).log;
        if let (Some(connection), Some(cause)) = (log, cause) {
            let event = ConnectionClosed::unasked(connection, cause);
            self.recorder.record(event.into(), self.now());
        }
    }

    fn give_up_audit(&mut self, now: Time) {
        let is_late =
            |link: &AuditLink| link.asked.as_ref().is_some_and(|asked| asked.until <= now);
        while let Some(link) = self.audits.iter().position(is_late) {
            self.world.close(self.audits[link].world);
            self.lose_audit(link, Some(Cause::Cancelled), "given up");
        }
    }
}

impl Asked {
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

    /// The answer, as it is recorded and as the audit reads it. `error`: why there is none, or not all of it.
    fn answered(&self, error: Option<&str>) -> (RequestAnswered, Reply) {
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
