//! Lessons: stories with narration, in passages that refer to moments (events of a given kind) of the run.
//!
//! A [`Lesson`] is a script: a cluster, its acts, and the times of its passages. Its [`Texts`] are data beside the script,
//! one JSON file for each lesson, so that they can be translated; each has a key in the script. A [`LessonPlayer`] plays
//! a lesson in virtual time and keeps the run's log. Tests compare the claims of a passage with the records of the player.

mod away;
mod back_in_time;
mod expired;
mod ghost;
mod goal;
mod herd;
mod moment;
mod movable;
mod player;
mod poisoned;
mod question;
mod quiet;
mod silent;
mod stale;
mod starved;
mod texts;
mod three_tries;
mod visible;
mod watch_event;
mod who_hung_up;

use std::time::Duration;

use serde_json::json;
use watchscope_model::tree;
use watchscope_simulator::{
    ClientGo, Config, Controller, Cut, Fault, Program, Request, Scope, ServerId, Target, Version,
};

use crate::script::{Act, Deed};
use crate::story::{Story, View};

pub use self::goal::{Aim, Goal};
pub use self::moment::{Moment, Sought};
pub use self::movable::{Find, Learned, Movable, News};
pub use self::player::{Found, LessonPlayer, Run, digest_of};
pub use self::question::{Bars, End, Form, Question, Tap};
pub use self::texts::{
    ActTexts, Line, PassageTexts, QuestionTexts, TextError, Texts, english, english_json,
    english_lines,
};

/// The wall clock at a lesson's begin, in microseconds since 1970: 2027-01-01, midnight UTC. Beginning at midnight
/// makes the clock on the page's ruler show minutes and seconds since the lesson began. The date has no source.
const MIDNIGHT_US: i64 = 1_798_761_600_000_000;
/// How long the cluster runs before the lesson begins, so that the watch caches have the objects that exist from the
/// lesson's begin on. The number has no source.
const SETTLING: Duration = Duration::from_secs(2);

/// A lesson: a simulated cluster, its script, and the passages of its narration.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// The lesson's name in links: words in lower case, joined by `-`. No two lessons have the same name.
    pub name: &'static str,
    /// The lesson's length in the cluster's virtual time.
    pub lasts: Duration,
    /// The Kubernetes version of the lesson's apiserver, unless the person chooses another.
    pub server: Version,
    /// Returns the versions of the cluster's apiservers, in the order of their numbers, for the version that the person
    /// chose, or for [`Self::server`].
    servers: fn(Version) -> Vec<Version>,
    /// The client-go version of the lesson's informers, unless the person chooses another. Other programs of the lesson
    /// have versions of their own.
    pub client: ClientGo,
    /// What our own probe watches in the namespace `default`: a resource of the core group, and the kind of its
    /// objects. `None` if the probe watches nothing.
    pub watches: Option<(&'static str, &'static str)>,
    /// Returns the deeds before the lesson, and the acts in it, for a version of client-go.
    script: fn(ClientGo) -> Script,
    /// The narration, in order of time. A lesson has at least one passage.
    pub passages: Vec<Passage>,
    /// What the person may do to the cluster, in the order of the buttons. The list may be empty.
    pub breaks: Vec<Break>,
    /// The acts of the script that the person can move along the time axis. The list may be empty.
    pub movables: Vec<Movable>,
    /// What the person is to reach at the end, the easiest first. The list may be empty.
    pub goals: Vec<Goal>,
}

/// The script of a lesson.
struct Script {
    /// The deeds before the lesson begins.
    before: Vec<Deed>,
    /// The acts during the lesson, in any order.
    acts: Vec<Act>,
}

/// A passage of the narration. A passage is shown from its own time on, until just before the time of the next passage,
/// or until the lesson ends. The first passage is also shown before its time.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The key of the passage's texts. No two passages of a lesson have the same key.
    pub key: &'static str,
    /// The time from which the passage is shown, since the lesson began.
    pub at: Duration,
    /// The begin and the end of the range of time that the picture shows with the passage, since the lesson began.
    pub shows: (Duration, Duration),
    /// The moments that the passage names, in the order of their numbers in the text. In the lesson as written, all of
    /// them happen before or at the passage's time. The list may be empty.
    pub moments: Vec<Moment>,
    /// The question that is asked before the next passage, which shows the answer; `None` if there is no question.
    pub question: Option<Question>,
    /// The index in [`Lesson::movables`] of the act that the passage asks the person to move; `None` if it asks for
    /// none.
    pub moves: Option<usize>,
    /// Which lanes the passage needs.
    pub lanes: Lanes,
    /// Which panels the passage needs, besides the narration. The list has the panels of all earlier passages, too.
    pub panels: &'static [Panel],
    /// How many times the speed of a clock the lesson plays from here to the next passage, for a stretch that only
    /// repeats itself. `None` for the speed of a clock. In either case the page plays at least 20 times as fast as
    /// a clock inside a stretch of over 2 s without a change of the picture. If the person chose another speed than a
    /// clock's, the page plays at that speed alone.
    pub speed: Option<u32>,
}

impl Passage {
    /// A passage that needs all lanes and panels, and has no key.
    const BASE: Self = Self {
        key: "",
        at: Duration::ZERO,
        shows: (Duration::ZERO, Duration::ZERO),
        moments: Vec::new(),
        question: None,
        moves: None,
        lanes: Lanes::All,
        panels: Panel::ALL,
        speed: None,
    };
}

/// Lanes that a passage needs. Each level has those of the level before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lanes {
    /// etcd, the apiservers and the clients.
    Sides,
    /// Also the watch caches of the apiservers.
    Layers,
    /// Also the streams from watch caches to clients.
    Ways,
    /// All lanes: also connections, watchscope's own watch, and its objects.
    All,
}

/// A panel beside the narration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// The messages on the wire.
    Wire,
    /// The table of the objects that each side holds, and the verdict.
    Holds,
    /// The clients' loops.
    Code,
    /// The table of the ends of watches, with what came out of the channels of Go programs.
    Ends,
    /// The histogram of requests and of ends of watches, by server.
    Crowd,
    /// What the person can do to the cluster.
    Breaks,
}

impl Panel {
    /// All panels but those of the ends and of the crowd, which only lessons about them need.
    pub const ALL: &'static [Self] = &[Self::Wire, Self::Holds, Self::Code, Self::Breaks];
}

/// Something that the person can do to the cluster.
#[derive(Clone, Debug)]
pub struct Break {
    /// The key of the words of the break's button. No two breaks of a lesson have the same key.
    pub key: &'static str,
    /// The deeds that the button performs, in this order, all at one time.
    pub deeds: Vec<Deed>,
}

/// Returns all thirteen lessons, in the order in which a person learns them.
#[must_use]
pub fn lessons() -> Vec<Lesson> {
    vec![
        first(),
        ghost::lesson(),
        three_tries::lesson(),
        who_hung_up::lesson(),
        silent::lesson(),
        expired::lesson(),
        quiet::lesson(),
        herd::lesson(),
        away::lesson(),
        back_in_time::lesson(),
        stale::lesson(),
        starved::lesson(),
        poisoned::lesson(),
    ]
}

/// Returns the lesson that a person learns first.
#[must_use]
pub fn first() -> Lesson {
    watch_event::lesson()
}

/// Returns the lesson with exactly this name; `None` if no lesson has the name.
#[must_use]
pub fn lesson(name: &str) -> Option<Lesson> {
    lessons().into_iter().find(|lesson| lesson.name == name)
}

/// Returns the names of the most similar lessons by Levenshtein distance, in the order of [`lessons`]; ASCII case does
/// not count. If the least distance is over half of the given name's bytes, the function returns the names of all
/// lessons; there are few.
#[must_use]
pub fn nearest(name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let mut names: Vec<&'static str> = lessons().iter().map(|lesson| lesson.name).collect();
    let distance = |known: &&str| strsim::levenshtein(&name, known);
    let least = names.iter().map(distance).min().unwrap_or(usize::MAX);
    // Beyond that, a guess would be random.
    if least.saturating_mul(2) <= name.len() {
        names.retain(|known| distance(known) == least);
    }
    names
}

impl Lesson {
    /// Returns the index in [`Self::passages`] of the passage that is shown at a time since the lesson began. Before
    /// the first passage the index is 0; after the lesson's end it is that of the last passage.
    #[must_use]
    pub fn passage_at(&self, at: Duration) -> usize {
        let begun = self.passages.partition_point(|passage| passage.at <= at);
        begun.saturating_sub(1)
    }

    /// Moves the act with the index `place` in [`Self::movables`] to a time since the lesson began, or to the nearest
    /// of the act's bounds. Returns whether the lesson has the act.
    pub fn move_act(&mut self, place: usize, to: Duration) -> bool {
        let movable = self.movables.get_mut(place);
        movable.is_some_and(|movable| {
            movable.at = movable.within(to);
            true
        })
    }

    /// Returns the deeds before the lesson, and the lesson's story with a version of the server and of client-go.
    fn story(&self, server: Version, client: ClientGo) -> (Vec<Deed>, Story) {
        let settling = i64::try_from(SETTLING.as_micros()).unwrap_or(0);
        let config = Config {
            wall_start_us: MIDNIGHT_US - settling,
            servers: (self.servers)(server),
            ..Config::of_objects()
        };
        let Script { before, mut acts } = (self.script)(client);
        let by_time = |one: &Act, other: &Act| one.at.cmp(&other.at);
        tree::sort_by(&mut acts, by_time);
        for movable in &self.movables {
            for act in acts.iter_mut().filter(|act| act.at == movable.written) {
                act.at = movable.at;
            }
        }
        tree::sort_by(&mut acts, by_time);
        let story = Story {
            name: self.name,
            title: self.name,
            config,
            view: View::default(),
            acts,
            period: None,
        };
        (before, story)
    }
}

/// Returns the servers of a cluster with one apiserver.
fn one(server: Version) -> Vec<Version> {
    vec![server]
}

/// Returns Kubernetes 1.`minor`.`patch`, of a minor version that the simulator has.
fn released(minor: u8, patch: u8) -> Version {
    Version::new(minor, patch).unwrap_or(Version::DEFAULT)
}

/// Converts a time of a lesson from seconds to a [`Duration`].
fn secs(seconds: f64) -> Duration {
    // Times of lessons are whole milliseconds.
    Duration::from_millis((seconds * 1_000.0) as u64)
}

fn act(at_s: f64, deeds: impl Into<Vec<Deed>>) -> Act {
    Act {
        at: secs(at_s),
        deeds: deeds.into(),
        says: None,
    }
}

/// The URL path of the lessons' configmaps.
const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";
/// The URL path of the lessons' pods.
const PODS: &str = "/api/v1/namespaces/default/pods";

fn configmaps() -> Scope {
    Scope::new("v1", "configmaps", "ConfigMap").in_namespace("default")
}

fn pods() -> Scope {
    Scope::new("v1", "pods", "Pod").in_namespace("default")
}

fn start(name: &str, program: Program, scope: Scope) -> Deed {
    Deed::Start {
        name: name.to_owned(),
        program,
        scope,
    }
}

/// Returns a deed that starts a client which connects to one apiserver, past the load balancer.
fn start_at(server: ServerId, name: &str, program: Program, scope: Scope) -> Deed {
    Deed::StartAt {
        server,
        name: name.to_owned(),
        program,
        scope,
    }
}

/// Returns client-go's informer in a version.
fn informer(version: ClientGo) -> Program {
    Program::Controller(Controller {
        version,
        ..Controller::default()
    })
}

/// Returns the fault by which a server gets SIGTERM, with a grace period for its watches.
fn shutdown(server: ServerId, grace_s: f64) -> Fault {
    Fault::Shutdown {
        server,
        delay: Duration::ZERO,
        grace: secs(grace_s),
        sends_retry_after: false,
    }
}

/// Returns the deeds that kill a server: its process ends, and its connections end with it.
fn killed(server: ServerId) -> [Deed; 2] {
    [
        Deed::Inject(shutdown(server, 0.0)),
        Deed::Inject(Fault::Cut {
            target: Target::Server(server),
            cut: Cut::Eof,
        }),
    ]
}

/// Returns the deeds that kill a server and start it again.
fn restarted(server: ServerId) -> [Deed; 3] {
    let [end, cut] = killed(server);
    [end, cut, Deed::Lift(shutdown(server, 0.0))]
}

/// The URL path of configmaps in a namespace of their own, which lessons about etcd's streams fill with jobs.
const JOBS: &str = "/api/v1/namespaces/batch/configmaps";

fn jobs() -> Scope {
    Scope::new("v1", "configmaps", "ConfigMap").in_namespace("batch")
}

/// Returns a deed that creates the namespace of [`JOBS`].
fn create_batch() -> Deed {
    let body = json!({"metadata": {"name": "batch"}});
    Deed::Call(Request::new("POST", "/api/v1/namespaces").json(&body))
}

/// Returns the fault by which etcd needs a time for each response on a stream of configmaps.
fn slow_etcd(per_response: Duration) -> Fault {
    Fault::SlowEtcdStreams {
        server: None,
        resource: Some("configmaps".to_owned()),
        per_response,
    }
}

fn create_map(name: &str) -> Deed {
    let body = json!({"metadata": {"name": name}, "data": {"turn": "0"}});
    Deed::Call(Request::new("POST", CONFIGMAPS).json(&body))
}

fn write_map(name: &str, turn: u32) -> Deed {
    let patch = json!({"data": {"turn": turn.to_string()}});
    patch_of(&format!("{CONFIGMAPS}/{name}"), &patch)
}

fn delete_map(name: &str) -> Deed {
    Deed::Call(Request::new("DELETE", &format!("{CONFIGMAPS}/{name}")))
}

fn create_pod(name: &str) -> Deed {
    let body = json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    });
    Deed::Call(Request::new("POST", PODS).json(&body))
}

/// Returns a deed that deletes a pod at once, as the server does with a pod that is on no node.
fn delete_pod(name: &str) -> Deed {
    let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    Deed::Call(Request::new("DELETE", &format!("{PODS}/{name}")).json(&body))
}

/// Returns a deed that ends all watch streams with an orderly end of the body.
fn end_streams() -> Deed {
    Deed::Inject(Fault::CloseStreams {
        target: Target::All,
    })
}

/// Returns a break that ends all watch streams with an orderly end of the body.
fn end_watches() -> Break {
    Break {
        key: "end-watches",
        deeds: vec![end_streams()],
    }
}

/// Returns a break that resets all connections.
fn reset_all() -> Break {
    Break {
        key: "reset",
        deeds: vec![Deed::Inject(Fault::Cut {
            target: Target::All,
            cut: Cut::Reset,
        })],
    }
}

fn patch_of(path: &str, patch: &serde_json::Value) -> Deed {
    let mut request =
        Request::new("PATCH", path).header("content-type", "application/merge-patch+json");
    request.body = watchscope_simulator::json_text(patch).into();
    Deed::Call(request)
}

#[cfg(test)]
mod tests;
