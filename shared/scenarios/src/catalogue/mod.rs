//! The failure catalogue (docs/findings) as stories. Each row states what happens, what the wire shows, and in which
//! state naive and correct clients end.
//!
//! Each family of failures has a file. [`Row::play`] plays a row's story with our probe and the row's clients, and says
//! which expectations were not met.

mod access;
mod definitions;
mod etcd;
mod expiry;
pub mod finds;
pub mod forms;
mod judge;
mod load;
mod naive;
mod network;
mod order;
mod servers;
mod starts;
mod streams;
mod transcript;
mod unreadable;
mod views;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::json;
use watchscope_diagnosis::explain::explanation;
use watchscope_model::row;
use watchscope_model::vocabulary::{Cause, ChangeType, Origin};
use watchscope_probe::ProbeConfig;
use watchscope_simulator::{
    ClientGo, ClientPhase, Config, Controller, Cut, Fault, Program, Request, Scope, ServerId,
    Target,
};

use crate::script::{Act, Deed, Line};
use crate::story::{Story, View};

/// A row of the catalogue, or another form of its failure, as a story with expectations.
#[derive(Clone, Debug)]
pub struct Row {
    /// The row of the failure catalogue.
    pub row: row::Row,
    /// The row's code, such as `F01`.
    pub code: &'static str,
    /// The form of the failure in a few words; empty for the row's own story.
    pub form: &'static str,
    /// The story: the cluster, the clients and the failure.
    pub story: Story,
    /// The objects that the row's probe watches.
    pub scope: Scope,
    /// The configuration of each of the row's probes.
    pub probe: ProbeConfig,
    /// The objects that other probes watch over the connection of the row's probe. If the list is empty, the probe
    /// shares its connection with no other.
    pub shares_with: Vec<Scope>,
    /// The objects that other probes watch over connections of their own. The list may be empty.
    pub beside: Vec<Scope>,
    /// How long the story runs after the row's probes start, which is 0.5 s after the story begins. At the end of this
    /// time the row is judged.
    pub lasts: Duration,
    /// What our probe must see on the wire: every item, in any order. The list may be empty.
    pub wire: Vec<Wire>,
    /// The expected end state of each client, in the order in which the clients were added to the row. The list may be
    /// empty.
    pub clients: Vec<Expected>,
    /// Why no naive client ends worse than the correct ones, as a clause. `None` if a naive client ends worse, and in
    /// every form of a row besides its own story.
    pub spares: Option<&'static str>,
}

/// Something that our probe sees on the wire, with the range of its count. Only records of the row's own watch count,
/// unless a variant's documentation says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Ends of watch streams with this cause; their number must be in the range.
    Ended(Cause, RangeInclusive<usize>),
    /// At least one orderly end of a watch stream at an age in this range of whole seconds, rounded down.
    EndedAtAge(RangeInclusive<u64>),
    /// At least one ERROR event with this code, and with this text in its message.
    Error(u64, &'static str),
    /// Answers with this HTTP status; their number must be in the range.
    Status(u16, RangeInclusive<usize>),
    /// At least one failed attempt of the watch to connect to a server.
    NotConnected,
    /// Object changes of this type and origin; their number must be in the range.
    Changes(ChangeType, Origin, RangeInclusive<usize>),
    /// Bookmarks; their number must be in the range.
    Bookmarks(RangeInclusive<usize>),
    /// Complete lists; their number must be in the range.
    Lists(RangeInclusive<usize>),
    /// Watch streams that were opened; their number must be in the range.
    Streams(RangeInclusive<usize>),
    /// Records of a loss, such as of documents that were no watch events of the watched type; their number must be in
    /// the range.
    Lost(RangeInclusive<usize>),
    /// GOAWAY frames on any connection; their number must be in the range.
    GoneAway(RangeInclusive<usize>),
    /// The greatest number of consecutive watch streams from the same resourceVersion, or without one, must be in the
    /// range.
    FromTheSame(RangeInclusive<usize>),
    /// An expectation that the records up to and with this second since the story began must meet.
    By(u64, Box<Wire>),
    /// Several expectations, met one after the other. The search for each begins after the shortest range of records
    /// that meets the expectation before it; an empty list is met.
    InTurn(Vec<Wire>),
}

/// What a client's own requests and reports show, with the range of its count over the whole row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Lists, which are all requests that are no watch; their number must be in the range.
    Lists(RangeInclusive<usize>),
    /// Watches that request initial events (`sendInitialEvents=true`); their number must be in the range.
    WatchLists(RangeInclusive<usize>),
    /// The greatest number of consecutive watches from the same resourceVersion, without a list in between, must be in
    /// the range. Watches from `0`, or without a resourceVersion, do not count.
    FromTheSame(RangeInclusive<usize>),
    /// Requests from a resourceVersion above 0 and below one that the client had reported; their number must be in the
    /// range.
    FromBelow(RangeInclusive<usize>),
    /// Reports of a belief older than the resourceVersion that our probe had received at least 1 s before; their number
    /// must be in the range.
    Behind(RangeInclusive<usize>),
}

/// The state in which a client must end. Numbers of objects are sums over the client's beliefs
/// ([`World::client_beliefs`](watchscope_simulator::World::client_beliefs)). Each belief is compared with the objects
/// of its scope, or of `takes_it_for`.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The client's name in the story.
    pub client: &'static str,
    /// Whether the client behaves correctly.
    pub is_correct: bool,
    /// The client's phase at the end.
    pub phase: ClientPhase,
    /// The exact number of ghosts at the end: objects that the client holds and the scope does not have. The number of
    /// [`Comparison::ghosts`](watchscope_simulator::Comparison::ghosts).
    pub ghosts: usize,
    /// The exact number of objects of the scope that the client's belief lacks at the end.
    pub missing: usize,
    /// The exact number of objects of the scope that the client holds at another resourceVersion than etcd's at the
    /// end.
    pub stale: usize,
    /// The allowed number of iterations of the client's loop over the whole story.
    pub iterations: RangeInclusive<u64>,
    /// The allowed number of events that the client's handler took over the whole story.
    pub handled: RangeInclusive<u64>,
    /// The allowed number of requests that the client sent over the whole story.
    pub requests: RangeInclusive<usize>,
    /// What the client's requests and reports must show: every item. The list may be empty.
    pub asked: Vec<Asked>,
    /// The scope that the client wrongly takes its own view for, if it differs from the scope that it watches; else
    /// `None`. The client's belief is compared with the objects of this wrong scope.
    pub takes_it_for: Option<Scope>,
}

/// Returns the expectation of a client that watches at the end and believes the truth.
fn correct(client: &'static str) -> Expected {
    Expected {
        client,
        is_correct: true,
        phase: ClientPhase::Watching,
        ghosts: 0,
        missing: 0,
        stale: 0,
        iterations: 0..=u64::MAX,
        handled: 0..=u64::MAX,
        requests: 0..=usize::MAX,
        asked: Vec::new(),
        takes_it_for: None,
    }
}

/// Returns the expectation of a client that ends in a phase, with `ghosts` objects in its belief that are gone.
fn naive(client: &'static str, phase: ClientPhase, ghosts: usize) -> Expected {
    Expected {
        is_correct: false,
        phase,
        ghosts,
        ..correct(client)
    }
}

impl Expected {
    /// Returns whether no client can meet both expectations; `client`, `is_correct` and `takes_it_for` do not count.
    /// The phases of a watching client and of a client that sleeps between polls do not exclude each other. The
    /// function compares field by field, so `false` does not prove that a client can meet both.
    #[must_use]
    pub fn excludes(&self, other: &Expected) -> bool {
        let divergence = |of: &Expected| (of.ghosts, of.missing, of.stale);
        // A poller sleeps between two polls, as a watch watches.
        let is_well =
            |of: &Expected| matches!(of.phase, ClientPhase::Watching | ClientPhase::Sleeping);
        (self.phase != other.phase && !(is_well(self) && is_well(other)))
            || divergence(self) != divergence(other)
            || are_apart(&self.iterations, &other.iterations)
            || are_apart(&self.handled, &other.handled)
            || are_apart(&self.requests, &other.requests)
            || self
                .asked
                .iter()
                .any(|one| other.asked.iter().any(|other| one.excludes(other)))
    }

    fn ending(self, phase: ClientPhase) -> Expected {
        Expected { phase, ..self }
    }

    fn ghosts(self, ghosts: usize) -> Expected {
        Expected { ghosts, ..self }
    }

    fn showing(self, asked: impl Into<Vec<Asked>>) -> Expected {
        let asked = asked.into();
        Expected { asked, ..self }
    }

    fn taking_it_for(self, scope: Scope) -> Expected {
        let takes_it_for = Some(scope);
        Expected {
            takes_it_for,
            ..self
        }
    }

    fn turns(self, iterations: RangeInclusive<u64>) -> Expected {
        Expected { iterations, ..self }
    }

    fn handling(self, handled: RangeInclusive<u64>) -> Expected {
        Expected { handled, ..self }
    }

    fn asking(self, requests: RangeInclusive<usize>) -> Expected {
        Expected { requests, ..self }
    }

    fn missing(self, missing: usize) -> Expected {
        Expected { missing, ..self }
    }

    fn stale(self, stale: usize) -> Expected {
        Expected { stale, ..self }
    }
}

impl Asked {
    fn excludes(&self, other: &Asked) -> bool {
        match (self, other) {
            (Asked::Lists(one), Asked::Lists(other))
            | (Asked::WatchLists(one), Asked::WatchLists(other))
            | (Asked::FromTheSame(one), Asked::FromTheSame(other))
            | (Asked::FromBelow(one), Asked::FromBelow(other))
            | (Asked::Behind(one), Asked::Behind(other)) => are_apart(one, other),
            _ => false,
        }
    }
}

/// Returns whether no number is in both ranges.
fn are_apart<T: PartialOrd>(one: &RangeInclusive<T>, other: &RangeInclusive<T>) -> bool {
    one.end() < other.start() || other.end() < one.start()
}

/// In minutes: the first line of a story that lasts longer than this states the story's length for the viewer. The
/// number has no source.
const PATIENCE_MINUTES: u64 = 2;

/// Returns the view of a story that watches the objects of a row.
fn view_of(scope: &Scope) -> View {
    let resource = match scope.group.as_str() {
        "" => scope.resource.clone(),
        group => format!("{}.{group}", scope.resource),
    };
    View {
        label_selector: scope.label_selector.clone(),
        ..View::of(&scope.namespace, &[&resource])
    }
}

impl Row {
    /// Makes a row about the configmaps of a quiet cluster: `a` and `b`, beside `kube-root-ca.crt`.
    fn new(of: row::Row) -> Row {
        let maps = Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default");
        let row = Row {
            row: of,
            code: of.code(),
            form: "",
            story: Story {
                name: of.code(),
                title: of.name(),
                config: Config::empty(),
                view: view_of(&maps),
                acts: Vec::new(),
                period: None,
            },
            scope: maps,
            probe: ProbeConfig::default(),
            shares_with: Vec::new(),
            beside: Vec::new(),
            lasts: Duration::from_secs(60),
            wire: Vec::new(),
            clients: Vec::new(),
            spares: None,
        };
        row.at(0, [create("a"), create("b")])
    }

    /// Adds deeds at a time of the story, in seconds since it began.
    fn at(self, secs: u64, deeds: impl Into<Vec<Deed>>) -> Row {
        self.at_ms(secs * 1000, deeds)
    }

    fn at_ms(mut self, ms: u64, deeds: impl Into<Vec<Deed>>) -> Row {
        self.story.acts.push(Act {
            at: Duration::from_millis(ms),
            deeds: deeds.into(),
            says: None,
        });
        self.story.acts.sort_by_key(|act| act.at);
        self
    }

    /// Adds a client that starts 1 s after the story began, with its expected end state.
    fn client(self, program: Program, expected: Expected) -> Row {
        self.client_at(1, program, expected)
    }

    fn client_at(mut self, secs: u64, program: Program, expected: Expected) -> Row {
        let start = Deed::Start {
            name: expected.client.to_owned(),
            program,
            scope: self.scope.clone(),
        };
        self.clients.push(expected);
        self.at(secs, [start])
    }

    /// Replaces the row's servers by one server of each of these versions. Panics for a text that is no simulated
    /// version.
    fn servers(self, versions: &[&str]) -> Row {
        let read = |text: &&str| text.parse().expect("a version of the simulator's");
        let servers = versions.iter().map(read).collect();
        self.config(|config| config.servers = servers)
    }

    fn wire(mut self, wire: impl Into<Vec<Wire>>) -> Row {
        self.wire = wire.into();
        self
    }

    /// States why no naive client of the row ends worse than the correct ones.
    fn spares(mut self, why: &'static str) -> Row {
        self.spares = Some(why);
        self
    }

    /// Lets the row's probe share its connection with a watch of `other`.
    fn sharing(self, other: Scope) -> Row {
        let row = self.over_one_connection(&other.resource);
        Row {
            shares_with: vec![other],
            ..row
        }
    }

    /// Lets the row's probe request initial events by a watch-list (docs/semantics/lists-and-watches.md#watch-list).
    fn by_watch_list(mut self) -> Row {
        self.probe.watch_list = true;
        self
    }

    /// Names the form of the failure.
    fn form(self, form: &'static str) -> Row {
        Row { form, ..self }
    }

    /// Adds a probe that watches `other` over a connection of its own.
    fn beside(mut self, other: Scope) -> Row {
        self.beside.push(other);
        self
    }

    /// Drops the row's expectations about clients and wire.
    fn unjudged(self) -> Row {
        Row {
            clients: Vec::new(),
            wire: Vec::new(),
            ..self
        }
    }

    fn lasts(mut self, secs: u64) -> Row {
        self.lasts = Duration::from_secs(secs);
        self
    }

    fn scope(mut self, scope: Scope) -> Row {
        self.story.view = view_of(&scope);
        self.scope = scope;
        self
    }

    /// Makes the row's watch and a watch of another resource share a connection.
    fn over_one_connection(mut self, other: &str) -> Row {
        self.story.view.http2 = true;
        self.story.view.resources.push(other.to_owned());
        self
    }

    /// Returns the row's story for a viewer: the story begins with the catalogue's explanation of the row.
    pub(crate) fn for_viewer(self) -> Story {
        let what = explanation(self.row).what;
        let mut text = format!("{} {}. {what}", self.code, self.story.title);
        let minutes = self.lasts.as_secs().div_ceil(60);
        if minutes > PATIENCE_MINUTES {
            text = format!("{text} The story lasts {minutes} minutes.");
        }
        let Self { mut story, .. } = self.says(0, &text);
        // Places it before everything else.
        let last_of_first = story.acts.partition_point(|act| act.at.is_zero());
        story.acts[..last_of_first].rotate_right(1);
        story
    }

    fn config(mut self, change: impl FnOnce(&mut Config)) -> Row {
        change(&mut self.story.config);
        self
    }

    fn says(mut self, secs: u64, text: &str) -> Row {
        self.story.acts.push(Act {
            at: Duration::from_secs(secs),
            deeds: Vec::new(),
            says: Some(Line {
                text: text.to_owned(),
                watch: None,
                over: false,
            }),
        });
        self.story.acts.sort_by_key(|act| act.at);
        self
    }
}

/// Returns all 50 rows in the order of their numbers, each in its own story.
#[must_use]
pub fn rows() -> Vec<Row> {
    let mut rows = [
        naive::rows(),
        streams::rows(),
        expiry::rows(),
        load::rows(),
        definitions::rows(),
        views::rows(),
        servers::rows(),
        etcd::rows(),
        order::rows(),
        starts::rows(),
        unreadable::rows(),
        network::rows(),
        access::rows(),
    ]
    .concat();
    rows.sort_by_key(|row| row.code);
    rows
}

/// The first server.
const FIRST: ServerId = ServerId(0);
/// The second server, in stories with two.
const SECOND: ServerId = ServerId(1);

/// The resource of the rows' objects, as faults name it.
const MAPS_TYPE: &str = "configmaps";
/// The URL path of the rows' configmaps.
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn create(name: &str) -> Deed {
    let body = json!({"metadata": {"name": name}, "data": {"n": "0"}});
    Deed::Call(Request::new("POST", MAPS).json(&body))
}

fn write(name: &str, n: u64) -> Deed {
    merge(
        &format!("{MAPS}/{name}"),
        &json!({"data": {"n": n.to_string()}}),
    )
}

fn merge(path: &str, patch: &serde_json::Value) -> Deed {
    let mut request =
        Request::new("PATCH", path).header("content-type", "application/merge-patch+json");
    request.body = patch.to_string().into();
    Deed::Call(request)
}

fn delete(name: &str) -> Deed {
    Deed::Call(Request::new("DELETE", &format!("{MAPS}/{name}")))
}

fn inject(fault: Fault) -> Deed {
    Deed::Inject(fault)
}

fn lift(fault: Fault) -> Deed {
    Deed::Lift(fault)
}

/// Returns a deed that ends all watches with an orderly end of the body.
fn close() -> Deed {
    Deed::Inject(Fault::CloseStreams {
        target: Target::All,
    })
}

fn cut(cut: Cut) -> Deed {
    Deed::Inject(Fault::Cut {
        target: Target::All,
        cut,
    })
}

fn refuse() -> Deed {
    Deed::Inject(Fault::Refuse)
}

fn let_in() -> Deed {
    Deed::Lift(Fault::Refuse)
}

fn informer() -> Program {
    Program::Controller(Controller::default())
}

fn reflector(minor: u8) -> Program {
    Program::Reflector {
        version: ClientGo::minor(minor),
    }
}

/// Returns the program of an informer with a minor version of client-go.
fn informer_of(minor: u8) -> Program {
    Program::Controller(Controller {
        version: ClientGo::minor(minor),
        ..Controller::default()
    })
}

fn poller() -> Program {
    Program::Poller {
        every: Duration::from_secs(2),
    }
}

/// Returns the expectation of a polling client that believes the truth at the end.
fn polling(client: &'static str) -> Expected {
    Expected {
        phase: ClientPhase::Sleeping,
        ..correct(client)
    }
}
