//! Which records a finding rests on, and where they lie: the lane and time of each, as the picture numbers them.

use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use crate::findings::lane_of;
use crate::id::{LaneId, RecordId};
use crate::store::{Occurrence, Span, Store};

/// The evidence of one occurrence of a finding, looked up once: a record is found by reading its chapter again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The record that raised this occurrence of the finding.
    pub finding: RecordId,
    /// Its time.
    pub at: Time,
    /// `F24`.
    pub code: Text,
    /// Its name.
    pub name: Text,
    /// What happened, as last told. Hostile: show as text.
    pub summary: String,
    /// How bad this occurrence is.
    pub severity: Severity,
    /// What it rests on, as last told; numbered from 1.
    pub items: Vec<Item>,
}

/// A record that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Which.
    pub record: RecordId,
    /// Its lane and time; nothing while it is not loaded, or once it is no longer held.
    pub place: Option<(LaneId, Time)>,
    /// Its time, its lane and what it is, as `words` puts them. Hostile: show as text.
    pub words: [String; 3],
}

impl Evidence {
    /// The evidence of the occurrence that a record raised, without words; nothing if it raised none that is known here.
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

    /// Whether the store knows more of it by now.
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
        }
    }
}

fn span(store: &Store, finding: RecordId) -> Option<&Span<Occurrence>> {
    let epoch = store.epoch(finding.epoch)?;
    epoch.trace.occurrences.get(finding.seq)
}
