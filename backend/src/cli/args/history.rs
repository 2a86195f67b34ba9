//! Arguments about the history on disk.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::values::{age, history_size};
use crate::history::HistoryConfig;

/// The history on disk.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "History")]
pub(crate) struct HistoryArgs {
    /// Keep the log in files below this folder, so that it outlives watchscope
    #[arg(long = "history", env = "WATCHSCOPE_HISTORY", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
    /// Most bytes of a cluster's files; the oldest files are dropped first
    #[arg(long = "history-size", env = "WATCHSCOPE_HISTORY_SIZE", value_name = "SIZE", value_parser = history_size, default_value = "1GiB")]
    size_bytes: u64,
    /// Keep the redacted objects too, up to this size beside the files' own; they are dropped before records
    #[arg(long = "history-bodies", env = "WATCHSCOPE_HISTORY_BODIES", value_name = "SIZE", value_parser = history_size)]
    bodies_bytes: Option<u64>,
    /// How long records are kept
    #[arg(long = "history-age", env = "WATCHSCOPE_HISTORY_AGE", value_name = "DURATION", value_parser = age, default_value = "7d")]
    age: Duration,
}

impl HistoryArgs {
    /// Returns the settings of the history; `None` if none is kept.
    pub(crate) fn config(self) -> Option<HistoryConfig> {
        let Self {
            folder,
            size_bytes,
            bodies_bytes,
            age,
        } = self;
        let folder = folder?;
        Some(HistoryConfig {
            folder,
            size_bytes,
            bodies_bytes,
            age,
        })
    }
}
