//! The part of a dictionary that a writer uses.

use std::sync::Arc;

use super::pattern::PatternParts;
use crate::id::{Object, Text};

/// A source of a writer's numbers of texts, objects and patterns.
pub(crate) trait Ids {
    /// The number of a text; if `None`, the writer writes the text in place.
    fn text(&mut self, text: &Text) -> Option<u64>;

    /// The number of an object; if `None`, the writer writes the object in place.
    fn object(&mut self, object: &Arc<Object>) -> Option<u64>;

    /// The number of a pattern; if `None`, the writer writes the pattern in place.
    fn pattern(&mut self, parts: PatternParts<'_>) -> Option<u64>;
}
