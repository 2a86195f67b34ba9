//! The names of the failure catalogue's rows (semantics 3): what an F number stands for, wherever one is shown.

/// The rows, F01 first.
const NAMES: [&str; 50] = [
    "hot loop on a closed channel",
    "continue on a closed channel",
    "return on a closed channel",
    "half-open connection",
    "normal timeout",
    "apiserver restart or change of master",
    "graceful shutdown of the apiserver",
    "connection reset",
    "GOAWAY",
    "closed at once instead of expired",
    "fell off the watch cache",
    "compacted in etcd",
    "410 as an HTTP status",
    "410 from server to server without end",
    "too many requests",
    "all watches of a type ended by the server's cache",
    "an edit of the CRD ended its watches",
    "the resource is served no longer",
    "watched again without a resourceVersion",
    "watches without a resourceVersion overload etcd",
    "resumed from an unordered ADDED",
    "stale list",
    "resourceVersion goes back with a DELETED",
    "ghosts after a failed look-up of the previous value",
    "gap from starvation in etcd",
    "DELETED without an object",
    "DELETED lost at a compaction",
    "deleted while disconnected",
    "duplicate or replayed events",
    "events out of order",
    "servers apart",
    "watch from the future",
    "etcd restored from a backup",
    "bookmarks missing",
    "wrong bookmark",
    "a slow reader cut off",
    "watch-list never completes",
    "decode or conversion error",
    "object of another type",
    "credentials expired at a reconnect",
    "permission withdrawn under way",
    "scopes compared that differ",
    "in or out of a selector",
    "buffering proxy",
    "race at the start of a watch",
    "resync taken for a change",
    "a last frame cut in two",
    "a retrying helper ends at 410",
    "deltas of an object merged",
    "cap on streams of a proxied watch",
];

/// The name of a row, `F01` to `F50`; `None` for anything else.
#[must_use]
pub fn name(code: &str) -> Option<&'static str> {
    let number: usize = code.strip_prefix('F')?.parse().ok()?;
    NAMES.get(number.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_name_and_nothing_else_has_one() {
        assert_eq!(name("F01"), Some("hot loop on a closed channel"));
        assert_eq!(name("F08"), Some("connection reset"));
        assert_eq!(name("F33"), Some("etcd restored from a backup"));
        assert_eq!(name("F50"), Some("cap on streams of a proxied watch"));
        for other in ["F00", "F51", "F", "normal", "ours", "F-1"] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
