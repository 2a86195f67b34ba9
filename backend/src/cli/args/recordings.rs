//! Arguments that choose the recordings a command reads.

use std::path::PathBuf;

use clap::Args;

use crate::recordings::{JoinError, Joined};

/// Recordings that a command reads.
#[derive(Debug, Args)]
pub(crate) struct RecordingsArgs {
    /// Recordings, and folders of them, of one log
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) files: Vec<PathBuf>,
    /// Log to read, if the recordings are of several
    #[arg(long, env = "WATCHSCOPE_LOG", value_name = "NAME")]
    pub(crate) log: Option<String>,
}

impl RecordingsArgs {
    /// Opens the recordings as one.
    pub(crate) fn open(&self) -> Result<Joined, JoinError> {
        Joined::open(&self.files, self.log.as_deref())
    }
}
