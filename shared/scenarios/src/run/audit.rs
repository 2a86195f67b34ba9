//! The audit in a simulated cluster: carries out its reads over a connection of its own, as `backend/src/audit` does over
//! sockets, and decides nothing.

use watchscope_diagnosis::audit::{Read, Reply};
use watchscope_model::event::{ConnectionClosed, RequestAnswered};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, Time};
use watchscope_probe::{Ids as _, asked_to_wait_ms, headers_worth_keeping, read_object, read_page};
use watchscope_simulator::{self as sim, Arrival, Cut, ServerId};

use super::{Recorder, Run, opened, server_at};
use crate::WHOLE;

/// A read without an answer is given up after so long, in milliseconds; an apiserver answers within 60 s or not at all.
const PATIENCE_MS: u64 = 70_000;

/// The connection of the audit, and the read on it.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) world: sim::ConnectionId,
    /// The only server it leads to, as the watch that is asked about.
    server: Option<ServerId>,
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

impl Run {
    /// Asks what the audit wants to know next.
    pub(super) fn ask_audit(&mut self) {
        if !WHOLE {
            return;
        }
        let now = self.now();
        self.recorder.append_audits(now);
        let Recorder { auditor, state, .. } = &mut self.recorder;
        let read = auditor
            .as_mut()
            .and_then(|auditor| auditor.next(now, state));
        self.recorder.append_audits(now);
        let Some(read) = read else {
            return;
        };
        let watch = self.recorder.state.watches.get(&read.watch);
        let server = watch.and_then(|watch| server_at(watch.server.as_deref()?));
        let asked = Asked::new(read, now);
        if let Some(wire) = self.audit.take_if(|wire| wire.server != server) {
            self.world.close(wire.world);
            if let Some(connection) = wire.log {
                let cause = Cause::Cancelled;
                let event = ConnectionClosed {
                    connection,
                    cause,
                    ping_ms: None,
                };
                self.recorder.record(event.into(), now);
            }
        }
        match &mut self.audit {
            Some(wire) => wire.asked = Some(asked),
            None => {
                let world = self.connect(server);
                self.audit = Some(Wire {
                    world,
                    server,
                    log: None,
                    asked: Some(asked),
                });
            }
        }
        self.send_audit();
    }

    fn send_audit(&mut self) {
        let now = self.now();
        let Some(wire) = &mut self.audit else {
            return;
        };
        if let (Some(asked), Some(connection)) = (&mut wire.asked, wire.log) {
            let request = self.recorder.ids.request();
            asked.ids = Some((self.world.send(wire.world, asked.request()), request));
            let sent = asked.read.sent(request, connection);
            self.recorder.record(sent.into(), now);
        }
    }

    /// Something came over the audit's connection.
    pub(super) fn take_audit(&mut self, arrival: Arrival) {
        if !WHOLE {
            return;
        }
        let Some(wire) = &mut self.audit else {
            return;
        };
        let under_way = wire
            .asked
            .as_ref()
            .and_then(|asked| asked.ids)
            .map(|(id, _)| id);
        if arrival.request().is_some() && arrival.request() != under_way {
            return;
        }
        match arrival {
            Arrival::Connected => {
                self.recorder.ids.connection += 1;
                let connection = ConnectionId(self.recorder.ids.connection);
                wire.log = Some(connection);
                let server = wire.server;
                self.recorder
                    .record(opened(connection, server).into(), self.now());
                self.send_audit();
            }
            Arrival::Head { head, .. } => {
                if let Some(asked) = &mut wire.asked {
                    asked.head(&head);
                }
            }
            Arrival::Chunk { bytes, .. } => {
                if let Some(asked) = &mut wire.asked {
                    asked.body(&bytes);
                }
            }
            Arrival::End { .. } => self.answer_audit(None),
            Arrival::Reset { .. } => self.answer_audit(Some("the stream was reset")),
            Arrival::GoAway => {}
            Arrival::Refused => self.lose_audit(None, "the connection was refused"),
            Arrival::Closed(Cut::Reset) => {
                self.lose_audit(Some(Cause::TcpReset), "the connection was reset");
            }
            Arrival::Closed(Cut::Eof) => {
                self.lose_audit(Some(Cause::Eof), "the connection was closed");
            }
        }
    }

    fn answer_audit(&mut self, error: Option<&str>) {
        let asked = self.audit.as_mut().and_then(|wire| wire.asked.take());
        let Some(asked) = asked else {
            return;
        };
        let now = self.now();
        let (event, reply) = asked.answered(error);
        if asked.ids.is_some() {
            self.recorder.record(event.into(), now);
        }
        let Recorder { auditor, state, .. } = &mut self.recorder;
        if let Some(auditor) = auditor {
            auditor.answer(reply, now, state);
        }
        self.recorder.append_audits(now);
    }

    /// The audit's connection is gone.
    fn lose_audit(&mut self, cause: Option<Cause>, why: &str) {
        self.answer_audit(Some(why));
        let log = self.audit.take().and_then(|wire| wire.log);
        if let (Some(connection), Some(cause)) = (log, cause) {
            let event = ConnectionClosed {
                connection,
                cause,
                ping_ms: None,
            };
            self.recorder.record(event.into(), self.now());
        }
    }

    pub(super) fn give_up_audit(&mut self, now: Time) {
        if !WHOLE {
            return;
        }
        let asked = self.audit.as_ref().and_then(|wire| wire.asked.as_ref());
        if asked.is_some_and(|asked| asked.until <= now) {
            if let Some(wire) = &self.audit {
                self.world.close(wire.world);
            }
            self.lose_audit(Some(Cause::Cancelled), "given up");
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
