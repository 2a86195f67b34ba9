//! The evidence of a finding: the lane and time of each record, as the picture numbers them.

use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use crate::findings::lane_of;
use crate::id::{LaneId, RecordId};
use crate::store::{Occurrence, Span, Store};

/// The evidence of one occurrence of a finding, or the thread of a "why" with its steps in place of the evidence. It is
/// looked up once, because finding a record means reading its chapter again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The record that raised this occurrence of the finding, or that the thread explains.
    pub finding: RecordId,
    /// The time of that record, on the log's clock.
    pub at: Time,
    /// The code of the finding's row in the catalogue of failures: `F24`. Empty if the record raised no finding.
    pub code: Text,
    /// The name of that row; empty without a code.
    pub name: Text,
    /// What happened, in the words of the last known update, as one sentence or more; empty without a code. Hostile:
    /// show as text.
    pub summary: String,
    /// Severity of this occurrence, or of the thing that a thread explains.
    pub severity: Severity,
    /// Its records by the last update, in its order: the first has number 1. `diagnosis` names at most 16; it may be
    /// empty. Of a thread, they are its steps by rising time: at least one, at most
    /// [`MOST_STEPS`](crate::why::MOST_STEPS).
    pub items: Vec<Item>,
}

/// A record of the evidence, or a step of the thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its id.
    pub record: RecordId,
    /// Its lane and time; `None` if it is not loaded, or no longer, or has no lane ([`lane_of`]). The time of a step is
    /// [`Step::at`](crate::why::Step::at), which need not be that of its record.
    pub place: Option<(LaneId, Time)>,
    /// The UTC time of its place (`09:35:28.911`), its lane, and what it is as a sentence. Without a place, the first
    /// two are empty. Hostile: show as text.
    pub words: [String; 3],
    /// How the thread of a "why" reaches it from the step before; `None` for a record of mere evidence.
    pub way: Option<Way>,
}

/// How the thread of a "why" reaches a step from the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It went on within 1 s, or at once: a solid line.
    WentOn,
    /// The change stopped here, and nobody heard it: a dashed line that ends in a cross.
    NobodyHeard,
    /// Over 1 s passes, the change stopped at the step before, or the watch resumed: a dotted line.
    TimePasses,
    /// No record shows what happened in this stretch: a dotted line.
    NotKnown,
}

impl Evidence {
    /// Returns the evidence of the occurrence that a record raised, without words; `None` if the store knows no such
    /// occurrence.
    pub(crate) fn without_words(store: &Store, finding: RecordId) -> Option<Self> {
        let span = span(store, finding)?;
        let seqs = span.what.evidence.iter();
        let items = seqs.map(|&seq| Item::of(store, RecordId { seq, ..finding }));
        Some(Self {
            finding,
            at: span.start.at,
            code: span.what.code.clone(),
            name: span.what.name.clone(),
            summary: span.what.summary.clone(),
            severity: span.what.severity,
            items: items.collect(),
        })
    }

    /// Returns whether its items are the steps of a "why", and not the evidence itself; `false` without an item.
    #[must_use]
    pub fn is_thread(&self) -> bool {
        self.items.iter().any(|item| item.way.is_some())
    }

    /// Returns whether the store by now has another summary, other records, or a loaded record for an item without a
    /// place. If the store no longer has the occurrence, only the last counts. For a thread the answer means nothing.
    #[must_use]
    pub fn is_behind(&self, store: &Store) -> bool {
        let told_anew = span(store, self.finding).is_some_and(|span| {
            let known = self.items.iter().map(|item| item.record.seq);
            span.what.summary != self.summary || !span.what.evidence.iter().copied().eq(known)
        });
        let mut items = self.items.iter();
        told_anew || items.any(|item| item.place.is_none() && store.has(item.record))
    }
}

impl Item {
    fn of(store: &Store, record: RecordId) -> Self {
        let lane = lane_of(store, record);
        let place = lane.and_then(|lane| Some((lane, store.entry(record)?.at())));
        Self {
            record,
            place,
            words: Default::default(),
            way: None,
        }
    }
}

fn span(store: &Store, finding: RecordId) -> Option<&Span<Occurrence>> {
    let epoch = store.epoch(finding.epoch)?;
    epoch.trace.occurrences.get(finding.seq)
}
