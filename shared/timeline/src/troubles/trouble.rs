//! One trouble: when it lasted, its severity, its kind, and its lanes.

use watchscope_model::summary::TroubleKind;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use crate::id::{RecordId, WatchId};
use crate::scene::StretchKind;

/// The most troubles that an edge of the view names: the two worst, and of equally severe troubles the later first.
/// Further troubles are only counted. The number has no source.
pub const NAMED: usize = 2;
/// The value of `until` for trouble that is still open: the greatest time.
pub(super) const OPEN: Time = Time(i64::MAX);

/// Something that a viewer must not miss. The summary of a chapter that is not loaded may join several troubles as one.
/// A joined trouble lasts from the first begin to the last end, with the severity and kind of the worst. Times are on
/// the log's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// When the trouble began. For trouble of a chapter that is not loaded, this is not before the chapter's opening.
    pub began: Time,
    /// When the trouble ended, or until when it is known to last; `Time(i64::MAX)` while it is open. For trouble of a
    /// chapter that is not loaded, this is not after the chapter's last record. An occurrence of a finding ends with
    /// the finding's next occurrence, or when the finding is cleared.
    pub until: Time,
    /// Until when a mark of the trouble is drawn: for a finding, the time of the record that raised it; for a stretch,
    /// `until`. After this time at most the line of an open finding is drawn.
    pub marked_until: Time,
    /// The severity of the trouble: at least a warning.
    pub severity: Severity,
    /// The kind of the trouble.
    pub of: TroubleOf,
    /// The watches that the trouble concerns, the most concerned first, at most 16; further ones are left out. The list
    /// is empty for a finding that names no watch, as one about a connection, and for trouble that is not loaded.
    /// Watches that the store does not know are left out.
    pub watches: Vec<WatchId>,
    /// How the trouble is selected in the picture.
    pub place: TroublePlace,
    /// How many troubles this entry's record, or its entry in a chapter's summary, stands for: at least 1.
    pub stands_for: u64,
}

/// The kinds of trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TroubleOf {
    /// An occurrence of a finding.
    Finding {
        /// The code of the finding's catalogue row: `F11`.
        code: Text,
        /// The name of the finding's row in the catalogue.
        name: Text,
    },
    /// A gap in which events may be lost, without a finding.
    LostGap,
    /// A server refused the watch, without a finding.
    Refused,
    /// The watch waited over 5 s, without a finding.
    Waiting,
    /// Trouble of a chapter whose records are not all loaded. The chapter's summary gives only this kind.
    Listed(TroubleKind),
}

/// How trouble is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroublePlace {
    /// A finding, by the record that raised this occurrence. The record may lie before all loaded records, if the
    /// occurrence was still open at their begin.
    Finding(RecordId),
    /// A gap or a phase of a watch, by the record that it began with, which may lie before all loaded records. For
    /// several waits and refusals in a row, the phase is the first refusal, or else the first wait over 5 s.
    Stretch(StretchKind, WatchId, RecordId),
    /// The trouble cannot be selected: only the summary of a chapter shows it, whose records are not all loaded.
    NotLoaded,
}

impl TroublePlace {
    /// Returns the record by which the trouble is selected; `None` for trouble that only a summary shows.
    #[must_use]
    pub fn record(&self) -> Option<RecordId> {
        match *self {
            Self::Finding(record) | Self::Stretch(_, _, record) => Some(record),
            Self::NotLoaded => None,
        }
    }
}

impl Trouble {
    /// Returns whether the trouble still lasts; `false` also if that is not known, as for trouble that is not loaded.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.until == OPEN
    }

    /// Returns how many troubles this entry counts as: an entry of a summary may count several, any other counts one.
    pub(super) fn counts(&self) -> u64 {
        match self.place {
            TroublePlace::NotLoaded => self.stands_for,
            _ => 1,
        }
    }

    /// Returns the sort key of a trouble: the worse of two has the greater key, and of two equally severe, the later.
    pub(super) fn badness(&self) -> (usize, Time) {
        (self.severity.rank(), self.began)
    }
}

/// Whether a severity counts as trouble; that of a note does not.
pub(super) fn is_trouble(severity: Severity) -> bool {
    severity.rank() >= Severity::Warning.rank()
}
