//! The search of a log, held against plain reading of every record.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../cases.rs"]
mod cases;
mod plain;
mod searching;
mod world;
