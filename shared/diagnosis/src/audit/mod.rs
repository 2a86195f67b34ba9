//! The audit: whether what a watch holds is so (docs/semantics/checks.md#procedure).
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
//! what was read at r. A difference is `raised`; found a second time at the same r it is `confirmed`. Where versions have
//! no order, since another apiserver keeps the objects, that all is equal can be told and nothing else.
//!
//! There is no clock, connection or fold inside. One read at a time is under way at each server, so that one that hangs
//! holds up its own watches alone; the driver answers every read. Nothing is concluded from a read that cannot reveal it: what may have been served from a watch cache never makes or clears a
//! verdict, it only names objects to be looked up in etcd one by one.

mod budget;
mod compare;
mod history;
mod lane;
mod reads;
mod reasons;

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::{Clock, RequestSent, Verdict};
use watchscope_model::read::{Page, Seen, Told};
use watchscope_model::request::{ACCEPT_METADATA, ACCEPT_METADATA_LIST};
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{ChangeType, Phase, Standing, Verb};
use watchscope_model::{
    Aside, ConnectionId, Event, Object, Record, RequestId, ResourceVersion, State, Text, Time, Uid,
    WatchName,
};

use self::budget::Budget;
pub use self::budget::{PER_MINUTE, PER_WATCH};
pub use self::compare::MAX_DIFFERENCES;
pub use self::history::{KEPT_US, MAX_STEPS};
pub use self::lane::{AT_ONCE, MOST_LISTED};
use self::lane::{Lane, Task, Turn};
pub use self::reads::PAGE;
use crate::versions::{ServerVersion, Versions};

/// Objects that are remembered to be gone; with 20 deletions a second, those of the last minute and more.
const MOST_GONE: usize = 2_048;
/// How long the garbage collector may take to delete what belongs to an object that is gone, in microseconds.
const COLLECTED_US: i64 = 30_000_000;

/// How much is audited without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nothing.
    Off,
    /// Each watch is listed every half minute, and where lists may hide a ghost (1.34 and later) its objects are looked
    /// up one by one, at most 16 a minute: a wrong object of a small watch ([`SMALL_WATCH`]) is confirmed within a
    /// minute.
    #[default]
    Light,
    /// Each watch is listed every quarter of a minute, and where lists may hide a ghost each object of a watch of at most
    /// [`FULL_WATCH`] is looked up within two minutes.
    Full,
}

/// Most objects of a small watch where lists may hide a ghost: each is looked up every 56 s, which with two lists a
/// minute and two reads to confirm is what [`PER_WATCH`] allows. Where lists are etcd's it is a page of them ([`PAGE`]).
pub const SMALL_WATCH: usize = 15;
/// Most objects of a watch that [`Level::Full`] reads whole within two minutes: what a server's [`PER_MINUTE`] allow.
pub const FULL_WATCH: usize = 200;

/// A request to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Which watch it is for.
    pub watch: WatchName,
    /// The name it goes by in the log: the watch's, with `#a`.
    pub lane: WatchName,
    /// The address of the apiserver that the watch is pinned to, and so the read; absent: any.
    pub server: Option<Text>,
    /// What it does.
    pub verb: Verb,
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
        if self.verb == Verb::List {
            ACCEPT_METADATA_LIST
        } else {
            ACCEPT_METADATA
        }
    }

    /// What the log has of it.
    #[must_use]
    pub fn sent(&self, request: RequestId, connection: ConnectionId) -> RequestSent {
        RequestSent {
            watch: self.lane.clone(),
            request,
            connection,
            verb: self.verb.word().into(),
            path: self.path.as_str().into(),
            query: self.query.clone(),
        }
    }

    /// What an answer of this status says, if it came whole; `current`, `one`, `page` and `told` read its body.
    pub fn reply(
        &self,
        status: Option<u16>,
        retry_after_ms: Option<u64>,
        current: impl FnOnce() -> Option<ResourceVersion>,
        one: impl FnOnce() -> Option<Seen>,
        page: impl FnOnce() -> Option<Page>,
        told: impl FnOnce() -> Option<Told>,
    ) -> Reply {
        let reply = match status {
            Some(200) if self.verb == Verb::Get => one().map(Reply::One),
            Some(200) if self.verb == Verb::Watch => told().map(Reply::Told),
            Some(200) => page().map(Reply::Page),
            Some(status) => Some(Reply::Refused {
                status,
                retry_after_ms,
                current: current(),
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
    /// A watch, from begin to end.
    Told(Told),
    /// An HTTP status other than 200.
    Refused {
        /// The status.
        status: u16,
        /// What the server asks us to wait.
        retry_after_ms: Option<u64>,
        /// The version that the server has come to, where it says that it has not come to the one asked for.
        current: Option<ResourceVersion>,
    },
    /// No answer that could be read.
    Failed,
    /// No connection to ask over, or no credentials for it.
    Unreached,
}

impl Reply {
    /// The same, of an apiserver whose versions have no order.
    fn unordered(mut self) -> Self {
        let seen = |seen: &mut Seen| seen.version = seen.version.unordered();
        match &mut self {
            Self::Page(page) => {
                page.version = page.version.unordered();
                page.items.iter_mut().for_each(seen);
            }
            Self::One(one) => seen(one),
            Self::Told(_) | Self::Refused { .. } | Self::Failed | Self::Unreached => {}
        }
        self
    }
}

/// The machine. Bounded by the watches there are: each has its per-key log ([`MAX_STEPS`] steps) and one comparison of
/// at most [`MAX_DIFFERENCES`] differences and 8 bytes a key at a time, and while somebody asks as many objects as
/// [`Auditor::looking_at`] says.
#[derive(Clone, Debug)]
pub struct Auditor {
    level: Level,
    lanes: BTreeMap<WatchName, Lane>,
    /// Most objects of a watch that are each looked up for one who asks.
    looks: usize,
    per_minute: usize,
    /// What is asked of each server, by the address that watches are pinned to; of any, if they are not.
    servers: BTreeMap<Option<Text>, Traffic>,
    versions: Versions,
    gone: Gone,
    out: Vec<Event>,
}

/// Objects that watches were told are gone, of late: the last [`MOST_GONE`]. What belongs to one of them should be gone
/// too.
#[derive(Clone, Debug, Default)]
struct Gone {
    since: BTreeMap<Uid, Time>,
    order: VecDeque<Uid>,
}

impl Gone {
    fn take(&mut self, uid: &Uid, now: Time) {
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
    fn is_gone(&self, uid: &Uid, now: Time) -> bool {
        let since = self.since.get(uid);
        since.is_some_and(|since| now.micros_since(*since) >= COLLECTED_US)
    }
}

/// What is asked of one server.
#[derive(Clone, Debug)]
struct Traffic {
    budget: Budget,
    /// Whether it is one server, and not any that the cluster's address leads to.
    is_pinned: bool,
    /// What the server said of its version over the connection of the read under way, or of the last one; absent before
    /// the first.
    said: Option<ServerVersion>,
    /// The read under way.
    flight: Option<(WatchName, Task)>,
    /// The watch that a second watch is made of, beside that, and since when it tells.
    witness: Option<(WatchName, ResourceVersion)>,
    /// The connections of the last read and of the last second watch.
    connections: [Option<ConnectionId>; 2],
}

impl Traffic {
    /// When it may be asked something; `None`: not before it has answered.
    fn free_at(&self) -> Option<Time> {
        self.flight.is_none().then(|| self.budget.free_at())
    }

    fn is_free(&self, now: Time) -> bool {
        self.free_at().is_some_and(|at| at <= now)
    }

    /// The newest version that may answer: it decides what a read may hide. Where any server may answer, that is the
    /// newest there was: what one of them may do, none can be trusted not to.
    fn newest(&self, versions: &Versions) -> ServerVersion {
        match self.said {
            Some(said) if self.is_pinned || said.is_none() => said,
            _ => versions.newest(),
        }
    }

    /// The oldest version that may answer: it decides what can be asked for.
    fn oldest(&self, versions: &Versions) -> ServerVersion {
        match self.said {
            Some(said) if self.is_pinned => said,
            _ => versions.oldest(),
        }
    }

    fn one_name_says_newest(&self, versions: &Versions) -> bool {
        reads::one_name_says_newest(self.oldest(versions), self.newest(versions))
    }

    /// Whether an answer is to come.
    fn is_asked(&self) -> bool {
        self.flight.is_some() || self.witness.is_some()
    }
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

    /// An auditor that makes at most so many requests a minute to each server.
    #[must_use]
    pub fn with_budget(level: Level, per_minute: usize) -> Self {
        Self {
            level,
            lanes: BTreeMap::new(),
            looks: AT_ONCE,
            per_minute: per_minute.max(1),
            servers: BTreeMap::new(),
            versions: Versions::default(),
            gone: Gone::default(),
            out: Vec::new(),
        }
    }

    /// The same, but for one who asks of a watch of at most so many objects, each is looked up where lists may hide that it
    /// is wrong; of a larger one [`AT_ONCE`] are. For more than that a watch may go beyond its share of requests, within the
    /// server's budget.
    #[must_use]
    pub fn looking_at(mut self, most: usize) -> Self {
        self.looks = most;
        self
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
            return self.versions.observe(&record.event);
        };
        match &record.event {
            Event::RequestSent(sent)
                if matches!(name.as_aside(), Some(Aside::Audit | Aside::Witness)) =>
            {
                let is_witness = name.as_aside() == Some(Aside::Witness);
                let about = name.about();
                let is_its = |traffic: &&mut Traffic| {
                    let of = if is_witness {
                        traffic.witness.as_ref().map(|(of, _)| of)
                    } else {
                        traffic.flight.as_ref().map(|(of, _)| of)
                    };
                    of.is_some() && of == about.as_ref()
                };
                if let Some(traffic) = self.servers.values_mut().find(is_its) {
                    if !is_witness {
                        traffic.said = Some(self.versions.at(sent.connection));
                    }
                    let last = &mut traffic.connections[usize::from(is_witness)];
                    if last.replace(sent.connection) != Some(sent.connection) {
                        // Its server was asked for its version first.
                        traffic.budget.spend(now);
                    }
                }
            }
            Event::WatchStarted(started) => {
                let lane = Lane::new(started.server.clone(), self.level, self.looks, now);
                self.serve(&lane);
                self.lanes.insert(name.clone(), lane);
            }
            Event::WatchStopped(_) => {
                if let (Some(mut lane), Some(watch)) =
                    (self.lanes.remove(name), before.watches.get(name))
                {
                    let mut turn = Turn {
                        name,
                        watch,
                        server: None,
                        one_name_says_newest: false,
                        is_scarce: false,
                        now,
                        gone: &self.gone,
                        out: &mut self.out,
                    };
                    lane.stop(&mut turn);
                }
                let lanes = &self.lanes;
                self.servers.retain(|server, traffic| {
                    let is_spent = traffic.is_asked() || traffic.budget.is_spent(now);
                    is_spent || lanes.values().any(|lane| lane.server() == server)
                });
            }
            event => {
                let Some(watch) = before.watches.get(name) else {
                    return;
                };
                let is_stopped = watch
                    .phase
                    .as_ref()
                    .is_some_and(|phase| phase.phase == Phase::Stopped);
                if !self.lanes.contains_key(name) && !is_stopped {
                    let lane = Lane::since(watch, self.level, self.looks, now);
                    self.serve(&lane);
                    self.lanes.insert(name.clone(), lane);
                }
                let Some(lane) = self.lanes.get_mut(name) else {
                    return;
                };
                if let Event::Change(change) = event {
                    let cleared = lane::overtaken(watch, change);
                    self.out.extend(cleared.map(Event::from));
                    if change.change == ChangeType::Deleted {
                        self.gone.take(&change.object.uid, now);
                    }
                }
                lane.observe(watch, event, now);
            }
        }
    }

    /// A lane's server may be asked from now on.
    fn serve(&mut self, lane: &Lane) {
        let per_minute = self.per_minute;
        let traffic = || Traffic {
            budget: Budget::new(per_minute),
            is_pinned: lane.server().is_some(),
            said: None,
            flight: None,
            witness: None,
            connections: [None; 2],
        };
        self.servers
            .entry(lane.server().clone())
            .or_insert_with(traffic);
    }

    /// When a lane's server may be asked; `None`: not before it has answered.
    fn free_at(&self, lane: &Lane) -> Option<Time> {
        self.servers.get(lane.server())?.free_at()
    }

    /// When [`Auditor::next`] has something to ask, if nothing else happens; `None` if never, or once a read under way
    /// is answered. The past means now.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        let due = |lane: &Lane| Some(lane.due()?.max(self.free_at(lane)?));
        let witness = |lane: &Lane| {
            let traffic = self.servers.get(lane.server())?;
            let is_free = traffic.witness.is_none();
            Some(
                lane.witness_at()
                    .filter(|_| is_free)?
                    .max(traffic.budget.free_at()),
            )
        };
        let reads = self.lanes.values().filter_map(due);
        reads.chain(self.lanes.values().filter_map(witness)).min()
    }

    /// The next read, if one is due and may be made; there may be another one, at another server. `state` is the fold of
    /// all records so far.
    pub fn next(&mut self, now: Time, state: &State) -> Option<Read> {
        if self.wake_at().is_none_or(|at| at > now) {
            return None;
        }
        let servers = &mut self.servers;
        for (name, lane) in &mut self.lanes {
            if let Some(watch) = state.watches.get(name)
                && let Some(traffic) = servers.get(lane.server())
                && traffic.is_free(now)
            {
                lane.begin(&mut Turn {
                    name,
                    watch,
                    server: traffic.newest(&self.versions),
                    one_name_says_newest: traffic.one_name_says_newest(&self.versions),
                    is_scarce: traffic.budget.is_scarce(now),
                    now,
                    gone: &self.gone,
                    out: &mut self.out,
                });
            }
        }
        for (name, lane) in &mut self.lanes {
            let (Some(watch), Some(traffic)) =
                (state.watches.get(name), servers.get_mut(lane.server()))
            else {
                continue;
            };
            if traffic.witness.is_none()
                && traffic.budget.free_at() <= now
                && let Some((from, read)) = lane.ask_witness(name, watch, now)
            {
                traffic.budget.spend(now);
                traffic.witness = Some((name.clone(), from));
                return Some(read);
            }
        }
        let is_free = |lane: &Lane| {
            let traffic = servers.get(lane.server());
            traffic.is_some_and(|traffic| traffic.is_free(now))
        };
        // Who had the least of late is next.
        let (name, lane) = self
            .lanes
            .iter_mut()
            .filter(|(_, lane)| is_free(lane) && lane.can_ask(now))
            .min_by_key(|(_, lane)| lane.asked_of_late(now))?;
        let traffic = servers.get_mut(lane.server())?;
        let watch = state.watches.get(name)?;
        let (task, read) = lane.ask(name, watch, traffic.oldest(&self.versions), now)?;
        traffic.budget.spend(now);
        traffic.flight = Some((name.clone(), task));
        Some(read)
    }

    /// Takes what came of a read.
    pub fn answer(&mut self, read: &Read, reply: Reply, now: Time, state: &State) {
        let Some(traffic) = self.servers.get_mut(&read.server) else {
            return;
        };
        let busy = match &reply {
            Reply::Refused {
                status: 429 | 503,
                retry_after_ms,
                ..
            } => Some(*retry_after_ms),
            _ => None,
        };
        match (busy, &reply) {
            (Some(retry_after_ms), _) => traffic.budget.refused(retry_after_ms, now),
            // It is no more eager to be dialled, nor who gives credentials to be asked.
            (None, Reply::Unreached) => traffic.budget.refused(None, now),
            (None, _) => traffic.budget.answered(),
        }
        if read.verb == Verb::Watch {
            let Some((name, from)) = traffic.witness.take() else {
                return;
            };
            let is_scarce = traffic.budget.is_scarce(now);
            if let (Reply::Told(told), Some(lane), Some(watch)) =
                (reply, self.lanes.get_mut(&name), state.watches.get(&name))
            {
                let mut turn = Turn {
                    name: &name,
                    watch,
                    server: traffic.newest(&self.versions),
                    one_name_says_newest: traffic.one_name_says_newest(&self.versions),
                    is_scarce,
                    now,
                    gone: &self.gone,
                    out: &mut self.out,
                };
                lane.witnessed(&from, &told, &mut turn);
            }
            return;
        }
        let Some((name, task)) = traffic.flight.take() else {
            return;
        };
        let (Some(lane), Some(watch)) = (self.lanes.get_mut(&name), state.watches.get(&name))
        else {
            return;
        };
        if busy.is_some() {
            lane.put_back(task);
            return;
        }
        let reply = if lane::is_unordered(watch) {
            reply.unordered()
        } else {
            reply
        };
        let server = traffic.newest(&self.versions);
        let one_name_says_newest = traffic.one_name_says_newest(&self.versions);
        let looked_up = match (&task, &reply) {
            (Task::Get(object), Reply::One(seen)) => Some((object.clone(), Some(seen.clone()))),
            (Task::Get(object), Reply::Refused { status: 404, .. }) => Some((object.clone(), None)),
            _ => None,
        };
        let is_scarce = traffic.budget.is_scarce(now);
        let mut turn = Turn {
            name: &name,
            watch,
            server,
            one_name_says_newest,
            is_scarce,
            now,
            gone: &self.gone,
            out: &mut self.out,
        };
        let listed = listed_whole(&task, &reply).filter(|_| read.server.is_some());
        // A newest list below what its own watch has seen is of another history, or of a server that is behind.
        let is_back = |page: &Page| lane::is_below(watch, &page.version);
        let listed = listed.filter(|page| !(matches!(task, Task::Newest) && is_back(page)));
        let listed = listed.and_then(|page| Some((lane.scope()?.clone(), page.clone())));
        lane.answered(task, reply, &mut turn);
        let mut others = Others {
            of: &name,
            lanes: &mut self.lanes,
            state,
            servers: &self.servers,
            versions: &self.versions,
            is_scarce,
            now,
            gone: &self.gone,
            out: &mut self.out,
        };
        if let Some((object, seen)) = looked_up {
            others.each(|lane, turn| {
                if *lane.server() == read.server && lane.looks_there(&object, &read.path) {
                    lane.overheard(&object, seen.as_ref(), turn);
                }
            });
        }
        if let (Some((scope, page)), Some(from)) = (listed, &read.server) {
            let mut suspects = Vec::new();
            others.each(|lane, turn| {
                let is_anothers = lane.server().as_ref().is_some_and(|s| s != from);
                // Where both servers' lists are etcd's, each watch is held against those of its own.
                let may_tell = lane::may_hide(watch, server) || lane::may_hide(watch, turn.server);
                if lane.scope() == Some(&scope) && is_anothers && may_tell {
                    suspects.extend(lane.listed_elsewhere(&page, from, watch, turn));
                }
            });
            if let Some(lane) = self.lanes.get_mut(&name) {
                lane.doubt(suspects, watch);
            }
        }
    }

    /// What is to be appended: audits, and verdicts raised, confirmed, cleared.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.out)
    }

    /// Whether nothing more comes of what a person asked to be compared: a watch, or all; of one watch, an object of it.
    #[must_use]
    pub fn is_over(&self, watch: Option<&WatchName>, object: Option<&Object>, now: Time) -> bool {
        let is_meant = |name: &WatchName| watch.is_none_or(|watch| watch == name);
        let mut lanes = self.lanes.iter().filter(|(name, _)| is_meant(name));
        lanes.all(|(name, lane)| {
            let traffic = self.servers.get(lane.server());
            let flight = traffic.and_then(|traffic| traffic.flight.as_ref());
            let under_way = flight.filter(|(of, _)| of == name).map(|(_, task)| task);
            lane.is_over(object, under_way, now)
        })
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

/// The lanes besides one.
struct Others<'a> {
    of: &'a WatchName,
    lanes: &'a mut BTreeMap<WatchName, Lane>,
    state: &'a State,
    servers: &'a BTreeMap<Option<Text>, Traffic>,
    versions: &'a Versions,
    is_scarce: bool,
    now: Time,
    gone: &'a Gone,
    out: &'a mut Vec<Event>,
}

impl Others<'_> {
    fn each(&mut self, mut tell: impl FnMut(&mut Lane, &mut Turn<'_>)) {
        for (name, lane) in self.lanes.iter_mut().filter(|(name, _)| *name != self.of) {
            if let Some(watch) = self.state.watches.get(name) {
                let traffic = self.servers.get(lane.server());
                let mut turn = Turn {
                    name,
                    watch,
                    server: traffic.and_then(|traffic| traffic.newest(self.versions)),
                    one_name_says_newest: traffic
                        .is_some_and(|traffic| traffic.one_name_says_newest(self.versions)),
                    is_scarce: self.is_scarce,
                    now: self.now,
                    gone: self.gone,
                    out: self.out,
                };
                tell(lane, &mut turn);
            }
        }
    }
}

/// The list, if it came in one page and is of one version.
fn listed_whole<'a>(task: &Task, reply: &'a Reply) -> Option<&'a Page> {
    let Reply::Page(page) = reply else {
        return None;
    };
    let is_first = match task {
        Task::Exact(comparison) => comparison.token.is_none() && page.version == comparison.at,
        Task::Newest => true,
        _ => false,
    };
    (is_first && page.token.is_none() && page.unreadable == 0).then_some(page)
}

/// That a verdict is over.
fn cleared(verdict: &Verdict) -> Verdict {
    Verdict {
        state: Standing::Cleared,
        ..verdict.clone()
    }
}
