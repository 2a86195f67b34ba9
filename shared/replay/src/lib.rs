//! Serves recordings like a log that has ended: the backend from a disk, a page from a file that a person dropped.
//!
//! ```text
//!   Contents of each file ─► JoinedFiles ─► newest chapter ─► Ring, catalogue, clock      (the backend's replay)
//!
//!   name, size ─► Opening ─(Scan, ReadChapter)─► Opened ─► wire messages                  (a page, no server)
//!                  │  ▲                           │  ▲
//!                  ▼  │ bytes, inflated           ▼  │ client messages, chapters that FetchChapter read
//!                  host                           host
//!
//!   Opened ─► SearchFile ─(ReadBodies, ReadChapter)─► lines of an answer, as /api/search gives them
//! ```
//!
//! No code of this crate reads a file, inflates, or knows the time. A machine requests bytes or inflating ([`Step`]),
//! and its host hands in the answer ([`Input`]). [`Opened`] gives a page the messages that `watchscope replay FILE`
//! sends.
//!
//! A file from a stranger is hostile. No input causes a panic, and no machine requests bytes outside the file. Each
//! machine's documentation states how much memory it needs.
//!
//! [`Step`]: watchscope_recording::Step
//! [`Input`]: watchscope_recording::Input

#![forbid(unsafe_code)]

mod about;
mod fetch;
mod joined;
mod opened;
mod opening;
mod search;
mod words;

pub use about::About;
pub use fetch::{FetchBody, FetchChapter, FetchNotes, first_body, first_chapter, holding};
pub use joined::{ChapterPlace, JoinedFiles, LogError, Recorded, Run, clock_start};
pub use opened::{NO_CLUSTER, Next, Opened};
pub use opening::{OpenError, Opening};
pub use search::{SearchFile, SearchStep};
pub use words::Notice;
