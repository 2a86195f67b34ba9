//! The words of a row for which its record must be read: time and sentence, as in a tooltip.

use std::collections::{BTreeMap, BTreeSet};

use watchscope_model::event::Event;
use watchscope_model::{Entry, Time};

use super::row::TableRow;
use crate::id::RecordId;
use crate::store::Store;
use crate::words::{brief, said};

/// The words of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// When it happened, as UTC times of day: one time (`09:35:28.911`), or begin, end and duration. Empty for a moment
    /// whose record is no longer held, and for a stretch that the store no longer knows.
    pub time: String,
    /// The row's sentence, or several. For a record that is no longer held, or a stretch no longer known, a sentence
    /// says so. Hostile: show as text.
    pub what: String,
    /// The manager that wrote the version; empty if it is not known. Hostile: show as text.
    pub by: String,
}

/// Returns the words of rows: one [`Said`] for each row, in the same order. Open stretches end at `now`. The function
/// decodes each chapter at most once, so one call for many rows is cheaper than many calls.
#[must_use]
pub fn said_of(store: &Store, rows: &[TableRow], now: Time) -> Vec<Said> {
    let briefs: Vec<_> = rows
        .iter()
        .map(|row| brief(store, row.lane, row.kind.stretch()?, row.record, now))
        .collect();
    let records = rows.iter().zip(&briefs).filter_map(|(row, brief)| {
        let is_stretch = row.kind.stretch().is_some();
        brief
            .as_ref()
            .map_or(Some(row.record).filter(|_| !is_stretch), |brief| brief.last)
    });
    let wanted: BTreeSet<RecordId> = records.collect();
    let entries = store.entries(&wanted);
    let rows = rows.iter().zip(briefs);
    rows.map(|(row, brief)| match brief {
        None => record(store, row.record, &entries),
        Some(brief) => {
            let mut what = brief.what;
            if let Some(last) = brief.last {
                what.push(' ');
                what.push_str(&record(store, last, &entries).what);
            }
            Said {
                time: brief.time,
                what,
                by: String::new(),
            }
        }
    })
    .collect()
}

fn record(store: &Store, id: RecordId, entries: &BTreeMap<RecordId, Entry>) -> Said {
    let Some(entry) = entries.get(&id) else {
        return Said {
            what: "This record is no longer held.".to_owned(),
            ..Said::default()
        };
    };
    let (time, what) = said(store, id, entry);
    let by = match entry.record().map(|record| &record.event) {
        Some(Event::Change(change)) => change.manager.as_deref().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    Said { time, what, by }
}
