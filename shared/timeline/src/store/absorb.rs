//! Builds a trace from the stretches that a snapshot has open, and from each record after it.
//!
//! The fold decides what is open: the state before each record is compared with the state after it.

use watchscope_model::event::{Change, Event, Finding, ListComplete, Record, Verdict};
use watchscope_model::fold::{Moment, OpenFinding, OpenStream, State, VersionStep, Watch};
use watchscope_model::vocabulary::{Author, Cause, ChangeType, Origin, Standing};
use watchscope_model::{ResourceVersion, Seq};

use super::mark_kind::{MarkKind, NO_VERSION};
use super::names::Names;
use super::parts::{
    AuditMark, ConnectionSpan, ErrorMark, Fall, FindingSpan, GapOutcome, GapSpan, LifeSpan,
    ListMark, LossMark, NarratorLine, Occurrence, OpeningPoint, OwnRequestMark, OwnRequestStep,
    PauseMark, PhaseSpan, SentRequest, StepMark, StreamAttribution, StreamSpan, VerdictSpan,
};
use super::trace::{Trace, WatchTrace};
use crate::id::{ObjectId, WatchId};

/// Greatest difference in ms, included, between the requested timeout and the age of a stream for which the timeout
/// counts as its cause (F05). An orderly `end` within this difference is drawn as normal, any other `end` as
/// unexplained, unless an attribution decides otherwise ([`WatchTrace::fall`]). The 2 s are those of the rule
/// (docs/semantics/streams.md#rule-timeout).
const TIMEOUT_REACH_MS: u64 = 2_000;

impl Trace {
    /// Returns a trace with all stretches that are open in a state. All that is open in the trace counts as open until
    /// the trace is [frozen](Self::freeze), as the trace of a chapter is at the chapter's end.
    pub(crate) fn seeded(state: &State, names: &mut Names) -> Self {
        let mut trace = Self::default();
        trace.seed(state, names);
        trace
    }

    /// Adds the stretches that a snapshot has open.
    pub(crate) fn seed(&mut self, state: &State, names: &mut Names) {
        let updated = state.seq;
        let now = Moment {
            seq: state.seq,
            at: state.at,
        };
        self.take_cluster(state);
        for open in state.findings.values() {
            self.open_finding(open, updated);
        }
        for (&id, connection) in &state.connections {
            names.server(&connection.remote);
            let what = ConnectionSpan {
                connection: id,
                remote: connection.remote.clone(),
                alpn: connection.alpn.clone(),
                tls: connection.tls.clone(),
                cause: None,
            };
            self.connections.open(connection.since, updated, what);
        }
        for (name, watch) in &state.watches {
            let id = names.watch(name);
            let trace = self.watch_mut(id);
            trace.started = Some(watch.since);
            if let Some(phase) = &watch.phase {
                trace
                    .phases
                    .open(phase.since, updated, PhaseSpan::of(phase));
            }
            if let Some(stream) = &watch.stream {
                let what = StreamSpan::of(stream);
                trace.streams.open(stream.since, updated, what);
            }
            if let Some(gap) = &watch.gap {
                trace.gaps.open(
                    gap.since,
                    updated,
                    GapSpan {
                        cause: gap.reason,
                        outcome: None,
                    },
                );
            }
            trace.server = watch.server.clone();
            let seen = watch.seen.as_ref().and_then(ResourceVersion::number);
            trace.openings.push(OpeningPoint { moment: now, seen });
            for held in watch.objects.iter() {
                let object = names.object(id, &held.object);
                let lives = &mut trace.object_mut(object).lives;
                lives.open(held.since, updated, LifeSpan { doubt: None });
            }
            for open in watch.verdicts.values() {
                let object = names.object(id, &open.verdict.object);
                let verdicts = &mut trace.object_mut(object).verdicts;
                verdicts.open(open.since, updated, VerdictSpan::of(&open.verdict));
            }
        }
    }

    /// Folds the next record into `state`, and adds what the record changed to the trace.
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
        if let Event::ConnectionClosed(closed) = event
            && let Some(open) = state.connections.get(&closed.connection)
            && let Some(what) = self.connections.close(open.since.seq, now)
        {
            what.cause = Some(closed.cause);
        }
        state.apply(record);
        match event {
            Event::ClusterConnected(_) => self.take_cluster(state),
            Event::ConnectionOpened(opened) => {
                names.server(&opened.remote);
                let what = ConnectionSpan {
                    connection: opened.connection,
                    remote: opened.remote.clone(),
                    alpn: opened.alpn.clone(),
                    tls: opened.tls.clone(),
                    cause: None,
                };
                self.connections.open(now, now.seq, what);
            }
            Event::Finding(event) => self.absorb_finding(event, now, finding, state),
            Event::RequestSent(sent) if sent.watch.is_aside() => {
                self.own_requests.push(OwnRequestMark {
                    moment: now,
                    request: sent.request,
                    step: OwnRequestStep::Sent,
                })
            }
            Event::RequestAnswered(answered) if answered.watch.is_aside() => {
                self.own_requests.push(OwnRequestMark {
                    moment: now,
                    request: answered.request,
                    step: if answered.has_failed() {
                        OwnRequestStep::Failed
                    } else {
                        OwnRequestStep::Answered
                    },
                });
            }
            Event::Clock(clock) => {
                if let Some(paused_ms) = clock.paused_ms {
                    let paused_us = i64::try_from(paused_ms.saturating_mul(1_000));
                    self.pauses.push(PauseMark {
                        moment: now,
                        paused_us: paused_us.unwrap_or(i64::MAX),
                    });
                }
            }
            Event::Note(note) => {
                // Notes of persons are kept apart, because they can be changed and withdrawn.
                if note.author != Author::Person {
                    self.notes.push(NarratorLine {
                        moment: now,
                        text: note.text.clone(),
                    });
                }
                if note.over == Some(true) {
                    self.story_over = Some(now);
                }
            }
            Event::Loss(loss) if loss.watch.is_none() => {
                self.losses.push(LossMark {
                    moment: now,
                    place: loss.place,
                    count: loss.count,
                });
            }
            _ => {}
        }
        let Some(name) = event.watch() else {
            return;
        };
        if let Some(before) = before {
            let id = names.watch(name);
            let trace = self.watch_mut(id);
            trace.absorb(record, &before, || state.watches.get(name), id, names);
        } else if let Some(watch) = state.watches.get(name) {
            let trace = self.watch_mut(names.watch(name));
            trace.started = Some(now);
            trace.server.clone_from(&watch.server);
        }
    }

    fn take_cluster(&mut self, state: &State) {
        let cluster = state.cluster.as_ref();
        if let Some(uid) = cluster.and_then(|cluster| cluster.uid.as_ref()) {
            self.cluster_uid = Some(uid.clone());
        }
    }

    fn absorb_finding(
        &mut self,
        event: &Finding,
        now: Moment,
        before: Option<(Moment, Moment, u64)>,
        state: &State,
    ) {
        let open = state.findings.get(&event.key());
        let count = before.map_or(0, |(.., count)| count);
        if let Some((since, raised, _)) = before {
            if open.is_none() {
                self.findings.close(since.seq, now);
            }
            if open.is_none_or(|open| open.raised() != raised) {
                self.occurrences.close(raised.seq, now);
            }
        }
        if let Some(open) = open {
            self.open_finding(open, now.seq);
            if event.state == Standing::Raised {
                self.raised.push(now);
                if let Some(span) = self.occurrences.get_mut(now.seq) {
                    span.what.before = Some(count);
                }
            }
        }
    }

    /// Adds an open finding of the fold, with its last occurrence.
    fn open_finding(&mut self, open: &OpenFinding, updated: Seq) {
        let what = FindingSpan::of(open);
        self.findings.open(open.since, updated, what);
        let mut what = Occurrence::of(open);
        let known = self.occurrences.get(open.raised().seq);
        what.before = what.before.or(known.and_then(|span| span.what.before));
        self.occurrences.open(open.raised(), updated, what);
    }

    /// Adds a head snapshot. What is open in the snapshot counts as open at the live head.
    pub(crate) fn go_live(&mut self, state: &State, names: &mut Names) {
        self.seed(state, names);
    }
}

impl WatchTrace {
    /// Adds a record. `after` returns the watch after the record; most changes do not need it.
    fn absorb<'a>(
        &mut self,
        record: &Record,
        before: &Before,
        after: impl Fn() -> Option<&'a Watch>,
        id: WatchId,
        names: &mut Names,
    ) {
        let now = Moment::from(record);
        if ends_or_opens(&record.event)
            && let Some(watch) = after()
        {
            self.absorb_open(record, before, watch);
        }
        match &record.event {
            Event::WatchStarted(event) => {
                self.started = Some(now);
                self.server = event.server.clone();
                self.close_objects(now);
            }
            Event::WatchStopped(_) => self.close_objects(now),
            Event::RequestSent(sent) => self.requests.push(SentRequest {
                request: sent.request,
                seq: now.seq,
            }),
            Event::Change(change) => {
                let object = names.object(id, &change.object);
                if change.change != ChangeType::Deleted || change.owner.is_some() {
                    names.take_controller(id, object, now.at, change.owner.as_ref());
                }
                self.absorb_change(change, now, before, after, object);
            }
            Event::Bookmark(bookmark) => {
                let kind = if bookmark.initial_events_end == Some(true) {
                    MarkKind::InitialEnd
                } else {
                    MarkKind::Bookmark
                };
                self.push_mark(now, kind, &bookmark.resource_version);
            }
            Event::ListComplete(list) => {
                self.lists.push(ListMark {
                    moment: now,
                    items: list.items,
                    added: list.added,
                    changed: list.changed,
                    removed: list.removed,
                    relist: before.listed,
                    older: before.older_list,
                    compared: None,
                });
                self.push_mark(now, MarkKind::List, &list.resource_version);
            }
            Event::StreamError(error) => self.errors.push(ErrorMark {
                moment: now,
                code: error.code,
            }),
            Event::Attribution(attribution) => {
                let attributed = StreamAttribution {
                    seq: now.seq,
                    code: attribution.code.clone(),
                    certainty: attribution.certainty,
                };
                self.attributions.insert(attribution.stream, attributed);
            }
            Event::Audit(audit) => self.audits.push(AuditMark {
                moment: now,
                read: audit.clone(),
                object: audit.object.as_ref().map(|object| names.object(id, object)),
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
                let open = after().and_then(|watch| open_verdict(watch, verdict));
                match (open, before.verdict) {
                    (Some((_, since)), _) => {
                        verdicts.open(since, now.seq, VerdictSpan::of(verdict))
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
                anew: before.anew,
            }),
            VersionStep::Reversal { by } => self.steps.push(StepMark {
                moment: now,
                by,
                back: true,
                anew: before.anew,
            }),
            VersionStep::Usual | VersionStep::Incomparable => {}
        }
    }

    /// Adds each phase, stream, gap and connection that the fold opened or closed with this record.
    fn absorb_open(&mut self, record: &Record, before: &Before, watch: &Watch) {
        let now = Moment::from(record);
        let phase = watch.phase.as_ref();
        if before.phase != phase.map(|phase| phase.since.seq) {
            if let Some(since) = before.phase {
                self.phases.close(since, now);
            }
            if let Some(phase) = phase {
                let what = PhaseSpan::of(phase);
                self.phases.open(phase.since, now.seq, what);
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
                let what = StreamSpan::of(stream);
                self.streams.open(stream.since, now.seq, what);
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
                    now.seq,
                    GapSpan {
                        cause: gap.reason,
                        outcome: None,
                    },
                );
            }
        }
    }

    fn absorb_change<'a>(
        &mut self,
        change: &Change,
        now: Moment,
        before: &Before,
        after: impl Fn() -> Option<&'a Watch>,
        object: ObjectId,
    ) {
        let kind = MarkKind::of(change, before.status_only);
        let place = self.marks.len();
        self.push_mark(now, kind, &change.resource_version);
        let trace = self.object_mut(object);
        trace.marks.push(place, kind);
        trace.listed += u32::from(kind.is_by_list());
        if before.lives_on {
            return;
        }
        let held = after().and_then(|watch| watch.held(&change.object));
        let held = held.map(|held| held.since);
        if before.life != held.map(|since| since.seq) {
            if let Some(since) = before.life
                && let Some(life) = trace.lives.close(since, now)
                && change.origin == Origin::Inferred
            {
                life.doubt = before.gap.map(|gap| gap.at);
            }
            if let Some(since) = held {
                let what = LifeSpan { doubt: None };
                trace.lives.open(since, now.seq, what);
            }
        }
    }

    fn push_mark(&mut self, now: Moment, kind: MarkKind, version: &ResourceVersion) {
        let version = version.number().unwrap_or(NO_VERSION);
        self.marks.push(now.seq, now.at, kind, version);
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
}

/// The state of a watch before a record.
struct Before {
    phase: Option<Seq>,
    stream: Option<OpenStream>,
    gap: Option<Moment>,
    life: Option<Seq>,
    /// Whether the change continues the object's life, instead of beginning a new one.
    lives_on: bool,
    verdict: Option<Seq>,
    listed: bool,
    /// Whether the record is a list older than the watch's progress, which changes nothing.
    older_list: bool,
    step: VersionStep,
    /// Whether the watch has received no resourceVersion since its last start.
    anew: bool,
    status_only: bool,
}

impl Before {
    fn of(watch: &Watch, event: &Event) -> Self {
        let mut before = Self {
            phase: watch.phase.as_ref().map(|phase| phase.since.seq),
            stream: ends_or_opens(event).then(|| watch.stream.clone()).flatten(),
            gap: watch.gap.as_ref().map(|gap| gap.since),
            life: None,
            lives_on: false,
            verdict: None,
            listed: watch.counts.of(ListComplete::KIND) > 0,
            older_list: false,
            step: VersionStep::Usual,
            anew: watch.seen.is_none(),
            status_only: false,
        };
        match event {
            Event::Change(change) => {
                let held = watch.held(&change.object);
                before.life = held.map(|held| held.since.seq);
                before.lives_on = change.change != ChangeType::Deleted
                    && held.is_some_and(|held| held.object.uid == change.object.uid);
                before.status_only = held.is_some_and(|held| held.is_status_only(change));
                if change.origin == Origin::Live {
                    before.step = watch.move_to(&change.resource_version);
                }
            }
            Event::Bookmark(bookmark) => before.step = watch.move_to(&bookmark.resource_version),
            Event::ListComplete(list) => {
                let version = &list.resource_version;
                before.step = watch.move_to(version);
                let progress = watch.progress.as_ref();
                before.older_list = version.is_position()
                    && progress.is_some_and(|progress| progress.is_after(version));
            }
            Event::Verdict(verdict) => {
                before.verdict = open_verdict(watch, verdict).map(|(seq, _)| seq)
            }
            _ => {}
        }
        before
    }
}

/// Whether an event can end or open a phase, a stream or a gap. Most events are changes of objects, which cannot.
fn ends_or_opens(event: &Event) -> bool {
    !matches!(event, Event::Change(_) | Event::Bookmark(_))
}

fn open_verdict(watch: &Watch, verdict: &Verdict) -> Option<(Seq, Moment)> {
    let open = watch.verdict_on(&verdict.object)?;
    Some((open.since.seq, open.since))
}

/// Returns two records of an open finding: the one that first raised it since it was last cleared, and the one that
/// raised it last. Also returns how often the finding has occurred since it was last cleared.
fn open_finding(state: &State, finding: &Finding) -> Option<(Moment, Moment, u64)> {
    let open = state.findings.get(&finding.key())?;
    Some((open.since, open.raised(), open.count))
}

/// Returns how the plateau of a stream that ended with this event falls, before any attribution.
fn fall_of(event: &Event, stream: &OpenStream) -> (Fall, Cause) {
    let Event::StreamEnded(ended) = event else {
        // The watch was stopped or started anew while the stream was open.
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
