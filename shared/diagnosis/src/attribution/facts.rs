//! The facts that attribution uses: open streams, the ends of the last seconds, and the events around them.

use std::collections::VecDeque;

use watchscope_model::event::{
    Change, RequestAnswered, RequestSent, StreamEnded, StreamError, StreamOpened, WatchPhase,
};
use watchscope_model::fold::Moment;
use watchscope_model::options::ListOptions;
use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{
    Cause, Certainty, ChangeType, FrameLoss, LossPlace, Origin, Phase, PhaseReason,
};
use watchscope_model::{
    ConnectionId, Event, ResourceVersion, Row, Seq, State, StreamId, Text, Time, WatchName,
};

use super::end::{End, Interruption, OwnPause, ServerError, Stream, Unread};
use super::fact::{Fact, FactKind};
use super::judgement::{Judgement, is_suspicion};
use super::own::is_plain;
use super::runs::Runs;
use crate::server_words;

/// Time in µs within which ends of streams count as "together" (docs/semantics/streams.md#together). So the judgement
/// of an end that does not explain itself comes this time after the end at the earliest. It is also the time after a
/// resume within which events count as replayed at once. Some findings wait this time for other watches with the same
/// cause. The number has no source. A longer time would group more ends of different causes; a shorter time would
/// separate ends of one cause.
pub const TOGETHER_US: i64 = 250_000;
/// Time in µs after an end within which its judgement may be replaced (docs/semantics/streams.md#revised). After it a
/// judgement is final, except a suspicion ([`SUSPICION_REVISED_US`]). An end that has no judgement by then still gets
/// one, at the next call of [`Diagnosis::conclude`](crate::Diagnosis::conclude). This time includes a watch's first
/// retry after a failure, which comes after 1.6 s at most (docs/semantics/clients.md#reflector); the rest has no
/// source. Failed requests of several watches within this time may be one finding. A stream that ends up to this time
/// before its server says that it shuts down may have ended because of the shutdown.
pub const REVISED_US: i64 = 2_000_000;
/// Time in µs after an end at which a suspicion, or `unknown`, is final: 12.25 s (docs/semantics/streams.md#revised).
/// If the watch meets a 410 when it resumes, its next list may show that the server's cache was built anew. The time is
/// [`REVISED_US`], [`TOGETHER_US`], and the 10 s for which attribution waits for that list. If the watch resumes later
/// than 2.25 s after the end, such a list may come later, too.
pub const SUSPICION_REVISED_US: i64 = REVISED_US + TOGETHER_US + LIST_US;
/// The most ends that are kept. A further end makes attribution forget the oldest end. The published judgement of that
/// end stays, and later ends are not grouped with it; an end that has no judgement by then gets none. Findings keep at
/// most as many ends until they are settled; a further end drops the one whose stream opened first. An end seldom
/// matters for over 12.25 s, so the limit allows over 300 ends a second. The number has no other source.
pub const MAX_ENDS: usize = 4_096;
/// The most facts, and the most edited CRDs, that are kept. A further fact makes attribution forget the oldest fact. A
/// further edit makes it forget edits older than 130 s, which end no stream any more. If no edit is that old, the
/// further edit is not kept. Facts matter for 2.25 s, or for 12.25 s while an end before them waits for a list. So the
/// limit allows 1,800 facts a second, or 330 during such a wait. Edits matter for 130 s, so it allows 30 edits a
/// second. The number has no other source.
pub const MAX_FACTS: usize = 4_096;
/// Time in µs after an edit of a CRD within which the watches of its resource may end because of the edit (F17;
/// docs/semantics/streams.md#rule-definition-edited). The server waits up to two request timeouts, 120 s, before it
/// ends the old storage (`customresource_handler.go`, docs/semantics/versions.md#crd-edit). The other 10 s are for
/// delays, and have no source.
const EDIT_US: i64 = 130_000_000;
/// Time in µs after a server last said that it shuts down within which its streams may end because of the shutdown
/// (F07; docs/semantics/streams.md#rule-shutting-down). Ends by a shutdown within this time may also be one finding.
/// The number has no source: it is as long as a request may take (docs/semantics/servers.md#request-timeout).
pub(crate) const DRAIN_US: i64 = 60_000_000;
/// Most servers that attribution remembers because they shut down. A further server is not remembered. The limit bounds
/// the memory. The number has no source.
const MAX_DRAINING: usize = 64;
/// Length in ms below which a pause of watchscope closes no connection (docs/semantics/streams.md#rule-short-pause).
/// Such a pause only explains ends that come because watchscope did not read or send. The length is that for which a
/// ping may stay unanswered before its connection counts as dead (docs/semantics/servers.md#ping).
const SHORT_PAUSE_MS: u64 = 15_000;
/// Least number of events of its resource that a watch cache keeps before it drops the oldest
/// (docs/semantics/servers.md#ring). A list after a 410, less than 100 revisions above the cache's oldest, can show
/// that the cache was built anew ([`Expiry`]). From 100 on, the list proves nothing.
const CACHED_EVENTS: u64 = 100;
/// Time in µs that attribution waits for the list after a 410. This list shows whether the watch cache was built anew
/// (docs/semantics/streams.md#rule-cache-rebuilt). A list after this time explains nothing. The number has no source. A
/// longer time would keep more judgements open; a shorter time would miss slow lists.
const LIST_US: i64 = 10_000_000;

/// A 410 that a watch got from a watch cache when it resumed after an orderly end of its stream. The value is kept
/// until the watch's next list, for [`LIST_US`] at most.
///
/// The list explains the 410. A cache drops events only while it holds at least [`CACHED_EVENTS`] of them, and events
/// of one resource hardly ever share a revision. So a cache whose newest revision is less than 100 above its oldest has
/// most likely dropped no event. It was built anew at the oldest revision. After many writes between the 410 and the
/// list, the list's version is higher and proves nothing.
///
/// A cache ends its streams before it is built anew. So the end has another reason if any watch had received a version
/// above the cache's oldest before the end: in this case the cache was built earlier. Behind a load balancer, for
/// example, one server may end the stream and another server answer the resume.
#[derive(Clone, Debug)]
struct Expiry {
    /// The stream that ended before the resume.
    ended: StreamId,
    /// The record of the 410.
    seq: Seq,
    /// The oldest resourceVersion from which the watch cache can resume a watch.
    oldest: u64,
    remote: Text,
    /// When attribution stops waiting for the list.
    until: Time,
}

/// A server that said that it shuts down.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// The first record that says that the server shuts down.
    first: Moment,
    /// When the last record said that the server shuts down.
    last_at: Time,
}

/// Open streams, ends and facts. There is at most one open stream for each watch. [`MAX_ENDS`], [`MAX_FACTS`] and time
/// bound the ends and facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamFacts {
    open: BTreeMap<StreamId, Stream>,
    ends: VecDeque<End>,
    facts: VecDeque<Fact>,
    /// The last edit of each CRD, by the CRD's name.
    edits: BTreeMap<Text, Moment>,
    /// Servers that said that they shut down, by address.
    draining: BTreeMap<Text, Drain>,
    runs: Runs,
    /// For each watch, the record of its last stream's end, if F36 (a slow reader) is likely or definite for that end.
    slow: BTreeMap<WatchName, Seq>,
    /// The watches whose last request asked for initial events (watch-list).
    asks_initial: BTreeSet<WatchName>,
    /// The 410s for which a list is still awaited: at most one for each watch, for at most [`LIST_US`].
    expiries: BTreeMap<WatchName, Expiry>,
    /// Whether something came since the last round of judgements that may change a judgement.
    is_news: bool,
}

impl StreamFacts {
    /// Returns the facts known from a fold: streams that are open in it are judged when they end.
    pub(crate) fn since(state: &State) -> Self {
        let mut facts = Self::default();
        for (name, watch) in &state.watches {
            if let Some(open) = &watch.stream {
                let mut stream = Stream::of(name, watch, state, open.since.at);
                stream.from = open.resource_version.clone();
                stream.timeout_ms = open.timeout_ms;
                facts.open.insert(open.stream, stream);
            }
        }
        facts
    }

    /// Takes the next record. `options` are the list options of the request, if the record is a request.
    pub(crate) fn observe(
        &mut self,
        before: &State,
        event: &Event,
        options: &ListOptions<'_>,
        record: Moment,
    ) {
        match event {
            Event::StreamOpened(event) => self.opened(event, before, record),
            Event::StreamError(event) => self.erred(event, record),
            Event::ListPage(event) => {
                self.listed(&event.watch, &event.resource_version, before, record);
            }
            Event::Bookmark(event) if event.initial_events_end == Some(true) => {
                self.listed(&event.watch, &event.resource_version, before, record);
            }
            Event::Loss(event) if event.place == LossPlace::Frame => {
                let open = self.open.values_mut();
                let mut of_watch =
                    open.filter(|stream| event.watch.as_ref() == Some(&stream.watch));
                if let Some(stream) = of_watch.next() {
                    stream.unread = Some(Unread {
                        seq: record.seq,
                        is_other_kind: event.what == Some(FrameLoss::OtherKind),
                    });
                }
            }
            Event::StreamEnded(event) => self.ended(event, before, record),
            Event::WatchStopped(event) => {
                self.open.retain(|_, stream| stream.watch != event.watch);
                self.asks_initial.remove(&event.watch);
                self.slow.remove(&event.watch);
                self.expiries.remove(&event.watch);
                let open = &self.open;
                self.runs
                    .forget(&event.watch, |stream| open.contains_key(stream));
            }
            Event::ConnectionClosed(event) if event.cause != Cause::Cancelled => {
                let whose = self
                    .ends
                    .iter()
                    .find(|end| end.stream.connection == Some(event.connection));
                if let Some(end) = whose {
                    let watch = end.stream.watch.clone();
                    self.fact(FactKind::Closed, watch, Some(event.connection), record);
                }
            }
            Event::WatchPhase(event) => self.phase(event, record),
            Event::RequestSent(event) => self.sent(event, options, before, record),
            Event::RequestAnswered(event) => self.answered(event, before, record),
            Event::Clock(event) => {
                if let Some(lasted_ms) = event.paused_ms {
                    self.paused(lasted_ms, before, record);
                }
            }
            Event::Change(event) => {
                self.replayed(event, record);
                self.edited(event, before, record);
            }
            _ => {}
        }
    }

    /// Notes that a stream was opened.
    fn opened(&mut self, event: &StreamOpened, before: &State, record: Moment) {
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        let mut stream = Stream::of(&event.watch, watch, before, record.at);
        stream.from = event.resource_version.clone();
        stream.timeout_ms = watch
            .request
            .as_ref()
            .filter(|request| request.request == event.request)
            .and_then(|request| request.timeout_ms);
        self.open.insert(event.stream, stream);
        let listed = watch.list.as_ref().and_then(|list| list.complete);
        let mut ends = self.ends.iter().rev();
        let last = ends.find(|end| end.stream.watch == event.watch);
        let resumes = last.is_some_and(|end| {
            end.cause == Cause::End && listed.is_none_or(|listed| listed.seq < end.seq)
        });
        if resumes {
            self.runs.resumed(event.stream, record.at);
        }
    }

    /// Notes that a watch sent a request.
    fn sent(
        &mut self,
        event: &RequestSent,
        options: &ListOptions<'_>,
        before: &State,
        record: Moment,
    ) {
        if options.initial_events {
            self.asks_initial.insert(event.watch.clone());
        } else {
            self.asks_initial.remove(&event.watch);
        }
        let remote = before
            .connections
            .get(&event.connection)
            .map(|connection| &connection.remote);
        let mut ends = self.ends.iter().rev();
        let last = ends.find(|end| end.stream.watch == event.watch);
        if let (Some(remote), Some(last)) = (remote, last)
            && last.stream.remote.as_ref().is_some_and(|old| old != remote)
        {
            self.fact(FactKind::Moved, event.watch.clone(), None, record);
        }
    }

    /// Notes that a stream delivered an ERROR event.
    fn erred(&mut self, event: &StreamError, record: Moment) {
        let Some(stream) = self.open.get_mut(&event.stream) else {
            return;
        };
        let message = event.message.as_deref().unwrap_or("");
        let mut ends = self.ends.iter().rev();
        let last = ends.find(|end| end.stream.watch == event.watch);
        if let (410, Some(oldest), Some(last), Some(remote)) = (
            event.code,
            server_words::oldest_left(message),
            last,
            &stream.remote,
        ) && last.cause == Cause::End
            && last.stream.remote.as_ref() == Some(remote)
            && !is_plain(last)
            && !last.is_rebuilding()
            && stream
                .from
                .as_ref()
                .is_some_and(ResourceVersion::is_ordered)
        {
            let expiry = Expiry {
                ended: last.id,
                seq: record.seq,
                oldest,
                remote: remote.clone(),
                until: record.at.plus_micros(LIST_US),
            };
            self.expiries.insert(event.watch.clone(), expiry);
        }
        stream.error = Some(ServerError {
            seq: record.seq,
            code: event.code,
            reason: event.reason.clone(),
            message: event.message.clone(),
        });
    }

    /// Notes the state of a watch after a list or the end of initial events. The version of the list shows which
    /// version the server's watch cache has reached.
    fn listed(
        &mut self,
        watch: &WatchName,
        version: &ResourceVersion,
        before: &State,
        record: Moment,
    ) {
        let Some(expiry) = self.expiries.remove(watch) else {
            return;
        };
        let connection = before.watches.get(watch).and_then(|watch| watch.connection);
        let remote = connection.and_then(|it| Some(&before.connections.get(&it)?.remote));
        let holds = version
            .number()
            .and_then(|version| version.checked_sub(expiry.oldest));
        let is_rebuilt = holds.is_some_and(|holds| holds < CACHED_EVENTS);
        if !is_rebuilt || remote != Some(&expiry.remote) || record.at > expiry.until {
            return;
        }
        let mut ends = self.ends.iter_mut().rev();
        if let Some(end) = ends.find(|end| end.id == expiry.ended)
            && end.highest.is_none_or(|highest| highest <= expiry.oldest)
        {
            end.rebuilt = Some([expiry.seq, record.seq]);
            self.is_news = true;
        }
    }

    /// Returns when attribution stops waiting for the list that explains a watch's 410; `None` if it does not wait.
    pub(crate) fn awaits_list(&self, watch: &WatchName) -> Option<Time> {
        self.expiries.get(watch).map(|expiry| expiry.until)
    }

    /// Counts the events that a stream delivers right after it resumed its watch.
    fn replayed(&mut self, event: &Change, record: Moment) {
        if self.runs.has_no_replay() || event.origin != Origin::Live {
            return;
        }
        if self.runs.delivered(event.stream, record.at, TOGETHER_US) {
            self.fact(FactKind::Replayed, event.watch.clone(), None, record);
        }
    }

    /// Notes that a stream ended.
    fn ended(&mut self, event: &StreamEnded, before: &State, record: Moment) {
        let Some(stream) = self.open.remove(&event.stream) else {
            return;
        };
        let slow_before = self.slow.remove(&event.watch);
        let barren = self.runs.barren(event, &stream);
        // A watch is in the phase `listing` while initial events come.
        let phase = before
            .watches
            .get(&event.watch)
            .and_then(|watch| watch.phase.as_ref());
        let is_listing = phase.is_some_and(|open| open.phase == Phase::Listing);
        let is_cut_short = is_listing && self.asks_initial(&event.watch);
        let cut_short = self.runs.cut_short(&event.watch, is_cut_short);
        let goaway = stream
            .connection
            .and_then(|connection| before.connections.get(&connection)?.goaway)
            .map(|moment| moment.seq);
        let watch = before.watches.get(&event.watch);
        let pause = stream.pause.as_ref();
        let pause = pause.filter(|pause| pause.may_matter(watch, record.at));
        let pause = pause.map(|pause| OwnPause {
            seq: pause.seq,
            is_short: pause.lasted_ms < SHORT_PAUSE_MS,
        });
        // A cluster may keep its events in another etcd.
        let watches = before
            .watches
            .values()
            .filter(|watch| &*watch.resource != "events");
        let highest = watches.filter_map(|watch| watch.seen.as_ref()?.number());
        let highest = highest.max();
        // The edit is read now, because a later edit replaces it.
        let edit = self.edit_before(&stream.resource, record.at);
        if self.ends.len() == MAX_ENDS {
            self.ends.pop_front();
        }
        self.ends.push_back(End {
            id: event.stream,
            stream,
            seq: record.seq,
            at: record.at,
            cause: event.cause,
            age_ms: event.age_ms,
            events: event.events,
            unread_ms: event.unread_ms,
            goaway,
            pause,
            barren,
            edit,
            cut_short,
            slow_before,
            highest,
            rebuilt: None,
            published: None,
        });
        self.is_news = true;
    }

    /// Notes that watchscope did not run for a while. Any open stream may have died during the pause.
    fn paused(&mut self, lasted_ms: u64, before: &State, record: Moment) {
        for stream in self.open.values_mut() {
            let watch = before.watches.get(&stream.watch);
            let last = stream.pause.take();
            let last = last.filter(|last| last.may_matter(watch, record.at));
            stream.pause = Some(Interruption {
                seq: record.seq,
                at: record.at,
                // A pause that begins while the last one may still matter counts as one with it.
                lasted_ms: lasted_ms.saturating_add(last.map_or(0, |last| last.lasted_ms)),
                seen: watch.and_then(|watch| watch.seen.clone()),
            });
        }
    }

    fn phase(&mut self, event: &WatchPhase, record: Moment) {
        if event.reason == PhaseReason::Unreachable {
            self.fact(FactKind::Unreachable, event.watch.clone(), None, record);
        }
    }

    fn answered(&mut self, event: &RequestAnswered, before: &State, record: Moment) {
        let error = event.error.as_deref().unwrap_or("");
        let kind = match event.status {
            Some(404) => FactKind::NotServed,
            Some(429 | 503) if server_words::is_shutting_down(error) => FactKind::ShuttingDown,
            Some(429) if server_words::is_initializing(error) => FactKind::Initializing,
            _ => return,
        };
        if kind == FactKind::ShuttingDown {
            self.shuts_down(&event.watch, before, record);
        }
        self.fact(kind, event.watch.clone(), None, record);
    }

    /// Notes that the server of a watch's connection said that it shuts down.
    fn shuts_down(&mut self, watch: &WatchName, before: &State, record: Moment) {
        let connection = before.watches.get(watch).and_then(|watch| watch.connection);
        let Some(connection) = connection.and_then(|it| before.connections.get(&it)) else {
            return;
        };
        if let Some(drain) = self.draining.get_mut(&connection.remote) {
            drain.last_at = record.at;
        } else if self.draining.len() < MAX_DRAINING {
            let drain = Drain {
                first: record,
                last_at: record.at,
            };
            self.draining.insert(connection.remote.clone(), drain);
        }
        self.is_news = true;
    }

    /// Returns the first record in which the server of an ended stream said to any watch that it shuts down. `None`
    /// unless the stream ended at most 2 s before that record, or at most 60 s after the last such record.
    pub(crate) fn shut_down(&self, end: &End) -> Option<Seq> {
        let remote = end.stream.remote.as_ref()?;
        let drain = self.draining.get(remote)?;
        let since = drain.first.at.plus_micros(-REVISED_US);
        let until = drain.last_at.plus_micros(DRAIN_US);
        (since..=until).contains(&end.at).then_some(drain.first.seq)
    }

    /// Notes an edit of a CRD: a change that raises the CRD's generation.
    fn edited(&mut self, event: &Change, before: &State, record: Moment) {
        if event.change != ChangeType::Modified {
            return;
        }
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        if &*watch.resource != "customresourcedefinitions"
            || &*watch.group != "apiextensions.k8s.io"
        {
            return;
        }
        let held = watch.held(&event.object).and_then(|held| held.generation);
        if event.generation > held {
            self.edited_under(&event.object.name, before, record);
            if self.edits.len() == MAX_FACTS {
                self.edits
                    .retain(|_, edit| record.at.micros_since(edit.at) <= EDIT_US);
            }
            if self.edits.len() < MAX_FACTS {
                self.edits.insert(event.object.name.clone(), record);
            }
        }
    }

    /// Marks the open streams of a resource whose CRD was edited.
    fn edited_under(&mut self, resource: &Text, before: &State, record: Moment) {
        let open = self.open.values_mut();
        for stream in open.filter(|stream| stream.resource == *resource) {
            let watch = before.watches.get(&stream.watch);
            stream.edit = Some(Interruption {
                seq: record.seq,
                at: record.at,
                lasted_ms: 0,
                seen: watch.and_then(|watch| watch.seen.clone()),
            });
        }
    }

    /// Returns the edit of the resource's CRD since which the open stream of a watch has delivered nothing; `None` if
    /// there is none.
    pub(crate) fn silent_since_edit(&self, name: &WatchName, before: &State) -> Option<Moment> {
        let mut open = self.open.values();
        let edit = open.find(|stream| stream.watch == *name)?.edit.as_ref()?;
        let seen = before.watches.get(name)?.seen.as_ref();
        (edit.seen.as_ref() == seen).then_some(Moment {
            seq: edit.seq,
            at: edit.at,
        })
    }

    /// Returns whether the last request of a watch asked for initial events.
    pub(crate) fn asks_initial(&self, watch: &WatchName) -> bool {
        self.asks_initial.contains(watch)
    }

    /// Keeps a fact, if any end is kept that the fact may explain.
    fn fact(
        &mut self,
        kind: FactKind,
        watch: WatchName,
        connection: Option<ConnectionId>,
        record: Moment,
    ) {
        if self.ends.is_empty() {
            return;
        }
        if self.facts.len() == MAX_FACTS {
            self.facts.pop_front();
        }
        self.facts.push_back(Fact {
            kind,
            watch,
            connection,
            seq: record.seq,
            at: record.at,
        });
        self.is_news = true;
    }

    /// Returns the time at which the next end can be judged, which is now if it is past; `None` if no end waits.
    pub(crate) fn wake_at(&self) -> Option<Time> {
        let first = self.ends.front()?;
        if self.is_news {
            return Some(first.at);
        }
        self.ends
            .iter()
            .find(|end| end.published.is_none())
            .map(|end| end.at.plus_micros(TOGETHER_US))
    }

    /// Returns the indexes of the ends that can be judged at `now`.
    pub(crate) fn judgeable(&mut self, now: Time) -> Vec<usize> {
        self.is_news = false;
        let can_be_judged = |end: &End| {
            let waited_us = now.micros_since(end.at);
            let is_settled = waited_us >= TOGETHER_US || is_plain(end);
            let is_open = match &end.published {
                None => true,
                Some(published) => end.rebuilt.is_some() && is_suspicion(published.certainty),
            };
            is_settled && (waited_us <= REVISED_US || is_open)
        };
        let places = self.ends.iter().enumerate();
        places
            .filter(|(_, end)| can_be_judged(end))
            .map(|(place, _)| place)
            .collect()
    }

    /// Returns the end at an index from [`Self::judgeable`]. Panics if no end has the index.
    pub(crate) fn end(&self, place: usize) -> &End {
        &self.ends[place]
    }

    /// Stores a judgement of the end at an index from [`Self::judgeable`]. Returns the watch and stream if row or
    /// certainty differ from the last published judgement of this end, or if it has none; else `None`. Panics if no end
    /// has the index.
    pub(crate) fn publish(
        &mut self,
        place: usize,
        judgement: &Judgement,
    ) -> Option<(WatchName, StreamId)> {
        let end = &mut self.ends[place];
        let is_known = end.published.as_ref().is_some_and(|published| {
            published.why == judgement.why && published.certainty == judgement.certainty
        });
        if is_known {
            return None;
        }
        end.published = Some(judgement.clone());
        let (watch, seq) = (&end.stream.watch, end.seq);
        if judgement.why == Row::F36.into() && judgement.certainty != Certainty::Suspected {
            self.slow.insert(watch.clone(), seq);
        } else if self.slow.get(watch) == Some(&seq) {
            self.slow.remove(watch);
        }
        Some((end.stream.watch.clone(), end.id))
    }

    /// Forgets facts and ends that can no longer matter.
    pub(crate) fn forget(&mut self, now: Time) {
        self.expiries.retain(|_, expiry| now <= expiry.until);
        let is_past = |at: Time| now.micros_since(at) > REVISED_US + TOGETHER_US;
        let is_awaited = |end: &End| {
            let expiry = self.expiries.get(&end.stream.watch);
            expiry.is_some_and(|expiry| expiry.ended == end.id)
        };
        while self
            .ends
            .front()
            .is_some_and(|end| is_past(end.at) && end.published.is_some() && !is_awaited(end))
        {
            self.ends.pop_front();
        }
        // An end that may be judged again needs the facts that followed it.
        let is_needed = |at: Time| self.ends.front().is_some_and(|end| end.at <= at);
        while self
            .facts
            .front()
            .is_some_and(|fact| is_past(fact.at) && !is_needed(fact.at))
        {
            self.facts.pop_front();
        }
        self.edits
            .retain(|_, edit| now.micros_since(edit.at) <= EDIT_US);
        self.draining
            .retain(|_, drain| now.micros_since(drain.last_at) <= DRAIN_US);
    }

    /// Returns the facts of a kind that came at most 2 s after `end`, and concern its watch or a watch whose stream
    /// ended together with it.
    pub(super) fn facts_after<'a>(
        &'a self,
        kind: FactKind,
        end: &'a End,
        together: &'a [&'a End],
    ) -> impl Iterator<Item = &'a Fact> {
        self.facts.iter().filter(move |fact| {
            let is_about = |end: &End| match fact.connection {
                Some(connection) => end.stream.connection == Some(connection),
                None => end.stream.watch == fact.watch,
            };
            let after_us = fact.at.micros_since(end.at);
            fact.kind == kind
                && fact.seq > end.seq
                && after_us <= REVISED_US
                && (is_about(end) || together.iter().any(|other| is_about(other)))
        })
    }

    /// Returns `end`, and the ends together with it that do not explain themselves or are resets, each watch once. Also
    /// returns the number of streams that lived on, and that had opened over [`TOGETHER_US`] before `end`. Only streams
    /// that `among` picks count for either, besides `end` itself.
    pub(super) fn together<'a>(
        &'a self,
        end: &'a End,
        among: impl Fn(&Stream) -> bool,
    ) -> (Vec<&'a End>, usize) {
        let began_before = end.at.plus_micros(-TOGETHER_US);
        let mut ended = vec![end];
        let mut alive = 0;
        for other in self.ends.iter().filter(|other| among(&other.stream)) {
            let apart_us = other.at.micros_since(end.at);
            if apart_us.abs() <= TOGETHER_US {
                let is_known = ended
                    .iter()
                    .any(|known| known.stream.watch == other.stream.watch);
                if !is_known && (other.cause == Cause::TcpReset || !is_plain(other)) {
                    ended.push(other);
                }
            } else if apart_us > 0 && other.stream.since < began_before {
                alive += 1;
            }
        }
        alive += self
            .open
            .values()
            .filter(|stream| among(stream) && stream.since < began_before)
            .count();
        (ended, alive)
    }

    /// Returns the last edit of the CRD of an ended stream's resource; `None` if the end or such an edit is not kept.
    pub(crate) fn last_edit(&self, ended: StreamId) -> Option<Moment> {
        let end = self.ends.iter().rev().find(|end| end.id == ended)?;
        self.edits.get(&end.stream.resource).copied()
    }

    /// Returns the last edit of a resource's CRD, if it is at most [`EDIT_US`] ago.
    fn edit_before(&self, resource: &Text, now: Time) -> Option<Seq> {
        let edit = self.edits.get(resource)?;
        let ago_us = now.micros_since(edit.at);
        (0..=EDIT_US).contains(&ago_us).then_some(edit.seq)
    }
}
