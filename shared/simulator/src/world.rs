//! The world: one queue of future events, one clock, one seed, and the parts of a simulated cluster, which exchange
//! messages through the world.

mod clients;
mod faults;
mod inside;
mod parts;
mod received;
mod routing;
mod shutdown;
mod spoil;
mod tally;

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use self::clients::Clients;
use self::inside::Observer;
use self::parts::EtcdLink;
pub use self::received::{Received, ReceivedRecord};
use self::shutdown::Stopping;
use self::spoil::Spoil;
pub use self::tally::{Tallied, TallyRecord};
use crate::apiserver::{Alarm, Apiserver};
use crate::change::Change;
use crate::config::Config;
use crate::etcd::{Etcd, EtcdAlarm, Response, StreamKey};
use crate::fault::Fault;
use crate::kinds::Kinds;
use crate::message::{
    Arrival, ConnectionId, Delivery, Flow, Head, Request, RequestId, Response as Answer, ServerId,
};
use crate::network::{Network, Up};
use crate::queue::Queue;
use crate::random::Random;
use crate::time::{Time, Wall, micros};
use crate::truth::Truth;
use crate::version::Version;
use crate::workload::{Task, Workload};

/// A simulated cluster and the network to it.
///
/// ```text
///  driver ── connect, send, consume, cancel, close ──► network ──► apiservers ──► etcd
///         ◄── deliveries ────────────────────────────── network ◄── watch caches ◄─┘
/// ```
///
/// The world never reads a real clock: time passes only in [`World::run_until`]. The same configuration, seed and calls
/// at the same virtual times give the same deliveries.
///
/// The world's memory grows with the cluster: it holds the objects, etcd's history since the last compaction, and each
/// open connection, request and client program. With [`EtcdConfig::keep_journal`](crate::EtcdConfig::keep_journal) it
/// also holds all changes, without a bound. Records that the driver does not take are dropped, the oldest first; the
/// methods that take records state the bounds.
#[derive(Debug)]
pub struct World {
    now: Time,
    wall: Wall,
    config: Config,
    queue: Queue<Event>,
    /// The source of random numbers for servers, workload, the seeds of clients, and the delays of their pings.
    random: Random,
    /// The source of random numbers for the network, except for the way of a client's ping to its server.
    network_random: Random,
    kinds: Kinds,
    etcd: Etcd,
    etcd_link: EtcdLink,
    servers: Vec<Apiserver>,
    network: Network,
    workload: Workload,
    /// When the last write under way to the controllers' informers arrives. A later write never arrives before this
    /// time.
    last_observed: Time,
    faults: BTreeSet<Fault>,
    /// Servers that got SIGTERM and that no new process has replaced yet.
    stopping: BTreeMap<ServerId, Stopping>,
    /// Watches whose next frame will be torn or garbled.
    torn: BTreeMap<RequestId, Spoil>,
    deliveries: VecDeque<Delivery>,
    clients: Clients,
    /// Whether something may have changed since the last report that an observer reports. Events within a crowd change
    /// nothing of that kind.
    has_news: bool,
    /// Makes the inside records of the parts; `None` until [`World::tell_inside`] switches them on.
    observer: Option<Box<Observer>>,
}

/// Why [`World::run_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Virtual time has reached `until`, and nothing more happens up to that time.
    Reached,
    /// Something was delivered, and virtual time is now the time of its delivery. The driver takes the deliveries with
    /// [`World::next_delivery`], reacts, and calls [`World::run_until`] again.
    Deliveries,
}

#[derive(Debug)]
enum Event {
    Up(ConnectionId, Up),
    Down(ConnectionId, Arrival),
    /// A response on a watch stream of etcd reaches its apiserver; `None`: the stream breaks.
    FromEtcd(StreamKey, Option<Response>),
    Etcd(EtcdAlarm),
    /// etcd compacts this revision, which was noted at least one compaction interval ago.
    Compact(u64),
    /// A write reaches the informers of the cluster's own controllers.
    Observed(Arc<Change>),
    Server(ServerId, Alarm),
    Task(Task),
    Client(clients::Moment),
    /// Checks whether a connection is idle long enough for a middlebox to forget it.
    IdleCheck(ConnectionId),
    /// The next step of a server's shutdown, with the time at which that shutdown began.
    Stopping(ServerId, Time),
}

impl World {
    /// Returns a cluster that has lived for the configured warm-up. Virtual time begins at the cluster's installation,
    /// so it is now equal to the warm-up. The seed determines all random delays, names and choices. Debug builds panic
    /// for too many servers ([`Config::servers`]) or nodes ([`WorkloadConfig::nodes`](crate::WorkloadConfig::nodes)).
    pub fn new(config: Config, seed: u64) -> World {
        let warm_up = i64::try_from(micros(config.warm_up)).unwrap_or(i64::MAX);
        let mut world = World {
            now: Time::ZERO,
            wall: Wall {
                epoch_us: config.wall_start_us.saturating_sub(warm_up),
            },
            queue: Queue::new(),
            random: Random::new(seed),
            network_random: Random::of_part(seed, 1),
            kinds: Kinds::built_in(),
            etcd: Etcd::new(&config.etcd),
            etcd_link: EtcdLink::new(Random::of_part(seed, 2)),
            servers: Vec::new(),
            network: Network::default(),
            workload: Workload::new(config.controllers),
            last_observed: Time::ZERO,
            faults: BTreeSet::new(),
            stopping: BTreeMap::new(),
            torn: BTreeMap::new(),
            deliveries: VecDeque::new(),
            clients: Clients::default(),
            observer: None,
            has_news: true,
            config,
        };
        world.begin();
        let lived = Time::ZERO + world.config.warm_up;
        world.run_until(lived);
        world.with_workload(|workload, ctx| workload.begin_load(ctx));
        world
    }

    fn begin(&mut self) {
        let versions = match self.config.servers.as_slice() {
            [] => vec![Version::DEFAULT],
            versions => versions.to_vec(),
        };
        let resources: Vec<_> = self.kinds.all().map(|(id, _)| id).collect();
        for (id, version) in (0u16..).map(ServerId).zip(versions) {
            self.servers.push(Apiserver::new(id, version, self.now));
            self.with_server(id, |server, ctx| {
                for resource in &resources {
                    server.serve(*resource, true, ctx);
                }
            });
        }
        let first = self.now + self.config.etcd.compaction_interval;
        self.queue
            .schedule(first, Event::Compact(self.etcd.revision()));
        self.with_workload(|workload, ctx| workload.install(ctx));
    }

    /// Returns the present virtual time, which only [`World::run_until`] moves.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the Unix time in microseconds of `at` on the cluster's wall clock, clamped to the range of the number.
    pub fn wall_us(&self, at: Time) -> i64 {
        let since = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
        self.wall.epoch_us.saturating_add(since)
    }

    /// Iterates over the apiservers with their versions, by id; there is at least one server. Servers that shut down or
    /// are gone are included.
    pub fn servers(&self) -> impl Iterator<Item = (ServerId, Version)> {
        self.servers.iter().map(|s| (s.id, s.version()))
    }

    /// Returns when the world's next event happens; `None` if nothing happens by itself.
    ///
    /// While deliveries wait to be taken, the returned time is the present one. A call may also cause an event at the
    /// present time, which waits for [`World::run_until`].
    pub fn next_event_at(&self) -> Option<Time> {
        if self.deliveries.is_empty() {
            self.queue.next_at()
        } else {
            Some(self.now)
        }
    }

    /// Lets time pass to `until`, or to the first time at which something is delivered, whichever is earlier.
    ///
    /// When the function returns, everything that happens at the reached time has happened. Only the deliveries of one
    /// point in time ever wait, so deliveries do not pile up. While deliveries wait to be taken, time stands still. If
    /// `until` is earlier than now, nothing happens.
    pub fn run_until(&mut self, until: Time) -> Pause {
        loop {
            let next = self.queue.next_at();
            if next.is_none_or(|at| at > self.now) {
                if std::mem::take(&mut self.has_news) {
                    self.observe();
                }
                if !self.deliveries.is_empty() {
                    return Pause::Deliveries;
                }
            }
            if next.is_none_or(|at| at > until) {
                self.now = self.now.max(until);
                return Pause::Reached;
            }
            let Some((at, event)) = self.queue.pop() else {
                continue;
            };
            self.now = self.now.max(at);
            self.has_news |= !self.is_within_crowd(&event);
            self.happen(event);
        }
    }

    /// Whether an event changes nothing that an observer reports: it is traffic of a client of a crowd, but no write, or
    /// it wakes such a client.
    fn is_within_crowd(&self, event: &Event) -> bool {
        match event {
            Event::Up(_, Up::Request(_, request)) if request.method != "GET" => false,
            Event::Up(connection, _) | Event::Down(connection, _) => {
                self.clients.is_of_crowd(*connection)
            }
            Event::Client(moment) => self.clients.wakes_crowd(*moment),
            _ => false,
        }
    }

    /// Takes the oldest waiting delivery; `None` if no delivery waits. Deliveries to client programs
    /// ([`World::start_client`]) are not returned.
    pub fn next_delivery(&mut self) -> Option<Delivery> {
        self.deliveries.pop_front()
    }

    /// Opens a connection through the load balancer, which gives connections to the servers in rotation in turn.
    /// [`Arrival::Connected`] or [`Arrival::Refused`] answers, or [`Arrival::Closed`] if the connection is cut before.
    /// While a fault such as [`Fault::Stall`] holds the dial or its answer, no answer comes. The client may send
    /// requests at once. The connection is refused without a server in rotation now, or if its server takes no
    /// connections when the dial arrives, as under [`Fault::Refuse`].
    pub fn connect(&mut self, flow: Flow) -> ConnectionId {
        let in_rotation = self.in_rotation();
        // A load balancer without servers refuses, as a server that does not exist does.
        let nobody = ServerId(u16::MAX);
        let server = self.network.balance(&in_rotation).unwrap_or(nobody);
        self.connect_to(server, flow)
    }

    /// Opens a connection to one server, past the load balancer; the answers are those of [`World::connect`]. The
    /// connection is refused if there is no such server, or if the server takes no connections when the dial arrives.
    pub fn connect_to(&mut self, server: ServerId, flow: Flow) -> ConnectionId {
        self.has_news = true;
        let connection = self.network.connect(server, flow, self.now);
        self.send_up(connection, Up::Open);
        connection
    }

    /// Returns the version of the server that a connection leads to; `None` if the connection is gone or its server
    /// does not exist. The server's `/version` reports the same, if the servers answer that path ([`Config::answers`]).
    /// Under [`Fault::BalanceRequests`] another server may answer a request of the connection.
    #[must_use]
    pub fn version_at(&self, connection: ConnectionId) -> Option<Version> {
        let server = self.network.server(connection)?;
        self.servers()
            .find(|(id, _)| *id == server)
            .map(|(_, version)| version)
    }

    /// Sends a request and returns its id; deliveries with this id answer the request. On a connection that is closed,
    /// gone or unknown the request is lost, as bytes written to a dead socket are. A lost request gets no answer.
    pub fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId {
        self.has_news = true;
        let id = self.network.next_request();
        if self.network.is_usable(connection)
            && let Some(server) = self.server_for_request(connection)
        {
            let user_agent = request.header_value("user-agent").unwrap_or("").to_owned();
            self.network.begin(connection, id, server, &user_agent);
            self.send_up(connection, Up::Request(id, Box::new(request)));
        }
        id
    }

    /// Reports that `bytes` more of a response were read, on connections with [`Flow::Credit`]. A number above that of
    /// the unread bytes counts as all unread bytes. A call for a response that is over or unknown is ignored. With
    /// [`Flow::Immediate`] bytes count as read at their delivery, and this call would count them again.
    pub fn consume(&mut self, request: RequestId, bytes: usize) {
        self.has_news = true;
        let window = self.config.network.window_bytes;
        if self.network.consumed(request, bytes, window) {
            self.pump(request);
        }
    }

    /// Gives up one response and keeps the connection, as an HTTP/2 client can. Nothing more of the response is
    /// delivered, except deliveries that already wait for [`World::next_delivery`]. A call for a request that is over
    /// or unknown is ignored.
    pub fn cancel(&mut self, request: RequestId) {
        self.has_news = true;
        if let Some(connection) = self.network.owner(request) {
            self.network.cancel(request);
            self.send_up(connection, Up::Cancel(request));
        }
    }

    /// Closes a connection from the client's side. Nothing more is delivered over the connection, except deliveries
    /// that already wait for [`World::next_delivery`]. A call for a connection that is closed, gone or unknown is
    /// ignored.
    pub fn close(&mut self, connection: ConnectionId) {
        self.has_news = true;
        if self.network.is_usable(connection) {
            self.network.client_closes(connection);
            self.send_up(connection, Up::Close);
        }
    }

    /// Answers a request from inside the world: at once, past the network and its faults. Server 0 answers, with reads
    /// from etcd, even if it has stopped. Watches are refused with 400. While etcd has no leader, every request is
    /// refused with 500.
    ///
    /// Stories act on the cluster through this function: rollouts, edits, deletions.
    pub fn call(&mut self, request: &Request) -> Answer {
        self.has_news = true;
        let id = self.network.next_request();
        let (status, headers, body) =
            self.with_server(ServerId(0), |server, ctx| server.call(id, request, ctx));
        Answer {
            head: Head { status, headers },
            body,
        }
    }

    /// Iterates over the faults that are switched on, in the order of [`Fault`]'s [`Ord`]: by variant, then by its
    /// fields. Momentary faults are never included.
    pub fn active_faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// Returns whether a client that connects now through the load balancer is refused: by [`Fault::Refuse`], or
    /// because no server is in rotation.
    pub fn refuses_connections(&self) -> bool {
        self.faults.contains(&Fault::Refuse) || self.in_rotation().is_empty()
    }

    /// Takes the requests that were answered 501 since the last call, because the simulator does not model them. Each
    /// text is `METHOD PATH: reason`; the texts come by server, in the order of the ids, and of one server the oldest
    /// first. Of each server at most the first 64 such requests since the last call are named. [`World::unmodelled`]
    /// counts the requests beyond 64 too.
    pub fn take_unmodelled(&mut self) -> Vec<String> {
        let servers = self.servers.iter_mut();
        servers.flat_map(Apiserver::take_unmodelled).collect()
    }

    /// Returns how many requests were answered 501 since the world began, by all servers.
    pub fn unmodelled(&self) -> u64 {
        self.servers.iter().map(Apiserver::unmodelled).sum()
    }

    /// Returns a view of the true state of the cluster: etcd's own store, past every cache and network.
    pub fn truth(&self) -> Truth<'_> {
        Truth::new(&self.etcd, &self.kinds)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Up(connection, up) => self.arrive(connection, up),
            Event::Down(connection, arrival) => self.deliver(connection, arrival),
            Event::FromEtcd(stream, response) => self.etcd_says(stream, response),
            Event::Etcd(alarm) => {
                self.etcd.alarm(&alarm, self.now);
                self.settle();
            }
            Event::Compact(revision) => self.compact(revision),
            Event::Observed(change) => {
                self.with_workload(|workload, ctx| workload.observe(&change, ctx));
            }
            Event::Server(server, alarm) => {
                self.with_server(server, |server, ctx| server.alarm(alarm, ctx));
            }
            Event::Task(task) => self.work(task),
            Event::Client(moment) => self.client_moment(moment),
            Event::IdleCheck(connection) => self.kill_if_idle(connection),
            Event::Stopping(server, since) => {
                self.go_on_stopping(server, since);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_can_be_handed_to_the_thread_that_pumps_it() {
        fn is_send<T: Send>() {}
        is_send::<World>();
    }

    #[test]
    fn time_stands_still_while_deliveries_wait() {
        let mut world = World::new(Config::empty(), 1);
        world.connect(Flow::Immediate);
        let later = Time::from_secs(5);
        assert_eq!(world.run_until(later), Pause::Deliveries);
        let at = world.now();
        assert_eq!(world.next_event_at(), Some(at));
        assert_eq!(world.run_until(later), Pause::Deliveries);
        assert_eq!(world.now(), at);
        let connected = world.next_delivery().unwrap();
        assert_eq!((connected.at, connected.arrival), (at, Arrival::Connected));
        assert_eq!(world.run_until(later), Pause::Reached);
        assert_eq!(world.now(), later);
    }
}
