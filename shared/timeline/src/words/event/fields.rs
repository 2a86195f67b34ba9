//! The fields of an event.

/// Names and values of fields, in the order in which they are shown.
pub(crate) type Fields = Vec<(&'static str, String)>;
