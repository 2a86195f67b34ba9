//! Decides what the audit of a watch reads next.

use std::sync::Arc;

use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{AuditMethod, Verb};
use watchscope_model::{Aside, Event, Object, ResourceVersion, Time, WatchName};

use super::context::StepContext;
use super::exits::LEFT_US;
use super::questions::{is_long, is_streaming, is_unordered, may_hide, position, says_nothing};
use super::reply::PendingReply;
use super::samples::Samples;
use super::state::{AGAIN_US, AT_ONCE, Behind, CachePosition, WatchAudit};
use super::task::{Task, same_place};
use crate::audit::budget::PER_WATCH;
use crate::audit::compare::Comparison;
use crate::audit::level::{FULL_WATCH, Level};
use crate::audit::read::Read;
use crate::audit::reads::{PAGE, Scope, exact_lists_are_etcds};
use crate::audit::reasons::Reason;
use crate::versions::ServerVersion;

/// Time in µs for which a watch may make no progress below the version of a list: two periods of bookmarks
/// (docs/semantics/checks.md#behind). After this time one last newest list decides whether `StandsStill` is published.
pub(crate) const BEHIND_US: i64 = 120_000_000;
/// Time in µs from the opening of a stream over another connection to a newest list. This list shows whether the server
/// was restarted with another etcd. The number has no source. After a longer time, further writes are more likely to
/// hide the restore.
const MOVED_US: i64 = 1_000_000;
/// Time in ms from one round of a watch to the next. A read that does not fit the watch makes the next round come
/// earlier. The level `full` halves this time, unless requests are scarce and lists may come from a watch cache. Each
/// full page of objects that the watch holds ([`PAGE`]) adds the same time again, up to
/// [`MOST_LISTED`](super::MOST_LISTED) objects; a larger watch waits once. So at level `light`, two of a watch's 20
/// requests a minute are lists (docs/audit.md#how-much-is-read). The number has no other source.
const ROUND_MS: u64 = 30_000;
/// Number of waiting tasks from which on a viewer's request for an object adds no lookup. The request gets a reply all
/// the same. A round by itself has a few dozen tasks. The number has no other source.
const MAX_TASKS: usize = 64;
/// Most doublings of the wait of a watch whose reads are refused (401, or for lists 403): 64 times the period. That is
/// 32 min at level `light`, and 16 min at level `full` while it reads every 15 s. More refusals do not lengthen the
/// wait. A GET refused with 403 does not lengthen it either: lists of one name replace the GETs of lookups. The number
/// has no source.
const MOST_DOUBLED: u32 = 6;

impl WatchAudit {
    /// Returns the time from one round to the next for a list of one page, in milliseconds. If requests are scarce,
    /// single lookups show more than lists that may come from a watch cache.
    fn period_ms(&self, step: &StepContext<'_>) -> u64 {
        let leaves_room = exact_lists_are_etcds(step.server) || !step.is_scarce;
        match self.level {
            Level::Full if leaves_room => ROUND_MS / 2,
            _ => ROUND_MS,
        }
    }

    /// Returns how many requests the watch may make in a minute. A watch whose objects the level `full` all looks up,
    /// and a sweep for `watchscope audit`, have no limit of their own: only the server's budget limits them.
    fn share(&self, held: usize, server: ServerVersion) -> usize {
        let is_read_whole = self.level == Level::Full && held <= FULL_WATCH;
        let is_waited_for = self.sweep.is_some() && self.lookup_limit > AT_ONCE;
        if is_waited_for || (is_read_whole && !exact_lists_are_etcds(server)) {
            usize::MAX
        } else {
            PER_WATCH
        }
    }

    /// Takes the next event of the watch. `before` is the state of the watch before that event.
    pub(crate) fn observe(&mut self, before: &Watch, event: &Event, now: Time) {
        let reached = match event {
            Event::RequestSent(sent) => {
                if let Some(scope) = Scope::of(sent) {
                    self.subject.scope = Some(scope);
                }
                if sent.verb() == Verb::Watch {
                    let last = self.connection.last.replace(sent.connection);
                    self.connection.is_moved |= last.is_some_and(|last| last != sent.connection);
                }
                return;
            }
            Event::StreamOpened(opened) => {
                let is_moved = std::mem::take(&mut self.connection.is_moved);
                let is_read = self.level != Level::Off && opened.resource_version.is_some();
                self.connection.list_at = (is_moved && is_read).then(|| now.plus_micros(MOVED_US));
                return;
            }
            Event::Change(change) => {
                self.subject.history.changed(before, change, now);
                self.remember_exit(before, change, now);
                &change.resource_version
            }
            Event::ListComplete(list) => {
                self.subject.history.listed(before, &list.resource_version);
                if let Some(sweep) = &mut self.sweep {
                    sweep.is_listed_anew = true;
                }
                &list.resource_version
            }
            Event::Bookmark(bookmark) => &bookmark.resource_version,
            _ => return,
        };
        let has_moved = before
            .progress
            .as_ref()
            .is_none_or(|progress| reached.is_after(progress));
        if has_moved {
            self.ahead = None;
        }
        if let Some(behind) = self.round.behind.as_mut().filter(|_| has_moved) {
            behind.since = now;
            behind.is_last = false;
        }
        let is_reached = |behind: &Behind| !behind.version.is_after(reached);
        if self.round.behind.as_ref().is_some_and(is_reached) && self.round.next_at.is_some() {
            self.round.next_at = Some(now);
        }
    }

    /// Notes a pause of watchscope, by which the waits for events become longer: no events could come during the pause.
    pub(crate) fn paused(&mut self, lasted_ms: u64) {
        if let Some(behind) = &mut self.round.behind {
            behind.since = behind.since.plus_millis(lasted_ms);
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.since = ahead.since.plus_millis(lasted_ms);
            ahead.due = ahead.due.map(|due| due.plus_millis(lasted_ms));
        }
    }

    /// Notes that the server refused a read (401, or for lists 403), and ends the round. Each such refusal in a row
    /// doubles the wait before the next round, up to 64 times. A viewer's request does not wait for that round.
    pub(super) fn rest(&mut self, step: &StepContext<'_>) {
        self.round.tasks.clear();
        if let Some(sweep) = &mut self.sweep {
            sweep.give_up();
        }
        self.limits.forbidden = (self.limits.forbidden + 1).min(MOST_DOUBLED);
        let period_ms = self.period_ms(step) << self.limits.forbidden;
        self.round.next_at = self.round.next_at.map(|_| step.now.plus_millis(period_ms));
        self.sampling.next_at = self.round.next_at;
    }

    /// Returns when the audit of the watch has something to do next; `None` if nothing is due.
    pub(crate) fn due(&self) -> Option<Time> {
        if self.round.tasks.is_empty() {
            let sweep = self.sweep.as_ref().map(|sweep| sweep.next_at);
            let ahead = self.ahead.and_then(|ahead| ahead.due);
            let due = self.round.next_at.into_iter().chain(self.sampling.next_at);
            let due = due.chain(self.connection.list_at).chain(self.exits.next_at);
            due.chain(sweep).chain(ahead).min()
        } else {
            Some(self.minute.free_at())
        }
    }

    /// Returns whether a task waits and may be sent now.
    pub(crate) fn can_ask(&self, now: Time) -> bool {
        !self.round.tasks.is_empty() && self.minute.free_at() <= now
    }

    /// Returns the sort key among watches: the watch with the smallest key reads next. The key is the requests of the
    /// last minute, then the time of the last request.
    pub(crate) fn asked_of_late(&self, now: Time) -> (usize, Time) {
        (self.minute.spent(now), self.round.asked_at)
    }

    /// Starts a viewer's request to compare the watch, or an object of it.
    pub(crate) fn ask_for(&mut self, object: Option<&Arc<Object>>, now: Time) {
        self.concluded.undecided = None;
        self.limits.refuses_get = false;
        self.limits.refuses_exact = false;
        let all = PendingReply::All {
            is_looked_into: false,
        };
        self.pending = Some(object.map_or(all, |object| PendingReply::One(object.clone())));
        match object {
            Some(object) if self.round.tasks.len() < MAX_TASKS => {
                self.round.tasks.push_front(Task::Get(object.clone()));
            }
            Some(_) => {}
            None => {
                self.concluded.agreed = None;
                self.round.next_at = Some(now);
                self.sweep = None;
            }
        }
    }

    /// Returns whether a viewer's request is complete. `under_way` is the task that is being read.
    pub(crate) fn is_over(
        &self,
        object: Option<&Object>,
        under_way: Option<&Task>,
        now: Time,
    ) -> bool {
        let mut tasks = self.round.tasks.iter().chain(under_way);
        match (object, &self.pending) {
            (Some(object), _) => !self.is_awaited(object) && !tasks.any(|task| task.is_of(object)),
            (None, Some(PendingReply::All { .. })) => false,
            // A later round is not part of the request, unless the watch is behind.
            (None, _) => {
                let is_due = self.round.next_at.is_some_and(|due| {
                    due <= now || self.level == Level::Off || self.round.behind.is_some()
                });
                !is_due && self.sweep.is_none() && tasks.next().is_none()
            }
        }
    }

    /// Queues a round or a lookup, if one is due. A watch without an open stream is not audited: it claims nothing
    /// beyond its progress, and is listing or waiting.
    pub(crate) fn begin(&mut self, step: &mut StepContext<'_>) {
        let (watch, now) = (step.watch, step.now);
        let is_streaming = is_streaming(watch);
        if !is_streaming {
            self.round.tasks.clear();
            self.ahead = None;
            self.sampling.unpublished = 0;
            if let Some(sweep) = &mut self.sweep {
                sweep.put_back();
            }
            if self.pending.is_some() {
                self.publish_undecided(step, AuditMethod::List, None, Reason::NotStreaming);
            }
        }
        if !self.round.tasks.is_empty() {
            return;
        }
        self.minute
            .allow(self.share(watch.objects.len(), step.server));
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        // Among many watches a round may be due again before this one's turn. The earlier of lookup and round goes
        // first.
        if is_due(self.sampling.next_at) && self.sampling.next_at < self.round.next_at {
            self.sample(is_streaming, step);
        }
        if is_due(self.exits.next_at) && is_streaming {
            self.look_up_exits(now);
        } else if is_due(self.exits.next_at) {
            self.exits.next_at = Some(now.plus_micros(LEFT_US));
        }
        if self.connection.list_at.take_if(|at| *at <= now).is_some() && is_streaming {
            self.round.tasks.push_back(Task::Newest);
        }
        if let Some(ahead) = self.ahead.as_mut().filter(|ahead| is_due(ahead.due))
            && self.round.tasks.is_empty()
        {
            ahead.due = None;
            self.round.tasks.push_back(Task::Newest);
        }
        if self.round.tasks.is_empty() && is_due(self.round.next_at) {
            self.begin_round(is_streaming, step);
        }
        if self.round.tasks.is_empty() {
            self.next_of_sweep(is_streaming, step);
        }
        if self.round.tasks.is_empty() && is_due(self.sampling.next_at) {
            self.sample(is_streaming, step);
        }
    }

    /// Begins a round: queues a list, and if a viewer waits for the watch and lists may hide a wrong object, a sweep or
    /// lookups.
    fn begin_round(&mut self, is_streaming: bool, step: &mut StepContext<'_>) {
        let (watch, now) = (step.watch, step.now);
        // Long lists are read more rarely, so that each watch costs about the same.
        let is_long = is_long(watch);
        let pages = if is_long {
            1
        } else {
            1 + watch.objects.len() as u64 / PAGE as u64
        };
        let period_ms = self.period_ms(step) * pages;
        self.round.next_at = (self.level != Level::Off).then(|| now.plus_millis(period_ms));
        self.publish_samples(step);
        let (Some(progress), true, Some(_)) = (position(watch), is_streaming, &self.subject.scope)
        else {
            if is_unordered(watch) && is_streaming && self.subject.scope.is_some() {
                self.round.tasks.push_back(Task::Newest);
            } else if self.pending.is_some() {
                self.publish_undecided(step, AuditMethod::List, None, Reason::NoPosition);
            }
            return;
        };
        self.round.restarts = 0;
        if self.waits_for_events(progress, step) {
            return;
        }
        if self.concluded.agreed.as_ref() == Some(progress) || self.limits.refuses_exact || is_long
        {
            self.round.tasks.push_back(Task::Newest);
        } else {
            self.round
                .tasks
                .push_back(Task::Exact(Comparison::new(progress.clone(), None)));
        }
        if let Some(PendingReply::All { is_looked_into }) = &mut self.pending
            && !std::mem::replace(is_looked_into, true)
            && may_hide(watch, step.server)
            && !self.begin_sweep(progress, step)
        {
            for _ in 0..AT_ONCE.min(watch.objects.len()) {
                let next = self.sampling.samples.next(watch, self.level, now);
                self.round
                    .tasks
                    .extend(next.map(|object| self.look(object, progress)));
            }
        }
    }

    /// Ends the round if the watch has not yet reached the version of a list that differed. Returns whether it ends the
    /// round.
    ///
    /// After 120 s without progress of the watch, the function queues one more newest list, and the round ends, too. If
    /// the watch has made no progress after that list either, the function publishes `StandsStill`, and the round goes
    /// on.
    fn waits_for_events(&mut self, progress: &ResourceVersion, step: &mut StepContext<'_>) -> bool {
        let (watch, now) = (step.watch, step.now);
        let Some(behind) = &mut self.round.behind else {
            return false;
        };
        if !behind.version.is_after(progress) {
            self.round.behind = None;
            return false;
        }
        let stands_still_us = now.micros_since(behind.since);
        if stands_still_us >= BEHIND_US && !behind.is_last {
            behind.is_last = true;
            self.round.tasks.push_back(Task::Newest);
            self.look_again(now);
            return true;
        }
        if stands_still_us >= BEHIND_US {
            let at = behind.version.clone();
            let why = Reason::StandsStill {
                at: progress.clone(),
                listed: at.clone(),
                for_s: BEHIND_US / 1_000_000,
            };
            self.round.behind = None;
            self.publish_undecided(step, AuditMethod::List, Some(at), why);
            return false;
        }
        let is_open = matches!(
            behind.cache,
            CachePosition::Unasked | CachePosition::BehindOnce
        );
        let may_be_from_the_future = says_nothing(watch) && is_open;
        if may_be_from_the_future && stands_still_us >= AGAIN_US {
            self.round.tasks.push_back(Task::Any);
        }
        if may_be_from_the_future || self.level == Level::Off {
            self.look_again(now);
        }
        true
    }

    /// Queues the lookup of the next object, if lists may hide that it is wrong.
    fn sample(&mut self, is_streaming: bool, step: &StepContext<'_>) {
        let (watch, now) = (step.watch, step.now);
        // The next round may have an object to look up.
        self.sampling.next_at = self.round.next_at;
        let is_comparable =
            is_streaming && self.subject.scope.is_some() && self.round.behind.is_none();
        if let Some(progress) = position(watch)
            && is_comparable
            && may_hide(watch, step.server)
            && let Some(object) = self.sampling.samples.next(watch, self.level, now)
        {
            let period_us = Samples::period_us(self.level, watch);
            self.sampling.next_at = Some(now.plus_micros(period_us));
            self.round.tasks.push_back(self.look(object, progress));
        }
    }

    /// Returns the lookup of an object: a GET of its newest state, or if GETs are refused, a list of it at the watch's
    /// progress.
    pub(super) fn look(&self, object: Arc<Object>, progress: &ResourceVersion) -> Task {
        if self.limits.refuses_get {
            let (at, first) = (progress.clone(), None);
            Task::One { object, at, first }
        } else {
            Task::Get(object)
        }
    }

    /// Drops the queued lookup of an object that was just looked up otherwise.
    pub(super) fn spare(&mut self, object: &Arc<Object>, step: &StepContext<'_>) {
        let (watch, now) = (step.watch, step.now);
        let place = Place(object.clone());
        let waiting =
            self.round.tasks.iter().position(
                |task| matches!(task, Task::Get(object) if Place(object.clone()) == place),
            );
        if let Some(waiting) = waiting {
            self.round.tasks.remove(waiting);
        }
        if self.sampling.samples.overheard(watch, object, now) && self.sampling.next_at.is_some() {
            let period_us = Samples::period_us(self.level, watch);
            self.sampling.next_at = Some(now.plus_micros(period_us));
        }
    }

    /// Returns whether a GET at `path`, for another watch at the same server, reads `object` for this watch, too.
    pub(crate) fn looks_there(&self, object: &Object, path: &str) -> bool {
        let is_there = |scope: &Scope| scope.get(object) == path;
        self.subject.scope.as_ref().is_some_and(is_there)
    }

    pub(super) fn look_again(&mut self, now: Time) {
        let soon = now.plus_micros(AGAIN_US);
        self.round.next_at = Some(self.round.next_at.map_or(soon, |due| due.min(soon)));
    }

    /// Returns the next task and its request; `None` if no task waits.
    pub(crate) fn ask(
        &mut self,
        name: &WatchName,
        watch: &Watch,
        server: ServerVersion,
        now: Time,
    ) -> Option<(Task, Read)> {
        let scope = self.subject.scope.as_ref()?;
        let mut task = self.round.tasks.pop_front()?;
        if let (Task::Exact(comparison), Some(progress)) = (&mut task, position(watch))
            && comparison.is_new()
        {
            // It may have waited for its turn while etcd compacts old versions.
            comparison.at.clone_from(progress);
        }
        let list = |(path, query)| (Verb::List, path, Some(query));
        let (verb, path, query) = match &task {
            Task::Exact(comparison) => {
                let token = comparison.token.as_deref();
                list(scope.exact(server, &comparison.at, token))
            }
            Task::Newest => list(scope.newest()),
            Task::Any => list(scope.any()),
            Task::Get(object) | Task::SelectorExit { object, .. } => {
                (Verb::Get, scope.get(object), None)
            }
            Task::One { object, at, .. } => list(scope.one(server, at, object)),
            Task::HistoryCheck { object, at, .. } => list(scope.named(server, at, object)),
        };
        self.minute.spend(now);
        self.round.asked_at = now;
        let read = Read {
            watch: name.clone(),
            lane: name.aside(Aside::Audit),
            server: self.subject.server.clone(),
            verb,
            path,
            query,
        };
        Some((task, read))
    }

    /// Puts a task back, because the server is busy.
    pub(crate) fn put_back(&mut self, task: Task) {
        self.round.tasks.push_front(task);
    }

    pub(super) fn look_up(&mut self, object: &Arc<Object>, at: ResourceVersion) {
        let is_asked =
            |task: &Task| matches!(task, Task::One { object: of, .. } if same_place(of, object));
        if !self.round.tasks.iter().any(is_asked) {
            self.round.tasks.push_front(Task::One {
                object: object.clone(),
                at,
                first: None,
            });
        }
    }
}
