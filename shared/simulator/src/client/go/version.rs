//! client-go's versions, as far as the simulated programs behave differently with them
//! (docs/semantics/clients.md#reflector-versions).

use std::fmt;
use std::str::FromStr;

use super::super::transport::Style;

/// A version of client-go, named as Kubernetes names its own: 1.9 to 1.36
/// (docs/semantics/clients.md#reflector-versions). A version is one of 35 modelled releases: the first of each minor
/// version, and the patch releases that differ from the release before. Versions are ordered from the oldest on; within
/// a release by the gate of [`ClientGo::with_watch_list`]: unset, then off, then on. A version is written as
/// [`ClientGo::name`]; `v1.25` and unmodelled patches (`1.9.2`) are parsed, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientGo {
    minor: u8,
    patch: u8,
    /// The gate WatchListClient where it differs from the version's default; `None` where it does not.
    watch_list: Option<bool>,
}

/// The error for a text that names no version of client-go from 1.9 to 1.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion;

/// The modelled releases, oldest first: minor version, patch, name (docs/semantics/clients.md#reflector-versions).
const RELEASES: [(u8, u8, &str); 35] = [
    (9, 0, "1.9"),
    (10, 0, "1.10"),
    (11, 0, "1.11"),
    (12, 0, "1.12"),
    (13, 0, "1.13"),
    (14, 0, "1.14"),
    (15, 0, "1.15"),
    (15, 12, "1.15.12"),
    (16, 0, "1.16"),
    (16, 9, "1.16.9"),
    (17, 0, "1.17"),
    (17, 5, "1.17.5"),
    (18, 0, "1.18"),
    (18, 2, "1.18.2"),
    (18, 6, "1.18.6"),
    (18, 18, "1.18.18"),
    (19, 0, "1.19"),
    (19, 5, "1.19.5"),
    (20, 0, "1.20"),
    (21, 0, "1.21"),
    (22, 0, "1.22"),
    (23, 0, "1.23"),
    (24, 0, "1.24"),
    (25, 0, "1.25"),
    (26, 0, "1.26"),
    (27, 0, "1.27"),
    (28, 0, "1.28"),
    (29, 0, "1.29"),
    (30, 0, "1.30"),
    (31, 0, "1.31"),
    (32, 0, "1.32"),
    (33, 0, "1.33"),
    (34, 0, "1.34"),
    (35, 0, "1.35"),
    (36, 0, "1.36"),
];

impl ClientGo {
    /// The oldest modelled version, 1.9.0: that of the oldest case that a client program shows
    /// (docs/semantics/cases.md#regression-1-9-2). [`ClientGo::release`] returns it for older versions; a text with an
    /// older version is refused with [`UnknownVersion`].
    pub const V1_9: ClientGo = ClientGo::minor(9);
    /// The newest modelled version, 1.36.0 (docs/semantics/clients.md#reflector). [`ClientGo::release`] returns it for
    /// newer versions; a text with a newer minor version is refused with [`UnknownVersion`].
    pub const LATEST: ClientGo = ClientGo::minor(36);

    /// Returns the first release of 1.`minor`; for a `minor` below 9 the first release of 1.9, and above 36 that of
    /// 1.36.
    pub const fn minor(minor: u8) -> ClientGo {
        ClientGo::release(minor, 0)
    }

    /// Returns the newest modelled release that is not newer than 1.`minor`.`patch`; up to 1.36 the returned release
    /// behaves like the requested one. For a release before 1.9.0 returns 1.9.0.
    pub const fn release(minor: u8, patch: u8) -> ClientGo {
        let mut found = 0;
        let mut next = 1;
        while next < RELEASES.len() {
            let (its_minor, its_patch, _) = RELEASES[next];
            if its_minor < minor || (its_minor == minor && its_patch <= patch) {
                found = next;
            }
            next += 1;
        }
        ClientGo {
            minor: RELEASES[found].0,
            patch: RELEASES[found].1,
            watch_list: None,
        }
    }

    /// Iterates over the 35 modelled releases, oldest first.
    pub fn all() -> impl Iterator<Item = ClientGo> {
        RELEASES
            .iter()
            .map(|(minor, patch, _)| ClientGo::release(*minor, *patch))
    }

    /// Returns the version with the gate WatchListClient on or off (docs/semantics/versions.md#gate-watch-list-client).
    /// Before 1.28, `on` changes nothing in the simulated client. By default the gate is on from 1.35 on.
    #[must_use]
    pub const fn with_watch_list(self, on: bool) -> ClientGo {
        ClientGo {
            watch_list: Some(on),
            ..self
        }
    }

    /// Returns the version's name: `1.25`, or with its patch where the patch matters: `1.18.6`. A set gate does not
    /// change the name.
    pub fn name(self) -> &'static str {
        let is_it =
            |(minor, patch, _): &&(u8, u8, &str)| (*minor, *patch) == (self.minor, self.patch);
        RELEASES.iter().find(is_it).map_or("", |(_, _, name)| name)
    }

    /// Returns whether this version is of one of `minors`, at that minor version's patch or later.
    fn is_patched(self, minors: &[(u8, u8)]) -> bool {
        minors
            .iter()
            .any(|(minor, patch)| self.minor == *minor && self.patch >= *patch)
    }

    /// Returns whether the reflector waits 0.8 s to 30 s between its rounds, doubling the wait. Versions before 1.18
    /// wait 1 s between rounds.
    pub(super) fn backs_off(self) -> bool {
        self.minor >= 18
    }

    /// Returns how long the reflector waits after a refused or throttled watch before it opens the watch again.
    pub(super) fn open_delay(self) -> OpenDelay {
        match self.minor {
            ..=19 => OpenDelay::Second,
            20..=27 => OpenDelay::Own,
            _ => OpenDelay::Shared,
        }
    }

    /// Returns whether the reflector reads lists in pages of 500 objects.
    pub(super) fn pages(self) -> bool {
        self.minor >= 15
    }

    /// Returns whether a relist requests at least the last known resourceVersion, and the newest state if that
    /// resourceVersion is gone.
    pub(super) fn relists_from_last(self) -> bool {
        self.minor >= 18
    }

    /// Returns whether the reflector reacts to `ResourceVersionTooLarge` as to 410 (since 1.18.6 and 1.19.0).
    pub(super) fn knows_too_large(self) -> bool {
        self.minor >= 19 || self.is_patched(&[(18, 6)])
    }

    /// Returns whether the reflector waits and opens a watch again whose connection was refused (since 1.16.0). In
    /// earlier versions the check compared a bare `syscall.Errno`, which Go wraps in `os.SyscallError`. Before 1.16.0
    /// this check never matched, so the reflector listed after a refused connection.
    pub(super) fn waits_out_refusals(self) -> bool {
        self.minor >= 16
    }

    /// Returns whether the reflector waits after a 429 instead of listing again.
    pub(super) fn waits_out_429(self) -> bool {
        self.minor >= 22
    }

    /// Returns whether the reflector's watches request bookmarks.
    pub(super) fn asks_for_bookmarks(self) -> bool {
        self.minor >= 16
    }

    /// Returns whether the reflector gets its first state by a watch-list (`sendInitialEvents`).
    pub(super) fn streams_lists(self) -> bool {
        self.minor >= 28 && self.watch_list.unwrap_or(self.minor >= 35)
    }

    /// Returns whether a watch from an unset resourceVersion or `0` keeps its resourceVersion until the synthetic ADDED
    /// events are over.
    pub(super) fn guards_synthetic_events(self) -> bool {
        self.minor >= 36
    }

    /// Returns whether the REST layer retries a watch, up to ten times, after a cut or an answer with Retry-After.
    pub(super) fn retries_watches(self) -> bool {
        self.minor >= 22
    }

    /// Returns whether the REST layer retries a list after a mere end of the connection, and not only after a reset.
    pub(super) fn retries_lists_on_eof(self) -> bool {
        self.minor >= 18
    }

    /// Returns whether the StreamWatcher reports a read error as an ERROR event (since 1.15.0). Versions before 1.15.0
    /// only log the error.
    pub(super) fn reports_read_errors(self) -> bool {
        self.minor >= 15
    }

    /// Returns whether the StreamWatcher takes the error of a connection that broke after a GOAWAY for an end of file
    /// (since 1.14.0).
    pub(super) fn knows_goaway(self) -> bool {
        self.minor >= 14
    }

    /// Returns whether a timeout is no error (since 1.19.0, 1.18.2, 1.17.5, 1.16.9 and 1.15.12). In such a version the
    /// StreamWatcher hides the timeout, and a watch that timed out while it opened counts as empty.
    pub(super) fn swallows_timeouts(self) -> bool {
        self.minor >= 19 || self.is_patched(&[(15, 12), (16, 9), (17, 5), (18, 2)])
    }

    /// Returns the kind of queue between the informer's reflector and its indexer.
    pub(super) fn queue(self) -> QueueKind {
        match self.minor {
            ..=32 => QueueKind::Delta,
            33..=34 => QueueKind::Real {
                batch: 1,
                atomic: false,
            },
            35 => QueueKind::Real {
                batch: 1000,
                atomic: false,
            },
            _ => QueueKind::Real {
                batch: 1000,
                atomic: true,
            },
        }
    }

    /// Returns how this version of client-go uses connections: with HTTP/2 health pings since 1.20.0, 1.19.5 and
    /// 1.18.18.
    pub(super) fn style(self) -> Style {
        if self.minor >= 20 || self.is_patched(&[(18, 18), (19, 5)]) {
            Style::PingedHttp2
        } else {
            Style::PlainHttp2
        }
    }
}

/// The wait before a refused or throttled watch is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenDelay {
    /// The reflector waits 1 s.
    Second,
    /// The reflector waits as an exponential backoff for opening watches says.
    Own,
    /// The reflector waits as the backoff between its rounds of ListAndWatch says.
    Shared,
}

/// The queue of an informer (docs/semantics/clients.md#informer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueKind {
    /// DeltaFIFO: changes are grouped by object.
    Delta,
    /// RealFIFO: changes keep their order.
    Real {
        /// The most changes of different objects that the informer takes out at once.
        batch: usize,
        /// Whether a whole list is one change in the queue, and likewise a whole resync.
        atomic: bool,
    },
}

impl fmt::Display for ClientGo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ClientGo {
    type Err = UnknownVersion;

    /// Parses texts such as `1.25`, `v1.25` and `1.9.2`; the result is that of [`ClientGo::release`].
    ///
    /// # Errors
    /// [`UnknownVersion`] for any other text, a minor version below 9 or above 36, or a patch above 65,535.
    fn from_str(text: &str) -> Result<ClientGo, UnknownVersion> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let (major, minor) = (parts.next(), parts.next());
        let patch = parts.next().unwrap_or("0").parse::<u16>();
        match (major, minor.and_then(|minor| minor.parse().ok()), patch) {
            (Some("1"), Some(minor @ 9..=36), Ok(patch)) if parts.next().is_none() => {
                let patch = u8::try_from(patch).unwrap_or(u8::MAX);
                Ok(ClientGo::release(minor, patch))
            }
            _ => Err(UnknownVersion),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_write_them() {
        assert_eq!("1.25".parse(), Ok(ClientGo::minor(25)));
        assert_eq!("v1.9.2".parse(), Ok(ClientGo::V1_9));
        assert_eq!("1.36".parse(), Ok(ClientGo::LATEST));
        assert_eq!("1.18.17".parse(), Ok(ClientGo::release(18, 6)));
        assert_eq!("1.18.300".parse(), Ok(ClientGo::release(18, 18)));
        for text in ["1.8", "1.37", "2.0", "1", "", "1.x", "1.20.x", "1.20.1.1"] {
            assert_eq!(text.parse::<ClientGo>(), Err(UnknownVersion), "{text}");
        }
        assert!(ClientGo::all().all(|v| v.name().parse() == Ok(v)));
    }

    #[test]
    fn patch_releases_have_the_fixes_that_were_made_in_them() {
        let has = |what: fn(ClientGo) -> bool, versions: [&str; 2]| {
            versions.map(|text| what(text.parse().expect("a version")))
        };
        for (before, since) in [("1.18.5", "1.18.6"), ("1.18.5", "1.19.0")] {
            assert_eq!(
                has(ClientGo::knows_too_large, [before, since]),
                [false, true]
            );
        }
        for (before, since) in [
            ("1.15.11", "1.15.12"),
            ("1.16.8", "1.16.9"),
            ("1.17.4", "1.17.5"),
            ("1.18.1", "1.18.2"),
            ("1.18.1", "1.19.0"),
        ] {
            assert_eq!(
                has(ClientGo::swallows_timeouts, [before, since]),
                [false, true]
            );
        }
        let pings = |version: ClientGo| version.style() == Style::PingedHttp2;
        for (before, since) in [
            ("1.18.17", "1.18.18"),
            ("1.19.4", "1.19.5"),
            ("1.19.4", "1.20.0"),
        ] {
            assert_eq!(has(pings, [before, since]), [false, true]);
        }
    }
}
