//! Exports a range of a log: as a picture, a table, JSON lines, a timeline, a report, a trace, a recording or charts.
//!
//! ```text
//!   chapters of a log ─► Excerpt (stretch, lanes) ─► Taken ─┬─► jsonl, csv, markdown, trace, recording ─► html
//!                                                           ├─► Store ─► picture ─► SVG
//!                                                           └─► measured (series) ─► charts ─► SVG
//! ```
//!
//! All forms are made from one [`Taken`], so they agree. Nothing in this crate reads a file or knows the current time.
//! The same records give the same bytes, on a host and in a browser.
//!
//! Text from a cluster is hostile: each form escapes it by its own rules.

#![forbid(unsafe_code)]

mod account;
mod by_hand;
mod charts;
mod context;
mod csv;
mod digest;
mod form;
mod html;
mod jsonl;
mod lanes;
mod letters;
mod markdown;
mod measured;
mod picture;
mod recording;
mod report;
mod seven_bits;
mod source;
mod taken;
mod trace;

pub use self::charts::{ChartsError, DrawnChart, charts};
pub use self::context::context;
pub use self::csv::csv;
pub use self::digest::{DigestError, digest_of_charts};
pub use self::form::Form;
pub use self::html::{HtmlError, html, view};
pub use self::jsonl::jsonl;
pub use self::lanes::{LanesError, WantedLanes};
pub use self::markdown::markdown;
pub use self::picture::{REPORT_SIZE, Shown, Size, svg};
pub use self::recording::{RecordingFile, recording};
pub use self::report::{ReportParts, report};
pub use self::source::{SourceHash, is_hashed};
pub use self::taken::{Counts, Says, Taken};
pub use self::trace::trace;
