//! Findings about watch requests without an answer, or with a late answer (F44, F50).

use watchscope_model::event::{RequestSent, StreamEnded, StreamOpened};
use watchscope_model::fold::Moment;
use watchscope_model::options::ListOptions;
use watchscope_model::vocabulary::{Cause, Certainty, Severity, Verb};
use watchscope_model::{Row, State, Time, WatchName};

use super::state::{Freed, MANY_STREAMS, NO_ANSWER_US, OpenRequest, RequestState, Requests};
use crate::attribution::is_barren;
use crate::findings::draft::{BEHIND_LONG_US, FindingDraft, Subject};
use crate::findings::place::Place;
use crate::findings::questions::is_aggregated;
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::{Timer, Timers};
use crate::text::{count, seconds};
use crate::versions::server_version;

/// Like [`NO_ANSWER_US`], in µs, if the watch's stream has just ended and the server may be older than 1.31. Such a
/// server lets requests wait while its watch cache of the resource begins anew (F16, F17;
/// docs/semantics/requests.md#not-ready). The number has no source: it is time for a watch cache to list its resource.
const NO_ANSWER_OF_OLD_US: i64 = 30_000_000;
/// The first minor version that answers 429 while a watch cache is not ready (ResilientWatchCacheInitialization;
/// docs/semantics/versions.md#not-ready-429).
const ANSWERS_UNREADY: u64 = 31;
/// Time in µs before a request within which the end of the watch's stream counts as the reason for the request. A watch
/// resumes at once, or after its first delays (docs/semantics/clients.md#reflector). The number has no source.
const JUST_ENDED_US: i64 = 30_000_000;
/// Time in µs before an answer within which the end of another stream may have made room for it on the connection
/// (F50). An end that comes later than this time after its stream's timeout did not make room. The number has no
/// source.
const LET_IN_US: i64 = 1_000_000;

impl Requests {
    /// Returns whether the last watch request asked for bookmarks.
    pub(crate) fn asks_bookmarks(&self, watch: &WatchName) -> bool {
        self.watches
            .get(watch)
            .is_some_and(|state| state.asks_bookmarks)
    }

    /// Notes a request of a watch.
    pub(crate) fn sent(
        &mut self,
        event: &RequestSent,
        options: &ListOptions<'_>,
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        if event.watch.is_aside() {
            let state = event
                .watch
                .about()
                .and_then(|watch| self.watches.get_mut(&watch));
            if let Some(state) = state.filter(|_| event.verb() == Verb::List) {
                state.audit_list = Some(event.request);
            }
            return;
        }
        let state = self.watches.entry(event.watch.clone()).or_default();
        state.place = Place::over(&event.watch, event.connection, before);
        let is_watch = event.verb() == Verb::Watch;
        if let Some(old) = &state.open {
            old.stop_waiting(&event.watch, timers);
        }
        let has_just_ended = state
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
            state.asks_bookmarks = options.bookmarks;
            timers.set(due, Timer::Answer(event.watch.clone()));
        }
        state.open = Some(OpenRequest {
            request: event.request,
            seq: record.seq,
            at: record.at,
            is_watch,
            connection: event.connection,
            is_aggregated: is_aggregated(before, &event.watch),
            due,
            is_reported: false,
        });
    }

    /// Notes that a stream was opened, so that its request counts as answered.
    pub(crate) fn opened(&mut self, event: &StreamOpened, timers: &mut Timers) {
        let Some(state) = self.watches.get_mut(&event.watch) else {
            return;
        };
        if let Some(open) = state.open.take_if(|open| open.request == event.request) {
            open.stop_waiting(&event.watch, timers);
            state.stream_connection = Some(open.connection);
        }
        state.watch.was_had = true;
        state.ended_at = None;
    }

    /// Notes that a stream ended.
    pub(crate) fn ended(
        &mut self,
        event: &StreamEnded,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let watch = &event.watch;
        // A stream that was cut off, or that watchscope ended, does not show which events it could deliver.
        if event.cause == Cause::End && !is_barren(event) {
            self.delivered(watch, record, registry);
        }
        if let Some(state) = self.watches.get_mut(watch) {
            let over = state.stream_connection.take();
            let stream = before
                .watches
                .get(watch)
                .and_then(|watch| watch.stream.as_ref());
            state.freed = over.zip(stream).and_then(|(connection, stream)| {
                let since = stream.since.at;
                let due = |timeout_ms: u64| since.plus_micros(timeout_ms as i64 * 1_000);
                // An end that was held back made no room: the server had ended the stream long before.
                let is_late = stream
                    .timeout_ms
                    .is_some_and(|timeout_ms| record.at.micros_since(due(timeout_ms)) > LET_IN_US);
                (!is_late).then_some(Freed {
                    connection,
                    since,
                    at: record.at,
                })
            });
            state.ended_at = Some(record.at);
        }
    }

    /// Raises F44 or F50: the server did not answer a watch request in time.
    pub(crate) fn no_answer(
        &mut self,
        watch: &WatchName,
        now: Time,
        registry: &mut FindingRegistry,
    ) {
        let Some(open) = self
            .watches
            .get_mut(watch)
            .and_then(|state| state.open.as_mut())
        else {
            return;
        };
        open.is_reported = true;
        let (since, evidence, connection) = (open.at, vec![open.seq], open.connection);
        let is_aggregated = open.is_aggregated;
        let mut summary = format!(
            "The watch request of {watch} has no answer for {} s; {}.",
            open.due.micros_since(open.at) / 1_000_000,
            headers_come(open.is_aggregated)
        );
        let may_be_cache = open.due.micros_since(open.at) > NO_ANSWER_US;
        let over = |state: &&RequestState| state.stream_connection == Some(connection);
        let beside = self.watches.values().filter(over).count();
        // Few streams do not fill a connection. A proxy may hold back the headers of streams that have no event to
        // deliver yet.
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

    /// Judges a late answer to a watch request. On a full connection a request is answered only when a stream that was
    /// open before has ended (F50). Otherwise a proxy held the answer back (F44), or the request waited for its turn at
    /// a busy server (F15). A proxy that holds answers back releases several at once, with ends of streams among them.
    pub(super) fn came_late(
        &self,
        watch: &WatchName,
        open: &OpenRequest,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let lets_in = |freed: Freed| {
            let was_full = freed.since <= open.at && freed.at >= open.at;
            let is_why = record.at.micros_since(freed.at) <= LET_IN_US;
            freed.connection == open.connection && was_full && is_why
        };
        let mut watches = self.watches.values();
        let is_let_in = watches.any(|state| state.freed.is_some_and(lets_in));
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
}

/// Returns the words that say when a server sends its headers, as part of a sentence.
fn headers_come(is_aggregated: bool) -> &'static str {
    if is_aggregated {
        "another apiserver may send its headers with its first event"
    } else {
        "a server sends its headers at once"
    }
}
