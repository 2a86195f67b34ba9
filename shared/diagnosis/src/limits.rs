//! Times after which the audit reports something and findings judge it.

/// The audit lists again this much after the server refused a list because its cache had not come so far, in
/// microseconds. Two refusals that far apart show a watch from the future (F32).
pub(crate) const TOO_LARGE_US: i64 = 20_000_000;
/// Reads show newer versions of objects for this long before a stream that delivers nothing lags (F31), in microseconds.
pub(crate) const AHEAD_US: i64 = 10_000_000;
