//! Findings from the audit's reads: wrong objects (F24 to F27, F45), and events that only a second watch delivered
//! (docs/semantics/checks.md#witness). Others are a revision that went back or another history (F33), and a watch from
//! the future (F32).
//!
//! The cause cannot be seen from outside, because the event is missing. Only if the event must have come first on its
//! stream, the race at a stream's start (F45) is named before the others.

mod behind;
mod history;
mod objects;
mod records;
mod restored;
mod state;

pub(super) use self::state::Audits;
