//! The history: the log in files on disk, so that it outlives the process, within a budget.
//!
//! ```text
//!   log ─► FrameReader ─► keeper ─► Desk ─► Recorder ─► DIR/NAME-xxxxxxxx/000017-2026-11-25T03-12-47Z.wscope
//!                           │        ├─ Shelf: the files there are, what is merged and dropped
//!                           ▼        └─ Place: the folder, its lock
//!                      HistoryState: page, /metrics
//! ```
//! The log does not wait for the disk: the keeper holds a position in the ring and no queue. A disk that is full, failing
//! or slow stops the history alone. The state says so, and the disk is tried again; what left the ring meanwhile is counted as lost.

mod archive;
mod budget;
mod desk;
mod keeper;
mod place;
mod shelf;
mod state;

pub use self::archive::Archive;
pub use self::keeper::History;
pub use self::place::PlaceError;
pub use self::state::{HistoryState, Trouble};

use std::path::PathBuf;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// What is kept, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The folder below which each log has its own.
    pub folder: PathBuf,
    /// The most bytes of all files of a log, bodies not counted.
    pub size_bytes: u64,
    /// The most bytes of bodies in them; `None` if bodies are not kept.
    pub bodies_bytes: Option<u64>,
    /// How long a file is kept behind its last record.
    pub age: Duration,
}
