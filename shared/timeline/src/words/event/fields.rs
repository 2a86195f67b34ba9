//! Named particulars.

/// Each with its name.
pub(crate) type Fields = Vec<(&'static str, String)>;
