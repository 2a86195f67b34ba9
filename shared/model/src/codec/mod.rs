//! The binary form: bytes, frames, the dictionary. [`crate::chapter`] builds chapters from them.
//!
//! ```text
//!   chapter = head frame, then segment frames         frame = tag, version, length, CRC-32, payload
//!     head     log, epoch, dictionary, snapshot       (the fold of all records before the chapter)
//!     segment  first seq, count, base time, new dictionary entries, records
//!     record   time since the one before, kind, length, fields
//! ```
//!
//! New kinds and fields are only appended, and a part that a reader skips must not change how it reads the rest. So no
//! value inside a record depends on another value, with one exception. A resourceVersion is a distance from that of
//! the last `change` before it in the segment, or from 0; every reader knows the kind `change`. In a snapshot, each
//! object of a watch has a distance from the object before; all other resourceVersions there are distances from 0.
//!
//! Most records are changes, and most fields of each repeat. Its watch, stream, type, origin, manager and subresource
//! form a *pattern* of the dictionary, written as one number. The dictionary's definition of an object names the
//! controller that it had in the first `change` that named it. A `change` states its controller only if it is another
//! one.
//!
//! Format 3: as format 4, without patterns; the fields of a `change` stand in their order. Format 2: as format 3, and
//! each `change` states its controller. Format 1: as format 2, and each resourceVersion is a distance from the one
//! before, in a record of any kind.
//!
//! A chapter defines every id before its first use, so a chapter can be read, evicted, stored and sent alone. The next
//! chapter defines the ids that it carries over with the same numbers, so a reader that reads on needs only its first
//! opening.
//!
//! Decoding arbitrary bytes never panics. It never allocates more than 16 times its input plus 1 MiB, because each
//! allocation is charged to that budget first; above it decoding fails.

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
