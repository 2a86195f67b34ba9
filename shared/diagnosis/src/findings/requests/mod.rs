//! Findings about requests: refusals, watches without an answer, lists that go back or make no progress.
//!
//! [`state`] holds the memory of each watch; each of the other files judges one kind of failures.

mod lists;
mod refusals;
mod state;
mod unreadable;
mod waiting;

pub(super) use self::state::Requests;
