//! One trouble: when it lasted, its severity, its kind, and its lanes.

use watchscope_model::summary::TroubleKind;
use watchscope_model::vocabulary::Severity;
use watchscope_model::{Text, Time};

use crate::id::{RecordId, WatchId};
use crate::scene::StretchKind;

/// The most troubles that an edge of the view names: the two worst, and of equally severe ones the later first. Others
/// are only counted. The number has no source.
pub const NAMED: usize = 2;
/// `until` of trouble that is still open: the greatest time.
pub(super) const OPEN: Time = Time(i64::MAX);

/// Something that a viewer must not miss. The summary of a chapter that is not loaded may join several as one. That
/// lasts from the first begin to the last end, with the severity and kind of the worst. Times are on the log's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// When it began. For trouble of a chapter that is not loaded: not before the chapter's opening.
    pub began: Time,
    /// When it ended, or until when it is known to last; `Time(i64::MAX)` while it is open. An occurrence of a finding
    /// ends with the next one, or when the finding is cleared.
    pub until: Time,
    /// Until when a mark of it is drawn: at the record that raised a finding, or to `until` for a stretch. After it
    /// there is at most the line of an open finding.
    pub marked_until: Time,
    /// Its severity: at least a warning.
    pub severity: Severity,
    /// Its kind.
    pub of: TroubleOf,
    /// The watches that it concerns, the most concerned first, at most 16. It is empty for trouble of a server, a
    /// connection or a client, and for trouble that is not loaded. Watches that the store does not know are left out.
    pub watches: Vec<WatchId>,
    /// How to select it.
    pub place: TroublePlace,
    /// How many troubles its record or its chapter's summary counts: at least 1.
    pub stands_for: u64,
}

/// The kinds of trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TroubleOf {
    /// An occurrence of a finding.
    Finding {
        /// The code of its row: `F11`.
        code: Text,
        /// The name of its row in the catalogue.
        name: Text,
    },
    /// A gap in which events may be lost, without a finding.
    LostGap,
    /// A server refused the watch, without a finding.
    Refused,
    /// The watch waited over 5 s, without a finding.
    Waiting,
    /// Trouble of a chapter whose records are not all loaded. The chapter's summary says only this.
    Listed(TroubleKind),
}

/// How trouble is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroublePlace {
    /// A finding, by the record that raised this occurrence. It may lie before all that is loaded, if the occurrence
    /// was still open there.
    Finding(RecordId),
    /// A gap or a phase of a watch, by the record that it began with, which may lie before all that is loaded. Of
    /// several waits and refusals in a row it is the first refusal, or else the first wait over 5 s.
    Stretch(StretchKind, WatchId, RecordId),
    /// Only the summary of a chapter shows it, whose records are not all loaded.
    NotLoaded,
}

impl TroublePlace {
    /// Returns the record by which it is selected; `None` for trouble that only a summary shows.
    #[must_use]
    pub fn record(&self) -> Option<RecordId> {
        match *self {
            Self::Finding(record) | Self::Stretch(_, _, record) => Some(record),
            Self::NotLoaded => None,
        }
    }
}

impl Trouble {
    /// Returns whether it still lasts; `false` also if that is not known, as of trouble that is not loaded.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.until == OPEN
    }

    /// Returns how many it counts as: a summary may count several, and a record is one step.
    pub(super) fn counts(&self) -> u64 {
        match self.place {
            TroublePlace::NotLoaded => self.stands_for,
            _ => 1,
        }
    }

    /// The worse of two has the greater key; of equally severe ones the later.
    pub(super) fn badness(&self) -> (usize, Time) {
        (self.severity.rank(), self.began)
    }
}

/// Whether a severity is trouble; a note is not.
pub(super) fn is_trouble(severity: Severity) -> bool {
    severity.rank() >= Severity::Warning.rank()
}
