//! Findings about requests: refusals, watches that are not answered, lists that go back or in circles.

use std::collections::VecDeque;

use watchscope_model::event::{
    Change, ListComplete, RequestAnswered, RequestSent, StreamEnded, StreamError, StreamOpened,
    WatchPhase,
};
use watchscope_model::fold::Moment;
use watchscope_model::options::ListOptions;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{
    Cause, Certainty, ErrorText, Origin, PhaseReason, Severity, Verb,
};
use watchscope_model::{
    ConnectionId, RequestId, ResourceVersion, Row, Seq, State, Text, Time, WatchName,
};

use super::draft::{BEHIND_LONG_US, FindingDraft, Lasts, Shared, Subject};
use super::place::Place;
use super::questions::{is_aggregated, is_listing};
use super::registry::FindingRegistry;
use super::timers::{Timer, Timers};
use crate::attribution::{REVISED_US, TOGETHER_US, is_barren};
use crate::server_words;
use crate::text::{count, seconds};
use crate::versions::server_version;

/// A watch request that has no answer for so long is held up on its way (F44, F50), in microseconds.
const NO_ANSWER_US: i64 = 10_000_000;
/// The same, where the watch's stream has just ended and the server may be one before 1.31: while its cache of the type
/// begins anew, such a server lets requests wait instead of answering 429 (F16, F17).
const NO_ANSWER_OF_OLD_US: i64 = 30_000_000;
/// From this minor version on a server answers 429 while a cache is not ready (ResilientWatchCacheInitialization).
const ANSWERS_UNREADY: u64 = 31;
/// An end so short a time before a request is why it is made, in microseconds.
const JUST_ENDED_US: i64 = 30_000_000;
/// So many refusals with 429 of one server…
const STORM: usize = 5;
/// …in this time are a storm (F15), in microseconds;
const STORM_US: i64 = 10_000_000;
/// so are so many in a row of one watch.
const STORM_IN_A_ROW: u64 = 3;
/// A cache that is not ready for so long, and so many refusals in a row, is more than one that begins anew, in
/// microseconds (F15).
const UNREADY_US: i64 = 20_000_000;
/// A storm is over when the server refused nobody for so long and answered, in microseconds.
const CALM_US: i64 = 10_000_000;
/// So many lists…
const CIRCLE: usize = 3;
/// …in this time, each after a 410, that come no further are a livelock (F14), in microseconds.
const CIRCLE_US: i64 = 60_000_000;
/// So many streams over one connection come near the most that a server allows there (F50).
const MANY_STREAMS: usize = 100;
/// A watch that is answered so soon after a stream of its connection ended was let in by that, in microseconds (F50).
const LET_IN_US: i64 = 1_000_000;
/// Failures in a row about an object that cannot be read or converted, from which on the watch is blocked (F38).
const POISON: u64 = 2;
/// The same of streams in a row, where the lists between them succeed.
const BROKEN_STREAMS: u64 = 3;
/// The same of failures whose reason is not kept.
const UNSAID: u64 = 5;
/// A refusal that may be of a server that has just started is believed when it comes so often in a row.
const SURE: u64 = 2;
/// Inferred deletions that are named as evidence.
const NAMED: usize = 8;

/// What is remembered of a watch's requests.
#[derive(Clone, Debug, Default)]
struct Lane {
    open: Option<Open>,
    /// Where its last request went.
    place: Option<Place>,
    asks_bookmarks: bool,
    /// Its right to list. RBAC's verbs are separate (docs/semantics/requests.md#rights).
    list: Right,
    /// Its right to watch.
    watch: Right,
    /// That its stream goes on though its objects may not be listed any more.
    leak: Option<Leak>,
    /// How often in a row its credentials were not known.
    unknown: u64,
    /// When its resource was not found for the first time in a row.
    not_found: Option<Moment>,
    /// 429s in a row.
    throttled: Streak,
    /// The server that answers that the cache of the type is not ready: since when, and how many times in a row.
    unready: Option<(Text, Time, u64)>,
    /// Failures in a row about what cannot be read or converted.
    poison: Streak,
    /// Streams in a row that ended with an ERROR about what cannot be read or converted; lists do not end the row.
    broken: Streak,
    /// Lists of Secrets that failed in a row, it cannot be told of what.
    unsaid: Streak,
    /// Lists after a 410: when, and at which version.
    circle: VecDeque<(Time, Seq, u64)>,
    /// The connection of its open stream.
    streams_over: Option<ConnectionId>,
    /// What its last stream left free when it ended.
    freed: Option<Freed>,
    /// The audit's list that has no answer.
    audit: Option<RequestId>,
    /// When its last stream ended, and none has begun since.
    ended_at: Option<Time>,
    /// Whether the last thing it was told of its history is a 410.
    is_expired: bool,
    /// Deletions that a list showed and no event told.
    inferred: Vec<Seq>,
    lists: u64,
}

impl Lane {
    fn right(&mut self, is_watch: bool) -> &mut Right {
        if is_watch {
            &mut self.watch
        } else {
            &mut self.list
        }
    }

    /// Whether the server ever answered it with 200.
    fn had_success(&self) -> bool {
        self.list.was_had || self.watch.was_had
    }

    /// Whether it lacks a right that it had.
    fn lacks_right(&self) -> bool {
        let is_lost = |right: &Right| right.refused >= SURE;
        self.leak.is_some() || is_lost(&self.list) || is_lost(&self.watch)
    }
}

/// A right to do one thing.
#[derive(Clone, Copy, Debug, Default)]
struct Right {
    /// Whether the server ever let it do so.
    was_had: bool,
    /// How often in a row it was forbidden since.
    refused: u64,
}

/// A place on a connection that a stream had, of which it was told in time that it ended.
#[derive(Clone, Copy, Debug)]
struct Freed {
    connection: ConnectionId,
    /// When the stream began.
    since: Time,
    /// When it ended.
    at: Time,
}

/// Refusals of a list while a stream goes on.
#[derive(Clone, Copy, Debug)]
struct Leak {
    since: Moment,
    /// Whether it was refused again.
    is_told: bool,
}

/// What came several times in a row.
#[derive(Clone, Debug, Default)]
struct Streak {
    times: u64,
    since: Time,
    /// The latest, at most [`STORM`].
    evidence: Vec<Seq>,
}

impl Streak {
    fn add(&mut self, record: Moment) {
        if self.times == 0 {
            self.since = record.at;
        }
        self.times += 1;
        if self.evidence.len() == STORM {
            self.evidence.remove(0);
        }
        self.evidence.push(record.seq);
    }
}

/// A request that has no answer.
#[derive(Clone, Debug)]
struct Open {
    request: RequestId,
    seq: Seq,
    at: Time,
    is_watch: bool,
    connection: ConnectionId,
    /// Whether another apiserver answers it, which may send its headers with the first event
    /// (docs/semantics/requests.md#late-headers).
    is_aggregated: bool,
    /// When it is told that there is no answer.
    due: Time,
    is_told: bool,
}

impl Open {
    /// Nobody waits for its answer any more.
    fn stop_waiting(&self, watch: &WatchName, timers: &mut Timers) {
        timers.unset(self.due, Timer::Answer(watch.clone()));
    }
}

/// Requests by watch, and the last 429s of each server, at most [`STORM`]. What is only asked to find out about a watch
/// is not followed.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    lanes: BTreeMap<WatchName, Lane>,
    throttles: BTreeMap<Text, VecDeque<(Time, Seq)>>,
}

impl Requests {
    pub(super) fn since(state: &State) -> Self {
        let lane = |(name, watch): (&WatchName, &watchscope_model::fold::Watch)| {
            let had = |was_had| Right {
                was_had,
                refused: 0,
            };
            let lane = Lane {
                place: Place::of(name, state),
                list: had(watch.list.is_some()),
                watch: had(watch.stream.is_some()),
                lists: u64::from(watch.list.is_some()),
                ..Lane::default()
            };
            (name.clone(), lane)
        };
        Self {
            lanes: state.watches.iter().map(lane).collect(),
            throttles: BTreeMap::new(),
        }
    }

    pub(super) fn asks_bookmarks(&self, watch: &WatchName) -> bool {
        self.lanes
            .get(watch)
            .is_some_and(|lane| lane.asks_bookmarks)
    }

    pub(super) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
        let open = self.lanes.remove(watch).and_then(|lane| lane.open);
        if let Some(open) = open {
            open.stop_waiting(watch, timers);
        }
    }

    pub(super) fn sent(
        &mut self,
        event: &RequestSent,
        options: &ListOptions<'_>,
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        if event.watch.is_aside() {
            let lane = event
                .watch
                .about()
                .and_then(|watch| self.lanes.get_mut(&watch));
            if let Some(lane) = lane.filter(|_| event.verb() == Verb::List) {
                lane.audit = Some(event.request);
            }
            return;
        }
        let lane = self.lanes.entry(event.watch.clone()).or_default();
        lane.place = Place::over(&event.watch, event.connection, before);
        let is_watch = event.verb() == Verb::Watch;
        if let Some(old) = &lane.open {
            old.stop_waiting(&event.watch, timers);
        }
        let has_just_ended = lane
            .ended_at
            .is_some_and(|at| record.at.micros_since(at) <= JUST_ENDED_US);
        let is_old = || server_version(before).is_none_or(|(minor, _)| minor < ANSWERS_UNREADY);
        let patience_us = if has_just_ended && is_old() {
            NO_ANSWER_OF_OLD_US
        } else {
            NO_ANSWER_US
        };
        let due = record.at.plus_micros(patience_us);
        if is_watch {
            lane.asks_bookmarks = options.bookmarks;
            timers.set(due, Timer::Answer(event.watch.clone()));
        }
        lane.open = Some(Open {
            request: event.request,
            seq: record.seq,
            at: record.at,
            is_watch,
            connection: event.connection,
            is_aggregated: is_aggregated(before, &event.watch),
            due,
            is_told: false,
        });
    }

    /// A stream is open, so its request was answered, whatever else was written of that.
    pub(super) fn opened(&mut self, event: &StreamOpened, timers: &mut Timers) {
        let Some(lane) = self.lanes.get_mut(&event.watch) else {
            return;
        };
        if let Some(open) = lane.open.take_if(|open| open.request == event.request) {
            open.stop_waiting(&event.watch, timers);
            lane.streams_over = Some(open.connection);
        }
        lane.watch.was_had = true;
        lane.ended_at = None;
    }

    /// A stream is over.
    pub(super) fn ended(
        &mut self,
        event: &StreamEnded,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let watch = &event.watch;
        // A stream that was cut off, or that we ended, shows nothing of what it could deliver.
        if event.cause == Cause::End && !is_barren(event) {
            self.delivered(watch, record, registry);
        }
        if let Some(lane) = self.lanes.get_mut(watch) {
            let over = lane.streams_over.take();
            let stream = before
                .watches
                .get(watch)
                .and_then(|watch| watch.stream.as_ref());
            lane.freed = over.zip(stream).and_then(|(connection, stream)| {
                let since = stream.since.at;
                let due = |timeout_ms: u64| since.plus_micros(timeout_ms as i64 * 1_000);
                // An end that was itself held back let nobody in: the server had ended it long before.
                let is_late = stream
                    .timeout_ms
                    .is_some_and(|timeout_ms| record.at.micros_since(due(timeout_ms)) > LET_IN_US);
                (!is_late).then_some(Freed {
                    connection,
                    since,
                    at: record.at,
                })
            });
            lane.ended_at = Some(record.at);
        }
    }

    /// A stream delivered something: what it is about can be read.
    pub(super) fn delivered(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        let broken = std::mem::take(&mut lane.broken);
        if broken.times >= BROKEN_STREAMS {
            let why = "The watch's stream delivers the type again.";
            registry.clear(Row::F38, Subject::Watch(watch.clone()), record.seq, why);
        }
    }

    /// A request was not answered in time.
    pub(super) fn no_answer(
        &mut self,
        watch: &WatchName,
        now: Time,
        registry: &mut FindingRegistry,
    ) {
        let Some(open) = self
            .lanes
            .get_mut(watch)
            .and_then(|lane| lane.open.as_mut())
        else {
            return;
        };
        open.is_told = true;
        let (since, evidence, connection) = (open.at, vec![open.seq], open.connection);
        let is_aggregated = open.is_aggregated;
        let mut summary = format!(
            "The watch request of {watch} has no answer for {} s; {}.",
            open.due.micros_since(open.at) / 1_000_000,
            headers_come(open.is_aggregated)
        );
        let may_be_cache = open.due.micros_since(open.at) > NO_ANSWER_US;
        let over = |lane: &&Lane| lane.streams_over == Some(connection);
        let beside = self.lanes.values().filter(over).count();
        // Beside few streams it is not their number: what is on the way may hold back the headers of those streams that
        // have nothing to tell yet.
        let (row, alike, certainty): (_, &'static [Row], _) = match beside {
            MANY_STREAMS.. => (Row::F50, &[Row::F44], Certainty::Likely),
            _ if may_be_cache => (
                Row::F44,
                &[Row::F16, Row::F17, Row::F50, Row::F04, Row::F15],
                Certainty::Suspected,
            ),
            _ => (
                Row::F44,
                &[Row::F50, Row::F04, Row::F15],
                Certainty::Suspected,
            ),
        };
        if beside > 0 {
            summary += &format!(
                " {} over its connection {} open.",
                count(beside as u64, "stream"),
                if beside == 1 { "is" } else { "are" }
            );
        }
        let subject = Subject::Watch(watch.clone());
        let mut found = FindingDraft::of(row, certainty, subject, evidence, since, summary);
        if row == Row::F44 {
            found = found.note_until(since.plus_micros(BEHIND_LONG_US));
        }
        if is_aggregated && beside < MANY_STREAMS {
            found.severity = Severity::Note;
            found.worsens = None;
        }
        found.shared = self.shared(row, watch, now);
        registry.raise(found.alike(alike), now);
    }

    /// What a watch shares with others that may have the same of one cause; where there are such, it waits for them.
    fn shared(&self, row: Row, watch: &WatchName, now: Time) -> Option<Shared> {
        let place = self.lanes.get(watch)?.place.as_ref()?;
        let subject = reach(row, place)?;
        // Who was answered has no part in a silence.
        let may_have_it = |lane: &Lane| {
            let open = lane.open.as_ref();
            let is_silent = open.is_some_and(|open| open.is_watch && !open.is_told);
            is_silent || !matches!(row, Row::F44 | Row::F50)
        };
        let mut others = self.lanes.iter().filter(|(other, _)| *other != watch);
        let has_others = others.any(|(_, lane)| {
            let place = lane.place.as_ref().filter(|_| may_have_it(lane));
            place.and_then(|place| reach(row, place)).as_ref() == Some(&subject)
        });
        Some(Shared {
            subject,
            summary: shared_sentence(row, place),
            together_us: if row == Row::F14 {
                CIRCLE_US
            } else {
                REVISED_US
            },
            // What lasts shows at each watch's next request.
            waits_until: has_others.then(|| {
                let lasts = matches!(row, Row::F18 | Row::F38 | Row::F40 | Row::F41);
                now.plus_micros(if lasts { REVISED_US } else { TOGETHER_US })
            }),
        })
    }

    /// A watch was answered, long after that was due. Where a connection is full, the next stream is let in when one of
    /// its own, that was open when it was asked for, has ended (F50); else the answer was held back (F44), or had to wait
    /// for its turn (F15). What holds back answers lets go of several at once, with the ends of streams among them.
    fn came_late(
        &self,
        watch: &WatchName,
        open: &Open,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let lets_in = |freed: Freed| {
            let was_full = freed.since <= open.at && freed.at >= open.at;
            let is_why = record.at.micros_since(freed.at) <= LET_IN_US;
            freed.connection == open.connection && was_full && is_why
        };
        let mut lanes = self.lanes.values();
        let is_let_in = lanes.any(|lane| lane.freed.is_some_and(lets_in));
        let (row, other, alike, why): (_, _, &'static [Row], _) = if is_let_in {
            let why = "It was answered once a stream of its connection had ended (F50).";
            (Row::F50, Row::F44, &[Row::F44], why)
        } else {
            let why = "It was answered though no stream of its connection had ended (F44).";
            (Row::F44, Row::F50, &[Row::F50, Row::F15], why)
        };
        let took = seconds(record.at.millis_since(open.at));
        let summary = format!(
            "The headers of the watch {watch} came after {took}; {}.",
            headers_come(open.is_aggregated)
        );
        let subject = Subject::Watch(watch.clone());
        if registry.stands(other, subject.clone()) {
            registry.clear(other, subject.clone(), record.seq, why);
            let evidence = vec![open.seq, record.seq];
            let mut found =
                FindingDraft::of(row, Certainty::Likely, subject, evidence, open.at, summary);
            found.shared = self.shared(row, watch, record.at);
            registry.raise(found.alike(alike), record.at);
            return;
        }
        registry.amend(row, subject, |found| {
            found.alike = alike;
            found.certainty = Certainty::Likely;
            found.evidence.push(record.seq);
            found.summary = summary;
            found.worsens = None;
        });
    }

    pub(super) fn answered(
        &mut self,
        event: &RequestAnswered,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        if let Some(watch) = event.watch.about() {
            self.audited(&watch, event, before, record, registry);
            return;
        }
        let Some(lane) = self.lanes.get_mut(&event.watch) else {
            return;
        };
        let open = lane.open.take_if(|open| open.request == event.request);
        if let Some(open) = &open {
            open.stop_waiting(&event.watch, timers);
        }
        let subject = Subject::Watch(event.watch.clone());
        let server = open
            .as_ref()
            .and_then(|open| before.connections.get(&open.connection))
            .map(|connection| connection.server.clone());
        let is_watch = open.as_ref().is_some_and(|open| open.is_watch);
        let Some(status) = event.status else {
            return;
        };
        if status != 401 {
            lane.unknown = 0;
        }
        if status == 200 {
            lane.throttled = Streak::default();
            *lane.right(is_watch) = Right {
                was_had: true,
                refused: 0,
            };
            lane.leak.take_if(|_| !is_watch);
            lane.not_found = None;
            if let Some(open) = open.as_ref().filter(|open| open.is_watch) {
                lane.streams_over = Some(open.connection);
            }
            if lane.unready.take().is_some() {
                let why = "The server's cache is ready.";
                registry.clear(Row::F15, subject.clone(), record.seq, why);
            }
            let refusals = [Row::F18, Row::F40, Row::F41].into_iter();
            for row in refusals {
                // A stream that may be had does not make a list allowed again, nor a list a stream.
                if row == Row::F41 && lane.lacks_right() {
                    continue;
                }
                registry.clear(
                    row,
                    subject.clone(),
                    record.seq,
                    "The server answers again.",
                );
            }
            if let Some(server) = server {
                self.calm(&server, record, registry);
            }
            if let Some(open) = open.filter(|open| open.is_told) {
                self.came_late(&event.watch, &open, record, registry);
            }
            return;
        }
        let words = event.error.as_deref().unwrap_or("");
        let (row, certainty, summary) = match status {
            // A server that has just started may not know credentials, roles or custom resources yet: it is asked again.
            401 if lane.had_success() => {
                lane.unknown += 1;
                if lane.unknown < SURE {
                    return;
                }
                let summary = format!(
                    "The server answered {} before, and does not know its credentials now (401).",
                    event.watch
                );
                (Row::F40, Certainty::Definite, summary)
            }
            403 if lane.right(is_watch).was_had => {
                let leak = lane.leak;
                let right = lane.right(is_watch);
                right.refused += 1;
                if right.refused < SURE && !leak.is_some_and(|leak| leak.is_told) {
                    return;
                }
                right.refused = SURE;
                lane.leak = None;
                let summary = match leak {
                    None => format!(
                        "{} was allowed before, and is forbidden now (403).",
                        event.watch
                    ),
                    Some(leak) => format!(
                        "{} was allowed before, and is forbidden now (403); its stream had gone on for {} after a list \
                         was refused.",
                        event.watch,
                        seconds(record.at.millis_since(leak.since.at))
                    ),
                };
                (Row::F41, Certainty::Definite, summary)
            }
            404 if lane.had_success() => {
                match lane.not_found {
                    Some(first) => self.not_found(&event.watch, first, record, registry),
                    None => lane.not_found = Some(record),
                }
                return;
            }
            410 if is_watch => {
                lane.is_expired = true;
                (
                    Row::F13,
                    Certainty::Definite,
                    format!(
                        "{} was told that its history is gone by HTTP status 410, where a server answers 200 and says it \
                         in the stream.",
                        event.watch
                    ),
                )
            }
            429 => {
                self.throttled(event, before, server, words, record, registry);
                return;
            }
            500 => {
                if !is_watch && is_unsaid(event) && is_secrets(before, &event.watch) {
                    self.fails_unsaid(&event.watch, record, registry);
                }
                self.poisoned(&event.watch, words, record, registry);
                return;
            }
            _ => return,
        };
        let lasts = if status == 410 {
            Lasts::Happened
        } else {
            Lasts::UntilCleared
        };
        let shared = self.shared(row, &event.watch, record.at);
        registry.raise(
            FindingDraft {
                lasts,
                shared,
                ..FindingDraft::of(
                    row,
                    certainty,
                    subject,
                    vec![record.seq],
                    record.at,
                    summary,
                )
            },
            record.at,
        );
    }

    /// A watch has another phase: discovery may have said that its resource is not served.
    pub(super) fn entered(
        &self,
        event: &WatchPhase,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let first = self.lanes.get(&event.watch).and_then(|lane| lane.not_found);
        if let Some(first) = first.filter(|_| event.reason == PhaseReason::NotDiscovered)
            && !registry.stands(Row::F18, Subject::Watch(event.watch.clone()))
        {
            self.not_found(&event.watch, first, record, registry);
        }
    }

    /// F18: a resource was not found, and that again, or by discovery.
    fn not_found(
        &self,
        watch: &WatchName,
        first: Moment,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let summary =
            format!("The resource of {watch} was served before, and is not found now (404).");
        let (subject, evidence) = (Subject::Watch(watch.clone()), vec![first.seq, record.seq]);
        let (sure, since) = (Certainty::Likely, first.at);
        let mut found = FindingDraft::of(Row::F18, sure, subject, evidence, since, summary);
        found.shared = self.shared(Row::F18, watch, record.at);
        registry.raise(found.until_cleared(), record.at);
    }

    /// A list of the audit was answered: what it may not list any more still comes by the stream, while that lasts.
    fn audited(
        &mut self,
        watch: &WatchName,
        event: &RequestAnswered,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        // Who may list need not be allowed to get.
        if lane.audit.take_if(|list| *list == event.request).is_none() {
            return;
        }
        let subject = Subject::Watch(watch.clone());
        let is_streaming = before
            .watches
            .get(watch)
            .is_some_and(|watch| watch.stream.is_some());
        match event.status {
            Some(403) if lane.list.was_had && is_streaming => {
                let Some(leak) = &mut lane.leak else {
                    let (since, is_told) = (record, false);
                    lane.leak = Some(Leak { since, is_told });
                    return;
                };
                if std::mem::replace(&mut leak.is_told, true) {
                    return;
                }
                let summary = format!(
                    "{watch} may not be listed any more (403), and its stream, which was allowed, goes on: it tells what \
                     nobody here may know."
                );
                let evidence = vec![leak.since.seq, record.seq];
                let (sure, since) = (Certainty::Definite, leak.since.at);
                let found = FindingDraft::of(Row::F41, sure, subject, evidence, since, summary);
                registry.raise(found.until_cleared(), record.at);
            }
            Some(200) => {
                lane.list.was_had = true;
                if lane.leak.take().is_some_and(|leak| leak.is_told) {
                    registry.clear(Row::F41, subject, record.seq, "It may be listed again.");
                }
            }
            _ => {}
        }
    }

    /// A refusal with 429 that is about the server's load; what says that it shuts down or that a cache begins anew is
    /// another row's.
    fn throttled(
        &mut self,
        event: &RequestAnswered,
        before: &State,
        server: Option<Text>,
        words: &str,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if server_words::is_initializing(words) {
            self.unready(event, server, record, registry);
            return;
        }
        let is_other = server_words::is_shutting_down(words);
        // Where its words might quote a Secret they are not kept, so it cannot be told which of them it is.
        if is_other || is_unsaid(event) && is_secrets(before, &event.watch) {
            return;
        }
        let (Some(server), Some(lane)) = (server, self.lanes.get_mut(&event.watch)) else {
            return;
        };
        lane.throttled.add(record);
        let in_a_row = &lane.throttled;
        let recent = self.throttles.entry(server.clone()).or_default();
        if recent.len() == STORM {
            recent.pop_front();
        }
        recent.push_back((record.at, record.seq));
        let is_storm = recent.len() == STORM
            && recent
                .front()
                .is_some_and(|(at, _)| record.at.micros_since(*at) <= STORM_US);
        if !is_storm && in_a_row.times < STORM_IN_A_ROW {
            return;
        }
        let (since, evidence, what) = if is_storm {
            let began = recent.front().map_or(record.at, |(at, _)| *at);
            let span = seconds(record.at.millis_since(began));
            let evidence: Vec<Seq> = recent.iter().map(|(_, seq)| *seq).collect();
            (began, evidence, format!("{STORM} requests in {span}"))
        } else {
            let what = format!(
                "{} in a row of {}",
                count(in_a_row.times, "request"),
                event.watch
            );
            (in_a_row.since, in_a_row.evidence.clone(), what)
        };
        registry.raise(
            FindingDraft::of(
                Row::F15,
                Certainty::Definite,
                Subject::Server(server.clone()),
                evidence,
                since,
                format!("{server} refused {what} with 429: it has too much to do."),
            ),
            record.at,
        );
    }

    /// A server's cache of a type begins anew, which is another row's while it is short.
    fn unready(
        &mut self,
        event: &RequestAnswered,
        server: Option<Text>,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(server), Some(lane)) = (server, self.lanes.get_mut(&event.watch)) else {
            return;
        };
        let unready = lane.unready.get_or_insert((server.clone(), record.at, 0));
        let (by, since, times) = unready;
        by.clone_from(&server);
        *times += 1;
        let lasts_us = record.at.micros_since(*since);
        if lasts_us < UNREADY_US || *times < STORM as u64 {
            return;
        }
        let summary = format!(
            "{server} refused {} of {} in a row with 429 for {}: its cache of the type does not become ready.",
            count(*times, "request"),
            event.watch,
            seconds(record.at.millis_since(*since))
        );
        let found = FindingDraft::of(
            Row::F15,
            Certainty::Definite,
            Subject::Watch(event.watch.clone()),
            vec![record.seq],
            *since,
            summary,
        );
        let shared = Shared {
            summary: format!(
                "{server} refuses requests for several types with 429: their caches do not become ready."
            ),
            subject: Subject::Server(server),
            together_us: UNREADY_US,
            waits_until: None,
        };
        let found = found.alike(&[Row::F16]).sharing(Some(shared));
        registry.raise(found.until_cleared(), record.at);
    }

    /// A server answered: its storm is over, if that was long ago.
    fn calm(&mut self, server: &Text, record: Moment, registry: &mut FindingRegistry) {
        // A storm and caches that are not ready are one finding of a server: it lasts until both are over.
        let mut unready = self.lanes.values().filter_map(|lane| lane.unready.as_ref());
        if unready.any(|(by, ..)| by == server) {
            return;
        }
        let last = self.throttles.get(server).and_then(|recent| recent.back());
        if last.is_some_and(|(at, _)| record.at.micros_since(*at) >= CALM_US) {
            self.throttles.remove(server);
            let subject = Subject::Server(server.clone());
            registry.clear(Row::F15, subject, record.seq, "The server answers again.");
        }
    }

    pub(super) fn stream_error(
        &mut self,
        event: &StreamError,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        match event.code {
            410 => {
                if let Some(lane) = self.lanes.get_mut(&event.watch) {
                    lane.is_expired = true;
                }
            }
            500 => {
                let words = event.message.as_deref().unwrap_or("");
                self.broken(&event.watch, words, record, registry);
            }
            _ => {}
        }
    }

    /// A stream ended with an ERROR 500. Where lists between such streams fail too, or there are none, the lists' row of
    /// failures says so first.
    fn broken(
        &mut self,
        watch: &WatchName,
        words: &str,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        self.poisoned(watch, words, record, registry);
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        if !server_words::is_about_objects(words) {
            lane.broken = Streak::default();
            return;
        }
        lane.broken.add(record);
        if lane.broken.times < BROKEN_STREAMS || lane.poison.times >= POISON {
            return;
        }
        let summary = format!(
            "{} of {watch} in a row ended with an ERROR about what cannot be read or converted (500), though the lists \
             between them succeeded.",
            count(lane.broken.times, "stream")
        );
        let found = FindingDraft::of(
            Row::F38,
            Certainty::Likely,
            Subject::Watch(watch.clone()),
            lane.broken.evidence.clone(),
            lane.broken.since,
            summary,
        );
        let shared = self.shared(Row::F38, watch, record.at);
        let found = FindingDraft { shared, ..found };
        registry.raise(found.until_cleared(), record.at);
    }

    /// A 500 that is about an object which cannot be read or converted.
    fn poisoned(
        &mut self,
        watch: &WatchName,
        words: &str,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        if !server_words::is_about_objects(words) {
            return;
        }
        lane.poison.add(record);
        if lane.poison.times < POISON {
            return;
        }
        let summary = format!(
            "An object of {watch} cannot be read or converted, and the server gives nothing of its type: it said \
             so {}.",
            count(lane.poison.times, "time")
        );
        let found = FindingDraft::of(
            Row::F38,
            Certainty::Likely,
            Subject::Watch(watch.clone()),
            lane.poison.evidence.clone(),
            lane.poison.since,
            summary,
        );
        let shared = self.shared(Row::F38, watch, record.at);
        let found = FindingDraft { shared, ..found }.until_cleared();
        registry.raise(found, record.at);
    }

    /// A list of Secrets fails with 500, and why is not kept.
    fn fails_unsaid(&mut self, watch: &WatchName, record: Moment, registry: &mut FindingRegistry) {
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        let streak = &mut lane.unsaid;
        streak.add(record);
        if streak.times < UNSAID {
            return;
        }
        let summary = format!(
            "The lists of {watch} fail, {} in a row by now (500). What the server says of Secrets is not kept: perhaps \
             it cannot read or convert one of them.",
            count(streak.times, "time")
        );
        let (subject, sure) = (Subject::Watch(watch.clone()), Certainty::Suspected);
        let found = FindingDraft::of(
            Row::F38,
            sure,
            subject,
            streak.evidence.clone(),
            streak.since,
            summary,
        );
        registry.raise(found.until_cleared(), record.at);
    }

    pub(super) fn changed(&mut self, event: &Change, before: &State, record: Moment) {
        let is_by_list = event.stream.is_none() || (is_listing(before, &event.watch));
        if event.origin != Origin::Inferred || !is_by_list {
            return;
        }
        if let Some(lane) = self.lanes.get_mut(&event.watch)
            && lane.inferred.len() < NAMED
        {
            lane.inferred.push(record.seq);
        }
    }

    pub(super) fn listed(
        &mut self,
        event: &ListComplete,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let watch = &event.watch;
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        let subject = Subject::Watch(watch.clone());
        lane.lists += 1;
        lane.poison = Streak::default();
        lane.unsaid = Streak::default();
        if lane.broken.times < BROKEN_STREAMS {
            let why = "The server lists the type again.";
            registry.clear(Row::F38, subject.clone(), record.seq, why);
        }
        let mut raise = |row, alike, certainty, evidence, summary| {
            registry.raise(
                FindingDraft::of(
                    row,
                    certainty,
                    subject.clone(),
                    evidence,
                    record.at,
                    summary,
                )
                .alike(alike),
                record.at,
            );
        };
        let mut evidence = std::mem::take(&mut lane.inferred);
        if event.removed > 0 && lane.lists > 1 {
            evidence.insert(0, record.seq);
            let summary = format!(
                "The list shows that {} of {watch} went while no stream told of it.",
                count(event.removed, "object")
            );
            raise(Row::F28, &[], Certainty::Definite, evidence, summary);
        }
        let progress = before
            .watches
            .get(watch)
            .and_then(|watch| watch.progress.as_ref())
            .and_then(ResourceVersion::number);
        let version = event
            .resource_version
            .number()
            .filter(|version| *version > 0);
        let (Some(version), is_expired) = (version, std::mem::take(&mut lane.is_expired)) else {
            return;
        };
        if let Some(progress) = progress.filter(|progress| version < *progress) {
            let summary = format!(
                "{watch} had come to {progress}, and a list answered at {version}: a state from before."
            );
            raise(
                Row::F22,
                &[Row::F33],
                Certainty::Definite,
                vec![record.seq],
                summary,
            );
        }
        if !is_expired {
            return;
        }
        if lane.circle.len() == CIRCLE {
            lane.circle.pop_front();
        }
        lane.circle.push_back((record.at, record.seq, version));
        let Some((began, _, first)) = lane.circle.front() else {
            return;
        };
        let is_quick = record.at.micros_since(*began) <= CIRCLE_US;
        if lane.circle.len() == CIRCLE && is_quick && version <= *first {
            let evidence = lane.circle.iter().map(|(_, seq, _)| *seq).collect();
            let summary = format!(
                "{watch} was told {CIRCLE} times in {} that its history is gone, and each list came no further than {version}.",
                seconds(record.at.millis_since(*began))
            );
            let found = FindingDraft::of(
                Row::F14,
                Certainty::Likely,
                subject,
                evidence,
                record.at,
                summary,
            );
            let shared = self.shared(Row::F14, watch, record.at);
            registry.raise(FindingDraft { shared, ..found }, record.at);
        }
    }
}

/// What refusals and silences of this row have in common, where several watches have them of one cause.
fn reach(row: Row, place: &Place) -> Option<Subject> {
    match row {
        Row::F50 => place.connection(),
        Row::F14 | Row::F18 | Row::F38 | Row::F41 => Some(place.type_there()),
        Row::F13 | Row::F44 => place.server(),
        Row::F40 => Some(Subject::Cluster),
        _ => None,
    }
}

/// What happened to requests of several watches.
fn shared_sentence(row: Row, place: &Place) -> String {
    let (server, what) = (place.server_words(), place.type_words());
    match row {
        Row::F13 => format!(
            "By HTTP status 410 {server} said that history is gone, where a server answers 200 and says it in the stream."
        ),
        Row::F14 => format!(
            "Again and again {server} gave no list of {what} from which its watches can go on."
        ),
        Row::F18 => format!("{what} was served by {server} before, and is not found now (404)."),
        Row::F38 => format!(
            "An object of {what} cannot be read or converted, and {server} gives nothing of its type."
        ),
        Row::F40 => {
            "The cluster answered before, and does not know the credentials now (401).".to_owned()
        }
        Row::F41 => format!("{what} was allowed at {server} before, and is forbidden now (403)."),
        Row::F50 => format!(
            "Watch requests over a connection to {server} had no answer for {} s, beside at least {MANY_STREAMS} streams.",
            NO_ANSWER_US / 1_000_000
        ),
        _ => format!(
            "Watch requests to {server} had no answer for {} s; a server sends its headers at once.",
            NO_ANSWER_US / 1_000_000
        ),
    }
}

/// When a server sends its headers.
fn headers_come(is_aggregated: bool) -> &'static str {
    if is_aggregated {
        "another apiserver may send its headers with its first event"
    } else {
        "a server sends its headers at once"
    }
}

/// Whether a refusal's words say nothing, or no more than the reason that its status has.
fn is_unsaid(event: &RequestAnswered) -> bool {
    event.error_text != Some(ErrorText::Message)
}

/// Whether a watch is one of Secrets, or it is not known what of.
fn is_secrets(state: &State, watch: &WatchName) -> bool {
    let watch = state.watches.get(watch);
    watch.is_none_or(|watch| &*watch.resource == "secrets")
}
