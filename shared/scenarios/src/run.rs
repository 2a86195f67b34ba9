//! The virtual driver: a simulated cluster, a story, and our probes as its clients, in virtual time.
//!
//! It is to the simulator's structured messages what `backend/src/probes` is to sockets: it carries out the probe's
//! effects, tells it what happened, and decides nothing. A day takes seconds.

mod audit;
mod recorder;

use std::time::Duration;

use watchscope_diagnosis::audit::{Auditor, Level};
use watchscope_model::event::{
    ClusterConnected, ConnectionClosed, ConnectionGoaway, ConnectionOpened, Note,
};
use watchscope_model::field::Headers;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Author, Cause};
use watchscope_model::{
    ConnectionId, Entry, Inside, Record, RequestId, State, StreamId, Text, Time,
};
use watchscope_probe::{
    Channel, Context, Effect, Emitted, Ending, Failure, FailureKind, Get, Ids, Input, Output,
    Probe, ProbeConfig, Served, WatchSpec,
};
use watchscope_simulator::{
    self as sim, Arrival, Cut, Delivery, Flow, Pause, Request, ServerId, World,
};

use self::audit::AuditLink;
pub use self::recorder::Recorder;
use crate::inside::{Told, take_told};
use crate::story::{Deed, Story, Telling};

/// What a server says that lets every stream come to its end (HTTP/2's largest stream id).
const MAX_STREAM_ID: u64 = (1 << 31) - 1;

/// A story with our probes in it.
pub struct Run {
    /// The cluster; tests may act on it between two stretches of time.
    pub world: World,
    telling: Option<Telling>,
    clients: Vec<Client>,
    recorder: Recorder,
    ids: Counters,
    /// The audit's connections, one to each server that is asked.
    audits: Vec<AuditLink>,
    /// How answers are read: at once, unless the story may ask for something else.
    flow: Flow,
    /// What has come and is left unread, since when; absent while all is read.
    unread: Option<(sim::Time, Vec<Delivery>)>,
}

#[derive(Debug, Default)]
struct Counters {
    request: u64,
    stream: u64,
    connection: u64,
}

impl Ids for Counters {
    fn request(&mut self) -> RequestId {
        self.request += 1;
        RequestId(self.request)
    }

    fn stream(&mut self) -> StreamId {
        self.stream += 1;
        StreamId(self.stream)
    }
}

/// One probe and its connections.
struct Client {
    probe: Option<Probe>,
    /// The only server it connects to.
    server: Option<ServerId>,
    /// Whether its streams go over one connection with those of the others that share (HTTP/2).
    shares: bool,
    resource: (String, String),
    output: Output,
    main: Option<ProbeLink>,
    side: Option<ProbeLink>,
    timer: Option<Time>,
}

/// A connection in the world and in the log, and the request on it.
#[derive(Debug)]
struct ProbeLink {
    world: sim::ConnectionId,
    log: Option<ConnectionId>,
    request: Option<(sim::RequestId, RequestId)>,
    /// The server takes no new requests over it.
    is_leaving: bool,
    /// The longest time in which the request's answer was left unread, in milliseconds.
    unread_ms: Option<u64>,
}

impl Run {
    /// A story's cluster, without clients. The first record is what its server says of its version, as it is of the
    /// real program.
    #[must_use]
    pub fn of_story(story: Story, seed: u64) -> Self {
        Self::of_story_later(story, seed, Duration::ZERO).connected()
    }

    /// A story's cluster some time before the story begins; nobody asked for its version.
    #[must_use]
    pub fn of_story_later(story: Story, seed: u64, before: Duration) -> Self {
        let world = World::new(story.config.clone(), seed);
        let leaves_unread = |deed: &Deed| matches!(deed, Deed::Read(_));
        let flow = if story.deeds().any(leaves_unread) {
            Flow::Credit
        } else {
            Flow::Immediate
        };
        let telling = Some(Telling::begin(story, world.now() + before).to_reader());
        Self {
            world,
            telling,
            clients: Vec::new(),
            recorder: Recorder::default(),
            ids: Counters::default(),
            audits: Vec::new(),
            flow,
            unread: None,
        }
    }

    /// A story watched as its view says, with all that happens inside.
    #[must_use]
    pub fn watched(story: Story, seed: u64) -> Self {
        let view = story.view.clone();
        let namespace = match view.namespace.as_str() {
            "" => "*",
            namespace => namespace,
        };
        let labels = (!view.label_selector.is_empty()).then(|| view.label_selector.as_str().into());
        let mut run = Self::of_story(story, seed);
        run.world.tell_inside();
        for resource in &view.resources {
            let spec = WatchSpec {
                served: None,
                label_selector: labels.clone(),
                ..WatchSpec::of(namespace, resource, "")
            };
            let shares = view.http2;
            run.add(spec, ProbeConfig::default(), seed, shares);
        }
        run
    }

    /// A cluster without story and clients.
    #[must_use]
    pub fn of_world(world: World) -> Self {
        Self {
            world,
            telling: None,
            clients: Vec::new(),
            recorder: Recorder::default(),
            ids: Counters::default(),
            audits: Vec::new(),
            flow: Flow::Immediate,
            unread: None,
        }
        .connected()
    }

    /// The first server says its version; others may be of another one, and say so over the audit's connections.
    fn connected(mut self) -> Self {
        let first = self.world.servers().next();
        if let Some((_, version)) = first {
            let event = ClusterConnected {
                cluster: "simulated".into(),
                server: "https://simulated:6443".into(),
                version: version.to_string().as_str().into(),
            };
            self.recorder.record(event.into(), self.now());
        }
        self
    }

    /// Tells from now on as one log what happens outside and inside of the cluster, as the log's writer does.
    pub fn tell_one_log(&mut self) {
        self.world.tell_inside();
        self.recorder.keep_one_log();
    }

    /// Takes what was told as one log since it was asked last.
    pub fn take_log(&mut self) -> Vec<Entry> {
        self.recorder.take_log()
    }

    /// Takes what the client programs received since it was asked last, if the world was asked to tell it.
    pub fn take_received(&mut self) -> Vec<(Time, sim::ReceivedRecord)> {
        let world = &mut self.world;
        let next = || {
            world
                .next_received()
                .map(|received| (world.wall_us(received.at), received))
        };
        let received = std::iter::from_fn(next);
        received
            .map(|(at, received)| (Time(at), received))
            .collect()
    }

    /// What a person does to the cluster besides the story.
    pub fn perform(&mut self, deeds: &[Deed]) {
        if let Some(telling) = &mut self.telling {
            for deed in deeds {
                telling.act(deed, &mut self.world);
            }
        }
        self.hear_clients();
    }

    /// Audits what is watched from now on.
    pub fn audit(&mut self, level: Level) {
        let mut auditor = Auditor::new(level);
        // It knows what was told before, as one that was there from the beginning.
        let mut state = State::default();
        for record in self.recorder.records() {
            auditor.observe(&state, record);
            state.apply(record);
        }
        self.recorder.audit(auditor);
    }

    /// Adds a probe and starts it. One that is pinned to a server (see [`address_of`]) goes past the load balancer.
    pub fn watch(&mut self, spec: WatchSpec, config: ProbeConfig, seed: u64) {
        self.add(spec, config, seed, false);
    }

    /// The same over one connection with all that are added so.
    pub fn watch_sharing(&mut self, spec: WatchSpec, config: ProbeConfig, seed: u64) {
        self.add(spec, config, seed, true);
    }

    fn add(&mut self, spec: WatchSpec, config: ProbeConfig, seed: u64, shares: bool) {
        let resource = (spec.group.to_string(), spec.resource.to_string());
        let server = spec.server.as_deref().and_then(server_at);
        self.clients.push(Client {
            server,
            shares,
            probe: Some(Probe::new(spec, config, seed)),
            resource,
            output: Output::default(),
            main: None,
            side: None,
            timer: None,
        });
        self.step(self.clients.len() - 1, Input::Start);
    }

    /// Lets time pass.
    pub fn run_for(&mut self, span: Duration) {
        let until = self.world.now() + span;
        loop {
            let act_at = self.telling.as_ref().and_then(Telling::next_at);
            let target = [self.timer_at(), act_at]
                .into_iter()
                .flatten()
                .fold(until, sim::Time::min);
            let paused = self.world.run_until(target.max(self.world.now()));
            self.hear_clients();
            if paused == Pause::Deliveries {
                while let Some(delivery) = self.world.next_delivery() {
                    self.take(delivery);
                }
                self.ask_audit();
                self.begin_anew();
                continue;
            }
            let now = self.now();
            for client in 0..self.clients.len() {
                if self.clients[client].timer.is_some_and(|at| at <= now) {
                    self.clients[client].timer = None;
                    self.step(client, Input::Timer);
                }
            }
            if let Some(telling) = &mut self.telling
                && act_at.is_some_and(|at| at <= self.world.now())
            {
                for line in telling.perform(&mut self.world) {
                    let note = Note {
                        author: Author::Story,
                        text: line.text,
                        watch: line.watch,
                        over: line.over.then_some(true),
                    };
                    self.recorder.record(note.into(), now);
                }
            }
            self.read_or_not();
            self.hear_clients();
            self.recorder.settle(now);
            self.give_up_audit(now);
            self.ask_audit();
            self.begin_anew();
            if self.world.now() >= until {
                return;
            }
        }
    }

    /// After a restore of etcd all probes stop and start as if they had never been, as the backend's do.
    fn begin_anew(&mut self) {
        if !self.recorder.take_restored() {
            return;
        }
        for client in 0..self.clients.len() {
            self.step(client, Input::Stop);
            let stopped = &mut self.clients[client];
            stopped.probe = stopped.probe.take().map(Probe::anew);
            stopped.timer = None;
            self.step(client, Input::Start);
        }
    }

    /// Leaves unread what comes, or reads what was left, as the story says.
    fn read_or_not(&mut self) {
        if !self.telling.as_ref().is_none_or(Telling::reads) {
            self.unread.get_or_insert((self.world.now(), Vec::new()));
        } else if let Some((since, unread)) = self.unread.take() {
            let unread_ms = self.world.now().since(since).as_millis();
            let unread_ms = u64::try_from(unread_ms).unwrap_or(u64::MAX);
            for client in &mut self.clients {
                for link in client.main.iter_mut().chain(&mut client.side) {
                    link.unread_ms = link.unread_ms.max(Some(unread_ms));
                }
            }
            for delivery in unread {
                self.take(delivery);
            }
        }
    }

    /// Records what the client programs told, and keeps what the world told of its inside.
    fn hear_clients(&mut self) {
        for (at, told) in take_told(&mut self.world) {
            let at = Time(self.world.wall_us(at));
            match told {
                Told::Event(event) => {
                    self.recorder.settle_before(at);
                    self.recorder.record(event, at);
                    self.recorder.settle(at);
                }
                Told::Inside(inside) => self.recorder.record_inside(inside, at),
            }
        }
    }

    /// The client programs the story started, by name.
    #[must_use]
    pub fn clients(&self) -> Option<&BTreeMap<String, sim::ClientId>> {
        self.telling.as_ref().map(Telling::clients)
    }

    /// Stops all probes.
    pub fn stop(&mut self) {
        for client in 0..self.clients.len() {
            self.step(client, Input::Stop);
        }
    }

    /// What has been recorded.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        self.recorder.records()
    }

    /// What the world told of its inside, if it was asked to. It stands beside the records and takes none of their seqs,
    /// so that the records are the same with it or without.
    #[must_use]
    pub fn inside(&self) -> &[(Time, Inside)] {
        self.recorder.inside()
    }

    /// The fold of what has been recorded.
    #[must_use]
    pub fn state(&self) -> &State {
        self.recorder.state()
    }

    /// The present moment on the cluster's wall clock, which is the log's too.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.world.wall_us(self.world.now()))
    }

    /// How long nothing happens from now on; `None`: for ever.
    #[must_use]
    pub fn idle_for(&self) -> Option<Duration> {
        let act_at = self.telling.as_ref().and_then(Telling::next_at);
        let all = [self.world.next_event_at(), self.timer_at(), act_at];
        let next = all.into_iter().flatten().min()?;
        Some(next.since(self.world.now()))
    }

    /// When the next timer of a probe, or the journal, is due, in the world's time.
    fn timer_at(&self) -> Option<sim::Time> {
        let timers = self.clients.iter().filter_map(|client| client.timer);
        let asked = self.audits.iter().filter_map(|link| link.asked.as_ref());
        let at = timers
            .chain(self.recorder.due())
            .chain(asked.map(|asked| asked.until))
            .min()?;
        let wait = u64::try_from(at.micros_since(self.now())).unwrap_or(0);
        Some(self.world.now() + Duration::from_micros(wait))
    }

    fn step(&mut self, index: usize, input: Input<'_>) {
        let now = self.now();
        let client = &mut self.clients[index];
        let probe = client
            .probe
            .take()
            .expect("a probe is given back by every step");
        let mut context = Context {
            now,
            ids: &mut self.ids,
        };
        client.probe = Some(probe.step(input, &mut context, &mut client.output));
        self.settle(index);
    }

    /// Records what has come up, then carries out the effects.
    fn settle(&mut self, index: usize) {
        let now = self.now();
        let output = std::mem::take(&mut self.clients[index].output);
        for Emitted { event, body: _ } in output.events {
            self.recorder.record(event, now);
        }
        for effect in output.effects {
            self.carry_out(index, effect);
        }
    }

    /// Opens a connection to a server, or to any.
    fn connect(&mut self, server: Option<ServerId>) -> sim::ConnectionId {
        match server {
            Some(server) => self.world.connect_to(server, self.flow),
            _ => self.world.connect(self.flow),
        }
    }

    fn carry_out(&mut self, index: usize, effect: Effect) {
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

    /// The connection that a client shares, if another one has it: in the world, and in the log once it is open.
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

    /// Whether anybody still has a connection.
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

    /// Asks the group's own discovery, as a client without aggregated discovery would.
    fn discover(&mut self, index: usize) -> Option<Served> {
        let (group, plural) = self.clients[index].resource.clone();
        let versions = if group.is_empty() {
            vec!["/api/v1".to_owned()]
        } else {
            let answer = self
                .world
                .call(&Request::get(&format!("/apis/{group}")))
                .json();
            let versions = answer["versions"].as_array().cloned().unwrap_or_default();
            let path = |version: &serde_json::Value| {
                Some(format!("/apis/{}", version["groupVersion"].as_str()?))
            };
            versions.iter().filter_map(path).collect()
        };
        for path in versions {
            let answer = self.world.call(&Request::get(&path)).json();
            let resources = answer["resources"].as_array().cloned().unwrap_or_default();
            if let Some(found) = resources
                .iter()
                .find(|resource| resource["name"] == *plural)
            {
                let version = path.rsplit('/').next().unwrap_or_default();
                let kind = found["kind"].as_str().unwrap_or_default();
                return Some(Served {
                    version: version.into(),
                    kind: kind.into(),
                    is_aggregated: false,
                });
            }
        }
        None
    }

    fn take(&mut self, delivery: Delivery) {
        let is_its = |link: &AuditLink| link.world == delivery.connection;
        if let Some(link) = self.audits.iter().position(is_its) {
            return self.take_audit(link, delivery.arrival);
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

    /// The clients that a connection, or a request on it, is of.
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

    /// Gives a connection up whose server takes no new requests, as soon as it is idle; its id in the log, once nobody
    /// has it any more.
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
        // All have lost it before one of them asks for another.
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

    /// The log's id of the request that is under way on a channel, if it is this one.
    fn request(&mut self, index: usize, channel: Channel, of: sim::RequestId) -> Option<RequestId> {
        let (id, request) = self.link(index, channel).as_ref()?.request?;
        (id == of).then_some(request)
    }

    fn link(&mut self, index: usize, channel: Channel) -> &mut Option<ProbeLink> {
        let client = &mut self.clients[index];
        match channel {
            Channel::Main => &mut client.main,
            Channel::Side => &mut client.side,
        }
    }
}

/// The address of a simulated apiserver.
#[must_use]
pub fn address_of(server: ServerId) -> Text {
    format!("10.0.0.{}:6443", server.0 + 1).into()
}

fn server_at(address: &str) -> Option<ServerId> {
    let (last, _) = address.strip_prefix("10.0.0.")?.split_once(':')?;
    last.parse::<u16>().ok()?.checked_sub(1).map(ServerId)
}

/// Where a connection leads to is known of one that is pinned; a load balancer hides it.
fn opened(connection: ConnectionId, server: Option<ServerId>) -> ConnectionOpened {
    ConnectionOpened {
        connection,
        server: server.map_or("simulated:6443".into(), address_of),
        remote: server.map_or("10.0.0.1:6443".into(), address_of),
        alpn: None,
        tls: None,
        version: None,
    }
}
