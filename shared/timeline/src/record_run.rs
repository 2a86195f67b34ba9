//! A run of neighbouring records, which are forgotten together.

use watchscope_model::{Seq, Time};

/// Neighbouring records of an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordRun {
    /// The first record; 0 if all that is known of earlier ones belongs to the run.
    pub(crate) first: Seq,
    /// The last record.
    pub(crate) last: Seq,
    /// The time of the last record.
    pub(crate) to: Time,
}

impl RecordRun {
    /// Whether a record is in it.
    pub(crate) fn holds(self, seq: Seq) -> bool {
        self.first <= seq && seq <= self.last
    }
}
