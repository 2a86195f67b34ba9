//! The way between clients and servers: what arrives, what is delivered, and how replies become traffic.

use std::time::Duration;

use bytes::Bytes;

use super::{Event, World};
use crate::apiserver::{Part, Sending};
use crate::fault::Fault;
use crate::message::{Arrival, ConnectionId, Cut, Delivery, RequestId};
use crate::network::Up;
use crate::time::Time;

impl World {
    /// Something a client sent reaches its server.
    pub(super) fn arrive(&mut self, connection: ConnectionId, up: Up) {
        if self.network.is_cut(connection) {
            return;
        }
        if self.is_stalled(connection) {
            return self.network.hold_up(connection, up);
        }
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
            Up::Request(id, request) => {
                if self.network.owner(id).is_some() {
                    self.with_server(server, |server, ctx| server.handle(id, request, ctx));
                }
            }
            Up::Cancel(id) => {
                self.with_server(server, |server, ctx| server.drop_reply(id, ctx));
                self.network.finish(id);
            }
            Up::Close => self.forget(connection),
        }
    }

    /// Something a server sent reaches its client.
    pub(super) fn deliver(&mut self, connection: ConnectionId, arrival: Arrival) {
        if self.is_stalled(connection) && !matches!(arrival, Arrival::Closed(_)) {
            return self.network.hold_down(connection, arrival);
        }
        if !self.network.reaches(connection, &arrival) {
            if matches!(arrival, Arrival::Closed(_) | Arrival::Refused) {
                self.forget(connection);
            }
            return;
        }
        let mut freed = None;
        match &arrival {
            Arrival::Chunk { request, bytes } if self.network.consumes_at_once(connection) => {
                self.network.consumed(*request, bytes.len());
                freed = Some(*request);
            }
            Arrival::End { request } => self.network.finish(*request),
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
    }

    /// Moves what a reply has to the network, as far as there is room.
    pub(super) fn pump(&mut self, request: RequestId) {
        let Some(connection) = self.network.owner(request) else {
            return;
        };
        let Some(server) = self.network.server(connection) else {
            return;
        };
        let server = usize::from(server.0);
        let mut alarms = Vec::new();
        loop {
            let room = self.network.has_room(request, &self.config.network);
            let Some(from) = self.servers.get_mut(server) else {
                break;
            };
            let mut sending = Sending {
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
                Some(Part::Chunk(bytes)) => {
                    if !self.torn.is_empty()
                        && self.servers[server].is_watch(request)
                        && let Some(cut) = self.torn.remove(&request)
                    {
                        self.tear(connection, request, &bytes, cut);
                        break;
                    }
                    self.network.sent(request, bytes.len());
                    self.send_down(connection, Arrival::Chunk { request, bytes });
                }
                Some(Part::End) => {
                    self.drop_reply(connection, request);
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

    /// Sends half a frame and cuts the connection behind it.
    fn tear(&mut self, connection: ConnectionId, request: RequestId, frame: &Bytes, cut: Cut) {
        let bytes = frame.slice(..frame.len() / 2);
        let at = self.arrival_down(connection);
        self.queue.schedule(
            at,
            Event::Down(connection, Arrival::Chunk { request, bytes }),
        );
        // The reset overtakes nothing here: the half frame is what the client is to see.
        for id in self.network.cut(connection, Cut::Eof) {
            self.drop_reply(connection, id);
        }
        self.queue
            .schedule(at, Event::Down(connection, Arrival::Closed(cut)));
    }

    pub(super) fn cut(&mut self, connection: ConnectionId, cut: Cut) {
        if self.network.is_cut(connection) {
            return;
        }
        for id in self.network.cut(connection, cut) {
            self.drop_reply(connection, id);
            self.torn.remove(&id);
        }
        let at = self.arrival_down(connection);
        self.queue
            .schedule(at, Event::Down(connection, Arrival::Closed(cut)));
    }

    /// Lets what a lifted stall held arrive now, so that it stays ahead of what is still under way.
    pub(super) fn release_held(&mut self) {
        let connections: Vec<ConnectionId> = self.network.connections().collect();
        for connection in connections {
            if self.is_stalled(connection) {
                continue;
            }
            let (ups, downs) = self.network.take_held(connection);
            for up in ups {
                self.arrive(connection, up);
            }
            for arrival in downs {
                self.deliver(connection, arrival);
            }
        }
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
        let server = self.network.server(connection);
        for id in self.network.remove(connection) {
            if let Some(server) = server {
                self.with_server(server, |server, ctx| server.drop_reply(id, ctx));
            }
            self.torn.remove(&id);
        }
    }

    fn drop_reply(&mut self, connection: ConnectionId, request: RequestId) {
        if let Some(server) = self.network.server(connection) {
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
