//! Findings about streams' ends: what attribution says once no better judgement can come
//! (docs/semantics/streams.md#revised).

mod ended;
mod pending;
mod rows;
mod words;

pub(super) use self::ended::Ended;
pub(super) use self::pending::{Course, Where};
