//! Recordings on disk: a log is written into a file while it runs, and a file is read again.
//!
//! ```text
//!   log ─► FrameReader ─► record ─► Recorder ─(Writer)─► file        file ─► OpenFile ─(Scan, ReadChapter)─► frames
//! ```
//! `watchscope_recording` defines the format. This module hosts it: it has the disk, deflating and inflating.

mod bodies;
mod disk;
mod joined;
mod machines;
mod open_file;
mod past;
mod recorder;
mod rewrite;
mod source;

pub use self::disk::{Disk, DiskFile, HostDisk};
pub use self::joined::{JoinError, Joined};
pub use self::machines::deflated;
pub use self::open_file::{OpenError, OpenFile};
pub use self::past::{MatchingBodies, Past};
pub(crate) use self::past::{
    bodies_matching_in, body_in, chapter_in, fetched, fetched_bodies_matching, fetched_body,
    name_of, notes_in,
};
pub use self::recorder::{Lost, RecordError, Recorder, file_block, record};
pub use self::rewrite::Finished;
pub(crate) use self::rewrite::{UNFINISHED, ended, merged, without_bodies};
pub use self::source::source_of;

#[cfg(test)]
pub(crate) mod tests;
