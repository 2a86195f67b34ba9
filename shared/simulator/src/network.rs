//! Connections between clients and apiserver: delays, order, windows, and what is held or lost on the way.

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use crate::message::{Arrival, ConnectionId, Cut, Flow, Request, RequestId, ServerId};
use crate::random::Random;
use crate::settings::NetworkConfig;
use crate::time::Time;

/// What travels from a client to the apiserver.
#[derive(Clone, Debug)]
pub(crate) enum Up {
    Open,
    /// Boxed: it is the largest of what the queue holds, and the rarest.
    Request(RequestId, Box<Request>),
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
    /// Who got the last connection.
    last_server: Option<ServerId>,
}

#[derive(Debug)]
struct Connection {
    server: ServerId,
    /// Who got its last request, while a load balancer looks at requests.
    last_server: Option<ServerId>,
    flow: Flow,
    user_agent: String,
    /// Responses that are open.
    lanes: BTreeMap<RequestId, Lane>,
    last_up: Time,
    last_down: Time,
    /// What a stall holds, in order.
    held_up: Vec<Up>,
    held_down: Vec<Arrival>,
    /// Requests that wait for others to be over (fault `CapStreams`).
    waiting: VecDeque<(RequestId, Request)>,
    /// The server takes no new requests: it closes when the open ones are over.
    drains: bool,
    /// A middlebox forgot it.
    forgotten: bool,
    /// When something last passed.
    passed_at: Time,
    /// The client closed it: nothing is delivered any more.
    client_gone: bool,
    /// The server's side is gone: only the cut itself, and with [`Cut::Eof`] what is under way, is delivered.
    cut: Option<Cut>,
}

#[derive(Debug)]
struct Lane {
    /// Who answers it.
    server: ServerId,
    /// Bytes sent and not consumed.
    outstanding: usize,
    cancelled: bool,
    /// Whether the server has it.
    begun: bool,
    /// What a proxy keeps of its answer, and how many bytes that is.
    kept: Vec<Arrival>,
    kept_bytes: usize,
}

impl Network {
    /// The server that the load balancer gives the next connection: one after the other of those in rotation.
    pub(crate) fn balance(&mut self, in_rotation: &[ServerId]) -> Option<ServerId> {
        let chosen = next_in_turn(in_rotation, self.last_server)?;
        self.last_server = Some(chosen);
        Some(chosen)
    }

    /// The server that a load balancer which looks at requests gives the next one of a connection.
    pub(crate) fn balance_request(
        &mut self,
        connection: ConnectionId,
        in_rotation: &[ServerId],
    ) -> Option<ServerId> {
        let open = self.connections.get_mut(&connection)?;
        let chosen = match open.last_server {
            None => open.server,
            last => next_in_turn(in_rotation, last).unwrap_or(open.server),
        };
        open.last_server = Some(chosen);
        Some(chosen)
    }

    pub(crate) fn connect(&mut self, server: ServerId, flow: Flow, now: Time) -> ConnectionId {
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        let connection = Connection {
            server,
            last_server: None,
            flow,
            user_agent: String::new(),
            lanes: BTreeMap::new(),
            last_up: now,
            last_down: now,
            held_up: Vec::new(),
            held_down: Vec::new(),
            waiting: VecDeque::new(),
            drains: false,
            forgotten: false,
            passed_at: now,
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
    pub(crate) fn begin(
        &mut self,
        connection: ConnectionId,
        request: RequestId,
        server: ServerId,
        user_agent: &str,
    ) {
        if let Some(open) = self.usable(connection) {
            if open.user_agent.is_empty() {
                user_agent.clone_into(&mut open.user_agent);
            }
            let lane = Lane {
                server,
                outstanding: 0,
                cancelled: false,
                begun: false,
                kept: Vec::new(),
                kept_bytes: 0,
            };
            open.lanes.insert(request, lane);
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

    /// Who answers a request.
    pub(crate) fn server_of(&self, request: RequestId) -> Option<ServerId> {
        self.lane(request).map(|lane| lane.server)
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

    /// The way of a response: its connection, who answers it, and bytes of it that were sent and not consumed.
    pub(crate) fn way(&self, request: RequestId) -> Option<(ConnectionId, ServerId, usize)> {
        let connection = self.owner(request)?;
        let lane = self.connections.get(&connection)?.lanes.get(&request)?;
        Some((connection, lane.server, lane.outstanding))
    }

    pub(crate) fn sent(&mut self, request: RequestId, bytes: usize) {
        if let Some(lane) = self.lane_mut(request) {
            lane.outstanding += bytes;
        }
    }

    /// The client took bytes of a response off the network; whether that made room in a window that had none.
    pub(crate) fn consumed(&mut self, request: RequestId, bytes: usize, window: usize) -> bool {
        let Some(lane) = self.lane_mut(request) else {
            return false;
        };
        let was_full = lane.outstanding >= window;
        lane.outstanding = lane.outstanding.saturating_sub(bytes);
        was_full && lane.outstanding < window
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
        let is_last = matches!(arrival, Arrival::Closed(_) | Arrival::GoAway);
        if open.cut == Some(Cut::Reset) && !is_last {
            return false;
        }
        match arrival.request() {
            Some(request) => open.lanes.get(&request).is_some_and(|lane| !lane.cancelled),
            None => true,
        }
    }

    /// Lets the server have a request, unless as many as it may have at a time are open: then it waits.
    pub(crate) fn admit(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        request: Request,
        cap: Option<usize>,
    ) -> Option<Request> {
        let open = self.connections.get_mut(&connection)?;
        let begun = open.lanes.values().filter(|lane| lane.begun).count();
        let lane = open.lanes.get_mut(&id)?;
        if cap.is_some_and(|cap| begun >= cap) {
            open.waiting.push_back((id, request));
            return None;
        }
        lane.begun = true;
        Some(request)
    }

    /// The next request that waits for others to be over.
    pub(crate) fn next_waiting(
        &mut self,
        connection: ConnectionId,
    ) -> Option<(RequestId, Request)> {
        self.connections.get_mut(&connection)?.waiting.pop_front()
    }

    /// A proxy takes part of an answer; what it passes on, if anything.
    pub(crate) fn keep(
        &mut self,
        request: RequestId,
        arrival: Arrival,
        most: usize,
    ) -> Vec<Arrival> {
        let Some(lane) = self.lane_mut(request) else {
            return vec![arrival];
        };
        if let Arrival::Chunk { bytes, .. } = &arrival {
            lane.kept_bytes += bytes.len();
        }
        lane.kept.push(arrival);
        if lane.kept_bytes < most {
            return Vec::new();
        }
        lane.kept_bytes = 0;
        std::mem::take(&mut lane.kept)
    }

    /// What a proxy keeps of an answer.
    pub(crate) fn take_kept(&mut self, request: RequestId) -> Vec<Arrival> {
        match self.lane_mut(request) {
            Some(lane) => {
                lane.kept_bytes = 0;
                std::mem::take(&mut lane.kept)
            }
            None => Vec::new(),
        }
    }

    /// The open requests of a connection.
    pub(crate) fn requests(&self, connection: ConnectionId) -> Vec<RequestId> {
        let open = self.connections.get(&connection);
        open.map_or_else(Vec::new, |c| c.lanes.keys().copied().collect())
    }

    /// From now on the server takes no new requests.
    pub(crate) fn drain(&mut self, connection: ConnectionId) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.drains = true;
        }
    }

    /// Whether the server takes no new requests over a connection.
    pub(crate) fn is_draining(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_none_or(|c| c.drains || c.cut.is_some())
    }

    /// Whether a connection that takes no new requests has nothing left to do.
    pub(crate) fn is_drained(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_some_and(|c| c.drains && c.lanes.is_empty() && c.cut.is_none())
    }

    /// Something passes over a connection.
    pub(crate) fn passes(&mut self, connection: ConnectionId, now: Time) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.passed_at = now;
        }
    }

    /// When something last passed over a connection that is open.
    pub(crate) fn passed_at(&self, connection: ConnectionId) -> Option<Time> {
        let open = self.connections.get(&connection)?;
        (open.cut.is_none() && !open.client_gone && !open.forgotten).then_some(open.passed_at)
    }

    /// A middlebox forgets a connection: nothing passes any more.
    pub(crate) fn forget_flow(&mut self, connection: ConnectionId) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.forgotten = true;
        }
    }

    pub(crate) fn is_forgotten(&self, connection: ConnectionId) -> bool {
        self.connections
            .get(&connection)
            .is_some_and(|c| c.forgotten)
    }

    /// The first word of what a connection's client calls itself.
    pub(crate) fn user(&self, connection: ConnectionId) -> &str {
        let open = self.connections.get(&connection);
        let name = open.map_or("", |c| c.user_agent.as_str());
        name.split([' ', '/']).next().unwrap_or_default()
    }

    /// How many responses are open on a connection.
    pub(crate) fn open_responses(&self, connection: ConnectionId) -> usize {
        let open = self.connections.get(&connection);
        open.map_or(0, |c| c.lanes.len())
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
    pub(crate) fn remove(&mut self, connection: ConnectionId) -> Vec<(RequestId, ServerId)> {
        let Some(open) = self.connections.remove(&connection) else {
            return Vec::new();
        };
        let requests: Vec<(RequestId, ServerId)> = open
            .lanes
            .into_iter()
            .map(|(id, lane)| (id, lane.server))
            .collect();
        for (request, _) in &requests {
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

    /// Whether a stall holds something of a connection on its way to the server.
    pub(crate) fn holds_up(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_some_and(|open| !open.held_up.is_empty())
    }

    /// Whether a stall holds something of a connection on its way to the client.
    pub(crate) fn holds_down(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_some_and(|open| !open.held_down.is_empty())
    }

    /// What a stall held on its way to the server.
    pub(crate) fn take_held_up(&mut self, connection: ConnectionId) -> Vec<Up> {
        let open = self.connections.get_mut(&connection);
        open.map_or_else(Vec::new, |open| std::mem::take(&mut open.held_up))
    }

    /// What a stall held on its way to the client.
    pub(crate) fn take_held_down(&mut self, connection: ConnectionId) -> Vec<Arrival> {
        let open = self.connections.get_mut(&connection);
        open.map_or_else(Vec::new, |open| std::mem::take(&mut open.held_down))
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

/// The server after the last one, around.
fn next_in_turn(servers: &[ServerId], last: Option<ServerId>) -> Option<ServerId> {
    let after = servers
        .iter()
        .find(|server| last.is_none_or(|last| **server > last));
    after.or(servers.first()).copied()
}
