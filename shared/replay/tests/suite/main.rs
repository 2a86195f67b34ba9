//! The tests of this crate, as one binary so that it links once. Each subject has a module.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(unreachable_pub, reason = "modules of one test")]

#[path = "../../../cases.rs"]
mod cases;
#[path = "../../../timeline/tests/suite/common/mod.rs"]
mod common;
mod files;
mod hostile;
mod joining;
mod opening;
#[path = "../../../recording/tests/suite/world/raw.rs"]
mod raw;
mod searching;
mod serving;
mod viewer;
