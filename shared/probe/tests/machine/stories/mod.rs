//! Stories of one watch: what the wire did, and what the probe made of it.

mod aggregated;
mod dialling;
mod frames;
mod listing;
mod refusals;
mod resuming;
mod silence;
mod stopping;
mod watch_list;
