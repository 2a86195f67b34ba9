//! The binary form: bytes, frames, the dictionary. Chapters are put together of it in [`crate::chapter`].
//!
//! ```text
//!   chapter = head frame, then segment frames         frame = tag, version, length, CRC-32, payload
//!     head     log, epoch, dictionary, snapshot       (the fold of all records before the chapter)
//!     segment  first seq, count, base time, new dictionary entries, records
//!     record   time since the one before, kind, length, fields
//! ```
//!
//! Kinds and fields are only ever appended, and what a reader passes over must not change what it reads next. So
//! nothing inside a record is read in the light of another, with one exception: a resourceVersion is the distance
//! from that of the last `change` before it in the segment, or from 0, and `change` is a kind every reader knows. In a
//! snapshot the objects of one watch are each the distance from the one before, all other resourceVersions from 0.
//!
//! Most records are changes, and most of each repeats. Its watch, stream, type, origin, manager and subresource are a
//! *pattern* of the dictionary, which is one number. The dictionary also says of an object which controller it had in
//! the `change` that first named it, and a `change` says its controller only where that is another.
//!
//! Format 3: as this one without patterns; the fields of a `change` stand in their order. Format 2: as format 3, and each
//! `change` says its controller. Format 1: as format 2, and every resourceVersion is the distance from the one before, of
//! whatever kind.
//!
//! Every interned id used in a chapter is defined in it before its first use, so a chapter can be read, evicted,
//! filed and sent alone. The next chapter defines what it carries over under the same ids, so whoever reads on needs no
//! opening but the first. Decoding arbitrary bytes never panics, and never allocates over 16 times its input plus
//! 1 MiB: every allocation is charged against that budget first.

mod checksum;
pub(crate) mod dictionary;
pub(crate) mod frame;
pub(crate) mod pattern;
pub(crate) mod port;
pub(crate) mod reader;
pub(crate) mod tables;
pub(crate) mod varint;
pub(crate) mod writer;

pub use checksum::checksum;
pub use frame::{DecodeError, FORMAT_VERSION, Frame, FrameKind, MAX_FRAME_BYTES, split_frame};
pub use reader::Reader;
pub use writer::Writer;
