//! A typed row of a table. The cells of a row are made from the row and the store.

use watchscope_model::Time;

use super::kind::Kind;
use crate::id::{LaneId, RecordId};
use crate::scene::{StretchKind, Target};
use crate::store::NO_VERSION;

/// A row: one record, or one stretch, of one lane. The ids in a row are those of the store that the row was gathered
/// from: with another store, functions may panic or show something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// When the record happened, or when the stretch began.
    pub at: Time,
    /// When the stretch ended, or until when it is known to last: for an open stretch, the `now` of the call that
    /// gathered the row. For a single record it is `at`.
    pub until: Time,
    /// The row's lane.
    pub lane: LaneId,
    /// The row's kind.
    pub kind: Kind,
    /// The record of the row, or the record with which its stretch began, which need not be loaded.
    pub record: RecordId,
    /// The row's resourceVersion as a number; [`NO_VERSION`] if the row has none, or one that is not a number.
    pub(super) version: u64,
}

impl TableRow {
    /// Returns a row for a single moment, without a resourceVersion.
    pub(super) fn moment(at: Time, lane: LaneId, kind: Kind, record: RecordId) -> Self {
        Self {
            at,
            until: at,
            lane,
            kind,
            record,
            version: NO_VERSION,
        }
    }

    /// Returns what the row stands for in the picture: its stretch, or else its record.
    #[must_use]
    pub fn target(&self) -> Target {
        match self.kind.stretch() {
            Some(stretch) => Target::Stretch(stretch, self.record),
            None => Target::Record(self.record),
        }
    }

    /// Returns the row's resourceVersion as a number; `None` if the row has none, or one that is not a number.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        Some(self.version).filter(|&version| version != NO_VERSION)
    }

    /// Returns whether a selection in the picture means this row. A plate or chip that merges records selects the row
    /// of each of them. A list that a person selects in the lane of an object means the list's row of the watch. A lane
    /// alone selects no row.
    #[must_use]
    pub fn is_of(&self, lane: LaneId, target: &Target) -> bool {
        let is_trace = |lane: LaneId| matches!(lane, LaneId::Version(_));
        let is_near = self.lane.watch() == lane.watch() && is_trace(self.lane) == is_trace(lane);
        match target {
            Target::Merged { first, last, .. } => {
                self.kind.stretch().is_none()
                    && self.lane == lane
                    && (*first..=*last).contains(&self.record)
            }
            Target::Findings(raised) => self.kind == Kind::Finding && raised.contains(&self.record),
            // A finding is selected in the lane that it concerns.
            Target::Stretch(StretchKind::Finding, _) => *target == self.target(),
            Target::Record(_) | Target::Stretch(..) => is_near && *target == self.target(),
            Target::Lane => false,
        }
    }
}
