//! A typed row of a table. Its cells are made from it and the store.

use watchscope_model::Time;

use super::kind::Kind;
use crate::id::{LaneId, RecordId};
use crate::scene::{StretchKind, Target};
use crate::store::NO_VERSION;

/// A row: one record, or one stretch, of one lane. Its ids are those of the store that it was gathered from: with
/// another one, functions may panic or show something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// When it happened or began.
    pub at: Time,
    /// When it ended, or until when it is known to last: the `now` of the call that gathered it, if it is open. It is
    /// `at` for a moment.
    pub until: Time,
    /// Its lane.
    pub lane: LaneId,
    /// Its kind.
    pub kind: Kind,
    /// The record, or the one that the stretch began with, which need not be loaded.
    pub record: RecordId,
    /// Its resourceVersion as a number; [`NO_VERSION`] if it has none or it is no number.
    pub(super) version: u64,
}

impl TableRow {
    /// Returns a moment without a resourceVersion.
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

    /// Returns the part of the picture that it stands for: its stretch, or else its record.
    #[must_use]
    pub fn target(&self) -> Target {
        match self.kind.stretch() {
            Some(stretch) => Target::Stretch(stretch, self.record),
            None => Target::Record(self.record),
        }
    }

    /// Returns its resourceVersion as a number; `None` if it has none, or one that is no number.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        Some(self.version).filter(|&version| version != NO_VERSION)
    }

    /// Returns whether a selection in the picture is this row. A chip that merges records selects each of them. The
    /// list that a person selects in the lane of an object is the row of its watch. A lane alone selects no row.
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
