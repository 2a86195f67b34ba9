//! Client programs: small by-value state machines that run inside a world and reach it as any client does.
//!
//! ```text
//!  world ── Start, Arrival, Wake ──► Machine ── connect, send, cancel, close ──► network
//!                                       └─ wake_at, phase, counts, beliefs ──► client records
//! ```
//!
//! A machine has no clock and no opinion of the cluster: it parses the bytes of its responses itself, holds what it
//! believes, and says when it wants to be woken. What it does wrong it does wrong on purpose, as the program it is
//! named after does.

pub(crate) mod belief;
mod comparer;
mod go;
mod informer;
mod kube_watcher;
mod last_seen;
mod poller;
mod pvc_loop;
pub(crate) mod record;
mod reflector;
mod retry_watcher;
mod scheduler;
mod spin;
mod transport;
mod watch_deployment;
pub(crate) mod wire;

use std::fmt;
use std::time::Duration;

use crate::scope::Scope;
pub use belief::{Belief, Comparison, Held, Key};
pub use go::{ClientGo, UnknownVersion};
pub use informer::Controller;
pub use kube_watcher::{KubeList, KubeRs, KubeWatcher};
pub use record::{ClientEvent, ClientPhase, ClientRecord, ClientReport};
pub use watch_deployment::WatchDeployment;

use crate::message::{Arrival, ConnectionId, Request, RequestId};
use crate::random::Random;
use crate::time::Time;

/// A client of a world; never reused in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// What a client runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Lists again and again and never watches (watch versus poll, docs/semantics/cases.md#life-of-an-event).
    Poller {
        /// From one answer to the next request.
        every: Duration,
    },
    /// Watches its scope, lists a scope again and again, and takes each difference for a fault (F42).
    Comparer {
        /// What it lists.
        listed: Box<Scope>,
        /// From one answer to the next list.
        every: Duration,
    },
    /// A bare client-go reflector that fills a store (docs/semantics/clients.md#reflector); that of 1.9 is the one of
    /// docs/semantics/cases.md#regression-1-9-2.
    Reflector {
        /// Which client-go.
        version: ClientGo,
    },
    /// The end-to-end test's loop over a watch (docs/semantics/cases.md#ghost-you).
    PvcLoop {
        /// Whether it notices that the channel is closed.
        fixed: bool,
    },
    /// `WatchDeployment` (docs/semantics/cases.md#watch-pitfalls).
    WatchDeployment(WatchDeployment),
    /// A loop that resumes from the last event it saw, whatever that was (F21).
    LastSeen,
    /// client-go's RetryWatcher behind a list (docs/semantics/clients.md#retry-watcher).
    RetryWatcher {
        /// Which client-go.
        version: ClientGo,
    },
    /// A controller over client-go's informer (docs/semantics/clients.md#informer).
    Controller(Controller),
    /// A scheduler for pods whose `schedulerName` is `mini-scheduler` (docs/semantics/cases.md#life-of-an-event). Of
    /// its scope the namespace counts.
    MiniScheduler {
        /// Which client-go.
        version: ClientGo,
    },
    /// kube-rs' watcher (docs/semantics/clients.md#kube-rs).
    KubeWatcher(KubeWatcher),
}

impl Program {
    /// The name it is known by in records.
    pub fn name(&self) -> &'static str {
        match self {
            Program::Poller { .. } => "poller",
            Program::Comparer { .. } => "comparer",
            Program::Reflector { .. } => "reflector",
            Program::PvcLoop { .. } => "e2e-pvc-loop",
            Program::WatchDeployment(_) => "watch-deployment",
            Program::LastSeen => "resume-from-last-event",
            Program::RetryWatcher { .. } => "retry-watcher",
            Program::Controller(_) => "informer",
            Program::MiniScheduler { .. } => "mini-scheduler",
            Program::KubeWatcher(_) => "kube-rs-watcher",
        }
    }

    /// Its version, where it has several.
    pub fn version(&self) -> Option<&'static str> {
        match self {
            Program::Poller { .. } | Program::Comparer { .. } | Program::LastSeen => None,
            Program::Reflector { version }
            | Program::RetryWatcher { version }
            | Program::MiniScheduler { version } => Some(version.name()),
            Program::PvcLoop { fixed: false } => Some("broken"),
            Program::PvcLoop { fixed: true } => Some("fixed"),
            Program::WatchDeployment(WatchDeployment::V1) => Some("v1"),
            Program::WatchDeployment(WatchDeployment::V2) => Some("v2"),
            Program::WatchDeployment(WatchDeployment::Final) => Some("final"),
            Program::Controller(how) => Some(how.version.name()),
            Program::KubeWatcher(how) => Some(match how.version {
                KubeRs::V2 => "2",
                KubeRs::V3 => "3",
                KubeRs::V4 => "4",
            }),
        }
    }

    pub(crate) fn build(&self, scope: &Scope) -> Box<dyn Machine> {
        let scope = scope.clone();
        match self {
            Program::Poller { every } => Box::new(poller::Poller::new(scope, *every)),
            Program::Comparer { listed, every } => {
                Box::new(comparer::Comparer::new(*every, (**listed).clone(), scope))
            }
            Program::Reflector { version } => {
                Box::new(reflector::ReflectorProgram::new(*version, scope, None))
            }
            Program::PvcLoop { fixed } => Box::new(pvc_loop::PvcLoop::new(*fixed, scope)),
            Program::WatchDeployment(variant) => Box::new(
                watch_deployment::WatchDeploymentProgram::new(*variant, scope),
            ),
            Program::LastSeen => Box::new(last_seen::LastSeen::new(scope)),
            Program::RetryWatcher { version } => {
                Box::new(retry_watcher::RetryWatcher::new(*version, scope))
            }
            Program::Controller(how) => Box::new(informer::ControllerProgram::new(*how, scope)),
            Program::MiniScheduler { version } => {
                Box::new(scheduler::MiniScheduler::new(*version, &scope))
            }
            Program::KubeWatcher(how) => {
                Box::new(kube_watcher::KubeWatcherProgram::new(*how, scope))
            }
        }
    }
}

/// Something that happens to a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// It was started.
    Start,
    /// Something came over one of its connections.
    Arrival(ConnectionId, &'a Arrival),
    /// The server answered a ping over one of its connections.
    Pong(ConnectionId),
    /// The moment it asked for with [`Machine::wake_at`] is here.
    Wake,
}

/// What a machine may do besides changing itself.
pub(crate) trait Port {
    fn connect(&mut self) -> ConnectionId;
    fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId;
    fn cancel(&mut self, request: RequestId);
    /// Asks whether a connection lives; [`Input::Pong`] answers, or nothing does.
    fn ping(&mut self, connection: ConnectionId);
    fn close(&mut self, connection: ConnectionId);
}

/// The world as a machine sees it in one step.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    /// The client's own chance, so that what one client draws does not change what another gets.
    pub(crate) random: &'a mut Random,
    /// What the client calls itself; faults find its connections by it.
    pub(crate) user_agent: &'a str,
    pub(crate) port: &'a mut dyn Port,
}

/// A client program.
pub(crate) trait Machine: Send {
    /// Something happens.
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>);

    /// When it wants to be woken next. It is asked after every step; a wake may also come early.
    fn wake_at(&self) -> Option<Time>;

    /// What it is doing.
    fn phase(&self) -> ClientPhase;

    /// Turns of its loop until now. A loop that never waits counts by a stated rate, not by work done here.
    fn iterations(&self, now: Time) -> u64;

    /// Events its handler took until now.
    fn handled(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// Whether it is in a loop that never waits, so that its counts grow without anything happening.
    fn is_spinning(&self) -> bool {
        false
    }

    /// What it believes, a belief for each resource it looks at.
    fn beliefs(&self) -> Vec<&Belief>;
}

/// Its phase says enough: what else a machine holds would have to be written for every program.
impl fmt::Debug for dyn Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phase().word())
    }
}

/// The earlier of two moments that may not come.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
