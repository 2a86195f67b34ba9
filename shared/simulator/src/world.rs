//! The world: one queue, one clock, one seed, and the parts that exchange messages through it.

mod clients;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use self::clients::Clients;
use crate::apiserver::{ActiveThrottle, Alarm, Apiserver, Context, Part};
use crate::config::Config;
use crate::etcd::{Change, Etcd};
use crate::fault::{Fault, Target};
use crate::kinds::Kinds;
use crate::message::{
    Arrival, ConnectionId, Cut, Delivery, Flow, Head, Request, RequestId, Response,
};
use crate::network::{Network, Up};
use crate::queue::Queue;
use crate::random::Random;
use crate::time::{Time, Wall, micros};
use crate::truth::Truth;
use crate::workload::{self, Task, Workload};

/// A simulated cluster and the network to it.
///
/// ```text
///  driver ── connect, send, consume, cancel, close ──► network ──► apiserver ──► etcd
///         ◄── deliveries ────────────────────────────── network ◄── watch caches ◄─┘
/// ```
///
/// It never reads a clock: time passes in [`World::run_until`] only. The same configuration, seed and calls at the
/// same virtual times give the same deliveries.
#[derive(Debug)]
pub struct World {
    now: Time,
    wall: Wall,
    config: Config,
    queue: Queue<Event>,
    random: Random,
    kinds: Kinds,
    etcd: Etcd,
    apiserver: Apiserver,
    network: Network,
    workload: Workload,
    /// When the last event under way from etcd to the watch caches arrives: they arrive in order.
    last_etcd_event: Time,
    faults: BTreeSet<Fault>,
    /// Watches whose next frame is to be torn, and how their connection is cut then.
    torn: BTreeMap<RequestId, Cut>,
    deliveries: VecDeque<Delivery>,
    clients: Clients,
}

/// Why [`World::run_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The time is reached; nothing is left to happen until then.
    Reached,
    /// Something was delivered, and it is the moment of its delivery: take it, react to it, go on.
    Deliveries,
}

#[derive(Debug)]
enum Event {
    Up(ConnectionId, Up),
    Down(ConnectionId, Arrival),
    FromEtcd(Arc<Change>),
    Alarm(Alarm),
    Task(Task),
    Client(clients::Moment),
}

impl World {
    /// A cluster that has lived for the configured warm-up; virtual time begins at its installation.
    pub fn new(config: Config, seed: u64) -> World {
        let warm_up = i64::try_from(micros(config.warm_up)).unwrap_or(i64::MAX);
        let mut world = World {
            now: Time::ZERO,
            wall: Wall {
                epoch_us: config.wall_start_us.saturating_sub(warm_up),
            },
            queue: Queue::new(),
            random: Random::new(seed),
            kinds: Kinds::built_in(),
            etcd: Etcd::new(config.etcd.keep_journal),
            apiserver: Apiserver::new(),
            network: Network::default(),
            workload: Workload::default(),
            last_etcd_event: Time::ZERO,
            faults: BTreeSet::new(),
            torn: BTreeMap::new(),
            deliveries: VecDeque::new(),
            clients: Clients::default(),
            config,
        };
        let resources: Vec<_> = world.kinds.all().map(|(id, _)| id).collect();
        world.with_apiserver(|apiserver, ctx| {
            for resource in resources {
                apiserver.serve(resource, ctx);
            }
            let first = Alarm::Compact(ctx.etcd.revision());
            ctx.alarms
                .push((ctx.now + ctx.config.etcd.compaction_interval, first));
        });
        world.with_workload(|workload, ctx| workload.install(ctx));
        let lived = Time::ZERO + world.config.warm_up;
        world.run_until(lived);
        world
    }

    /// The present moment.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Unix time in microseconds of `at` on the cluster's wall clock.
    pub fn wall_us(&self, at: Time) -> i64 {
        let since = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
        self.wall.epoch_us.saturating_add(since)
    }

    /// When the next thing happens, if anything is to happen by itself.
    ///
    /// It is the present moment while deliveries wait to be taken.
    pub fn next_event_at(&self) -> Option<Time> {
        if self.deliveries.is_empty() {
            self.queue.next_at()
        } else {
            Some(self.now)
        }
    }

    /// Lets time pass to `until`, or to the first moment at which something is delivered if that is earlier.
    ///
    /// Everything that happens at that moment has happened when it returns, so deliveries wait at most for one moment
    /// and never pile up. While deliveries wait to be taken, time stands still.
    pub fn run_until(&mut self, until: Time) -> Pause {
        loop {
            let next = self.queue.next_at();
            if !self.deliveries.is_empty() && next.is_none_or(|at| at > self.now) {
                return Pause::Deliveries;
            }
            if next.is_none_or(|at| at > until) {
                self.now = self.now.max(until);
                return Pause::Reached;
            }
            let Some((at, event)) = self.queue.pop() else {
                continue;
            };
            self.now = self.now.max(at);
            self.happen(event);
        }
    }

    /// Takes the next delivery.
    pub fn next_delivery(&mut self) -> Option<Delivery> {
        self.deliveries.pop_front()
    }

    /// Opens a connection; [`Arrival::Connected`] or [`Arrival::Refused`] answers. Requests may be sent at once.
    pub fn connect(&mut self, flow: Flow) -> ConnectionId {
        let connection = self.network.connect(flow, self.now);
        self.send_up(connection, Up::Open);
        connection
    }

    /// Sends a request. On a connection that is gone it is lost, as bytes written to a dead socket are.
    pub fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId {
        let id = self.network.next_request();
        if self.network.is_usable(connection) {
            let user_agent = request.header_value("user-agent").unwrap_or("").to_owned();
            self.network.begin(connection, id, &user_agent);
            self.send_up(connection, Up::Request(id, request));
        }
        id
    }

    /// Says that `bytes` of a response were read, on connections with [`Flow::Credit`].
    pub fn consume(&mut self, request: RequestId, bytes: usize) {
        if self.network.consumed(request, bytes) {
            self.pump(request);
        }
    }

    /// Gives up one response and keeps the connection, as an HTTP/2 client can; nothing more of it is delivered.
    pub fn cancel(&mut self, request: RequestId) {
        if let Some(connection) = self.network.owner(request) {
            self.network.cancel(request);
            self.send_up(connection, Up::Cancel(request));
        }
    }

    /// Closes a connection from the client's side; nothing more is delivered over it.
    pub fn close(&mut self, connection: ConnectionId) {
        if self.network.is_usable(connection) {
            self.network.client_closes(connection);
            self.send_up(connection, Up::Close);
        }
    }

    /// Does a request from inside the world: at once, past network and faults, reading from etcd. Watches are refused.
    ///
    /// So stories act: rollouts, edits, deletions.
    pub fn call(&mut self, request: &Request) -> Response {
        let id = self.network.next_request();
        let (status, headers, body) =
            self.with_apiserver(|apiserver, ctx| apiserver.call(id, request, ctx));
        Response {
            head: Head { status, headers },
            body,
        }
    }

    /// Switches a fault on, or makes it happen if it is a moment.
    pub fn inject(&mut self, fault: Fault) {
        match &fault {
            Fault::Cut { target, cut } => {
                for connection in self.connections_of(target) {
                    self.cut(connection, *cut);
                }
            }
            Fault::CloseStreams { target } => {
                for watch in self.watches_of(target) {
                    self.apiserver.end_watch(watch);
                }
                self.settle();
            }
            Fault::TearFrame { target, cut } => {
                for watch in self.watches_of(target) {
                    self.torn.insert(watch, *cut);
                }
            }
            Fault::Expire { resource } => {
                let resource = resource.clone();
                self.with_apiserver(|apiserver, ctx| apiserver.expire(resource.as_deref(), ctx));
            }
            Fault::TooManyRequests {
                resource,
                throttle,
                retry_after_secs,
            } => self.apiserver.throttles.push(ActiveThrottle {
                resource: resource.clone(),
                throttle: *throttle,
                retry_after_secs: *retry_after_secs,
            }),
            Fault::Refuse | Fault::Stall { .. } | Fault::Delay { .. } => {}
        }
        if !fault.is_momentary() {
            self.faults.insert(fault);
        }
    }

    /// Switches off a fault that is on.
    pub fn lift(&mut self, fault: &Fault) {
        if !self.faults.remove(fault) {
            return;
        }
        match fault {
            Fault::Expire { resource } => {
                self.apiserver
                    .keep_history(resource.as_deref(), &self.kinds);
                let still_on: Vec<Fault> = self.faults.iter().cloned().collect();
                for other in still_on {
                    if let Fault::Expire { resource } = other {
                        self.with_apiserver(|apiserver, ctx| {
                            apiserver.expire(resource.as_deref(), ctx)
                        });
                    }
                }
            }
            Fault::TooManyRequests {
                resource,
                throttle,
                retry_after_secs,
            } => self.apiserver.throttles.retain(|active| {
                (&active.resource, active.throttle, active.retry_after_secs)
                    != (resource, *throttle, *retry_after_secs)
            }),
            Fault::Stall { .. } => self.release_held(),
            _ => {}
        }
    }

    /// The faults that are on.
    pub fn active_faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// What is really in the cluster, past every cache, network and fault.
    pub fn truth(&self) -> Truth<'_> {
        Truth::new(&self.etcd, &self.kinds)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Up(connection, up) => self.arrive(connection, up),
            Event::Down(connection, arrival) => self.deliver(connection, arrival),
            Event::FromEtcd(change) => {
                self.with_apiserver(|apiserver, ctx| apiserver.receive(&change, ctx));
                self.with_workload(|workload, ctx| workload.observe(&change, ctx));
            }
            Event::Alarm(alarm) => {
                self.with_apiserver(|apiserver, ctx| apiserver.alarm(alarm, ctx))
            }
            Event::Task(task) => self.with_workload(|workload, ctx| workload.work(task, ctx)),
            Event::Client(moment) => self.client_moment(moment),
        }
    }

    /// Something a client sent reaches the apiserver.
    fn arrive(&mut self, connection: ConnectionId, up: Up) {
        if self.network.is_cut(connection) {
            return;
        }
        if self.is_stalled(connection) {
            return self.network.hold_up(connection, up);
        }
        match up {
            Up::Open => {
                let refused = self.faults.contains(&Fault::Refuse);
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
                    self.with_apiserver(|apiserver, ctx| apiserver.handle(id, &request, ctx));
                }
            }
            Up::Cancel(id) => {
                self.apiserver.drop_reply(id);
                self.network.finish(id);
            }
            Up::Close => self.forget(connection),
        }
    }

    /// Something the apiserver sent reaches its client.
    fn deliver(&mut self, connection: ConnectionId, arrival: Arrival) {
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
    fn pump(&mut self, request: RequestId) {
        let Some(connection) = self.network.owner(request) else {
            return self.apiserver.drop_reply(request);
        };
        loop {
            let room = self.network.has_room(request, &self.config.network);
            let Some(reply) = self.apiserver.reply(request) else {
                return;
            };
            let is_watch = reply.is_watch();
            match reply.next_part(room) {
                None => return,
                Some(Part::Head(head)) => {
                    self.send_down(connection, Arrival::Head { request, head })
                }
                Some(Part::Chunk(bytes)) => {
                    if let (true, Some(cut)) = (is_watch, self.torn.remove(&request)) {
                        return self.tear(connection, request, &bytes, cut);
                    }
                    self.network.sent(request, bytes.len());
                    self.send_down(connection, Arrival::Chunk { request, bytes });
                }
                Some(Part::End) => {
                    self.apiserver.drop_reply(request);
                    self.torn.remove(&request);
                    return self.send_down(connection, Arrival::End { request });
                }
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
            self.apiserver.drop_reply(id);
        }
        self.queue
            .schedule(at, Event::Down(connection, Arrival::Closed(cut)));
    }

    fn cut(&mut self, connection: ConnectionId, cut: Cut) {
        if self.network.is_cut(connection) {
            return;
        }
        for id in self.network.cut(connection, cut) {
            self.apiserver.drop_reply(id);
            self.torn.remove(&id);
        }
        let at = self.arrival_down(connection);
        self.queue
            .schedule(at, Event::Down(connection, Arrival::Closed(cut)));
    }

    fn forget(&mut self, connection: ConnectionId) {
        for id in self.network.remove(connection) {
            self.apiserver.drop_reply(id);
            self.torn.remove(&id);
        }
    }

    fn send_up(&mut self, connection: ConnectionId, up: Up) {
        let extra = self.extra_delay();
        let at = self.network.arrival_up(
            connection,
            self.now,
            &mut self.random,
            &self.config.network,
            extra,
        );
        self.queue.schedule(at, Event::Up(connection, up));
    }

    fn send_down(&mut self, connection: ConnectionId, arrival: Arrival) {
        let at = self.arrival_down(connection);
        self.queue.schedule(at, Event::Down(connection, arrival));
    }

    fn arrival_down(&mut self, connection: ConnectionId) -> Time {
        let extra = self.extra_delay();
        self.network.arrival_down(
            connection,
            self.now,
            &mut self.random,
            &self.config.network,
            extra,
        )
    }

    fn extra_delay(&self) -> Duration {
        self.faults
            .iter()
            .map(|fault| match fault {
                Fault::Delay { by } => *by,
                _ => Duration::ZERO,
            })
            .sum()
    }

    fn is_stalled(&self, connection: ConnectionId) -> bool {
        self.faults.iter().any(|fault| match fault {
            Fault::Stall { target } => self.matches(target, connection),
            _ => false,
        })
    }

    fn matches(&self, target: &Target, connection: ConnectionId) -> bool {
        match target {
            Target::All => true,
            Target::Connection(one) => *one == connection,
            Target::Resource(_) | Target::UserAgent(_) => {
                self.connections_of(target).contains(&connection)
            }
        }
    }

    fn connections_of(&self, target: &Target) -> BTreeSet<ConnectionId> {
        match target {
            Target::All => self.network.connections().collect(),
            Target::Connection(one) => self.network.connections().filter(|c| c == one).collect(),
            Target::UserAgent(prefix) => self.network.with_user_agent(prefix),
            Target::Resource(_) => {
                let watches = self.watches_of(target);
                watches
                    .into_iter()
                    .filter_map(|w| self.network.owner(w))
                    .collect()
            }
        }
    }

    fn watches_of(&self, target: &Target) -> BTreeSet<RequestId> {
        match target {
            Target::All => self.apiserver.watches().collect(),
            Target::Resource(name) => match self.kinds.named(name) {
                Some(resource) => self.apiserver.watches_of(resource).collect(),
                None => BTreeSet::new(),
            },
            Target::Connection(_) | Target::UserAgent(_) => {
                let connections = self.connections_of(target);
                let on_them = |w: &RequestId| {
                    self.network
                        .owner(*w)
                        .is_some_and(|c| connections.contains(&c))
                };
                self.apiserver.watches().filter(on_them).collect()
            }
        }
    }

    /// Lets what a lifted stall held arrive now, so that it stays ahead of what is still under way.
    fn release_held(&mut self) {
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

    fn with_apiserver<T>(&mut self, act: impl FnOnce(&mut Apiserver, &mut Context<'_>) -> T) -> T {
        let mut alarms = Vec::new();
        let mut ctx = Context {
            now: self.now,
            wall: self.wall,
            config: &self.config,
            etcd: &mut self.etcd,
            kinds: &mut self.kinds,
            random: &mut self.random,
            alarms: &mut alarms,
        };
        let result = act(&mut self.apiserver, &mut ctx);
        for (at, alarm) in alarms {
            self.queue.schedule(at, Event::Alarm(alarm));
        }
        self.settle();
        result
    }

    fn with_workload(&mut self, act: impl FnOnce(&mut Workload, &mut workload::Context<'_>)) {
        let mut tasks = Vec::new();
        let mut definitions = Vec::new();
        let mut ctx = workload::Context {
            now: self.now,
            wall: self.wall,
            config: &self.config.workload,
            etcd: &mut self.etcd,
            kinds: &self.kinds,
            random: &mut self.random,
            tasks: &mut tasks,
            definitions: &mut definitions,
        };
        act(&mut self.workload, &mut ctx);
        for (at, task) in tasks {
            self.queue.schedule(at, Event::Task(task));
        }
        for definition in definitions {
            self.serve_definition(&definition);
        }
        self.settle();
    }

    /// Begins or stops to serve what a CustomResourceDefinition defines.
    fn serve_definition(&mut self, definition: &workload::Definition) {
        match definition {
            workload::Definition::Established(value) => {
                if let Some(resource) = self.kinds.add_custom(value) {
                    // A changed definition gets a new storage: its watches end and its history begins anew (F17).
                    self.apiserver.stop_serving(resource);
                    self.with_apiserver(|apiserver, ctx| apiserver.serve(resource, ctx));
                }
            }
            workload::Definition::Gone(resource) => {
                self.kinds.stop_serving(*resource);
                self.apiserver.stop_serving(*resource);
            }
        }
    }

    /// Passes on what a step left: commits to the watch caches, replies to the network.
    fn settle(&mut self) {
        for change in self.etcd.take_committed() {
            let (least, most) = self.config.etcd.watch_latency;
            let at = self.now + self.random.span(least, most);
            self.last_etcd_event = self.last_etcd_event.max(at);
            self.queue
                .schedule(self.last_etcd_event, Event::FromEtcd(change));
        }
        for request in self.apiserver.take_dirty() {
            self.pump(request);
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
