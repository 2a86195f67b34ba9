//! Findings about requests: refusals, watches without an answer, lists that go back or come no further.
//!
//! [`state`] holds what is remembered of each watch; the other files judge one family each.

mod lists;
mod refusals;
mod state;
mod unreadable;
mod waiting;

pub(super) use self::state::Requests;
