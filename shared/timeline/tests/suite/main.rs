//! The promises of this crate, in one binary so that it links once. Each subject has a module.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod arranging;
mod as_of;
mod between;
#[path = "../../../cases.rs"]
mod cases;
mod common;
mod cost;
mod evidence;
mod frames;
mod layers;
mod notes;
mod overview;
mod past;
mod quiet;
mod rules;
mod scenes;
mod signs;
mod snapshot;
mod standing;
mod story;
mod table;
mod troubles;
mod versions;
