//! Recordings on disk: a log written into a file while it goes on, and a file read again.
//!
//! ```text
//!   log ─► FrameReader ─► record ─► Recorder ─(Writer)─► file        file ─► OpenFile ─(Scan, ReadChapter)─► frames
//! ```
//! What a file looks like is `watchscope_recording`'s. Here are only its host: the disk, and deflating.

mod disk;
mod open_file;
mod recorder;

pub use self::open_file::{OpenError, OpenFile};
pub use self::recorder::{RecordError, Recorder, record};

#[cfg(test)]
mod tests;
