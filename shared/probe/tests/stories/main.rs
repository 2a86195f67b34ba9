//! Stories of one watch: what the wire did, and what the probe made of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod dialling;
mod frames;
mod listing;
mod refusals;
mod resuming;
mod silence;
mod stage;
mod stopping;
mod watch_list;
