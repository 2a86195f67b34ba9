//! What a server says in its own words, as questions: the one place of this crate that matches text.
//!
//! The message of a Status is no part of the API. Each question here says which versions use the words that it looks for,
//! and where that is known from (F numbers are rows of docs/findings). Where a server
//! uses other words, the answer is no, and the findings that rest on it are less certain.

/// The cache of a server keeps no history from there on: "too old resource version: X (Y)".
///
/// Every version with a watch cache, as an ERROR 410 in the stream (docs/semantics/requests.md#expired).
pub(crate) fn is_expired(message: &str) -> bool {
    message.contains("too old resource version")
}

/// The oldest version that a server says it could go on from: the number in brackets that ends "too old resource version:
/// X (Y)" (docs/semantics/requests.md#expired).
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

/// etcd has compacted the version away: "The resourceVersion for the provided watch is too old."
///
/// Every version over etcd 3, as an ERROR 410 of a watch that goes to etcd itself
/// (docs/semantics/requests.md#compacted).
pub(crate) fn is_compacted(message: &str) -> bool {
    message.contains("for the provided watch is too old")
}

/// The server has not come to the version that it was asked for: "Too large resource version: X, current: Y".
///
/// Every version that refuses such a version, as a 504 of a list or an ERROR 504 in the stream
/// (docs/semantics/requests.md#too-large, F32).
pub(crate) fn is_too_large(message: &str) -> bool {
    message.contains("Too large resource version")
}

/// The cache of a type is not ready: "storage is (re)initializing".
///
/// Since 1.31, with 429 (docs/semantics/requests.md#not-ready); servers before let the request wait.
pub(crate) fn is_initializing(message: &str) -> bool {
    message.contains("initializing")
}

/// The server shuts down: "apiserver is shutting down".
///
/// With 503 to new watches while it drains, since 1.18 (500 before), and with 429 where it sends retries to other servers,
/// since 1.23 (docs/semantics/requests.md#shutting-down, F07).
pub(crate) fn is_shutting_down(message: &str) -> bool {
    message.contains("shutting down")
}

/// etcd has no leader: "etcdserver: no leader".
///
/// Every version, as an ERROR 500 of a watch that goes to etcd itself (docs/semantics/requests.md#no-leader).
pub(crate) fn is_leaderless(message: &str) -> bool {
    message.contains("no leader")
}

/// etcd gave a change without the value before: "etcd event received with PrevKv=nil"; some storages write "prevKV=nil".
///
/// Since 1.12.9, 1.13.6 and 1.14.2, as an ERROR 500 (docs/semantics/requests.md#prev-kv, F24, F26); the servers before
/// lose the event.
pub(crate) fn is_prev_kv_lost(message: &str) -> bool {
    message.contains("PrevKv=nil") || message.contains("prevKV=nil")
}

/// A corrupt object was deleted: the reason `StorageReadError` of a Status.
///
/// Since 1.32, with 500 (docs/semantics/requests.md#storage-read-error).
pub(crate) fn is_storage_read_error(reason: &str) -> bool {
    reason == "StorageReadError"
}

/// An object cannot be read or converted.
///
/// Every version, with 500 or as an ERROR 500. The words differ: conversion webhooks, decoding and transformation (at-rest
/// encryption) have their own, and some errors begin with a capital (docs/semantics/requests.md#unreadable, F38).
pub(crate) fn is_about_objects(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["conversion", "decod", "convert", "transform"]
        .iter()
        .any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question, by its name.
    type Question = (&'static str, fn(&str) -> bool);

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

    /// The questions to which a message is the answer.
    fn asked(message: &str) -> String {
        let yes = QUESTIONS.iter().filter(|(_, question)| question(message));
        yes.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn each_message_of_a_server_answers_one_question() {
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
