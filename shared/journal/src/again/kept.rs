//! Which judgements are taken as they are recorded: those that rest on the audit's reads, and those that rest on what the
//! recording does not hold.

use std::collections::{BTreeMap, VecDeque};

use watchscope_model::id::Aside;
use watchscope_model::{Event, Record, Seq, State, Time};

use super::judgement::{About, Judgement, evidence};

/// Most records of the audit that are remembered; the oldest is forgotten.
const MAX_READS: usize = 65_536;
/// Most things that are taken as recorded at a time. Past that the end of the oldest stream is forgotten, then a finding.
const MAX_KEPT: usize = 8_192;

/// Why a judgement cannot be made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It rests on this record, and the recording has a hole behind that, or does not hold it.
    Record(Seq),
    /// It is of something that began at this time, before the recording, or within a hole.
    Began(Time),
    /// The finding stood already where the recording begins, or behind a hole.
    Stood,
    /// It is about watches of another judgement of the same code that cannot be made anew.
    Alike,
}

/// Why a judgement is taken as it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It rests on the audit's reads.
    Audit,
    /// It rests on what is missing.
    Missing(Missing),
}

/// Something whose judgements are taken as recorded, until it is over both as recorded and as judged anew.
#[derive(Clone, Copy, Debug)]
struct Key {
    why: Why,
    stands_recorded: bool,
    stands_again: bool,
}

/// What is taken as recorded. Bounded by [`MAX_KEPT`] and [`MAX_READS`].
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Where the recording begins, or goes on behind a hole: its first record and the time before it. Absent for a log
    /// from its first record on.
    begins: Option<(Seq, Time)>,
    keys: BTreeMap<About, Key>,
    /// The audit's records: recorded seqs and new ones, both rising.
    reads: VecDeque<(Seq, Seq)>,
}

impl Kept {
    /// From a fold on. What stands there cannot be judged anew.
    pub(super) fn since(state: &State) -> Self {
        let stands = Key {
            why: Why::Missing(Missing::Stood),
            stands_recorded: true,
            stands_again: false,
        };
        let findings = state.findings.values();
        let keys = findings.map(|open| (About::of(&open.finding), stands));
        Self {
            begins: (state.seq > Seq(0)).then(|| (state.seq.next(), state.at)),
            keys: keys.collect(),
            reads: VecDeque::new(),
        }
    }

    /// Takes a record, under its recorded seq and its new one.
    pub(super) fn observe(&mut self, recorded: Seq, record: &Record) {
        let is_read = match &record.event {
            Event::Audit(_) | Event::Verdict(_) => true,
            event => event.watch().and_then(|watch| watch.as_aside()) == Some(Aside::Audit),
        };
        if is_read {
            if self.reads.len() == MAX_READS {
                self.reads.pop_front();
            }
            self.reads.push_back((recorded, record.seq));
        }
    }

    /// Whether, and why, a recorded judgement is taken as it is.
    pub(super) fn recorded(&mut self, event: &Event, judgement: &Judgement) -> Option<Why> {
        let mut evidence = evidence(event).iter();
        let is_read = |seq: &Seq| self.reads.binary_search_by_key(seq, |(of, _)| *of).is_ok();
        let known = self.keys.get(&judgement.about).map(|key| key.why);
        let why = if evidence.any(is_read) {
            Why::Audit
        } else {
            known.or_else(|| self.missing(event).map(Why::Missing))?
        };
        let key = self.key(&judgement.about, why);
        key.stands_recorded = judgement.stands();
        Some(why)
    }

    /// Whether, and why, a judgement that was made anew gives way to what is recorded of the same thing.
    pub(super) fn again(&mut self, event: &Event, judgement: &Judgement) -> Option<Why> {
        let mut evidence = evidence(event).iter();
        let is_read = |seq: &Seq| self.reads.binary_search_by_key(seq, |(_, of)| *of).is_ok();
        if !self.keys.contains_key(&judgement.about) && !evidence.any(is_read) {
            return None;
        }
        let key = self.key(&judgement.about, Why::Audit);
        key.stands_again = judgement.stands();
        Some(key.why)
    }

    /// Forgets what is over.
    pub(super) fn forget(&mut self) {
        let stands = |_: &About, key: &mut Key| key.stands_recorded || key.stands_again;
        self.keys.retain(stands);
    }

    fn key(&mut self, about: &About, why: Why) -> &mut Key {
        if self.keys.len() >= MAX_KEPT && !self.keys.contains_key(about) {
            self.keys.pop_first();
        }
        self.keys.entry(about.clone()).or_insert(Key {
            why,
            stands_recorded: false,
            stands_again: false,
        })
    }

    /// What a recorded judgement rests on and diagnosis cannot know.
    fn missing(&self, event: &Event) -> Option<Missing> {
        let (first, began) = self.begins?;
        let oldest = evidence(event).iter().min();
        if let Some(oldest) = oldest.filter(|oldest| **oldest < first) {
            return Some(Missing::Record(*oldest));
        }
        let Event::Finding(finding) = event else {
            return None;
        };
        let since = finding.since.filter(|since| *since < began);
        since.map(Missing::Began)
    }
}
