//! Connections between clients and apiserver: delays, order, windows, and what is held or lost on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::config::NetworkConfig;
use crate::message::{Arrival, ConnectionId, Cut, Flow, Request, RequestId, ServerId};
use crate::random::Random;
use crate::time::Time;

/// What travels from a client to the apiserver.
#[derive(Clone, Debug)]
pub(crate) enum Up {
    Open,
    Request(RequestId, Request),
    Cancel(RequestId),
    Close,
}

/// All connections.
///
/// Bounded: what is under way of a response by its window; what clients send by what they send.
#[derive(Debug, Default)]
pub(crate) struct Network {
    connections: BTreeMap<ConnectionId, Connection>,
    owners: BTreeMap<RequestId, ConnectionId>,
    last_connection: u64,
    last_request: u64,
    /// Whose turn it is at the load balancer.
    turn: usize,
}

#[derive(Debug)]
struct Connection {
    server: ServerId,
    flow: Flow,
    user_agent: String,
    /// Responses that are open.
    lanes: BTreeMap<RequestId, Lane>,
    last_up: Time,
    last_down: Time,
    /// What a stall holds, in order.
    held_up: Vec<Up>,
    held_down: Vec<Arrival>,
    /// The client closed it: nothing is delivered any more.
    client_gone: bool,
    /// The server's side is gone: only the cut itself, and with [`Cut::Eof`] what is under way, is delivered.
    cut: Option<Cut>,
}

#[derive(Debug, Default)]
struct Lane {
    /// Bytes sent and not consumed.
    outstanding: usize,
    cancelled: bool,
}

impl Network {
    /// The server that the load balancer gives the next connection: one after the other.
    pub(crate) fn balance(&mut self, servers: usize) -> ServerId {
        let chosen = self.turn % servers.max(1);
        self.turn = chosen + 1;
        ServerId(u16::try_from(chosen).unwrap_or(0))
    }

    pub(crate) fn connect(&mut self, server: ServerId, flow: Flow, now: Time) -> ConnectionId {
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        let connection = Connection {
            server,
            flow,
            user_agent: String::new(),
            lanes: BTreeMap::new(),
            last_up: now,
            last_down: now,
            held_up: Vec::new(),
            held_down: Vec::new(),
            client_gone: false,
            cut: None,
        };
        self.connections.insert(id, connection);
        id
    }

    /// A number for a request that never travels the network, or for one that will.
    pub(crate) fn next_request(&mut self) -> RequestId {
        self.last_request += 1;
        RequestId(self.last_request)
    }

    /// Registers a request on a connection that is still usable by its client.
    pub(crate) fn begin(&mut self, connection: ConnectionId, request: RequestId, user_agent: &str) {
        if let Some(open) = self.usable(connection) {
            if open.user_agent.is_empty() {
                user_agent.clone_into(&mut open.user_agent);
            }
            open.lanes.insert(request, Lane::default());
            self.owners.insert(request, connection);
        }
    }

    /// Whether the client may still use a connection.
    pub(crate) fn is_usable(&mut self, connection: ConnectionId) -> bool {
        self.usable(connection).is_some()
    }

    /// Where a connection goes.
    pub(crate) fn server(&self, connection: ConnectionId) -> Option<ServerId> {
        self.connections.get(&connection).map(|c| c.server)
    }

    pub(crate) fn owner(&self, request: RequestId) -> Option<ConnectionId> {
        self.owners.get(&request).copied()
    }

    /// When something sent upwards now arrives.
    pub(crate) fn arrival_up(
        &mut self,
        connection: ConnectionId,
        now: Time,
        random: &mut Random,
        config: &NetworkConfig,
        extra: Duration,
    ) -> Time {
        let at = now + random.span(config.latency.0, config.latency.1) + extra;
        match self.connections.get_mut(&connection) {
            Some(open) => {
                open.last_up = open.last_up.max(at);
                open.last_up
            }
            None => at,
        }
    }

    /// When something sent downwards now arrives.
    pub(crate) fn arrival_down(
        &mut self,
        connection: ConnectionId,
        now: Time,
        random: &mut Random,
        config: &NetworkConfig,
        extra: Duration,
    ) -> Time {
        let at = now + random.span(config.latency.0, config.latency.1) + extra;
        match self.connections.get_mut(&connection) {
            Some(open) => {
                open.last_down = open.last_down.max(at);
                open.last_down
            }
            None => at,
        }
    }

    /// Whether the server may send more of a response.
    pub(crate) fn has_room(&self, request: RequestId, config: &NetworkConfig) -> bool {
        self.lane(request)
            .is_some_and(|lane| lane.outstanding < config.window_bytes)
    }

    pub(crate) fn sent(&mut self, request: RequestId, bytes: usize) {
        if let Some(lane) = self.lane_mut(request) {
            lane.outstanding += bytes;
        }
    }

    /// The client took bytes of a response off the network; whether that made room.
    pub(crate) fn consumed(&mut self, request: RequestId, bytes: usize) -> bool {
        match self.lane_mut(request) {
            Some(lane) => {
                lane.outstanding = lane.outstanding.saturating_sub(bytes);
                true
            }
            None => false,
        }
    }

    pub(crate) fn consumes_at_once(&self, connection: ConnectionId) -> bool {
        self.connections
            .get(&connection)
            .is_some_and(|c| c.flow == Flow::Immediate)
    }

    /// Whether a delivery still reaches its client: neither cancelled, closed nor cut away.
    pub(crate) fn reaches(&self, connection: ConnectionId, arrival: &Arrival) -> bool {
        let Some(open) = self.connections.get(&connection) else {
            return false;
        };
        if open.client_gone {
            return false;
        }
        if let (Some(Cut::Reset), false) = (open.cut, matches!(arrival, Arrival::Closed(_))) {
            return false;
        }
        match arrival.request() {
            Some(request) => open.lanes.get(&request).is_some_and(|lane| !lane.cancelled),
            None => true,
        }
    }

    /// The response is over.
    pub(crate) fn finish(&mut self, request: RequestId) {
        if let Some(connection) = self.owners.remove(&request)
            && let Some(open) = self.connections.get_mut(&connection)
        {
            open.lanes.remove(&request);
        }
    }

    /// The client gives up a response: nothing more of it is delivered.
    pub(crate) fn cancel(&mut self, request: RequestId) {
        if let Some(lane) = self.lane_mut(request) {
            lane.cancelled = true;
        }
    }

    /// The client closes a connection: nothing more is delivered.
    pub(crate) fn client_closes(&mut self, connection: ConnectionId) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.client_gone = true;
        }
    }

    /// The server's side of a connection goes away; its requests, whose replies are to be dropped.
    pub(crate) fn cut(&mut self, connection: ConnectionId, cut: Cut) -> Vec<RequestId> {
        let Some(open) = self.connections.get_mut(&connection) else {
            return Vec::new();
        };
        open.cut = Some(cut);
        open.held_up.clear();
        open.lanes.keys().copied().collect()
    }

    /// Forgets a connection; its requests, whose replies are to be dropped.
    pub(crate) fn remove(&mut self, connection: ConnectionId) -> Vec<RequestId> {
        let Some(open) = self.connections.remove(&connection) else {
            return Vec::new();
        };
        let requests: Vec<RequestId> = open.lanes.into_keys().collect();
        for request in &requests {
            self.owners.remove(request);
        }
        requests
    }

    pub(crate) fn is_cut(&self, connection: ConnectionId) -> bool {
        self.connections
            .get(&connection)
            .is_none_or(|c| c.cut.is_some())
    }

    pub(crate) fn hold_up(&mut self, connection: ConnectionId, up: Up) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.held_up.push(up);
        }
    }

    pub(crate) fn hold_down(&mut self, connection: ConnectionId, arrival: Arrival) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.held_down.push(arrival);
        }
    }

    /// What a stall held on a connection.
    pub(crate) fn take_held(&mut self, connection: ConnectionId) -> (Vec<Up>, Vec<Arrival>) {
        match self.connections.get_mut(&connection) {
            Some(open) => (
                std::mem::take(&mut open.held_up),
                std::mem::take(&mut open.held_down),
            ),
            None => (Vec::new(), Vec::new()),
        }
    }

    pub(crate) fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.connections.keys().copied()
    }

    pub(crate) fn with_user_agent(&self, prefix: &str) -> BTreeSet<ConnectionId> {
        self.connections
            .iter()
            .filter(|(_, open)| open.user_agent.starts_with(prefix))
            .map(|(id, _)| *id)
            .collect()
    }

    fn usable(&mut self, connection: ConnectionId) -> Option<&mut Connection> {
        self.connections
            .get_mut(&connection)
            .filter(|c| !c.client_gone)
    }

    fn lane(&self, request: RequestId) -> Option<&Lane> {
        self.connections
            .get(self.owners.get(&request)?)?
            .lanes
            .get(&request)
    }

    fn lane_mut(&mut self, request: RequestId) -> Option<&mut Lane> {
        self.connections
            .get_mut(self.owners.get(&request)?)?
            .lanes
            .get_mut(&request)
    }
}
