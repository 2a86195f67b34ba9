//! The checks of a stream that need no request of ours (docs/semantics/checks.md#stream-checks), and bookmarks that do
//! not come (F34).
//!
//! resourceVersions that are no numbers, or are of another apiserver's counting, have no order, so nothing is said of it.

use std::collections::VecDeque;

use watchscope_model::event::{Bookmark, Change, StreamEnded, StreamOpened};
use watchscope_model::fold::{Held, Moment, Watch};
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Cause, Certainty, ChangeType, Origin, Severity};
use watchscope_model::{ResourceVersion, Row, Seq, State, StreamId, Time, Uid, WatchName};

use super::draft::{FindingDraft, Lasts, Subject};
use super::questions::{has_selector, is_aggregated, is_listing};
use super::registry::FindingRegistry;
use super::timers::{Timer, Timers};
use crate::text::{name, seconds};
use crate::versions::server_version;

/// Versions of a watch that are remembered, to tell what comes twice (F29) from what comes late (F30).
const REMEMBERED: usize = 256;
/// Streams of a watch of which it is remembered where they began (F45).
const STARTS: usize = 16;
/// Objects of a watch that are remembered because they left its view (F43) or ended with an old version (F23).
const GONE: usize = 64;
/// A stream that asked for bookmarks and is so old without one has none (F34), in microseconds.
const NO_BOOKMARK_US: i64 = 150_000_000;
/// If all that its watch lacks came later than this before, it is looked at again after as long, in microseconds.
const BOOKMARK_LATE_US: i64 = 75_000_000;
/// The span of a stream's own events that shows that the cluster moved (F34), in microseconds.
const OWN_EVENTS_US: i64 = BOOKMARK_LATE_US;
/// That it has none.
const NO_BOOKMARK: Row = Row::F34;
/// Initial events that stopped for so long without the bookmark that ends them lack it (F35), in microseconds.
const NO_END_US: i64 = 10_000_000;
/// That they lack it.
const NO_END: Row = Row::F35;
/// Groups whose types raise their generation by one with each write of their spec
/// (docs/semantics/checks.md#generation).
const COUNTING_GROUPS: [&str; 2] = ["apps", "batch"];

/// The rows that leave a ghost, or hide an object, without a word: they look alike from a stream.
pub(super) const SILENT_LOSS: &[Row] = &[Row::F25, Row::F26, Row::F27, Row::F45];

/// An open stream.
#[derive(Clone, Debug)]
struct Lane {
    watch: WatchName,
    since: Time,
    opened: Seq,
    /// Where it was opened from.
    from: u64,
    /// The highest version of its events.
    highest: u64,
    /// The highest version of its bookmarks, and when it came.
    bookmark: Option<(u64, Seq, Time)>,
    /// When it should have had a bookmark.
    bookmark_due: Option<Time>,
    /// Whether its own events prove that a bookmark is due.
    can_prove: bool,
    /// When its first live event came, and its last.
    moved: Option<(Time, Time)>,
    /// Whether it was told that it has no bookmark, and nothing came since: it may be dead (F04).
    may_be_dead: bool,
    /// Of a stream that begins with initial events: when the last of them came, if any did, until a bookmark has ended
    /// them; and when it is looked at next.
    initial: Option<(Time, Time)>,
    /// Whether it began with initial events, which are over.
    is_initial: bool,
}

/// What is remembered of a watch from stream to stream.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// The last versions its streams brought, and when.
    recent: VecDeque<(u64, Uid, Time)>,
    /// Objects whose DELETED carried an old version.
    deleted_old: VecDeque<Uid>,
    /// Objects that left its view.
    left: VecDeque<Uid>,
    /// When a bookmark moved it on last.
    bookmarked_at: Option<Time>,
    /// Where its last streams began, and the version below which nothing came by each.
    starts: VecDeque<(u64, u64)>,
}

/// Open streams, and what is remembered of each watch: at most [`REMEMBERED`] versions, twice [`GONE`] objects and
/// [`STARTS`] streams; of more the oldest are forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    lanes: BTreeMap<StreamId, Lane>,
    memories: BTreeMap<WatchName, Memory>,
}

/// How an event stands to what its stream brought before.
enum Order {
    Later,
    /// Its version was there before, with the same object.
    Again,
    /// A DELETED with the version its object had before (docs/semantics/checks.md#deletion-version).
    OldDeleted,
    /// Below a bookmark (docs/semantics/checks.md#above-bookmark).
    BelowBookmark(u64, Seq),
    /// Not above where the stream began (docs/semantics/checks.md#above-start).
    BeforeStart,
    /// Below another event (docs/semantics/checks.md#order).
    Late,
}

impl Streams {
    pub(super) fn since(state: &State) -> Self {
        let lane = |(name, watch): (&WatchName, &Watch)| {
            let open = watch.stream.as_ref()?;
            let from = open
                .resource_version
                .as_ref()
                .and_then(ResourceVersion::number);
            let seen = watch.seen.as_ref().and_then(ResourceVersion::number);
            let lane = Lane {
                watch: name.clone(),
                since: open.since.at,
                opened: open.since.seq,
                from: from.unwrap_or(0),
                highest: seen.unwrap_or(0),
                bookmark: None,
                bookmark_due: None,
                can_prove: false,
                moved: None,
                may_be_dead: false,
                initial: None,
                is_initial: false,
            };
            Some((open.stream, lane))
        };
        Self {
            lanes: state.watches.iter().filter_map(lane).collect(),
            memories: BTreeMap::new(),
        }
    }

    pub(super) fn opened(
        &mut self,
        event: &StreamOpened,
        (asks_bookmarks, asks_initial): (bool, bool),
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        let from = event
            .resource_version
            .as_ref()
            .and_then(ResourceVersion::number);
        let may_lack = asks_bookmarks && has_order(event, before);
        let due = (may_lack && may_expect_bookmarks(before))
            .then(|| record.at.plus_micros(NO_BOOKMARK_US));
        if let Some(due) = due {
            timers.set(due, Timer::Bookmark(event.stream));
        }
        let initial = (asks_initial).then(|| {
            let due = record.at.plus_micros(NO_END_US);
            timers.set(due, Timer::Initial(event.stream));
            (record.at, due)
        });
        let lane = Lane {
            watch: event.watch.clone(),
            since: record.at,
            opened: record.seq,
            from: from.unwrap_or(0),
            highest: 0,
            bookmark: None,
            bookmark_due: due,
            can_prove: asks_for_long_enough(event, before) && has_cache(&event.watch),
            moved: None,
            may_be_dead: false,
            initial,
            is_initial: false,
        };
        self.lanes.insert(event.stream, lane);
    }

    /// A stream is over; where it was opened from, and when an event or a bookmark moved its watch on last.
    pub(super) fn ended(
        &mut self,
        event: &StreamEnded,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) -> (Option<u64>, Option<Time>) {
        let Some(mut lane) = self.lanes.remove(&event.stream) else {
            return (None, None);
        };
        lane.stop_waiting(event.stream, timers);
        if lane.may_be_dead && event.cause == Cause::IdleTimeout {
            let subject = Subject::Watch(lane.watch.clone());
            let why = "Its stream was dead (F04): nothing could come.";
            registry.clear(NO_BOOKMARK, subject, record.seq, why);
        }
        if let Some((last, _)) = lane.initial {
            let subject = Subject::Watch(lane.watch.clone());
            // The probe waits as long as diagnosis does, and then asks for a list instead.
            let has_waited = record.at.micros_since(last) >= NO_END_US;
            if event.cause != Cause::Cancelled || !has_waited {
                registry.clear(NO_END, subject, record.seq, "The stream is over.");
            } else if registry.stands(NO_END, subject.clone()) {
                registry.amend(NO_END, subject, |found| found.lasts = Lasts::Happened);
            } else {
                registry.raise(lane.lacks_end(last, record.at), record.at);
            }
        }
        let memory = self.memories.get(&event.watch);
        let moved_at = memory.and_then(|memory| {
            let event = memory.recent.back().map(|(.., at)| *at);
            event.max(memory.bookmarked_at)
        });
        (Some(lane.from), moved_at)
    }

    pub(super) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
        self.memories.remove(watch);
        self.lanes.retain(|stream, lane| {
            let stays = lane.watch != *watch;
            if !stays {
                lane.stop_waiting(*stream, timers);
            }
            stays
        });
    }

    /// A later version of its resource that a watch had brought before a moment, if it had.
    pub(super) fn was_beyond(&self, watch: &WatchName, version: u64, before: Time) -> Option<u64> {
        let recent = self.memories.get(watch)?.recent.iter().rev();
        let mut versions = recent.map(|(seen, _, at)| (*seen, *at));
        versions
            .find(|(seen, at)| *seen > version && *at < before)
            .map(|(seen, _)| seen)
    }

    /// The start of a stream at which the event of a version would have had to come: where that stream began, and the
    /// version below which it brought nothing.
    pub(super) fn start_around(&self, watch: &WatchName, version: u64) -> Option<(u64, u64)> {
        let mut starts = self.memories.get(watch)?.starts.iter().copied();
        starts.find(|(from, until)| (from + 1..*until).contains(&version))
    }

    pub(super) fn changed(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if event.stray == Some(true) {
            let why = "whose selectors do not ask for it";
            return unasked(event, why, vec![record.seq], record, registry);
        }
        let Some(stream) = event.stream else {
            return;
        };
        let (Some(lane), Some(watch)) = (
            self.lanes.get_mut(&stream),
            before.watches.get(&event.watch),
        ) else {
            return;
        };
        if std::mem::take(&mut lane.may_be_dead) {
            let subject = Subject::Watch(lane.watch.clone());
            registry.amend(NO_BOOKMARK, subject, |found| {
                found.alike = &[];
                found.evidence.push(record.seq);
            });
        }
        match event.origin {
            Origin::Live => {
                let (first, _) = lane.moved.unwrap_or((record.at, record.at));
                lane.moved = Some((first, record.at));
            }
            // What initial events lack, or have under another uid, went while nothing was open (F28).
            Origin::Inferred if is_listing(before, &event.watch) => return,
            Origin::Inferred => {
                // The name came back with another uid (docs/semantics/checks.md#life).
                lost(LostEvent::Deleted, event, lane, record, registry);
                return;
            }
            Origin::Initial => {
                if let Some((last, _)) = lane.initial.as_mut() {
                    *last = record.at;
                }
                return;
            }
            Origin::List | Origin::Unknown => return,
        }
        let is_elsewhere = |namespace| event.object.namespace.as_ref() != Some(namespace);
        if watch.namespace.as_ref().is_some_and(is_elsewhere) {
            let why = "which did not ask for its namespace";
            return unasked(event, why, vec![record.seq, lane.opened], record, registry);
        }
        let Some(version) = event.resource_version.number() else {
            return;
        };
        let memory = memory(&mut self.memories, &event.watch);
        let held = watch.held(&event.object);
        let order = order(event, version, held, lane, memory);
        if !matches!(order, Order::Later) {
            disorder(&order, event, version, lane, memory, record, registry);
            return;
        }
        check_life(event, held, watch, lane, memory, record, registry);
        if let Some(from) = lane.start() {
            remember(&mut memory.starts, (from, version), STARTS);
        }
        lane.highest = version;
        remember(
            &mut memory.recent,
            (version, event.object.uid.clone(), record.at),
            REMEMBERED,
        );
    }

    pub(super) fn bookmarked(
        &mut self,
        event: &Bookmark,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(lane) = self.lanes.get_mut(&event.stream) else {
            return;
        };
        let subject = Subject::Watch(event.watch.clone());
        lane.may_be_dead = false;
        // The bookmark that ends initial events comes once, and says nothing of those that come by the clock.
        if event.initial_events_end != Some(true) {
            if let Some(due) = lane.bookmark_due.take() {
                timers.unset(due, Timer::Bookmark(event.stream));
            }
            registry.clear(NO_BOOKMARK, subject.clone(), record.seq, "A bookmark came.");
        }
        let Some(version) = event.resource_version.number() else {
            return;
        };
        let undercut = lane.bookmark.filter(|(last, ..)| *last > version);
        if lane.highest > version || undercut.is_some() {
            let last = lane.highest.max(undercut.map_or(0, |(last, ..)| last));
            let mut evidence = vec![record.seq];
            evidence.extend(undercut.map(|(_, seq, _)| seq));
            registry.raise(
                FindingDraft::of(
                    Row::F35,
                    Certainty::Definite,
                    subject,
                    evidence,
                    record.at,
                    format!(
                        "A bookmark said {version} to {}, whose stream had come to {last} already.",
                        event.watch
                    ),
                ),
                record.at,
            );
            return;
        }
        let reached = lane.bookmark.map_or(0, |(last, ..)| last);
        if version > reached.max(lane.highest).max(lane.from) {
            memory(&mut self.memories, &event.watch).bookmarked_at = Some(record.at);
        }
        if event.initial_events_end == Some(true)
            && let Some((_, due)) = lane.initial.take()
        {
            timers.unset(due, Timer::Initial(event.stream));
            let subject = Subject::Watch(event.watch.clone());
            let why = "The bookmark came that ends the initial events.";
            registry.clear(NO_END, subject, record.seq, why);
            lane.is_initial = true;
        } else if let Some(from) = lane.start() {
            let memory = memory(&mut self.memories, &event.watch);
            remember(&mut memory.starts, (from, version + 1), STARTS);
        }
        lane.bookmark = Some((version, record.seq, record.at));
    }

    /// A stream that asked for bookmarks had none. A server sends none where there is nothing to say, so it counts only
    /// if other watches have shown long ago that the cluster has come further, or the stream's own events show it.
    pub(super) fn no_bookmark(
        &mut self,
        stream: StreamId,
        now: Time,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(lane) = self.lanes.get(&stream) else {
            return;
        };
        let progress = lane.highest.max(lane.from);
        let before = now.plus_micros(-BOOKMARK_LATE_US);
        let beyond = self.beyond(&lane.watch, progress, before);
        let beyond = beyond.map(|(reached, by)| (reached, by.clone()));
        let Some(lane) = self.lanes.get_mut(&stream) else {
            return;
        };
        if beyond.is_none()
            && let Some(found) = lane.lacks_bookmarks(now)
        {
            lane.bookmark_due = None;
            registry.raise(found, now);
            return;
        }
        let Some((reached, by)) = beyond else {
            let again = now.plus_micros(BOOKMARK_LATE_US);
            lane.bookmark_due = Some(again);
            timers.set(again, Timer::Bookmark(stream));
            return;
        };
        lane.bookmark_due = None;
        lane.may_be_dead = true;
        let watch = &lane.watch;
        let age = now.millis_since(lane.since) / 1_000;
        let summary = format!(
            "The stream of {watch} is {age} s old, stands at {progress}, and had no bookmark, though {by} came to {reached} \
             long ago. Bookmarks are not promised."
        );
        // Another resource may be in an etcd of its own.
        let certainty = if resource(watch) == resource(&by) {
            Certainty::Definite
        } else {
            Certainty::Likely
        };
        let found = FindingDraft::of(
            NO_BOOKMARK,
            certainty,
            Subject::Watch(watch.clone()),
            vec![lane.opened],
            lane.since,
            summary,
        )
        .alike(&[Row::F04]);
        registry.raise(found, now);
    }

    /// The initial events of a stream may have stopped without the bookmark that ends them.
    pub(super) fn no_end(
        &mut self,
        stream: StreamId,
        now: Time,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(lane) = self.lanes.get_mut(&stream) else {
            return;
        };
        let Some((last, due)) = &mut lane.initial else {
            return;
        };
        *due = last.plus_micros(NO_END_US);
        if *due > now {
            timers.set(*due, Timer::Initial(stream));
            return;
        }
        let last = *last;
        let found = lane.lacks_end(last, now);
        registry.raise(found.until_cleared(), now);
    }

    /// A version beyond that of a watch which some watch had brought before a moment, and which; of the same resource, if
    /// there is one.
    fn beyond(&self, watch: &WatchName, version: u64, before: Time) -> Option<(u64, &WatchName)> {
        let events = self.memories.iter().flat_map(|(by, memory)| {
            let recent = memory.recent.iter();
            recent.map(move |(seen, _, at)| (*seen, *at, by))
        });
        let bookmarks = self.lanes.values().filter_map(|lane| {
            let (seen, _, at) = lane.bookmark?;
            Some((seen, at, &lane.watch))
        });
        events
            .chain(bookmarks)
            .filter(|(seen, at, _)| *seen > version && *at < before)
            .min_by_key(|(.., by)| resource(by) != resource(watch))
            .map(|(seen, _, by)| (seen, by))
    }
}

impl Lane {
    /// Where it began, if nothing has come since.
    fn start(&self) -> Option<u64> {
        let last = self.bookmark.map(|(last, ..)| last);
        match (self.highest, last) {
            (0, None) if self.initial.is_none() => Some(self.from),
            // The bookmark that ends initial events is their version, as a list has one.
            (0, last) if self.is_initial => last,
            _ => None,
        }
    }

    /// F34, if its own events prove it: they came over a span in which a bookmark was due, and none did.
    fn lacks_bookmarks(&self, now: Time) -> Option<FindingDraft> {
        let (first, last) = self.moved.filter(|_| self.can_prove)?;
        if last.micros_since(first) < OWN_EVENTS_US {
            return None;
        }
        let summary = format!(
            "The stream of {} is {} s old, its own events came for {}, and it had no bookmark. Bookmarks are not promised.",
            self.watch,
            now.millis_since(self.since) / 1_000,
            seconds(last.millis_since(first))
        );
        let (subject, evidence) = (Subject::Watch(self.watch.clone()), vec![self.opened]);
        let sure = Certainty::Definite;
        Some(FindingDraft::of(
            NO_BOOKMARK,
            sure,
            subject,
            evidence,
            self.since,
            summary,
        ))
    }

    /// F35: its initial events stopped, and the bookmark that ends them did not come.
    fn lacks_end(&self, last: Time, now: Time) -> FindingDraft {
        let summary = format!(
            "{} asked for initial events. None came for {}, and no bookmark says that they are over.",
            self.watch,
            seconds(now.millis_since(last))
        );
        let (subject, evidence) = (Subject::Watch(self.watch.clone()), vec![self.opened]);
        let sure = Certainty::Suspected;
        let found = FindingDraft::of(NO_END, sure, subject, evidence, last, summary);
        found.alike(&[Row::F37, Row::F04])
    }

    /// Nothing is waited for any more.
    fn stop_waiting(&mut self, stream: StreamId, timers: &mut Timers) {
        if let Some(due) = self.bookmark_due {
            timers.unset(due, Timer::Bookmark(stream));
        }
        if let Some((_, due)) = self.initial {
            timers.unset(due, Timer::Initial(stream));
        }
    }
}

/// Whether the stream's versions have an order. Where they have none, nothing tells that there is something to say.
fn has_order(event: &StreamOpened, state: &State) -> bool {
    let from = event.resource_version.as_ref();
    from.is_none_or(ResourceVersion::is_ordered) && !is_aggregated(state, &event.watch)
}

/// Whether a stream asked for a life in which a bookmark is due; one that asked for no timeout did.
fn asks_for_long_enough(event: &StreamOpened, state: &State) -> bool {
    let request = state.watches.get(&event.watch);
    let request = request.and_then(|watch| watch.request.as_ref());
    let timeout_ms = request
        .filter(|request| request.request == event.request)
        .and_then(|request| request.timeout_ms);
    timeout_ms.is_none_or(|timeout_ms| timeout_ms >= NO_BOOKMARK_US.unsigned_abs() / 1_000)
}

/// Whether a type has a watch cache by default: events of both groups have none
/// (docs/semantics/lists-and-watches.md#uncached), so no bookmark comes by the clock.
fn has_cache(watch: &WatchName) -> bool {
    !matches!(resource(watch), "events" | "events.events.k8s.io")
}

/// The resource and group that a watch is of.
fn resource(watch: &WatchName) -> &str {
    let what = watch.resource();
    what.split(['?', '#']).next().unwrap_or(what)
}

/// Before 1.21 the cache of a quiet type stood still, so a watch of it had no bookmarks by right.
fn may_expect_bookmarks(state: &State) -> bool {
    server_version(state).is_none_or(|(minor, _)| minor >= 21)
}

fn memory<'a>(memories: &'a mut BTreeMap<WatchName, Memory>, watch: &WatchName) -> &'a mut Memory {
    if !memories.contains_key(watch) {
        memories.insert(watch.clone(), Memory::default());
    }
    memories.get_mut(watch).expect("it was just put there")
}

fn remember<T>(list: &mut VecDeque<T>, thing: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(thing);
}

fn order(event: &Change, version: u64, held: Option<&Held>, lane: &Lane, memory: &Memory) -> Order {
    if version > lane.from.max(lane.highest)
        && lane.bookmark.is_none_or(|(last, ..)| version > last)
    {
        return Order::Later;
    }
    let uid = &event.object.uid;
    if event.change == ChangeType::Deleted {
        let had = held
            .filter(|held| held.object.uid == *uid)
            .and_then(|held| held.resource_version.number());
        if had.is_some_and(|had| version <= had) || memory.deleted_old.contains(uid) {
            return Order::OldDeleted;
        }
    }
    let mut same = memory.recent.iter().filter(|(seen, ..)| *seen == version);
    if let Some((_, other, _)) = same.next() {
        return if other == uid {
            Order::Again
        } else {
            Order::Later
        };
    }
    match lane.bookmark {
        _ if version <= lane.from => Order::BeforeStart,
        Some((last, seq, _)) if version <= last && version > lane.highest => {
            Order::BelowBookmark(last, seq)
        }
        _ => Order::Late,
    }
}

fn disorder(
    order: &Order,
    event: &Change,
    version: u64,
    lane: &Lane,
    memory: &mut Memory,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let (watch, what) = (&event.watch, event.change);
    let object = name(&event.object);
    let reached = lane.highest.max(lane.from);
    let mut evidence = vec![record.seq, lane.opened];
    let (row, alike, summary): (_, &'static [Row], _) = match order {
        Order::Later => return,
        Order::OldDeleted => {
            if !memory.deleted_old.contains(&event.object.uid) {
                remember(&mut memory.deleted_old, event.object.uid.clone(), GONE);
            }
            let summary = format!(
                "DELETED of {object} carried {version}, a version from before {watch} had come to {reached}: who goes on \
                 from there sees the past again."
            );
            (Row::F23, &[], summary)
        }
        Order::Again => {
            let summary = format!("{what} of {object} at {version} came to {watch} a second time.");
            (Row::F29, &[Row::F21], summary)
        }
        Order::BelowBookmark(last, seq) => {
            evidence.push(*seq);
            let summary = format!(
                "A bookmark said that {watch} had all up to {last}; then {what} of {object} came at {version}."
            );
            (Row::F35, &[], summary)
        }
        Order::BeforeStart => {
            let summary = format!(
                "{watch} asked for what comes after {}, and got {what} of {object} at {version}.",
                lane.from
            );
            (Row::F29, &[Row::F21, Row::F30], summary)
        }
        Order::Late => {
            let summary =
                format!("{what} of {object} came to {watch} at {version}, after {reached}.");
            (Row::F30, &[], summary)
        }
    };
    registry.raise(
        FindingDraft::of(
            row,
            Certainty::Definite,
            Subject::Watch(watch.clone()),
            evidence,
            record.at,
            summary,
        )
        .alike(alike),
        record.at,
    );
}

/// What the event says of its object's life goes on from what is held (docs/semantics/checks.md#life and
/// docs/semantics/checks.md#generation).
fn check_life(
    event: &Change,
    held: Option<&Held>,
    watch: &Watch,
    lane: &Lane,
    memory: &mut Memory,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let has_selector = has_selector(watch);
    let uid = &event.object.uid;
    if uid.is_empty() {
        return;
    }
    match (event.change, held) {
        (ChangeType::Added, Some(held)) if held.object.uid == *uid => {
            lost(LostEvent::Deleted, event, lane, record, registry);
        }
        (ChangeType::Modified, None) => lost(LostEvent::Added, event, lane, record, registry),
        (ChangeType::Modified, Some(held)) => {
            let step = match (held.generation, event.generation) {
                (Some(from), Some(to)) => to.saturating_sub(from),
                _ => 0,
            };
            if step > 1 && COUNTING_GROUPS.contains(&&*watch.group) {
                lost(LostEvent::Modified { step }, event, lane, record, registry);
            }
        }
        (ChangeType::Deleted, _) if has_selector => {
            remember(&mut memory.left, uid.clone(), GONE);
        }
        (ChangeType::Added, None) if has_selector && memory.left.contains(uid) => {
            memory.left.retain(|gone| gone != uid);
            let summary = format!(
                "{} came back to {} with the same uid at {}: its DELETED was only that it left the selector.",
                name(&event.object),
                event.watch,
                event.resource_version
            );
            let found = FindingDraft::of(
                Row::F43,
                Certainty::Definite,
                Subject::Watch(event.watch.clone()),
                vec![record.seq],
                record.at,
                summary,
            );
            registry.raise(found, record.at);
        }
        _ => {}
    }
}

/// An event that must have been, and did not come.
#[derive(Clone, Copy)]
enum LostEvent {
    Added,
    Modified { step: u64 },
    Deleted,
}

fn lost(
    what: LostEvent,
    event: &Change,
    lane: &Lane,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let object = name(&event.object);
    let (watch, change, version) = (&event.watch, event.change, &event.resource_version);
    let (severity, certainty, summary) = match what {
        LostEvent::Added => (
            Severity::Error,
            Certainty::Likely,
            format!(
                "{change} of {object} came to {watch} at {version}, and never its ADDED: an event was lost on the way."
            ),
        ),
        LostEvent::Deleted => (
            Severity::Error,
            Certainty::Likely,
            format!(
                "{object} came to {watch} anew at {version}, and never the DELETED of the one before it: an event was \
                 lost on the way."
            ),
        ),
        LostEvent::Modified { step } => (
            Severity::Warning,
            Certainty::Suspected,
            format!(
                "The generation of {object} rose by {step} from one event of {watch} to the next: events between them \
                 may have been lost."
            ),
        ),
    };
    registry.raise(
        FindingDraft {
            severity,
            ..FindingDraft::of(
                Row::F24,
                certainty,
                Subject::Watch(watch.clone()),
                vec![record.seq, lane.opened],
                record.at,
                summary,
            )
            .alike(SILENT_LOSS)
        },
        record.at,
    );
}

/// An object that was not asked for (docs/semantics/checks.md#scope).
fn unasked(
    event: &Change,
    why: &str,
    evidence: Vec<Seq>,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let summary = format!(
        "{} came to {} at {}, {why}.",
        name(&event.object),
        event.watch,
        event.resource_version
    );
    let (sure, subject) = (Certainty::Definite, Subject::Watch(event.watch.clone()));
    let found = FindingDraft::of(Row::F42, sure, subject, evidence, record.at, summary);
    registry.raise(found, record.at);
}
