//! The evidence of a finding: the lane and time of each record, as the picture numbers them.

use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use crate::findings::lane_of;
use crate::id::{LaneId, RecordId};
use crate::store::{Occurrence, Span, Store};

/// The evidence of one occurrence of a finding, or a "why" with its steps in place of the evidence. The evidence is
/// looked up once, because finding a record means reading its chapter again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The record that raised this occurrence of the finding, or that the "why" explains.
    pub finding: RecordId,
    /// The time of the record `finding`, on the log's clock.
    pub at: Time,
    /// The code of the finding's row in the catalogue of failures: `F24`. Empty if the record raised no finding.
    pub code: Text,
    /// The name of the finding's row in the catalogue of failures; empty if there is no code.
    pub name: Text,
    /// What happened, in the words of this occurrence's last known update, as one sentence or more; empty if there is
    /// no code. Hostile: show as text.
    pub summary: String,
    /// Severity of this occurrence, or of the thing that the "why" explains.
    pub severity: Severity,
    /// The records of the evidence, in the order of the occurrence's last update: the first has number 1. `diagnosis`
    /// names at most 16; the list may be empty. For a "why", the items are its steps by rising time: at least one, at
    /// most [`MOST_STEPS`](crate::why::MOST_STEPS).
    pub items: Vec<Item>,
}

/// A record of the evidence, or a step of a "why".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The id of the record.
    pub record: RecordId,
    /// The record's lane and time; `None` if the record is not loaded, or no longer, or has no lane ([`lane_of`]). A
    /// step of a "why" always has a place: [`Step::lane`](crate::why::Step::lane) and
    /// [`Step::at`](crate::why::Step::at), which need not be those of its record.
    pub place: Option<(LaneId, Time)>,
    /// Three texts: the UTC time of `place` (`09:35:28.911`), the name of the lane, and a sentence about the record. If
    /// `place` is `None`, the first two are empty. Hostile: show as text.
    pub words: [String; 3],
    /// How a "why" leads to this step from the step before; for the first step the value means nothing. `None` for a
    /// record of a finding's evidence.
    pub way: Option<Way>,
}

/// How a "why" leads to a step from the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The step followed within 1 s: a solid line.
    WentOn,
    /// The change stopped at this step: the watch or client of the step did not receive it. A dashed line that ends in
    /// a cross.
    NobodyHeard,
    /// More than 1 s passed, the change stopped at the step before, or the watch resumed: a dotted line.
    TimePasses,
    /// No record shows what happened in the stretch of this step: a dotted line.
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

    /// Returns whether the items are the steps of a "why" instead of a finding's evidence; `false` without an item.
    #[must_use]
    pub fn is_thread(&self) -> bool {
        self.items.iter().any(|item| item.way.is_some())
    }

    /// Returns whether the store by now has another summary, other records, or a loaded record for an item without a
    /// place. If the store no longer has the occurrence, only a newly loaded record counts. For a "why" the answer
    /// means nothing. For an item whose record is loaded but has no lane, the answer stays `true`.
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
