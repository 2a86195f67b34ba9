//! What attribution looks at: the open streams, the ends of the last seconds, and the facts around them.

use std::collections::VecDeque;

use watchscope_model::event::{
    Change, RequestAnswered, StreamEnded, StreamError, StreamOpened, WatchPhase,
};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::id::is_built_in_group;
use watchscope_model::options::ListOptions;
use watchscope_model::tree::{BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{
    Cause, Certainty, ChangeType, FrameLoss, LossPlace, Origin, Phase, PhaseReason,
};
use watchscope_model::{
    ConnectionId, Event, ResourceVersion, Row, Seq, State, StreamId, Text, Time, WatchName,
};

use crate::attribution::{Answer, is_plain};
use crate::server_words;

/// Ends so close to each other are "together" (docs/semantics/streams.md#together), in microseconds.
pub const TOGETHER_US: i64 = 250_000;
/// An answer is given, and may be replaced, until so long after the end, in microseconds.
pub const REVISED_US: i64 = 2_000_000;
/// A suspicion, and `unknown`, may be replaced until so long after the end, in microseconds: where the watch meets a 410
/// within [`REVISED_US`], the list that follows may show that the server's cache was built anew.
pub const SUSPICION_REVISED_US: i64 = REVISED_US + TOGETHER_US + LIST_US;
/// Most ends kept. Past that the oldest is forgotten: its answer stands as given, and later ends are not grouped with it.
pub const MAX_ENDS: usize = 4_096;
/// Most facts, and most edited definitions, kept; past that the oldest is forgotten.
pub const MAX_FACTS: usize = 4_096;
/// How long after its definition was edited the watches of a custom resource may end for it (F17), in microseconds.
const EDIT_US: i64 = 130_000_000;
/// How long after a server said that it shuts down the streams of others may end for it (F07), in microseconds: it ends
/// them over its grace period.
pub(crate) const DRAIN_US: i64 = 60_000_000;
/// Most servers of which it is remembered that they shut down.
const MAX_DRAINING: usize = 64;
/// A stream that had events waiting after a pause of ours may still end for it so much later, in microseconds: the
/// server gives up one that was not read (F36).
pub(crate) const AFTERMATH_US: i64 = 10_000_000;
/// So short a stretch in which watchscope did not run, in milliseconds, closes no connection: only what was not read, or
/// not asked, may end by it.
const SHORT_PAUSE_MS: u64 = 15_000;
/// Events delivered at once by the stream that resumes a watch: they had waited in a full buffer of the server (F36).
pub(crate) const REPLAYED: u64 = 10;
/// Fewest events that a watch cache keeps of its type before it drops the oldest.
pub(crate) const CACHED_EVENTS: u64 = 100;
/// How long the list that follows a 410 is waited for, in microseconds: it says whether the cache was built anew.
const LIST_US: i64 = 10_000_000;
/// A stream without events that lived less is barren (F10), in milliseconds.
pub(crate) const BARREN_MS: u64 = 2_000;

/// A stream, from its opening on.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) watch: WatchName,
    /// Resource and group, as a definition names them: `widgets.example.com`, `pods`.
    pub(crate) resource: Text,
    /// Whether a definition says what it is, not Kubernetes itself.
    pub(crate) is_custom: bool,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) remote: Option<Text>,
    pub(crate) since: Time,
    pub(crate) from: Option<ResourceVersion>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) error: Option<ServerError>,
    /// The last of its documents that could not become an event.
    pub(crate) unread: Option<Unread>,
    /// The last pause in which watchscope did not read it.
    pause: Option<Pause>,
    /// The last edit of its resource's definition since it was opened.
    edit: Option<Pause>,
}

/// Something after which a stream may say nothing any more: a stretch in which watchscope did not run, or an edit of the
/// resource's definition.
#[derive(Clone, Debug)]
struct Pause {
    seq: Seq,
    /// Its end.
    at: Time,
    /// How long it was.
    lasted_ms: u64,
    /// The version last told of before it.
    seen: Option<ResourceVersion>,
}

/// A pause of ours that may explain an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Excuse {
    pub(crate) seq: Seq,
    /// Whether it was too short to close a connection.
    pub(crate) is_short: bool,
}

/// A document that could not become an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    pub(crate) seq: Seq,
    /// It was an object of another kind than was asked for.
    pub(crate) is_other_kind: bool,
}

/// The ERROR event of a stream.
#[derive(Clone, Debug)]
pub(crate) struct ServerError {
    pub(crate) seq: Seq,
    pub(crate) code: u64,
    pub(crate) reason: Option<Text>,
    pub(crate) message: Option<String>,
}

/// A stream's end.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) id: StreamId,
    pub(crate) stream: Stream,
    pub(crate) seq: Seq,
    pub(crate) at: Time,
    pub(crate) cause: Cause,
    pub(crate) age_ms: u64,
    pub(crate) events: u64,
    /// The longest time that watchscope did not read it, if that was noticeable.
    pub(crate) unread_ms: Option<u64>,
    /// When the server said it takes no new streams on the connection.
    pub(crate) goaway: Option<Seq>,
    /// A pause of ours that may explain it: nothing came after that, or not for long.
    pub(crate) pause: Option<Excuse>,
    /// How many streams in a row, this one included, began at this resourceVersion and were barren.
    pub(crate) barren: u32,
    /// The edit of the resource's definition not long before.
    pub(crate) edit: Option<Seq>,
    /// How many streams in a row, this one included, ended before all of their initial events had come (F37).
    pub(crate) cut_short: u32,
    /// The end of the watch's stream before, if that was of slow reading by strong evidence (F36).
    pub(crate) slow_before: Option<Seq>,
    /// The highest version that any watch of the cluster had been given by then.
    highest: Option<u64>,
    /// The 410 that its watch met when it resumed, and the list that shows that the cache was built anew.
    pub(crate) rebuilt: Option<[Seq; 2]>,
    /// What has been said of it.
    told: Option<Answer>,
}

impl End {
    /// Whether something else shows already that its server's cache began anew.
    fn is_rebuilding(&self) -> bool {
        let told = self.told.as_ref().and_then(|told| told.why.row());
        self.edit.is_some() || matches!(told, Some(Row::F16 | Row::F17))
    }
}

/// A 410 of a watch cache that met a watch when it resumed after an orderly end, until its next list.
///
/// The list says what the 410 means. A cache drops events only while it holds at least [`CACHED_EVENTS`] of them, and
/// each event has a revision of its own. So the cache of a server that stands less than that above the oldest
/// revision left cannot have dropped any: it was built anew there. Where others write much between the 410 and the list,
/// the list stands higher and proves nothing.
///
/// A cache ends its streams before it is built anew. So where some watch had been given a higher version than the oldest
/// one left before the stream ended, the cache was built earlier, and the end is of something else: behind a balancer
/// of requests one server may end the stream and another answer.
#[derive(Clone, Debug)]
struct Expiry {
    /// The stream that ended before.
    ended: StreamId,
    /// The 410.
    seq: Seq,
    /// The oldest version that could be gone on from.
    oldest: u64,
    remote: Text,
    /// When the list is no longer waited for.
    until: Time,
}

/// Something that happened to a watch after an end.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) kind: FactKind,
    pub(crate) watch: WatchName,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) seq: Seq,
    pub(crate) at: Time,
}

/// What.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactKind {
    /// No connection could be had.
    Unreachable,
    /// The next connection went to another address.
    Moved,
    /// A request was refused because the server shuts down.
    ShuttingDown,
    /// A request was refused because the server's cache of the resource is not ready.
    Initializing,
    /// The watch's next stream delivered at least [`REPLAYED`] events at once.
    Replayed,
    /// The resource is not served.
    NotServed,
    /// The other side closed the connection.
    Closed,
}

/// Streams, ends and facts. Streams are as many as watches; ends and facts are bounded by [`MAX_ENDS`] and
/// [`MAX_FACTS`] and by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    open: BTreeMap<StreamId, Stream>,
    ends: VecDeque<End>,
    facts: VecDeque<Fact>,
    /// The last edit of each definition of a custom resource.
    edits: BTreeMap<Text, (Seq, Time)>,
    /// Servers, by address, that said they shut down: the record of it, when, and when last.
    draining: BTreeMap<Text, (Seq, Time, Time)>,
    /// Where each watch's last streams began without bringing anything, and how many they were.
    barren: BTreeMap<WatchName, (Option<ResourceVersion>, u32)>,
    /// How many streams in a row of each watch ended before all of their initial events had come.
    cut_short: BTreeMap<WatchName, u32>,
    /// Streams that resumed a watch within the last [`TOGETHER_US`]: since when, and how many events each delivered.
    replays: BTreeMap<StreamId, (Time, u64)>,
    /// The last end of each watch's stream, if that was of slow reading by strong evidence.
    slow: BTreeMap<WatchName, Seq>,
    /// The watches whose last request asked for initial events (watch-list).
    asks_initial: BTreeSet<WatchName>,
    /// The 410s whose lists are waited for, at most one of each watch and for [`LIST_US`].
    expiries: BTreeMap<WatchName, Expiry>,
    is_news: bool,
}

impl Ends {
    pub(crate) fn since(state: &State) -> Self {
        let mut ends = Self::default();
        for (name, watch) in &state.watches {
            if let Some(open) = &watch.stream {
                let mut stream = Stream::of(name, watch, state, open.since.at);
                stream.from = open.resource_version.clone();
                stream.timeout_ms = open.timeout_ms;
                ends.open.insert(open.stream, stream);
            }
        }
        ends
    }

    /// `options`: what a request asks for, if the record is one.
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
                self.barren.remove(&event.watch);
                self.cut_short.remove(&event.watch);
                self.asks_initial.remove(&event.watch);
                self.slow.remove(&event.watch);
                self.expiries.remove(&event.watch);
                let open = &self.open;
                self.replays.retain(|stream, _| open.contains_key(stream));
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
            Event::RequestSent(event) => {
                if options.initial_events {
                    self.asks_initial.insert(event.watch.clone());
                } else {
                    self.asks_initial.remove(&event.watch);
                }
                let remote = before
                    .connections
                    .get(&event.connection)
                    .map(|connection| &connection.remote);
                let last = self
                    .ends
                    .iter()
                    .rev()
                    .find(|end| end.stream.watch == event.watch);
                if let (Some(remote), Some(last)) = (remote, last)
                    && last.stream.remote.as_ref().is_some_and(|old| old != remote)
                {
                    self.fact(FactKind::Moved, event.watch.clone(), None, record);
                }
            }
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
            self.replays.insert(event.stream, (record.at, 0));
        }
    }

    /// A stream delivered an ERROR event.
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

    /// A watch is given a state, which says how far its server's cache is.
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

    /// Until when a list of a watch is waited for, which says what its 410 means.
    pub(crate) fn awaits_list(&self, watch: &WatchName) -> Option<Time> {
        self.expiries.get(watch).map(|expiry| expiry.until)
    }

    /// Counts what a stream delivers right after it resumed its watch.
    fn replayed(&mut self, event: &Change, record: Moment) {
        if self.replays.is_empty() || event.origin != Origin::Live {
            return;
        }
        let Some(stream) = event.stream else {
            return;
        };
        let Some((since, events)) = self.replays.get_mut(&stream) else {
            return;
        };
        *events += 1;
        let is_at_once = record.at.micros_since(*since) <= TOGETHER_US;
        let is_enough = is_at_once && *events >= REPLAYED;
        if is_enough || !is_at_once {
            self.replays.remove(&stream);
        }
        if is_enough {
            self.fact(FactKind::Replayed, event.watch.clone(), None, record);
        }
    }

    fn ended(&mut self, event: &StreamEnded, before: &State, record: Moment) {
        let Some(stream) = self.open.remove(&event.stream) else {
            return;
        };
        self.replays.remove(&event.stream);
        let slow_before = self.slow.remove(&event.watch);
        let is_barren = is_barren(event) && event.cause == Cause::End;
        let barren = if is_barren {
            let run = self.barren.entry(event.watch.clone()).or_default();
            if run.0 != stream.from {
                *run = (stream.from.clone(), 0);
            }
            run.1 = run.1.saturating_add(1);
            run.1
        } else {
            self.barren.remove(&event.watch);
            0
        };
        // While initial events come the watch is listing.
        let phase = before
            .watches
            .get(&event.watch)
            .and_then(|watch| watch.phase.as_ref());
        let is_listing = phase.is_some_and(|open| open.phase == Phase::Listing);
        let cut_short = if is_listing && self.asks_initial(&event.watch) {
            let run = self.cut_short.entry(event.watch.clone()).or_default();
            *run = run.saturating_add(1);
            *run
        } else {
            self.cut_short.remove(&event.watch);
            0
        };
        let goaway = stream
            .connection
            .and_then(|connection| before.connections.get(&connection)?.goaway)
            .map(|moment| moment.seq);
        let watch = before.watches.get(&event.watch);
        let pause = stream.pause.as_ref();
        let pause = pause.filter(|pause| pause.may_matter(watch, record.at));
        let pause = pause.map(|pause| Excuse {
            seq: pause.seq,
            is_short: pause.lasted_ms < SHORT_PAUSE_MS,
        });
        // Events may be kept in an etcd of their own.
        let watches = before
            .watches
            .values()
            .filter(|watch| &*watch.resource != "events");
        let highest = watches.filter_map(|watch| watch.seen.as_ref()?.number());
        let highest = highest.max();
        // Now: a later edit takes this one's place.
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
            told: None,
        });
        self.is_news = true;
    }

    /// watchscope did not run: whatever it had open may have gone meanwhile.
    fn paused(&mut self, lasted_ms: u64, before: &State, record: Moment) {
        for stream in self.open.values_mut() {
            let watch = before.watches.get(&stream.watch);
            let last = stream.pause.take();
            let last = last.filter(|last| last.may_matter(watch, record.at));
            stream.pause = Some(Pause {
                seq: record.seq,
                at: record.at,
                // One that begins while the last may still matter is one with it.
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

    /// The server of a watch's connection said that it shuts down.
    fn shuts_down(&mut self, watch: &WatchName, before: &State, record: Moment) {
        let connection = before.watches.get(watch).and_then(|watch| watch.connection);
        let Some(connection) = connection.and_then(|it| before.connections.get(&it)) else {
            return;
        };
        if let Some((_, _, last)) = self.draining.get_mut(&connection.remote) {
            *last = record.at;
        } else if self.draining.len() < MAX_DRAINING {
            let first = (record.seq, record.at, record.at);
            self.draining.insert(connection.remote.clone(), first);
        }
        self.is_news = true;
    }

    /// The record in which the server of an ended stream told anybody that it shuts down, about then.
    pub(crate) fn shut_down(&self, end: &End) -> Option<Seq> {
        let remote = end.stream.remote.as_ref()?;
        let (seq, first, last) = self.draining.get(remote)?;
        let is_then =
            first.plus_micros(-REVISED_US) <= end.at && end.at <= last.plus_micros(DRAIN_US);
        is_then.then_some(*seq)
    }

    /// Notes the edit of a custom resource's definition: a change that raised its generation.
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
                    .retain(|_, (_, at)| record.at.micros_since(*at) <= EDIT_US);
            }
            if self.edits.len() < MAX_FACTS {
                self.edits
                    .insert(event.object.name.clone(), (record.seq, record.at));
            }
        }
    }

    /// The definition of what some streams are of was edited.
    fn edited_under(&mut self, resource: &Text, before: &State, record: Moment) {
        let open = self.open.values_mut();
        for stream in open.filter(|stream| stream.resource == *resource) {
            let watch = before.watches.get(&stream.watch);
            stream.edit = Some(Pause {
                seq: record.seq,
                at: record.at,
                lasted_ms: 0,
                seen: watch.and_then(|watch| watch.seen.clone()),
            });
        }
    }

    /// The edit of its resource's definition since which the open stream of a watch has said nothing, and when that was.
    pub(crate) fn silent_since_edit(
        &self,
        name: &WatchName,
        before: &State,
    ) -> Option<(Seq, Time)> {
        let mut open = self.open.values();
        let edit = open.find(|stream| stream.watch == *name)?.edit.as_ref()?;
        let seen = before.watches.get(name)?.seen.as_ref();
        (edit.seen.as_ref() == seen).then_some((edit.seq, edit.at))
    }

    /// Whether the last request of a watch asked for initial events.
    pub(crate) fn asks_initial(&self, watch: &WatchName) -> bool {
        self.asks_initial.contains(watch)
    }

    /// Keeps a fact, if there is an end that it may explain.
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

    pub(crate) fn wake_at(&self) -> Option<Time> {
        let first = self.ends.front()?;
        if self.is_news {
            return Some(first.at);
        }
        self.ends
            .iter()
            .find(|end| end.told.is_none())
            .map(|end| end.at.plus_micros(TOGETHER_US))
    }

    /// The places of the ends about which something can be said at `now`.
    pub(crate) fn ripe(&mut self, now: Time) -> Vec<usize> {
        self.is_news = false;
        let can_be_said = |end: &End| {
            let waited_us = now.micros_since(end.at);
            let is_settled = waited_us >= TOGETHER_US || is_plain(end);
            let is_open = match &end.told {
                None => true,
                Some(told) => end.rebuilt.is_some() && is_suspicion(told.certainty),
            };
            is_settled && (waited_us <= REVISED_US || is_open)
        };
        let places = self.ends.iter().enumerate();
        places
            .filter(|(_, end)| can_be_said(end))
            .map(|(place, _)| place)
            .collect()
    }

    pub(crate) fn end(&self, place: usize) -> &End {
        &self.ends[place]
    }

    /// Notes an answer; gives the stream it is about, if the answer is new.
    pub(crate) fn tell(&mut self, place: usize, answer: &Answer) -> Option<(WatchName, StreamId)> {
        let end = &mut self.ends[place];
        let is_known = end
            .told
            .as_ref()
            .is_some_and(|told| told.why == answer.why && told.certainty == answer.certainty);
        if is_known {
            return None;
        }
        end.told = Some(answer.clone());
        let (watch, seq) = (&end.stream.watch, end.seq);
        if answer.why == Row::F36.into() && answer.certainty != Certainty::Suspected {
            self.slow.insert(watch.clone(), seq);
        } else if self.slow.get(watch) == Some(&seq) {
            self.slow.remove(watch);
        }
        Some((end.stream.watch.clone(), end.id))
    }

    /// Forgets what can no longer matter.
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
            .is_some_and(|end| is_past(end.at) && end.told.is_some() && !is_awaited(end))
        {
            self.ends.pop_front();
        }
        // An end that may still be judged anew is judged by what followed it.
        let is_needed = |at: Time| self.ends.front().is_some_and(|end| end.at <= at);
        while self
            .facts
            .front()
            .is_some_and(|fact| is_past(fact.at) && !is_needed(fact.at))
        {
            self.facts.pop_front();
        }
        self.edits
            .retain(|_, (_, at)| now.micros_since(*at) <= EDIT_US);
        self.draining
            .retain(|_, (.., last)| now.micros_since(*last) <= DRAIN_US);
    }

    /// The facts of a kind that came after `end`, to its watch or to one whose stream ended with it.
    pub(crate) fn facts_after<'a>(
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

    /// Ends together with `end` for which no plain reason is known, one of each watch, `end` included, and how many
    /// streams lived on; among the streams that `among` picks.
    pub(crate) fn together<'a>(
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

    /// The last edit of the definition of what a stream was of that has ended.
    pub(crate) fn last_edit(&self, ended: StreamId) -> Option<(Seq, Time)> {
        let end = self.ends.iter().rev().find(|end| end.id == ended)?;
        self.edits.get(&end.stream.resource).copied()
    }

    /// The edit of a resource's definition not long before now.
    fn edit_before(&self, resource: &Text, now: Time) -> Option<Seq> {
        let (seq, at) = self.edits.get(resource)?;
        let ago_us = now.micros_since(*at);
        (0..=EDIT_US).contains(&ago_us).then_some(*seq)
    }
}

/// Whether an answer is no more than that, so that a list that comes late may replace it.
#[must_use]
pub fn is_suspicion(certainty: Certainty) -> bool {
    matches!(certainty, Certainty::Suspected | Certainty::Unknown)
}

/// Whether a stream was accepted and closed at once, with nothing in it.
pub(crate) fn is_barren(event: &StreamEnded) -> bool {
    let is_closed =
        event.cause == Cause::End || matches!(event.cause, Cause::Eof | Cause::RstStream);
    is_closed && event.events == 0 && event.age_ms < BARREN_MS
}

impl Pause {
    /// Whether an end of its watch's stream may be of it: nothing came since, or it is not long ago.
    fn may_matter(&self, watch: Option<&Watch>, now: Time) -> bool {
        let seen = watch.and_then(|watch| watch.seen.as_ref());
        // A bookmark that says no more than the last shows as well that the stream lives.
        let bookmark = watch.and_then(|watch| watch.stream.as_ref()?.bookmark);
        let is_silent =
            self.seen.as_ref() == seen && bookmark.is_none_or(|bookmark| bookmark.seq < self.seq);
        is_silent || now.micros_since(self.at) <= AFTERMATH_US
    }
}

impl Stream {
    /// A stream of a watch over the connection of its last request.
    fn of(name: &WatchName, watch: &Watch, state: &State, since: Time) -> Self {
        let resource = if watch.group.is_empty() {
            watch.resource.clone()
        } else {
            format!("{}.{}", watch.resource, watch.group).into()
        };
        Self {
            watch: name.clone(),
            resource,
            is_custom: !is_built_in_group(&watch.group),
            connection: watch.connection,
            remote: watch
                .connection
                .and_then(|connection| state.connections.get(&connection))
                .map(|connection| connection.remote.clone()),
            since,
            from: None,
            timeout_ms: None,
            error: None,
            unread: None,
            pause: None,
            edit: None,
        }
    }
}
