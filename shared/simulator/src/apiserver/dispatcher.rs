//! The dispatcher of a cacher: its watches, its waiting events, and its time budget for full watches.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::change::Change;
use crate::message::RequestId;
use crate::time::Time;

/// The most events that wait between the cache and the dispatcher (docs/semantics/servers.md#cache-event). When this
/// many events wait, the cache takes in no more: further events wait in `upstream`. Only an event that the end of the
/// fault `SwapEvents` releases may wait besides.
pub(super) const INCOMING: usize = 100;
/// The time for waiting for full watches that a dispatcher gains per second, up to [`BUDGET_MOST`]
/// (docs/semantics/servers.md#slow-watch).
const BUDGET_PER_SECOND: Duration = Duration::from_millis(50);
/// The most time for waiting for full watches that a dispatcher can save up, and that a new one has. The dispatcher
/// ends a watch that is still full when the saved time is spent (docs/semantics/servers.md#slow-watch).
const BUDGET_MOST: Duration = Duration::from_millis(100);

/// The dispatcher of a cacher, which gives each event to every watch that the cacher serves.
///
/// Bounded: at most 100 events are in `incoming`, and one more when the fault `SwapEvents` ends. Events that come while
/// `incoming` is full wait in `upstream`, which models the buffer of etcd's client and has no bound. The dispatcher
/// waits at most 100 ms for full watches. Then it ends them, and goes on with the events that wait.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) watchers: Vec<RequestId>,
    pub(super) incoming: VecDeque<Arc<Change>>,
    pub(super) upstream: VecDeque<Arc<Change>>,
    pub(super) blocked: Option<Blocked>,
    /// Counts the dispatcher's waits for full watches, so that an alarm of an earlier wait is recognised.
    pub(super) blocks: u32,
    pub(super) budget: Duration,
    pub(super) budget_at: Time,
    /// The revision up to which all events are dispatched. Bookmarks carry this revision.
    pub(super) processed: u64,
    /// An event that is dispatched after the next event (fault `SwapEvents`).
    pub(super) swapped: Option<Arc<Change>>,
}

#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) full: Vec<RequestId>,
    pub(super) until: Time,
    pub(super) revision: u64,
}

impl Dispatcher {
    pub(super) fn new(now: Time) -> Dispatcher {
        Dispatcher {
            watchers: Vec::new(),
            incoming: VecDeque::new(),
            upstream: VecDeque::new(),
            blocked: None,
            blocks: 0,
            budget: BUDGET_MOST,
            budget_at: now,
            processed: 0,
            swapped: None,
        }
    }

    pub(super) fn watchers(&self) -> &[RequestId] {
        &self.watchers
    }

    pub(super) fn add(&mut self, watch: RequestId) {
        self.watchers.push(watch);
    }

    pub(super) fn remove(&mut self, watch: RequestId) {
        self.watchers.retain(|other| *other != watch);
    }

    /// Returns the revision that bookmarks carry.
    pub(super) fn processed(&self) -> u64 {
        self.processed
    }

    /// Counts the cache's progress up to `revision` as dispatched, if no event waits to be dispatched.
    pub(super) fn is_past(&mut self, revision: u64) {
        if self.incoming.is_empty() && self.blocked.is_none() {
            self.processed = revision;
        }
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    pub(super) fn take_budget(&mut self, now: Time) -> Duration {
        // 50 ms in a second are a twentieth.
        let earned = now.since(self.budget_at) / 20;
        debug_assert_eq!(BUDGET_PER_SECOND, Duration::from_secs(1) / 20);
        let budget = self.budget.saturating_add(earned).min(BUDGET_MOST);
        self.budget = Duration::ZERO;
        self.budget_at = now;
        budget
    }

    pub(super) fn give_back(&mut self, unused: Duration) {
        self.budget = self.budget.saturating_add(unused).min(BUDGET_MOST);
    }
}
