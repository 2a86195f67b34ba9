//! Findings about periodic bookmarks that do not come (F34), and about initial events without their final bookmark
//! (F35).

use watchscope_model::event::{Bookmark, StreamEnded, StreamOpened};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Cause, Certainty};
use watchscope_model::{ResourceVersion, Row, State, StreamId, Time, WatchName};

use super::state::{
    InitialEvents, LastBookmark, STARTS, Span, Start, StreamState, Streams, memory, remember,
};
use crate::findings::draft::{FindingDraft, Lasts, Subject};
use crate::findings::questions::is_aggregated;
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::{Timer, Timers};
use crate::text::seconds;
use crate::versions::server_version;

/// Time in µs after which a stream that asked for bookmarks and got none is judged (F34). It is two and a half bookmark
/// periods (docs/semantics/lists-and-watches.md#bookmark-period). A stream that ends before is not judged. The own
/// events of a stream with a shorter timeout prove nothing. The factor has no source.
const NO_BOOKMARK_US: i64 = 150_000_000;
/// Time in µs above which a higher version of another watch proves that a bookmark was due (F34). If neither that nor
/// the stream's own events prove it, the stream is judged again after this time. It is a bookmark period, and 15 s for
/// late bookmarks, which have no source.
const BOOKMARK_LATE_US: i64 = 75_000_000;
/// Span in µs of a stream's own events that proves that a bookmark was due (F34). As in [`BOOKMARK_LATE_US`], it is a
/// bookmark period, and 15 s for late bookmarks.
const OWN_EVENTS_US: i64 = BOOKMARK_LATE_US;
/// The row of the finding about a stream without a bookmark.
pub(super) const NO_BOOKMARK: Row = Row::F34;
/// Time in µs after which stopped initial events lack the bookmark that ends them (F35;
/// docs/semantics/lists-and-watches.md#watch-list). A server sends 13,000 initial events within about 1 s
/// (docs/semantics/servers.md#load), so a pause of 10 s is not a usual one between two events. The probe waits for the
/// same time. The number has no other source.
const NO_END_US: i64 = 10_000_000;
/// The row of the finding about initial events without the bookmark that ends them.
const NO_END: Row = Row::F35;

impl Streams {
    /// Notes that a stream was opened.
    pub(crate) fn opened(
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
            InitialEvents {
                last: record.at,
                due,
            }
        });
        let open = StreamState {
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
        self.streams.insert(event.stream, open);
    }

    /// Notes that a stream ended. Returns the version at which the stream began; 0 if that version has no order. Also
    /// returns when an event or a bookmark last moved the watch's progress. `None` stands for what is unknown.
    pub(crate) fn ended(
        &mut self,
        event: &StreamEnded,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) -> (Option<u64>, Option<Time>) {
        let Some(mut open) = self.streams.remove(&event.stream) else {
            return (None, None);
        };
        open.stop_waiting(event.stream, timers);
        if open.may_be_dead && event.cause == Cause::IdleTimeout {
            let subject = Subject::Watch(open.watch.clone());
            let why = "Its stream was dead (F04): nothing could come.";
            registry.clear(NO_BOOKMARK, subject, record.seq, why);
        }
        if let Some(InitialEvents { last, .. }) = open.initial {
            let subject = Subject::Watch(open.watch.clone());
            // The probe waits as long as diagnosis does, and then makes a list instead.
            let has_waited = record.at.micros_since(last) >= NO_END_US;
            if event.cause != Cause::Cancelled || !has_waited {
                registry.clear(NO_END, subject, record.seq, "The stream is over.");
            } else if registry.stands(NO_END, subject.clone()) {
                registry.amend(NO_END, subject, |found| found.lasts = Lasts::Happened);
            } else {
                registry.raise(open.lacks_end(last, record.at), record.at);
            }
        }
        let memory = self.memories.get(&event.watch);
        let moved_at = memory.and_then(|memory| {
            let event = memory.recent.back().map(|last| last.at);
            event.max(memory.bookmarked_at)
        });
        (Some(open.from), moved_at)
    }

    /// Forgets a stopped watch.
    pub(crate) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
        self.memories.remove(watch);
        self.streams.retain(|stream, open| {
            let stays = open.watch != *watch;
            if !stays {
                open.stop_waiting(*stream, timers);
            }
            stays
        });
    }

    /// Notes a bookmark of a stream.
    pub(crate) fn bookmarked(
        &mut self,
        event: &Bookmark,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(open) = self.streams.get_mut(&event.stream) else {
            return;
        };
        let subject = Subject::Watch(event.watch.clone());
        open.may_be_dead = false;
        // The bookmark that ends initial events comes once. It says nothing about periodic bookmarks.
        if event.initial_events_end != Some(true) {
            if let Some(due) = open.bookmark_due.take() {
                timers.unset(due, Timer::Bookmark(event.stream));
            }
            registry.clear(NO_BOOKMARK, subject.clone(), record.seq, "A bookmark came.");
        }
        let Some(version) = event.resource_version.number() else {
            return;
        };
        let undercut = open.bookmark.filter(|last| last.version > version);
        if open.highest > version || undercut.is_some() {
            let last = open.highest.max(undercut.map_or(0, |last| last.version));
            let mut evidence = vec![record.seq];
            evidence.extend(undercut.map(|last| last.seq));
            registry.raise(
                FindingDraft::of(
                    Row::F35,
                    Certainty::Definite,
                    subject,
                    evidence,
                    record.at,
                    format!(
                        "A bookmark at {version} came to {}, but its stream had already reached {last}.",
                        event.watch
                    ),
                ),
                record.at,
            );
            return;
        }
        let reached = open.bookmark.map_or(0, |last| last.version);
        if version > reached.max(open.highest).max(open.from) {
            memory(&mut self.memories, &event.watch).bookmarked_at = Some(record.at);
        }
        if event.initial_events_end == Some(true)
            && let Some(InitialEvents { due, .. }) = open.initial.take()
        {
            timers.unset(due, Timer::Initial(event.stream));
            let subject = Subject::Watch(event.watch.clone());
            let why = "The bookmark that ends the initial events came.";
            registry.clear(NO_END, subject, record.seq, why);
            open.is_initial = true;
        } else if let Some(from) = open.start() {
            let memory = memory(&mut self.memories, &event.watch);
            let start = Start {
                from,
                until: version + 1,
            };
            remember(&mut memory.starts, start, STARTS);
        }
        open.bookmark = Some(LastBookmark {
            version,
            seq: record.seq,
            at: record.at,
        });
    }

    /// Raises F34: a stream that asked for bookmarks got none. A server sends no bookmark of a version that it has sent
    /// before. So F34 is raised only if another watch had a higher version over 75 s ago, or the stream's own events
    /// prove that a bookmark was due.
    pub(crate) fn no_bookmark(
        &mut self,
        stream: StreamId,
        now: Time,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(open) = self.streams.get(&stream) else {
            return;
        };
        let progress = open.highest.max(open.from);
        let before = now.plus_micros(-BOOKMARK_LATE_US);
        let beyond = self.beyond(&open.watch, progress, before);
        let beyond = beyond.map(|(reached, by)| (reached, by.clone()));
        let Some(open) = self.streams.get_mut(&stream) else {
            return;
        };
        if beyond.is_none()
            && let Some(found) = open.lacks_bookmarks(now)
        {
            open.bookmark_due = None;
            registry.raise(found, now);
            return;
        }
        let Some((reached, by)) = beyond else {
            let again = now.plus_micros(BOOKMARK_LATE_US);
            open.bookmark_due = Some(again);
            timers.set(again, Timer::Bookmark(stream));
            return;
        };
        open.bookmark_due = None;
        open.may_be_dead = true;
        let watch = &open.watch;
        let age = now.millis_since(open.since) / 1_000;
        let summary = format!(
            "The stream of {watch} is {age} s old, is at {progress} and had no bookmark, though {by} reached \
             {reached} long ago. Servers do not guarantee bookmarks."
        );
        // Another resource may have an etcd of its own.
        let certainty = if resource(watch) == resource(&by) {
            Certainty::Definite
        } else {
            Certainty::Likely
        };
        let found = FindingDraft::of(
            NO_BOOKMARK,
            certainty,
            Subject::Watch(watch.clone()),
            vec![open.opened],
            open.since,
            summary,
        )
        .alike(&[Row::F04]);
        registry.raise(found, now);
    }

    /// Raises F35, if initial events stopped without the bookmark that ends them.
    pub(crate) fn no_end(
        &mut self,
        stream: StreamId,
        now: Time,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(open) = self.streams.get_mut(&stream) else {
            return;
        };
        let Some(initial) = &mut open.initial else {
            return;
        };
        let last = initial.last;
        initial.due = last.plus_micros(NO_END_US);
        if initial.due > now {
            timers.set(initial.due, Timer::Initial(stream));
            return;
        }
        let found = open.lacks_end(last, now);
        registry.raise(found.until_cleared(), now);
    }

    /// Returns another watch that had delivered a version above `version` before a moment, and that version. Watches of
    /// the same resource are preferred. `None` if no remembered version is above it.
    fn beyond(&self, watch: &WatchName, version: u64, before: Time) -> Option<(u64, &WatchName)> {
        let events = self.memories.iter().flat_map(|(by, memory)| {
            let recent = memory.recent.iter();
            recent.map(move |seen| (seen.version, seen.at, by))
        });
        let bookmarks = self.streams.values().filter_map(|open| {
            let last = open.bookmark?;
            Some((last.version, last.at, &open.watch))
        });
        events
            .chain(bookmarks)
            .filter(|(seen, at, _)| *seen > version && *at < before)
            .min_by_key(|(.., by)| resource(by) != resource(watch))
            .map(|(seen, _, by)| (seen, by))
    }
}

impl StreamState {
    /// Returns F34, if the stream's own events prove it: they span a time in which a bookmark was due.
    fn lacks_bookmarks(&self, now: Time) -> Option<FindingDraft> {
        let Span { first, last } = self.moved.filter(|_| self.can_prove)?;
        if last.micros_since(first) < OWN_EVENTS_US {
            return None;
        }
        let summary = format!(
            "The stream of {} is {} s old, its own events came for {}, and it had no bookmark. Servers do not \
             guarantee bookmarks.",
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

    /// Returns F35: initial events stopped, and the bookmark that ends them did not come.
    fn lacks_end(&self, last: Time, now: Time) -> FindingDraft {
        let summary = format!(
            "{} asked for initial events. None came for {}, and no bookmark has marked their end.",
            self.watch,
            seconds(now.millis_since(last))
        );
        let (subject, evidence) = (Subject::Watch(self.watch.clone()), vec![self.opened]);
        let sure = Certainty::Suspected;
        let found = FindingDraft::of(NO_END, sure, subject, evidence, last, summary);
        found.alike(&[Row::F37, Row::F04])
    }

    /// Unsets the timers of the stream.
    fn stop_waiting(&mut self, stream: StreamId, timers: &mut Timers) {
        if let Some(due) = self.bookmark_due {
            timers.unset(due, Timer::Bookmark(stream));
        }
        if let Some(InitialEvents { due, .. }) = self.initial {
            timers.unset(due, Timer::Initial(stream));
        }
    }
}

/// Returns whether the stream's versions have an order. For versions without an order, nothing shows that a bookmark is
/// due.
fn has_order(event: &StreamOpened, state: &State) -> bool {
    let from = event.resource_version.as_ref();
    from.is_none_or(ResourceVersion::is_ordered) && !is_aggregated(state, &event.watch)
}

/// Returns whether a stream's request has a timeout that is long enough for a bookmark to be due, or no timeout.
fn asks_for_long_enough(event: &StreamOpened, state: &State) -> bool {
    let request = state.watches.get(&event.watch);
    let request = request.and_then(|watch| watch.request.as_ref());
    let timeout_ms = request
        .filter(|request| request.request == event.request)
        .and_then(|request| request.timeout_ms);
    timeout_ms.is_none_or(|timeout_ms| timeout_ms >= NO_BOOKMARK_US.unsigned_abs() / 1_000)
}

/// Returns whether a watch's resource has a watch cache by default. Events of both API groups have none
/// (docs/semantics/lists-and-watches.md#uncached), so their watches get no periodic bookmarks.
fn has_cache(watch: &WatchName) -> bool {
    !matches!(resource(watch), "events" | "events.events.k8s.io")
}

/// Returns the resource and group of a watch.
fn resource(watch: &WatchName) -> &str {
    let what = watch.resource();
    what.split(['?', '#']).next().unwrap_or(what)
}

/// Returns whether the servers' version sends bookmarks for quiet resources. Before 1.21 the watch cache of a quiet
/// resource stood still, so its watches got no bookmarks.
fn may_expect_bookmarks(state: &State) -> bool {
    server_version(state).is_none_or(|(minor, _)| minor >= 21)
}
