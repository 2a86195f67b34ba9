//! The parts of a story's script: acts, their deeds to the cluster, and the narrator's lines.

use std::time::Duration;

use watchscope_model::WatchName;
use watchscope_simulator::{Fault, Program, Request, Scope};

/// Something that happens at one moment of a story.
#[derive(Clone, Debug)]
pub struct Act {
    /// Its time, since the story or its current round began.
    pub at: Duration,
    /// Its deeds.
    pub deeds: Vec<Deed>,
    /// The narrator's line about it.
    pub says: Option<Line>,
}

/// A narrator's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The sentence.
    pub text: String,
    /// The watch that it is about; `None` if it is about none.
    pub watch: Option<WatchName>,
    /// Whether the story ends with it.
    pub over: bool,
}

/// One deed to the cluster.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Switches a fault on, or lets a momentary one happen.
    Inject(Fault),
    /// Switches a fault off.
    Lift(Fault),
    /// Makes a request with every right, past network and faults.
    Call(Request),
    /// Changes an object again and again until etcd reaches a revision; each write takes one revision.
    Fill {
        /// The path of the object.
        path: &'static str,
        /// The revision.
        revision: u64,
    },
    /// Starts a client program.
    Start {
        /// The name of the client. Faults find its connections by it.
        name: String,
        /// The program.
        program: Program,
        /// The objects that it watches.
        scope: Scope,
    },
    /// Kills a client program.
    Stop(String),
    /// From now on the viewer's watches read what arrives (`true`), or do not. If the viewer cannot stop reading, the
    /// network holds the answers back instead.
    Read(bool),
    /// `kubectl rollout restart`: sets the time as an annotation of the pod template.
    Restart {
        /// The deployment's namespace.
        namespace: &'static str,
        /// Its name.
        deployment: &'static str,
    },
}
