//! Judges a recording again: diagnosis runs over the recorded events, and its judgements are compared with the
//! recorded ones.
//!
//! ```text
//!                       ┌──────────────────── Again ────────────────────┐
//!   recorded entries ───► all but judgements ─► Diagnosis ─► fold ──────┼─► entries, judged anew
//!                       │ judgements ─► when the host settled; compared ┼─► Comparison
//!                       └───────────────────────────────────────────────┘
//! ```
//!
//! Judgements are the attributions of streams' ends and the findings: the whole output of [`Diagnosis`].
//!
//! # When time passes
//!
//! A host chooses when silence counts (see the crate's documentation). Its choice shows in the log: at a recorded
//! judgement, the host had settled. So [`Again`] asks diagnosis before each record, as
//! [`Journal::settle_before`](crate::Journal::settle_before) does, but holds its judgements until the next recorded
//! one. Then the same diagnosis makes the same judgements in the same places, in either order of the host.
//!
//! A new judgement between two recorded ones waits until it is [`LATE_US`] overdue, because the host may not have come
//! to it before. A judgement that is due in a pause of watchscope comes after the pause.
//!
//! # What is taken as recorded
//!
//! * Findings that rest on reads of the audit, because nobody can read again what etcd held.
//! * Judgements that rest on records which the recording lacks, because it begins later or has a hole. A fold shows
//!   what is open, not what diagnosis remembered. The [`Comparison`] lists these apart.
//!
//! Either rule holds for a subject, such as a finding on its watch, until that subject is over.

mod comparison;
mod judgement;
mod kept;
mod numbers;

use std::collections::VecDeque;

use watchscope_diagnosis::Diagnosis;
use watchscope_model::event::Clock;
use watchscope_model::inside::InsideRecord;
use watchscope_model::time::MILLISECOND_US;
use watchscope_model::{Entry, Event, Record, Seq, State, Time};

use self::comparison::{Comparing, Side, Waiting};
pub use self::comparison::{Comparison, Difference, MAX_LISTED, NEAR_US};
use self::judgement::Reach;
pub use self::judgement::{About, Judgement, LATE_US, Says};
pub use self::kept::Missing;
use self::kept::{Kept, Why};
pub use self::numbers::Numbers;

/// The most consecutive recorded judgements that are compared at once; a longer sequence is split. It is also the most
/// overdue judgements; above it all of them are appended. It bounds the memory. The number has no source: it is as many
/// ends as diagnosis keeps.
const MAX_ROW: usize = 4_096;
/// The most times that diagnosis is asked before one record. A record with the latest possible time could otherwise
/// delay all records after it. Judgements still due are asked for before the next record. The number has no source: the
/// records of a real log need far fewer.
const MAX_ASKED: usize = 100_000;

/// A recorded judgement.
#[derive(Clone, Debug)]
struct Recorded {
    /// The recorded event; absent once it is appended.
    event: Option<Event>,
    judgement: Judgement,
    reach: Reach,
    /// Why it is taken as recorded; absent if it is not.
    why: Option<Why>,
    /// Whether the same judgement was made again.
    is_met: bool,
}

/// Judges one run of a recorded log again. Its entries go in in their order, and come out with new judgements among
/// them.
///
/// The output is numbered again, so it is a log again; seqs in records are changed to the new numbers. If as many
/// judgements are made in the same places as were recorded, all numbers stay the same. A number that no entry has
/// belongs to a record whose kind this build does not know. It stays unused in the output, too.
///
/// It holds a fold, a diagnosis, at most 4,096 recorded judgements, and overdue ones: at most 4,096 and those of one
/// due time. The other files of this folder state the bounds of earlier judgements and records. At a bound the oldest
/// is forgotten or no more is listed; a record is never lost.
#[derive(Clone, Debug)]
pub struct Again {
    /// The fold of the records in the output.
    state: State,
    diagnosis: Diagnosis,
    /// The last recorded seq that was processed.
    taken: Seq,
    /// The number of records since the last entry whose kind this build does not know.
    unknown: u64,
    /// Recorded judgements after which no other record has come.
    row: Vec<Recorded>,
    /// The time of the last of them, if the recording ends or has a hole after it. Other judgements of this time need
    /// not be recorded.
    cut_at: Option<Time>,
    /// New judgements with their due times, after which no recorded one has come.
    overdue: VecDeque<(Time, Event)>,
    /// The number of times that diagnosis was asked since the last entry.
    asked: usize,
    kept: Kept,
    numbers: Numbers,
    comparing: Comparing,
}

impl Again {
    /// Begins with the fold of all records before the first recorded one; an empty fold for a log from its first record
    /// on. The output begins after the fold's seq.
    #[must_use]
    pub fn new(opening: State) -> Self {
        let mut again = Self {
            diagnosis: Diagnosis::since(&opening),
            taken: opening.seq,
            unknown: 0,
            row: Vec::new(),
            cut_at: None,
            overdue: VecDeque::new(),
            asked: 0,
            kept: Kept::since(&opening),
            numbers: Numbers::default(),
            comparing: Comparing::default(),
            state: opening,
        };
        again.note_findings();
        again
    }

    /// Continues after a hole, with the fold of all records before the next recorded one. First it pushes what remains
    /// of the entries before the hole to `out`; see [`Again::end`] for judgements that are not made.
    ///
    /// Returns the first and last number of the hole in the output; the hole has at least one number. If more
    /// judgements were made than the hole has records, the numbers after it rise.
    pub fn go_on(&mut self, mut opening: State, out: &mut Vec<Entry>) -> (Seq, Seq) {
        self.judge_last_row(out);
        self.comparing.decide_all();
        let from = self.next_seq();
        let recorded = opening.seq;
        let to = recorded.max(from);
        opening.seq = to;
        self.numbers.note(recorded.next(), to.next());
        self.diagnosis = Diagnosis::since(&opening);
        self.kept = Kept::since(&opening);
        self.taken = recorded;
        self.unknown = 0;
        self.state = opening;
        self.note_findings();
        (from, to)
    }

    /// Processes the next recorded entry, and pushes the entries that it decides to `out`, by seq. There may be none: a
    /// recorded judgement waits for the next entry that is no judgement, or until 4,096 of them wait. An entry whose
    /// seq is not above the last one is ignored. A time before the last entry's in the output is raised to that.
    pub fn take(&mut self, entry: Entry, out: &mut Vec<Entry>) {
        let (seq, at) = (entry.seq(), entry.at());
        if seq <= self.taken {
            return;
        }
        self.unknown += seq.0 - self.taken.0 - 1;
        self.taken = seq;
        self.asked = 0;
        let event = entry.record().map(|record| &record.event);
        if let Some(event) = event
            && let Some(judgement) = Judgement::of(event, at)
        {
            if self.row.len() == MAX_ROW {
                self.judge_row(out);
            }
            self.row.push(Recorded {
                reach: Reach::of(event, &judgement.about),
                event: Some(event.clone()),
                judgement,
                why: None,
                is_met: false,
            });
            return;
        }
        self.judge_row(out);
        self.ask_before(ran_until(event, at), out);
        let new = self.next_seq();
        self.unknown = 0;
        self.numbers.note(seq, new);
        let at = at.max(self.state.at);
        match entry {
            Entry::Record(Record { mut event, .. }) => {
                self.numbers.renumber(&mut event);
                let record = Record {
                    seq: new,
                    at,
                    event,
                };
                self.kept.observe(seq, &record);
                self.append(record, out);
            }
            Entry::Inside(InsideRecord { inside, .. }) => {
                self.state.pass(new, at);
                let record = InsideRecord {
                    seq: new,
                    at,
                    inside,
                };
                out.push(Entry::Inside(record));
            }
        }
    }

    /// Ends the run: pushes the remaining entries to `out`, and returns the comparison of the judgements.
    ///
    /// The host may not have come to the last judgements. So an unrecorded one is not made if it is due at or after the
    /// last record. If that record is no judgement, one that is due at most [`LATE_US`] before it is not made either.
    #[must_use]
    pub fn end(mut self, out: &mut Vec<Entry>) -> Comparison {
        self.judge_last_row(out);
        self.comparing.finish()
    }

    /// Returns the numbers of recorded records in the output so far.
    #[must_use]
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Returns the number of the next record in the output, if no judgement comes before it. Before the first, it is
    /// one above the seq of the opening fold.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        let passed = self.state.seq.0.saturating_add(self.unknown);
        Seq(passed.saturating_add(1))
    }

    /// Notes the open findings with the watches that they concern.
    fn note_findings(&mut self) {
        let at = self.state.at;
        for open in self.state.findings.values() {
            let reach = Reach::of_finding(&open.finding);
            self.comparing.reaches(at, reach);
        }
    }

    /// Judges the last sequence before the end or a hole.
    fn judge_last_row(&mut self, out: &mut Vec<Entry>) {
        self.cut_at = self.last_in_row();
        self.judge_row(out);
        self.cut_at = None;
        self.overdue.clear();
    }

    fn last_in_row(&self) -> Option<Time> {
        self.row.iter().map(|recorded| recorded.judgement.at).max()
    }

    /// Judges again up to the time of the recorded judgements in sequence, and compares.
    fn judge_row(&mut self, out: &mut Vec<Entry>) {
        let Some(last) = self.last_in_row() else {
            return;
        };
        for recorded in &mut self.row {
            let Some(event) = &recorded.event else {
                continue;
            };
            recorded.why = self.kept.recorded(event, &recorded.judgement);
        }
        let last = last.max(self.state.at);
        self.settle(last, out);
        for recorded in &mut self.row {
            if let Some(event) = &recorded.event
                && recorded.why.is_none()
                && !recorded.is_met
            {
                recorded.why = self.kept.not_again(event, &recorded.judgement);
            }
        }
        self.append_kept(|_| true, out);
        for Recorded {
            judgement,
            why,
            reach,
            ..
        } in std::mem::take(&mut self.row)
        {
            match why {
                Some(Why::Audit) => self.comparing.audited(),
                Some(Why::Missing(missing)) => {
                    self.comparing.reaches(judgement.at, reach);
                    self.comparing.apart(judgement, missing);
                }
                None => self.comparing.take(Waiting {
                    side: Side::Recorded,
                    judgement,
                    reach,
                }),
            }
        }
        self.kept.forget();
    }

    /// Asks diagnosis for all judgements due before a time, and holds them.
    fn ask_before(&mut self, at: Time, out: &mut Vec<Entry>) {
        while let Some((due, judgements)) = self.next_judgements(|due| due < at) {
            self.overdue
                .extend(judgements.into_iter().map(|event| (due, event)));
            if self.overdue.len() > MAX_ROW {
                self.append_overdue(|_| true, out);
            }
        }
        self.append_overdue(|due| due.plus_micros(LATE_US) < at, out);
    }

    /// Appends judgements that no recorded one has released, in their order.
    fn append_overdue(&mut self, is_over: impl Fn(Time) -> bool, out: &mut Vec<Entry>) {
        while let Some((due, event)) = self.overdue.pop_front_if(|(due, _)| is_over(*due)) {
            self.judged(event, due.max(self.state.at), out);
        }
    }

    /// Appends all judgements that are due by a time.
    fn settle(&mut self, now: Time, out: &mut Vec<Entry>) {
        self.append_overdue(|_| true, out);
        while let Some((at, judgements)) = self.next_judgements(|due| due <= now) {
            self.append_kept(|recorded| recorded.judgement.at < at, out);
            for judgement in judgements {
                self.judged(judgement, at, out);
            }
        }
    }

    /// The next judgements and their due time, if `is_due` accepts it.
    fn next_judgements(&mut self, is_due: impl Fn(Time) -> bool) -> Option<(Time, Vec<Event>)> {
        while self.asked < MAX_ASKED {
            self.asked += 1;
            let due = self.diagnosis.wake_at()?;
            let at = due.max(self.state.at);
            if !is_due(at) {
                return None;
            }
            let judgements = self.diagnosis.conclude(at);
            if !judgements.is_empty() {
                return Some((at, judgements));
            }
            // A diagnosis that makes no progress is asked again at the next record.
            if self.diagnosis.wake_at() == Some(due) {
                return None;
            }
        }
        None
    }

    /// Processes a judgement made again: appends it, or lets the recorded ones about its subject stand.
    fn judged(&mut self, event: Event, at: Time, out: &mut Vec<Entry>) {
        let Some(judgement) = Judgement::of(&event, at) else {
            return;
        };
        let reach = Reach::of(&event, &judgement.about);
        let is_same = |recorded: &&mut Recorded| {
            recorded.why.is_none() && !recorded.is_met && recorded.judgement.is_same(&judgement)
        };
        let same = self.row.iter_mut().find(is_same);
        let is_recorded = same.is_some();
        if self.kept.again(&event, &judgement, is_recorded) {
            self.append_first_kept(&judgement, out);
            return;
        }
        if let Some(recorded) = same {
            recorded.is_met = true;
        }
        if !is_recorded && self.cut_at.is_some_and(|cut| cut <= at) {
            return;
        }
        let record = self.state.stamp(event, at);
        self.append(record, out);
        self.comparing.take(Waiting {
            side: Side::Again,
            judgement,
            reach,
        });
    }

    /// Appends the recorded judgement that stands in the place of one made again.
    fn append_first_kept(&mut self, again: &Judgement, out: &mut Vec<Entry>) {
        let is_its = |recorded: &&mut Recorded| {
            let judgement = &recorded.judgement;
            recorded.why.is_some()
                && recorded.event.is_some()
                && judgement.about == again.about
                && judgement.at <= again.at
        };
        if let Some(recorded) = self.row.iter_mut().find(is_its)
            && let Some(event) = recorded.event.take()
        {
            let at = recorded.judgement.at;
            self.append_recorded(event, at, out);
        }
    }

    /// Appends the recorded judgements that are taken as recorded and not yet appended.
    fn append_kept(&mut self, is_due: impl Fn(&Recorded) -> bool, out: &mut Vec<Entry>) {
        for place in 0..self.row.len() {
            let recorded = &mut self.row[place];
            let at = recorded.judgement.at;
            if recorded.why.is_some()
                && is_due(recorded)
                && let Some(event) = recorded.event.take()
            {
                self.append_recorded(event, at, out);
            }
        }
    }

    fn append_recorded(&mut self, mut event: Event, at: Time, out: &mut Vec<Entry>) {
        self.numbers.renumber(&mut event);
        let record = self.state.stamp(event, at);
        self.append(record, out);
    }

    fn append(&mut self, record: Record, out: &mut Vec<Entry>) {
        self.diagnosis.observe(&self.state, &record);
        self.state.apply(&record);
        out.push(Entry::Record(record));
    }
}

/// The time until which watchscope ran before a record: judgements due in a pause come after it.
fn ran_until(event: Option<&Event>, at: Time) -> Time {
    match event {
        Some(Event::Clock(Clock {
            paused_ms: Some(paused_ms),
            ..
        })) => {
            let paused_ms = i64::try_from(*paused_ms).unwrap_or(i64::MAX);
            at.plus_micros(paused_ms.saturating_mul(MILLISECOND_US).saturating_neg())
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests;
