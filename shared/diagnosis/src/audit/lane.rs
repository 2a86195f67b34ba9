//! The audit of one watch: what is read next, and what is concluded from it.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::{Audit, Change, Event, Verdict};
use watchscope_model::fold::Watch;
use watchscope_model::read::{Page, Seen};
use watchscope_model::vocabulary::{Certainty, Phase, Standing};
use watchscope_model::{Aside, Object, ResourceVersion, Time, WatchName};

use super::budget::{Minute, PER_WATCH};
use super::compare::{Compared, Comparison, Difference, MAX_DIFFERENCES, compare};
use super::history::History;
use super::reads::{PAGE, Scope, Server, exact_lists_are_etcds, newest_lists_are_etcds};
use super::{Level, Read, Reply, cleared};

/// How long a watch may take to come as far as a list: two periods of bookmarks (semantics 4.2), in microseconds.
pub(super) const BEHIND_US: i64 = 120_000_000;
/// How long after a read that was ahead of the watch it is looked at again, in microseconds. A cache that is not there
/// yet waits 3 s at most, so what is still behind after that is behind for another reason.
const AGAIN_US: i64 = 4_000_000;
/// Most objects looked up because a list that may be a cache's differs in them.
const FOLLOWED: usize = 8;
/// Most objects of a watch that is listed. A longer list would not be over before etcd compacts its version, within a
/// watch's share of requests; of such a watch objects are only looked up one by one.
pub const MOST_LISTED: usize = PAGE * PER_WATCH / 2;
/// Most tasks that wait while a person asks for more; a round by itself has a few dozen.
const MAX_TASKS: usize = 64;
/// How often a read is begun again because its version was compacted or has been passed, in a round.
const MAX_RESTARTS: u32 = 2;

/// Something to be read.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// All, at exactly a version.
    Exact(Comparison),
    /// The first page of what is there now.
    Newest,
    /// How far the server's cache is.
    Any,
    /// An object, as it is now.
    Get(Arc<Object>),
    /// An object, at exactly a version; the second time with what was found the first time.
    One {
        object: Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
    },
}

/// A list was ahead of the watch, and different.
#[derive(Clone, Debug)]
struct Behind {
    version: ResourceVersion,
    since: Time,
    /// How often the server's own cache was found behind where the stream was opened; `u32::MAX` once it was not.
    future: u32,
}

/// A watch, as the audit sees it.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    history: History,
    scope: Option<Scope>,
    minute: Minute,
    level: Level,
    /// When it is looked at again.
    due: Option<Time>,
    asked_at: Time,
    tasks: VecDeque<Task>,
    restarts: u32,
    /// Where the next sample begins.
    cursor: usize,
    /// Samples of this round that were equal, while any are to come.
    sampled: u64,
    /// The version at which all was found equal.
    agreed: Option<ResourceVersion>,
    behind: Option<Behind>,
    /// Since when consistent lists are below progress: the revision went back.
    went_back: Option<Time>,
    refuses_exact: bool,
    /// The last thing that could not be told, which is not told again.
    untold: Option<(&'static str, String)>,
}

/// The verdict that a change puts an end to: whatever was compared in its place is no longer held.
pub(super) fn overtaken(watch: &Watch, change: &Change) -> Option<Verdict> {
    let standing = &watch.verdict_on(&change.object)?.verdict;
    let is_replay = watch
        .held(&change.object)
        .is_some_and(|held| held.resource_version.is_after(&change.resource_version));
    (!is_replay).then(|| cleared(standing))
}

/// What a step goes by besides its lane, and where it says what it found.
pub(super) struct Turn<'a> {
    pub(super) name: &'a WatchName,
    pub(super) watch: &'a Watch,
    pub(super) server: Server,
    pub(super) now: Time,
    pub(super) out: &'a mut Vec<Event>,
}

impl Lane {
    pub(super) fn new(level: Level, now: Time) -> Self {
        Self {
            history: History::default(),
            scope: None,
            minute: Minute::new(PER_WATCH),
            level,
            due: (level != Level::Off).then_some(now),
            asked_at: Time(i64::MIN),
            tasks: VecDeque::new(),
            restarts: 0,
            cursor: 0,
            sampled: 0,
            agreed: None,
            behind: None,
            went_back: None,
            refuses_exact: false,
            untold: None,
        }
    }

    pub(super) fn since(watch: &Watch, level: Level, now: Time) -> Self {
        Self {
            history: History::since(watch),
            ..Self::new(level, now)
        }
    }

    /// How long a round takes, in milliseconds.
    fn period_ms(&self) -> u64 {
        match self.level {
            Level::Off | Level::Light => 30_000,
            Level::Full => 15_000,
        }
    }

    /// How many objects are looked up one by one in a round, besides those that are said to be wrong.
    fn most_sampled(&self) -> usize {
        match self.level {
            // A person asked for it.
            Level::Off => 16,
            Level::Light => 6,
            Level::Full => 4,
        }
    }

    pub(super) fn steps(&self) -> usize {
        self.history.len()
    }

    pub(super) fn observe(&mut self, before: &Watch, event: &Event, now: Time) {
        let reached = match event {
            Event::RequestSent(sent) => {
                if let Some(scope) = Scope::of(sent) {
                    self.scope = Some(scope);
                }
                return;
            }
            Event::Change(change) => {
                self.history.changed(before, change, now);
                &change.resource_version
            }
            Event::ListComplete(list) => {
                self.history.listed(before, &list.resource_version);
                &list.resource_version
            }
            Event::Bookmark(bookmark) => &bookmark.resource_version,
            _ => return,
        };
        let is_reached = |behind: &Behind| !behind.version.is_after(reached);
        if self.behind.as_ref().is_some_and(is_reached) && self.due.is_some() {
            self.due = Some(now);
        }
    }

    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Time> {
        if self.tasks.is_empty() {
            self.due
        } else {
            Some(self.minute.free_at())
        }
    }

    pub(super) fn can_ask(&self, now: Time) -> bool {
        !self.tasks.is_empty() && self.minute.free_at() <= now
    }

    /// The smaller, the sooner it is its turn.
    pub(super) fn asked_of_late(&self, now: Time) -> (usize, Time) {
        (self.minute.spent(now), self.asked_at)
    }

    /// A person asks for the watch, or an object of it, to be compared now.
    pub(super) fn ask_for(&mut self, object: Option<&Arc<Object>>, now: Time) {
        self.untold = None;
        match object {
            Some(object) if self.tasks.len() < MAX_TASKS => {
                self.tasks.push_front(Task::Get(object.clone()));
            }
            Some(_) => {}
            None => {
                self.agreed = None;
                self.due = Some(now);
            }
        }
    }

    /// Begins a round, if it is time. Nothing is asked of a watch that does not stream: it claims nothing beyond its
    /// progress, and is either reading a state or waiting.
    pub(super) fn begin(&mut self, turn: &mut Turn<'_>) {
        let (watch, now) = (turn.watch, turn.now);
        let is_streaming = watch.stream.is_some()
            && watch
                .phase
                .as_ref()
                .is_none_or(|phase| phase.phase == Phase::Streaming);
        if !is_streaming {
            self.tasks.clear();
            self.sampled = 0;
        }
        if !self.tasks.is_empty() || self.due.is_none_or(|due| due > now) {
            return;
        }
        // Long lists are read more rarely, so that each watch costs about the same.
        let is_long = watch.objects.len() > MOST_LISTED;
        let pages = if is_long {
            1
        } else {
            1 + watch.objects.len() as u64 / PAGE as u64
        };
        let period_ms = self.period_ms() * pages;
        self.due = (self.level != Level::Off).then(|| now.plus_millis(period_ms));
        let progress = watch
            .progress
            .as_ref()
            .filter(|progress| progress.is_position());
        let (Some(progress), true, Some(_)) = (progress, is_streaming, &self.scope) else {
            return;
        };
        self.restarts = 0;
        self.sampled = 0;
        if let Some(behind) = &self.behind {
            if !behind.version.is_after(progress) {
                self.behind = None;
            } else if now.micros_since(behind.since) >= BEHIND_US {
                let why = format!(
                    "the watch is at {progress} and has not come to {}, at which a list differed, in {} s",
                    behind.version,
                    BEHIND_US / 1_000_000
                );
                let at = behind.version.clone();
                self.behind = None;
                self.cannot_tell(turn, "list", Some(at), why);
            } else {
                let is_new = now.micros_since(behind.since) < AGAIN_US;
                let may_be_from_the_future = says_nothing(watch) && behind.future < 2;
                if may_be_from_the_future && !is_new {
                    self.tasks.push_back(Task::Any);
                }
                if may_be_from_the_future || self.level == Level::Off {
                    self.look_again(now);
                }
                return;
            }
        }
        if self.agreed.as_ref() == Some(progress) || self.refuses_exact || is_long {
            self.tasks.push_back(Task::Newest);
        } else {
            self.tasks
                .push_back(Task::Exact(Comparison::new(progress.clone(), None)));
        }
        if is_long || !exact_lists_are_etcds(turn.server) {
            self.sample(watch);
        }
    }

    /// Picks the next few objects in turn, to be looked up one by one, and those that are said to be wrong.
    fn sample(&mut self, watch: &Watch) {
        for open in watch.verdicts.values().take(FOLLOWED) {
            self.tasks.push_back(Task::Get(open.verdict.object.clone()));
        }
        let held = watch.objects.len();
        for _ in 0..self.most_sampled().min(held) {
            self.cursor = (self.cursor + 1) % held;
            if let Some(held) = watch.objects.iter().nth(self.cursor) {
                self.tasks.push_back(Task::Get(held.object.clone()));
            }
        }
    }

    fn look_again(&mut self, now: Time) {
        let soon = now.plus_micros(AGAIN_US);
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
    }

    /// The next request, and what for.
    pub(super) fn ask(
        &mut self,
        name: &WatchName,
        server: Server,
        now: Time,
    ) -> Option<(Task, Read)> {
        let scope = self.scope.as_ref()?;
        let task = self.tasks.pop_front()?;
        let list = |(path, query)| ("list", path, Some(query));
        let (verb, path, query) = match &task {
            Task::Exact(comparison) => {
                let token = comparison.token.as_deref();
                list(scope.exact(server, &comparison.at, token))
            }
            Task::Newest => list(scope.newest()),
            Task::Any => list(scope.any()),
            Task::Get(object) => ("get", scope.get(object), None),
            Task::One { object, at, .. } => list(scope.one(at, object)),
        };
        self.minute.spend(now);
        self.asked_at = now;
        let read = Read {
            watch: name.clone(),
            lane: name.aside(Aside::Audit),
            verb,
            path,
            query,
        };
        Some((task, read))
    }

    /// The server is busy: the same again later.
    pub(super) fn put_back(&mut self, task: Task) {
        self.tasks.push_front(task);
    }

    /// Takes what came of a task.
    pub(super) fn answered(&mut self, task: Task, reply: Reply, turn: &mut Turn<'_>) {
        match (task, reply) {
            (Task::Exact(comparison), Reply::Page(page)) => self.exact(comparison, page, turn),
            (Task::Newest, Reply::Page(page)) => self.newest(&page, turn),
            (Task::Any, Reply::Page(page)) => self.any(page.version, turn),
            (Task::Get(object), Reply::One(seen)) => self.got(&object, Some(&seen), turn),
            (Task::Get(object), Reply::Refused { status: 404, .. }) => {
                self.got(&object, None, turn);
            }
            (
                Task::One { object, at, first },
                Reply::Page(Page {
                    version,
                    items,
                    unreadable: 0,
                    ..
                }),
            ) if version == at => {
                self.one(&object, at, first, &items, turn);
            }
            (Task::Exact(comparison), Reply::Refused { status, .. }) => {
                self.exact_refused(comparison, status, turn);
            }
            (Task::One { object, at, .. }, Reply::Refused { status: 410, .. }) => {
                // Its version is compacted; the watch may have come further meanwhile.
                let progress = turn.watch.progress.as_ref();
                match progress.filter(|progress| progress.is_after(&at)) {
                    Some(progress) => self.look_up(&object, progress.clone()),
                    None => self.cannot_tell(turn, "get", Some(at), COMPACTED.to_owned()),
                }
            }
            (task, Reply::Refused { status, .. }) => {
                let why = format!("the server answered {status}");
                self.cannot_tell(turn, task.method(), None, why);
            }
            (task, _) => {
                let why = "there was no answer that could be read".to_owned();
                self.cannot_tell(turn, task.method(), None, why);
            }
        }
        self.tell_sampled(turn);
    }

    /// A page of all at exactly a version.
    fn exact(&mut self, mut comparison: Comparison, page: Page, turn: &mut Turn<'_>) {
        let method = if comparison.first.is_some() {
            "list exact again"
        } else {
            "list exact"
        };
        if page.version != comparison.at || page.unreadable > 0 {
            // Continued at another version (`rv=-1`), or not at the one asked for: no state to compare with.
            let why = if page.unreadable > 0 {
                format!("{} items could not be read", page.unreadable)
            } else {
                format!(
                    "asked for {}, the server listed {}",
                    comparison.at, page.version
                )
            };
            return self.cannot_tell(turn, method, Some(comparison.at), why);
        }
        let Some(past) = self.history.at(turn.watch, &comparison.at) else {
            return self.restart(comparison.at, turn);
        };
        comparison.take(&page.items, &past);
        if let Some(token) = page.token {
            comparison.token = Some(token);
            self.tasks.push_front(Task::Exact(comparison));
            return;
        }
        let (at, first, unclear) = (
            comparison.at.clone(),
            comparison.first.clone(),
            comparison.unclear,
        );
        let (compared, differences) = comparison.finish(&past);
        if unclear > 0 {
            let why = format!("{unclear} objects have versions that cannot be compared");
            return self.cannot_tell(turn, method, Some(at), why);
        }
        if exact_lists_are_etcds(turn.server) {
            self.conclude(method, at, compared, differences, first, turn);
        } else {
            self.follow(method, at, compared, &differences, turn);
        }
    }

    /// What etcd has at a version was compared with all that was held at it.
    fn conclude(
        &mut self,
        method: &'static str,
        at: ResourceVersion,
        compared: u64,
        differences: Vec<Difference>,
        first: Option<Vec<Difference>>,
        turn: &mut Turn<'_>,
    ) {
        let outcome = if differences.is_empty() {
            Audit::AGREES
        } else {
            Audit::DIFFERS
        };
        self.tell(turn, method, Some(at.clone()), compared, outcome, None);
        // Of more differences than are followed some are not in sight.
        let is_all = differences.len() < MAX_DIFFERENCES;
        for open in turn.watch.verdicts.values().filter(|_| is_all) {
            let standing = &open.verdict;
            let differs = differences
                .iter()
                .any(|found| same_place(&found.object, &standing.object));
            if !differs {
                turn.out.push(cleared(standing).into());
            }
        }
        if differences.is_empty() {
            self.agreed = Some(at);
            return;
        }
        self.agreed = None;
        let mut is_all_confirmed = true;
        for found in &differences {
            let is_second = first.as_ref().is_some_and(|first| first.contains(found));
            is_all_confirmed &= judge(found, is_second, turn);
        }
        if first.is_none() && !is_all_confirmed {
            self.tasks
                .push_front(Task::Exact(Comparison::new(at, Some(differences))));
        }
    }

    /// What may be a cache's was compared: what differs is looked up in etcd, one by one.
    fn follow(
        &mut self,
        method: &'static str,
        at: ResourceVersion,
        compared: u64,
        differences: &[Difference],
        turn: &mut Turn<'_>,
    ) {
        let (outcome, why) = if differences.is_empty() {
            self.agreed = Some(at.clone());
            (Audit::AGREES, MAY_BE_A_CACHES)
        } else {
            self.agreed = None;
            (
                Audit::CANNOT_TELL,
                "the list may be the watch cache's; what differs is looked up in etcd",
            )
        };
        self.tell(turn, method, Some(at.clone()), compared, outcome, Some(why));
        for found in differences.iter().take(FOLLOWED).rev() {
            self.look_up(&found.object, at.clone());
        }
    }

    fn look_up(&mut self, object: &Arc<Object>, at: ResourceVersion) {
        self.tasks.push_front(Task::One {
            object: object.clone(),
            at,
            first: None,
        });
    }

    /// An object as it is in etcd now. Only if it is not what is held does its version matter.
    fn got(&mut self, object: &Arc<Object>, seen: Option<&Seen>, turn: &mut Turn<'_>) {
        let watch = turn.watch;
        let held = watch
            .held(object)
            .map(|held| (&held.object, &held.resource_version));
        let found = match compare(held, seen) {
            Compared::Equal => {
                self.sampled += 1;
                return clear(object, turn);
            }
            Compared::Differs(found) => Some(found.kind),
            Compared::Unclear => None,
        };
        let standing = watch.verdict_on(object).map(|open| &open.verdict);
        let is_known = standing.is_some_and(|standing| {
            standing.state == Standing::Confirmed && Some(standing.kind) == found
        });
        match &watch.progress {
            // Nothing has come since.
            _ if is_known => {}
            Some(progress) if found.is_some() => self.look_up(object, progress.clone()),
            _ => {
                let why = "versions that are no numbers do not say which is newer".to_owned();
                self.cannot_tell(turn, "get", None, why);
            }
        }
    }

    /// An object as etcd has it at a version.
    fn one(
        &mut self,
        object: &Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
        items: &[Seen],
        turn: &mut Turn<'_>,
    ) {
        let method = "list one exact";
        let Some(past) = self
            .history
            .at(turn.watch, &at)
            .filter(|past| past.still_holds(object))
        else {
            return;
        };
        let seen = items.iter().find(|seen| same_place(&seen.object, object));
        match compare(past.get(object), seen) {
            Compared::Equal => {
                self.tell(turn, method, Some(at), 1, Audit::AGREES, None);
                clear(object, turn);
            }
            Compared::Unclear => {}
            Compared::Differs(found) => {
                self.tell(turn, method, Some(at.clone()), 1, Audit::DIFFERS, None);
                let is_second = first.as_ref() == Some(&found);
                let is_confirmed = judge(&found, is_second, turn);
                if first.is_none() && !is_confirmed {
                    self.tasks.push_front(Task::One {
                        object: object.clone(),
                        at,
                        first: Some(found),
                    });
                }
            }
        }
    }

    /// The first page of what is there now: whether the watch has come so far.
    fn newest(&mut self, page: &Page, turn: &mut Turn<'_>) {
        let method = "list newest";
        let (watch, server) = (turn.watch, turn.server);
        let Some(progress) = &watch.progress else {
            return;
        };
        if progress.is_after(&page.version) {
            return self.is_back(page, progress, turn);
        }
        self.went_back = None;
        let Some(past) = self.history.at(watch, progress) else {
            return;
        };
        if page.version != *progress && page.version.compare(progress).is_none() {
            let why = "versions that are no numbers do not say which is newer".to_owned();
            return self.cannot_tell(turn, method, Some(page.version.clone()), why);
        }
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        let is_whole = page.token.is_none() && page.unreadable == 0 && comparison.unclear == 0;
        let has_found = comparison.has_found();
        let (compared, differences) = comparison.finish(&past);
        let differs = if is_whole {
            !differences.is_empty()
        } else {
            has_found
        };
        if page.version == *progress && self.refuses_exact && is_whole {
            // The next best to a list at an exact version: one that happens to be of it. It cannot be asked for again.
            if newest_lists_are_etcds(server) {
                let at = page.version.clone();
                self.conclude(method, at, compared, differences, Some(Vec::new()), turn);
            }
            return;
        }
        if differs {
            self.agreed = None;
            let behind = Behind {
                version: page.version.clone(),
                since: turn.now,
                future: 0,
            };
            self.behind.get_or_insert(behind);
            self.look_again(turn.now);
        } else if is_whole {
            let at = Some(page.version.clone());
            let why = (!newest_lists_are_etcds(server)).then_some(MAY_BE_A_CACHES);
            self.tell(turn, method, at, compared, Audit::AGREES, why);
        }
    }

    /// A consistent list is from before what the watch has seen: etcd's revision went back (F33). One such answer could
    /// be a mistake of somebody on the way; a second one after a while is none. No verdict outlasts that.
    fn is_back(&mut self, page: &Page, progress: &ResourceVersion, turn: &mut Turn<'_>) {
        let since = *self.went_back.get_or_insert(turn.now);
        if turn.now.micros_since(since) < AGAIN_US {
            self.agreed = Some(progress.clone());
            return self.look_again(turn.now);
        }
        let why = format!(
            "the newest list is of {}, though the watch has seen {progress}",
            page.version
        );
        self.cannot_tell(turn, WENT_BACK, Some(page.version.clone()), why);
        for open in turn.watch.verdicts.values() {
            turn.out.push(cleared(&open.verdict).into());
        }
    }

    /// How far the server's cache is, of a watch that is behind and whose stream has never said anything.
    fn any(&mut self, version: ResourceVersion, turn: &mut Turn<'_>) {
        let (Some(progress), Some(behind)) = (&turn.watch.progress, &mut self.behind) else {
            return;
        };
        if !says_nothing(turn.watch) || !progress.is_after(&version) {
            // It will come, or it is behind for another reason.
            behind.future = u32::MAX;
            return;
        }
        behind.future += 1;
        if behind.future < 2 {
            return self.look_again(turn.now);
        }
        let why = format!(
            "the server knows nothing beyond {version}; the stream was opened at {progress}, and a list at {} differs \
             from what is held",
            behind.version
        );
        self.cannot_tell(turn, FROM_THE_FUTURE, Some(version), why);
    }

    fn exact_refused(&mut self, comparison: Comparison, status: u16, turn: &mut Turn<'_>) {
        match status {
            410 => self.restart(comparison.at, turn),
            // Beyond what the server has (504, or 500 where etcd says so): what does it have?
            500.. => self.tasks.push_front(Task::Newest),
            400 | 422 => {
                self.refuses_exact = true;
                self.tasks.push_front(Task::Newest);
            }
            status => {
                let why = format!("the server answered {status}");
                self.cannot_tell(turn, "list exact", Some(comparison.at), why);
            }
        }
    }

    /// A comparison cannot be finished at its version: again at where the watch is now, or see where the server is.
    fn restart(&mut self, at: ResourceVersion, turn: &mut Turn<'_>) {
        self.restarts += 1;
        match &turn.watch.progress {
            Some(progress) if self.restarts <= MAX_RESTARTS && progress.is_after(&at) => {
                let comparison = Comparison::new(progress.clone(), None);
                self.tasks.push_front(Task::Exact(comparison));
            }
            _ if self.restarts <= MAX_RESTARTS => self.tasks.push_front(Task::Newest),
            _ => self.cannot_tell(turn, "list exact", Some(at), COMPACTED.to_owned()),
        }
    }

    /// Once all samples of a round are back, how many were equal.
    fn tell_sampled(&mut self, turn: &mut Turn<'_>) {
        let more = self.tasks.iter().any(|task| matches!(task, Task::Get(_)));
        if self.sampled > 0 && !more {
            let sampled = std::mem::take(&mut self.sampled);
            let at = turn.watch.progress.clone();
            self.tell(turn, "get", at, sampled, Audit::AGREES, None);
        }
    }

    fn cannot_tell(
        &mut self,
        turn: &mut Turn<'_>,
        method: &'static str,
        at: Option<ResourceVersion>,
        why: String,
    ) {
        let untold = (method, why);
        if self.untold.as_ref() != Some(&untold) {
            self.tell(turn, method, at, 0, Audit::CANNOT_TELL, Some(&untold.1));
            self.untold = Some(untold);
        }
    }

    fn tell(
        &mut self,
        turn: &mut Turn<'_>,
        method: &'static str,
        at: Option<ResourceVersion>,
        compared: u64,
        outcome: &'static str,
        why: Option<&str>,
    ) {
        self.untold = None;
        turn.out.push(
            Audit {
                watch: turn.name.clone(),
                resource_version: at,
                method: method.into(),
                compared,
                outcome: outcome.into(),
                reason: why.map(Into::into),
            }
            .into(),
        );
    }
}

/// The method of an audit that found the revision gone back (F33).
pub(crate) const WENT_BACK: &str = "list newest twice";
/// The method of an audit that found a watch opened beyond what its server knows (F32).
pub(crate) const FROM_THE_FUTURE: &str = "list any twice";
const MAY_BE_A_CACHES: &str =
    "the list may be the watch cache's, and so show what only the cache believes";
const COMPACTED: &str = "what was held then can no longer be read or rebuilt";

impl Task {
    fn method(&self) -> &'static str {
        match self {
            Self::Exact(_) => "list exact",
            Self::Newest => "list newest",
            Self::Any => "list any",
            Self::Get(_) => "get",
            Self::One { .. } => "list one exact",
        }
    }
}

/// Whether the open stream has brought nothing since it was opened, not even a bookmark.
fn says_nothing(watch: &Watch) -> bool {
    watch.stream.as_ref().is_some_and(|stream| {
        stream.bookmark.is_none() && stream.resource_version == watch.progress
    })
}

fn same_place(a: &Object, b: &Object) -> bool {
    a.name == b.name && a.namespace == b.namespace
}

/// Raises or confirms a verdict; whether it is confirmed.
fn judge(found: &Difference, is_second: bool, turn: &mut Turn<'_>) -> bool {
    let standing = turn.watch.verdict_on(&found.object);
    let same = standing.map(|open| &open.verdict).filter(|standing| {
        standing.kind == found.kind
            && standing.held == found.held
            && standing.listed == found.listed
            && standing.object == found.object
    });
    let is_confirmed = same.is_some_and(|same| same.state == Standing::Confirmed);
    if is_confirmed || (same.is_some() && !is_second) {
        return is_confirmed;
    }
    let (state, certainty) = if is_second {
        (Standing::Confirmed, Certainty::Definite)
    } else {
        (Standing::Raised, Certainty::Likely)
    };
    turn.out.push(
        Verdict {
            watch: turn.name.clone(),
            object: found.object.clone(),
            kind: found.kind,
            held: found.held.clone(),
            listed: found.listed.clone(),
            state,
            certainty,
        }
        .into(),
    );
    is_second
}

/// The verdict on an object, if one stands, is over.
fn clear(object: &Object, turn: &mut Turn<'_>) {
    if let Some(open) = turn.watch.verdict_on(object) {
        turn.out.push(cleared(&open.verdict).into());
    }
}
