//! The tests of this crate, as one binary so that it links once. Each subject has a module.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../cases.rs"]
mod cases;
mod excerpts;
mod format;
mod making;
mod mutations;
mod reading;
mod summaries;
mod world;
mod writing;
