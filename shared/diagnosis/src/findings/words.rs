//! Numbers and names as findings' sentences say them.

use watchscope_model::vocabulary::Phase;
use watchscope_model::{Object, State, Text, Time, WatchName};

/// Milliseconds as seconds with one decimal.
pub(super) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// `1 event`, `3 events`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `10:05:02 UTC`.
pub(super) fn clock(at: Time) -> String {
    let civil = at.civil();
    let (hour, minute, second) = (civil.hour, civil.minute, civil.second);
    format!("{hour:02}:{minute:02}:{second:02} UTC")
}

/// `namespace/name`.
pub(super) fn name(object: &Object) -> String {
    place(object.namespace.as_ref(), &object.name)
}

/// `namespace/name`, of its parts.
pub(super) fn place(namespace: Option<&Text>, name: &Text) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_string(),
    }
}

/// Whether a watch reads the state, by a list or by initial events.
pub(crate) fn is_listing(state: &State, watch: &WatchName) -> bool {
    let phase = state
        .watches
        .get(watch)
        .and_then(|watch| watch.phase.as_ref());
    phase.is_some_and(|phase| phase.phase == Phase::Listing)
}

/// Minor and patch of the servers' version, 1.x; `None` if it is not known or is none.
pub(super) fn server_version(state: &State) -> Option<(u64, u64)> {
    minor_and_patch(&state.cluster.as_ref()?.version)
}

/// Minor and patch of a server's `gitVersion`, 1.x; `None` if it is none.
pub(crate) fn minor_and_patch(version: &str) -> Option<(u64, u64)> {
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
