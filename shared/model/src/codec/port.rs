//! What a writer asks of a dictionary.

use std::sync::Arc;

use super::pattern::PatternParts;
use crate::id::{Object, Text};

/// Where a writer gets numbers from.
pub(crate) trait Ids {
    /// The number of a text; without one it is written in place.
    fn text(&mut self, text: &Text) -> Option<u64>;

    /// The number of an object; without one it is written in place.
    fn object(&mut self, object: &Arc<Object>) -> Option<u64>;

    /// The number of a pattern; without one it is written in place.
    fn pattern(&mut self, parts: PatternParts<'_>) -> Option<u64>;
}
