//! The order of a table's rows.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::cells::{concerns, occurrence};
use super::column::{By, Column, Tab, columns};
use super::kind::Kind;
use super::row::TableRow;
use crate::id::LaneId;
use crate::store::Store;
use crate::words::lane_words;

/// The order of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Index of the column in [`columns`]. With any other index the page does not sort.
    pub column: usize,
    /// Whether the highest value is first; if `false`, the lowest, or words from A.
    pub falling: bool,
}

impl Order {
    /// Returns the order in which a table's rows are gathered: the newest first. For [`Tab::Watches`], which has no
    /// column of times, the order is by column 0, falling.
    #[must_use]
    pub fn first_of(tab: Tab) -> Self {
        let newest = |column: &Column| matches!(column.by, By::Time | By::From);
        Self {
            column: columns(tab).iter().position(newest).unwrap_or(0),
            falling: true,
        }
    }

    /// Returns the order after a press of a column's heading: numbers and times from the highest, words from A. A press
    /// of the column that the table is sorted by reverses the order. An index that `columns` does not have counts as
    /// words.
    #[must_use]
    pub fn pressed(self, column: usize, columns: &[Column]) -> Self {
        let is_high_first = |column: &Column| {
            column.is_figure || matches!(column.by, By::Time | By::From | By::Until)
        };
        let falling = if self.column == column {
            !self.falling
        } else {
            columns.get(column).is_some_and(is_high_first)
        };
        Self { column, falling }
    }
}

/// Sorts rows by a column; `falling` puts the highest first. A row without the value counts as the lowest. Among rows
/// with equal values the newest is first, in either direction. Words are compared without case.
pub fn sort(store: &Store, rows: &mut Vec<TableRow>, by: By, falling: bool) {
    let ranks = Ranks::of(store, rows, by);
    let mut keyed: Vec<([i128; 3], TableRow)> = std::mem::take(rows)
        .into_iter()
        .map(|row| (ranks.key(store, &row, by), row))
        .collect();
    keyed.sort_unstable_by(|(a, row), (b, other)| {
        let by_key = if falling { b.cmp(a) } else { a.cmp(b) };
        by_key.then_with(|| newest(row, other))
    });
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

fn newest(a: &TableRow, b: &TableRow) -> Ordering {
    let of = |row: &TableRow| (row.at, row.record, row.lane, row.kind);
    of(b).cmp(&of(a))
}

/// The ranks of lanes and words among all those of a table, so that rows are compared by numbers.
struct Ranks {
    lanes: BTreeMap<LaneId, i128>,
    words: BTreeMap<String, i128>,
}

impl Ranks {
    fn of(store: &Store, rows: &[TableRow], by: By) -> Self {
        let mut lanes = BTreeMap::new();
        if matches!(by, By::Lane | By::What | By::Manager) {
            let known: BTreeSet<LaneId> = rows.iter().map(|row| row.lane).collect();
            let named = known.into_iter();
            let named = named.map(|lane| (lane_words(store, lane).to_lowercase(), lane));
            let mut named: Vec<(String, LaneId)> = named.collect();
            named.sort();
            lanes = (0..)
                .zip(named)
                .map(|(rank, (_, lane))| (lane, rank))
                .collect();
        }
        let words = rows.iter().filter_map(|row| words_of(store, row, by));
        let words: BTreeSet<String> = words.collect();
        let words = words.into_iter().zip(0..).collect();
        Self { lanes, words }
    }

    fn key(&self, store: &Store, row: &TableRow, by: By) -> [i128; 3] {
        let at = i128::from(row.at.0);
        let lane = || self.lanes.get(&row.lane).copied().unwrap_or(0);
        let version = || row.version().map_or(-1, i128::from);
        let word = || {
            let words = words_of(store, row, by);
            words
                .and_then(|words| self.words.get(&words))
                .copied()
                .unwrap_or(-1)
        };
        match by {
            By::Time | By::From => [at, 0, 0],
            By::Until => [row.until.0.into(), 0, 0],
            By::Lasted => [i128::from(row.until.0) - at, 0, 0],
            By::Kind => [kind_rank(row.kind), 0, 0],
            By::Lane => [lane(), 0, 0],
            By::Manager => [lane(), at, 0],
            By::Version => [version(), 0, 0],
            By::What if row.kind == Kind::Finding => [kind_rank(row.kind), word(), at],
            By::What => [kind_rank(row.kind), lane(), version()],
            By::Severity => {
                let found = occurrence(store, row);
                [
                    found.map_or(-1, |found| found.severity.rank() as i128),
                    0,
                    0,
                ]
            }
            By::Times => [
                occurrence(store, row).map_or(-1, |found| found.count.into()),
                0,
                0,
            ],
            By::Code | By::Name | By::Watches => [word(), 0, 0],
        }
    }
}

/// Returns the rank of a kind among all kinds, sorted by their words.
fn kind_rank(kind: Kind) -> i128 {
    let words = kind.words().to_lowercase();
    let before = Kind::ALL.iter();
    before
        .filter(|other| other.words().to_lowercase() < words)
        .count() as i128
}

/// Returns a finding's words in a column, in lower case.
fn words_of(store: &Store, row: &TableRow, by: By) -> Option<String> {
    let found = occurrence(store, row).filter(|_| row.kind == Kind::Finding)?;
    let words = match by {
        By::Code | By::What => found.code.to_string(),
        By::Name => found.name.to_string(),
        By::Watches => concerns(found),
        _ => return None,
    };
    Some(words.to_lowercase())
}
