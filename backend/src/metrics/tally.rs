//! Counters that are folded from records.
//!
//! The tally is pure: records in, numbers out, and the only clock is the records'. The present state comes from the log's
//! own fold, not from here.

use std::collections::{BTreeMap, VecDeque};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use watchscope_diagnosis::{REVISED_US, SUSPICION_REVISED_US, is_suspicion};
use watchscope_model::event::{
    Attribution, Change, ListComplete, RequestAnswered, RequestSent, StreamEnded, WatchStarted,
};
use watchscope_model::vocabulary::{
    AuditMethod, AuditOutcome, Cause, ChangeType, LossPlace, Origin, Phase, Severity, Standing,
    Verb,
};
use watchscope_model::{Event, Record, RequestId, StreamId, Text, Time, WatchName};

use super::exposition::{Exposition, Label};
use super::families as f;
use super::histogram::Histogram;
use super::words::{Code, OTHER, Purpose, Status, status, verb_label};

/// The most resources with series of their own. Later ones share the series of resource and group `other`.
pub(crate) const MAX_RESOURCES: usize = 128;
/// The longest name of a resource, in bytes: that of a DNS name. A longer one counts as `other`.
const MAX_NAME_BYTES: usize = 253;
/// The most requests that wait for their answer. Above it the oldest is forgotten, and its answer gets no duration.
const MAX_OPEN_REQUESTS: usize = 4_096;
/// The most ended streams whose attribution may still be replaced. Above it the oldest attribution counts as it is.
const MAX_SETTLING: usize = 1_024;
/// The age in ms below which a stream without an event is short, as client-go defined it.
const SHORT_MS: u64 = 1_000;

/// Bounds of list durations, in µs: 10 ms to a minute. A list of a few objects takes some ms, one of 150,000 in pages takes
/// tens of seconds.
const LIST_BOUNDS_US: &[u64] = &[
    10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];
/// Bounds of stream durations, in µs: a second to an hour. Some streams are cut at once, some by proxies after a minute.
/// Others end by their own timeout after 5 to 10 minutes, or by the apiserver after 30 to 60.
const STREAM_BOUNDS_US: &[u64] = &[
    1_000_000,
    10_000_000,
    60_000_000,
    300_000_000,
    600_000_000,
    1_800_000_000,
    3_600_000_000,
];
/// Bounds of request durations, in µs: 5 ms to a minute, the deadline of an apiserver's request.
const REQUEST_BOUNDS_US: &[u64] = &[
    5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000, 15_000_000,
    60_000_000,
];

/// All counters of a log.
///
/// Bounded: the closed lists for each of [`MAX_RESOURCES`] and one more; a few words for each watch of the epoch, which the
/// fold keeps as well; [`MAX_OPEN_REQUESTS`] and [`MAX_SETTLING`].
#[derive(Debug, Default)]
pub(crate) struct Tally {
    series: Vec<Series>,
    watches: IndexMap<WatchName, WatchCounts, FxBuildHasher>,
    settling: VecDeque<Settling>,
    open_requests: BTreeMap<RequestId, (Verb, Time)>,
    requests: BTreeMap<(Verb, Status, Purpose), u64>,
    request_durations: BTreeMap<Verb, Histogram>,
    connections_opened: u64,
    connections_closed: BTreeMap<Cause, u64>,
    goaways: u64,
    pauses: u64,
    losses: BTreeMap<LossPlace, u64>,
    findings: BTreeMap<(Code, Severity), u64>,
}

/// The counters of the watches of one resource.
#[derive(Debug)]
struct Series {
    group: Text,
    resource: Text,
    events: u64,
    relists: u64,
    lists: u64,
    list_items: u64,
    list_durations: Histogram,
    added: u64,
    modified: u64,
    deleted: u64,
    inferred_deletes: u64,
    object_bytes: u64,
    bookmarks: u64,
    errors: BTreeMap<Status, u64>,
    streams: u64,
    ends: BTreeMap<Cause, u64>,
    attributions: BTreeMap<Code, u64>,
    short_streams: u64,
    stream_durations: Histogram,
    resumed: u64,
    relisted: u64,
    unknown: u64,
    lost_events: u64,
    audits: [u64; AUDIT_OUTCOMES.len()],
    audited: u64,
}

/// The words of an audit's outcome, and one for unknown outcomes.
const AUDIT_OUTCOMES: [&str; AuditOutcome::ALL.len() + 1] = [
    AuditOutcome::Agrees.word(),
    AuditOutcome::Differs.word(),
    AuditOutcome::CannotTell.word(),
    OTHER,
];

/// The state that the tally keeps of a watch.
#[derive(Debug)]
struct WatchCounts {
    series: usize,
    lists: u64,
    /// The objects that its last list found added, changed or gone; none once the gap is recorded that this list closes.
    found: Option<u64>,
    /// When its present list began; `None` while it does not list.
    listing_since: Option<Time>,
    /// When something last proved it up to date, or when it was started.
    up_to_date_at: Time,
}

/// An attribution that a later one may replace.
#[derive(Debug)]
struct Settling {
    attributed_at: Time,
    /// Whether one of the stream's attributions was only a suspicion, which may be replaced for longer.
    is_suspicion: bool,
    series: usize,
    stream: StreamId,
    code: Code,
}

impl Tally {
    /// Counts the next record.
    pub(crate) fn observe(&mut self, record: &Record) {
        if let Event::Clock(event) = &record.event {
            self.pause(event.paused_ms);
        }
        self.settle(record.at);
        match &record.event {
            Event::WatchStarted(event) => self.start(event, record.at),
            Event::WatchPhase(event) => {
                if let Some(note) = self.watches.get_mut(&event.watch) {
                    let since = note.listing_since.unwrap_or(record.at);
                    // A list that is retried is still the same list.
                    let goes_on = match event.to {
                        Phase::Listing => true,
                        Phase::Waiting | Phase::Connecting => note.listing_since.is_some(),
                        _ => false,
                    };
                    note.listing_since = goes_on.then_some(since);
                }
            }
            Event::RequestSent(event) => self.send(event, record.at),
            Event::RequestAnswered(event) => self.answer(event, record.at),
            Event::ListComplete(event) => self.complete_list(event, record.at),
            Event::StreamOpened(event) => {
                if let Some((series, note)) = self.of(&event.watch) {
                    note.found = None;
                    series.streams += 1;
                }
            }
            Event::StreamEnded(event) => self.end_stream(event),
            Event::Attribution(event) => self.attribute(event, record.at),
            Event::Change(event) => self.change(event, record.at),
            Event::Bookmark(event) => {
                if let Some((series, note)) = self.of(&event.watch) {
                    series.events += 1;
                    series.bookmarks += 1;
                    note.up_to_date_at = record.at;
                }
            }
            Event::StreamError(event) => {
                if let Some((series, _)) = self.of(&event.watch) {
                    series.events += 1;
                    *series.errors.entry(status(event.code)).or_default() += 1;
                }
            }
            Event::Gap(event) => {
                if let Some((series, note)) = self.of(&event.watch) {
                    // If nothing was held before, the objects found need not have come in the gap.
                    let found = note.found.take().filter(|_| event.from.is_some());
                    let lost = event.lost.or(found);
                    let outcome = match (event.resumed, lost) {
                        (true, _) => &mut series.resumed,
                        (false, Some(_)) => &mut series.relisted,
                        (false, None) => &mut series.unknown,
                    };
                    *outcome += 1;
                    series.lost_events += lost.unwrap_or(0);
                }
            }
            Event::Audit(event) => {
                if let Some((series, _)) = self.of(&event.watch) {
                    // The number of an unknown outcome follows all others, and is the index of OTHER.
                    series.audits[event.outcome().number() as usize] += 1;
                    // A second watch is compared by event, not by object.
                    if event.method() != AuditMethod::SecondWatch {
                        series.audited += event.compared;
                    }
                }
            }
            // A repeat of a standing finding is raised again, with its count.
            Event::Finding(event)
                if event.state == Standing::Raised
                    && event.count.is_none_or(|count| count <= 1) =>
            {
                let key = (Code::of(&event.code), event.severity);
                *self.findings.entry(key).or_default() += 1;
            }
            Event::Loss(event) => *self.losses.entry(event.place).or_default() += event.count,
            Event::ConnectionOpened(_) => self.connections_opened += 1,
            Event::ConnectionGoaway(_) => self.goaways += 1,
            Event::ConnectionClosed(event) => {
                *self.connections_closed.entry(event.cause).or_default() += 1;
            }
            // The fold has the present state; clients occur only in simulated clusters.
            Event::Clock(_)
            | Event::ClusterConnected(_)
            | Event::WatchStopped(_)
            | Event::ListPage(_)
            | Event::Verdict(_)
            | Event::Finding(_)
            | Event::ClientStarted(_)
            | Event::ClientRequest(_)
            | Event::ClientReport(_)
            | Event::Note(_) => {}
        }
    }

    /// Notes that watchscope did not run for `paused_ms`. Diagnosis may revise its attributions by as much later.
    fn pause(&mut self, paused_ms: Option<u64>) {
        let Some(paused_ms) = paused_ms else {
            return;
        };
        self.pauses += 1;
        for settling in &mut self.settling {
            settling.attributed_at = settling.attributed_at.plus_millis(paused_ms);
        }
    }

    /// Counts attributions that cannot be replaced any more, in the order of their streams' ends. One that may still be
    /// replaced holds up those after it.
    pub(crate) fn settle(&mut self, now: Time) {
        while let Some(settling) = self.settling.front() {
            // The first attribution comes after the end, so all others come within this time.
            let revised_us = if settling.is_suspicion {
                SUSPICION_REVISED_US
            } else {
                REVISED_US
            };
            if now.micros_since(settling.attributed_at) <= revised_us
                && self.settling.len() <= MAX_SETTLING
            {
                return;
            }
            let series = &mut self.series[settling.series];
            *series.attributions.entry(settling.code).or_default() += 1;
            self.settling.pop_front();
        }
    }

    /// Returns the group and resource under which a watch is counted; `None` if it is not counted.
    pub(crate) fn resource_of(&self, watch: &WatchName) -> Option<(&Text, &Text)> {
        let series = &self.series[self.watches.get(watch)?.series];
        Some((&series.group, &series.resource))
    }

    /// When something last proved a watch up to date.
    pub(crate) fn up_to_date_at(&self, watch: &WatchName) -> Option<Time> {
        Some(self.watches.get(watch)?.up_to_date_at)
    }

    fn of(&mut self, watch: &WatchName) -> Option<(&mut Series, &mut WatchCounts)> {
        let note = self.watches.get_mut(watch)?;
        Some((&mut self.series[note.series], note))
    }

    fn start(&mut self, event: &WatchStarted, at: Time) {
        if event.watch.is_aside() {
            return;
        }
        let note = WatchCounts {
            series: self.series_of(&event.group, &event.resource),
            // The first list of a restarted watch is a relist.
            lists: self.watches.get(&event.watch).map_or(0, |note| note.lists),
            found: None,
            listing_since: None,
            up_to_date_at: at,
        };
        self.watches.insert(event.watch.clone(), note);
    }

    fn series_of(&mut self, group: &Text, resource: &Text) -> usize {
        let find = |series: &[Series], group: &str, resource: &str| {
            let is_it = |one: &Series| &*one.group == group && &*one.resource == resource;
            series.iter().position(is_it)
        };
        if let Some(place) = find(&self.series, group, resource) {
            return place;
        }
        let fits =
            self.series.len() < MAX_RESOURCES && group.len().max(resource.len()) <= MAX_NAME_BYTES;
        if !fits && let Some(place) = find(&self.series, OTHER, OTHER) {
            return place;
        }
        self.series.push(if fits {
            Series::new(group.clone(), resource.clone())
        } else {
            Series::new(OTHER.into(), OTHER.into())
        });
        self.series.len() - 1
    }

    fn send(&mut self, event: &RequestSent, at: Time) {
        if self.open_requests.len() >= MAX_OPEN_REQUESTS {
            self.open_requests.pop_first();
        }
        let verb = event.verb();
        self.open_requests.insert(event.request, (verb, at));
    }

    fn answer(&mut self, event: &RequestAnswered, at: Time) {
        let sent = self.open_requests.remove(&event.request);
        let verb = sent.map_or(Verb::Unknown, |(verb, _)| verb);
        let code = event.status.map_or("none", |code| status(code.into()));
        let key = (verb, code, Purpose::of(&event.watch));
        *self.requests.entry(key).or_default() += 1;
        if let (Some((_, sent_at)), Some(_)) = (sent, event.status) {
            self.request_durations
                .entry(verb)
                .or_insert_with(|| Histogram::new(REQUEST_BOUNDS_US))
                .observe_us(at.micros_since(sent_at));
        }
    }

    fn complete_list(&mut self, event: &ListComplete, at: Time) {
        if let Some((series, note)) = self.of(&event.watch) {
            note.lists += 1;
            note.up_to_date_at = at;
            note.found = Some(event.added + event.changed + event.removed);
            series.lists += 1;
            series.relists += u64::from(note.lists > 1);
            series.list_items += event.items;
            if let Some(since) = note.listing_since.take() {
                series.list_durations.observe_us(at.micros_since(since));
            }
        }
    }

    fn end_stream(&mut self, event: &StreamEnded) {
        if let Some((series, _)) = self.of(&event.watch) {
            *series.ends.entry(event.cause).or_default() += 1;
            series.short_streams += u64::from(event.age_ms < SHORT_MS && event.events == 0);
            let us = i64::try_from(event.age_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
            series.stream_durations.observe_us(us);
        }
    }

    fn attribute(&mut self, event: &Attribution, at: Time) {
        let Some(note) = self.watches.get(&event.watch) else {
            return;
        };
        let code = Code::of(&event.code);
        let is_suspicion = is_suspicion(event.certainty);
        let known = self
            .settling
            .iter_mut()
            .find(|settling| settling.stream == event.stream);
        match known {
            Some(settling) => {
                settling.code = code;
                settling.is_suspicion |= is_suspicion;
            }
            None => self.settling.push_back(Settling {
                attributed_at: at,
                is_suspicion,
                series: note.series,
                stream: event.stream,
                code,
            }),
        }
    }

    fn change(&mut self, event: &Change, at: Time) {
        if let Some((series, note)) = self.of(&event.watch) {
            match event.change {
                ChangeType::Added => series.added += 1,
                ChangeType::Modified => series.modified += 1,
                ChangeType::Deleted => series.deleted += 1,
                ChangeType::Unknown => {}
            }
            series.object_bytes += event.bytes.unwrap_or(0);
            if event.origin == Origin::Inferred {
                // It was concluded from a list or from initial events; no event was received.
                series.inferred_deletes += u64::from(event.change == ChangeType::Deleted);
            } else {
                series.events += u64::from(event.stream.is_some());
                note.up_to_date_at = at;
            }
        }
    }
}

/// The exposition of the counters.
impl Tally {
    /// Adds all counters of the log with that name.
    pub(crate) fn expose(&self, log: &Text, out: &mut Exposition) {
        for series in &self.series {
            series.expose(log, out);
        }
        let cluster = || Label::from(log);
        for (&(verb, code, purpose), &count) in &self.requests {
            let labels = [
                cluster(),
                verb_label(verb).into(),
                code.into(),
                purpose.word().into(),
            ];
            out.add(&f::REQUESTS, labels, count);
        }
        for (verb, durations) in &self.request_durations {
            out.add(
                &f::REQUEST_SECONDS,
                [cluster(), verb_label(*verb).into()],
                durations,
            );
        }
        out.add(&f::CONNECTIONS_OPENED, [cluster()], self.connections_opened);
        for (cause, count) in with_zeros(Cause::ALL, &self.connections_closed) {
            // `Refused` begins gaps and ends no connection.
            if cause != Cause::Refused {
                let labels = [cluster(), cause.word().into()];
                out.add(&f::CONNECTIONS_CLOSED, labels, count);
            }
        }
        out.add(&f::GOAWAYS, [cluster()], self.goaways);
        out.add(&f::PAUSES, [cluster()], self.pauses);
        for (place, count) in with_zeros(LossPlace::ALL, &self.losses) {
            // Ring losses are lines for a reader and no records. The other places do not occur in a live log.
            if !matches!(
                place,
                LossPlace::Ring | LossPlace::File | LossPlace::Withheld
            ) {
                out.add(&f::LOSSES, [cluster(), place.word().into()], count);
            }
        }
        for (&(code, severity), &count) in &self.findings {
            let labels = [cluster(), code.label(), severity.word().into()];
            out.add(&f::FINDINGS_RAISED, labels, count);
        }
    }
}

impl Series {
    fn new(group: Text, resource: Text) -> Self {
        Self {
            group,
            resource,
            events: 0,
            relists: 0,
            lists: 0,
            list_items: 0,
            list_durations: Histogram::new(LIST_BOUNDS_US),
            added: 0,
            modified: 0,
            deleted: 0,
            inferred_deletes: 0,
            object_bytes: 0,
            bookmarks: 0,
            errors: BTreeMap::new(),
            streams: 0,
            ends: BTreeMap::new(),
            attributions: BTreeMap::new(),
            short_streams: 0,
            stream_durations: Histogram::new(STREAM_BOUNDS_US),
            resumed: 0,
            relisted: 0,
            unknown: 0,
            lost_events: 0,
            audits: [0; AUDIT_OUTCOMES.len()],
            audited: 0,
        }
    }

    fn expose(&self, log: &Text, out: &mut Exposition) {
        let of = || [log.into(), (&self.group).into(), (&self.resource).into()];
        let with = |word: Label| {
            let [log, group, resource] = of();
            [log, group, resource, word]
        };
        out.add(&f::WATCH_EVENTS, of(), self.events);
        out.add(&f::RELISTS, of(), self.relists);
        out.add(&f::LISTS, of(), self.lists);
        out.add(&f::LIST_ITEMS, of(), self.list_items);
        out.add(&f::LIST_SECONDS, of(), &self.list_durations);
        for (change, count) in [
            (ChangeType::Added, self.added),
            (ChangeType::Modified, self.modified),
            (ChangeType::Deleted, self.deleted),
        ] {
            out.add(&f::CHANGES, with(change.word().into()), count);
        }
        out.add(&f::INFERRED_DELETES, of(), self.inferred_deletes);
        out.add(&f::OBJECT_BYTES, of(), self.object_bytes);
        out.add(&f::BOOKMARKS, of(), self.bookmarks);
        for (&code, &count) in &self.errors {
            out.add(&f::WATCH_ERRORS, with(code.into()), count);
        }
        out.add(&f::STREAMS, of(), self.streams);
        for (cause, count) in with_zeros(Cause::ALL, &self.ends) {
            if cause != Cause::Refused {
                out.add(&f::STREAM_ENDS, with(cause.word().into()), count);
            }
        }
        for (code, &count) in &self.attributions {
            out.add(&f::STREAM_ATTRIBUTIONS, with(code.label()), count);
        }
        out.add(&f::SHORT_STREAMS, of(), self.short_streams);
        out.add(&f::STREAM_SECONDS, of(), &self.stream_durations);
        for (outcome, count) in [
            ("resumed", self.resumed),
            ("relisted", self.relisted),
            ("unknown", self.unknown),
        ] {
            out.add(&f::GAPS, with(outcome.into()), count);
        }
        out.add(&f::LOST_EVENTS, of(), self.lost_events);
        for (outcome, &count) in AUDIT_OUTCOMES.iter().zip(&self.audits) {
            if count > 0 || *outcome != OTHER {
                out.add(&f::AUDITS, with((*outcome).into()), count);
            }
        }
        out.add(&f::AUDITED, of(), self.audited);
    }
}

/// Returns the counts of all words, including zeros. A rate sees the first event only if there was a zero before it. A word
/// of a later version is included once it occurred.
fn with_zeros<W: Copy + Ord>(
    words: &[W],
    counts: &BTreeMap<W, u64>,
) -> impl Iterator<Item = (W, u64)> {
    let mut all: BTreeMap<W, u64> = words.iter().map(|&word| (word, 0)).collect();
    all.extend(counts);
    all.into_iter()
}
