//! The failure catalogue (docs/findings) as stories: for each row what happens, how it looks on the wire, and what it does
//! to naive and to correct clients.
//!
//! One file per family. [`Row::play`] tells a row's story to our probe and the row's clients, and says where it did not
//! come out as written.

mod access;
mod definitions;
mod etcd;
mod expiry;
pub mod finds;
pub mod forms;
mod heard;
mod judge;
mod load;
mod naive;
mod network;
mod order;
mod servers;
mod starts;
mod streams;
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

/// A row of the catalogue.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which it is.
    pub row: row::Row,
    /// Its code: `F01`.
    pub code: &'static str,
    /// What shows it, where that is something else than in the row's own story; empty: its own.
    pub form: &'static str,
    /// What happens: the cluster, the clients and the trouble.
    pub story: Story,
    /// What the probe watches.
    pub scope: Scope,
    /// How it watches.
    pub probe: ProbeConfig,
    /// What other probes watch over the same connection.
    pub shares_with: Vec<Scope>,
    /// What other probes watch over connections of their own.
    pub beside: Vec<Scope>,
    /// When it is judged.
    pub lasts: Duration,
    /// What our probe must have seen.
    pub wire: Vec<Wire>,
    /// What must have become of each client.
    pub clients: Vec<Expected>,
    /// Why no client fares worse by being naive; absent: one does.
    pub spares: Option<&'static str>,
}

/// Something our probe sees on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// A stream ended so, so often.
    Ended(Cause, RangeInclusive<usize>),
    /// A stream that lived between so many and so many seconds ended in order.
    EndedAtAge(RangeInclusive<u64>),
    /// An ERROR event with this code, and this in its message.
    Error(u64, &'static str),
    /// An HTTP status other than 200, so often.
    Status(u16, RangeInclusive<usize>),
    /// A request got no answer because no connection was let in.
    NotConnected,
    /// Changes of a kind and origin, so many.
    Changes(ChangeType, Origin, RangeInclusive<usize>),
    /// Bookmarks, so many.
    Bookmarks(RangeInclusive<usize>),
    /// Lists, so many.
    Lists(RangeInclusive<usize>),
    /// Watches that were answered, so many.
    Streams(RangeInclusive<usize>),
    /// Documents that were no event of the type, so many.
    Lost(RangeInclusive<usize>),
    /// The server asked for another connection, so often.
    GoneAway(RangeInclusive<usize>),
    /// Streams in a row from the same resourceVersion, so many at most.
    FromTheSame(RangeInclusive<usize>),
    /// Something that is so after so many seconds of the row.
    By(u64, Box<Wire>),
    /// One after the other, each by what comes behind the one before.
    InTurn(Vec<Wire>),
}

/// What a client's own requests show, and what it says it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Lists, so many.
    Lists(RangeInclusive<usize>),
    /// Watches that ask for initial events, so many.
    WatchLists(RangeInclusive<usize>),
    /// Watches in a row from the same resourceVersion, with no list between them: the longest such run.
    FromTheSame(RangeInclusive<usize>),
    /// Requests from a resourceVersion below one that the client was told before, so many.
    FromBelow(RangeInclusive<usize>),
    /// Times it said to know no more than what our probe had been told a second before, and less, so many.
    Behind(RangeInclusive<usize>),
}

/// What must have become of a client.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The client, as the story calls it.
    pub client: &'static str,
    /// Whether it does what a client should.
    pub is_correct: bool,
    /// What it does at the end.
    pub phase: ClientPhase,
    /// How many objects it believes in that are gone.
    pub ghosts: usize,
    /// How many it does not know of.
    pub missing: usize,
    /// How many it holds at another version.
    pub stale: usize,
    /// Turns of its loop.
    pub iterations: RangeInclusive<u64>,
    /// Events its handler took.
    pub handled: RangeInclusive<u64>,
    /// Requests it sent.
    pub requests: RangeInclusive<usize>,
    /// What they show.
    pub asked: Vec<Asked>,
    /// What it takes its view for, where that is something else: it is compared with the truth of this.
    pub takes_it_for: Option<Scope>,
}

/// A client that believes the truth at the end and watches.
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

/// A client that ends in a phase, believing in so many ghosts.
fn naive(client: &'static str, phase: ClientPhase, ghosts: usize) -> Expected {
    Expected {
        is_correct: false,
        phase,
        ghosts,
        ..correct(client)
    }
}

impl Expected {
    /// Whether nothing can become of a client that is right for both.
    #[must_use]
    pub fn excludes(&self, other: &Expected) -> bool {
        let divergence = |of: &Expected| (of.ghosts, of.missing, of.stale);
        // Between two polls a poller sleeps as a watch watches.
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

/// Whether no number is in both.
fn are_apart<T: PartialOrd>(one: &RangeInclusive<T>, other: &RangeInclusive<T>) -> bool {
    one.end() < other.start() || other.end() < one.start()
}

/// Who waits longer than this for a story is told so.
const PATIENCE_MINUTES: u64 = 2;

/// How to watch what a row is about.
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
    /// A row about the configmaps of a quiet cluster, of which there are a and b beside the root CA's.
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

    /// Deeds at so many seconds.
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

    /// A client that starts after a second, and what must become of it.
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

    /// The servers, by their versions.
    fn servers(self, versions: &[&str]) -> Row {
        let read = |text: &&str| text.parse().expect("a version of the simulator's");
        let servers = versions.iter().map(read).collect();
        self.config(|config| config.servers = servers)
    }

    fn wire(mut self, wire: impl Into<Vec<Wire>>) -> Row {
        self.wire = wire.into();
        self
    }

    /// No client fares worse by being naive, and why.
    fn spares(mut self, why: &'static str) -> Row {
        self.spares = Some(why);
        self
    }

    /// The probe's connection is another one's too.
    fn sharing(self, other: Scope) -> Row {
        let row = self.over_one_connection(&other.resource);
        Row {
            shares_with: vec![other],
            ..row
        }
    }

    /// The probe asks for initial events by a watch-list.
    fn by_watch_list(mut self) -> Row {
        self.probe.watch_list = true;
        self
    }

    /// The row shows itself by something else.
    fn form(self, form: &'static str) -> Row {
        Row { form, ..self }
    }

    /// Another probe watches this too.
    fn beside(mut self, other: Scope) -> Row {
        self.beside.push(other);
        self
    }

    /// Nothing is said of what becomes of its clients and on the wire.
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

    /// What goes wrong is about a connection that watches share: those of the scope and of another resource.
    fn over_one_connection(mut self, other: &str) -> Row {
        self.story.view.http2 = true;
        self.story.view.resources.push(other.to_owned());
        self
    }

    /// The story for one who asks for it: it begins with what the catalogue says of the row.
    pub(crate) fn told(self) -> Story {
        let what = explanation(self.row).what;
        let mut text = format!("{} {}. {what}", self.code, self.story.title);
        let minutes = self.lasts.as_secs().div_ceil(60);
        if minutes > PATIENCE_MINUTES {
            text = format!("{text} The story lasts {minutes} minutes.");
        }
        let Self { mut story, .. } = self.says(0, &text);
        // Before anything happens.
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

/// All rows, in the order of their numbers.
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

const FIRST: ServerId = ServerId(0);
const SECOND: ServerId = ServerId(1);

/// As faults name it.
const MAPS_TYPE: &str = "configmaps";
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

/// All watches end in order.
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

/// An informer over a version of client-go.
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

/// A poller that believes the truth at the end.
fn polling(client: &'static str) -> Expected {
    Expected {
        phase: ClientPhase::Sleeping,
        ..correct(client)
    }
}
