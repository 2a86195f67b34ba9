//! The audit: whether what a watch holds is so (semantics 4).
//!
//! ```text
//!   record, and the fold before it ─► observe ─► per-key logs ─┐
//!                         the log's time ─► next ─► Read ──────┼──► driver: asks the server
//!                                           answer ◄─ Reply ◄──┼─── driver
//!                                             └─► take: audits and verdicts (events to append)
//! ```
//!
//! Within one resource all changes have unique, rising revisions, and a correct stream tells them in order. So what a
//! watch holds at its progress p is the truth at p, or it is not; and only what was held at r is ever compared with
//! what was read at r. A difference is `raised`; found a second time at the same r it is `confirmed`.
//!
//! There is no clock, connection or fold inside. One read is under way at a time; the driver answers every one. Nothing
//! is concluded from a read that cannot reveal it: what may have been served from a watch cache never makes or clears a
//! verdict, it only names objects to be looked up in etcd one by one.

mod budget;
mod compare;
mod history;
mod lane;
mod reads;

use std::collections::BTreeMap;
use std::sync::Arc;

use watchscope_model::event::{Clock, RequestSent, Verdict};
use watchscope_model::read::{Page, Seen};
use watchscope_model::request::{ACCEPT_METADATA, ACCEPT_METADATA_LIST};
use watchscope_model::vocabulary::Standing;
use watchscope_model::{ConnectionId, Event, Object, Record, RequestId, State, Time, WatchName};

use self::budget::Budget;
pub use self::budget::{PER_MINUTE, PER_WATCH};
pub use self::compare::MAX_DIFFERENCES;
pub use self::history::{KEPT_US, MAX_STEPS};
pub use self::lane::MOST_LISTED;
pub(crate) use self::lane::{FROM_THE_FUTURE, WENT_BACK};
use self::lane::{Lane, Task, Turn};
pub use self::reads::PAGE;
use crate::findings::server_version;

/// How much is audited without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Off,
    /// Each watch every half minute, and a few objects of it one by one where lists may hide a ghost: a wrong object of
    /// a small watch is confirmed within a minute.
    #[default]
    Light,
    /// Each watch every quarter of a minute, and as many objects one by one as a watch's share allows.
    Full,
}

/// A request to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Which watch it is for.
    pub watch: WatchName,
    /// The name it goes by in the log: the watch's, with `#a`.
    pub lane: WatchName,
    /// `list` or `get`.
    pub verb: &'static str,
    /// URL path.
    pub path: String,
    /// Query, percent-encoded; absent for a get.
    pub query: Option<String>,
}

impl Read {
    /// Path and query.
    #[must_use]
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// What to accept: no more than metadata is compared.
    #[must_use]
    pub fn accept(&self) -> &'static str {
        if self.verb == "get" {
            ACCEPT_METADATA
        } else {
            ACCEPT_METADATA_LIST
        }
    }

    /// What the log has of it.
    #[must_use]
    pub fn sent(&self, request: RequestId, connection: ConnectionId) -> RequestSent {
        RequestSent {
            watch: self.lane.clone(),
            request,
            connection,
            verb: self.verb.into(),
            path: self.path.as_str().into(),
            query: self.query.clone(),
        }
    }

    /// What an answer of this status says, if it came whole; `one` and `page` read its body.
    pub fn reply(
        &self,
        status: Option<u16>,
        retry_after_ms: Option<u64>,
        one: impl FnOnce() -> Option<Seen>,
        page: impl FnOnce() -> Option<Page>,
    ) -> Reply {
        let reply = match status {
            Some(200) if self.verb == "get" => one().map(Reply::One),
            Some(200) => page().map(Reply::Page),
            Some(status) => Some(Reply::Refused {
                status,
                retry_after_ms,
            }),
            None => None,
        };
        reply.unwrap_or(Reply::Failed)
    }
}

/// What came of a [`Read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A page of a list.
    Page(Page),
    /// An object.
    One(Seen),
    /// An HTTP status other than 200.
    Refused {
        /// The status.
        status: u16,
        /// What the server asks us to wait.
        retry_after_ms: Option<u64>,
    },
    /// No answer that could be read.
    Failed,
}

/// The machine. Bounded by the watches there are: each has its per-key log ([`MAX_STEPS`] steps) and one comparison of
/// at most [`MAX_DIFFERENCES`] differences and 8 bytes a key at a time.
#[derive(Clone, Debug)]
pub struct Auditor {
    level: Level,
    lanes: BTreeMap<WatchName, Lane>,
    budget: Budget,
    /// The read under way.
    flight: Option<(WatchName, Task)>,
    out: Vec<Event>,
}

impl Default for Auditor {
    fn default() -> Self {
        Self::new(Level::default())
    }
}

impl Auditor {
    /// An auditor of a level, with the default budget.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self::with_budget(level, PER_MINUTE)
    }

    /// An auditor that makes at most so many requests a minute.
    #[must_use]
    pub fn with_budget(level: Level, per_minute: usize) -> Self {
        Self {
            level,
            lanes: BTreeMap::new(),
            budget: Budget::new(per_minute.max(1)),
            flight: None,
            out: Vec::new(),
        }
    }

    /// Takes the next record. `before` is the fold of all records before it.
    pub fn observe(&mut self, before: &State, record: &Record) {
        let now = record.at;
        if let Event::Clock(Clock {
            paused_ms: Some(paused_ms),
            ..
        }) = record.event
        {
            for lane in self.lanes.values_mut() {
                lane.paused(paused_ms);
            }
        }
        let Some(name) = record.event.watch() else {
            return;
        };
        match &record.event {
            Event::WatchStarted(_) => {
                self.lanes.insert(name.clone(), Lane::new(self.level, now));
            }
            Event::WatchStopped(_) => {
                self.lanes.remove(name);
            }
            event => {
                let Some(watch) = before.watches.get(name) else {
                    return;
                };
                let level = self.level;
                let lane = self
                    .lanes
                    .entry(name.clone())
                    .or_insert_with(|| Lane::since(watch, level, now));
                if let Event::Change(change) = event {
                    let cleared = lane::overtaken(watch, change);
                    self.out.extend(cleared.map(Event::from));
                }
                lane.observe(watch, event, now);
            }
        }
    }

    /// When [`Auditor::next`] has something to ask, if nothing else happens; `None` if never, or once the read under way
    /// is answered. The past means now.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        if self.flight.is_some() {
            return None;
        }
        let free_at = self.budget.free_at();
        let due = |lane: &Lane| lane.due().map(|due| due.max(free_at));
        self.lanes.values().filter_map(due).min()
    }

    /// The next read, if one is due and may be made. `state` is the fold of all records so far.
    pub fn next(&mut self, now: Time, state: &State) -> Option<Read> {
        if self.wake_at().is_none_or(|at| at > now) {
            return None;
        }
        let server = server_version(state);
        for (name, lane) in &mut self.lanes {
            if let Some(watch) = state.watches.get(name) {
                lane.begin(&mut Turn {
                    name,
                    watch,
                    server,
                    now,
                    out: &mut self.out,
                });
            }
        }
        // Who had the least of late is next.
        let (name, lane) = self
            .lanes
            .iter_mut()
            .filter(|(_, lane)| lane.can_ask(now))
            .min_by_key(|(_, lane)| lane.asked_of_late(now))?;
        let (task, read) = lane.ask(name, server, now)?;
        self.budget.spend(now);
        self.flight = Some((name.clone(), task));
        Some(read)
    }

    /// Takes what came of the read under way.
    pub fn answer(&mut self, reply: Reply, now: Time, state: &State) {
        let Some((name, task)) = self.flight.take() else {
            return;
        };
        let busy = match &reply {
            Reply::Refused {
                status: 429 | 503,
                retry_after_ms,
            } => Some(*retry_after_ms),
            _ => None,
        };
        match busy {
            Some(retry_after_ms) => self.budget.refused(retry_after_ms, now),
            None => self.budget.answered(),
        }
        let (Some(lane), Some(watch)) = (self.lanes.get_mut(&name), state.watches.get(&name))
        else {
            return;
        };
        if busy.is_some() {
            lane.put_back(task);
            return;
        }
        let mut turn = Turn {
            name: &name,
            watch,
            server: server_version(state),
            now,
            out: &mut self.out,
        };
        lane.answered(task, reply, &mut turn);
    }

    /// What is to be appended: audits, and verdicts raised, confirmed, cleared.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.out)
    }

    /// Whether nothing is being read, or will be by itself.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.flight.is_none() && self.wake_at().is_none()
    }

    /// A watch, or all, is to be compared now; of one watch, an object of it. Whether there is such a watch: if so, an
    /// audit of it follows, if only to say that it cannot tell.
    pub fn ask(
        &mut self,
        watch: Option<&WatchName>,
        object: Option<&Arc<Object>>,
        now: Time,
    ) -> bool {
        let mut is_there = false;
        for (name, lane) in &mut self.lanes {
            if watch.is_none_or(|watch| watch == name) {
                is_there = true;
                lane.ask_for(object, now);
            }
        }
        is_there
    }

    /// Steps in all per-key logs.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.lanes.values().map(Lane::steps).sum()
    }
}

/// That a verdict is over.
fn cleared(verdict: &Verdict) -> Verdict {
    Verdict {
        state: Standing::Cleared,
        ..verdict.clone()
    }
}
