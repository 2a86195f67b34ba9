//! Tests of the machine from outside: scripted stories, and properties that always hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../cases.rs"]
mod cases;
mod cuts;
mod mutations;
mod oracles;
mod redaction;
mod stage;
mod stories;
mod world;
