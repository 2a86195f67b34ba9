//! The history: it keeps the log in files on disk, within a budget, so that the log outlives the process.
//!
//! ```text
//!   log ─► FrameReader ─► keeper ─► FileWriter ─► Recorder ─► DIR/NAME-xxxxxxxx/000017-2026-11-25T03-12-47Z.wscope
//!                           │        ├─ FileSet: the files there are, what is merged and dropped
//!                           ▼        └─ Place: the folder, its lock
//!                      HistoryState: page, /metrics
//! ```
//! The log does not wait for the disk: the keeper holds a position in the ring and no queue. A disk that is full, failing or
//! slow stops only the history. The state reports that, and the history tries again. Records that leave the ring meanwhile
//! are counted as lost.

mod archive;
mod budget;
mod file_set;
mod file_writer;
mod keeper;
mod place;
mod state;

pub use self::archive::Archive;
pub use self::keeper::History;
pub use self::place::PlaceError;
pub use self::state::{HistoryState, Trouble};

use std::path::PathBuf;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// What a history keeps, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryConfig {
    /// The folder below which each log has a folder of its own.
    pub folder: PathBuf,
    /// The most bytes of all files of a log, without bodies.
    pub size_bytes: u64,
    /// The most bytes of bodies in these files; `None` if bodies are not kept.
    pub bodies_bytes: Option<u64>,
    /// How long a file is kept after its last record.
    pub age: Duration,
}
