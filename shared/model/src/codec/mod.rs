//! The binary form: bytes, frames, the dictionary. [`crate::chapter`] builds chapters from frames and the dictionary.
//!
//! ```text
//!   chapter = head frame, then segment frames         frame = tag, version, length, CRC-32, payload
//!     head     log, epoch, dictionary, snapshot       (the fold of all records before the chapter)
//!     segment  first seq, count, base time, new dictionary entries, records
//!     record   time since the one before, kind, length, fields
//! ```
//!
//! New kinds and fields are only appended, and a part that a reader skips must not change how it reads the rest. For
//! that reason no value inside a record depends on another record, with one exception. A resourceVersion is a distance
//! from that of the last `change` before it in the segment, or from 0; every reader knows the kind `change`. In a
//! snapshot, the version of each object of a watch is a distance from that of the object before. All other
//! resourceVersions in a snapshot are distances from 0.
//!
//! Most records are changes, and most fields of a change repeat. The watch, stream, type, origin, manager and
//! subresource of a change form a *pattern* of the dictionary, written as one number. If a `change` is the first to
//! name an object, the dictionary's definition of the object names the controller in that `change`. A controller that
//! has a controller in its own definition is left out. A `change` states its object's controller only if it differs
//! from the controller in the object's definition.
//!
//! Format 3 is format 4 without patterns; the fields of a `change` are written in their order. In format 2, each
//! `change` also states its controller. In format 1, in addition, each resourceVersion is a distance from the one
//! before, in a record of any kind.
//!
//! A chapter defines every id before its first use, so a chapter can be read, evicted, stored and sent alone. The next
//! chapter defines the ids that it carries over with the same numbers. A reader that reads chapter after chapter
//! therefore needs only its first opening.
//!
//! Decoding arbitrary bytes never panics. Decoding never allocates more than 16 times its input plus 1 MiB. Each
//! allocation is charged to that budget first; above the budget decoding fails.

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
pub use frame::{
    DecodeError, FORMAT_VERSION, Frame, FrameKind, MAX_FRAME_BYTES, split_frame, split_known_frame,
};
pub use reader::Reader;
pub use writer::Writer;
