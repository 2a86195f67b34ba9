//! The state of a history, as the page and `/metrics` show it.

use std::io;

use watchscope_model::time::SECOND_US;
use watchscope_model::vocabulary::{DiskTrouble, LossPlace};
use watchscope_model::wire;
use watchscope_model::{Seq, Text, Time};

use crate::metrics::{Exposition, families as f};

/// The state of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryState {
    /// The bytes of all files.
    pub bytes: u64,
    /// The budget for these bytes.
    pub size_bytes: u64,
    /// The time of the first record in all files; `None` before one is kept.
    pub since: Option<Time>,
    /// The last record of this run that is in a file; 0 if none is.
    pub kept_to: Seq,
    /// Since when records wait to be written; `None` if none wait.
    pub waits_since: Option<Time>,
    /// What keeps the history from writing.
    pub trouble: Option<Trouble>,
    /// Records of this run that left the ring before they were written.
    pub lost: u64,
}

impl HistoryState {
    /// The state as a message for viewers.
    #[must_use]
    pub fn message(&self) -> wire::History {
        wire::History {
            bytes: self.bytes,
            size_bytes: self.size_bytes,
            since: self.since,
            kept_to: self.kept_to,
            lost: self.lost,
            trouble: self.trouble.as_ref().map(|trouble| trouble.kind),
            trouble_since: self.trouble.as_ref().map(|trouble| trouble.since),
        }
    }

    /// Adds the state at `now` to an exposition.
    pub(crate) fn expose(&self, cluster: &Text, now: Time, out: &mut Exposition) {
        let seconds = |micros: i64| micros as f64 / SECOND_US as f64;
        let label = || cluster.into();
        out.add(&f::HISTORY_BYTES, [label()], self.bytes);
        out.add(&f::HISTORY_CAPACITY, [label()], self.size_bytes);
        if let Some(since) = self.since {
            out.add(&f::HISTORY_OLDEST, [label()], seconds(since.0));
        }
        let behind = self.waits_since.map_or(0, |since| now.micros_since(since));
        out.add(&f::HISTORY_BEHIND, [label()], seconds(behind.max(0)));
        let trouble = self.trouble.as_ref().map(|trouble| trouble.kind);
        let is_failing = trouble.is_some_and(|kind| kind != DiskTrouble::Slow);
        out.add(&f::HISTORY_FAILING, [label()], u64::from(is_failing));
        let place = LossPlace::File.word().into();
        out.add(&f::LOSSES, [label(), place], self.lost);
    }
}

/// What keeps a history from writing, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The kind of trouble.
    pub kind: DiskTrouble,
    /// When it began.
    pub since: Time,
}

/// Returns the kind of trouble that a disk's error means.
pub(super) fn trouble_of(error: &io::Error) -> DiskTrouble {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => DiskTrouble::Full,
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => DiskTrouble::ReadOnly,
        Kind::NotFound => DiskTrouble::Gone,
        _ => DiskTrouble::Failing,
    }
}
