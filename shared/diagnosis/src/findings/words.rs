//! Numbers and names as findings' sentences say them.

use watchscope_model::{Object, State};

/// Milliseconds as seconds with one decimal.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// `1 event`, `3 events`.
pub(super) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `namespace/name`.
pub(super) fn name(object: &Object) -> String {
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    }
}

/// Minor and patch of the servers' version, 1.x; `None` if it is not known or is none.
pub(crate) fn server_version(state: &State) -> Option<(u64, u64)> {
    let version = &state.cluster.as_ref()?.version;
    let mut numbers = version
        .trim_start_matches('v')
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    match (next(), next(), next()) {
        (Some(1), Some(minor), patch) => Some((minor, patch.unwrap_or(0))),
        _ => None,
    }
}
