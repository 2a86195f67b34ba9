//! Findings about streams' ends: what attribution says, once it says no other (docs/semantics/streams.md#revised).

use watchscope_model::event::{Attribution, Gap, StreamEnded, StreamError};
use watchscope_model::fold::Moment;
use watchscope_model::row::Attributed;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Cause, Certainty, Severity};
use watchscope_model::{Row, Seq, State, StreamId, Text, Time, WatchName};

use super::draft::{Fate, FindingDraft, Lasts, Shared, Subject};
use super::place::Place;
use super::registry::FindingRegistry;
use super::timers::{Timer, Timers};
use crate::attribution::{
    AFTERMATH_US, DRAIN_US, MAX_ENDS, REPLAYED, REVISED_US, TOGETHER_US, is_barren,
};
use crate::server_words;
use crate::text::{count, seconds};

/// When no better attribution can come, after the end, in microseconds.
const SETTLED_US: i64 = REVISED_US + TOGETHER_US;

/// A watch that nothing moved on for so long expires because its type is quiet (F12), in milliseconds.
const QUIET_TYPE_MS: u64 = 300_000;
/// A gap that began so short a time after an edit, in microseconds, may be of it.
const EDITED_US: i64 = 1_000_000;
/// A watch that was blind for longer is a warning, whatever ended it, in microseconds.
const BLIND_US: i64 = 60_000_000;
/// After this silence of a stream the probe takes a second look, in microseconds. Nothing is known of the watch from its
/// last byte on.
const IDLE_US: i64 = 90_000_000;
/// What became of a watch that its cause left without history.
const EXPIRED: &str = " Its history was gone with that (410), and it listed again: what happened in between is not known.";
/// The most servers that are remembered as gone. Past that a further one is not remembered.
const MAX_LEFT: usize = 64;
/// Initial events of a type that are cut short within this time may be of one cause, in microseconds: each watch comes to
/// its own after a backoff of its own.
const CUT_SHORT_US: i64 = 60_000_000;
/// So many barren streams in a row are more than chance (F10).
const BARREN_STREAMS: usize = 3;

/// Where a stream that ends had come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// The version it began at; 0 if that is none of an order.
    pub(super) from: Option<u64>,
    /// When its watch was last moved on, by an event, a bookmark or a list.
    pub(super) moved_at: Option<Time>,
    /// When the gap began that its watch is in: with its end, or before.
    pub(super) gap_at: Time,
    /// The last edit of its resource's definition.
    pub(super) edit: Option<Moment>,
}

/// Where a stream that ends was.
#[derive(Clone, Debug)]
pub(super) struct Where {
    pub(super) place: Place,
    /// Whether streams of other watches are open over its connection.
    pub(super) is_shared: bool,
}

impl Where {
    pub(super) fn of(name: &WatchName, before: &State) -> Option<Self> {
        let connection = before.watches.get(name)?.connection;
        let mut watches = before.watches.iter();
        let is_shared = watches.any(|(other, watch)| {
            other != name && watch.stream.is_some() && watch.connection == connection
        });
        let place = Place::of(name, before)?;
        Some(Self { place, is_shared })
    }
}

/// An end whose reason may still be said better.
#[derive(Clone, Debug)]
struct Pending {
    watch: WatchName,
    at: Time,
    age_ms: u64,
    events: u64,
    unread_ms: Option<u64>,
    course: Course,
    /// None of a stream that is only opened to find out about a watch.
    was: Option<Where>,
    said: Said,
    answer: Option<Answer>,
    /// What became of the watch, once its gap is closed.
    outcome: Option<Outcome>,
    /// The list that its gap needs has an ordinary cause.
    is_ordinary: bool,
}

/// How a gap closed.
#[derive(Clone, Debug)]
struct Outcome {
    /// The version that the watch went on from; none if it listed.
    from: Option<String>,
    fate: Fate,
    at: Time,
    /// The row of an end in the same gap that says why it listed: its history was gone.
    told_by: Option<Row>,
}

impl Outcome {
    /// For an end of this row.
    fn sentence(&self, row: Row) -> String {
        match (&self.from, self.told_by) {
            (Some(from), _) => format!(" It went on from {from}, and nothing was lost."),
            (None, Some(by)) if by != row && !leaves_no_history(row) => {
                format!(" It could not go on from where it was ({by}).")
            }
            (None, _) => " It listed again: what happened in between is not known.".to_owned(),
        }
    }
}

/// What the severity of an end depends on besides how its gap closes.
#[derive(Clone, Copy, Debug)]
struct Stake {
    /// Since when nothing came.
    blind_from: Time,
    /// A list that ends it is no more than its cause brings with it: an edit of a definition, a server that restarted, a
    /// quiet type, a pause of watchscope.
    is_ordinary: bool,
}

impl Stake {
    /// How severe an end was, by how its gap closed.
    fn severity(self, outcome: &Outcome) -> Severity {
        let is_blind_long = outcome.at.micros_since(self.blind_from) > BLIND_US;
        let is_over_lightly = outcome.from.is_some() || self.is_ordinary;
        if is_over_lightly && !is_blind_long {
            Severity::Note
        } else {
            Severity::Warning
        }
    }
}

/// What explains that the history which a watch was to go on from is gone.
#[derive(Clone, Copy, Debug)]
struct History {
    /// The server's cache began anew in the same gap.
    is_consequence: bool,
    /// The type was so quiet that its version aged until it was compacted.
    is_quiet: bool,
    /// watchscope itself had not run.
    pause: Option<Moment>,
    /// The type's definition was edited.
    edit: Option<Seq>,
}

impl History {
    fn is_ordinary(self) -> bool {
        self.is_consequence || self.is_quiet || self.pause.is_some() || self.edit.is_some()
    }
}

/// Whether history is gone in a gap to which a stream belongs: it began the gap, or ended in it before the last one.
fn is_in_gap(answer: &Answer, row: Row, stream: Option<&StreamId>, last: StreamId) -> bool {
    let (Some(began), Some(stream)) = (answer.began, stream) else {
        return false;
    };
    is_history_gone(row) && (began..last).contains(stream)
}

#[derive(Clone, Debug)]
struct Answer {
    row: Option<Row>,
    certainty: Certainty,
    evidence: Vec<Seq>,
    /// The stream whose end began the gap in which this was told.
    began: Option<StreamId>,
}

/// What of an ERROR event matters to what is told of it.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    /// The oldest version that could be gone on from.
    oldest: Option<u64>,
    /// That etcd has no leader. Only a watch that goes to etcd itself is told so
    /// (docs/semantics/requests.md#no-leader).
    is_leaderless: bool,
}

/// The ends of the last seconds, at most [`MAX_ENDS`] (past that the oldest is taken as it stands), and of each watch
/// the last stream that ended because its server's cache began anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended {
    pending: BTreeMap<StreamId, Pending>,
    rebuilt: BTreeMap<WatchName, StreamId>,
    /// Of each watch the last stream that ended for a cause that leaves a server without its history, and the cause's row.
    emptied: BTreeMap<WatchName, (StreamId, Row)>,
    /// When each server, by address, last went away, and the row of that; at most [`MAX_LEFT`].
    left: BTreeMap<Text, (Time, Row)>,
    /// Of each watch the last stream that ended because watchscope had not run.
    slept: BTreeMap<WatchName, StreamId>,
    /// What was found of each watch in the gap it is in, whose outcome is not known yet; at most one of a code.
    told: BTreeMap<WatchName, BTreeMap<Row, Stake>>,
    /// What the ERROR event of each watch's stream said, until the stream ends.
    said: BTreeMap<WatchName, Said>,
    /// The watches whose next list says what their 410 means, and until when it is waited for.
    awaited: BTreeMap<WatchName, Time>,
    /// The last pause in which watchscope did not run.
    pause: Option<Moment>,
    /// The barren streams in a row of each watch that began at the same place, and whether all ended in order.
    barren: BTreeMap<WatchName, (u64, bool, Vec<Seq>)>,
}

impl Ended {
    pub(super) fn ended(
        &mut self,
        event: &StreamEnded,
        course: Course,
        was: Option<Where>,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        self.count_barren(event, course.from, record, registry);
        if self.pending.len() >= MAX_ENDS {
            self.pending.pop_first();
        }
        self.pending.insert(
            event.stream,
            Pending {
                watch: event.watch.clone(),
                at: record.at,
                age_ms: event.age_ms,
                events: event.events,
                unread_ms: event.unread_ms,
                course,
                was,
                said: self.said.remove(&event.watch).unwrap_or_default(),
                answer: None,
                outcome: None,
                is_ordinary: false,
            },
        );
        let at = record.at.plus_micros(SETTLED_US);
        timers.set(at, Timer::Settled(event.stream));
    }

    /// The ERROR event of a stream may say how much history is left; what that means may be said by a list, which is
    /// waited for until then.
    pub(super) fn error(&mut self, event: &StreamError, awaits_list: Option<Time>) {
        if let Some(until) = awaits_list {
            self.awaited.insert(event.watch.clone(), until);
        }
        let message = event.message.as_deref().unwrap_or("");
        let said = Said {
            oldest: server_words::oldest_left(message),
            is_leaderless: server_words::is_leaderless(message),
        };
        self.said.insert(event.watch.clone(), said);
    }

    /// A watch is given a state, or what that would say is known: what was waiting for it is settled soon after.
    pub(super) fn waits_no_more(&mut self, watch: &WatchName, record: Moment, timers: &mut Timers) {
        let Some(until) = self.awaited.get_mut(watch) else {
            return;
        };
        *until = (*until).min(record.at.plus_micros(TOGETHER_US));
        for (stream, end) in self.pending.iter().filter(|(_, end)| end.watch == *watch) {
            let at = (*until).max(end.at.plus_micros(SETTLED_US));
            timers.set(at, Timer::Settled(*stream));
        }
    }

    /// Until when a stream's end is not to be settled, because a list may say more of it.
    pub(super) fn waits_for_list(&self, stream: StreamId, now: Time) -> Option<Time> {
        let until = *self.awaited.get(&self.pending.get(&stream)?.watch)?;
        (now < until).then_some(until)
    }

    /// watchscope did not run for a while.
    pub(super) fn paused(&mut self, record: Moment) {
        self.pause = Some(record);
    }

    /// F10: streams that bring nothing and end at once, again and again from the same place.
    fn count_barren(
        &mut self,
        event: &StreamEnded,
        from: Option<u64>,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(from) = from.filter(|_| is_barren(event)) else {
            self.barren.remove(&event.watch);
            return;
        };
        let (place, is_orderly, run) = self.barren.entry(event.watch.clone()).or_default();
        if *place != from {
            *place = from;
            run.clear();
        }
        *is_orderly = event.cause == Cause::End && (*is_orderly || run.is_empty());
        run.push(record.seq);
        if run.len() < BARREN_STREAMS {
            return;
        }
        if run.len() > BARREN_STREAMS {
            run.remove(0);
        }
        let place = if from == 0 {
            String::new()
        } else {
            format!(" from {from}")
        };
        // What only closes may be someone on the way, or a server that goes away again and again.
        let (certainty, alike): (_, &[Row]) = if *is_orderly {
            (Certainty::Likely, &[])
        } else {
            (Certainty::Suspected, &[Row::F06, Row::F37])
        };
        let found = FindingDraft::of(
            Row::F10,
            certainty,
            Subject::Watch(event.watch.clone()),
            run.clone(),
            record.at,
            format!(
                "{BARREN_STREAMS} streams of {} in a row{place} were accepted and ended at once, with nothing in them and \
                 no ERROR.",
                event.watch
            ),
        );
        registry.raise(found.alike(alike), record.at);
    }

    pub(super) fn attributed(
        &mut self,
        event: &Attribution,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        // The end that began the gap, if it is not this one.
        let began = before
            .watches
            .get(&event.watch)
            .and_then(|watch| watch.gap.as_ref())
            .map(|gap| gap.stream)
            .filter(|began| *began != event.stream);
        let row = event.why().and_then(Attributed::row);
        if row.is_some_and(is_rebuilding) {
            self.rebuilt.insert(event.watch.clone(), event.stream);
            self.waits_no_more(&event.watch, record, timers);
        }
        let found = row.filter(|row| alike(*row, event.certainty).is_some());
        match found.filter(|row| leaves_no_history(*row)) {
            Some(row) => {
                let emptied = (event.stream, row);
                self.emptied.insert(event.watch.clone(), emptied);
                if matches!(row, Row::F06 | Row::F07)
                    && let Some(end) = self.pending.get(&event.stream)
                    && let Some(server) = end.was.as_ref().and_then(|was| was.place.address())
                    && (self.left.len() < MAX_LEFT || self.left.contains_key(server))
                {
                    self.left.insert(server.clone(), (end.at, row));
                }
            }
            // A better answer for the same end.
            None => {
                let known = self.emptied.get(&event.watch);
                if known.is_some_and(|(stream, _)| *stream == event.stream) {
                    self.emptied.remove(&event.watch);
                }
            }
        }
        let is_of = |pause: Moment| event.evidence.contains(&pause.seq);
        if self.pause.is_some_and(is_of) {
            self.slept.insert(event.watch.clone(), event.stream);
        }
        // An end in the same gap may still turn out to be the cause.
        let waits = row.is_some_and(is_history_gone)
            && began.is_some_and(|began| {
                let mut since = self.pending.range(began..event.stream);
                since.any(|(_, end)| end.watch == event.watch)
            });
        let Some(pending) = self.pending.get_mut(&event.stream) else {
            return;
        };
        pending.answer = Some(Answer {
            row,
            certainty: event.certainty,
            evidence: event.evidence.clone(),
            began,
        });
        // A reset may turn out to be the server's going away; all else that is definite stays so.
        if event.certainty == Certainty::Definite && row != Some(Row::F08) && !waits {
            let at = pending.at.plus_micros(SETTLED_US);
            timers.unset(at, Timer::Settled(event.stream));
            self.settled(event.stream, record.at, registry);
        }
    }

    /// Why a stream ended is settled; what waited for that in the same gap is so with it.
    pub(super) fn settled(&mut self, stream: StreamId, now: Time, registry: &mut FindingRegistry) {
        let Some(mut end) = self.pending.remove(&stream) else {
            return;
        };
        let watch = end.watch.clone();
        end.is_ordinary |= self.is_followed_by_ordinary(stream, &watch);
        self.find(stream, end, now, registry);
        let mut of_watch = self.pending.iter().filter(|(_, end)| end.watch == watch);
        if let Some((&next, waiting)) = of_watch.next()
            && let Some(answer) = &waiting.answer
            && answer.certainty == Certainty::Definite
            && answer.row.is_some_and(is_history_gone)
        {
            self.settled(next, now, registry);
        }
        if !self.pending.values().any(|other| other.watch == watch) {
            self.awaited.remove(&watch);
        }
    }

    /// Whether the history that a watch was to go on from is gone for an ordinary cause.
    fn history(&self, stream: StreamId, end: &Pending, answer: &Answer, row: Row) -> History {
        // History that is gone because the server's cache began anew is what was to be expected of that.
        let is_consequence = is_in_gap(answer, row, self.rebuilt.get(&end.watch), stream);
        // History that passed while watchscope did not run is its own doing, however long it then took to get back.
        let is_asleep = is_in_gap(answer, row, self.slept.get(&end.watch), stream);
        let pause = self.pause.filter(|pause| {
            let Course {
                moved_at, gap_at, ..
            } = end.course;
            let is_near = pause.at.plus_micros(AFTERMATH_US) >= gap_at;
            let may_be = is_history_gone(row) && (is_near || is_asleep);
            may_be && moved_at.is_none_or(|at| at <= pause.at)
        });
        History {
            is_consequence,
            // And a type that says nothing for long expires between two streams, though nothing went wrong.
            is_quiet: row == Row::F12 && end.was_quiet(),
            pause,
            // So does one whose definition was edited just when, or after, its stream ended: its cache began anew.
            edit: end.edited().filter(|_| is_history_gone(row)),
        }
    }

    /// Whether a 410 that waits for a stream's end in the same gap has an ordinary cause besides that end itself.
    fn is_followed_by_ordinary(&self, stream: StreamId, watch: &WatchName) -> bool {
        if self.rebuilt.get(watch) == Some(&stream) {
            return false;
        }
        let mut later = self.pending.range(stream..);
        later.any(|(&later, end)| {
            end.watch == *watch
                && end.answer.as_ref().is_some_and(|answer| {
                    answer.found().is_some_and(|(row, _)| {
                        is_in_gap(answer, row, Some(&stream), later)
                            && self.history(later, end, answer, row).is_ordinary()
                    })
                })
        })
    }

    fn find(&mut self, stream: StreamId, end: Pending, now: Time, registry: &mut FindingRegistry) {
        let Some(answer) = &end.answer else {
            return;
        };
        let Some((row, alike)) = answer.found() else {
            return;
        };
        let emptied = self.emptied.get(&end.watch);
        let cause = emptied.filter(|(stream_of_cause, cause)| {
            let may_be = row == Row::F11 || matches!(*cause, Row::F16 | Row::F17);
            may_be && is_in_gap(answer, row, Some(stream_of_cause), stream)
        });
        let cause = cause.map(|(_, cause)| *cause);
        let history = self.history(stream, &end, answer, row);
        let is_history_ordinary = history.is_ordinary();
        let History {
            is_consequence,
            pause,
            edit,
            ..
        } = history;
        if is_history_ordinary {
            self.lists_for_ordinary_cause(&end.watch);
        }
        // One cause, one finding: the list that follows is told of there.
        let watch = || Subject::Watch(end.watch.clone());
        if let Some(cause) = cause.filter(|cause| registry.stands(*cause, watch())) {
            registry.amend(cause, watch(), |found| {
                found.evidence.extend(&answer.evidence);
                found.is_expired();
            });
            return;
        }
        if row == Row::F11
            && let Some((found, stake)) = self.of_server(&end, answer)
        {
            self.lists_for_ordinary_cause(&end.watch);
            self.conclude(found, stake, &end, now, registry);
            return;
        }
        let is_ordinary =
            is_history_ordinary || end.is_ordinary || matches!(row, Row::F06 | Row::F07 | Row::F17);
        // Of a dead connection nothing came before its end either.
        let heard_at = match row {
            Row::F04 => end.course.moved_at.max(Some(end.at.plus_micros(-IDLE_US))),
            _ => None,
        };
        let stake = Stake {
            blind_from: heard_at.unwrap_or(end.course.gap_at).min(end.at),
            is_ordinary,
        };
        let is_suspected = answer.certainty == Certainty::Suspected;
        let mut summary = sentence(row, is_suspected, &end);
        let mut evidence = answer.evidence.clone();
        if let Some(pause) = pause {
            summary += " watchscope itself had not run before that.";
            evidence.insert(0, pause.seq);
        }
        if let Some(edit) = edit.filter(|_| !is_consequence) {
            summary += " Its definition had just been edited.";
            evidence.insert(0, edit);
        }
        let mut found = FindingDraft::of(
            row,
            answer.certainty,
            Subject::Watch(end.watch.clone()),
            evidence,
            end.at,
            summary,
        )
        .alike(alike);
        found.fate = Some(Fate::Blind);
        found.shared = self.shared(row, stream, &end, is_suspected, now);
        if is_history_ordinary {
            found.severity = Severity::Note;
        }
        self.conclude(found, stake, &end, now, registry);
    }

    /// Raises what was found of an end, with what became of its gap, or until that is known.
    fn conclude(
        &mut self,
        mut found: FindingDraft,
        stake: Stake,
        end: &Pending,
        now: Time,
        registry: &mut FindingRegistry,
    ) {
        match &end.outcome {
            Some(outcome) => found.close(stake, outcome),
            None => {
                if found.severity < Severity::Warning {
                    let at = stake.blind_from.plus_micros(BLIND_US);
                    found.worsens = Some((at, Severity::Warning));
                }
                let told = self.told.entry(end.watch.clone()).or_default();
                told.insert(found.row, stake);
            }
        }
        registry.raise(found, now);
    }

    /// A 410 of a watch that was without a stream when its server went away: its history went with that, and the finding of
    /// the server counts it.
    fn of_server(&self, end: &Pending, answer: &Answer) -> Option<(FindingDraft, Stake)> {
        let place = &end.was.as_ref()?.place;
        let server = place.address()?;
        let &(at, row) = self.left.get(server)?;
        let gap_at = end.course.gap_at;
        if at < gap_at || at > end.at {
            return None;
        }
        let summary = format!(
            "{server} went away while {} had no stream, and its history went with that (410).",
            end.watch
        );
        let watch = Subject::Watch(end.watch.clone());
        let evidence = answer.evidence.clone();
        let mut found = FindingDraft::of(row, Certainty::Likely, watch, evidence, at, summary);
        found.severity = Severity::Note;
        found.fate = Some(Fate::Blind);
        found.shared = Some(Shared {
            subject: Subject::Server(server.clone()),
            summary: shared_sentence(row, false, end, place),
            together_us: together_us(row),
            waits_until: None,
        });
        let stake = Stake {
            blind_from: gap_at,
            is_ordinary: true,
        };
        Some((found, stake))
    }

    /// What the stream of a watch shared with others that may have ended of the same cause. Where others are open over its
    /// connection, or have ended with it and may be said to be of this row by then, it waits for them.
    fn shared(
        &self,
        row: Row,
        stream: StreamId,
        end: &Pending,
        is_suspected: bool,
        now: Time,
    ) -> Option<Shared> {
        let was = end.was.as_ref()?;
        let subject = reach(row, &was.place)?;
        let mut waits_until = None;
        let is_early = now < end.at.plus_micros(TOGETHER_US);
        if is_early && was.is_shared {
            waits_until = Some(end.at.plus_micros(TOGETHER_US));
        }
        let mut last = end.at;
        // In the order in which they ended, so that each may be followed by the next.
        for (_, other) in self.pending.range(stream..) {
            let place = other.was.as_ref().map(|was| &was.place);
            let is_there = place.and_then(|place| reach(row, place)).as_ref() == Some(&subject);
            if is_there && (0..=TOGETHER_US).contains(&other.at.micros_since(last)) {
                last = other.at;
                waits_until = waits_until.max(Some(last.plus_micros(SETTLED_US)));
            }
        }
        Some(Shared {
            subject,
            summary: shared_sentence(row, is_suspected, end, &was.place),
            together_us: together_us(row),
            waits_until,
        })
    }

    /// The history that a watch was to go on from is gone for an ordinary cause: the list that follows makes nothing that
    /// happened in the same gap worse.
    fn lists_for_ordinary_cause(&mut self, watch: &WatchName) {
        for stake in self
            .told
            .get_mut(watch)
            .into_iter()
            .flat_map(BTreeMap::values_mut)
        {
            stake.is_ordinary = true;
        }
        for end in self.pending.values_mut().filter(|end| end.watch == *watch) {
            end.is_ordinary = true;
        }
    }

    /// What became of the watch after the end.
    pub(super) fn gap(&mut self, event: &Gap, record: Moment, registry: &mut FindingRegistry) {
        let told = self.told.remove(&event.watch).unwrap_or_default();
        let is_of_gap = |end: &&Pending| end.watch == event.watch && end.outcome.is_none();
        let pending = self.pending.values().filter(is_of_gap);
        let pending = pending.filter_map(|end| {
            let answer = end.answer.as_ref()?;
            Some(answer.found()?.0)
        });
        let told_by = told
            .keys()
            .copied()
            .chain(pending)
            .find(|row| is_history_gone(*row));
        let outcome = Outcome {
            from: event
                .from
                .as_ref()
                .filter(|_| event.resumed)
                .map(ToString::to_string),
            fate: match (event.resumed, event.lost) {
                (true, _) => Fate::Resumed,
                (false, Some(1..)) => Fate::Lost,
                (false, _) => Fate::Relisted,
            },
            at: record.at,
            told_by,
        };
        for (row, stake) in told {
            registry.amend(row, Subject::Watch(event.watch.clone()), |found| {
                found.close(stake, &outcome);
                found.evidence.push(record.seq);
            });
        }
        for end in self.pending.values_mut() {
            if end.watch == event.watch {
                end.outcome = Some(outcome.clone());
            }
        }
    }

    pub(super) fn forget(&mut self, watch: &WatchName) {
        self.rebuilt.remove(watch);
        self.emptied.remove(watch);
        self.awaited.remove(watch);
        self.slept.remove(watch);
        self.said.remove(watch);
        self.told.remove(watch);
        self.barren.remove(watch);
    }
}

impl FindingDraft {
    /// The history that the watch was to go on from is gone, because of its cause.
    fn is_expired(&mut self) {
        if matches!(self.fate, Some(Fate::Lost | Fate::Relisted)) {
            self.outcome = Some(EXPIRED.to_owned());
        }
    }

    /// The gap that began with its end has closed. That ends nothing that lasts, and proves nothing of an event that an
    /// apiserver has lost (F24).
    fn close(&mut self, stake: Stake, outcome: &Outcome) {
        if self.lasts == Lasts::UntilCleared {
            return;
        }
        self.outcome = Some(outcome.sentence(self.row));
        self.fate = Some(outcome.fate);
        self.worsens = None;
        if self.row != Row::F24 {
            self.severity = stake.severity(outcome);
        }
    }
}

/// Whether a server is without its history after that: the 410 that follows is no failure of its own.
fn leaves_no_history(row: Row) -> bool {
    matches!(row, Row::F06 | Row::F07 | Row::F16 | Row::F17)
}

/// Ends of this row within this time may be of one cause, in microseconds.
fn together_us(row: Row) -> i64 {
    match row {
        Row::F07 => DRAIN_US,
        Row::F37 => CUT_SHORT_US,
        _ => TOGETHER_US,
    }
}

/// What ends of this row have in common, where several watches have it of one cause.
fn reach(row: Row, place: &Place) -> Option<Subject> {
    match row {
        Row::F04 | Row::F08 | Row::F09 | Row::F47 => place.connection(),
        Row::F16 | Row::F17 | Row::F37 | Row::F38 => Some(place.type_there()),
        Row::F06 | Row::F07 => place.server(),
        _ => None,
    }
}

/// Whether a stream ended because its server's cache begins anew.
fn is_rebuilding(row: Row) -> bool {
    matches!(row, Row::F16 | Row::F17)
}

fn is_history_gone(row: Row) -> bool {
    matches!(row, Row::F11 | Row::F12)
}

impl Answer {
    /// The row that this is a finding of, and those that look alike.
    fn found(&self) -> Option<(Row, &'static [Row])> {
        let row = self.row?;
        Some((row, alike(row, self.certainty)?))
    }
}

/// The rows that look like one which a stream's end is attributed to. What is only a guess
/// (docs/semantics/streams.md#never-certain) is no finding, and left to the attribution.
fn alike(row: Row, certainty: Certainty) -> Option<&'static [Row]> {
    let is_suspected = certainty == Certainty::Suspected;
    Some(match row {
        Row::F06 => &[Row::F07],
        Row::F11 if is_suspected => &[Row::F12],
        Row::F17 if is_suspected => &[Row::F16],
        Row::F24 => &[Row::F25, Row::F26, Row::F27],
        Row::F37 if !is_suspected => &[Row::F36],
        Row::F16 | Row::F36 if !is_suspected => &[],
        Row::F04
        | Row::F07
        | Row::F08
        | Row::F09
        | Row::F11
        | Row::F12
        | Row::F17
        | Row::F38
        | Row::F39
        | Row::F47 => &[],
        _ => return None,
    })
}

fn asked_from(end: &Pending) -> String {
    match (end.course.from.filter(|from| *from > 0), end.said.oldest) {
        (Some(from), Some(oldest)) if oldest > from => format!(
            ": it was to go on from {from}, and the oldest left is {oldest}, {} later",
            oldest - from
        ),
        (Some(from), _) => format!(": it was to go on from {from}"),
        (None, _) => String::new(),
    }
}

impl Pending {
    /// How long nothing had moved its watch on, in milliseconds.
    fn quiet_ms(&self) -> Option<u64> {
        self.course.moved_at.map(|at| self.at.millis_since(at))
    }

    /// The edit of its definition because of which the server may have no history from before.
    fn edited(&self) -> Option<Seq> {
        let edit = self.course.edit?;
        (edit.at.plus_micros(EDITED_US) >= self.course.gap_at).then_some(edit.seq)
    }

    /// Whether nothing had moved its watch on for so long before the gap began that its version expired by that alone.
    fn was_quiet(&self) -> bool {
        let Course {
            moved_at, gap_at, ..
        } = self.course;
        moved_at.is_some_and(|at| gap_at.millis_since(at) > QUIET_TYPE_MS)
    }
}

/// Whether the type was so quiet that its version aged until it was compacted.
fn quiet(end: &Pending) -> String {
    match end.quiet_ms() {
        Some(quiet_ms) if quiet_ms > QUIET_TYPE_MS => format!(
            " Neither event nor bookmark had moved it on for {}, while others wrote: what is quiet for so long expires.",
            seconds(quiet_ms)
        ),
        _ => String::new(),
    }
}

fn sentence(row: Row, is_suspected: bool, end: &Pending) -> String {
    let watch = &end.watch;
    let after = format!(
        "after {} and {}",
        seconds(end.age_ms),
        count(end.events, "event")
    );
    match row {
        Row::F04 if is_suspected => format!(
            "Nothing came to {watch} any more, nor did its stream end when it was to: given up {after}. Its connection is \
             dead, or its server keeps to no timeouts."
        ),
        Row::F04 => format!(
            "Nothing came to {watch} any more, and nothing said so: its connection was found dead {after}."
        ),
        Row::F06 if is_suspected => format!(
            "The server of {watch} went away {after}, or its connections were closed on their way."
        ),
        Row::F06 => format!(
            "The server of {watch} went away {after}; it was not reached again at once, or elsewhere."
        ),
        Row::F07 => {
            format!("The server of {watch} ended the stream {after}, because it shuts down.")
        }
        Row::F08 => format!("The connection of {watch} was reset {after}."),
        Row::F09 => format!(
            "The server said GOAWAY, and the stream of {watch} ended with its connection {after}."
        ),
        Row::F11 => format!(
            "The server no longer has the history that {watch} asked for in its watch cache (410){}.",
            asked_from(end)
        ),
        Row::F12 => format!(
            "etcd has compacted the history that {watch} asked for (410){}.{}",
            asked_from(end),
            quiet(end)
        ),
        Row::F16 if end.said.is_leaderless => format!(
            "etcd had no leader, and the server ended {watch} {after}: it goes to etcd itself, without a cache."
        ),
        Row::F16 => {
            format!("The server ended {watch} {after}: its cache of the resource begins anew.")
        }
        Row::F17 => {
            format!("The server ended {watch} {after}: the storage of its type was built anew.")
        }
        Row::F24 => format!(
            "The server told {watch} that etcd gave it an event without what was there before, {after}."
        ),
        Row::F36 if end.unread_ms.is_none() => format!(
            "The server ended {watch} {after}, and at least {REPLAYED} events came at once when it went on: the buffer \
             that the server keeps for a watch was full, most likely."
        ),
        Row::F36 => format!(
            "The server ended {watch} {after}, and watchscope itself had not read it for {}: the buffer that the server \
             keeps for a watch was full, most likely.",
            seconds(end.unread_ms.unwrap_or(0))
        ),
        Row::F37 => format!(
            "The server ended {watch} {after}, before all that was there had come, and not for the first time."
        ),
        Row::F38 => {
            format!("What came to {watch} could not be read; the stream was given up {after}.")
        }
        Row::F39 => {
            format!("An object of another kind came to {watch}; the stream was given up {after}.")
        }
        Row::F47 => format!("The stream of {watch} ended inside an event {after}."),
        _ => format!("The stream of {watch} ended {after}."),
    }
}

/// What happened to several streams at once.
fn shared_sentence(row: Row, is_suspected: bool, end: &Pending, place: &Place) -> String {
    let (server, what) = (place.server_words(), place.type_words());
    match row {
        Row::F04 if is_suspected => format!(
            "Nothing came over a connection to {server} any more, nor did its streams end when they were to: it is dead, \
             or the server keeps to no timeouts."
        ),
        Row::F04 => format!(
            "Nothing came over a connection to {server} any more, and nothing said so: it was found dead."
        ),
        Row::F06 if is_suspected => capital(format!(
            "{server} went away, or its connections were closed on their way."
        )),
        Row::F06 => capital(format!(
            "{server} went away; it was not reached again at once, or elsewhere."
        )),
        Row::F07 => capital(format!(
            "{server} ended its streams, because it shuts down."
        )),
        Row::F08 => format!("A connection to {server} was reset."),
        Row::F09 => capital(format!(
            "{server} said GOAWAY, and the streams of that connection ended with it."
        )),
        Row::F16 if end.said.is_leaderless => format!(
            "etcd had no leader, and {server} ended the streams of {what}: they go to etcd itself, without a cache."
        ),
        Row::F16 => capital(format!(
            "{server} ended the streams of {what}: its cache of the resource begins anew."
        )),
        Row::F17 => capital(format!(
            "{server} ended the streams of {what}: the storage of the type was built anew."
        )),
        Row::F37 => capital(format!(
            "{server} ended streams of {what} before all that was there had come, and not for the first time."
        )),
        Row::F38 => {
            format!("What {server} sent of {what} could not be read; the streams were given up.")
        }
        Row::F47 => format!("Streams of a connection to {server} ended inside an event."),
        _ => format!("Streams of {what} at {server} ended."),
    }
}

/// With a capital letter, as a sentence begins.
fn capital(mut words: String) -> String {
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_warning_if_a_list_of_no_ordinary_cause_or_a_minute_of_blindness_was_needed() {
        let severity = |is_ordinary, resumed: bool, blind_s: i64| {
            let stake = Stake {
                blind_from: Time(0),
                is_ordinary,
            };
            let outcome = Outcome {
                from: resumed.then(|| "7".to_owned()),
                fate: Fate::Resumed,
                at: Time(blind_s * 1_000_000),
                told_by: None,
            };
            stake.severity(&outcome)
        };
        for is_ordinary in [false, true] {
            assert_eq!(severity(is_ordinary, true, 2), Severity::Note);
            assert_eq!(severity(is_ordinary, true, 61), Severity::Warning);
            assert_eq!(severity(is_ordinary, false, 61), Severity::Warning);
        }
        assert_eq!(severity(false, false, 2), Severity::Warning);
        assert_eq!(severity(true, false, 2), Severity::Note);
    }
}
