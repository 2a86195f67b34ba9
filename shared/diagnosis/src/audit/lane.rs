//! The audit of one watch: what is read next.

mod conclude;
mod each;
mod samples;

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::{Change, Event};
use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::vocabulary::{AuditMethod, ChangeType, Origin, Phase, Verb};
use watchscope_model::{Aside, ConnectionId, Object, ResourceVersion, Seq, Text, Time, WatchName};

pub(super) use self::conclude::overtaken;
use self::conclude::same_place;
use self::each::Each;
use self::samples::Samples;
use super::budget::{Minute, PER_WATCH};
use super::compare::{Comparison, Difference};
use super::history::History;
use super::reads::{PAGE, Scope, exact_lists_are_etcds};
use super::reasons::Reason;
use super::{FULL_WATCH, Gone, Level, Read};
use crate::versions::ServerVersion;

/// How long a watch may stand still short of a list: two periods of bookmarks (docs/semantics/checks.md#behind), in
/// microseconds.
pub(super) const BEHIND_US: i64 = 120_000_000;
/// How long after a read that was ahead of the watch it is looked at again, in microseconds. A cache that is not there
/// yet waits 3 s at most, so what is still behind after that is behind for another reason.
const AGAIN_US: i64 = 4_000_000;
/// How long after a stream was opened over another connection than the last one the newest list is read, in microseconds:
/// where its server was restarted with another etcd, that list shows it.
const MOVED_US: i64 = 1_000_000;
/// Most objects of a watch that is listed. A longer list would not be over before etcd compacts its version, within a
/// watch's share of requests; of such a watch objects are only looked up one by one.
pub const MOST_LISTED: usize = PAGE * PER_WATCH / 2;
/// How long a round takes, in milliseconds.
const ROUND_MS: u64 = 30_000;
/// How often a second watch is held against one, in milliseconds.
const WITNESS_MS: u64 = 60_000;
/// How many objects are looked up at once for a person who asks for a watch to be compared, where not each is.
pub const AT_ONCE: usize = 16;
/// Most tasks that wait while a person asks for more; a round by itself has a few dozen.
const MAX_TASKS: usize = 64;
/// How often a round's wait is doubled at most while it is not allowed to read.
const MOST_DOUBLED: u32 = 6;

/// Most objects of a burst of DELETED under a selector that are looked up, the newest, and most in a minute: the others
/// leave the watch's requests to lists and samples.
const LOOKED_AFTER: usize = 8;
/// How long after a DELETED under a selector its object is looked up, in microseconds, so that a burst is over.
const LEFT_US: i64 = 1_000_000;

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
    /// An object of which a DELETED came under a selector, at this version: whether it is still there.
    Left {
        object: Arc<Object>,
        version: ResourceVersion,
    },
    /// An object, at exactly a version; the second time with what was found the first time.
    One {
        object: Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
    },
    /// An object that is confirmed to be wrong, at the very version that the watch was told of it: whether etcd was ever
    /// so. The second time if it was not the first time.
    Was {
        object: Arc<Object>,
        at: ResourceVersion,
        is_second: bool,
    },
}

impl Task {
    /// Whether it reads this object alone.
    fn is_of(&self, object: &Object) -> bool {
        let (Self::Get(of) | Self::One { object: of, .. }) = self else {
            return false;
        };
        same_place(of, object)
    }
}

/// A list was ahead of the watch, and different.
#[derive(Clone, Debug)]
struct Behind {
    version: ResourceVersion,
    /// Since when the watch has not moved.
    since: Time,
    future: Future,
    /// Whether it was looked at once more at the end: the list may have been ahead of an event that has come by now.
    is_last: bool,
}

/// Reads show newer versions of objects than the stream has come to, and it has delivered nothing since the first.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    /// The first record of the stream.
    stream: Seq,
    /// When the first such read was made.
    since: Time,
    /// When the newest list is read to see whether it is still so; absent once it was.
    due: Option<Time>,
    /// Whether that is in the log.
    is_told: bool,
}

/// Whether a stream was opened beyond what its server's cache knows (F32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Future {
    /// It was not asked yet.
    Unasked,
    /// The cache was behind once.
    Once,
    /// It was behind twice, a while apart.
    Sure,
    /// It was not: the watch is behind for another reason.
    No,
}

/// A watch, as the audit sees it.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    /// The address of the apiserver it is pinned to.
    server: Option<Text>,
    history: History,
    scope: Option<Scope>,
    minute: Minute,
    level: Level,
    /// Most objects that are each looked up for a person who asks.
    looks: usize,
    /// When it is looked at again.
    due: Option<Time>,
    asked_at: Time,
    tasks: VecDeque<Task>,
    restarts: u32,
    samples: Samples,
    /// The connection of its last watch request.
    connection: Option<ConnectionId>,
    /// Whether that is another one than that of the stream before.
    is_moved: bool,
    /// When the newest list is read, since it has moved to another connection.
    moved_at: Option<Time>,
    /// When the next object is looked up.
    sample_at: Option<Time>,
    /// When a second watch is held against this one.
    witness_at: Option<Time>,
    /// Up to where that was done.
    witnessed: Option<ResourceVersion>,
    /// Samples that were equal and are not told yet.
    sampled: u64,
    /// The version at which all was found equal.
    agreed: Option<ResourceVersion>,
    behind: Option<Behind>,
    ahead: Option<Ahead>,
    /// Objects of which a DELETED came under a selector, with its version: the newest [`LOOKED_AFTER`].
    left: VecDeque<(Arc<Object>, ResourceVersion)>,
    /// When they are looked up.
    left_at: Option<Time>,
    /// How many were of late.
    left_minute: Minute,
    /// When a list was refused first since the server had not come so far, and its stream's first record.
    too_large: Option<(Seq, Time)>,
    /// Since when consistent lists are below progress: the revision went back.
    went_back: Option<Time>,
    /// Versions have no order, and the last list differed: it is made once more before anything is told.
    has_differed: bool,
    refuses_exact: bool,
    /// Looking an object up by its path is not allowed: a list of its name is.
    refuses_get: bool,
    /// The server lists no metadata alone.
    lists_whole: bool,
    /// How often in a row it was not allowed (401, 403); each time the next round waits twice as long.
    forbidden: u32,
    /// The last thing that could not be told, which is not told again.
    untold: Option<(AuditMethod, Reason)>,
    /// What a person asked for and was told nothing of yet.
    owed: Option<Owed>,
    /// What is looked up for a person who asked for all.
    each: Option<Each>,
}

/// What a person asked to be compared.
#[derive(Clone, Debug)]
enum Owed {
    /// All of the watch; whether objects of it are looked up already.
    All { is_looked_into: bool },
    /// An object of it.
    One(Arc<Object>),
}

/// What a step goes by besides its lane, and where it says what it found.
pub(super) struct Turn<'a> {
    pub(super) name: &'a WatchName,
    pub(super) watch: &'a Watch,
    /// The newest version of the server, and whether a list of one name at an exact version says another.
    pub(super) server: ServerVersion,
    pub(super) one_name_says_newest: bool,
    /// Whether the server's requests of this minute are nearly spent.
    pub(super) is_scarce: bool,
    pub(super) now: Time,
    /// Objects that watches were told are gone.
    pub(super) gone: &'a Gone,
    pub(super) out: &'a mut Vec<Event>,
}

impl Lane {
    pub(super) fn new(server: Option<Text>, level: Level, looks: usize, now: Time) -> Self {
        Self {
            server,
            history: History::default(),
            scope: None,
            minute: Minute::new(PER_WATCH),
            level,
            looks,
            due: (level != Level::Off).then_some(now),
            sample_at: (level != Level::Off).then_some(now),
            asked_at: Time(i64::MIN),
            tasks: VecDeque::new(),
            restarts: 0,
            connection: None,
            is_moved: false,
            moved_at: None,
            witness_at: (level == Level::Full).then_some(now),
            witnessed: None,
            samples: Samples::default(),
            sampled: 0,
            agreed: None,
            behind: None,
            ahead: None,
            left: VecDeque::new(),
            left_at: None,
            left_minute: Minute::new(LOOKED_AFTER),
            too_large: None,
            went_back: None,
            has_differed: false,
            refuses_exact: false,
            refuses_get: false,
            lists_whole: false,
            forbidden: 0,
            untold: None,
            owed: None,
            each: None,
        }
    }

    pub(super) fn since(watch: &Watch, level: Level, looks: usize, now: Time) -> Self {
        Self {
            history: History::since(watch),
            ..Self::new(watch.server.clone(), level, looks, now)
        }
    }

    /// The address of the apiserver it is pinned to.
    pub(super) fn server(&self) -> &Option<Text> {
        &self.server
    }

    /// What it is of, once that is known.
    pub(super) fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// How long a round takes, in milliseconds. Where requests are scarce, objects looked up one by one show more than
    /// lists that may be a cache's.
    fn period_ms(&self, turn: &Turn<'_>) -> u64 {
        let leaves_room = exact_lists_are_etcds(turn.server) || !turn.is_scarce;
        match self.level {
            Level::Full if leaves_room => ROUND_MS / 2,
            _ => ROUND_MS,
        }
    }

    /// How many requests it may make in a minute: what objects of a watch that `full` reads whole need, or those that are
    /// each looked up for a command that waits for it, is the server's own budget to limit and to share.
    fn share(&self, held: usize, server: ServerVersion) -> usize {
        let is_read_whole = self.level == Level::Full && held <= FULL_WATCH;
        let is_waited_for = self.each.is_some() && self.looks > AT_ONCE;
        if is_waited_for || (is_read_whole && !exact_lists_are_etcds(server)) {
            usize::MAX
        } else {
            PER_WATCH
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
                if sent.verb() == Verb::Watch {
                    let last = self.connection.replace(sent.connection);
                    self.is_moved |= last.is_some_and(|last| last != sent.connection);
                }
                return;
            }
            Event::StreamOpened(opened) => {
                let is_moved = std::mem::take(&mut self.is_moved);
                let is_read = self.level != Level::Off && opened.resource_version.is_some();
                self.moved_at = (is_moved && is_read).then(|| now.plus_micros(MOVED_US));
                return;
            }
            Event::Change(change) => {
                self.history.changed(before, change, now);
                self.remember_left(before, change, now);
                &change.resource_version
            }
            Event::ListComplete(list) => {
                self.history.listed(before, &list.resource_version);
                if let Some(each) = &mut self.each {
                    each.is_listed_anew = true;
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
        if let Some(behind) = self.behind.as_mut().filter(|_| has_moved) {
            behind.since = now;
            behind.is_last = false;
        }
        let is_reached = |behind: &Behind| !behind.version.is_after(reached);
        if self.behind.as_ref().is_some_and(is_reached) && self.due.is_some() {
            self.due = Some(now);
        }
    }

    /// watchscope did not run for so long: what is waited for had no chance to come.
    pub(super) fn paused(&mut self, lasted_ms: u64) {
        if let Some(behind) = &mut self.behind {
            behind.since = behind.since.plus_millis(lasted_ms);
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.since = ahead.since.plus_millis(lasted_ms);
            ahead.due = ahead.due.map(|due| due.plus_millis(lasted_ms));
        }
    }

    /// It is not allowed: nothing else is asked in this round, and the next comes later each time, up to 64 times as
    /// late. A person who asks does not wait.
    fn rest(&mut self, turn: &Turn<'_>) {
        self.tasks.clear();
        if let Some(each) = &mut self.each {
            each.give_up();
        }
        self.forbidden = (self.forbidden + 1).min(MOST_DOUBLED);
        let period_ms = self.period_ms(turn) << self.forbidden;
        self.due = self.due.map(|_| turn.now.plus_millis(period_ms));
        self.sample_at = self.due;
    }

    pub(super) fn witness_at(&self) -> Option<Time> {
        self.witness_at
    }

    /// The next second watch, if it is time and this one has told anything since the last, and from where.
    pub(super) fn ask_witness(
        &mut self,
        name: &WatchName,
        watch: &Watch,
        now: Time,
    ) -> Option<(ResourceVersion, Read)> {
        if self.witness_at.is_none_or(|at| at > now) {
            return None;
        }
        self.witness_at = Some(now.plus_millis(WITNESS_MS));
        let progress = position(watch).filter(|_| is_streaming(watch))?;
        let from = self.witnessed.replace(progress.clone())?;
        let is_known = self.history.told(watch, &from, progress).is_some();
        if !is_known || !progress.is_after(&from) {
            return None;
        }
        let (path, query) = self.scope.as_ref()?.since(&from);
        let read = Read {
            watch: name.clone(),
            lane: name.aside(Aside::Witness),
            server: self.server.clone(),
            verb: Verb::Watch,
            path,
            query: Some(query),
        };
        Some((from, read))
    }

    /// When there is something to do.
    pub(super) fn due(&self) -> Option<Time> {
        if self.tasks.is_empty() {
            let each = self.each.as_ref().map(|each| each.due);
            let ahead = self.ahead.and_then(|ahead| ahead.due);
            let due = self.due.into_iter().chain(self.sample_at);
            let due = due.chain(self.moved_at).chain(self.left_at);
            due.chain(each).chain(ahead).min()
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
        self.refuses_get = false;
        self.refuses_exact = false;
        let all = Owed::All {
            is_looked_into: false,
        };
        self.owed = Some(object.map_or(all, |object| Owed::One(object.clone())));
        match object {
            Some(object) if self.tasks.len() < MAX_TASKS => {
                self.tasks.push_front(Task::Get(object.clone()));
            }
            Some(_) => {}
            None => {
                self.agreed = None;
                self.due = Some(now);
                self.each = None;
            }
        }
    }

    /// Whether nothing more comes of what was asked for; `under_way` is what is being read.
    pub(super) fn is_over(
        &self,
        object: Option<&Object>,
        under_way: Option<&Task>,
        now: Time,
    ) -> bool {
        let mut tasks = self.tasks.iter().chain(under_way);
        match (object, &self.owed) {
            (Some(object), _) => !self.owes(object) && !tasks.any(|task| task.is_of(object)),
            (None, Some(Owed::All { .. })) => false,
            // What is looked at again by itself is another matter, but for what the watch is yet to come to.
            (None, _) => {
                let is_due = self.due.is_some_and(|due| {
                    due <= now || self.level == Level::Off || self.behind.is_some()
                });
                !is_due && self.each.is_none() && tasks.next().is_none()
            }
        }
    }

    /// Begins a round, or looks an object up, if it is time. Nothing is asked of a watch that does not stream: it claims
    /// nothing beyond its progress, and is either reading a state or waiting.
    pub(super) fn begin(&mut self, turn: &mut Turn<'_>) {
        let (watch, now) = (turn.watch, turn.now);
        let is_streaming = is_streaming(watch);
        if !is_streaming {
            self.tasks.clear();
            self.ahead = None;
            self.sampled = 0;
            if let Some(each) = &mut self.each {
                each.put_back();
            }
            if self.owed.is_some() {
                self.cannot_tell(turn, AuditMethod::List, None, Reason::NotStreaming);
            }
        }
        if !self.tasks.is_empty() {
            return;
        }
        self.minute
            .allow(self.share(watch.objects.len(), turn.server));
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        // Of many watches a round may be due again before this one has its turn: what is due first goes first.
        if is_due(self.sample_at) && self.sample_at < self.due {
            self.sample(is_streaming, turn);
        }
        if is_due(self.left_at) && is_streaming {
            self.look_after_left(now);
        } else if is_due(self.left_at) {
            self.left_at = Some(now.plus_micros(LEFT_US));
        }
        if self.moved_at.take_if(|at| *at <= now).is_some() && is_streaming {
            self.tasks.push_back(Task::Newest);
        }
        if let Some(ahead) = self.ahead.as_mut().filter(|ahead| is_due(ahead.due))
            && self.tasks.is_empty()
        {
            ahead.due = None;
            self.tasks.push_back(Task::Newest);
        }
        if self.tasks.is_empty() && is_due(self.due) {
            self.begin_round(is_streaming, turn);
        }
        if self.tasks.is_empty() {
            self.next_of_each(is_streaming, turn);
        }
        if self.tasks.is_empty() && is_due(self.sample_at) {
            self.sample(is_streaming, turn);
        }
    }

    fn begin_round(&mut self, is_streaming: bool, turn: &mut Turn<'_>) {
        let (watch, now) = (turn.watch, turn.now);
        // Long lists are read more rarely, so that each watch costs about the same.
        let is_long = is_long(watch);
        let pages = if is_long {
            1
        } else {
            1 + watch.objects.len() as u64 / PAGE as u64
        };
        let period_ms = self.period_ms(turn) * pages;
        self.due = (self.level != Level::Off).then(|| now.plus_millis(period_ms));
        self.tell_sampled(turn);
        let (Some(progress), true, Some(_)) = (position(watch), is_streaming, &self.scope) else {
            if is_unordered(watch) && is_streaming && self.scope.is_some() {
                self.tasks.push_back(Task::Newest);
            } else if self.owed.is_some() {
                self.cannot_tell(turn, AuditMethod::List, None, Reason::NoPosition);
            }
            return;
        };
        self.restarts = 0;
        if let Some(behind) = &mut self.behind {
            if !behind.version.is_after(progress) {
                self.behind = None;
            } else if now.micros_since(behind.since) >= BEHIND_US && !behind.is_last {
                behind.is_last = true;
                self.tasks.push_back(Task::Newest);
                self.look_again(now);
                return;
            } else if now.micros_since(behind.since) >= BEHIND_US {
                let at = behind.version.clone();
                let why = Reason::StandsStill {
                    at: progress.clone(),
                    listed: at.clone(),
                    for_s: BEHIND_US / 1_000_000,
                };
                self.behind = None;
                self.cannot_tell(turn, AuditMethod::List, Some(at), why);
            } else {
                let is_new = now.micros_since(behind.since) < AGAIN_US;
                let is_open = matches!(behind.future, Future::Unasked | Future::Once);
                let may_be_from_the_future = says_nothing(watch) && is_open;
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
        if let Some(Owed::All { is_looked_into }) = &mut self.owed
            && !std::mem::replace(is_looked_into, true)
            && may_hide(watch, turn.server)
            && !self.look_at_each(progress, turn)
        {
            for _ in 0..AT_ONCE.min(watch.objects.len()) {
                let next = self.samples.next(watch, self.level, now);
                self.tasks
                    .extend(next.map(|object| self.look(object, progress)));
            }
        }
    }

    /// A DELETED under a selector may say that an object only left it; an ADDED says that one is back.
    fn remember_left(&mut self, before: &Watch, change: &Change, now: Time) {
        let is_selecting = before.label_selector.is_some() || before.field_selector.is_some();
        let uid = &change.object.uid;
        if !is_selecting || uid.is_empty() {
            return;
        }
        self.left.retain(|(object, _)| object.uid != *uid);
        if change.change == ChangeType::Deleted && change.origin == Origin::Live {
            if self.left.len() == LOOKED_AFTER {
                self.left.pop_front();
            }
            let version = change.resource_version.clone();
            self.left.push_back((change.object.clone(), version));
            if self.level != Level::Off && !self.refuses_get {
                self.left_at.get_or_insert(now.plus_micros(LEFT_US));
            }
        }
    }

    /// Has the newest of those objects looked up, as many as may be in a minute.
    fn look_after_left(&mut self, now: Time) {
        self.left_at = None;
        while let Some((object, version)) = self.left.pop_back() {
            if self.left_minute.free_at() > now {
                self.left_at = Some(self.left_minute.free_at());
                self.left.push_back((object, version));
                return;
            }
            self.left_minute.spend(now);
            self.tasks.push_back(Task::Left { object, version });
        }
    }

    /// Has the next object looked up, where lists may hide that it is wrong.
    fn sample(&mut self, is_streaming: bool, turn: &Turn<'_>) {
        let (watch, now) = (turn.watch, turn.now);
        // There may be one in the next round.
        self.sample_at = self.due;
        let is_comparable = is_streaming && self.scope.is_some() && self.behind.is_none();
        if let Some(progress) = position(watch)
            && is_comparable
            && may_hide(watch, turn.server)
            && let Some(object) = self.samples.next(watch, self.level, now)
        {
            let period_us = Samples::period_us(self.level, watch);
            self.sample_at = Some(now.plus_micros(period_us));
            self.tasks.push_back(self.look(object, progress));
        }
    }

    /// A look at an object: as it is now, or if only lists are allowed, as it was where the watch stands.
    fn look(&self, object: Arc<Object>, progress: &ResourceVersion) -> Task {
        if self.refuses_get {
            let (at, first) = (progress.clone(), None);
            Task::One { object, at, first }
        } else {
            Task::Get(object)
        }
    }

    /// An object need not be looked up again, if it was to be.
    fn spare(&mut self, object: &Arc<Object>, turn: &Turn<'_>) {
        let (watch, now) = (turn.watch, turn.now);
        let place = Place(object.clone());
        let waiting = self
            .tasks
            .iter()
            .position(|task| matches!(task, Task::Get(object) if Place(object.clone()) == place));
        if let Some(waiting) = waiting {
            self.tasks.remove(waiting);
        }
        if self.samples.overheard(watch, object, now) && self.sample_at.is_some() {
            let period_us = Samples::period_us(self.level, watch);
            self.sample_at = Some(now.plus_micros(period_us));
        }
    }

    /// Whether a look at this path, for a watch of the same server, is one at an object of this watch too.
    pub(super) fn looks_there(&self, object: &Object, path: &str) -> bool {
        let is_there = |scope: &Scope| scope.get(object) == path;
        self.scope.as_ref().is_some_and(is_there)
    }

    fn look_again(&mut self, now: Time) {
        let soon = now.plus_micros(AGAIN_US);
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
    }

    /// The next request, and what for.
    pub(super) fn ask(
        &mut self,
        name: &WatchName,
        watch: &Watch,
        server: ServerVersion,
        now: Time,
    ) -> Option<(Task, Read)> {
        let scope = self.scope.as_ref()?;
        let mut task = self.tasks.pop_front()?;
        if let (Task::Exact(comparison), Some(progress)) = (&mut task, position(watch))
            && comparison.is_new()
        {
            // It may have waited for its turn while etcd compacts what is past.
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
            Task::Get(object) | Task::Left { object, .. } => (Verb::Get, scope.get(object), None),
            Task::One { object, at, .. } => list(scope.one(server, at, object)),
            Task::Was { object, at, .. } => list(scope.named(server, at, object)),
        };
        self.minute.spend(now);
        self.asked_at = now;
        let read = Read {
            watch: name.clone(),
            lane: name.aside(Aside::Audit),
            server: self.server.clone(),
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
}

fn is_streaming(watch: &Watch) -> bool {
    let phase = watch.phase.as_ref().map(|phase| phase.phase);
    watch.stream.is_some() && phase.is_none_or(|phase| phase == Phase::Streaming)
}

/// Where the watch stands, if that is a position in etcd's history.
fn position(watch: &Watch) -> Option<&ResourceVersion> {
    let progress = watch.progress.as_ref();
    progress.filter(|progress| progress.is_position() && !is_unordered(watch))
}

/// Whether another apiserver keeps what the watch is of, in its own way: its versions are equal or not, and a list at
/// one of them need not be the state that the watch was told there.
pub(super) fn is_unordered(watch: &Watch) -> bool {
    let progress = watch.progress.as_ref();
    progress.is_some_and(|progress| !progress.is_ordered())
}

/// Whether a version is below where the watch stands.
pub(super) fn is_below(watch: &Watch, version: &ResourceVersion) -> bool {
    position(watch).is_some_and(|progress| progress.is_after(version))
}

fn is_long(watch: &Watch) -> bool {
    watch.objects.len() > MOST_LISTED
}

/// Whether lists do not show all that is wrong, so that objects are to be looked up one by one.
pub(super) fn may_hide(watch: &Watch, server: ServerVersion) -> bool {
    is_long(watch) || !exact_lists_are_etcds(server)
}

/// Whether the open stream has brought nothing since it was opened, not even a bookmark.
fn says_nothing(watch: &Watch) -> bool {
    watch.stream.as_ref().is_some_and(|stream| {
        stream.bookmark.is_none() && stream.resource_version == watch.progress
    })
}
