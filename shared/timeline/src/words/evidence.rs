//! The evidence of a finding in words: each record as the table lists it.

use watchscope_model::vocabulary::{AuditOutcome, Divergence, Standing};
use watchscope_model::{Event, ResourceVersion, Seq};

use super::record::describe_record;
use crate::evidence::{Evidence, Item};
use crate::format::{clock_ms, version};
use crate::id::RecordId;
use crate::phrases::name_in;
use crate::store::Store;

/// Most records after an audit read that are searched for the read's verdict: verdicts that end earlier verdicts may
/// come before it. The search also ends before the first record that is no verdict on the same watch. If it finds no
/// verdict, the read has no words of a verdict. The number has no source.
const VERDICTS_BEHIND: u64 = 8;

impl Evidence {
    /// Returns the evidence of the occurrence that a record raised, with its words; `None` if the store knows no such
    /// occurrence. Reads the chapter of each record.
    #[must_use]
    pub fn of(store: &Store, finding: RecordId) -> Option<Self> {
        let mut evidence = Self::without_words(store, finding)?;
        for item in &mut evidence.items {
            item.words = item_words(store, item);
        }
        Some(evidence)
    }
}

/// Returns the time of a record, its lane and its content.
fn item_words(store: &Store, item: &Item) -> [String; 3] {
    let Some((lane, at)) = item.place else {
        let what = "This record is not loaded, or no longer held.".to_owned();
        return [String::new(), String::new(), what];
    };
    let described = describe_record(store, lane, item.record);
    let what = match answer(store, item.record) {
        Some(answer) => format!("{} {answer}", described.what),
        None => described.what,
    };
    [clock_ms(at), described.lane, what]
}

/// Returns the result of a read of the audit that differed. The words come from the read's first verdict, which is
/// logged right after the read.
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
