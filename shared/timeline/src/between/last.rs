//! For each differing object, its last record, and the field manager that made the change.

use watchscope_model::event::Event;
use watchscope_model::tree;
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Text, WatchName};

use super::differences::{Difference, DifferenceKind, Differences, differences};
use super::folds::Folds;
use super::sides::Side;
use super::versions::{VersionsSeen, versions_seen};
use crate::id::{LaneId, RecordId};
use crate::store::{AsOf, Store};

/// The most chapters that are read for the managers of last changes, the newest first. Changes of other chapters are
/// [`ChangedBy::NotRead`]. This limit bounds the work of one comparison. The number has no source.
pub const LAST_CHAPTERS: usize = 8;

/// Who changed an object last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// The field manager of this name. Hostile: show as text.
    Manager(Text),
    /// The record names no manager, the change is inferred, or no record is known.
    Unknown,
    /// The record lies in a chapter that was not read, because at most [`LAST_CHAPTERS`] are.
    NotRead,
}

/// A difference with its lane and its last record.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The difference.
    pub difference: Difference,
    /// The object's lane; `None` if the store does not know the watch or the object.
    pub lane: Option<LaneId>,
    /// The record of the last loaded change of the object up to the time of B, included. `None` if no such change is
    /// loaded, or if its record did not come after the record of A.
    pub last: Option<RecordId>,
    /// Who made the object's last change.
    pub by: ChangedBy,
    /// Whether the last change is inferred, such as a DELETED that no stream of the watch delivered; `false` also if
    /// its record was not read.
    pub is_inferred: bool,
}

/// The differences between two moments A and B, with the last record of each differing object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Between {
    /// The sides with a column, as in [`Differences::sides`].
    pub sides: Vec<Side>,
    /// The rows: the worst kind first, then by divergence, then the latest last record first. Among rows of one kind
    /// and divergence, those without a last record come last. Empty if nothing differs.
    pub rows: Vec<Row>,
    /// The number of objects that a watch held at A or at B, as in [`Differences::objects`].
    pub objects: u64,
    /// The names of watches whose objects are unknown at A or at B, sorted.
    pub unlisted: Vec<WatchName>,
    /// The number of records after the record of A up to that of B, the latter included; 0 if A is not before B. `None`
    /// if A and B lie in different epochs.
    pub records: Option<u64>,
    /// How far a resourceVersion went. `None` if A and B lie in different epochs, or if no watch had seen a version at
    /// both that is a number.
    pub versions: Option<VersionsSeen>,
    /// The duration from A to B on the log's clock, in µs; negative if A is later.
    pub lasted_us: i64,
}

impl Between {
    /// Returns the number of rows of a kind.
    #[must_use]
    pub fn count(&self, kind: DifferenceKind) -> usize {
        let of_kind = |row: &&Row| row.difference.kind == kind;
        self.rows.iter().filter(of_kind).count()
    }
}

/// Returns the differences between the moments A and B, given in this order. Reads at most [`LAST_CHAPTERS`] chapters.
#[must_use]
pub fn between(store: &Store, a: &AsOf, b: &AsOf) -> Between {
    let Differences {
        sides,
        rows,
        objects,
        unlisted,
    } = differences(folds_of(a), folds_of(b));
    let mut rows: Vec<Row> = rows
        .into_iter()
        .map(|difference| {
            let lane = store.find_lane(&difference.watch, Some(&difference.object));
            let last = lane.and_then(|lane| store.last_before(lane, b.at));
            Row {
                lane,
                last: last.filter(|last| is_after(store, *last, a.record)),
                by: ChangedBy::Unknown,
                is_inferred: false,
                difference,
            }
        })
        .collect();
    name_managers(store, &mut rows);
    let order = |row: &Row| {
        let newest = row.last.map(|last| (order_of(store, last), last.seq));
        let kind = (row.difference.kind, row.difference.divergence);
        (kind, std::cmp::Reverse(newest))
    };
    tree::sort_by_key(&mut rows, order);
    let is_one_run = a.record.epoch == b.record.epoch;
    Between {
        sides,
        rows,
        objects,
        unlisted,
        records: is_one_run.then(|| b.record.seq.0.saturating_sub(a.record.seq.0)),
        versions: versions_seen(a.state(), b.state()).filter(|_| is_one_run),
        lasted_us: b.at.micros_since(a.at),
    }
}

fn folds_of(of: &AsOf) -> Folds<'_> {
    Folds {
        state: of.state(),
        layers: of.layers(),
    }
}

/// Returns the position of a record's epoch among the store's epochs, the oldest first.
fn order_of(store: &Store, id: RecordId) -> Option<usize> {
    let mut runs = store.epochs().iter();
    runs.position(|epoch| epoch.number() == id.epoch)
}

fn is_after(store: &Store, id: RecordId, other: RecordId) -> bool {
    (order_of(store, id), id.seq) > (order_of(store, other), other.seq)
}

/// Fills in each row's manager and whether its change is inferred. Reads the records chapter by chapter, the newest
/// first.
fn name_managers(store: &Store, rows: &mut [Row]) {
    let mut wanted: Vec<RecordId> = rows.iter().filter_map(|row| row.last).collect();
    let mut read = 0;
    for first in store.loaded_chapters().into_iter().rev() {
        let is_in = |id: &RecordId| id.epoch == first.epoch && id.seq >= first.seq;
        if wanted.is_empty() || read == LAST_CHAPTERS {
            break;
        }
        if !wanted.iter().any(is_in) {
            continue;
        }
        read += 1;
        store.each_record_of(first, |record| {
            let Event::Change(change) = record.event else {
                return;
            };
            let id = RecordId {
                epoch: first.epoch,
                seq: record.seq,
            };
            for row in rows.iter_mut().filter(|row| row.last == Some(id)) {
                row.is_inferred = change.origin == Origin::Inferred;
                row.by = match &change.manager {
                    Some(manager) if !row.is_inferred => ChangedBy::Manager(manager.clone()),
                    _ => ChangedBy::Unknown,
                };
            }
        });
        wanted.retain(|id| !is_in(id));
    }
    let is_unread = |row: &&mut Row| row.last.is_some_and(|last| wanted.contains(&last));
    for row in rows.iter_mut().filter(is_unread) {
        row.by = ChangedBy::NotRead;
    }
}
