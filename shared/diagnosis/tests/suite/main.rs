//! What this crate promises, in one binary so that it links once. A module per subject.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod aggregated;
mod attribution;
mod audit;
mod audits;
mod causes;
mod clients;
mod findings;
mod forms;
mod page;
mod pauses;
mod rebuilt;
mod servers;
mod stage;
