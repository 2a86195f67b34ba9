//! The pure parts of log and hub: they seal records into segments, keep segments in a ring, and send them to readers.
//!
//! ```text
//!   Record, fold ─► Sealer ─► Sealed ─► Ring ◄─── Reader ─► wire messages
//!                   (one)               (one)     (one a viewer) ◄─ client messages
//! ```
//!
//! A [`Reader`] is a cursor into the [`Ring`], not a queue, so a slow reader costs the log nothing. No code of this
//! crate has a clock: the caller (the hub, or a worker in a browser) passes the log's time.

#[cfg(feature = "catalogue")]
mod catalogue;
#[cfg(not(feature = "catalogue"))]
#[path = "no_catalogue.rs"]
mod catalogue;
mod reader;
mod ring;
mod sealer;
mod segment;

pub use catalogue::Catalogue;
#[cfg(feature = "catalogue")]
pub use catalogue::{FileChapter, FileRun, MAX_ENTRIES, MAX_RUNS};
pub use reader::{
    Asked, BEHIND_BYTES, BEHIND_US, Fetched, MAX_BACKFILLS, Parting, Reader, Recording, Refusal,
    Served, Step,
};
pub use ring::{Chapter, MAX_NAME_BYTES, Ring, SNAPSHOT_AGE_US, SNAPSHOT_BEHIND_BYTES};
pub use sealer::{CHAPTER_BYTES, FEW_RECORDS, SEAL_BYTES, SEAL_RECORDS, SealPace, Sealer};
pub use segment::{HeadSnapshot, NextChapter, Sealed, SealedSegment};
