//! The virtual driver: a simulated cluster, a story, and our probes as its clients, in virtual time.
//!
//! The driver does with the simulator's messages what `backend/src/probes` does with sockets. The driver carries out a
//! probe's effects, passes the probe inputs, and decides nothing. A day of virtual time takes seconds.
//!
//! [`Run`] is one machine in several files. This file lets virtual time pass; `links` has the probes' connections,
//! `audit` has the audit's connections, and `discovery` looks a resource type up. The recorder takes all events.

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
use crate::inside::{WorldRecord, take_world_records};
use crate::script::Deed;
use crate::story::{Story, StoryPlayer};

/// A simulated cluster with a story and our probes, in virtual time. The run keeps all records, so only the virtual
/// time that it runs bounds its memory.
pub struct Run {
    /// The simulated cluster; tests may act on it between two calls of [`run_for`](Self::run_for).
    pub world: World,
    player: Option<StoryPlayer>,
    clients: Vec<Client>,
    recorder: Recorder,
    ids: Counters,
    /// The audit's connections, one to each server that the audit reads from.
    audits: Vec<AuditLink>,
    /// Carries out the audit's reads, if there is an audit.
    reads: Option<Reads>,
    /// How the probes' connections read answers: at once, unless the story can stop the reading.
    flow: Flow,
    /// Deliveries that the probes have not read, and since when; `None` while the probes read all deliveries.
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

/// A probe of the run and its connections.
struct Client {
    probe: Option<Probe>,
    /// The only server that the probe connects to; `None` for any server.
    server: Option<ServerId>,
    /// Whether the probe shares a connection with the other sharing probes (HTTP/2).
    shares: bool,
    resource: (String, String),
    output: Output,
    main: Option<ProbeLink>,
    side: Option<ProbeLink>,
    timer: Option<Time>,
}

impl Run {
    /// Sets up a story's cluster without clients; the story begins at once. `seed` determines all random choices in the
    /// cluster. The first record is the version that the cluster's first server reports, as in the real program.
    #[must_use]
    pub fn of_story(story: Story, seed: u64) -> Self {
        Self::of_story_later(story, seed, Duration::ZERO).connected()
    }

    /// Like [`of_story`](Self::of_story), but the story begins only after `before`, and no record states the server's
    /// version.
    #[must_use]
    pub fn of_story_later(story: Story, seed: u64, before: Duration) -> Self {
        let world = World::new(story.config.clone(), seed);
        let leaves_unread = |deed: &Deed| matches!(deed, Deed::Read(_));
        let flow = if story.deeds().any(leaves_unread) {
            Flow::Credit
        } else {
            Flow::Immediate
        };
        let player = Some(StoryPlayer::begin(story, world.now() + before).to_reader());
        Self {
            world,
            player,
            clients: Vec::new(),
            recorder: Recorder::default(),
            ids: Counters::default(),
            audits: Vec::new(),
            reads: None,
            flow,
            unread: None,
        }
    }

    /// Sets up a run of a story, with a watch of each resource in the story's view, and with the cluster's inside
    /// records. The probes have the default settings and look their kinds up by discovery; `seed` determines the
    /// cluster's random choices and the probes' jitter.
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

    /// Makes a run of an existing cluster, without a story and without probes. The first record is the version that the
    /// cluster's first server reports.
    #[must_use]
    pub fn of_world(world: World) -> Self {
        Self {
            world,
            player: None,
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

    /// Records the version of the first server. Other servers may have another version, which records of the audit's
    /// connections state.
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

    /// From now on keeps records and inside records as one log, as the log's writer does. [`take_log`](Self::take_log)
    /// returns the entries of this log; [`records`](Self::records) and [`inside`](Self::inside) get no further ones. A
    /// second call drops the entries that nobody took. The log grows without a bound until its entries are taken.
    pub fn tell_one_log(&mut self) {
        self.world.tell_inside();
        self.recorder.keep_one_log();
    }

    /// Takes the entries of the one log since the last call, the oldest first; the list may be empty. The list is
    /// always empty unless [`tell_one_log`](Self::tell_one_log) was called.
    pub fn take_log(&mut self) -> Vec<Entry> {
        self.recorder.take_log()
    }

    /// Takes what the client programs received since the last call, in order of time on the log's clock. The list is
    /// empty unless [`World::tell_received`] was called. At most 16,384 received records wait; of more the oldest are
    /// lost ([`World::next_received`]).
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

    /// Takes what all client programs asked for since the last call, and how it ended, in order of time on the log's
    /// clock. The list is empty unless [`World::tell_tally`] was called. At most 16,384 records wait; of more the
    /// oldest are lost ([`World::next_tallied`]).
    pub fn take_tally(&mut self) -> Vec<(Time, sim::TallyRecord)> {
        let world = &mut self.world;
        let next = || {
            world
                .next_tallied()
                .map(|record| (world.wall_us(record.at), record))
        };
        let records = std::iter::from_fn(next);
        records.map(|(at, record)| (Time(at), record)).collect()
    }

    /// Performs a person's deeds now, in their order, besides the story; in a run without a story it performs none.
    /// Also records what client programs and layers of the world have reported so far.
    pub fn perform(&mut self, deeds: &[Deed]) {
        if let Some(player) = &mut self.player {
            for deed in deeds {
                player.act(deed, &mut self.world);
            }
        }
        self.hear_clients();
    }

    /// Audits the watches from now on, at a level; an earlier audit is replaced. The audit also takes in the earlier
    /// records, except those of [`tell_one_log`](Self::tell_one_log). At [`Level::Off`] the audit reads nothing by
    /// itself.
    pub fn audit(&mut self, level: Level) {
        let mut auditor = Auditor::new(level);
        // The auditor takes in the earlier records too, like one that was there from the beginning.
        let mut state = State::default();
        for record in self.recorder.records() {
            auditor.observe(&state, record);
            state.apply(record);
        }
        self.recorder.audit(auditor);
        self.reads = Some(READS);
    }

    /// Adds a probe and starts it; `seed` determines the probe's jitter. A probe that is pinned to a server (see
    /// [`address_of`]) bypasses the load balancer. The N of `10.0.0.N:PORT` names the server; the port does not count.
    /// An address of another form, or with an N outside of 1 to 65,535, is ignored. If the world has no such server,
    /// the probe's connections are refused.
    pub fn watch(&mut self, spec: WatchSpec, config: ProbeConfig, seed: u64) {
        self.add(spec, config, seed, false);
    }

    /// Like [`watch`](Self::watch), but the probe shares one connection with the other sharing probes that have the
    /// same server or the load balancer. Sharing probes are those that this function added, and those of a view with
    /// `http2`. Each probe still has a side connection of its own.
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

    /// Lets `span` of the world's time pass, its end included: performs the acts that are due, and passes the probes
    /// what arrives for them.
    pub fn run_for(&mut self, span: Duration) {
        let until = self.world.now() + span;
        loop {
            let act_at = self.player.as_ref().and_then(StoryPlayer::next_at);
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
            if let Some(player) = &mut self.player
                && act_at.is_some_and(|at| at <= self.world.now())
            {
                for line in player.perform(&mut self.world) {
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

    /// After a restore of etcd, stops all probes and starts new ones in their place, as the backend does.
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

    /// Keeps deliveries unread, or passes on the kept deliveries, as the story says.
    fn read_or_not(&mut self) {
        if !self.player.as_ref().is_none_or(StoryPlayer::reads) {
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

    /// Records the reports of client programs, and the inside records of the world.
    fn hear_clients(&mut self) {
        for (at, record) in take_world_records(&mut self.world) {
            let at = Time(self.world.wall_us(at));
            match record {
                WorldRecord::Event(event) => {
                    self.recorder.settle_before(at);
                    self.recorder.record(event, at);
                    self.recorder.settle(at);
                }
                WorldRecord::Inside(inside) => self.recorder.record_inside(inside, at),
            }
        }
    }

    /// Returns the client programs that the story or [`perform`](Self::perform) started and did not stop, sorted by
    /// name. Returns `None` for a run without a story.
    #[must_use]
    pub fn clients(&self) -> Option<&BTreeMap<String, sim::ClientId>> {
        self.player.as_ref().map(StoryPlayer::clients)
    }

    /// Stops all probes now and writes the probes' last records. The probes' connections close. The story and its
    /// client programs go on.
    pub fn stop(&mut self) {
        for client in 0..self.clients.len() {
            self.step(client, Input::Stop);
        }
    }

    /// Returns all records, the oldest first, without records from after a call of
    /// [`tell_one_log`](Self::tell_one_log).
    #[must_use]
    pub fn records(&self) -> &[Record] {
        self.recorder.records()
    }

    /// Returns the inside records, the oldest first, each with its time on the log's clock, without records from after
    /// a call of [`tell_one_log`](Self::tell_one_log). The list is empty unless [`World::tell_inside`] was called.
    /// Inside records use no seqs of the log's records, so these records are the same with and without inside records.
    #[must_use]
    pub fn inside(&self) -> &[(Time, Inside)] {
        self.recorder.inside()
    }

    /// Returns the fold of all records; of inside records in one log the fold has only seq and time.
    #[must_use]
    pub fn state(&self) -> &State {
        self.recorder.state()
    }

    /// Returns the present time on the cluster's wall clock, which is also the log's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.world.wall_us(self.world.now()))
    }

    /// Returns for how long nothing happens from now on: in the world, by the story, or by a timer of probes, journal
    /// or reads. Returns zero if something is due now, and `None` if nothing will ever be due.
    #[must_use]
    pub fn idle_for(&self) -> Option<Duration> {
        let act_at = self.player.as_ref().and_then(StoryPlayer::next_at);
        let all = [self.world.next_event_at(), self.timer_at(), act_at];
        let next = all.into_iter().flatten().min()?;
        Some(next.since(self.world.now()))
    }

    /// Returns when the next timer of a probe, of the journal or of the audit's pending read is due, in the world's
    /// time. `None` if no timer is set; now if a timer is overdue.
    fn timer_at(&self) -> Option<sim::Time> {
        let timers = self.clients.iter().filter_map(|client| client.timer);
        let reads = self.audits.iter().filter_map(|link| link.pending.as_ref());
        let at = timers
            .chain(self.recorder.due())
            .chain(reads.map(|read| read.until))
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

    /// Records the probe's events, then carries out its effects.
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
