//! Recognizes the messages of servers. No other file of this crate matches text.
//!
//! The message of a Status is not part of the API. Each function here says which versions use the words that it
//! searches for, and names the source (F numbers are rows of docs/findings). If a server uses other words, the
//! function returns false, and the findings that need it are less certain.

/// Returns whether the cache of a server no longer has the history: "too old resource version: X (Y)".
///
/// Every version with a watch cache sends this, as an ERROR 410 in the stream (docs/semantics/requests.md#expired).
pub(crate) fn is_expired(message: &str) -> bool {
    message.contains("too old resource version")
}

/// Returns the oldest resourceVersion from which a server can resume a watch: the number in brackets that ends "too old
/// resource version: X (Y)" (docs/semantics/requests.md#expired). `None` if the message does not end with such a
/// number.
pub(crate) fn oldest_left(message: &str) -> Option<u64> {
    let (mut oldest, mut unit) = (0_u64, 1_u64);
    for digit in message.strip_suffix(')')?.bytes().rev() {
        match digit {
            b'0'..=b'9' => {
                oldest = oldest.saturating_add(unit.saturating_mul(u64::from(digit - b'0')));
                unit = unit.saturating_mul(10);
            }
            b'(' => return Some(oldest),
            _ => return None,
        }
    }
    None
}

/// Returns whether etcd has compacted the requested resourceVersion: "The resourceVersion for the provided watch is too
/// old."
///
/// Every version with etcd 3 sends this, as an ERROR 410 of a watch that bypasses the watch cache
/// (docs/semantics/requests.md#compacted).
pub(crate) fn is_compacted(message: &str) -> bool {
    message.contains("for the provided watch is too old")
}

/// Returns whether the server has not reached the requested resourceVersion: "Too large resource version: X, current:
/// Y".
///
/// Every server that refuses such a resourceVersion sends this, as a 504 of a list or an ERROR 504 in the stream
/// (docs/semantics/requests.md#too-large, F32).
pub(crate) fn is_too_large(message: &str) -> bool {
    message.contains("Too large resource version")
}

/// Returns whether the watch cache of a resource is not ready: "storage is (re)initializing".
///
/// Servers send this since 1.31, with 429 (docs/semantics/requests.md#not-ready); earlier servers let the request wait.
pub(crate) fn is_initializing(message: &str) -> bool {
    message.contains("initializing")
}

/// Returns whether a message says that the server shuts down, as "apiserver is shutting down" does.
///
/// A server sends this with 503 to new watches while it drains, since 1.18 (with 500 before). Since 1.23 it also sends
/// it with 429 if clients are to retry at other servers (docs/semantics/requests.md#shutting-down, F07).
pub(crate) fn is_shutting_down(message: &str) -> bool {
    message.contains("shutting down")
}

/// Returns whether etcd has no leader: "etcdserver: no leader".
///
/// Every version sends this, as an ERROR 500 of a watch that bypasses the watch cache
/// (docs/semantics/requests.md#no-leader).
pub(crate) fn is_leaderless(message: &str) -> bool {
    message.contains("no leader")
}

/// Returns whether etcd sent a change without the previous value: "etcd event received with PrevKv=nil"; some storages
/// write "prevKV=nil".
///
/// Servers send this since 1.12.9, 1.13.6 and 1.14.2, as an ERROR 500 (docs/semantics/requests.md#prev-kv, F24, F26);
/// earlier servers lose the event.
pub(crate) fn is_prev_kv_lost(message: &str) -> bool {
    message.contains("PrevKv=nil") || message.contains("prevKV=nil")
}

/// Returns whether a corrupt object was deleted, by the reason of a Status: `StorageReadError`.
///
/// Servers send this reason since 1.32, with 500 (docs/semantics/requests.md#storage-read-error).
pub(crate) fn is_storage_read_error(reason: &str) -> bool {
    reason == "StorageReadError"
}

/// Returns whether an object cannot be read or converted.
///
/// Every version sends such messages, with 500 or as an ERROR 500. The words of such messages differ: conversion
/// webhooks, decoding and transformation (at-rest encryption) have their own, and some errors begin with a capital
/// (docs/semantics/requests.md#unreadable, F38).
pub(crate) fn is_about_objects(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["conversion", "decod", "convert", "transform"]
        .iter()
        .any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of this file, with its name.
    type Question = (&'static str, fn(&str) -> bool);

    /// All questions of this file, with their names in a failed test.
    const QUESTIONS: [Question; 9] = [
        ("expired", is_expired),
        ("compacted", is_compacted),
        ("too large", is_too_large),
        ("initializing", is_initializing),
        ("shutting down", is_shutting_down),
        ("leaderless", is_leaderless),
        ("PrevKv lost", is_prev_kv_lost),
        ("storage read error", is_storage_read_error),
        ("about objects", is_about_objects),
    ];

    /// Returns the functions that recognize a message.
    fn asked(message: &str) -> String {
        let yes = QUESTIONS.iter().filter(|(_, question)| question(message));
        yes.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn each_message_of_a_server_is_recognized_by_one_function() {
        for (message, answers) in [
            ("too old resource version: 10 (90)", "expired"),
            (
                "The resourceVersion for the provided watch is too old.",
                "compacted",
            ),
            ("Too large resource version: 40, current: 37", "too large"),
            ("storage is (re)initializing", "initializing"),
            ("apiserver is shutting down", "shutting down"),
            ("etcdserver: no leader", "leaderless"),
            (
                "etcd event received with PrevKv=nil (key=\"/registry/pods/a\", modRevision=7, type=DELETE)",
                "PrevKv lost",
            ),
            ("StorageReadError", "storage read error"),
            (
                "conversion webhook for example.com/v1 failed",
                "about objects",
            ),
            ("Internal error: unable to transform key", "about objects"),
            (
                "no kind \"Widget\" is registered; failed to Decode",
                "about objects",
            ),
            ("Too many requests, please try again later.", ""),
            ("pods is forbidden", ""),
            ("", ""),
        ] {
            assert_eq!(asked(message), answers, "{message}");
        }
    }

    #[test]
    fn the_oldest_version_left_is_the_number_in_brackets_at_the_end() {
        assert_eq!(oldest_left("too old resource version: 10 (90)"), Some(90));
        assert_eq!(oldest_left("too old resource version: 10 (90) again"), None);
        assert_eq!(oldest_left("gone"), None);
        assert_eq!(oldest_left("(99999999999999999999999)"), Some(u64::MAX));
    }
}
