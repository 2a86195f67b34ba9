//! The audit of one watch: what is read next.

mod conclude;

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::Event;
use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::Phase;
use watchscope_model::{Aside, Object, ResourceVersion, Time, WatchName};

pub(super) use self::conclude::overtaken;
pub(crate) use self::conclude::{FROM_THE_FUTURE, WENT_BACK};
use super::budget::{Minute, PER_WATCH};
use super::compare::{Comparison, Difference};
use super::history::History;
use super::reads::{PAGE, Scope, Server, exact_lists_are_etcds};
use super::{Level, Read};

/// How long a watch may take to come as far as a list: two periods of bookmarks (semantics 4.2), in microseconds.
pub(super) const BEHIND_US: i64 = 120_000_000;
/// How long after a read that was ahead of the watch it is looked at again, in microseconds. A cache that is not there
/// yet waits 3 s at most, so what is still behind after that is behind for another reason.
const AGAIN_US: i64 = 4_000_000;
/// Most objects of a watch that is listed. A longer list would not be over before etcd compacts its version, within a
/// watch's share of requests; of such a watch objects are only looked up one by one.
pub const MOST_LISTED: usize = PAGE * PER_WATCH / 2;
/// Most tasks that wait while a person asks for more; a round by itself has a few dozen.
const MAX_TASKS: usize = 64;
/// How often a round's wait is doubled at most while it is not allowed to read.
const MOST_DOUBLED: u32 = 6;

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
    future: Future,
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
    /// How often in a row it was not allowed (401, 403); each time the next round waits twice as long.
    forbidden: u32,
    /// The last thing that could not be told, which is not told again.
    untold: Option<(&'static str, String)>,
    /// What a person asked for and was told nothing of yet.
    owed: Option<Owed>,
}

/// What a person asked to be compared.
#[derive(Clone, Debug)]
enum Owed {
    /// All of the watch.
    All,
    /// An object of it.
    One(Arc<Object>),
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
            forbidden: 0,
            untold: None,
            owed: None,
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

    /// watchscope did not run for so long: what is waited for had no chance to come.
    pub(super) fn paused(&mut self, lasted_ms: u64) {
        if let Some(behind) = &mut self.behind {
            behind.since = behind.since.plus_millis(lasted_ms);
        }
    }

    /// It is not allowed: nothing else is asked in this round, and the next comes later each time, up to 64 times as
    /// late. A person who asks does not wait.
    fn rest(&mut self, now: Time) {
        self.tasks.clear();
        self.forbidden = (self.forbidden + 1).min(MOST_DOUBLED);
        let period_ms = self.period_ms() << self.forbidden;
        self.due = self.due.map(|_| now.plus_millis(period_ms));
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
        self.owed = Some(object.map_or(Owed::All, |object| Owed::One(object.clone())));
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
            if self.owed.is_some() {
                let why = "the watch is not streaming, and until it is claims nothing to compare";
                self.cannot_tell(turn, "list", None, why.to_owned());
            }
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
            if self.owed.is_some() {
                let why = "where the watch stands is not known as a number, so no read is of the same version";
                self.cannot_tell(turn, "list", None, why.to_owned());
            }
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
        if is_long || !exact_lists_are_etcds(turn.server) {
            self.sample(watch);
        }
    }

    /// Picks the next few objects in turn, to be looked up one by one, and those that are said to be wrong.
    fn sample(&mut self, watch: &Watch) {
        for open in watch.verdicts.values().take(conclude::FOLLOWED) {
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
}

/// Whether the open stream has brought nothing since it was opened, not even a bookmark.
fn says_nothing(watch: &Watch) -> bool {
    watch.stream.as_ref().is_some_and(|stream| {
        stream.bookmark.is_none() && stream.resource_version == watch.progress
    })
}
