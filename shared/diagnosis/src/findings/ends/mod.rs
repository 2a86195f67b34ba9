//! Findings about streams' ends, by their attribution once no better one can come (docs/semantics/streams.md#revised).

mod ended;
mod pending;
mod rows;
mod words;

pub(super) use self::ended::Ended;
pub(super) use self::pending::{Course, Where};
