//! The probes' connections in the world: this module carries out a probe's effects, and passes the probe what arrives
//! for it.

use watchscope_model::event::{ConnectionClosed, ConnectionGoaway, ConnectionOpened};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, Text};
use watchscope_probe::{Channel, Effect, Ending, Failure, FailureKind, Get, Input};
use watchscope_simulator::{self as sim, Arrival, Cut, Delivery, Flow, Request, ServerId};

use super::Run;
use super::audit::AuditLink;

/// The last stream id in a GOAWAY that lets every open stream go on: HTTP/2's largest stream id (RFC 9113, section
/// 5.1.1).
const MAX_STREAM_ID: u64 = (1 << 31) - 1;

/// A probe's connection in the world and in the log, and the request on that connection.
#[derive(Debug)]
pub(super) struct ProbeLink {
    world: sim::ConnectionId,
    log: Option<ConnectionId>,
    request: Option<(sim::RequestId, RequestId)>,
    /// Whether the server takes no new requests over the connection.
    is_leaving: bool,
    /// The longest time for which the probe left the answer to the request unread, in milliseconds; `None` if the probe
    /// always read at once.
    pub(super) unread_ms: Option<u64>,
}

impl Run {
    /// Opens a connection to a server, or to any server if `server` is `None`.
    pub(super) fn connect(&mut self, server: Option<ServerId>) -> sim::ConnectionId {
        match server {
            Some(server) => self.world.connect_to(server, self.flow),
            _ => self.world.connect(self.flow),
        }
    }

    pub(super) fn carry_out(&mut self, index: usize, effect: Effect) {
        match effect {
            Effect::Connect { channel } => {
                let shared = self.shared_by(index, channel);
                let (world, log) = shared.unwrap_or_else(|| {
                    let server = self.clients[index].server;
                    (self.connect(server), None)
                });
                *self.link(index, channel) = Some(ProbeLink {
                    world,
                    log,
                    request: None,
                    is_leaving: false,
                    unread_ms: None,
                });
                if let Some(connection) = log {
                    let connected = Input::Connected {
                        channel,
                        connection,
                    };
                    self.step(index, connected);
                }
            }
            Effect::Send {
                connection,
                request,
                get,
            } => self.send(index, connection, request, &get),
            Effect::Close {
                channel,
                connection: _,
            } => {
                if let Some(link) = self.link(index, channel).take() {
                    if self.is_in_use(link.world) {
                        if let Some((request, _)) = link.request {
                            self.world.cancel(request);
                        }
                        return;
                    }
                    self.world.close(link.world);
                    if let Some(connection) = link.log {
                        let event = ConnectionClosed::unasked(connection, Cause::Cancelled);
                        self.recorder.record(event.into(), self.now());
                    }
                }
            }
            Effect::SetTimer(at) => self.clients[index].timer = Some(at),
            Effect::ReloadCredentials => {}
            Effect::Discover => {
                let served = self.discover(index);
                self.step(index, Input::Discovered(served));
            }
        }
    }

    /// Returns the connection of another probe, if this probe shares it. The connection has an id in the world, and
    /// also an id in the log once it is open. `None` if there is no connection to share.
    fn shared_by(
        &self,
        index: usize,
        channel: Channel,
    ) -> Option<(sim::ConnectionId, Option<ConnectionId>)> {
        let client = &self.clients[index];
        if !client.shares || channel == Channel::Side {
            return None;
        }
        let others = self
            .clients
            .iter()
            .filter(|other| other.shares && other.server == client.server);
        let mut links = others.filter_map(|other| other.main.as_ref());
        let link = links.find(|link| !link.is_leaving)?;
        Some((link.world, link.log))
    }

    /// Returns whether any probe still uses a connection.
    fn is_in_use(&self, world: sim::ConnectionId) -> bool {
        let mut links = self.clients.iter().filter_map(|other| other.main.as_ref());
        links.any(|link| link.world == world)
    }

    fn send(&mut self, index: usize, connection: ConnectionId, request: RequestId, get: &Get) {
        let message = Request::get(&format!("{}?{}", get.path, get.query))
            .header("accept", get.accept)
            .header("user-agent", "watchscope");
        for channel in [Channel::Main, Channel::Side] {
            let found = self
                .link(index, channel)
                .as_ref()
                .filter(|link| link.log == Some(connection));
            if let Some(world) = found.map(|link| link.world) {
                let id = self.world.send(world, message);
                if let Some(link) = self.link(index, channel) {
                    link.request = Some((id, request));
                    link.unread_ms = None;
                }
                return;
            }
        }
    }

    pub(super) fn take(&mut self, delivery: Delivery) {
        let is_its = |link: &AuditLink| link.world == delivery.connection;
        if let Some(reads) = self.reads
            && let Some(link) = self.audits.iter().position(is_its)
        {
            return (reads.take)(self, link, delivery.arrival);
        }
        let of = |arrival: &Arrival| match arrival {
            Arrival::Head { request, .. }
            | Arrival::Chunk { request, .. }
            | Arrival::End { request }
            | Arrival::Reset { request, .. } => Some(*request),
            _ => None,
        };
        let found = self.on(delivery.connection, of(&delivery.arrival));
        let Some(&(index, channel)) = found.first() else {
            return;
        };
        if let Some((_, unread)) = &mut self.unread {
            unread.push(delivery);
            return;
        }
        match delivery.arrival {
            Arrival::Connected => {
                self.ids.connection += 1;
                let connection = ConnectionId(self.ids.connection);
                for &(index, channel) in &found {
                    if let Some(link) = self.link(index, channel) {
                        link.log = Some(connection);
                    }
                }
                let server = self.clients[index].server;
                self.recorder
                    .record(opened(connection, server).into(), self.now());
                for (index, channel) in found {
                    let connected = Input::Connected {
                        channel,
                        connection,
                    };
                    self.step(index, connected);
                }
            }
            Arrival::Refused => {
                for &(index, channel) in &found {
                    *self.link(index, channel) = None;
                }
                for (index, channel) in found {
                    let sentence = "simulated:6443 refused the connection".to_owned();
                    let failure = Failure {
                        kind: FailureKind::Unreachable,
                        sentence,
                    };
                    self.step(index, Input::ConnectFailed { channel, failure });
                }
            }
            Arrival::Head { request, head } => {
                if let Some(request) = self.request(index, channel, request) {
                    let headers = head
                        .headers
                        .iter()
                        .map(|(name, value)| (name.as_str().into(), value.as_str().into()));
                    let headers = Headers(headers.collect());
                    self.step(
                        index,
                        Input::Head {
                            request,
                            status: head.status,
                            headers,
                            http2_stream: None,
                        },
                    );
                }
            }
            Arrival::Chunk { request, bytes } => {
                if self.flow == Flow::Credit {
                    self.world.consume(request, bytes.len());
                }
                if let Some(request) = self.request(index, channel, request) {
                    self.step(
                        index,
                        Input::Body {
                            request,
                            bytes: &bytes,
                        },
                    );
                }
            }
            Arrival::End { request } => {
                if let Some(request) = self.request(index, channel, request) {
                    let mut end = Ending::from(Cause::End);
                    if let Some(link) = self.link(index, channel) {
                        link.request = None;
                        end.unread_ms = link.unread_ms;
                    }
                    let left = self.leave(index, channel);
                    self.step(index, Input::BodyEnd { request, end });
                    if let Some(connection) = left {
                        let cause = Cause::Goaway;
                        self.recorder.record(
                            ConnectionClosed::unasked(connection, cause).into(),
                            self.now(),
                        );
                    }
                }
            }
            Arrival::Reset { request, code } => {
                if let Some(request) = self.request(index, channel, request) {
                    if let Some(link) = self.link(index, channel) {
                        link.request = None;
                    }
                    let end = Ending {
                        reset_code: Some(code),
                        ..Cause::RstStream.into()
                    };
                    self.step(index, Input::BodyEnd { request, end });
                }
            }
            Arrival::GoAway => {
                let mut log = None;
                for (index, channel) in found {
                    if let Some(link) = self.link(index, channel) {
                        link.is_leaving = true;
                        log = link.log;
                    }
                }
                if let Some(connection) = log {
                    let event = ConnectionGoaway {
                        connection,
                        last_stream: MAX_STREAM_ID,
                        code: 0,
                    };
                    self.recorder.record(event.into(), self.now());
                }
            }
            Arrival::Closed(cut) => self.cut(found, cut),
        }
    }

    /// Returns the probes and channels that use a connection, or that have sent a request on it.
    fn on(
        &mut self,
        world: sim::ConnectionId,
        request: Option<sim::RequestId>,
    ) -> Vec<(usize, Channel)> {
        let mut found = Vec::new();
        for index in 0..self.clients.len() {
            for channel in [Channel::Main, Channel::Side] {
                let link = self.link(index, channel).as_ref();
                let is_meant = link.is_some_and(|link| {
                    let asked = link.request.map(|(asked, _)| asked);
                    link.world == world && (request.is_none() || request == asked)
                });
                if is_meant {
                    found.push((index, channel));
                }
            }
        }
        found
    }

    /// Gives up a probe's connection whose server takes no new requests, if the connection is idle. Returns the
    /// connection's id in the log if no probe uses the connection any more, else `None`.
    fn leave(&mut self, index: usize, channel: Channel) -> Option<ConnectionId> {
        let link = self.link(index, channel);
        let left = link.take_if(|link| link.is_leaving)?;
        let is_in_use = self.is_in_use(left.world);
        if !is_in_use {
            self.world.close(left.world);
        }
        let connection = left.log?;
        self.step(index, Input::Closing { connection });
        (!is_in_use).then_some(connection)
    }

    fn cut(&mut self, found: Vec<(usize, Channel)>, cut: Cut) {
        let cause = match cut {
            Cut::Reset => Cause::TcpReset,
            Cut::Eof => Cause::Eof,
        };
        // Takes the connection from all its probes before one of them asks for another.
        let mut lost = Vec::new();
        for (index, channel) in found {
            lost.extend(
                self.link(index, channel)
                    .take()
                    .map(|link| (index, channel, link)),
            );
        }
        for (index, _, link) in &lost {
            if let Some((_, request)) = link.request {
                let end = cause.into();
                self.step(*index, Input::BodyEnd { request, end });
            }
        }
        if let Some(connection) = lost.iter().find_map(|(.., link)| link.log) {
            self.recorder.record(
                ConnectionClosed::unasked(connection, cause).into(),
                self.now(),
            );
        }
        for (index, channel, link) in lost {
            if let Some(connection) = link.log {
                self.step(index, Input::Closed { connection, cause });
            } else {
                let sentence = "simulated:6443 was cut off while it was dialled".to_owned();
                let failure = Failure {
                    kind: FailureKind::Broken,
                    sentence,
                };
                self.step(index, Input::ConnectFailed { channel, failure });
            }
        }
    }

    /// Returns the log's id of the request that is under way on a channel, if that request is `of`; else `None`.
    fn request(&mut self, index: usize, channel: Channel, of: sim::RequestId) -> Option<RequestId> {
        let (id, request) = self.link(index, channel).as_ref()?.request?;
        (id == of).then_some(request)
    }

    pub(super) fn link(&mut self, index: usize, channel: Channel) -> &mut Option<ProbeLink> {
        let client = &mut self.clients[index];
        match channel {
            Channel::Main => &mut client.main,
            Channel::Side => &mut client.side,
        }
    }
}

/// Returns the address of a simulated apiserver, by which watches are pinned to it: `10.0.0.N:6443`. N is the server's
/// id plus 1. For the id 65,535, which no server has, debug builds panic, and others return N = 0.
#[must_use]
pub fn address_of(server: ServerId) -> Text {
    format!("10.0.0.{}:6443", server.0 + 1).into()
}

pub(super) fn server_at(address: &str) -> Option<ServerId> {
    let (last, _) = address.strip_prefix("10.0.0.")?.split_once(':')?;
    last.parse::<u16>().ok()?.checked_sub(1).map(ServerId)
}

/// Returns the event of an opened connection. A pinned connection names its server; for any other connection a load
/// balancer hides the server.
pub(super) fn opened(connection: ConnectionId, server: Option<ServerId>) -> ConnectionOpened {
    ConnectionOpened {
        connection,
        server: server.map_or("simulated:6443".into(), address_of),
        remote: server.map_or("10.0.0.1:6443".into(), address_of),
        alpn: None,
        tls: None,
        version: None,
    }
}
