//! The virtual driver: a simulated cluster, a story, and our probes as its clients, in virtual time.
//!
//! It is to the simulator's structured messages what `backend/src/probes` is to sockets: it carries out the probe's
//! effects, tells it what happened, and decides nothing. A day takes seconds.
//!
//! [`Run`] is one machine. Its code lies in several files: here time passes, `links` has the probes' connections, `audit`
//! has the audit's, and `discovery` looks a type up. The recorder takes all events.

mod audit;
mod discovery;
mod links;
mod recorder;

use std::time::Duration;

use watchscope_diagnosis::audit::{Auditor, Level};
use watchscope_model::event::{ClusterConnected, Note};
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::Author;
use watchscope_model::{Entry, Inside, Record, RequestId, State, StreamId, Time};
use watchscope_probe::{Context, Emitted, Ids, Input, Output, Probe, ProbeConfig, WatchSpec};
use watchscope_simulator::{self as sim, Delivery, Flow, Pause, ServerId, World};

use self::audit::{AuditLink, READS, Reads};
pub use self::links::address_of;
use self::links::{ProbeLink, server_at};
pub use self::recorder::Recorder;
use crate::inside::{Told, take_told};
use crate::script::Deed;
use crate::story::{Story, Telling};

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
    /// Carries out the reads of the audit, if there is one.
    reads: Option<Reads>,
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
            reads: None,
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
            reads: None,
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
                uid: None,
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
        self.reads = Some(READS);
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
                if let Some(reads) = self.reads {
                    (reads.ask)(self);
                }
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
                        watch: line.watch,
                        over: line.over.then_some(true),
                        ..Note::new(Author::Story, line.text)
                    };
                    self.recorder.record(note.into(), now);
                }
            }
            self.read_or_not();
            self.hear_clients();
            self.recorder.settle(now);
            if let Some(reads) = self.reads {
                (reads.give_up)(self, now);
                (reads.ask)(self);
            }
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
}
