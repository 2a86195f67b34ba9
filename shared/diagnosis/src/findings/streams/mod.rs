//! The checks of a stream that need no request of the audit (docs/semantics/checks.md#stream-checks).
//!
//! resourceVersions that are not numbers, or that an aggregated apiserver counts, have no order, so these checks skip
//! them.

mod bookmarks;
mod events;
mod lives;
mod lost;
mod order;
mod state;

pub(super) use self::lost::SILENT_LOSS;
pub(super) use self::state::{Start, Streams};
