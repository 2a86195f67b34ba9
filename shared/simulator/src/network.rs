//! Connections between clients and apiservers: delays, order, windows, and messages that are held or lost on the way.

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use crate::message::{Arrival, ConnectionId, Cut, Flow, Request, RequestId, ServerId};
use crate::random::Random;
use crate::settings::NetworkConfig;
use crate::time::Time;

/// A message from a client to an apiserver.
#[derive(Clone, Debug)]
pub(crate) enum Up {
    Open,
    /// A request. It is boxed, because it is the largest entry of the queue and the rarest.
    Request(RequestId, Box<Request>),
    Cancel(RequestId),
    Close,
}

/// All connections and their open requests.
///
/// Responses are bounded: of each response at most one window's bytes and the chunk that fills the window are under
/// way. Requests have no bound but the clients' own.
#[derive(Debug, Default)]
pub(crate) struct Network {
    connections: BTreeMap<ConnectionId, Connection>,
    owners: BTreeMap<RequestId, ConnectionId>,
    last_connection: u64,
    last_request: u64,
    /// The server that got the last connection.
    last_server: Option<ServerId>,
}

#[derive(Debug)]
struct Connection {
    server: ServerId,
    /// The server that got the connection's last request, while a load balancer forwards requests one by one.
    last_server: Option<ServerId>,
    flow: Flow,
    user_agent: String,
    /// Open requests, with the state of their responses.
    exchanges: BTreeMap<RequestId, Exchange>,
    last_up: Time,
    last_down: Time,
    /// Messages to the server that a stall holds, in the order of sending.
    held_up: Vec<Up>,
    held_down: Vec<Arrival>,
    /// Requests that wait until others of the connection are over (fault `CapStreams`).
    waiting: VecDeque<(RequestId, Request)>,
    /// Whether the server takes no new requests, and closes the connection when the open requests are over.
    drains: bool,
    /// Whether a middlebox forgot the connection, so that nothing passes.
    forgotten: bool,
    /// When something last passed over the connection.
    passed_at: Time,
    /// Whether the client closed the connection: nothing more is delivered.
    client_gone: bool,
    /// How the server's side of the connection was cut; `None`: it was not. After a cut only the cut itself is
    /// delivered, and with [`Cut::Eof`] the messages under way.
    cut: Option<Cut>,
}

#[derive(Debug)]
struct Exchange {
    /// The server that answers the request.
    server: ServerId,
    /// Bytes of the response that were sent and that the client has not consumed.
    outstanding: usize,
    cancelled: bool,
    /// Whether the request has reached the server, so that the cap on streams counts it.
    begun: bool,
    /// Parts of the response that a proxy keeps; `kept_bytes` is their size.
    kept: Vec<Arrival>,
    kept_bytes: usize,
}

impl Network {
    /// Returns the server that the load balancer gives the next connection: the servers in rotation take turns. `None`
    /// if no server is in rotation.
    pub(crate) fn balance(&mut self, in_rotation: &[ServerId]) -> Option<ServerId> {
        let chosen = next_in_turn(in_rotation, self.last_server)?;
        self.last_server = Some(chosen);
        Some(chosen)
    }

    /// Returns the server that gets the next request of a connection, where a load balancer forwards requests one by
    /// one. Without a server in rotation it is the connection's own server; `None` if there is no such connection.
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
            exchanges: BTreeMap::new(),
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

    /// Returns the next request id, also for a request that never travels the network.
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
            let exchange = Exchange {
                server,
                outstanding: 0,
                cancelled: false,
                begun: false,
                kept: Vec::new(),
                kept_bytes: 0,
            };
            open.exchanges.insert(request, exchange);
            self.owners.insert(request, connection);
        }
    }

    /// Returns whether the client may still use a connection.
    pub(crate) fn is_usable(&mut self, connection: ConnectionId) -> bool {
        self.usable(connection).is_some()
    }

    /// Returns the server that a connection leads to, which need not exist; `None` if the connection is gone.
    pub(crate) fn server(&self, connection: ConnectionId) -> Option<ServerId> {
        self.connections.get(&connection).map(|c| c.server)
    }

    /// Returns the server that answers a request; `None` if the request is over.
    pub(crate) fn server_of(&self, request: RequestId) -> Option<ServerId> {
        self.exchange(request).map(|exchange| exchange.server)
    }

    pub(crate) fn owner(&self, request: RequestId) -> Option<ConnectionId> {
        self.owners.get(&request).copied()
    }

    /// Returns when a message that the client sends now reaches the server.
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

    /// Returns when a message that the server sends now reaches the client.
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

    /// Returns a response's connection, its server, and its bytes that were sent and not consumed. `None` if the
    /// response is over.
    pub(crate) fn response_state(
        &self,
        request: RequestId,
    ) -> Option<(ConnectionId, ServerId, usize)> {
        let connection = self.owner(request)?;
        let exchange = self.connections.get(&connection)?.exchanges.get(&request)?;
        Some((connection, exchange.server, exchange.outstanding))
    }

    pub(crate) fn sent(&mut self, request: RequestId, bytes: usize) {
        if let Some(exchange) = self.exchange_mut(request) {
            exchange.outstanding += bytes;
        }
    }

    /// Notes that the client read bytes of a response. Returns whether the read made room in a window that was full.
    pub(crate) fn consumed(&mut self, request: RequestId, bytes: usize, window: usize) -> bool {
        let Some(exchange) = self.exchange_mut(request) else {
            return false;
        };
        let was_full = exchange.outstanding >= window;
        exchange.outstanding = exchange.outstanding.saturating_sub(bytes);
        was_full && exchange.outstanding < window
    }

    pub(crate) fn consumes_at_once(&self, connection: ConnectionId) -> bool {
        self.connections
            .get(&connection)
            .is_some_and(|c| c.flow == Flow::Immediate)
    }

    /// Returns whether a delivery still reaches its client. A delivery does not reach it if its request was cancelled
    /// or is over, or if its connection was closed. After a cut with a reset only `Arrival::Closed` and
    /// `Arrival::GoAway` reach it.
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
            Some(request) => open
                .exchanges
                .get(&request)
                .is_some_and(|exchange| !exchange.cancelled),
            None => true,
        }
    }

    /// Returns the request if the server may have it now. If at least `cap` requests of the connection have reached the
    /// server and are open, the request waits, and the function returns `None`. It also returns `None` for a request
    /// that is over.
    pub(crate) fn admit(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        request: Request,
        cap: Option<usize>,
    ) -> Option<Request> {
        let open = self.connections.get_mut(&connection)?;
        let begun = open
            .exchanges
            .values()
            .filter(|exchange| exchange.begun)
            .count();
        let exchange = open.exchanges.get_mut(&id)?;
        if cap.is_some_and(|cap| begun >= cap) {
            open.waiting.push_back((id, request));
            return None;
        }
        exchange.begun = true;
        Some(request)
    }

    /// Takes the next request of a connection that waits until others are over; `None` if none waits.
    pub(crate) fn next_waiting(
        &mut self,
        connection: ConnectionId,
    ) -> Option<(RequestId, Request)> {
        self.connections.get_mut(&connection)?.waiting.pop_front()
    }

    /// Gives a proxy a part of a response. Returns the parts that the proxy passes on: none until it has `most` bytes.
    pub(crate) fn keep(
        &mut self,
        request: RequestId,
        arrival: Arrival,
        most: usize,
    ) -> Vec<Arrival> {
        let Some(exchange) = self.exchange_mut(request) else {
            return vec![arrival];
        };
        if let Arrival::Chunk { bytes, .. } = &arrival {
            exchange.kept_bytes += bytes.len();
        }
        exchange.kept.push(arrival);
        if exchange.kept_bytes < most {
            return Vec::new();
        }
        exchange.kept_bytes = 0;
        std::mem::take(&mut exchange.kept)
    }

    /// Takes the parts of a response that a proxy keeps.
    pub(crate) fn take_kept(&mut self, request: RequestId) -> Vec<Arrival> {
        match self.exchange_mut(request) {
            Some(exchange) => {
                exchange.kept_bytes = 0;
                std::mem::take(&mut exchange.kept)
            }
            None => Vec::new(),
        }
    }

    /// The open requests of a connection.
    pub(crate) fn requests(&self, connection: ConnectionId) -> Vec<RequestId> {
        let open = self.connections.get(&connection);
        open.map_or_else(Vec::new, |c| c.exchanges.keys().copied().collect())
    }

    /// Marks a connection: from now on the server takes no new requests over it.
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

    /// Whether a connection that takes no new requests has no open ones left.
    pub(crate) fn is_drained(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_some_and(|c| c.drains && c.exchanges.is_empty() && c.cut.is_none())
    }

    /// Notes that something passes over a connection at `now`.
    pub(crate) fn passes(&mut self, connection: ConnectionId, now: Time) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.passed_at = now;
        }
    }

    /// When something last passed over a connection; `None` if the connection is closed, cut or forgotten by a
    /// middlebox.
    pub(crate) fn passed_at(&self, connection: ConnectionId) -> Option<Time> {
        let open = self.connections.get(&connection)?;
        (open.cut.is_none() && !open.client_gone && !open.forgotten).then_some(open.passed_at)
    }

    /// Makes a middlebox forget a connection: nothing passes over it any more.
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

    /// The client's name: its User-Agent up to the first space or slash.
    pub(crate) fn user(&self, connection: ConnectionId) -> &str {
        let open = self.connections.get(&connection);
        let name = open.map_or("", |c| c.user_agent.as_str());
        name.split([' ', '/']).next().unwrap_or_default()
    }

    /// The number of open requests of a connection.
    pub(crate) fn open_responses(&self, connection: ConnectionId) -> usize {
        let open = self.connections.get(&connection);
        open.map_or(0, |c| c.exchanges.len())
    }

    /// Removes a request whose response is over.
    pub(crate) fn finish(&mut self, request: RequestId) {
        if let Some(connection) = self.owners.remove(&request)
            && let Some(open) = self.connections.get_mut(&connection)
        {
            open.exchanges.remove(&request);
        }
    }

    /// Notes that the client gave a response up: nothing more of it is delivered.
    pub(crate) fn cancel(&mut self, request: RequestId) {
        if let Some(exchange) = self.exchange_mut(request) {
            exchange.cancelled = true;
        }
    }

    /// Notes that the client closed a connection: nothing more is delivered.
    pub(crate) fn client_closes(&mut self, connection: ConnectionId) {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.client_gone = true;
        }
    }

    /// Cuts a connection on the server's side. Returns its requests, whose replies the caller drops.
    pub(crate) fn cut(&mut self, connection: ConnectionId, cut: Cut) -> Vec<RequestId> {
        let Some(open) = self.connections.get_mut(&connection) else {
            return Vec::new();
        };
        open.cut = Some(cut);
        open.held_up.clear();
        open.exchanges.keys().copied().collect()
    }

    /// Removes a connection. Returns its requests, whose replies the caller drops.
    pub(crate) fn remove(&mut self, connection: ConnectionId) -> Vec<(RequestId, ServerId)> {
        let Some(open) = self.connections.remove(&connection) else {
            return Vec::new();
        };
        let requests: Vec<(RequestId, ServerId)> = open
            .exchanges
            .into_iter()
            .map(|(id, exchange)| (id, exchange.server))
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

    /// Whether a stall holds something on its way to the server.
    pub(crate) fn holds_up(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_some_and(|open| !open.held_up.is_empty())
    }

    /// Whether a stall holds something on its way to the client.
    pub(crate) fn holds_down(&self, connection: ConnectionId) -> bool {
        let open = self.connections.get(&connection);
        open.is_some_and(|open| !open.held_down.is_empty())
    }

    /// Takes the messages that a stall held on their way to the server.
    pub(crate) fn take_held_up(&mut self, connection: ConnectionId) -> Vec<Up> {
        let open = self.connections.get_mut(&connection);
        open.map_or_else(Vec::new, |open| std::mem::take(&mut open.held_up))
    }

    /// Takes the messages that a stall held on their way to the client.
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

    fn exchange(&self, request: RequestId) -> Option<&Exchange> {
        self.connections
            .get(self.owners.get(&request)?)?
            .exchanges
            .get(&request)
    }

    fn exchange_mut(&mut self, request: RequestId) -> Option<&mut Exchange> {
        self.connections
            .get_mut(self.owners.get(&request)?)?
            .exchanges
            .get_mut(&request)
    }
}

/// Returns the first of `servers` above `last`, or without one the first of all; `None` if `servers` is empty. The list
/// is sorted.
fn next_in_turn(servers: &[ServerId], last: Option<ServerId>) -> Option<ServerId> {
    let after = servers
        .iter()
        .find(|server| last.is_none_or(|last| **server > last));
    after.or(servers.first()).copied()
}
