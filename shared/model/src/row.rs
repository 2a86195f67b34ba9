//! The rows of the failure catalogue (docs/findings): code, name and usual severity of each.
//!
//! In a record a row is written as its code, a text, because a log of a later version may name unknown rows. In code a
//! row is a [`Row`], so that an array can have an element for each row.

use std::fmt;

use crate::vocabulary::Severity;

macro_rules! rows {
    ($($row:ident $severity:ident $name:literal,)*) => {
        /// A row of the failure catalogue (docs/findings/README.md). A row's index is the number in its code less 1, so
        /// arrays by row are indexed with `row as usize`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Row {
            $(
                #[doc = $name]
                $row,
            )*
        }

        impl Row {
            /// All rows, sorted by their codes.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$row,)*];
            /// The number of rows, and of the elements in an array by row.
            pub const COUNT: usize = [$(stringify!($row),)*].len();

            /// The row's code: `F01` to `F50`, always with two digits.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$row => stringify!($row),)*
                }
            }

            /// The row's name: the failure in at most ten words, as findings state it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$row => $name,)*
                }
            }

            /// The severity of a finding of this row until its outcome is known; after that the outcome decides. It is
            /// never a divergence. An error lasts until somebody acts. A warning needed a list, or over 60 s without a
            /// stream, to end, or may end by itself. A note was resumed or is ordinary.
            #[must_use]
            pub const fn usual_severity(self) -> Severity {
                match self {
                    $(Self::$row => Severity::$severity,)*
                }
            }
        }
    };
}

rows! {
    F01 Error "hot loop on a closed channel",
    F02 Error "continue on a closed channel",
    F03 Error "return on a closed channel",
    F04 Warning "half-open connection",
    F05 Note "normal timeout",
    F06 Note "apiserver restart or change of master",
    F07 Note "graceful shutdown of the apiserver",
    F08 Note "connection reset",
    F09 Note "GOAWAY",
    F10 Warning "closed at once instead of expired",
    F11 Warning "fell off the watch cache",
    F12 Warning "compacted in etcd",
    F13 Warning "410 as an HTTP status",
    F14 Warning "410 from server to server without end",
    F15 Warning "too many requests",
    F16 Warning "all watches of a type ended by the server's cache",
    F17 Note "an edit of the CRD ended its watches",
    F18 Warning "the resource is served no longer",
    F19 Warning "watched again without a resourceVersion",
    F20 Warning "watches without a resourceVersion overload etcd",
    F21 Warning "resumed from an unordered ADDED",
    F22 Warning "stale list",
    F23 Error "resourceVersion goes back with a DELETED",
    F24 Error "ghosts after a failed look-up of the previous value",
    F25 Error "gap from starvation in etcd",
    F26 Error "DELETED without an object",
    F27 Error "DELETED lost at a compaction",
    F28 Note "deleted while disconnected",
    F29 Warning "duplicate or replayed events",
    F30 Error "events out of order",
    F31 Warning "servers apart",
    F32 Error "watch from the future",
    F33 Error "etcd restored from a backup",
    F34 Note "bookmarks missing",
    F35 Error "wrong bookmark",
    F36 Warning "a slow reader cut off",
    F37 Warning "watch-list never completes",
    F38 Error "decode or conversion error",
    F39 Warning "object of another type",
    F40 Error "credentials expired at a reconnect",
    F41 Error "permission withdrawn under way",
    F42 Error "scopes compared that differ",
    F43 Note "in or out of a selector",
    F44 Warning "buffering proxy",
    F45 Error "race at the start of a watch",
    F46 Note "resync taken for a change",
    F47 Note "a last frame cut in two",
    F48 Error "a retrying helper ends at 410",
    F49 Note "deltas of an object merged",
    F50 Warning "cap on streams of a proxied watch",
}

impl Row {
    /// The row of a code, `F` and two digits; `None` for another text, or a row of a later version.
    #[must_use]
    pub fn of(code: &str) -> Option<Self> {
        let digits = code.strip_prefix('F')?;
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: usize = digits.parse().ok().filter(|_| is_number)?;
        Self::ALL.get(number.checked_sub(1)?).copied()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Why a stream ended, by an attribution's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attributed {
    /// A failure of the catalogue ended the stream.
    Row(Row),
    /// The stream's timeout was over, as it should be (docs/semantics/streams.md#rule-timeout).
    Normal,
    /// watchscope ended the stream, or a pause of watchscope did (docs/semantics/streams.md#rule-own-pause).
    Ours,
    /// The reason for the stream's end is unknown.
    Unknown,
}

impl Attributed {
    /// The code in the attribution's record: that of the row, `ours`, `normal` or `unknown`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Row(row) => row.code(),
            Self::Ours => "ours",
            Self::Normal => "normal",
            Self::Unknown => "unknown",
        }
    }

    /// The value for the code in a record; `None` for any other text, such as a code of a later version.
    #[must_use]
    pub fn of(code: &str) -> Option<Self> {
        match code {
            "ours" => Some(Self::Ours),
            "normal" => Some(Self::Normal),
            "unknown" => Some(Self::Unknown),
            code => Row::of(code).map(Self::Row),
        }
    }

    /// The failure of the catalogue; `None` for `Normal`, `Ours` and `Unknown`.
    #[must_use]
    pub const fn row(self) -> Option<Row> {
        match self {
            Self::Row(row) => Some(row),
            _ => None,
        }
    }
}

impl From<Row> for Attributed {
    fn from(row: Row) -> Self {
        Self::Row(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_code_and_no_other_text_has_a_row() {
        for (place, row) in Row::ALL.into_iter().enumerate() {
            assert_eq!(row as usize, place);
            assert_eq!(row.code(), format!("F{:02}", place + 1));
            assert_eq!(Row::of(row.code()), Some(row));
            assert!(!row.name().is_empty());
        }
        assert_eq!(Row::F33.name(), "etcd restored from a backup");
        for other in [
            "F00", "F51", "F", "F1", "F001", "F+1", "normal", "ours", "F-1", "",
        ] {
            assert_eq!(Row::of(other), None, "{other}");
        }
    }

    #[test]
    fn an_attribution_is_read_from_its_code() {
        let all = Row::ALL.map(Attributed::Row).into_iter();
        let others = [Attributed::Ours, Attributed::Normal, Attributed::Unknown];
        for attributed in all.chain(others) {
            assert_eq!(Attributed::of(attributed.code()), Some(attributed));
        }
        assert_eq!(Attributed::of("F99"), None);
    }
}
