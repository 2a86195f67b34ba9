//! The client programs of a world. This module gives client programs the deliveries of their connections, wakes the
//! programs, and keeps their reports.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::faults::Direction;
use super::received::{Received, Transcript};
use super::tally::Tally;
use super::{Event, World};
use crate::client::belief::Belief;
use crate::client::record::Records;
use crate::client::{
    ChannelEnd, ClientEvent, ClientId, ClientPhase, ClientRecord, ClientReport, Comparison,
    Context, Input, Machine, Port, Program, earlier,
};
use crate::json::json_text;
use crate::message::{Arrival, ConnectionId, Flow, Request, RequestId, ServerId};
use crate::object::Object;
use crate::random::Random;
use crate::scope::Scope;
use crate::time::Time;

/// The length of a window of a client's reports. A change of counts or beliefs within a window is reported at the
/// window's end, or with an earlier change of phase. While the client's loop spins, its counts wait for
/// [`SPINNING_REPORT_EVERY`] instead. Windows bound the records of a busy client. The number has no source.
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// The most reports of a client in one window: the first report, and then only changes of phase. Later changes go into
/// the first report of the next window. The number has no source.
const REPORTS_MOST: u32 = 4;
/// Time between two reports of a client whose loop spins, so that its counts grow without any input; a change of phase
/// is reported earlier. This time bounds the records of such a client. It is one second because a finding names the
/// iterations per second; the number has no other source.
const SPINNING_REPORT_EVERY: Duration = Duration::from_secs(1);
/// Time after which a ping, or the answer to one, is tried again on a stalled connection, as TCP sends lost bytes
/// again. This is TCP's first retransmission timeout (RFC 6298, section 2). TCP waits longer each time; the simulator's
/// wait stays the same.
const RETRANSMIT_EVERY: Duration = Duration::from_secs(1);

/// An event of a client program in the world's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// The client is woken now, if it still wants to be.
    Wake(ClientId),
    /// The client's ping reaches the server.
    Ping(ConnectionId),
    /// The answer to a ping reaches the client.
    Pong(ConnectionId),
}

/// All client programs of a world.
#[derive(Debug, Default)]
pub(super) struct Clients {
    clients: BTreeMap<ClientId, Client>,
    owners: BTreeMap<ConnectionId, ClientId>,
    /// The connections of a crowd, which no observer sees.
    crowd: BTreeSet<ConnectionId>,
    records: Records,
    /// The records of lists, events and ends that the clients receive; `None` until [`World::tell_received`] switches
    /// them on.
    pub(super) transcript: Option<Transcript>,
    /// What the clients ask for, and how it ends; `None` until [`World::tell_tally`] switches it on.
    pub(super) tally: Option<Tally>,
    last: u64,
}

impl Clients {
    pub(super) fn owner(&self, connection: ConnectionId) -> Option<ClientId> {
        self.owners.get(&connection).copied()
    }

    /// Forgets a connection that the network has forgotten.
    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.crowd.remove(&connection);
    }

    /// Whether a connection is one of a crowd.
    pub(super) fn is_of_crowd(&self, connection: ConnectionId) -> bool {
        self.crowd.contains(&connection)
    }

    /// Whether a moment wakes a client of a crowd.
    pub(super) fn wakes_crowd(&self, moment: Moment) -> bool {
        match moment {
            Moment::Wake(client) => {
                let client = self.clients.get(&client);
                client.is_some_and(|client| client.place.is_of_crowd)
            }
            Moment::Ping(connection) | Moment::Pong(connection) => self.is_of_crowd(connection),
        }
    }
}

/// Where a client stands: behind the load balancer or not, and alone or in a crowd.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The server to which the client connects, past the load balancer; `None`: the load balancer chooses.
    server: Option<ServerId>,
    /// Whether the client is one of a crowd: it reports nothing, and only the tally knows of it.
    is_of_crowd: bool,
}

#[derive(Debug)]
struct Client {
    name: Arc<str>,
    place: Place,
    user_agent: String,
    random: Random,
    machine: Box<dyn Machine>,
    /// Times at which the queue wakes the client, each with one entry in the queue. The first of these times is never
    /// after the time that the client's machine wants.
    wakes: BTreeSet<Time>,
    last_report: LastReport,
}

/// The last report of a client, with which the client's next report is compared.
#[derive(Debug, Default)]
struct LastReport {
    /// The start of the current window, and the number of reports in it.
    window: Option<(Time, u32)>,
    phase: Option<ClientPhase>,
    counts: (u64, u64),
    edits: Option<u64>,
    /// When the next report is due.
    due: Option<Time>,
}

impl Client {
    fn edits(&self) -> u64 {
        self.machine.beliefs().iter().map(|b| b.edits()).sum()
    }

    fn counts(&self, now: Time) -> (u64, u64) {
        (self.machine.iterations(now), self.machine.handled(now))
    }

    fn wake_at(&self) -> Option<Time> {
        earlier(self.machine.wake_at(), self.last_report.due)
    }

    /// Returns a report if the client spins, or has changed since its last report; else `None`. Inside a window that
    /// takes no such report the function instead notes when the next report is due.
    fn report(&mut self, now: Time) -> Option<ClientReport> {
        if self.place.is_of_crowd {
            return None;
        }
        let (phase, counts, edits) = (self.machine.phase(), self.counts(now), self.edits());
        let last = &self.last_report;
        let is_new =
            last.phase != Some(phase) || last.counts != counts || last.edits != Some(edits);
        if !is_new && !self.machine.is_spinning() {
            self.last_report.due = None;
            return None;
        }
        let phase_is_new = last.phase != Some(phase);
        let every = if self.machine.is_spinning() && !phase_is_new {
            SPINNING_REPORT_EVERY
        } else {
            REPORT_EVERY
        };
        let window = match last.window {
            Some((began, reports)) if began + every > now => {
                if !phase_is_new || reports >= REPORTS_MOST {
                    self.last_report.due = Some(began + every);
                    return None;
                }
                (began, reports + 1)
            }
            _ => (now, 1),
        };
        let belief = (last.edits != Some(edits)).then(|| {
            let beliefs = self.machine.beliefs().into_iter().map(Belief::to_json);
            Arc::from(json_text(&Value::Array(beliefs.collect())))
        });
        self.last_report = LastReport {
            window: Some(window),
            phase: Some(phase),
            counts,
            edits: Some(edits),
            due: self
                .machine
                .is_spinning()
                .then(|| now + SPINNING_REPORT_EVERY),
        };
        Some(ClientReport {
            phase,
            iterations: counts.0,
            handled: counts.1,
            belief,
        })
    }
}

/// The world as one of its clients reaches it: the calls that the client may make.
struct Reach<'a> {
    world: &'a mut World,
    client: ClientId,
    name: &'a Arc<str>,
    place: Place,
}

impl Reach<'_> {
    /// Records the line of a request, unless the client is one of a crowd.
    fn record(&mut self, request: &Request) {
        if self.place.is_of_crowd {
            return;
        }
        let mut line = format!("{} {}", request.method, request.path);
        if !request.query.is_empty() {
            line.push('?');
            line.push_str(&request.query);
        }
        self.world.clients.records.push(ClientRecord {
            at: self.world.now,
            client: Arc::clone(self.name),
            event: ClientEvent::Request(line),
        });
    }
}

impl Port for Reach<'_> {
    fn connect(&mut self) -> ConnectionId {
        let connection = match self.place.server {
            Some(server) => self.world.connect_to(server, Flow::Immediate),
            None => self.world.connect(Flow::Immediate),
        };
        self.world.clients.owners.insert(connection, self.client);
        if self.place.is_of_crowd {
            self.world.clients.crowd.insert(connection);
        }
        connection
    }

    fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId {
        self.record(&request);
        let clients = &self.world.clients;
        let is_asked = clients.transcript.is_some() || clients.tally.is_some();
        let asked = is_asked.then(|| request.clone());
        let id = self.world.send(connection, request);
        let Some(request) = asked else {
            return id;
        };
        let (now, network) = (self.world.now, &self.world.network);
        let server = network.server_of(id).or_else(|| network.server(connection));
        let clients = &mut self.world.clients;
        if let (Some(tally), Some(server)) = (&mut clients.tally, server) {
            tally.sent(now, (id, connection, server), &request);
        }
        if let Some(transcript) = clients
            .transcript
            .as_mut()
            .filter(|_| !self.place.is_of_crowd)
        {
            transcript.sent(id, connection, &request);
        }
        id
    }

    fn cancel(&mut self, request: RequestId) {
        if let Some(transcript) = &mut self.world.clients.transcript {
            transcript.cancelled(request);
        }
        if let Some(tally) = &mut self.world.clients.tally {
            tally.cancelled(request);
        }
        self.world.cancel(request);
    }

    fn ping(&mut self, connection: ConnectionId) {
        let extra = self.world.extra_delay();
        let World {
            now,
            network,
            random,
            config,
            ..
        } = &mut *self.world;
        let at = network.arrival_up(connection, *now, random, &config.network, extra);
        let ping = Moment::Ping(connection);
        self.world.queue.schedule(at, Event::Client(ping));
    }

    fn close(&mut self, connection: ConnectionId) {
        if let Some(transcript) = &mut self.world.clients.transcript {
            transcript.closed(connection);
        }
        if let Some(tally) = &mut self.world.clients.tally {
            tally.closed(connection);
        }
        self.world.clients.owners.remove(&connection);
        self.world.close(connection);
    }

    fn channel_closed(&mut self, end: ChannelEnd) {
        let now = self.world.now;
        let transcript = self.world.clients.transcript.as_mut();
        if let Some(transcript) = transcript.filter(|_| !self.place.is_of_crowd) {
            transcript.push(now, self.name, Received::ChannelClosed(end));
        }
    }
}

/// The functions of a world that concern client programs.
impl World {
    /// Starts a client program at once, on this scope, and returns its id. Its User-Agent is `NAME PROGRAM/VERSION`, or
    /// `NAME PROGRAM` without a version. Faults find the client by the beginning of this User-Agent, along with other
    /// clients whose names begin alike. Two clients may have the same name. Only the caller bounds the number of
    /// clients.
    pub fn start_client(&mut self, name: &str, program: &Program, scope: &Scope) -> ClientId {
        self.start(name, program, scope, Place::default())
    }

    /// Like [`World::start_client`], for a client whose kubeconfig names one server and no load balancer, as kubeadm
    /// writes it for the controller manager of a control-plane node (docs/semantics/clients.md#own-server). The
    /// client's connections are refused while its server does not listen, or if there is no such server.
    pub fn start_client_at(
        &mut self,
        server: ServerId,
        name: &str,
        program: &Program,
        scope: &Scope,
    ) -> ClientId {
        let place = Place {
            server: Some(server),
            ..Place::default()
        };
        self.start(name, program, scope, place)
    }

    /// Starts `count` client programs at once, like [`World::start_client`], all with the same name. They report
    /// nothing: neither client records nor received records come from them. [`World::next_tallied`] counts what they
    /// ask for.
    pub fn start_crowd(
        &mut self,
        name: &str,
        program: &Program,
        scope: &Scope,
        count: u16,
    ) -> Vec<ClientId> {
        let place = Place {
            is_of_crowd: true,
            ..Place::default()
        };
        let started = (0..count).map(|_| self.start(name, program, scope, place));
        started.collect()
    }

    fn start(&mut self, name: &str, program: &Program, scope: &Scope, place: Place) -> ClientId {
        self.clients.last += 1;
        let id = ClientId(self.clients.last);
        let name: Arc<str> = name.into();
        let mut user_agent = format!("{name} {}", program.name());
        if let Some(version) = program.version() {
            user_agent.push('/');
            user_agent.push_str(version);
        }
        let client = Client {
            name: Arc::clone(&name),
            place,
            user_agent,
            random: Random::new(self.random.between(0, u64::MAX)),
            machine: program.build(scope),
            wakes: BTreeSet::new(),
            last_report: LastReport::default(),
        };
        self.clients.clients.insert(id, client);
        if !place.is_of_crowd {
            self.clients.records.push(ClientRecord {
                at: self.now,
                client: name,
                event: ClientEvent::Started {
                    program: program.name(),
                    version: program.version(),
                },
            });
        }
        self.step_client(id, Some(Input::Start));
        id
    }

    /// Kills a client: its connections close, and it reports nothing more. The client's waiting records stay. A call
    /// for a client that was stopped before, or is unknown, is ignored.
    pub fn stop_client(&mut self, client: ClientId) {
        self.has_news = true;
        for connection in self.client_connections(client) {
            self.clients.owners.remove(&connection);
            self.close(connection);
        }
        self.clients.clients.remove(&client);
    }

    /// Returns the connections that a client has open or is opening, by id; none if the client was stopped.
    pub fn client_connections(&self, client: ClientId) -> Vec<ConnectionId> {
        let owned = self.clients.owners.iter().filter(|(_, c)| **c == client);
        owned.map(|(connection, _)| *connection).collect()
    }

    /// Returns what a client does and counts now; `None` if the client was stopped. `belief` of the returned report is
    /// always `None`: [`World::client_beliefs`] returns the beliefs.
    pub fn client_report(&self, client: ClientId) -> Option<ClientReport> {
        let client = self.clients.clients.get(&client)?;
        let (iterations, handled) = client.counts(self.now);
        Some(ClientReport {
            phase: client.machine.phase(),
            iterations,
            handled,
            belief: None,
        })
    }

    /// Returns what a client believes now: one belief; for the mini-scheduler four: its nodes, its pods, its `cache`,
    /// its `queue` (`Belief::part`). The comparer's belief is that of its watch. The list is empty if the client was
    /// stopped.
    pub fn client_beliefs(&self, client: ClientId) -> Vec<&Belief> {
        let client = self.clients.clients.get(&client);
        client.map_or_else(Vec::new, |client| client.machine.beliefs())
    }

    /// Returns how a client's beliefs differ from the true objects of their scopes now
    /// ([`Truth::selected`](crate::Truth::selected)). There is one comparison for each belief, in the order of
    /// [`World::client_beliefs`]. The list is empty if the client was stopped.
    ///
    /// Changes that are on their way to the client count as differences too. A difference is a fault only after a time
    /// without changes.
    pub fn compare_client(&self, client: ClientId) -> Vec<Comparison> {
        let beliefs = self.client_beliefs(client).into_iter();
        beliefs
            .map(|belief| {
                let truth = self.truth().selected(&belief.scope);
                belief.compare(truth.iter().map(|object| -> &Object { object }))
            })
            .collect()
    }

    /// Takes the oldest waiting record of the clients; `None` if no record waits. At most about 4 MiB of records wait:
    /// further records drop the oldest; see [`World::dropped_client_records`].
    pub fn next_client_record(&mut self) -> Option<ClientRecord> {
        self.clients.records.pop()
    }

    /// Returns the number of client records that were dropped because the driver did not take them in time.
    pub fn dropped_client_records(&self) -> u64 {
        self.clients.records.dropped()
    }

    /// Hands a delivery to the client that owns the connection.
    pub(super) fn reach_client(
        &mut self,
        id: ClientId,
        connection: ConnectionId,
        arrival: &Arrival,
    ) {
        if matches!(arrival, Arrival::Closed(_) | Arrival::Refused) {
            self.clients.owners.remove(&connection);
        }
        let Clients {
            clients,
            transcript,
            tally,
            ..
        } = &mut self.clients;
        let client = clients.get(&id).filter(|client| !client.place.is_of_crowd);
        if let (Some(transcript), Some(client)) = (transcript, client) {
            transcript.take(self.now, &client.name, connection, arrival);
        }
        if let Some(tally) = tally {
            tally.take(self.now, connection, arrival);
        }
        self.step_client(id, Some(Input::Arrival(connection, arrival)));
    }

    pub(super) fn client_moment(&mut self, moment: Moment) {
        match moment {
            Moment::Wake(client) => self.wake_client(client),
            Moment::Ping(connection) | Moment::Pong(connection) => {
                let Some(owner) = self.clients.owner(connection) else {
                    return;
                };
                if self.network.is_cut(connection) {
                    return;
                }
                let direction = match moment {
                    Moment::Pong(_) => Direction::Down,
                    _ => Direction::Up,
                };
                if self.is_stalled(connection, direction) {
                    self.queue
                        .schedule(self.now + RETRANSMIT_EVERY, Event::Client(moment));
                    return;
                }
                self.passes(connection);
                if moment == Moment::Pong(connection) {
                    self.step_client(owner, Some(Input::Pong(connection)));
                } else {
                    let at = self.arrival_down(connection);
                    self.queue
                        .schedule(at, Event::Client(Moment::Pong(connection)));
                }
            }
        }
    }

    fn wake_client(&mut self, id: ClientId) {
        let Some(client) = self.clients.clients.get_mut(&id) else {
            return;
        };
        client.wakes.remove(&self.now);
        let is_asked = client.machine.wake_at().is_some_and(|at| at <= self.now);
        self.step_client(id, is_asked.then_some(Input::Wake));
    }

    fn step_client(&mut self, id: ClientId, input: Option<Input<'_>>) {
        let Some(mut client) = self.clients.clients.remove(&id) else {
            return;
        };
        let had_news = self.has_news;
        if let Some(input) = input {
            let now = self.now;
            let mut ctx = Context {
                now,
                random: &mut client.random,
                user_agent: &client.user_agent,
                port: &mut Reach {
                    world: self,
                    client: id,
                    name: &client.name,
                    place: client.place,
                },
            };
            client.machine.step(input, &mut ctx);
        }
        if client.place.is_of_crowd {
            // What the client sent and opened is not reported.
            self.has_news = had_news;
        }
        if let Some(report) = client.report(self.now) {
            self.clients.records.push(ClientRecord {
                at: self.now,
                client: Arc::clone(&client.name),
                event: ClientEvent::Report(report),
            });
        }
        if let Some(at) = client.wake_at() {
            let at = at.max(self.now);
            if client.wakes.first().is_none_or(|first| *first > at) {
                client.wakes.insert(at);
                self.queue.schedule(at, Event::Client(Moment::Wake(id)));
            }
        }
        self.clients.clients.insert(id, client);
    }
}
