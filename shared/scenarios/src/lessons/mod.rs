//! Lessons: stories with narration, told in passages that are tied to moments of the run.
//!
//! A [`Lesson`] is data: a cluster, its script, and what is said about it. A [`Stage`] plays one in virtual time and keeps
//! its log; what a passage claims is tested against the records that the stage gives.

mod away;
mod expired;
mod ghost;
mod moment;
mod stage;
mod watch_event;

use std::time::Duration;

use serde_json::json;
use watchscope_model::tree;
use watchscope_simulator::{
    ClientGo, Config, Cut, Fault, Program, Request, Scope, Target, Version,
};

use crate::script::{Act, Deed};
use crate::story::{Story, View};

pub use self::moment::{Moment, Sought};
pub use self::stage::{Found, Run, Stage, digest_of};

/// Midnight, so that the ruler's clock shows minutes and seconds since the lesson began; in microseconds.
const MIDNIGHT_US: i64 = 1_798_761_600_000_000;
/// What the cluster does before the lesson begins.
const SETTLING: Duration = Duration::from_secs(2);

/// A lesson.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// The name links use.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What one knows after it, in a line.
    pub teaches: &'static str,
    /// How long it lasts.
    pub lasts: Duration,
    /// The server's version, unless the person chooses another.
    pub server: Version,
    /// client-go's version, unless the person chooses another.
    pub client: ClientGo,
    /// What our own probe watches, if it does: a resource of the core group and the kind of its objects.
    pub watches: Option<(&'static str, &'static str)>,
    /// What happens: before the lesson begins, and in it.
    script: fn(ClientGo) -> Script,
    /// What is said.
    pub passages: Vec<Passage>,
    /// What the person may break.
    pub breaks: Vec<Break>,
}

/// What happens in a lesson.
struct Script {
    /// Before it begins.
    before: Vec<Deed>,
    /// In it.
    acts: Vec<Act>,
}

/// A passage of the narration. It holds from its time until the next one's.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Its title.
    pub title: &'static str,
    /// When it is told, since the lesson began.
    pub at: Duration,
    /// The stretch of time that the picture shows with it, since the lesson began.
    pub shows: (Duration, Duration),
    /// Its paragraphs. `*…*` is stressed, `` `…` `` is code, and `{1}` refers to the first moment.
    pub text: &'static [&'static str],
    /// The moments it speaks of, all before its time.
    pub moments: Vec<Moment>,
    /// What is asked before the next passage tells it.
    pub question: Option<Question>,
}

/// A question before a reveal.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What is asked.
    pub asks: &'static str,
    /// What can be answered.
    pub answers: &'static [&'static str],
    /// Which answer is right.
    pub right: usize,
    /// What is said to whoever has answered.
    pub because: &'static str,
}

/// Something the person can do to the cluster.
#[derive(Clone, Debug)]
pub struct Break {
    /// What the button says.
    pub words: &'static str,
    /// What it does.
    pub deeds: Vec<Deed>,
}

/// All lessons, in the order in which they are learnt.
#[must_use]
pub fn lessons() -> Vec<Lesson> {
    vec![
        watch_event::lesson(),
        expired::lesson(),
        away::lesson(),
        ghost::lesson(),
    ]
}

/// The lesson of a name.
#[must_use]
pub fn lesson(name: &str) -> Option<Lesson> {
    lessons().into_iter().find(|lesson| lesson.name == name)
}

/// The lessons whose names take the fewest letters changed, added or left out to reach from one that is no lesson's; all,
/// if that is over half of it. There are few.
#[must_use]
pub fn nearest(name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let mut names: Vec<&'static str> = lessons().iter().map(|lesson| lesson.name).collect();
    let distance = |known: &&str| strsim::levenshtein(&name, known);
    let least = names.iter().map(distance).min().unwrap_or(usize::MAX);
    // Else a guess would be none.
    if least.saturating_mul(2) <= name.len() {
        names.retain(|known| distance(known) == least);
    }
    names
}

impl Lesson {
    /// The passage that holds at a time since the lesson began, by its place.
    #[must_use]
    pub fn passage_at(&self, at: Duration) -> usize {
        let told = self.passages.partition_point(|passage| passage.at <= at);
        told.saturating_sub(1)
    }

    /// The story of it, with a version of the server and of client-go.
    fn story(&self, server: Version, client: ClientGo) -> (Vec<Deed>, Story) {
        let settling = i64::try_from(SETTLING.as_micros()).unwrap_or(0);
        let config = Config {
            wall_start_us: MIDNIGHT_US - settling,
            servers: vec![server],
            ..Config::of_objects()
        };
        let Script { before, mut acts } = (self.script)(client);
        tree::sort_by(&mut acts, |one, other| one.at.cmp(&other.at));
        let story = Story {
            name: self.name,
            title: self.title,
            config,
            view: View::default(),
            acts,
            period: None,
        };
        (before, story)
    }
}

/// A moment of a lesson, in seconds.
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

const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";
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

/// At once, as a pod that runs nowhere goes.
fn delete_pod(name: &str) -> Deed {
    let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    Deed::Call(Request::new("DELETE", &format!("{PODS}/{name}")).json(&body))
}

/// All streams end as they should.
fn end_watches() -> Break {
    Break {
        words: "End all watches",
        deeds: vec![Deed::Inject(Fault::CloseStreams {
            target: Target::All,
        })],
    }
}

/// All connections are gone.
fn reset_all() -> Break {
    Break {
        words: "Reset connections",
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
