//! What this crate promises, in one binary so that it links once. A module per subject.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod again;
mod attribution;
mod audit;
mod catalogue;
mod demo;
mod findings;
mod healthy;
mod hiding;
mod lessons;
mod presence;
mod stories;
