//! The requests to one server, and the objects that watches reported as deleted.

use std::collections::VecDeque;

use watchscope_model::tree::BTreeMap;
use watchscope_model::{ConnectionId, ResourceVersion, Time, Uid, WatchName};

use super::watch::Task;
use crate::audit::budget::Budget;
use crate::audit::reads::one_name_says_newest;
use crate::versions::{ServerVersion, Versions};

/// Most objects that are remembered as deleted; a further object replaces the oldest. At 20 deletions a second, these
/// are the deletions of the last 100 s. The number has no other source.
pub(super) const MOST_GONE: usize = 2_048;
/// Time in µs that the garbage collector may take to delete what a deleted object owned. The number has no source. With
/// a shorter time, objects that are still being deleted would count as suspects and take lookups from others.
pub(super) const COLLECTED_US: i64 = 30_000_000;

/// The last [`MOST_GONE`] objects that watches reported as deleted. Objects that these owned should be deleted, too.
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

    /// Returns whether the object with a uid was deleted longer ago than the garbage collector takes.
    pub(super) fn is_gone(&self, uid: &Uid, now: Time) -> bool {
        let since = self.since.get(uid);
        since.is_some_and(|since| now.micros_since(*since) >= COLLECTED_US)
    }
}

/// The requests to one server.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    pub(super) budget: Budget,
    /// Whether all requests reach one server. If not, the cluster's address may lead to any of its servers.
    pub(super) is_pinned: bool,
    /// The version that the server reported over the connection of the last read; `None` before the first read.
    pub(super) reported_version: Option<ServerVersion>,
    /// The read that is under way; `None` if no read is.
    pub(super) flight: Option<(WatchName, Task)>,
    /// The watch that a second watch checks now, and the resourceVersion at which the second watch began; `None` if no
    /// second watch is under way.
    pub(super) witness: Option<(WatchName, ResourceVersion)>,
    /// The connections of the last read and of the last second watch.
    pub(super) connections: [Option<ConnectionId>; 2],
}

impl Traffic {
    /// Returns when the server may get the next request; `None` while a read is under way.
    pub(super) fn free_at(&self) -> Option<Time> {
        self.flight.is_none().then(|| self.budget.free_at())
    }

    pub(super) fn is_free(&self, now: Time) -> bool {
        self.free_at().is_some_and(|at| at <= now)
    }

    /// Returns the newest Kubernetes version that may answer, which decides what a read may hide. If any server may
    /// answer, this is the newest version that any server has reported. `None` if it is unknown.
    pub(super) fn newest(&self, versions: &Versions) -> ServerVersion {
        match self.reported_version {
            Some(reported_version) if self.is_pinned || reported_version.is_none() => {
                reported_version
            }
            _ => versions.newest(),
        }
    }

    /// Returns the oldest Kubernetes version that may answer, which decides what can be requested; `None` if it is
    /// unknown.
    pub(super) fn oldest(&self, versions: &Versions) -> ServerVersion {
        match self.reported_version {
            Some(reported_version) if self.is_pinned => reported_version,
            _ => versions.oldest(),
        }
    }

    pub(super) fn one_name_says_newest(&self, versions: &Versions) -> bool {
        one_name_says_newest(self.oldest(versions), self.newest(versions))
    }

    /// Returns whether the answer of a read or of a second watch is still to come.
    pub(super) fn is_asked(&self) -> bool {
        self.flight.is_some() || self.witness.is_some()
    }
}
