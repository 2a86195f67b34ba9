//! Findings from the audit's reads: wrong objects (F24 to F27, F45), and events that only a second watch delivered
//! (docs/semantics/checks.md#witness). Other findings are a revision that went back or another history (F33), and a
//! watch opened at a version that its server has not reached (F32).
//!
//! The cause of a wrong object cannot be seen from outside, because the event is missing. The race at a stream's start
//! (F45) is named first only if the event must have come first on its stream.

mod behind;
mod history;
mod objects;
mod records;
mod restored;
mod state;

pub(super) use self::state::Audits;
