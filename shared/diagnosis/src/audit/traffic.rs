//! The requests to one server; and objects that watches reported as gone.

use std::collections::VecDeque;

use watchscope_model::tree::BTreeMap;
use watchscope_model::{ConnectionId, ResourceVersion, Time, Uid, WatchName};

use super::watch::Task;
use crate::audit::budget::Budget;
use crate::audit::reads::one_name_says_newest;
use crate::versions::{ServerVersion, Versions};

/// Objects that are remembered to be gone; with 20 deletions a second, those of the last minute and more.
pub(super) const MOST_GONE: usize = 2_048;
/// How long the garbage collector may take to delete what belongs to an object that is gone, in microseconds.
pub(super) const COLLECTED_US: i64 = 30_000_000;

/// Objects that watches were told are gone, of late: the last [`MOST_GONE`]. What belongs to one of them should be gone
/// too.
#[derive(Clone, Debug, Default)]
pub(super) struct DeletedObjects {
    pub(super) since: BTreeMap<Uid, Time>,
    pub(super) order: VecDeque<Uid>,
}

impl DeletedObjects {
    pub(super) fn take(&mut self, uid: &Uid, now: Time) {
        if self.since.insert(uid.clone(), now).is_none() {
            self.order.push_back(uid.clone());
        }
        if self.order.len() > MOST_GONE
            && let Some(oldest) = self.order.pop_front()
        {
            self.since.remove(&oldest);
        }
    }

    /// Whether it has been gone for longer than the garbage collector needs to follow.
    pub(super) fn is_gone(&self, uid: &Uid, now: Time) -> bool {
        let since = self.since.get(uid);
        since.is_some_and(|since| now.micros_since(*since) >= COLLECTED_US)
    }
}

/// What is asked of one server.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    pub(super) budget: Budget,
    /// Whether it is one server, and not any that the cluster's address leads to.
    pub(super) is_pinned: bool,
    /// What the server said of its version over the connection of the read under way, or of the last one; absent before
    /// the first.
    pub(super) said: Option<ServerVersion>,
    /// The read under way.
    pub(super) flight: Option<(WatchName, Task)>,
    /// The watch that a second watch is made of, beside that, and since when it tells.
    pub(super) witness: Option<(WatchName, ResourceVersion)>,
    /// The connections of the last read and of the last second watch.
    pub(super) connections: [Option<ConnectionId>; 2],
}

impl Traffic {
    /// When it may be asked something; `None`: not before it has answered.
    pub(super) fn free_at(&self) -> Option<Time> {
        self.flight.is_none().then(|| self.budget.free_at())
    }

    pub(super) fn is_free(&self, now: Time) -> bool {
        self.free_at().is_some_and(|at| at <= now)
    }

    /// The newest version that may answer: it decides what a read may hide. Where any server may answer, that is the
    /// newest there was: what one of them may do, none can be trusted not to.
    pub(super) fn newest(&self, versions: &Versions) -> ServerVersion {
        match self.said {
            Some(said) if self.is_pinned || said.is_none() => said,
            _ => versions.newest(),
        }
    }

    /// The oldest version that may answer: it decides what can be asked for.
    pub(super) fn oldest(&self, versions: &Versions) -> ServerVersion {
        match self.said {
            Some(said) if self.is_pinned => said,
            _ => versions.oldest(),
        }
    }

    pub(super) fn one_name_says_newest(&self, versions: &Versions) -> bool {
        one_name_says_newest(self.oldest(versions), self.newest(versions))
    }

    /// Whether an answer is to come.
    pub(super) fn is_asked(&self) -> bool {
        self.flight.is_some() || self.witness.is_some()
    }
}
