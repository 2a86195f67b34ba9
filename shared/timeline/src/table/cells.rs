//! The cells of a row.

use watchscope_model::Time;

use super::column::{By, Tab, columns};
use super::row::TableRow;
use super::said::Said;
use crate::format::{clock_ms, duration, number};
use crate::store::{Occurrence, Store};
use crate::words::lane_words;

/// Returns the occurrence of a finding that a row is about.
pub(super) fn occurrence<'a>(store: &'a Store, row: &TableRow) -> Option<&'a Occurrence> {
    let epoch = store.epoch(row.record.epoch)?;
    let span = epoch.trace.occurrences.get(row.record.seq)?;
    Some(&span.what)
}

/// Returns the watches that a finding names: `a/pods, b/pods`. Hostile: show as text.
pub(super) fn concerns(what: &Occurrence) -> String {
    let names: Vec<&str> = what.watches.iter().map(|watch| watch.as_str()).collect();
    names.join(", ")
}

/// Returns the cells of a row: one for each of [`columns`], in their order; none for [`Tab::Watches`]. `said` must be
/// of this row. A cell without a value is empty. An end at or after `now` is shown as `now`. Hostile: show as text.
#[must_use]
pub fn cells(store: &Store, tab: Tab, row: &TableRow, said: &Said, now: Time) -> Vec<String> {
    let found = occurrence(store, row);
    let of = |by: By| match by {
        By::Time => said.time.clone(),
        By::From => clock_ms(row.at),
        By::Until if row.until >= now => "now".to_owned(),
        By::Until => clock_ms(row.until),
        By::Lasted if row.until > row.at => duration(row.until.micros_since(row.at)),
        By::Lasted => String::new(),
        By::Kind => row.kind.words().to_owned(),
        By::Lane => lane_words(store, row.lane),
        By::Version => row.version().map(number).unwrap_or_default(),
        By::What => match (tab, found) {
            (Tab::Findings, Some(found)) => found.summary.clone(),
            _ => said.what.clone(),
        },
        By::Manager => said.by.clone(),
        By::Code => found
            .map(|found| found.code.to_string())
            .unwrap_or_default(),
        By::Name => found
            .map(|found| found.name.to_string())
            .unwrap_or_default(),
        By::Severity => found
            .map(|found| found.severity.to_string())
            .unwrap_or_default(),
        By::Times => found.map(|found| number(found.count)).unwrap_or_default(),
        By::Watches => found.map(concerns).unwrap_or_default(),
    };
    columns(tab).iter().map(|column| of(column.by)).collect()
}
