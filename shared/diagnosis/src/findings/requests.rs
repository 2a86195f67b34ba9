//! Findings about requests: refusals, watches that are not answered, lists that go back or in circles.

use std::collections::VecDeque;

use watchscope_model::event::{
    Change, ListComplete, RequestAnswered, RequestSent, StreamError, StreamOpened,
};
use watchscope_model::fold::Moment;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Certainty, Origin};
use watchscope_model::{
    ConnectionId, RequestId, ResourceVersion, Seq, State, Text, Time, WatchName,
};

use super::book::{Book, Found, Lasts, Subject};
use super::words::{count, is_listing, seconds, server_version};
use super::{Timer, Timers};
use crate::WHOLE;

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
const STORM_IN_A_ROW: usize = 3;
/// The words of a server that has not come as far as it is asked for (table 1.6).
const TOO_LARGE: &str = "Too large resource version";
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
/// So many failures in a row about what cannot be read or converted block a watch (F38).
const POISON: usize = 2;
/// Inferred deletions that are named as evidence.
const NAMED: usize = 8;

/// What is remembered of a watch's requests.
#[derive(Clone, Debug, Default)]
struct Lane {
    open: Option<Open>,
    asks_bookmarks: bool,
    /// Whether its last watch request asks for initial events (watch-list).
    asks_initial: bool,
    /// Whether the server ever answered it with 200.
    had_success: bool,
    /// Since when its objects may not be listed, though its stream goes on.
    leaks_since: Option<Time>,
    /// 429s in a row.
    throttled: Vec<Seq>,
    /// Since when, and how often in a row, it was told that the cache of its type is not ready.
    unready: Option<(Time, u64)>,
    /// Failures in a row about what cannot be read or converted.
    poison: Vec<Seq>,
    /// Lists after a 410: when, and at which version.
    circle: VecDeque<(Time, Seq, u64)>,
    /// Lists that no server had come far enough for (504).
    too_large: VecDeque<(Time, Seq)>,
    /// The connection of its open stream.
    streams_over: Option<ConnectionId>,
    /// Whether it was forbidden, once so far.
    is_forbidden: bool,
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

/// A request that has no answer.
#[derive(Clone, Debug)]
struct Open {
    request: RequestId,
    seq: Seq,
    at: Time,
    is_watch: bool,
    connection: ConnectionId,
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
            let lane = Lane {
                had_success: watch.list.is_some(),
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

    pub(super) fn asks_initial(&self, watch: &WatchName) -> bool {
        self.lanes.get(watch).is_some_and(|lane| lane.asks_initial)
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
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        if event.watch.is_aside() {
            let lane = event
                .watch
                .about()
                .and_then(|watch| self.lanes.get_mut(&watch));
            if let Some(lane) = lane.filter(|_| WHOLE && &*event.verb == "list") {
                lane.audit = Some(event.request);
            }
            return;
        }
        let lane = self.lanes.entry(event.watch.clone()).or_default();
        let is_watch = &*event.verb == "watch";
        if let Some(old) = &lane.open {
            old.stop_waiting(&event.watch, timers);
        }
        let has_just_ended = lane
            .ended_at
            .is_some_and(|at| record.at.micros_since(at) <= JUST_ENDED_US);
        let is_old = || server_version(before).is_none_or(|(minor, _)| minor < ANSWERS_UNREADY);
        let patience_us = if WHOLE && has_just_ended && is_old() {
            NO_ANSWER_OF_OLD_US
        } else {
            NO_ANSWER_US
        };
        let due = record.at.plus_micros(patience_us);
        if is_watch {
            let query = event.query.as_deref().unwrap_or_default();
            lane.asks_bookmarks = query.contains("allowWatchBookmarks=true");
            lane.asks_initial = query.contains("sendInitialEvents=true");
            timers.set(due, Timer::Answer(event.watch.clone()));
        }
        lane.open = Some(Open {
            request: event.request,
            seq: record.seq,
            at: record.at,
            is_watch,
            connection: event.connection,
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
        lane.ended_at = None;
    }

    /// A stream is over.
    pub(super) fn ended(&mut self, watch: &WatchName, record: Moment) {
        if let Some(lane) = self.lanes.get_mut(watch) {
            lane.streams_over = None;
            lane.ended_at = Some(record.at);
        }
    }

    /// A request was not answered in time.
    pub(super) fn no_answer(&mut self, watch: &WatchName, now: Time, book: &mut Book) {
        let Some(open) = self
            .lanes
            .get_mut(watch)
            .and_then(|lane| lane.open.as_mut())
        else {
            return;
        };
        open.is_told = true;
        let (since, evidence, connection) = (open.at, vec![open.seq], open.connection);
        let mut summary = format!(
            "The watch request of {watch} has no answer for {} s; a server sends its headers at once.",
            open.due.micros_since(open.at) / 1_000_000
        );
        let may_be_cache = open.due.micros_since(open.at) > NO_ANSWER_US;
        let over = |lane: &&Lane| lane.streams_over == Some(connection);
        let beside = if WHOLE {
            self.lanes.values().filter(over).count()
        } else {
            0
        };
        // Streams beside it that are answered are not held back by whoever is on the way.
        let (code, alike, certainty): (_, &'static [&'static str], _) = match beside {
            0 if may_be_cache => (
                "F44",
                &["F16", "F17", "F50", "F04", "F15"],
                Certainty::Suspected,
            ),
            0 => ("F44", &["F50", "F04", "F15"], Certainty::Suspected),
            1..MANY_STREAMS => ("F50", &["F44", "F04", "F15"], Certainty::Suspected),
            _ => ("F50", &["F44"], Certainty::Likely),
        };
        if WHOLE && beside > 0 {
            summary += &format!(
                " {} over its connection {} open.",
                count(beside as u64, "stream"),
                if beside == 1 { "is" } else { "are" }
            );
        }
        let subject = Subject::Watch(watch.clone());
        let found = Found::of(code, certainty, subject, evidence, since, summary);
        book.raise(found.alike(alike), now);
    }

    pub(super) fn answered(
        &mut self,
        event: &RequestAnswered,
        before: &State,
        record: Moment,
        book: &mut Book,
        timers: &mut Timers,
    ) {
        if WHOLE && let Some(watch) = event.watch.about() {
            self.audited(&watch, event, before, record, book);
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
        if status == 200 {
            lane.had_success = true;
            lane.is_forbidden = false;
            lane.throttled.clear();
            if WHOLE && let Some(open) = open.as_ref().filter(|open| open.is_watch) {
                lane.streams_over = Some(open.connection);
            }
            if WHOLE && lane.unready.take().is_some() {
                let why = "The server's cache is ready.";
                book.clear("F15", subject.clone(), record.seq, why);
            }
            let refusals = ["F18", "F40", "F41"].into_iter();
            for code in refusals.filter(|_| WHOLE) {
                // A stream that may be had does not make a list allowed again.
                if code == "F41" && is_watch && lane.leaks_since.is_some() {
                    continue;
                }
                book.clear(
                    code,
                    subject.clone(),
                    record.seq,
                    "The server answers again.",
                );
            }
            if let Some(server) = server {
                self.calm(&server, record, book);
            }
            if let Some(open) = open.filter(|open| open.is_told) {
                let took = seconds(record.at.millis_since(open.at));
                let (code, alike): (_, &'static [&'static str]) =
                    if WHOLE && book.stands("F50", subject.clone()) {
                        ("F50", &["F44"])
                    } else {
                        ("F44", &["F50"])
                    };
                book.amend(code, subject, |found| {
                    found.alike = alike;
                    found.certainty = Certainty::Likely;
                    found.evidence.push(record.seq);
                    found.summary = format!(
                        "The headers of the watch {} came after {took}; a server sends them at once.",
                        event.watch
                    );
                });
            }
            return;
        }
        let words = event.error.as_deref().unwrap_or("");
        let (code, certainty, summary) = match status {
            401 if WHOLE && lane.had_success => (
                "F40",
                Certainty::Definite,
                format!(
                    "The server answered {} before, and does not know its credentials now (401).",
                    event.watch
                ),
            ),
            // A server that has just started may not have read its roles yet: it is asked again.
            403 if WHOLE
                && lane.had_success
                && !lane.is_forbidden
                && lane.leaks_since.is_none() =>
            {
                lane.is_forbidden = true;
                return;
            }
            403 if WHOLE && lane.had_success => (
                "F41",
                Certainty::Definite,
                match lane.leaks_since.take().filter(|_| WHOLE) {
                    None => format!(
                        "{} was allowed before, and is forbidden now (403).",
                        event.watch
                    ),
                    Some(since) => format!(
                        "{} was allowed before, and is forbidden now (403); its stream had gone on for {} after a list \
                         was refused.",
                        event.watch,
                        seconds(record.at.millis_since(since))
                    ),
                },
            ),
            404 if WHOLE && lane.had_success => (
                "F18",
                Certainty::Likely,
                format!(
                    "The resource of {} was served before, and is not found now (404).",
                    event.watch
                ),
            ),
            410 if is_watch => {
                lane.is_expired = true;
                (
                    "F13",
                    Certainty::Definite,
                    format!(
                        "{} was told that its history is gone by HTTP status 410, where a server answers 200 and says it \
                         in the stream.",
                        event.watch
                    ),
                )
            }
            429 => {
                self.throttled(event, before, server, words, record, book);
                return;
            }
            500 if WHOLE => {
                self.poisoned(&event.watch, words, record, book);
                return;
            }
            504 if WHOLE && !is_watch && words.contains(TOO_LARGE) => {
                self.too_large(&event.watch, before, record, book);
                return;
            }
            _ => return,
        };
        let lasts = if status == 410 {
            Lasts::Happened
        } else {
            Lasts::UntilCleared
        };
        book.raise(
            Found {
                lasts,
                ..Found::of(
                    code,
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

    /// F14: no server that answers has come as far as the watch, again and again.
    fn too_large(&mut self, watch: &WatchName, before: &State, record: Moment, book: &mut Book) {
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        if lane.too_large.len() == CIRCLE {
            lane.too_large.pop_front();
        }
        lane.too_large.push_back((record.at, record.seq));
        let Some((began, _)) = lane.too_large.front() else {
            return;
        };
        if lane.too_large.len() < CIRCLE || record.at.micros_since(*began) > CIRCLE_US {
            return;
        }
        let progress = before.watches.get(watch);
        let progress = progress.and_then(|watch| watch.progress.as_ref());
        let far = progress.map_or_else(String::new, |progress| format!(" as far as {progress}"));
        let summary = format!(
            "{watch} was told {CIRCLE} times in {} that no list{far} can be had (504): those who answer have not come so \
             far.",
            seconds(record.at.millis_since(*began))
        );
        let evidence = lane.too_large.iter().map(|(_, seq)| *seq).collect();
        let subject = Subject::Watch(watch.clone());
        let found = Found::of("F14", Certainty::Likely, subject, evidence, *began, summary);
        book.raise(found.alike(&["F31", "F32"]), record.at);
    }

    /// A list of the audit was answered: what it may not list any more still comes by the stream, while that lasts.
    fn audited(
        &mut self,
        watch: &WatchName,
        event: &RequestAnswered,
        before: &State,
        record: Moment,
        book: &mut Book,
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
            Some(403) if lane.had_success && is_streaming && lane.leaks_since.is_none() => {
                lane.leaks_since = Some(record.at);
                let summary = format!(
                    "{watch} may not be listed any more (403), and its stream, which was allowed, goes on: it tells what \
                     nobody here may know."
                );
                let evidence = vec![record.seq];
                let found = Found::of(
                    "F41",
                    Certainty::Definite,
                    subject,
                    evidence,
                    record.at,
                    summary,
                );
                book.raise(found.until_cleared(), record.at);
            }
            Some(200) if lane.leaks_since.take().is_some() => {
                book.clear("F41", subject, record.seq, "It may be listed again.");
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
        book: &mut Book,
    ) {
        if WHOLE && words.contains("initializing") {
            self.unready(event, server, record, book);
            return;
        }
        let is_other = words.contains("shutting down") || words.contains("initializing");
        // Where its words might quote a Secret they are not kept, so it cannot be told which of them it is.
        let is_unsaid = words.is_empty() || words.starts_with("the server answered");
        let is_secrets = before
            .watches
            .get(&event.watch)
            .is_none_or(|watch| &*watch.resource == "secrets");
        if is_other || is_unsaid && (is_secrets || !WHOLE) {
            return;
        }
        let (Some(server), Some(lane)) = (server, self.lanes.get_mut(&event.watch)) else {
            return;
        };
        lane.throttled.push(record.seq);
        if lane.throttled.len() > STORM {
            lane.throttled.remove(0);
        }
        let in_a_row = lane.throttled.clone();
        let recent = self.throttles.entry(server.clone()).or_default();
        if recent.len() == STORM {
            recent.pop_front();
        }
        recent.push_back((record.at, record.seq));
        let is_storm = recent.len() == STORM
            && recent
                .front()
                .is_some_and(|(at, _)| record.at.micros_since(*at) <= STORM_US);
        if !is_storm && in_a_row.len() < STORM_IN_A_ROW {
            return;
        }
        let (evidence, what) = if is_storm {
            let began = recent.front().map_or(record.at, |(at, _)| *at);
            let span = seconds(record.at.millis_since(began));
            let evidence: Vec<Seq> = recent.iter().map(|(_, seq)| *seq).collect();
            (evidence, format!("{STORM} requests in {span}"))
        } else {
            let what = format!(
                "{} in a row of {}",
                count(in_a_row.len() as u64, "request"),
                event.watch
            );
            (in_a_row, what)
        };
        book.raise(
            Found::of(
                "F15",
                Certainty::Definite,
                Subject::Server(server.clone()),
                evidence,
                record.at,
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
        book: &mut Book,
    ) {
        let (Some(server), Some(lane)) = (server, self.lanes.get_mut(&event.watch)) else {
            return;
        };
        let (since, times) = lane.unready.get_or_insert((record.at, 0));
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
        let found = Found::of(
            "F15",
            Certainty::Definite,
            Subject::Watch(event.watch.clone()),
            vec![record.seq],
            *since,
            summary,
        );
        book.raise(found.alike(&["F16"]).until_cleared(), record.at);
    }

    /// A server answered: its storm is over, if that was long ago.
    fn calm(&mut self, server: &Text, record: Moment, book: &mut Book) {
        let last = self.throttles.get(server).and_then(|recent| recent.back());
        if last.is_some_and(|(at, _)| record.at.micros_since(*at) >= CALM_US) {
            self.throttles.remove(server);
            let subject = Subject::Server(server.clone());
            book.clear("F15", subject, record.seq, "The server answers again.");
        }
    }

    pub(super) fn stream_error(
        &mut self,
        event: &StreamError,
        before: &State,
        record: Moment,
        book: &mut Book,
    ) {
        match event.code {
            504 if WHOLE
                && event
                    .message
                    .as_deref()
                    .is_some_and(|words| words.contains(TOO_LARGE)) =>
            {
                self.too_large(&event.watch, before, record, book);
            }
            410 => {
                if let Some(lane) = self.lanes.get_mut(&event.watch) {
                    lane.is_expired = true;
                }
            }
            500 => {
                let words = event.message.as_deref().unwrap_or("");
                self.poisoned(&event.watch, words, record, book);
            }
            _ => {}
        }
    }

    /// A 500 that is about an object which cannot be read or converted.
    fn poisoned(&mut self, watch: &WatchName, words: &str, record: Moment, book: &mut Book) {
        let is_about_objects = ["conversion", "decode", "convert", "transform"]
            .iter()
            .any(|word| words.contains(word));
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        if !is_about_objects {
            return;
        }
        lane.poison.push(record.seq);
        if lane.poison.len() > STORM {
            lane.poison.remove(0);
        }
        if lane.poison.len() < POISON {
            return;
        }
        let summary = format!(
            "An object of {watch} cannot be read or converted, and the server gives nothing of its type: it said \
             so {}.",
            count(lane.poison.len() as u64, "time")
        );
        let found = Found::of(
            "F38",
            Certainty::Likely,
            Subject::Watch(watch.clone()),
            lane.poison.clone(),
            record.at,
            summary,
        )
        .until_cleared();
        book.raise(found, record.at);
    }

    pub(super) fn changed(&mut self, event: &Change, before: &State, record: Moment) {
        let is_by_list = event.stream.is_none() || (WHOLE && is_listing(before, &event.watch));
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
        book: &mut Book,
    ) {
        let watch = &event.watch;
        let Some(lane) = self.lanes.get_mut(watch) else {
            return;
        };
        let subject = Subject::Watch(watch.clone());
        lane.lists += 1;
        lane.poison.clear();
        book.clear(
            "F38",
            subject.clone(),
            record.seq,
            "The server lists the type again.",
        );
        let mut raise = |code, alike, certainty, evidence, summary| {
            book.raise(
                Found::of(
                    code,
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
            raise("F28", &[], Certainty::Definite, evidence, summary);
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
                "F22",
                &["F33"],
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
            raise("F14", &[], Certainty::Likely, evidence, summary);
        }
    }
}
