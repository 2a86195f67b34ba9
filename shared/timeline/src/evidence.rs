//! What a selected finding rests on: each record with its lane, as it is numbered in the picture and told in the table.

use watchscope_model::vocabulary::{AuditOutcome, Divergence, Severity, Standing};
use watchscope_model::{Event, ResourceVersion, Seq, Text, Time};

use crate::findings::lane_of;
use crate::format::{clock_ms, version};
use crate::id::{LaneId, RecordId};
use crate::phrases::name_in;
use crate::store::{Occurrence, Span, Store};
use crate::words;

/// Most records behind a read that are looked through for its verdict: those that end others stand before it.
const VERDICTS_BEHIND: u64 = 8;

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
    /// Its time, its lane and what it is, in words. Hostile: show as text.
    pub words: [String; 3],
}

impl Evidence {
    /// The evidence of the occurrence that a record raised; nothing if it raised none that is known here.
    #[must_use]
    pub fn of(store: &Store, finding: RecordId) -> Option<Self> {
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
        let found = lane_of(store, record).zip(store.entry(record));
        let Some((lane, entry)) = found else {
            let what = "This record is not loaded, or no longer held.".to_owned();
            return Self {
                record,
                place: None,
                words: [String::new(), String::new(), what],
            };
        };
        let told = words::describe_record(store, lane, record);
        let what = match answer(store, record) {
            Some(answer) => format!("{} {answer}", told.what),
            None => told.what,
        };
        Self {
            record,
            place: Some((lane, entry.at())),
            words: [clock_ms(entry.at()), told.lane, what],
        }
    }
}

/// What a read of the audit found, if it differed: by the first verdict that it led to, which is logged right behind it.
fn answer(store: &Store, record: RecordId) -> Option<String> {
    let Event::Audit(read) = store.record(record)?.event else {
        return None;
    };
    if read.outcome() != AuditOutcome::Differs {
        return None;
    }
    let read_at = version(read.resource_version.as_ref()?);
    let behind = (1..=VERDICTS_BEHIND).map(|by| RecordId {
        seq: Seq(record.seq.0.saturating_add(by)),
        ..record
    });
    let verdict = behind
        .map_while(|id| match store.record(id)?.event {
            Event::Verdict(verdict) if verdict.watch == read.watch => Some(verdict),
            _ => None,
        })
        .find(|verdict| verdict.state != Standing::Cleared)?;
    let name = name_in(&verdict.watch, &verdict.object);
    let at = |of: &Option<ResourceVersion>| {
        let of = of.as_ref();
        of.map_or_else(String::new, |of| format!(" at {}", version(of)))
    };
    let (held, listed) = (at(&verdict.held), at(&verdict.listed));
    Some(match verdict.kind {
        Divergence::Ghost => {
            format!("At resourceVersion {read_at} {name} is not there; the watch holds it{held}.")
        }
        Divergence::Missing => format!(
            "At resourceVersion {read_at} {name} is there{listed}; the watch does not hold it."
        ),
        _ => format!(
            "At resourceVersion {read_at} {name} is there{listed}; the watch holds it{held}."
        ),
    })
}

fn span(store: &Store, finding: RecordId) -> Option<&Span<Occurrence>> {
    let epoch = store.epoch(finding.epoch)?;
    epoch.trace.occurrences.get(finding.seq)
}
