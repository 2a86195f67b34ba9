//! The part of a dictionary that a writer uses.

use std::sync::Arc;

use super::pattern::PatternParts;
use crate::id::{Object, Text};

/// Gives a writer the numbers of texts, objects and patterns.
pub(crate) trait Ids {
    /// The number of a text; `None`: the writer writes it in place.
    fn text(&mut self, text: &Text) -> Option<u64>;

    /// The number of an object; `None`: the writer writes it in place.
    fn object(&mut self, object: &Arc<Object>) -> Option<u64>;

    /// The number of a pattern; `None`: the writer writes it in place.
    fn pattern(&mut self, parts: PatternParts<'_>) -> Option<u64>;
}
