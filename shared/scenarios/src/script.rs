//! The parts of a story's script: acts, their deeds to the cluster, and the narrator's lines.

use std::time::Duration;

use watchscope_model::WatchName;
use watchscope_simulator::{Fault, Program, Request, Scope};

/// Something that happens at one moment of a story.
#[derive(Clone, Debug)]
pub struct Act {
    /// Its time, since the story or its current round began.
    pub at: Duration,
    /// Its deeds, in the order in which they are performed. It may be empty.
    pub deeds: Vec<Deed>,
    /// The narrator's line about it; `None` if the narrator says nothing.
    pub says: Option<Line>,
}

/// A narrator's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// One or more sentences, as plain text.
    pub text: String,
    /// The watch that it is about; `None` if it is about none.
    pub watch: Option<WatchName>,
    /// Whether the story ends with it: nothing more happens by the script. It is only for viewers; the player does not
    /// look at it.
    pub over: bool,
}

/// One deed to the cluster.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Switches a fault on, or lets a momentary one happen. A fault that etcd's release does not have does nothing.
    Inject(Fault),
    /// Switches a fault off, if it is on.
    Lift(Fault),
    /// Makes a request with every right, past the network and its faults
    /// ([`World::call`](watchscope_simulator::World::call)). Its answer is not looked at.
    Call(Request),
    /// Changes an object again and again until etcd reaches a revision; each write takes one revision. It makes no
    /// write if etcd has reached it.
    Fill {
        /// The URL path of the object. If it does not exist, the writes fail and the revision stays.
        path: &'static str,
        /// The revision that etcd has after the last write, if all succeed.
        revision: u64,
    },
    /// Starts a client program. A program of the same name is stopped.
    Start {
        /// The name of the client. Faults find its connections by it.
        name: String,
        /// The program.
        program: Program,
        /// The objects that it lists or watches.
        scope: Scope,
    },
    /// Kills the client program with this name; no such program is no error.
    Stop(String),
    /// From now on the viewer's watches read what arrives (`true`), or do not. If the viewer cannot stop reading, the
    /// network holds the answers back instead.
    Read(bool),
    /// `kubectl rollout restart`: sets the cluster's time as an annotation of the pod template. Without that deployment
    /// it does nothing.
    Restart {
        /// The deployment's namespace.
        namespace: &'static str,
        /// Its name.
        deployment: &'static str,
    },
}
