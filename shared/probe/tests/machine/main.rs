//! The machine from outside: stories told by scripts, and what must hold whatever happens.

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
