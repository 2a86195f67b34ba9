//! How the history fares: what the page and `/metrics` say of it.

use std::io;

use watchscope_model::{Seq, Text, Time};

/// How the history fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryState {
    /// Bytes of all files.
    pub bytes: u64,
    /// The most bytes that they may have.
    pub size_bytes: u64,
    /// The first record of all files; `None` before one is kept.
    pub since: Option<Time>,
    /// The last record of this run that is in a file; 0 if none is.
    pub kept_to: Seq,
    /// Since when records wait to be written; `None` if none do.
    pub waits_since: Option<Time>,
    /// What keeps it from writing.
    pub trouble: Option<DiskTrouble>,
    /// Records of this run that left the ring before they could be written.
    pub lost: u64,
}

/// What keeps the history from writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskTrouble {
    /// What it is.
    pub kind: DiskTroubleKind,
    /// Since when.
    pub since: Time,
    /// What was said the last time, for people.
    pub text: Text,
}

/// What is wrong with the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskTroubleKind {
    /// There is no room, by the file system, a quota or a limit of the process.
    Full,
    /// It may not be written.
    ReadOnly,
    /// The folder or the file was removed.
    Gone,
    /// Anything else.
    Failing,
}

impl DiskTroubleKind {
    /// What an error of the disk means.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Self::Full,
            Kind::ReadOnlyFilesystem | Kind::PermissionDenied => Self::ReadOnly,
            Kind::NotFound => Self::Gone,
            _ => Self::Failing,
        }
    }

    /// As people say it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Full => "disk full",
            Self::ReadOnly => "disk not writable",
            Self::Gone => "folder removed",
            Self::Failing => "disk failing",
        }
    }
}
