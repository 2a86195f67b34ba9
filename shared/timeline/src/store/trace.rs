//! What happened in one epoch, per watch and object, as far as it is loaded.
//!
//! Built from the fold: a record is compared with the state before and after it, so nothing here decides what is
//! open. A trace begins with what a snapshot says is open, and traces of different chapters merge in any order.

use std::collections::BTreeMap;

use watchscope_model::event::{Change, Event, Finding, Record, Verdict};
use watchscope_model::fold::{Moment, OpenStream, State, VersionStep, Watch};
use watchscope_model::vocabulary::{
    Cause, Divergence, LossPlace, Origin, Phase, PhaseReason, Severity,
};
use watchscope_model::{
    ConnectionId, RequestId, ResourceVersion, Seq, StreamId, Text, Time, WatchName,
};

use super::marks::{MarkKind, Marks, NO_OBJECT, NO_VERSION};
use super::names::Names;
use super::spans::Spans;
use crate::id::{ObjectId, WatchId};

/// An `end` this close to the asked timeout is the timeout (F05).
const TIMEOUT_REACH_MS: u64 = 2_000;

/// How a plateau falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fall {
    /// Square: a normal end.
    Square,
    /// It fades: an end nobody explained.
    Fade,
    /// Torn.
    Torn,
}

/// What a watch does for a while.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhaseSpan {
    pub(crate) phase: Phase,
    pub(crate) reason: PhaseReason,
    pub(crate) delay_ms: Option<u64>,
}

/// A stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamSpan {
    pub(crate) stream: StreamId,
    pub(crate) request: RequestId,
    pub(crate) from: Option<ResourceVersion>,
    pub(crate) timeout_ms: Option<u64>,
    /// How it ended, if it did and before any attribution.
    pub(crate) fall: Option<(Fall, Cause)>,
}

/// A gap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GapSpan {
    pub(crate) cause: Cause,
    /// Whether it was resumed and how many events were lost, once it closed.
    pub(crate) outcome: Option<GapOutcome>,
}

/// How a gap closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GapOutcome {
    pub(crate) resumed: bool,
    pub(crate) lost: Option<u64>,
}

/// The life of an incarnation of an object in a watch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LifeSpan {
    /// Since when it is not known that it lived: set when its end was inferred.
    pub(crate) doubt: Option<Time>,
}

/// A divergence of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerdictSpan {
    pub(crate) kind: Divergence,
    pub(crate) listed: Option<ResourceVersion>,
    pub(crate) held: Option<ResourceVersion>,
}

/// A finding, from first raised to cleared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FindingSpan {
    pub(crate) code: Text,
    pub(crate) name: Text,
    pub(crate) severity: Severity,
    pub(crate) watch: Option<WatchName>,
    pub(crate) server: Option<Text>,
    pub(crate) summary: String,
}

/// A connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConnectionSpan {
    pub(crate) connection: ConnectionId,
    pub(crate) remote: Text,
    pub(crate) alpn: Option<Text>,
    pub(crate) tls: Option<Text>,
    pub(crate) cause: Option<Cause>,
}

/// A complete list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListMark {
    pub(crate) moment: Moment,
    pub(crate) items: u64,
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) removed: u64,
    /// Whether the watch had listed before.
    pub(crate) relist: bool,
}

/// An ERROR event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ErrorMark {
    pub(crate) moment: Moment,
    pub(crate) code: u64,
}

/// A jump or reversal of the resourceVersion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepMark {
    pub(crate) moment: Moment,
    pub(crate) by: u64,
    pub(crate) back: bool,
}

/// Something lost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LossMark {
    pub(crate) moment: Moment,
    pub(crate) place: LossPlace,
    pub(crate) count: u64,
}

/// An audit read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuditMark {
    pub(crate) moment: Moment,
    pub(crate) outcome: Text,
    pub(crate) compared: u64,
}

/// What was so when a chapter opened: steps of what a snapshot tells without since when.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpeningPoint {
    pub(crate) moment: Moment,
    pub(crate) seen: Option<u64>,
}

/// From when on a watch used a connection, or none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UsePoint {
    pub(crate) moment: Moment,
    pub(crate) connection: Option<ConnectionId>,
}

/// An object in a watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectTrace {
    /// Places of its marks in the watch's, rising.
    pub(crate) marks: Vec<u32>,
    pub(crate) lives: Spans<LifeSpan>,
    pub(crate) verdicts: Spans<VerdictSpan>,
}

/// A watch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WatchTrace {
    pub(crate) started: Option<Moment>,
    pub(crate) marks: Marks,
    pub(crate) phases: Spans<PhaseSpan>,
    pub(crate) streams: Spans<StreamSpan>,
    pub(crate) gaps: Spans<GapSpan>,
    pub(crate) lists: Vec<ListMark>,
    pub(crate) errors: Vec<ErrorMark>,
    pub(crate) steps: Vec<StepMark>,
    pub(crate) losses: Vec<LossMark>,
    pub(crate) audits: Vec<AuditMark>,
    pub(crate) openings: Vec<OpeningPoint>,
    pub(crate) uses: Vec<UsePoint>,
    pub(crate) requests: Vec<(RequestId, Seq)>,
    /// The last attribution of each stream.
    pub(crate) attributions: BTreeMap<StreamId, (Seq, Text)>,
    pub(crate) objects: Vec<ObjectTrace>,
}

/// An epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) watches: Vec<Option<Box<WatchTrace>>>,
    pub(crate) findings: Spans<FindingSpan>,
    /// Every time a finding was raised, with the start of its span.
    pub(crate) raised: Vec<(Moment, Seq)>,
    pub(crate) connections: Spans<ConnectionSpan>,
    /// Losses of no watch.
    pub(crate) losses: Vec<LossMark>,
    /// Lines of narrators and people.
    pub(crate) notes: Vec<(Moment, String)>,
    /// Until when what opens here is known to last: the end of the chapter, or the live head.
    horizon: Time,
}

/// What the state said of a watch before a record.
struct Before {
    phase: Option<Seq>,
    stream: Option<OpenStream>,
    gap: Option<Moment>,
    connection: Option<ConnectionId>,
    life: Option<Seq>,
    verdict: Option<Seq>,
    listed: bool,
    step: VersionStep,
    status_only: bool,
}

impl Before {
    fn of(watch: &Watch, event: &Event) -> Self {
        let mut before = Self {
            phase: watch.phase.as_ref().map(|phase| phase.since.seq),
            stream: watch.stream.clone(),
            gap: watch.gap.as_ref().map(|gap| gap.since),
            connection: watch.connection,
            life: None,
            verdict: None,
            listed: watch.counts.of(LIST_COMPLETE_KIND) > 0,
            step: VersionStep::Usual,
            status_only: false,
        };
        match event {
            Event::Change(change) => {
                before.life = watch.held(&change.object).map(|held| held.since.seq);
                before.status_only = watch.is_status_only(change);
                if change.origin == Origin::Live {
                    before.step = watch.step_to(&change.resource_version);
                }
            }
            Event::Bookmark(bookmark) => before.step = watch.step_to(&bookmark.resource_version),
            Event::ListComplete(list) => before.step = watch.step_to(&list.resource_version),
            Event::Verdict(verdict) => {
                before.verdict = open_verdict(watch, verdict).map(|(seq, _)| seq)
            }
            _ => {}
        }
        before
    }
}

/// The kind number of `list.complete`.
const LIST_COMPLETE_KIND: u64 = 11;

fn open_verdict(watch: &Watch, verdict: &Verdict) -> Option<(Seq, Moment)> {
    let object = &verdict.object;
    let open = watch.verdicts.values().find(|open| {
        open.verdict.object.name == object.name && open.verdict.object.namespace == object.namespace
    })?;
    Some((open.since.seq, open.since))
}

fn open_finding(state: &State, finding: &Finding) -> Option<Moment> {
    let same = |open: &&watchscope_model::fold::OpenFinding| {
        let other = &open.finding;
        other.code == finding.code
            && other.watch == finding.watch
            && (other.watch.is_some() || other.server == finding.server)
    };
    state.findings.values().find(same).map(|open| open.since)
}

impl Trace {
    /// An empty trace of a chapter or of the live log, with what is open at its beginning.
    pub(crate) fn seeded(state: &State, horizon: Time, names: &mut Names) -> Self {
        let mut trace = Self {
            horizon,
            ..Self::default()
        };
        trace.seed(state, names);
        trace
    }

    /// Takes in what a snapshot says is open.
    pub(crate) fn seed(&mut self, state: &State, names: &mut Names) {
        let (told, until) = (state.seq, self.horizon);
        let now = Moment {
            seq: state.seq,
            at: state.at,
        };
        for open in state.findings.values() {
            self.findings
                .open(open.since, until, told, FindingSpan::of(&open.finding));
        }
        for (&id, connection) in &state.connections {
            let what = ConnectionSpan {
                connection: id,
                remote: connection.remote.clone(),
                alpn: connection.alpn.clone(),
                tls: connection.tls.clone(),
                cause: None,
            };
            self.connections.open(connection.since, until, told, what);
        }
        for (name, watch) in &state.watches {
            let id = names.watch(name);
            let trace = self.watch_mut(id);
            trace.started = Some(watch.since);
            if let Some(phase) = &watch.phase {
                trace
                    .phases
                    .open(phase.since, until, told, PhaseSpan::of(phase));
            }
            if let Some(stream) = &watch.stream {
                trace
                    .streams
                    .open(stream.since, until, told, StreamSpan::of(stream));
            }
            if let Some(gap) = &watch.gap {
                trace.gaps.open(
                    gap.since,
                    until,
                    told,
                    GapSpan {
                        cause: gap.reason,
                        outcome: None,
                    },
                );
            }
            let seen = watch.seen.as_ref().and_then(ResourceVersion::number);
            trace.openings.push(OpeningPoint { moment: now, seen });
            trace.uses.push(UsePoint {
                moment: now,
                connection: watch.connection,
            });
            for held in watch.objects.sorted() {
                let object = names.object(id, &held.object);
                trace.object_mut(object).lives.open(
                    held.since,
                    until,
                    told,
                    LifeSpan { doubt: None },
                );
            }
            for open in watch.verdicts.values() {
                let object = names.object(id, &open.verdict.object);
                trace.object_mut(object).verdicts.open(
                    open.since,
                    until,
                    told,
                    VerdictSpan::of(&open.verdict),
                );
            }
        }
    }

    /// Folds the next record into `state` and takes in what it changed.
    pub(crate) fn absorb(&mut self, record: &Record, state: &mut State, names: &mut Names) {
        let now = Moment::from(record);
        let event = &record.event;
        let before = event
            .watch()
            .and_then(|name| state.watches.get(name))
            .map(|watch| Before::of(watch, event));
        let finding = match event {
            Event::Finding(finding) => open_finding(state, finding),
            _ => None,
        };
        if let Event::ConnectionClosed(closed) = event {
            let users = state
                .watches
                .iter()
                .filter(|(_, watch)| watch.connection == Some(closed.connection));
            for (name, _) in users {
                let id = names.watch(name);
                self.watch_mut(id).uses.push(UsePoint {
                    moment: now,
                    connection: None,
                });
            }
            if let Some(open) = state.connections.get(&closed.connection)
                && let Some(what) = self.connections.close(open.since.seq, now)
            {
                what.cause = Some(closed.cause);
            }
        }
        state.apply(record);
        match event {
            Event::ConnectionOpened(opened) => {
                let what = ConnectionSpan {
                    connection: opened.connection,
                    remote: opened.remote.clone(),
                    alpn: opened.alpn.clone(),
                    tls: opened.tls.clone(),
                    cause: None,
                };
                self.connections.open(now, self.horizon, now.seq, what);
            }
            Event::Finding(event) => self.absorb_finding(event, now, finding, state),
            Event::Note(note) => self.notes.push((now, note.text.clone())),
            Event::Loss(loss) if loss.watch.is_none() => {
                self.losses.push(LossMark {
                    moment: now,
                    place: loss.place,
                    count: loss.count,
                });
            }
            _ => {}
        }
        let Some((name, watch)) = event
            .watch()
            .and_then(|name| Some((name, state.watches.get(name)?)))
        else {
            return;
        };
        let id = names.watch(name);
        let horizon = self.horizon;
        let trace = self.watch_mut(id);
        match before {
            Some(before) => trace.absorb(record, &before, watch, horizon, id, names),
            None => trace.started = Some(now),
        }
    }

    fn absorb_finding(
        &mut self,
        event: &Finding,
        now: Moment,
        before: Option<Moment>,
        state: &State,
    ) {
        match (open_finding(state, event), before) {
            (Some(since), _) => {
                self.findings
                    .open(since, self.horizon, now.seq, FindingSpan::of(event));
                if event.state == watchscope_model::vocabulary::Standing::Raised {
                    self.raised.push((now, since.seq));
                }
            }
            (None, Some(since)) => {
                self.findings.close(since.seq, now);
            }
            (None, None) => {}
        }
    }

    /// A watch's trace, made if there is none.
    fn watch_mut(&mut self, id: WatchId) -> &mut WatchTrace {
        let place = id.0 as usize;
        if self.watches.len() <= place {
            self.watches.resize_with(place + 1, || None);
        }
        self.watches[place].get_or_insert_default()
    }

    /// A watch's trace.
    pub(crate) fn watch(&self, id: WatchId) -> Option<&WatchTrace> {
        self.watches.get(id.0 as usize)?.as_deref()
    }

    /// Adds what another chapter of the epoch tells; no record is in both.
    pub(crate) fn merge(&mut self, other: Self) {
        self.findings.merge(other.findings);
        self.connections.merge(other.connections);
        merge_sorted(&mut self.raised, other.raised, |raised| raised.0.seq);
        merge_sorted(&mut self.losses, other.losses, |loss| loss.moment.seq);
        merge_sorted(&mut self.notes, other.notes, |note| note.0.seq);
        for (place, watch) in other.watches.into_iter().enumerate() {
            if let Some(watch) = watch {
                self.watch_mut(WatchId(place as u32)).merge(*watch);
            }
        }
    }

    /// No record after `at` is known to follow.
    pub(crate) fn freeze(&mut self, at: Time) {
        self.findings.freeze(at);
        self.connections.freeze(at);
        for watch in self.watches.iter_mut().flatten() {
            watch.phases.freeze(at);
            watch.streams.freeze(at);
            watch.gaps.freeze(at);
            for object in &mut watch.objects {
                object.lives.freeze(at);
                object.verdicts.freeze(at);
            }
        }
    }

    /// Forgets all records up to `last`, and what was over by `at`.
    pub(crate) fn forget(&mut self, last: Seq, at: Time) {
        self.findings.forget_before(at);
        self.connections.forget_before(at);
        self.raised.retain(|raised| raised.0.seq > last);
        self.losses.retain(|loss| loss.moment.seq > last);
        self.notes.retain(|note| note.0.seq > last);
        for watch in self.watches.iter_mut().flatten() {
            watch.forget(last, at);
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let watches = self
            .watches
            .iter()
            .flatten()
            .map(|watch| watch.bytes())
            .sum::<usize>();
        watches + self.findings.bytes() + self.connections.bytes()
    }
}

fn merge_sorted<T>(all: &mut Vec<T>, other: Vec<T>, seq: impl Fn(&T) -> Seq) {
    let Some(first) = other.first().map(&seq) else {
        return;
    };
    // A chapter opens at the seq of the record before it: its points follow those of that record.
    let place = all.partition_point(|item| seq(item) <= first);
    all.splice(place..place, other);
}

impl WatchTrace {
    fn object_mut(&mut self, id: ObjectId) -> &mut ObjectTrace {
        let place = id.0 as usize;
        if self.objects.len() <= place {
            self.objects.resize_with(place + 1, ObjectTrace::default);
        }
        &mut self.objects[place]
    }

    fn absorb(
        &mut self,
        record: &Record,
        before: &Before,
        watch: &Watch,
        horizon: Time,
        id: WatchId,
        names: &mut Names,
    ) {
        let now = Moment::from(record);
        self.absorb_open(record, before, watch, horizon);
        match &record.event {
            Event::WatchStarted(_) => {
                self.started = Some(now);
                self.close_objects(now);
            }
            Event::WatchStopped(_) => self.close_objects(now),
            Event::RequestSent(sent) => self.requests.push((sent.request, now.seq)),
            Event::Change(change) => {
                let object = names.object(id, &change.object);
                self.absorb_change(change, now, before, watch, object, horizon);
            }
            Event::Bookmark(bookmark) => {
                let kind = if bookmark.initial_events_end == Some(true) {
                    MarkKind::InitialEnd
                } else {
                    MarkKind::Bookmark
                };
                self.push_mark(now, kind, NO_OBJECT, &bookmark.resource_version);
            }
            Event::ListComplete(list) => {
                self.lists.push(ListMark {
                    moment: now,
                    items: list.items,
                    added: list.added,
                    changed: list.changed,
                    removed: list.removed,
                    relist: before.listed,
                });
                self.push_mark(now, MarkKind::List, NO_OBJECT, &list.resource_version);
            }
            Event::StreamError(error) => self.errors.push(ErrorMark {
                moment: now,
                code: error.code,
            }),
            Event::Attribution(attribution) => {
                self.attributions
                    .insert(attribution.stream, (now.seq, attribution.code.clone()));
            }
            Event::Audit(audit) => self.audits.push(AuditMark {
                moment: now,
                outcome: audit.outcome.clone(),
                compared: audit.compared,
            }),
            Event::Loss(loss) => {
                self.losses.push(LossMark {
                    moment: now,
                    place: loss.place,
                    count: loss.count,
                });
            }
            Event::Verdict(verdict) => {
                let object = names.object(id, &verdict.object);
                let verdicts = &mut self.object_mut(object).verdicts;
                match (open_verdict(watch, verdict), before.verdict) {
                    (Some((_, since)), _) => {
                        verdicts.open(since, horizon, now.seq, VerdictSpan::of(verdict))
                    }
                    (None, Some(since)) => {
                        verdicts.close(since, now);
                    }
                    (None, None) => {}
                }
            }
            _ => {}
        }
        match before.step {
            VersionStep::Jump { by } => self.steps.push(StepMark {
                moment: now,
                by,
                back: false,
            }),
            VersionStep::Reversal { by } => self.steps.push(StepMark {
                moment: now,
                by,
                back: true,
            }),
            VersionStep::Usual | VersionStep::Incomparable => {}
        }
    }

    /// Phases, streams, gaps and connections: whatever the fold says opened or closed with this record.
    fn absorb_open(&mut self, record: &Record, before: &Before, watch: &Watch, horizon: Time) {
        let now = Moment::from(record);
        let phase = watch.phase.as_ref();
        if before.phase != phase.map(|phase| phase.since.seq) {
            if let Some(since) = before.phase {
                self.phases.close(since, now);
            }
            if let Some(phase) = phase {
                self.phases
                    .open(phase.since, horizon, now.seq, PhaseSpan::of(phase));
            }
        }
        let stream = watch.stream.as_ref();
        if before.stream.as_ref().map(|stream| stream.since) != stream.map(|stream| stream.since) {
            if let Some(ended) = &before.stream {
                let fall = fall_of(&record.event, ended);
                if let Some(what) = self.streams.close(ended.since.seq, now) {
                    what.fall = Some(fall);
                }
            }
            if let Some(stream) = stream {
                self.streams
                    .open(stream.since, horizon, now.seq, StreamSpan::of(stream));
            }
        }
        let gap = watch.gap.as_ref();
        if before.gap != gap.map(|gap| gap.since) {
            if let Some(since) = before.gap
                && let Some(what) = self.gaps.close(since.seq, now)
                && let Event::Gap(event) = &record.event
            {
                what.outcome = Some(GapOutcome {
                    resumed: event.resumed,
                    lost: event.lost,
                });
            }
            if let Some(gap) = gap {
                self.gaps.open(
                    gap.since,
                    horizon,
                    now.seq,
                    GapSpan {
                        cause: gap.reason,
                        outcome: None,
                    },
                );
            }
        }
        if before.connection != watch.connection {
            self.uses.push(UsePoint {
                moment: now,
                connection: watch.connection,
            });
        }
    }

    fn absorb_change(
        &mut self,
        change: &Change,
        now: Moment,
        before: &Before,
        watch: &Watch,
        object: ObjectId,
        horizon: Time,
    ) {
        let kind = MarkKind::of(change, before.status_only);
        let place = self.marks.len() as u32;
        self.push_mark(now, kind, object.0, &change.resource_version);
        let held = watch.held(&change.object).map(|held| held.since);
        let trace = self.object_mut(object);
        trace.marks.push(place);
        if before.life != held.map(|since| since.seq) {
            if let Some(since) = before.life
                && let Some(life) = trace.lives.close(since, now)
                && change.origin == Origin::Inferred
            {
                life.doubt = before.gap.map(|gap| gap.at);
            }
            if let Some(since) = held {
                trace
                    .lives
                    .open(since, horizon, now.seq, LifeSpan { doubt: None });
            }
        }
    }

    fn push_mark(&mut self, now: Moment, kind: MarkKind, object: u32, version: &ResourceVersion) {
        let version = version.number().unwrap_or(NO_VERSION);
        self.marks.push(now.seq, now.at, kind, object, version);
    }

    fn close_objects(&mut self, now: Moment) {
        for object in &mut self.objects {
            let open = |start: Option<Seq>| start;
            let life = object.lives.all().last().filter(|life| life.end.is_none());
            if let Some(start) = open(life.map(|life| life.start.seq)) {
                object.lives.close(start, now);
            }
            let verdict = object
                .verdicts
                .all()
                .last()
                .filter(|verdict| verdict.end.is_none());
            if let Some(start) = open(verdict.map(|verdict| verdict.start.seq)) {
                object.verdicts.close(start, now);
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.started = self.started.max(other.started);
        let inserted = other.marks.len() as u32;
        let place = self.marks.insert(other.marks) as u32;
        self.phases.merge(other.phases);
        self.streams.merge(other.streams);
        self.gaps.merge(other.gaps);
        merge_sorted(&mut self.lists, other.lists, |list| list.moment.seq);
        merge_sorted(&mut self.errors, other.errors, |error| error.moment.seq);
        merge_sorted(&mut self.steps, other.steps, |step| step.moment.seq);
        merge_sorted(&mut self.losses, other.losses, |loss| loss.moment.seq);
        merge_sorted(&mut self.audits, other.audits, |audit| audit.moment.seq);
        merge_sorted(&mut self.openings, other.openings, |opening| {
            opening.moment.seq
        });
        merge_sorted(&mut self.uses, other.uses, |point| point.moment.seq);
        merge_sorted(&mut self.requests, other.requests, |request| request.1);
        for (stream, attribution) in other.attributions {
            let known = self
                .attributions
                .entry(stream)
                .or_insert_with(|| attribution.clone());
            if attribution.0 > known.0 {
                *known = attribution;
            }
        }
        if inserted > 0 {
            for object in &mut self.objects {
                let from = object.marks.partition_point(|&mark| mark < place);
                object.marks[from..]
                    .iter_mut()
                    .for_each(|mark| *mark += inserted);
            }
        }
        for (number, object) in other.objects.into_iter().enumerate() {
            let known = self.object_mut(ObjectId(number as u32));
            let from = known.marks.partition_point(|&mark| mark < place);
            known.marks.splice(
                from..from,
                object.marks.into_iter().map(|mark| mark + place),
            );
            known.lives.merge(object.lives);
            known.verdicts.merge(object.verdicts);
        }
    }

    fn forget(&mut self, last: Seq, at: Time) {
        let count = self.marks.place_of(last.next());
        self.marks.forget(count);
        self.phases.forget_before(at);
        self.streams.forget_before(at);
        self.gaps.forget_before(at);
        self.lists.retain(|list| list.moment.seq > last);
        self.errors.retain(|error| error.moment.seq > last);
        self.steps.retain(|step| step.moment.seq > last);
        self.losses.retain(|loss| loss.moment.seq > last);
        self.audits.retain(|audit| audit.moment.seq > last);
        self.requests.retain(|request| request.1 > last);
        self.openings.retain(|opening| opening.moment.seq >= last);
        self.uses.retain(|point| point.moment.seq >= last);
        self.attributions
            .retain(|_, attribution| attribution.0 > last);
        for object in &mut self.objects {
            let gone = object
                .marks
                .partition_point(|&mark| (mark as usize) < count);
            object.marks.drain(..gone);
            object
                .marks
                .iter_mut()
                .for_each(|mark| *mark -= count as u32);
            object.lives.forget_before(at);
            object.verdicts.forget_before(at);
        }
    }

    fn bytes(&self) -> usize {
        let objects = self.objects.iter().map(|object| {
            size_of::<ObjectTrace>()
                + object.marks.capacity() * 4
                + object.lives.bytes()
                + object.verdicts.bytes()
        });
        self.marks.at.capacity() * 25
            + self.phases.bytes()
            + self.streams.bytes()
            + self.gaps.bytes()
            + self.lists.capacity() * size_of::<ListMark>()
            + self.requests.capacity() * size_of::<(RequestId, Seq)>()
            + (self.openings.capacity() + self.uses.capacity()) * size_of::<UsePoint>()
            + objects.sum::<usize>()
    }

    /// How a stream's plateau falls: by its attribution, if there is one.
    pub(crate) fn fall(&self, stream: &StreamSpan) -> Option<(Fall, Cause)> {
        let (fall, cause) = stream.fall?;
        let fall = match self
            .attributions
            .get(&stream.stream)
            .map(|(_, code)| &**code)
        {
            Some("normal" | "ours" | "F05") => Fall::Square,
            Some("unknown") => Fall::Fade,
            Some(_) => Fall::Torn,
            None => fall,
        };
        Some((fall, cause))
    }

    /// The seq of the record that sent a request.
    pub(crate) fn request(&self, request: RequestId) -> Option<Seq> {
        self.requests
            .iter()
            .rev()
            .find(|(id, _)| *id == request)
            .map(|&(_, seq)| seq)
    }
}

/// How a stream falls that ended with this event, before any attribution.
fn fall_of(event: &Event, stream: &OpenStream) -> (Fall, Cause) {
    let Event::StreamEnded(ended) = event else {
        // The watch was stopped, or started anew, over an open stream.
        return (Fall::Square, Cause::Cancelled);
    };
    let in_time = |timeout: u64| ended.age_ms.abs_diff(timeout) <= TIMEOUT_REACH_MS;
    let fall = match ended.cause {
        Cause::Cancelled => Fall::Square,
        Cause::End if stream.timeout_ms.is_some_and(in_time) => Fall::Square,
        Cause::End => Fall::Fade,
        _ => Fall::Torn,
    };
    (fall, ended.cause)
}

impl PhaseSpan {
    fn of(phase: &watchscope_model::fold::OpenPhase) -> Self {
        Self {
            phase: phase.phase,
            reason: phase.reason,
            delay_ms: phase.delay_ms,
        }
    }
}

impl StreamSpan {
    fn of(stream: &OpenStream) -> Self {
        Self {
            stream: stream.stream,
            request: stream.request,
            from: stream.resource_version.clone(),
            timeout_ms: stream.timeout_ms,
            fall: None,
        }
    }
}

impl VerdictSpan {
    fn of(verdict: &Verdict) -> Self {
        Self {
            kind: verdict.kind,
            listed: verdict.listed.clone(),
            held: verdict.held.clone(),
        }
    }
}

impl FindingSpan {
    fn of(finding: &Finding) -> Self {
        Self {
            code: finding.code.clone(),
            name: finding.name.clone(),
            severity: finding.severity,
            watch: finding.watch.clone(),
            server: finding.server.clone(),
            summary: finding.summary.clone(),
        }
    }
}

impl Trace {
    /// Takes in a head snapshot: what is open in it is open live.
    pub(crate) fn go_live(&mut self, state: &State, names: &mut Names) {
        self.horizon = super::spans::LIVE;
        self.seed(state, names);
    }
}
