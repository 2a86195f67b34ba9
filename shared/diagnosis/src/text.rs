//! Numbers, times and names as sentences show them.

use watchscope_model::{Object, Text, Time};

/// Returns milliseconds as seconds with one decimal, cut and not rounded: `1.9 s` for 1,999 ms.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

/// Returns a number with its noun, which gets an `s` unless the number is 1: `1 event`, `3 events`.
pub(crate) fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Returns a time of day in UTC, cut to seconds: `10:05:02 UTC`.
pub(crate) fn clock(at: Time) -> String {
    let civil = at.civil();
    let (hour, minute, second) = (civil.hour, civil.minute, civil.second);
    format!("{hour:02}:{minute:02}:{second:02} UTC")
}

/// Returns `namespace/name` of an object, or the name alone without a namespace.
pub(crate) fn name(object: &Object) -> String {
    place(object.namespace.as_ref(), &object.name)
}

/// Returns `namespace/name`, or the name alone without a namespace.
pub(crate) fn place(namespace: Option<&Text>, name: &Text) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_string(),
    }
}
