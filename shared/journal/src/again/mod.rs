//! Judges a recording again: diagnosis runs over the recorded events, and its judgements are compared with the recorded
//! judgements.
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
//! A host chooses when silence counts (see the crate's documentation). The host's choice shows in the log: at each
//! recorded judgement, the host had called [`Journal::settle`](crate::Journal::settle). [`Again`] therefore asks
//! diagnosis before each record, as [`Journal::settle_before`](crate::Journal::settle_before) does, but holds the new
//! judgements until the next recorded judgement. That way the same diagnosis makes the same judgements at the same
//! positions, in either order of the host.
//!
//! A new judgement between two recorded judgements waits until it is [`LATE_US`] overdue, because the host may have
//! been late. A judgement that is due in a pause of watchscope comes after the pause.
//!
//! # What is taken as recorded
//!
//! * Findings that rest on reads of the audit, because nobody can read again what etcd held.
//! * Judgements that rest on records which the recording lacks, because it begins later or has a hole. A fold has the
//!   open streams, gaps and findings, not the memory of diagnosis. The [`Comparison`] lists these judgements apart.
//!
//! Once judgements of a subject, such as a finding about a watch, are taken as recorded, all are until the subject is
//! over.

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

/// The most consecutive recorded judgements that are compared at once; a longer sequence is split. The number is also
/// that of the most overdue judgements; above it all of them are appended. The number bounds the memory, and has no
/// source: diagnosis keeps as many ends of streams.
const MAX_ROW: usize = 4_096;
/// The most times that diagnosis is asked before one record. Without this bound, a record with the latest possible time
/// could delay all records after it. Judgements that are still due are requested before the next record. The number has
/// no source: the records of a real log need far fewer.
const MAX_ASKED: usize = 100_000;

/// A recorded judgement.
#[derive(Clone, Debug)]
struct Recorded {
    /// The recorded event; absent once it is appended.
    event: Option<Event>,
    judgement: Judgement,
    reach: Reach,
    /// Why the judgement is taken as recorded; absent if it is judged again.
    why: Option<Why>,
    /// Whether the same judgement was made again.
    is_met: bool,
}

/// A machine that judges one run of a recorded log again. The caller passes the recorded entries in their order, and
/// gets them back with new judgements among them.
///
/// The records of the output get new seqs without holes, so the output is a log, too. Seqs inside attributions,
/// findings, gaps and losses of withheld records are changed to the new ones ([`Numbers`]). Seqs inside other records,
/// such as a note or a loss of bodies, stay as recorded. If as many judgements are made at the same positions as were
/// recorded, all seqs stay the same. A seq that no entry has belongs to a record whose kind this build does not know.
/// For each such seq one stays unused in the output, too: directly before the next entry that is no judgement, or
/// before a hole.
///
/// It holds a fold, a diagnosis, at most 4,096 recorded judgements, and at most 4,096 overdue judgements plus those of
/// one due time. The constants in the other files of this folder bound the earlier judgements and records that are
/// remembered. Each constant says what happens at its bound; a record is never lost.
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
    /// The latest time of the judgements in `row`, if the recording ends or has a hole after them. A new judgement of
    /// this time or later is dropped if `row` has no such judgement, because its record may be cut off.
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
    /// Begins with the fold of all records before the first recorded record; for a log from its first record on, an
    /// empty fold. The first seq of the output is the one after the fold's. It stays unused if this build does not know
    /// the kind of the first recorded record, unless a judgement gets it.
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

    /// Continues after a hole, with the fold of all records before the next recorded record. First it pushes the
    /// remaining entries before the hole to `out`; see [`Again::end`] for judgements that are not made.
    ///
    /// Returns the first and last seq of the hole in the output; the hole has at least one seq. If more additional
    /// judgements were made than the hole has records, the seqs after the hole are higher than recorded.
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

    /// Processes the next recorded entry, and pushes the entries of the output that are decided by now to `out`, by
    /// seq. There may be no such entry: a recorded judgement waits for the next entry that is no judgement, or until
    /// 4,096 judgements wait. An entry whose seq is not above the last one is ignored. A time before that of the
    /// output's last entry is raised to that time.
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
    /// The host may have ended before it made the last judgements. A judgement that was not recorded is therefore not
    /// made if it is due at or after the last record. If the last record is no judgement, a judgement that is due at
    /// most [`LATE_US`] before that record is not made either.
    #[must_use]
    pub fn end(mut self, out: &mut Vec<Entry>) -> Comparison {
        self.judge_last_row(out);
        self.comparing.finish()
    }

    /// Returns the map from recorded seqs to seqs in the output so far.
    #[must_use]
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// Returns the seq that the next recorded record gets in the output, if no judgement, new or waiting, comes before
    /// it. Before the first record, it is one above the seq of the opening fold.
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

    /// Judges the last sequence of recorded judgements before the end or a hole.
    fn judge_last_row(&mut self, out: &mut Vec<Entry>) {
        self.cut_at = self.last_in_row();
        self.judge_row(out);
        self.cut_at = None;
        self.overdue.clear();
    }

    fn last_in_row(&self) -> Option<Time> {
        self.row.iter().map(|recorded| recorded.judgement.at).max()
    }

    /// Judges again up to the time of the recorded judgements in `row`, and compares these with the new ones.
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

    /// Asks diagnosis for all judgements due before a time, and holds those that are not overdue by more than
    /// [`LATE_US`].
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

    /// Appends overdue judgements whose due time `is_over` accepts, in their order.
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

    /// The next judgements and their time, if `is_due` accepts that time.
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

    /// Processes a judgement made again: appends it, or appends the recorded judgement about its subject instead.
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

    /// Appends the recorded judgement that replaces one made again.
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

    /// Appends the judgements that are taken as recorded, that `is_due` accepts, and that are not yet appended.
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

/// The time until which watchscope ran before a record. Judgements due in a pause come after the record of the pause.
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
