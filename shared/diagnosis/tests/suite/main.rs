//! The tests of this crate, as one binary so that it links once. Each subject has a module.
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
