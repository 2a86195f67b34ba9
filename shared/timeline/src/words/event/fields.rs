//! The particulars of an event.

/// Names and what each has.
pub(crate) type Fields = Vec<(&'static str, String)>;
