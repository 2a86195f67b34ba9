//! What a story's script is made of: acts, the deeds that each does to the cluster, and the narrator's lines.

use std::time::Duration;

use watchscope_model::WatchName;
use watchscope_simulator::{Fault, Program, Request, Scope};

/// Something that happens at one moment of a story.
#[derive(Clone, Debug)]
pub struct Act {
    /// When, since the story (or its current round) began.
    pub at: Duration,
    /// What is done to the cluster.
    pub deeds: Vec<Deed>,
    /// What the narrator says about it.
    pub says: Option<Line>,
}

/// A narrator's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The sentence.
    pub text: String,
    /// The watch it is about.
    pub watch: Option<WatchName>,
    /// Whether the story is over with it.
    pub over: bool,
}

/// One thing done to the cluster.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A fault is switched on, or happens.
    Inject(Fault),
    /// A fault is switched off.
    Lift(Fault),
    /// Somebody with every right does a request, past network and faults.
    Call(Request),
    /// Somebody with every right changes an object again and again, until etcd is at a revision: each write takes one.
    Fill {
        /// The object's path.
        path: &'static str,
        /// The revision.
        revision: u64,
    },
    /// A client program starts.
    Start {
        /// The name it is called by; faults find its connections by it.
        name: String,
        /// What it runs.
        program: Program,
        /// What it looks at.
        scope: Scope,
    },
    /// A client program is killed.
    Stop(String),
    /// Whoever watches the story reads what comes to him from now on, or does not. Of one who cannot be told, the
    /// network keeps it instead.
    Read(bool),
    /// `kubectl rollout restart`: the pod template gets the time as an annotation.
    Restart {
        /// The deployment's namespace.
        namespace: &'static str,
        /// Its name.
        deployment: &'static str,
    },
}
