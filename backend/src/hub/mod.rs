//! The hub: it drives a reader machine over the log's ring for each viewer.
//!
//! ```text
//!   ring ──changed──► viewer ──Outgoing──► web            viewer ──Command──► bounded queue ──► owner of the probes
//! ```
//!
//! A viewer is a cursor and a place to wait; the log does not know it. `web` uses only [`api`].

pub mod api;

mod commands;
mod ending;
mod kept_lines;
mod lines;
mod log_hub;
mod news;
mod note_rates;
mod past;
mod position;
mod search;
mod totals;
mod viewer;

pub use self::commands::CommandRequest;
pub use self::log_hub::LogHub;
pub(crate) use self::totals::ViewerTotals;
pub use self::viewer::HubViewer;

#[cfg(test)]
pub(crate) use self::search::{SearchLimits, tests as search_tests};
#[cfg(test)]
mod tests;
