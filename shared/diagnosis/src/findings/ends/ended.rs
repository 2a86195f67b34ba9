//! The ends of the last seconds, and the finding of each once its attribution is settled.

use watchscope_model::event::{Attribution, Gap, StreamEnded, StreamError};
use watchscope_model::fold::Moment;
use watchscope_model::row::Attributed;
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Cause, Certainty, Severity};
use watchscope_model::{Row, Seq, State, StreamId, Text, Time, WatchName};

use super::pending::{
    BLIND_US, Course, ErrorFacts, History, LatestJudgement, Outcome, Pending, Stake, Where,
    is_in_gap,
};
use super::rows::{alike, is_history_gone, is_rebuilding, leaves_no_history, reach, together_us};
use super::words::{sentence, shared_sentence};
use crate::attribution::{AFTERMATH_US, MAX_ENDS, REVISED_US, TOGETHER_US, is_barren};
use crate::findings::draft::{Fate, FindingDraft, Shared, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::{Timer, Timers};
use crate::limits::IDLE_US;
use crate::server_words;

/// Time in µs after an end at which no better attribution can come, except for a suspicion that waits for a list
/// (docs/semantics/streams.md#revised). It is 2 s for revisions, after the 0.25 s in which ends count as together.
const SETTLED_US: i64 = REVISED_US + TOGETHER_US;
/// Most servers that are remembered as gone. A further server is not remembered, and a remembered one is not forgotten.
/// The limit bounds the memory. The number has no source.
const MAX_GONE: usize = 64;
/// Number of barren streams in a row from which on they are more than chance and F10 is raised
/// (docs/semantics/streams.md#rule-barren). The number has no source.
const BARREN_STREAMS: usize = 3;

/// A stream that ended for a cause that leaves the server without history.
#[derive(Clone, Copy, Debug)]
struct Emptied {
    stream: StreamId,
    /// The row of the cause.
    row: Row,
}

/// A server that went away.
#[derive(Clone, Copy, Debug)]
struct GoneServer {
    at: Time,
    row: Row,
}

/// Barren streams of one watch in a row: streams that ended at once, without an event.
#[derive(Clone, Debug, Default)]
struct BarrenRun {
    /// The version at which all these streams began.
    from: u64,
    /// Whether all these streams ended in order (`end`).
    is_orderly: bool,
    ends: Vec<Seq>,
}

/// The ends of the last seconds, at most [`MAX_ENDS`]. A further end drops that of the stream that opened first, which
/// gets no finding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    pub(super) pending: BTreeMap<StreamId, Pending>,
    rebuilt: BTreeMap<WatchName, StreamId>,
    /// The last stream of each watch that ended for a cause that leaves the server without history.
    emptied: BTreeMap<WatchName, Emptied>,
    /// For each server that went away, when it last did and the row of the cause, by address; at most [`MAX_GONE`].
    gone: BTreeMap<Text, GoneServer>,
    /// The last stream of each watch that ended because watchscope paused.
    paused: BTreeMap<WatchName, StreamId>,
    /// For each watch with an open gap, the findings about the ends in that gap, by row.
    in_gap: BTreeMap<WatchName, BTreeMap<Row, Stake>>,
    /// The facts of the ERROR event of each watch's open stream.
    pub(super) error_facts: BTreeMap<WatchName, ErrorFacts>,
    /// The watches whose next list may explain their 410, and when the wait for that list ends.
    awaited: BTreeMap<WatchName, Time>,
    /// The last pause of watchscope; `None` if there was none.
    pub(super) pause: Option<Moment>,
    /// The barren streams in a row of each watch.
    barren: BTreeMap<WatchName, BarrenRun>,
}

impl Ended {
    /// Notes that a stream ended. The finding about the end waits until the end's attribution is final.
    pub(crate) fn ended(
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
                error_facts: self.error_facts.remove(&event.watch).unwrap_or_default(),
                judgement: None,
                outcome: None,
                is_ordinary: false,
            },
        );
        let at = record.at.plus_micros(SETTLED_US);
        timers.set(at, Timer::Settled(event.stream));
    }

    /// Notes an ERROR event, which may say how much history is left. A list until the time `awaits_list` may explain
    /// it.
    pub(crate) fn error(&mut self, event: &StreamError, awaits_list: Option<Time>) {
        if let Some(until) = awaits_list {
            self.awaited.insert(event.watch.clone(), until);
        }
        let message = event.message.as_deref().unwrap_or("");
        let error_facts = ErrorFacts {
            oldest: server_words::oldest_left(message),
            is_leaderless: server_words::is_leaderless(message),
        };
        self.error_facts.insert(event.watch.clone(), error_facts);
    }

    /// Lets the wait for a watch's list end 0.25 s after a record, because the list came, or the reason for the end is
    /// known.
    pub(crate) fn waits_no_more(&mut self, watch: &WatchName, record: Moment, timers: &mut Timers) {
        let Some(until) = self.awaited.get_mut(watch) else {
            return;
        };
        *until = (*until).min(record.at.plus_micros(TOGETHER_US));
        for (stream, end) in self.pending.iter().filter(|(_, end)| end.watch == *watch) {
            let at = (*until).max(end.at.plus_micros(SETTLED_US));
            timers.set(at, Timer::Settled(*stream));
        }
    }

    /// Returns until when the judgement of a stream's end must wait, because a list may explain the end; `None` if it
    /// need not wait.
    pub(crate) fn waits_for_list(&self, stream: StreamId, now: Time) -> Option<Time> {
        let until = *self.awaited.get(&self.pending.get(&stream)?.watch)?;
        (now < until).then_some(until)
    }

    /// Notes that watchscope paused.
    pub(crate) fn paused(&mut self, record: Moment) {
        self.pause = Some(record);
    }

    /// Counts barren streams. Raises F10 if streams from the same version end at once without an event, again and
    /// again.
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
        let run = self.barren.entry(event.watch.clone()).or_default();
        if run.from != from {
            run.from = from;
            run.ends.clear();
        }
        run.is_orderly = event.cause == Cause::End && (run.is_orderly || run.ends.is_empty());
        run.ends.push(record.seq);
        if run.ends.len() < BARREN_STREAMS {
            return;
        }
        if run.ends.len() > BARREN_STREAMS {
            run.ends.remove(0);
        }
        let place = if from == 0 {
            String::new()
        } else {
            format!(" from {from}")
        };
        // A stream that is closed without its orderly end may be cut on its way, or its server may go away again and
        // again.
        let (certainty, alike): (_, &[Row]) = if run.is_orderly {
            (Certainty::Likely, &[])
        } else {
            (Certainty::Suspected, &[Row::F06, Row::F37])
        };
        let found = FindingDraft::of(
            Row::F10,
            certainty,
            Subject::Watch(event.watch.clone()),
            run.ends.clone(),
            record.at,
            format!(
                "{BARREN_STREAMS} streams of {} in a row{place} were accepted and ended at once, without an event \
                 and without an ERROR.",
                event.watch
            ),
        );
        registry.raise(found.alike(alike), record.at);
    }

    /// Notes an attribution of a stream's end, the first one or a later one.
    pub(crate) fn attributed(
        &mut self,
        event: &Attribution,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        // The stream whose end began the gap, if it is another one.
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
                let emptied = Emptied {
                    stream: event.stream,
                    row,
                };
                self.emptied.insert(event.watch.clone(), emptied);
                if matches!(row, Row::F06 | Row::F07)
                    && let Some(end) = self.pending.get(&event.stream)
                    && let Some(server) = end.was.as_ref().and_then(|was| was.place.address())
                    && (self.gone.len() < MAX_GONE || self.gone.contains_key(server))
                {
                    let gone = GoneServer { at: end.at, row };
                    self.gone.insert(server.clone(), gone);
                }
            }
            // A better attribution of the same end.
            None => {
                let known = self.emptied.get(&event.watch);
                if known.is_some_and(|known| known.stream == event.stream) {
                    self.emptied.remove(&event.watch);
                }
            }
        }
        let is_of = |pause: Moment| event.evidence.contains(&pause.seq);
        if self.pause.is_some_and(is_of) {
            self.paused.insert(event.watch.clone(), event.stream);
        }
        // An earlier end in the same gap may still turn out to be the cause.
        let waits = row.is_some_and(is_history_gone)
            && began.is_some_and(|began| {
                let mut since = self.pending.range(began..event.stream);
                since.any(|(_, end)| end.watch == event.watch)
            });
        let Some(pending) = self.pending.get_mut(&event.stream) else {
            return;
        };
        pending.judgement = Some(LatestJudgement {
            row,
            certainty: event.certainty,
            evidence: event.evidence.clone(),
            began,
        });
        // A reset may turn out to be a server that went away. Every other definite attribution is final.
        if event.certainty == Certainty::Definite && row != Some(Row::F08) && !waits {
            let at = pending.at.plus_micros(SETTLED_US);
            timers.unset(at, Timer::Settled(event.stream));
            self.settled(event.stream, record.at, registry);
        }
    }

    /// Concludes the finding about an end, because the end's attribution is final. Also concludes the ends in the same
    /// gap that waited for this end.
    pub(crate) fn settled(&mut self, stream: StreamId, now: Time, registry: &mut FindingRegistry) {
        let Some(mut end) = self.pending.remove(&stream) else {
            return;
        };
        let watch = end.watch.clone();
        end.is_ordinary |= self.is_followed_by_ordinary(stream, &watch);
        self.find(stream, end, now, registry);
        let mut of_watch = self.pending.iter().filter(|(_, end)| end.watch == watch);
        if let Some((&next, waiting)) = of_watch.next()
            && let Some(judgement) = &waiting.judgement
            && judgement.certainty == Certainty::Definite
            && judgement.row.is_some_and(is_history_gone)
        {
            self.settled(next, now, registry);
        }
        if !self.pending.values().any(|other| other.watch == watch) {
            self.awaited.remove(&watch);
        }
    }

    /// Returns the ordinary reasons why the history that an end's watch needed is gone.
    pub(super) fn history(
        &self,
        stream: StreamId,
        end: &Pending,
        judgement: &LatestJudgement,
        row: Row,
    ) -> History {
        // A server whose cache began anew has no history: that is a consequence.
        let is_consequence = is_in_gap(judgement, row, self.rebuilt.get(&end.watch), stream);
        // watchscope missed the history that passed during its own pause, however long the resume then took.
        let is_asleep = is_in_gap(judgement, row, self.paused.get(&end.watch), stream);
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
            // A quiet type expires between two streams, though nothing went wrong.
            is_quiet: row == Row::F12 && end.was_quiet(),
            pause,
            // So does a type whose definition was edited when its stream ended, or after: its cache began anew.
            edit: end.edited().filter(|_| is_history_gone(row)),
        }
    }

    /// Returns whether a 410 in the same gap that came after a stream's end has another ordinary cause than that end.
    fn is_followed_by_ordinary(&self, stream: StreamId, watch: &WatchName) -> bool {
        if self.rebuilt.get(watch) == Some(&stream) {
            return false;
        }
        let mut later = self.pending.range(stream..);
        later.any(|(&later, end)| {
            end.watch == *watch
                && end.judgement.as_ref().is_some_and(|judgement| {
                    judgement.found().is_some_and(|(row, _)| {
                        is_in_gap(judgement, row, Some(&stream), later)
                            && self.history(later, end, judgement, row).is_ordinary()
                    })
                })
        })
    }

    fn find(&mut self, stream: StreamId, end: Pending, now: Time, registry: &mut FindingRegistry) {
        let Some(judgement) = &end.judgement else {
            return;
        };
        let Some((row, alike)) = judgement.found() else {
            return;
        };
        let emptied = self.emptied.get(&end.watch);
        let cause = emptied.filter(|emptied| {
            let may_be = row == Row::F11 || matches!(emptied.row, Row::F16 | Row::F17);
            may_be && is_in_gap(judgement, row, Some(&emptied.stream), stream)
        });
        let cause = cause.map(|emptied| emptied.row);
        let history = self.history(stream, &end, judgement, row);
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
        // One cause is one finding, so its finding reports the list that follows.
        let watch = || Subject::Watch(end.watch.clone());
        if let Some(cause) = cause.filter(|cause| registry.stands(*cause, watch())) {
            registry.amend(cause, watch(), |found| {
                found.evidence.extend(&judgement.evidence);
                found.mark_expired();
            });
            return;
        }
        if row == Row::F11
            && let Some((found, stake)) = self.of_server(&end, judgement)
        {
            self.lists_for_ordinary_cause(&end.watch);
            self.conclude(found, stake, &end, now, registry);
            return;
        }
        let is_ordinary =
            is_history_ordinary || end.is_ordinary || matches!(row, Row::F06 | Row::F07 | Row::F17);
        // A dead connection delivered nothing before its end either.
        let heard_at = match row {
            Row::F04 => end.course.moved_at.max(Some(end.at.plus_micros(-IDLE_US))),
            _ => None,
        };
        let stake = Stake {
            blind_from: heard_at.unwrap_or(end.course.gap_at).min(end.at),
            is_ordinary,
        };
        let is_suspected = judgement.certainty == Certainty::Suspected;
        let mut summary = sentence(row, is_suspected, &end);
        let mut evidence = judgement.evidence.clone();
        if let Some(pause) = pause {
            summary += " Just before that, watchscope itself had not run.";
            evidence.insert(0, pause.seq);
        }
        if let Some(edit) = edit.filter(|_| !is_consequence) {
            summary += " Its definition had just been edited.";
            evidence.insert(0, edit);
        }
        let mut found = FindingDraft::of(
            row,
            judgement.certainty,
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

    /// Raises the finding of an end, with the outcome of its gap if that is known.
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
                let stakes = self.in_gap.entry(end.watch.clone()).or_default();
                stakes.insert(found.row, stake);
            }
        }
        registry.raise(found, now);
    }

    /// Returns the finding for the 410 of a watch that had no stream when its server went away; `None` for other ends.
    /// The watch's history was lost with the server, so the finding has the row of the server's failure.
    fn of_server(
        &self,
        end: &Pending,
        judgement: &LatestJudgement,
    ) -> Option<(FindingDraft, Stake)> {
        let place = &end.was.as_ref()?.place;
        let server = place.address()?;
        let &GoneServer { at, row } = self.gone.get(server)?;
        let gap_at = end.course.gap_at;
        if at < gap_at || at > end.at {
            return None;
        }
        let summary = format!(
            "{server} went away while {} had no stream, and its history was lost with it (410).",
            end.watch
        );
        let watch = Subject::Watch(end.watch.clone());
        let evidence = judgement.evidence.clone();
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

    /// Returns what an ended stream shared with others that may have ended for the same cause. The finding waits for
    /// streams that are open over the same connection, and for ends that may get the same row. `None` if the row has no
    /// shared findings, or it is unknown where the stream's requests went.
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
        // In the order of their ends, because one may follow another.
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

    /// Marks the ends in a gap whose history is gone for an ordinary cause. The list that follows does not make the
    /// findings of these ends worse.
    fn lists_for_ordinary_cause(&mut self, watch: &WatchName) {
        for stake in self
            .in_gap
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

    /// Notes that the gap of a watch closed.
    pub(crate) fn gap(&mut self, event: &Gap, record: Moment, registry: &mut FindingRegistry) {
        let stakes = self.in_gap.remove(&event.watch).unwrap_or_default();
        let is_of_gap = |end: &&Pending| end.watch == event.watch && end.outcome.is_none();
        let pending = self.pending.values().filter(is_of_gap);
        let pending = pending.filter_map(|end| {
            let judgement = end.judgement.as_ref()?;
            Some(judgement.found()?.0)
        });
        let explained_by = stakes
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
            explained_by,
        };
        for (row, stake) in stakes {
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

    /// Forgets a stopped watch.
    pub(crate) fn forget(&mut self, watch: &WatchName) {
        self.rebuilt.remove(watch);
        self.emptied.remove(watch);
        self.awaited.remove(watch);
        self.paused.remove(watch);
        self.error_facts.remove(watch);
        self.in_gap.remove(watch);
        self.barren.remove(watch);
    }
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
                explained_by: None,
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
