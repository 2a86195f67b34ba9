//! The fields of an event.

/// Names and values.
pub(crate) type Fields = Vec<(&'static str, String)>;
