//! Neighbouring records of an epoch, which are forgotten together.

use watchscope_model::{Seq, Time};

/// Neighbouring records of an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordRun {
    /// The seq of the first record; 0 if all that is known of earlier records is to be forgotten, too.
    pub(crate) first: Seq,
    /// The seq of the last record.
    pub(crate) last: Seq,
    /// The time of the last record.
    pub(crate) to: Time,
}

impl RecordRun {
    /// Whether a record is among these records.
    pub(crate) fn holds(self, seq: Seq) -> bool {
        self.first <= seq && seq <= self.last
    }
}
