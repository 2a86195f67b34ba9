//! Traffic between clients and servers: which messages arrive, which are delivered, and how servers' replies become
//! deliveries.

use std::time::Duration;

use bytes::Bytes;

use super::faults::Direction;
use super::spoil::{Spoil, garbled};
use super::{Event, World};
use crate::apiserver::{Part, Sending};
use crate::fault::Fault;
use crate::message::{Arrival, ConnectionId, Cut, Delivery, Request, RequestId, ServerId};
use crate::network::Up;
use crate::time::Time;

impl World {
    /// Handles a message of a client when it reaches the server.
    pub(super) fn arrive(&mut self, connection: ConnectionId, up: Up) {
        if self.network.is_cut(connection) {
            return;
        }
        // A message stays behind those that are held, even if the fault's target no longer matches.
        if self.network.holds_up(connection) || self.is_stalled(connection, Direction::Up) {
            return self.network.hold_up(connection, up);
        }
        self.passes(connection);
        let Some(server) = self.network.server(connection) else {
            return;
        };
        match up {
            Up::Open => {
                let refused = self.faults.contains(&Fault::Refuse) || !self.is_listening(server);
                self.send_down(
                    connection,
                    if refused {
                        Arrival::Refused
                    } else {
                        Arrival::Connected
                    },
                );
                if refused {
                    self.network.cut(connection, Cut::Eof);
                }
            }
            Up::Request(id, request) => self.take_request(connection, id, *request),
            Up::Cancel(id) => {
                self.drop_reply(id);
                self.network.finish(id);
                self.is_over(connection);
            }
            Up::Close => self.forget(connection),
        }
    }

    /// Handles a message of a server on its way to its client: holds it, lets a proxy keep it, or hands it over.
    pub(super) fn deliver(&mut self, connection: ConnectionId, arrival: Arrival) {
        let is_held =
            self.network.holds_down(connection) || self.is_stalled(connection, Direction::Down);
        if is_held && !matches!(arrival, Arrival::Closed(_)) {
            return self.network.hold_down(connection, arrival);
        }
        self.passes(connection);
        let Some(most) = self.buffer_of(connection) else {
            return self.hand_over(connection, arrival);
        };
        let passed = match &arrival {
            Arrival::Head { request, .. } | Arrival::Chunk { request, .. } => {
                self.network.keep(*request, arrival, most)
            }
            Arrival::End { request } | Arrival::Reset { request, .. } => {
                let mut kept = self.network.take_kept(*request);
                kept.push(arrival);
                kept
            }
            _ => {
                let requests = self.network.requests(connection).into_iter();
                let mut kept: Vec<Arrival> =
                    requests.flat_map(|id| self.network.take_kept(id)).collect();
                kept.push(arrival);
                kept
            }
        };
        for arrival in passed {
            self.hand_over(connection, arrival);
        }
    }

    /// Delivers a message that has passed all middleboxes.
    fn hand_over(&mut self, connection: ConnectionId, arrival: Arrival) {
        if !self.network.reaches(connection, &arrival) {
            if matches!(arrival, Arrival::Closed(_) | Arrival::Refused) {
                self.forget(connection);
            }
            return;
        }
        let mut freed = None;
        let mut ended = false;
        match &arrival {
            Arrival::Chunk { request, bytes } if self.network.consumes_at_once(connection) => {
                let window = self.config.network.window_bytes;
                if self.network.consumed(*request, bytes.len(), window) {
                    freed = Some(*request);
                }
            }
            Arrival::End { request } | Arrival::Reset { request, .. } => {
                self.network.finish(*request);
                ended = true;
            }
            Arrival::Closed(_) | Arrival::Refused => self.forget(connection),
            _ => {}
        }
        match self.clients.owner(connection) {
            Some(client) => self.reach_client(client, connection, &arrival),
            None => self.deliveries.push_back(Delivery {
                at: self.now,
                connection,
                arrival,
            }),
        }
        if let Some(request) = freed {
            self.pump(request);
        }
        if ended {
            self.is_over(connection);
        }
    }

    /// Gives a request to its server, unless a fault refuses the request before the server sees it. A request above the
    /// connection's cap waits.
    fn take_request(&mut self, connection: ConnectionId, id: RequestId, request: Request) {
        let cap = self.stream_cap(connection);
        let Some(request) = self.network.admit(connection, id, request, cap) else {
            return;
        };
        let Some(server) = self.network.server_of(id) else {
            return;
        };
        if !self.is_there(server) {
            // A balancer that forwards each request has no server to forward it to.
            return self.cut(connection, Cut::Eof);
        }
        let denials = self.denials(connection);
        let tears_down = self.with_server(server, |server, ctx| {
            let tears_down = server.tears_down(&request);
            let mut denials = denials.iter();
            match denials.find_map(|denial| server.denied(&request, denial, ctx)) {
                Some(error) => server.deny(id, &error, ctx),
                None => server.handle(id, request, ctx),
            }
            tears_down
        });
        if tears_down && !self.network.is_draining(connection) {
            self.go_away(connection, None);
        }
    }

    /// Handles the end of a request of a connection: the connection's next waiting request goes on, or a draining
    /// connection closes.
    fn is_over(&mut self, connection: ConnectionId) {
        if let Some((id, request)) = self.network.next_waiting(connection) {
            self.take_request(connection, id, request);
        }
        if self.network.is_drained(connection) {
            self.cut(connection, Cut::Eof);
        }
    }

    /// Gives a response up on the server's side; its connection stays open.
    pub(super) fn reset_stream(&mut self, request: RequestId, code: u32) {
        if let Some(connection) = self.network.owner(request) {
            self.drop_reply(request);
            self.torn.remove(&request);
            self.send_down(connection, Arrival::Reset { request, code });
        }
    }

    /// Sends GOAWAY on a connection, and cuts it if the fault says so.
    pub(super) fn go_away(&mut self, connection: ConnectionId, cut: Option<Cut>) {
        self.network.drain(connection);
        self.send_down(connection, Arrival::GoAway);
        match cut {
            Some(cut) => self.cut(connection, cut),
            None => self.is_over(connection),
        }
    }

    /// Hands over the bytes that a proxy kept for connections whose [`Fault::Buffer`] is lifted.
    pub(super) fn release_kept(&mut self) {
        let connections: Vec<ConnectionId> = self.network.connections().collect();
        for connection in connections {
            if self.buffer_of(connection).is_some() {
                continue;
            }
            for request in self.network.requests(connection) {
                for arrival in self.network.take_kept(request) {
                    self.hand_over(connection, arrival);
                }
            }
        }
    }

    /// Lets requests go on that waited because of a cap on streams that is now lifted.
    pub(super) fn release_waiting(&mut self) {
        let connections: Vec<ConnectionId> = self.network.connections().collect();
        for connection in connections {
            if self.stream_cap(connection).is_some() {
                continue;
            }
            while let Some((id, request)) = self.network.next_waiting(connection) {
                self.take_request(connection, id, request);
            }
        }
    }

    /// Notes that something passes over a connection, so that no middlebox takes it for idle.
    pub(super) fn passes(&mut self, connection: ConnectionId) {
        self.network.passes(connection, self.now);
        self.watch_idleness(connection);
    }

    /// If a fault ends idle connections, schedules a check of whether this connection has been idle for long enough.
    pub(super) fn watch_idleness(&mut self, connection: ConnectionId) {
        if let Some((after, _)) = self.idle_killer() {
            self.queue
                .schedule(self.now + after, Event::IdleCheck(connection));
        }
    }

    pub(super) fn kill_if_idle(&mut self, connection: ConnectionId) {
        let Some((after, says_so)) = self.idle_killer() else {
            return;
        };
        let passed_at = self.network.passed_at(connection);
        if passed_at.is_none_or(|at| self.now.since(at) < after) {
            return;
        }
        if says_so {
            self.cut(connection, Cut::Reset);
        } else {
            self.network.forget_flow(connection);
        }
    }

    /// Moves parts of a response to the network, as far as its window has room.
    pub(super) fn pump(&mut self, request: RequestId) {
        let Some((connection, server, mut outstanding)) = self.network.response_state(request)
        else {
            return;
        };
        let server = usize::from(server.0);
        let mut alarms = Vec::new();
        loop {
            let room = outstanding < self.config.network.window_bytes;
            let Some(from) = self.servers.get_mut(server) else {
                break;
            };
            let mut sending = Sending {
                answers: self.config.answers,
                now: self.now,
                wall: self.wall,
                kinds: &self.kinds,
                per_initial_event: self.config.apiserver.initial_event_latency,
                alarms: &mut alarms,
            };
            match from.next_part(request, room, &mut sending) {
                None => break,
                Some(Part::Head(head)) => {
                    self.send_down(connection, Arrival::Head { request, head })
                }
                Some(Part::Chunk(mut bytes)) => {
                    if !self.torn.is_empty()
                        && self.servers[server].is_watch(request)
                        && let Some(spoil) = self.torn.remove(&request)
                    {
                        match spoil {
                            Spoil::Tear(cut) => {
                                self.tear(connection, request, &bytes, cut);
                                break;
                            }
                            Spoil::Garble => bytes = garbled(&bytes),
                        }
                    }
                    outstanding += bytes.len();
                    self.network.sent(request, bytes.len());
                    self.send_down(connection, Arrival::Chunk { request, bytes });
                }
                Some(Part::End) => {
                    self.drop_reply(request);
                    self.torn.remove(&request);
                    self.send_down(connection, Arrival::End { request });
                    break;
                }
            }
        }
        if let Some(from) = self.servers.get(server) {
            let id = from.id;
            for (at, alarm) in alarms {
                self.queue.schedule(at, Event::Server(id, alarm));
            }
        }
    }

    /// Sends half a frame and cuts the connection after it.
    fn tear(&mut self, connection: ConnectionId, request: RequestId, frame: &Bytes, cut: Cut) {
        let bytes = frame.slice(..frame.len() / 2);
        let at = self.arrival_down(connection);
        self.queue.schedule(
            at,
            Event::Down(connection, Arrival::Chunk { request, bytes }),
        );
        // The network cuts with `Eof` even where the client gets a reset, so that the half frame still reaches the
        // client.
        for id in self.network.cut(connection, Cut::Eof) {
            self.drop_reply(id);
        }
        self.queue
            .schedule(at, Event::Down(connection, Arrival::Closed(cut)));
    }

    pub(super) fn cut(&mut self, connection: ConnectionId, cut: Cut) {
        if self.network.is_cut(connection) {
            return;
        }
        for id in self.network.cut(connection, cut) {
            self.drop_reply(id);
            self.torn.remove(&id);
        }
        let at = self.arrival_down(connection);
        self.queue
            .schedule(at, Event::Down(connection, Arrival::Closed(cut)));
    }

    /// Lets messages that a lifted stall held arrive now, ahead of messages that are still under way.
    pub(super) fn release_held(&mut self) {
        let connections: Vec<ConnectionId> = self.network.connections().collect();
        for connection in connections {
            if !self.is_stalled(connection, Direction::Up) {
                for up in self.network.take_held_up(connection) {
                    self.arrive(connection, up);
                }
            }
            if !self.is_stalled(connection, Direction::Down) {
                for arrival in self.network.take_held_down(connection) {
                    self.deliver(connection, arrival);
                }
            }
        }
    }

    /// Returns the servers that get new connections from the load balancer: the ready servers, or if no server is
    /// ready, all servers that listen. Leaves out the servers under `Fault::OutOfRotation`.
    pub(super) fn in_rotation(&self) -> Vec<ServerId> {
        let is_out = |server: &ServerId| {
            let server = *server;
            !self.faults.is_empty() && self.faults.contains(&Fault::OutOfRotation { server })
        };
        let all = self.servers.iter().map(|s| s.id);
        let mut found: Vec<ServerId> = all
            .filter(|server| !is_out(server) && self.is_listening(*server))
            .collect();
        if found.iter().any(|server| self.is_ready(*server)) {
            found.retain(|server| self.is_ready(*server));
        }
        found
    }

    /// Chooses and returns the server that answers the next request of a connection; `None` if the connection is gone.
    pub(super) fn server_for_request(&mut self, connection: ConnectionId) -> Option<ServerId> {
        if self.faults.contains(&Fault::BalanceRequests) {
            let in_rotation = self.in_rotation();
            return self.network.balance_request(connection, &in_rotation);
        }
        self.network.server(connection)
    }

    pub(super) fn send_up(&mut self, connection: ConnectionId, up: Up) {
        let extra = self.extra_delay();
        let at = self.network.arrival_up(
            connection,
            self.now,
            &mut self.network_random,
            &self.config.network,
            extra,
        );
        self.queue.schedule(at, Event::Up(connection, up));
    }

    pub(super) fn forget(&mut self, connection: ConnectionId) {
        for (id, server) in self.network.remove(connection) {
            self.with_server(server, |server, ctx| server.drop_reply(id, ctx));
            self.torn.remove(&id);
        }
        self.clients.forget(connection);
    }

    fn drop_reply(&mut self, request: RequestId) {
        if let Some(server) = self.network.server_of(request) {
            self.with_server(server, |server, ctx| server.drop_reply(request, ctx));
        }
    }

    pub(super) fn send_down(&mut self, connection: ConnectionId, arrival: Arrival) {
        let at = self.arrival_down(connection);
        self.queue.schedule(at, Event::Down(connection, arrival));
    }

    pub(super) fn arrival_down(&mut self, connection: ConnectionId) -> Time {
        let extra = self.extra_delay();
        self.network.arrival_down(
            connection,
            self.now,
            &mut self.network_random,
            &self.config.network,
            extra,
        )
    }

    pub(super) fn extra_delay(&self) -> Duration {
        self.faults
            .iter()
            .map(|fault| match fault {
                Fault::Delay { by } => *by,
                _ => Duration::ZERO,
            })
            .sum()
    }
}
