//! The parts of a story's script: acts, their deeds to the cluster, and the narrator's lines.

use std::time::Duration;

use watchscope_model::WatchName;
use watchscope_simulator::{Fault, Program, Request, Scope, ServerId};

/// What happens at one time of a story: deeds to the cluster, and a line of the narrator.
#[derive(Clone, Debug)]
pub struct Act {
    /// The act's time, since the story or its current round began.
    pub at: Duration,
    /// The act's deeds, in the order in which they are performed. The list may be empty.
    pub deeds: Vec<Deed>,
    /// The narrator's line about the act; `None` if the narrator says nothing.
    pub says: Option<Line>,
}

/// A narrator's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line's text: one or more sentences, as plain text.
    pub text: String,
    /// The watch that the line is about; `None` if it is about no watch.
    pub watch: Option<WatchName>,
    /// Whether the story ends with this line: the script has no further acts. The field is only for viewers; the player
    /// ignores it.
    pub over: bool,
}

/// One action on the simulated cluster.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Switches a fault on, or lets a momentary one happen. A fault that etcd's release does not have does nothing.
    Inject(Fault),
    /// Switches a lasting fault off, if it is on.
    Lift(Fault),
    /// Makes a request with every right, past the network and its faults
    /// ([`World::call`](watchscope_simulator::World::call)). The answer is ignored.
    Call(Request),
    /// Changes an object again and again until etcd reaches a revision; each write raises the revision by one. The deed
    /// makes no write if etcd has already reached the revision.
    Fill {
        /// The URL path of the object. If the object does not exist, the writes fail and etcd's revision does not rise.
        path: &'static str,
        /// The revision that etcd has after the last write, if all writes succeed.
        revision: u64,
    },
    /// Starts a client program. A program of the same name that the player started before is stopped right after.
    Start {
        /// The name of the client, with which its User-Agent begins. Faults find the client's connections by this name.
        name: String,
        /// The program that the client runs.
        program: Program,
        /// The objects that the client lists or watches.
        scope: Scope,
    },
    /// Like [`Deed::Start`], for a client that connects to one apiserver, past the load balancer.
    StartAt {
        /// The apiserver.
        server: ServerId,
        /// The name of the client.
        name: String,
        /// The program that the client runs.
        program: Program,
        /// The objects that the client lists or watches.
        scope: Scope,
    },
    /// Starts client programs that report nothing and that no deed can stop
    /// ([`World::start_crowd`](watchscope_simulator::World::start_crowd)).
    Crowd {
        /// The name of all these clients, with which their User-Agents begin.
        name: &'static str,
        /// The program that each of them runs.
        program: Program,
        /// The objects that each of them lists or watches.
        scope: Scope,
        /// How many they are.
        count: u16,
    },
    /// Kills the client program that the player started by this name; no such program is no error.
    Stop(String),
    /// Makes the viewer's watches read arriving bytes (`true`), or stop reading (`false`). If the viewer cannot stop
    /// reading, the network holds the answers back instead.
    Read(bool),
    /// `kubectl rollout restart`: sets the cluster's time as an annotation of the deployment's pod template. Without
    /// such a deployment the deed does nothing.
    Restart {
        /// The deployment's namespace.
        namespace: &'static str,
        /// The deployment's name.
        deployment: &'static str,
    },
}
