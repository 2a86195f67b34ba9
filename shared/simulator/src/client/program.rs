//! The programs that a simulated client can run, with their names in records.

use std::time::Duration;

use super::go::ClientGo;
use super::informer::Controller;
use super::kube_watcher::{KubeRs, KubeWatcher};
use super::machine::Machine;
use super::watch_deployment::{Edit, WatchDeployment};
use super::{
    comparer, informer, kube_watcher, last_seen, many_watches, poller, pvc_loop, reflector,
    retry_watcher, scheduler, watch_deployment,
};
use crate::scope::Scope;

/// The id of a client program of a world, counted from 1; a world never reuses an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// A program that a client can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Lists at intervals and never watches (watch versus poll, docs/semantics/cases.md#life-of-an-event).
    Poller {
        /// Time from the end of one answer, or from a failure, to the poller's next request.
        every: Duration,
    },
    /// Watches its own scope, and lists the scope `listed` at intervals. The client takes each name that only the watch
    /// or only the list has for a fault (F42).
    Comparer {
        /// The scope that the client lists.
        listed: Box<Scope>,
        /// Time from the end of one answer, or from a failure, to the client's next list.
        every: Duration,
    },
    /// A bare client-go reflector that fills a store (docs/semantics/clients.md#reflector). No version of the reflector
    /// compares resourceVersions, so a DELETED event of a server before 1.9.3 can set its resourceVersion back
    /// (docs/semantics/cases.md#regression-1-9-2).
    Reflector {
        /// The version of client-go.
        version: ClientGo,
    },
    /// The end-to-end test's loop over a watch (docs/semantics/cases.md#ghost-you).
    PvcLoop {
        /// Whether the loop notices that the channel is closed, and then fails. `false`: the loop spins from the close
        /// on, until its deadline 30 s after its start.
        fixed: bool,
    },
    /// `WatchDeployment` in one of its versions (docs/semantics/cases.md#watch-pitfalls).
    WatchDeployment(WatchDeployment),
    /// One process with many loops of [`WatchDeployment::Final`], all over one scope and without a resourceVersion
    /// (F20; k/k#123448). The process keeps no objects.
    ManyWatches {
        /// The number of its watches.
        watches: u16,
    },
    /// A loop that resumes from the last ADDED, MODIFIED or DELETED that it saw, in whatever order they come (F21).
    LastSeen,
    /// client-go's RetryWatcher after a list (docs/semantics/clients.md#retry-watcher).
    RetryWatcher {
        /// The version of client-go.
        version: ClientGo,
    },
    /// A controller over client-go's informer (docs/semantics/clients.md#informer).
    Controller(Controller),
    /// A scheduler for pods whose `schedulerName` is `mini-scheduler` (docs/semantics/cases.md#life-of-an-event). Only
    /// the namespace of the client's scope counts.
    MiniScheduler {
        /// The version of client-go.
        version: ClientGo,
    },
    /// kube-rs' watcher (docs/semantics/clients.md#kube-rs).
    KubeWatcher(KubeWatcher),
}

impl Program {
    /// Returns the program's name in records, in lower case: `poller`.
    pub fn name(&self) -> &'static str {
        match self {
            Program::Poller { .. } => "poller",
            Program::Comparer { .. } => "comparer",
            Program::Reflector { .. } => "reflector",
            Program::PvcLoop { .. } => "e2e-pvc-loop",
            Program::WatchDeployment(_) | Program::ManyWatches { .. } => "watch-deployment",
            Program::LastSeen => "resume-from-last-event",
            Program::RetryWatcher { .. } => "retry-watcher",
            Program::Controller(_) => "informer",
            Program::MiniScheduler { .. } => "mini-scheduler",
            Program::KubeWatcher(_) => "kube-rs-watcher",
        }
    }

    /// Returns the program's version, as text: `1.25` of client-go, `4` or `4-no-bookmarks` of kube-rs, `v1`,
    /// `v2`, `final`, `final-resumes`, `broken`, `fixed`. Returns `None` if the program has only one version.
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
            Program::WatchDeployment(WatchDeployment::Final) | Program::ManyWatches { .. } => {
                Some("final")
            }
            Program::WatchDeployment(WatchDeployment::Edited(edit)) => Some(match edit {
                Edit::ShortSleep => "final-short-sleep",
                Edit::ShortTimer => "final-short-timer",
                Edit::Resumes => "final-resumes",
            }),
            Program::Controller(how) => Some(how.version.name()),
            Program::KubeWatcher(how) => Some(match (how.version, how.bookmarks) {
                (KubeRs::V2, true) => "2",
                (KubeRs::V3, true) => "3",
                (KubeRs::V4, true) => "4",
                (KubeRs::V2, false) => "2-no-bookmarks",
                (KubeRs::V3, false) => "3-no-bookmarks",
                (KubeRs::V4, false) => "4-no-bookmarks",
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
            Program::ManyWatches { watches } => {
                Box::new(many_watches::ManyWatches::new(*watches, scope))
            }
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
