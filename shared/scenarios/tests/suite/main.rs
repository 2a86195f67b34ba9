//! The tests of this crate, as one binary so that it links once. Each subject has a module.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod again;
mod attribution;
mod audit;
mod catalogue;
mod course;
mod demo;
mod findings;
mod healthy;
mod hiding;
mod lessons;
mod moved;
mod presence;
mod stories;
mod why;
