//! The file format of a log: blocks with checksums in their headers, whose payloads are the log's own frames.
//!
//! ```text
//!   head and segment frames ─► Writer ─► bytes to append          file ─► Scan ─► Contents ─► ReadChapter ─► frames
//!                               │  ▲                                      │  ▲                 │  ▲
//!                               ▼  │ deflated                             ▼  │ bytes           ▼  │ bytes, inflated
//!                               host                                      host                 host
//! ```
//!
//! No code of this crate reads a file, deflates or inflates. A machine requests bytes or inflating ([`Step`]), and its
//! host hands in the answer ([`Input`]). The same code therefore reads files on a host and `Blob`s in a browser.
//! docs/recordings.md describes every byte for other implementers.
//!
//! A file from a stranger is hostile. Every length and count is checked against its bound before anything is allocated.
//! Inflating stops once more than the stated length came out. Damage is reported by block and byte, and the undamaged
//! rest is read.

#![forbid(unsafe_code)]

mod block;
mod body;
mod chapter;
mod contents;
mod copy;
mod error;
mod excerpt;
mod excerpt_file;
mod extract;
mod fields;
mod file_block;
mod format;
mod index;
mod machine;
mod notes;
mod read_chapter;
mod scan;
mod summary;
mod walk;
mod window;
mod write;

pub use watchscope_hiding::{HiddenPart, Parts};

pub use block::{BlockPlace, Header};
pub use body::{Bodies, MAX_BODIES, ReadBodies};
pub use chapter::Frames;
pub use contents::{ChapterEntry, Contents, Cut};
pub use copy::{Piece, Source, compact, copy};
pub use error::{Damage, DamageKind, ExtractError, ReadError, WriteError};
pub use excerpt::{Excerpt, ExcerptError, ExcerptRun};
pub use excerpt_file::{ExcerptFile, notes_beside};
pub use extract::{Extract, Lanes, Out, Stretch};
pub use file_block::{ClusterName, FileBlock, Form, MAX_FILE_BLOCK_BYTES, Watched};
pub use format::{
    BLOCK_HEADER_BYTES, FILE_HEADER_BYTES, FORMAT_VERSION, MAGIC, MAX_BLOCKS, MAX_CHAPTERS,
    MAX_RAW_BYTES, MAX_STORED_BYTES, Tag,
};
pub use index::CHAPTERS_BETWEEN_INDEXES;
pub use machine::{Input, Step};
pub use notes::{MAX_NOTES_BLOCK_BYTES, has_notes, notes_of};
pub use read_chapter::{Chapter, ReadChapter};
pub use scan::Scan;
pub use summary::FrameSummarizer;
pub use write::{Closing, Packing, Writer};
