//! Stories of one watch: the events on the wire, and the probe's reaction.

mod aggregated;
mod dialling;
mod frames;
mod listing;
mod refusals;
mod resuming;
mod silence;
mod stopping;
mod watch_list;
