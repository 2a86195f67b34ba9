//! The audit of all watches.

use std::sync::Arc;

use watchscope_model::event::Clock;
use watchscope_model::read::Page;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{ChangeType, Phase, Verb};
use watchscope_model::{Aside, Event, Object, Record, State, Text, Time, WatchName};

use super::level::Level;
use super::read::{Read, Reply};
use super::traffic::{DeletedObjects, Traffic};
use super::watch::StepContext;
use super::watch::Task;
use super::watch::overtaken;
use super::watch::{AT_ONCE, WatchAudit};
use super::watch::{is_below, is_unordered, may_hide};
use crate::audit::budget::{Budget, PER_MINUTE};
use crate::versions::Versions;

/// The state machine of the audit. Its memory grows with the watches, and with the objects that they hold and that
/// their lists return. Each watch has a per-key log of at most [`MAX_STEPS`] steps. A comparison keeps at most
/// [`MAX_DIFFERENCES`] differences, and a sweep at most as many objects as [`Auditor::looking_at`] allows.
///
/// [`MAX_STEPS`]: super::MAX_STEPS
/// [`MAX_DIFFERENCES`]: super::MAX_DIFFERENCES
#[derive(Clone, Debug)]
pub struct Auditor {
    pub(super) level: Level,
    pub(super) watches: BTreeMap<WatchName, WatchAudit>,
    /// Most objects of a watch for which a viewer's request makes a sweep.
    pub(super) lookup_limit: usize,
    pub(super) per_minute: usize,
    /// The requests to each server, by the address that watches are pinned to; `None` for watches that are not pinned.
    pub(super) servers: BTreeMap<Option<Text>, Traffic>,
    pub(super) versions: Versions,
    pub(super) gone: DeletedObjects,
    pub(super) out: Vec<Event>,
}

impl Default for Auditor {
    fn default() -> Self {
        Self::new(Level::default())
    }
}

impl Auditor {
    /// Returns an auditor of this level whose budgets are of [`PER_MINUTE`] requests a minute, as
    /// [`Auditor::with_budget`] counts them.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self::with_budget(level, PER_MINUTE)
    }

    /// Returns an auditor that makes at most `per_minute` requests a minute to each server with pinned watches; 0
    /// counts as 1. All watches that are not pinned share another such budget, whatever servers answer them. Reads
    /// beyond the budget wait. The driver's request for the server's version, on each new connection, counts but does
    /// not wait.
    #[must_use]
    pub fn with_budget(level: Level, per_minute: usize) -> Self {
        Self {
            level,
            watches: BTreeMap::new(),
            lookup_limit: AT_ONCE,
            per_minute: per_minute.max(1),
            servers: BTreeMap::new(),
            versions: Versions::default(),
            gone: DeletedObjects::default(),
            out: Vec::new(),
        }
    }

    /// Makes a viewer's request for all objects sweep watches of at most `most` objects, held or missing, if lists may
    /// hide a wrong object. Larger watches get [`AT_ONCE`] lookups. The default is [`AT_ONCE`]. With a greater `most`,
    /// only the server's budget limits a watch during a sweep. A sweep may end before it has looked up all objects, for
    /// example at a new list of the watch. Watches that are audited already keep their limit.
    #[must_use]
    pub fn looking_at(mut self, most: usize) -> Self {
        self.lookup_limit = most;
        self
    }

    /// Takes the next record of the log; each record must be passed once. `before` is the fold of all records before
    /// it. The start of a watch begins its audit, anew if the auditor knows the watch; its stop ends the audit. Any
    /// other record of an unknown watch begins its audit, if `before` has the watch and it is not stopped there.
    pub fn observe(&mut self, before: &State, record: &Record) {
        let now = record.at;
        if let Event::Clock(Clock {
            paused_ms: Some(paused_ms),
            ..
        }) = record.event
        {
            for audit in self.watches.values_mut() {
                audit.paused(paused_ms);
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
                        traffic.reported_version = Some(self.versions.at(sent.connection));
                    }
                    let last = &mut traffic.connections[usize::from(is_witness)];
                    if last.replace(sent.connection) != Some(sent.connection) {
                        // The driver asked its server for its version first.
                        traffic.budget.spend(now);
                    }
                }
            }
            Event::WatchStarted(started) => {
                let audit =
                    WatchAudit::new(started.server.clone(), self.level, self.lookup_limit, now);
                self.serve(&audit);
                self.watches.insert(name.clone(), audit);
            }
            Event::WatchStopped(_) => {
                if let (Some(mut audit), Some(watch)) =
                    (self.watches.remove(name), before.watches.get(name))
                {
                    let mut step = StepContext {
                        name,
                        watch,
                        server: None,
                        one_name_says_newest: false,
                        is_scarce: false,
                        now,
                        gone: &self.gone,
                        out: &mut self.out,
                    };
                    audit.stop(&mut step);
                }
                let watches = &self.watches;
                self.servers.retain(|server, traffic| {
                    let is_spent = traffic.is_asked() || traffic.budget.is_spent(now);
                    is_spent || watches.values().any(|audit| audit.server() == server)
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
                if !self.watches.contains_key(name) && !is_stopped {
                    let audit = WatchAudit::since(watch, self.level, self.lookup_limit, now);
                    self.serve(&audit);
                    self.watches.insert(name.clone(), audit);
                }
                let Some(audit) = self.watches.get_mut(name) else {
                    return;
                };
                if let Event::Change(change) = event {
                    let cleared = overtaken(watch, change);
                    self.out.extend(cleared.map(Event::from));
                    if change.change == ChangeType::Deleted {
                        self.gone.take(&change.object.uid, now);
                    }
                }
                audit.observe(watch, event, now);
            }
        }
    }

    /// Allows requests to the server of a watch from now on.
    pub(super) fn serve(&mut self, audit: &WatchAudit) {
        let per_minute = self.per_minute;
        let traffic = || Traffic {
            budget: Budget::new(per_minute),
            is_pinned: audit.server().is_some(),
            reported_version: None,
            flight: None,
            witness: None,
            connections: [None; 2],
        };
        self.servers
            .entry(audit.server().clone())
            .or_insert_with(traffic);
    }

    /// Returns when the server of a watch may get the next request; `None` while a read of it is under way.
    pub(super) fn free_at(&self, audit: &WatchAudit) -> Option<Time> {
        self.servers.get(audit.server())?.free_at()
    }

    /// Returns when [`Auditor::next`] may have a request, on the log's clock, if nothing else happens. `None` if none
    /// comes without a further record, request or answer. A past time means now.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        let due = |audit: &WatchAudit| Some(audit.due()?.max(self.free_at(audit)?));
        let witness = |audit: &WatchAudit| {
            let traffic = self.servers.get(audit.server())?;
            let is_free = traffic.witness.is_none();
            Some(
                audit
                    .witness_at()
                    .filter(|_| is_free)?
                    .max(traffic.budget.free_at()),
            )
        };
        let reads = self.watches.values().filter_map(due);
        reads.chain(self.watches.values().filter_map(witness)).min()
    }

    /// Returns the next read, if one is due and may be made; `None` if no read is. After one read there may be another,
    /// as at another server, so the caller repeats the call until it returns `None`. Each read needs a call of
    /// [`Auditor::answer`]. `state` is the fold of all records so far.
    pub fn next(&mut self, now: Time, state: &State) -> Option<Read> {
        if self.wake_at().is_none_or(|at| at > now) {
            return None;
        }
        let servers = &mut self.servers;
        for (name, audit) in &mut self.watches {
            if let Some(watch) = state.watches.get(name)
                && let Some(traffic) = servers.get(audit.server())
                && traffic.is_free(now)
            {
                audit.begin(&mut StepContext {
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
        for (name, audit) in &mut self.watches {
            let (Some(watch), Some(traffic)) =
                (state.watches.get(name), servers.get_mut(audit.server()))
            else {
                continue;
            };
            if traffic.witness.is_none()
                && traffic.budget.free_at() <= now
                && let Some((from, read)) = audit.ask_witness(name, watch, now)
            {
                traffic.budget.spend(now);
                traffic.witness = Some((name.clone(), from));
                return Some(read);
            }
        }
        let is_free = |audit: &WatchAudit| {
            let traffic = servers.get(audit.server());
            traffic.is_some_and(|traffic| traffic.is_free(now))
        };
        // The watch with the fewest requests lately is next.
        let (name, audit) = self
            .watches
            .iter_mut()
            .filter(|(_, audit)| is_free(audit) && audit.can_ask(now))
            .min_by_key(|(_, audit)| audit.asked_of_late(now))?;
        let traffic = servers.get_mut(audit.server())?;
        let watch = state.watches.get(name)?;
        let (task, read) = audit.ask(name, watch, traffic.oldest(&self.versions), now)?;
        traffic.budget.spend(now);
        traffic.flight = Some((name.clone(), task));
        Some(read)
    }

    /// Takes the result of a read at `now`; [`Auditor::take`] has the events that follow. The result counts for the
    /// read, or the second watch, that is under way at the server of `read`, so each read needs exactly one answer. If
    /// no read is under way there, the call changes no verdict. `state` is the fold of all records so far.
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
            // If a server cannot be reached, or credentials are missing, the next try must wait.
            (None, Reply::Unreached) => traffic.budget.refused(None, now),
            (None, _) => traffic.budget.answered(),
        }
        if read.verb == Verb::Watch {
            let Some((name, from)) = traffic.witness.take() else {
                return;
            };
            let is_scarce = traffic.budget.is_scarce(now);
            if let (Reply::Told(told), Some(audit), Some(watch)) =
                (reply, self.watches.get_mut(&name), state.watches.get(&name))
            {
                let mut step = StepContext {
                    name: &name,
                    watch,
                    server: traffic.newest(&self.versions),
                    one_name_says_newest: traffic.one_name_says_newest(&self.versions),
                    is_scarce,
                    now,
                    gone: &self.gone,
                    out: &mut self.out,
                };
                audit.witnessed(&from, &told, &mut step);
            }
            return;
        }
        let Some((name, task)) = traffic.flight.take() else {
            return;
        };
        let (Some(audit), Some(watch)) = (self.watches.get_mut(&name), state.watches.get(&name))
        else {
            return;
        };
        if busy.is_some() {
            audit.put_back(task);
            return;
        }
        let reply = if is_unordered(watch) {
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
        let mut step = StepContext {
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
        // A newest list below its own watch's version belongs to another history, or to a server that is behind.
        let is_back = |page: &Page| is_below(watch, &page.version);
        let listed = listed.filter(|page| !(matches!(task, Task::Newest) && is_back(page)));
        let listed = listed.and_then(|page| Some((audit.scope()?.clone(), page.clone())));
        audit.answered(task, reply, &mut step);
        let mut others = Others {
            of: &name,
            watches: &mut self.watches,
            state,
            servers: &self.servers,
            versions: &self.versions,
            is_scarce,
            now,
            gone: &self.gone,
            out: &mut self.out,
        };
        if let Some((object, seen)) = looked_up {
            others.each(|audit, step| {
                if *audit.server() == read.server && audit.looks_there(&object, &read.path) {
                    audit.overheard(&object, seen.as_ref(), step);
                }
            });
        }
        if let (Some((scope, page)), Some(from)) = (listed, &read.server) {
            let mut suspects = Vec::new();
            others.each(|audit, step| {
                let is_anothers = audit.server().as_ref().is_some_and(|s| s != from);
                // If both servers' lists come from etcd, each watch is compared with its own server's list.
                let may_tell = may_hide(watch, server) || may_hide(watch, step.server);
                if audit.scope() == Some(&scope) && is_anothers && may_tell {
                    suspects.extend(audit.listed_elsewhere(&page, from, watch, step));
                }
            });
            if let Some(audit) = self.watches.get_mut(&name) {
                audit.doubt(suspects, watch);
            }
        }
    }

    /// Takes the events to append since the last call, in their order: audits, and verdicts that are raised, confirmed
    /// or cleared. There may be no events. The auditor holds events without a bound until this call, so the caller
    /// makes it after each call of another method.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.out)
    }

    /// Returns whether a viewer's request is complete at `now`: for one watch or for all watches (`None`), and for one
    /// object or for all objects (`None`). True if there is no such watch. What the audit reads by itself counts, too,
    /// so the result may be `false` without a request.
    #[must_use]
    pub fn is_over(&self, watch: Option<&WatchName>, object: Option<&Object>, now: Time) -> bool {
        let is_meant = |name: &WatchName| watch.is_none_or(|watch| watch == name);
        let mut watches = self.watches.iter().filter(|(name, _)| is_meant(name));
        watches.all(|(name, audit)| {
            let traffic = self.servers.get(audit.server());
            let flight = traffic.and_then(|traffic| traffic.flight.as_ref());
            let under_way = flight.filter(|(of, _)| of == name).map(|(_, task)| task);
            audit.is_over(object, under_way, now)
        })
    }

    /// Starts a comparison of a watch, or of all watches (`None`): of all objects (`None`), or of one object. Returns
    /// whether there is such a watch. For one object, a watch whose requests the auditor never saw does not count. If
    /// there is one, at least one audit record of the watch follows, unless the watch is stopped before; the record may
    /// say that nothing can be decided. The object need not be held by the watch. A later request for the same watch
    /// replaces an earlier one, which may then get no record of its own. While 64 reads of the watch wait, a request
    /// for one object adds no lookup.
    pub fn ask(
        &mut self,
        watch: Option<&WatchName>,
        object: Option<&Arc<Object>>,
        now: Time,
    ) -> bool {
        let mut is_there = false;
        for (name, audit) in &mut self.watches {
            // Without the scope there is no path to an object: the audit began after the requests of the watch.
            let is_readable = object.is_none() || audit.scope().is_some();
            if is_readable && watch.is_none_or(|watch| watch == name) {
                is_there = true;
                audit.ask_for(object, now);
            }
        }
        is_there
    }

    /// Returns the number of steps in the per-key logs of all watches together.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.watches.values().map(WatchAudit::steps).sum()
    }
}

/// All watches except one.
pub(super) struct Others<'a> {
    pub(super) of: &'a WatchName,
    pub(super) watches: &'a mut BTreeMap<WatchName, WatchAudit>,
    pub(super) state: &'a State,
    pub(super) servers: &'a BTreeMap<Option<Text>, Traffic>,
    pub(super) versions: &'a Versions,
    pub(super) is_scarce: bool,
    pub(super) now: Time,
    pub(super) gone: &'a DeletedObjects,
    pub(super) out: &'a mut Vec<Event>,
}

impl Others<'_> {
    pub(super) fn each(&mut self, mut tell: impl FnMut(&mut WatchAudit, &mut StepContext<'_>)) {
        for (name, audit) in self.watches.iter_mut().filter(|(name, _)| *name != self.of) {
            if let Some(watch) = self.state.watches.get(name) {
                let traffic = self.servers.get(audit.server());
                let mut step = StepContext {
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
                tell(audit, &mut step);
            }
        }
    }
}

/// Returns the list in a reply, if the list came in one page and is of one version.
pub(super) fn listed_whole<'a>(task: &Task, reply: &'a Reply) -> Option<&'a Page> {
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
