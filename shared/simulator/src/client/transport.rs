//! A client's HTTP connections. The transport dials when it needs a connection, notices dead connections, and reports
//! how each request ends.

use std::time::Duration;

use bytes::Bytes;
use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::machine::{Context, Input, earlier};
use crate::message::{Arrival, ConnectionId, Cut, Request, RequestId};
use crate::time::Time;

/// Time after which the client gives dialling up, and the requests that wait for the connection fail. client-go 1.36
/// (`transport/cache.go`) and kube-rs 4.2.0 (`connect_timeout`) have the same timeout.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Silence after which a connection is probed, by an HTTP/2 ping (docs/semantics/servers.md#ping) or by TCP keepalive
/// (client-go `transport/cache.go`, 1.9 to 1.36).
const PING_AFTER: Duration = Duration::from_secs(30);
/// Time that an HTTP/2 ping may stay unanswered before the client gives the connection up
/// (docs/semantics/servers.md#ping).
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// Silence after which Linux gives up an idle connection of a client-go that does not ping: 30 s (`transport/cache.go`,
/// 1.9 to 1.18), then nine probes (`tcp_keepalive_probes`) 30 s apart. The simulated kube-rs has the same time, without
/// a source; its own timeout of 295 s ends a stream earlier.
const KEEPALIVE_GIVES_UP: Duration = Duration::from_secs(300);
/// Time after which Linux gives up data that was sent and not acknowledged. Linux waits 924.6 s with `tcp_retries2` =
/// 15 (`ip-sysctl` of Linux); the fraction is cut off.
const RETRANSMISSION_GIVES_UP: Duration = Duration::from_secs(924);

/// The reason why a request got no answer, or only a part of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The connection was refused: `ECONNREFUSED`.
    Refused,
    /// The connection was reset: `ECONNRESET`.
    Reset,
    /// The connection ended in the middle of an answer: `unexpected EOF`.
    Eof,
    /// The connection broke after a GOAWAY, by an end or a reset: `http2: server sent GOAWAY and closed the connection`
    /// (Go's `net/http/h2_bundle.go`, `cleanup`).
    GoAway,
    /// Dialling took longer than [`DIAL_TIMEOUT`], or the kernel gave the connection up: `ETIMEDOUT`.
    Timeout,
    /// A ping stayed unanswered: `http2: client connection lost`.
    Lost,
    /// The server reset the stream: `stream error: …; received from peer`.
    StreamReset,
}

/// A part of an answer, or the end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got<'a> {
    Head {
        status: u16,
        headers: &'a [(String, String)],
    },
    Body(&'a Bytes),
    End,
    Failed(Failure),
}

/// How a client uses connections and notices dead ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// HTTP/2, one connection for all requests, with health pings (client-go since 1.18.18, 1.19.5 and 1.20.0).
    PingedHttp2,
    /// HTTP/2, one connection for all requests; only the kernel notices a dead connection (older client-go, F04).
    PlainHttp2,
    /// HTTP/1.1: a connection for each request under way; only the kernel notices a dead connection.
    Http1,
}

#[derive(Debug)]
struct Line {
    requests: BTreeSet<RequestId>,
    /// Whether the server takes no new requests over the connection.
    is_leaving: bool,
    dialled_at: Time,
    is_open: bool,
    heard_at: Time,
    /// When the client last probed the connection; `None` if something was received since.
    pinged_at: Option<Time>,
    /// When the client sent its first request after it last received a byte on the connection; `None` if it sent none
    /// since.
    sent_at: Option<Time>,
}

impl Line {
    /// Returns when the client gives the connection up, and with which failure.
    fn gives_up(&self, style: Style) -> (Time, Failure) {
        if !self.is_open {
            return (self.dialled_at + DIAL_TIMEOUT, Failure::Timeout);
        }
        match (style, self.sent_at) {
            (Style::PingedHttp2, _) => (self.heard_at + PING_AFTER + PING_TIMEOUT, Failure::Lost),
            (_, None) => (self.heard_at + KEEPALIVE_GIVES_UP, Failure::Timeout),
            (_, Some(sent)) => (sent + RETRANSMISSION_GIVES_UP, Failure::Timeout),
        }
    }

    fn ping_at(&self) -> Option<Time> {
        (self.is_open && self.pinged_at.is_none()).then(|| self.heard_at + PING_AFTER)
    }

    fn heard(&mut self, now: Time) {
        self.heard_at = now;
        self.pinged_at = None;
        self.sent_at = None;
    }
}

/// The connections of a client.
#[derive(Debug)]
pub(crate) struct Transport {
    style: Style,
    lines: BTreeMap<ConnectionId, Line>,
}

impl Transport {
    pub(crate) fn new(style: Style) -> Transport {
        Transport {
            style,
            lines: BTreeMap::new(),
        }
    }

    /// Sends a request over a free connection, or over a new one.
    pub(crate) fn send(&mut self, request: Request, ctx: &mut Context<'_>) -> RequestId {
        let takes_more = |line: &Line| self.style != Style::Http1 || line.requests.is_empty();
        let is_free = |line: &Line| !line.is_leaving && takes_more(line);
        let free = self.lines.iter().rev().find(|(_, line)| is_free(line));
        let connection = match free {
            Some((connection, _)) => *connection,
            None => {
                let connection = ctx.port.connect();
                let line = Line {
                    requests: BTreeSet::new(),
                    is_leaving: false,
                    dialled_at: ctx.now,
                    is_open: false,
                    heard_at: ctx.now,
                    pinged_at: None,
                    sent_at: None,
                };
                self.lines.insert(connection, line);
                connection
            }
        };
        let request = request.header("user-agent", ctx.user_agent);
        let id = ctx.port.send(connection, request);
        if let Some(line) = self.lines.get_mut(&connection) {
            line.requests.insert(id);
            line.sent_at.get_or_insert(ctx.now);
        }
        id
    }

    /// Gives a request up. With HTTP/1.1 the request's connection closes, too.
    pub(crate) fn cancel(&mut self, request: RequestId, ctx: &mut Context<'_>) {
        let mut lines = self.lines.iter_mut();
        let Some((&connection, line)) = lines.find(|(_, line)| line.requests.contains(&request))
        else {
            return;
        };
        line.requests.remove(&request);
        if self.style == Style::Http1 {
            self.lines.remove(&connection);
            ctx.port.close(connection);
        } else {
            ctx.port.cancel(request);
        }
    }

    /// Takes an input. Returns what the input means for each request that it concerns.
    pub(crate) fn take<'a>(
        &mut self,
        input: Input<'a>,
        ctx: &mut Context<'_>,
    ) -> Vec<(RequestId, Got<'a>)> {
        match input {
            Input::Start => Vec::new(),
            Input::Wake => self.wake(ctx),
            Input::Pong(connection) => {
                if let Some(line) = self.lines.get_mut(&connection) {
                    line.heard(ctx.now);
                }
                Vec::new()
            }
            Input::Arrival(connection, arrival) => self.arrive(connection, arrival, ctx.now),
        }
    }

    /// Returns when a connection must next be probed or given up; `None`: never.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        let due = |line: &Line| earlier(line.ping_at(), Some(line.gives_up(self.style).0));
        self.lines.values().filter_map(due).min()
    }

    fn arrive<'a>(
        &mut self,
        connection: ConnectionId,
        arrival: &'a Arrival,
        now: Time,
    ) -> Vec<(RequestId, Got<'a>)> {
        let Some(line) = self.lines.get_mut(&connection) else {
            return Vec::new();
        };
        line.heard(now);
        let (request, got) = match arrival {
            Arrival::Connected => {
                line.is_open = true;
                return Vec::new();
            }
            Arrival::GoAway => {
                line.is_leaving = true;
                return Vec::new();
            }
            Arrival::Refused => return self.lose(connection, Failure::Refused),
            Arrival::Closed(_) if line.is_leaving => {
                return self.lose(connection, Failure::GoAway);
            }
            Arrival::Closed(Cut::Reset) => return self.lose(connection, Failure::Reset),
            Arrival::Closed(Cut::Eof) => return self.lose(connection, Failure::Eof),
            Arrival::Head { request, head } => (
                request,
                Got::Head {
                    status: head.status,
                    headers: &head.headers,
                },
            ),
            Arrival::Chunk { request, bytes } => (request, Got::Body(bytes)),
            Arrival::End { request } => (request, Got::End),
            Arrival::Reset { request, .. } => (request, Got::Failed(Failure::StreamReset)),
        };
        let is_known = if matches!(got, Got::End | Got::Failed(_)) {
            line.requests.remove(request)
        } else {
            line.requests.contains(request)
        };
        if is_known {
            vec![(*request, got)]
        } else {
            Vec::new()
        }
    }

    /// Pings silent connections, and gives up dead ones.
    fn wake(&mut self, ctx: &mut Context<'_>) -> Vec<(RequestId, Got<'static>)> {
        let mut dead = Vec::new();
        for (connection, line) in &mut self.lines {
            let (gives_up_at, failure) = line.gives_up(self.style);
            if gives_up_at <= ctx.now {
                dead.push((*connection, failure));
            } else if line.ping_at().is_some_and(|at| at <= ctx.now) {
                line.pinged_at = Some(ctx.now);
                ctx.port.ping(*connection);
            }
        }
        let mut lost = Vec::new();
        for (connection, failure) in dead {
            ctx.port.close(connection);
            lost.extend(self.lose(connection, failure));
        }
        lost
    }

    fn lose(
        &mut self,
        connection: ConnectionId,
        failure: Failure,
    ) -> Vec<(RequestId, Got<'static>)> {
        let line = self.lines.remove(&connection);
        let requests = line.map(|line| line.requests).unwrap_or_default();
        requests
            .into_iter()
            .map(|request| (request, Got::Failed(failure)))
            .collect()
    }
}
