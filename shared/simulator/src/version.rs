//! The apiserver's version, and the behaviour that depends on the version (docs/semantics/versions.md#gates).
//!
//! A simulated version differs from 1.36 only where a case study or a row of the failure catalogue needs the
//! difference. All other behaviour is as in 1.36.

use std::fmt;
use std::str::FromStr;

/// A version of Kubernetes that the simulator has: 1.9 to 1.37, with any patch from 0 to 255. Other versions are
/// refused with [`UnknownServerVersion`]. Versions are ordered by minor version, then patch. A version is written as
/// `v1.27.3`; it is parsed with or without `v` and patch. The default is [`Version::DEFAULT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    minor: u8,
    patch: u8,
}

/// The error for a text or numbers that are not a version of a simulated apiserver. The error's text names the range of
/// versions. It also names the nearest minor version, for numbers and for a text such as `1.38`, `2.0` or `27`. For a
/// text without a minor version (`1`, `new`), or with other letters than `v` before it (`V1.27`), it names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownServerVersion {
    nearest_minor: Option<u8>,
}

impl fmt::Display for UnknownServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (oldest, newest) = (Version::OLDEST.minor, Version::NEWEST_MINOR);
        write!(
            f,
            "a version is 1.{oldest} to 1.{newest}, with or without a patch, as 1.27.3"
        )?;
        match self.nearest_minor {
            Some(minor) => write!(f, "; nearest: 1.{minor}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownServerVersion {}

/// The source of a watch without a resourceVersion (docs/semantics/lists-and-watches.md#watch-without-version).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnsetWatch {
    /// The watch cache in its present state, however old.
    CacheAsItIs,
    /// etcd: a list and a watch for this client alone (k/k#115096).
    Etcd,
    /// The watch cache once it has reached etcd's newest revision, as for a watch-list.
    WatchList,
}

impl Version {
    /// The oldest simulated version (docs/semantics/cases.md#regression-1-9-2). An older minor version is refused
    /// with [`UnknownServerVersion`].
    pub const OLDEST: Version = Version { minor: 9, patch: 0 };
    /// The version of a world whose configuration names no other: the release whose answers we measured
    /// (docs/semantics/lists-and-watches.md#list).
    pub const DEFAULT: Version = Version {
        minor: 36,
        patch: 3,
    };
    /// The newest simulated minor version of Kubernetes 1. A newer minor version is refused with
    /// [`UnknownServerVersion`]. This version is the newest in docs/semantics/versions.md#gates.
    pub const NEWEST_MINOR: u8 = 37;

    /// Returns `1.minor.patch`; any patch is taken, released or not.
    ///
    /// # Errors
    /// [`UnknownServerVersion`] for a minor version below 9 or above 37.
    pub fn new(minor: u8, patch: u8) -> Result<Version, UnknownServerVersion> {
        let clamped = minor.clamp(Version::OLDEST.minor, Version::NEWEST_MINOR);
        if minor == clamped {
            Ok(Version { minor, patch })
        } else {
            Err(UnknownServerVersion {
                nearest_minor: Some(clamped),
            })
        }
    }

    /// Returns the minor version: 27 for 1.27.3.
    pub fn minor(self) -> u8 {
        self.minor
    }

    fn is_at_least(self, minor: u8) -> bool {
        self.minor >= minor
    }

    /// Returns whether this version is of one of three minor versions, at that minor version's patch or later.
    fn is_patched(self, minors: [(u8, u8); 3]) -> bool {
        minors
            .iter()
            .any(|(minor, patch)| self.minor == *minor && self.patch >= *patch)
    }

    /// Returns whether a DELETED event carries the object's old resourceVersion (F23; k/k#58545, fixed in 1.9.3).
    pub(crate) fn delete_keeps_old_revision(self) -> bool {
        self.minor == 9 && self.patch < 3
    }

    /// Returns whether a change without prevKV is an error of the watch (k/k#76675: 1.15.0, and 1.14.2, 1.13.6,
    /// 1.12.9). Versions without this error skip a deletion without prevKV as unusable (F26).
    pub(crate) fn refuses_missing_previous(self) -> bool {
        self.is_at_least(15) || self.is_patched([(12, 9), (13, 6), (14, 2)])
    }

    /// Returns whether the watch cache tries to resume for 30 s after an InternalError instead of listing again
    /// (k/k#111387, 1.25; F24).
    pub(crate) fn retries_internal_errors(self) -> bool {
        self.is_at_least(25)
    }

    /// Returns whether watches of etcd require a leader and are cancelled without one (k/k#89881, 1.19).
    pub(crate) fn requires_leader(self) -> bool {
        self.is_at_least(19)
    }

    /// Returns whether watches that request bookmarks get bookmarks (WatchBookmark, beta in 1.16).
    pub(crate) fn has_bookmarks(self) -> bool {
        self.is_at_least(16)
    }

    /// Returns whether bookmarks come every minute (since 1.19). Before 1.19 a server sends only one bookmark, just
    /// before the watch's timeout.
    pub(crate) fn has_periodic_bookmarks(self) -> bool {
        self.is_at_least(19)
    }

    /// Returns whether etcd's progress notifications move the watch cache's resourceVersion (EfficientWatchResumption,
    /// beta in 1.21). Before 1.21, the cache of a quiet resource stays at the resourceVersion of its last event or list
    /// (F14).
    pub(crate) fn has_progress(self) -> bool {
        self.is_at_least(21)
    }

    /// Returns whether `sendInitialEvents` works (WatchList on by default): in 1.32, and since 1.34.
    pub(crate) fn has_watch_list(self) -> bool {
        self.minor == 32 || self.is_at_least(34)
    }

    /// Returns whether the server knows the parameter `sendInitialEvents` (since 1.27). With the feature gate WatchList
    /// off, such a server refuses the parameter.
    pub(crate) fn knows_watch_list(self) -> bool {
        self.is_at_least(27)
    }

    /// Returns whether `resourceVersionMatch` works (since 1.19). Servers before 1.19 ignore the parameter.
    pub(crate) fn has_version_match(self) -> bool {
        self.is_at_least(19)
    }

    /// Returns whether a list of one name at an exact resourceVersion claims to be at the newest one. If the exact
    /// resourceVersion is compacted, such a list is refused with 500. `GetToList` put the revision of etcd's response
    /// header into the list (etcd3/store.go, 1.19 to 1.23).
    pub(crate) fn lists_one_name_as_newest(self) -> bool {
        self.has_version_match() && !self.is_at_least(24)
    }

    /// Returns whether lists without a resourceVersion come from the watch cache (ConsistentListFromCache, on by
    /// default since 1.31).
    pub(crate) fn lists_consistently_from_cache(self) -> bool {
        self.is_at_least(31)
    }

    /// Returns whether lists at an exact resourceVersion come from the watch cache's snapshots (ListFromCacheSnapshot,
    /// on by default since 1.34).
    pub(crate) fn has_snapshots(self) -> bool {
        self.is_at_least(34)
    }

    /// Returns whether a watch cache that is not ready answers 429 (ResilientWatchCacheInitialization, on since 1.31).
    /// Before 1.31, requests to a cache that is not ready wait.
    pub(crate) fn refuses_while_initializing(self) -> bool {
        self.is_at_least(31)
    }

    /// Returns whether the Retry-After of a watch cache that is not ready grows with the cache's downtime (since 1.33).
    /// Before 1.33, Retry-After is always 1 s.
    pub(crate) fn grows_retry_after(self) -> bool {
        self.is_at_least(33)
    }

    /// Returns whether the watch cache's own watch of etcd has a gRPC stream to itself (SeparateCacheWatchRPC): from
    /// 1.28.8, 1.29.3 and 1.30.0 on, and off again from 1.33.
    pub(crate) fn separates_cache_stream(self) -> bool {
        self.is_patched([(28, 8), (29, 3), (29, 3)]) || (30..=32).contains(&self.minor)
    }

    /// Returns the source of a watch without a resourceVersion. It is etcd for 1.27.0 to 1.27.12, 1.28.0 to 1.28.8 and
    /// 1.29.0 to 1.29.3. It is a watch-list for 1.32, and since 1.34. For all other versions it is the watch cache as
    /// it is.
    pub(crate) fn unset_watch(self) -> UnsetWatch {
        let straight_to_etcd =
            (27..=29).contains(&self.minor) && !self.is_patched([(27, 13), (28, 9), (29, 4)]);
        if straight_to_etcd {
            UnsetWatch::Etcd
        } else if self.has_watch_list() {
            UnsetWatch::WatchList
        } else {
            UnsetWatch::CacheAsItIs
        }
    }

    /// Returns whether the buffers of watches follow the size of the cache's ring (since 1.25). Before 1.25, a watch's
    /// buffer has 10 slots, or 1000 if the resource has an index that the watch does not use.
    pub(crate) fn sizes_buffers_by_ring(self) -> bool {
        self.is_at_least(25)
    }

    /// Returns whether the size of the watch cache's ring follows the rate of events: in the simulator since 1.20, in a
    /// real server since 1.19.0 (docs/semantics/versions.md#ring-adapts). In the simulator before 1.20 the ring's size
    /// is fixed.
    pub(crate) fn resizes_ring(self) -> bool {
        self.is_at_least(20)
    }

    /// Returns whether initial events come in the order of keys (since 1.32). Before 1.32 initial events come in no
    /// order.
    pub(crate) fn orders_initial_events(self) -> bool {
        self.is_at_least(32)
    }

    /// Returns whether an edit of a CRD ends the watches of its custom resource (PR 78029, 1.15). Before 1.15 the
    /// watches of an edited CRD's resource stay open without events (F17).
    pub(crate) fn ends_watches_of_edited_definitions(self) -> bool {
        self.is_at_least(15)
    }

    /// Returns the Status reason of a 410: `Gone` up to 1.17, `Expired` since 1.18; a real server writes `Expired`
    /// since 1.17.0 (docs/semantics/versions.md#expired-reason).
    pub(crate) fn expired_reason(self) -> &'static str {
        if self.is_at_least(18) {
            "Expired"
        } else {
            "Gone"
        }
    }
}

impl Default for Version {
    fn default() -> Version {
        Version::DEFAULT
    }
}

impl fmt::Display for Version {
    /// Writes the version as `/version` does: `v1.36.3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}.{}", self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = UnknownServerVersion;

    /// Parses texts such as `1.27`, `1.27.3` and `v1.27.3`. A text without a patch means the first release of the minor
    /// version.
    ///
    /// # Errors
    /// [`UnknownServerVersion`] for any other text, a minor version below 9 or above 37, or a patch above 255.
    fn from_str(text: &str) -> Result<Version, UnknownServerVersion> {
        let Some((minor, patch)) = minor_and_patch(text, "1.") else {
            let nearest_minor =
                nearest_minor(text, 1, Version::OLDEST.minor, Version::NEWEST_MINOR);
            return Err(UnknownServerVersion { nearest_minor });
        };
        Version::new(minor, patch)
    }
}

/// Parses minor and patch after the prefix `major`, such as `1.`; without a patch in the text, the patch is 0. `None`
/// if the text has another form, or a number above 255.
pub(crate) fn minor_and_patch(text: &str, major: &str) -> Option<(u8, u8)> {
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let rest = numbers.strip_prefix(major)?;
    let (minor, patch) = rest.split_once('.').unwrap_or((rest, "0"));
    Some((minor.parse().ok()?, patch.parse().ok()?))
}

/// Returns the simulated minor version that is nearest to a text which is not a version; `None` if the text has no
/// number.
pub(crate) fn nearest_minor(text: &str, major: u64, oldest: u8, newest: u8) -> Option<u8> {
    let number = |part: &str| {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        digits.parse::<u64>().ok()
    };
    let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
    let given = number(parts.next()?)?;
    let minor = match parts.next() {
        Some(_) if given < major => 0,
        Some(part) if given == major => number(part)?,
        Some(_) => u64::MAX,
        // The text is `27`, and 1.27 is meant.
        None if given != major => given,
        None => return None,
    };
    u8::try_from(minor.clamp(oldest.into(), newest.into())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn a_version_reads_as_it_is_written() {
        assert_eq!(version("1.27.3").to_string(), "v1.27.3");
        assert_eq!(version("v1.9"), Version::OLDEST);
        for unknown in [
            "",
            "1",
            "1.8",
            "1.38",
            "2.0",
            "1.27.x",
            "1.27.3-rc.1",
            "1.300",
        ] {
            assert!(unknown.parse::<Version>().is_err(), "{unknown}");
        }
    }

    #[test]
    fn a_text_that_is_no_version_is_refused_with_the_nearest() {
        let refused = |text: &str| text.parse::<Version>().unwrap_err().to_string();
        insta::assert_snapshot!(refused("1.8"), @"a version is 1.9 to 1.37, with or without a patch, as 1.27.3; nearest: 1.9");
        let nearest = |text: &str| {
            refused(text)
                .split_once("nearest: ")
                .map(|(_, v)| v.to_owned())
        };
        for (text, expected) in [
            ("1.38", "1.37"),
            ("2.0", "1.37"),
            ("1.27.x", "1.27"),
            ("1.27.3-rc.1", "1.27"),
            ("1.300", "1.37"),
            ("0.9", "1.9"),
            ("27", "1.27"),
        ] {
            assert_eq!(nearest(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "1", "new", "1.x"] {
            assert_eq!(nearest(text), None, "{text}");
        }
    }

    #[test]
    fn the_matrix_of_watches_without_version_is_that_of_the_reference() {
        let lines: Vec<String> = [
            "1.26.9", "1.27.0", "1.27.12", "1.27.13", "1.28.8", "1.28.9", "1.29.3", "1.29.4",
            "1.30", "1.31", "1.32", "1.33", "1.34", "1.36.3", "1.37",
        ]
        .iter()
        .map(|text| {
            let v = version(text);
            let own = if v.separates_cache_stream() {
                ", own stream"
            } else {
                ""
            };
            format!("{text} {:?}{own}", v.unset_watch())
        })
        .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        1.26.9 CacheAsItIs
        1.27.0 Etcd
        1.27.12 Etcd
        1.27.13 CacheAsItIs
        1.28.8 Etcd, own stream
        1.28.9 CacheAsItIs, own stream
        1.29.3 Etcd, own stream
        1.29.4 CacheAsItIs, own stream
        1.30 CacheAsItIs, own stream
        1.31 CacheAsItIs, own stream
        1.32 WatchList, own stream
        1.33 CacheAsItIs
        1.34 WatchList
        1.36.3 WatchList
        1.37 WatchList
        ");
    }

    #[test]
    fn a_change_without_prevkv_is_refused_since_1_12_9_1_13_6_1_14_2_and_1_15_0() {
        for (before, since) in [
            ("1.11.10", "1.12.9"),
            ("1.12.8", "1.12.10"),
            ("1.13.5", "1.13.6"),
            ("1.14.1", "1.14.2"),
            ("1.14.0", "1.15.0"),
        ] {
            assert!(!version(before).refuses_missing_previous(), "{before}");
            assert!(version(since).refuses_missing_previous(), "{since}");
        }
    }

    #[test]
    fn the_deletes_of_1_9_changed_with_a_patch() {
        assert!(version("1.9.2").delete_keeps_old_revision());
        assert!(!version("1.9.3").delete_keeps_old_revision());
        assert!(!version("1.10").delete_keeps_old_revision());
    }
}
