//! client-go's versions, by what the programs do differently (semantics, table 2.2).

use std::fmt;
use std::str::FromStr;

use super::super::transport::Style;

/// A version of client-go, named as Kubernetes names its own: 1.9 to 1.36.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientGo {
    minor: u8,
    /// Set where the gate WatchListClient is not as the version has it by default.
    watch_list: Option<bool>,
}

/// The text names no version of client-go that is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownVersion;

impl ClientGo {
    /// The oldest: that of case 5.
    pub const V1_9: ClientGo = ClientGo::minor(9);
    /// The newest.
    pub const LATEST: ClientGo = ClientGo::minor(Self::NAMES.len() as u8 + 8);

    const NAMES: [&'static str; 28] = [
        "1.9", "1.10", "1.11", "1.12", "1.13", "1.14", "1.15", "1.16", "1.17", "1.18", "1.19",
        "1.20", "1.21", "1.22", "1.23", "1.24", "1.25", "1.26", "1.27", "1.28", "1.29", "1.30",
        "1.31", "1.32", "1.33", "1.34", "1.35", "1.36",
    ];

    /// Version 1.`minor`; what is beyond the modelled versions is the nearest of them.
    pub const fn minor(minor: u8) -> ClientGo {
        let minor = if minor < 9 {
            9
        } else if minor > 36 {
            36
        } else {
            minor
        };
        ClientGo {
            minor,
            watch_list: None,
        }
    }

    /// Every version.
    pub fn all() -> impl Iterator<Item = ClientGo> {
        (9..=36).map(ClientGo::minor)
    }

    /// The same with the gate WatchListClient set; before 1.28 there is none.
    #[must_use]
    pub const fn with_watch_list(self, on: bool) -> ClientGo {
        ClientGo {
            watch_list: Some(on),
            ..self
        }
    }

    /// `1.25`.
    pub fn name(self) -> &'static str {
        Self::NAMES[usize::from(self.minor) - 9]
    }

    /// Whether the reflector waits 0.8 s to 30 s, doubling, between its rounds; else a second.
    pub(super) fn backs_off(self) -> bool {
        self.minor >= 18
    }

    /// How a refused (or throttled) watch waits before it is opened again.
    pub(super) fn open_delay(self) -> OpenDelay {
        match self.minor {
            ..=19 => OpenDelay::Second,
            20..=27 => OpenDelay::Own,
            _ => OpenDelay::Shared,
        }
    }

    /// Whether lists are read in pages of 500.
    pub(super) fn pages(self) -> bool {
        self.minor >= 15
    }

    /// Whether a relist asks for what it already knew at least, and for the newest if that is gone.
    pub(super) fn relists_from_last(self) -> bool {
        self.minor >= 18
    }

    /// Whether `ResourceVersionTooLarge` is answered like 410.
    pub(super) fn knows_too_large(self) -> bool {
        self.minor >= 19
    }

    /// Whether 429 is waited out instead of answered by a relist.
    pub(super) fn waits_out_429(self) -> bool {
        self.minor >= 22
    }

    /// Whether bookmarks are asked for.
    pub(super) fn asks_for_bookmarks(self) -> bool {
        self.minor >= 16
    }

    /// Whether the first state is streamed (sendInitialEvents).
    pub(super) fn streams_lists(self) -> bool {
        self.minor >= 28 && self.watch_list.unwrap_or(self.minor >= 35)
    }

    /// Whether a watch from no or any resourceVersion keeps its own until the synthetic events are over.
    pub(super) fn guards_synthetic_events(self) -> bool {
        self.minor >= 36
    }

    /// Whether the REST layer tries a watch again, up to ten times, when it is cut or told Retry-After.
    pub(super) fn retries_watches(self) -> bool {
        self.minor >= 22
    }

    /// Whether the REST layer tries a list again when the connection just ends, not only on a reset.
    pub(super) fn retries_lists_on_eof(self) -> bool {
        self.minor >= 18
    }

    /// Whether the StreamWatcher tells of bytes it cannot decode.
    pub(super) fn reports_decode_errors(self) -> bool {
        self.minor >= 15
    }

    /// What the informer queues changes in.
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

    pub(super) fn style(self) -> Style {
        if self.minor >= 20 {
            Style::PingedHttp2
        } else {
            Style::PlainHttp2
        }
    }
}

/// How long a watch that was not let in waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenDelay {
    /// A second.
    Second,
    /// A backoff of its own.
    Own,
    /// The backoff of the rounds.
    Shared,
}

/// What the informer queues changes in (2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueKind {
    /// Grouped by object.
    Delta,
    /// In order.
    Real {
        /// How many changes of different objects are taken at once.
        batch: usize,
        /// Whether a list and a resync are one change each.
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

    /// Reads `1.25`, `v1.25`, `1.9.2`.
    fn from_str(text: &str) -> Result<ClientGo, UnknownVersion> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let (major, minor) = (parts.next(), parts.next());
        let patch_is_number = parts.all(|patch| patch.parse::<u16>().is_ok());
        match (major, minor.and_then(|minor| minor.parse().ok())) {
            (Some("1"), Some(minor @ 9..=36)) if patch_is_number => Ok(ClientGo::minor(minor)),
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
        for text in ["1.8", "1.37", "2.0", "1", "", "1.x", "1.20.x"] {
            assert_eq!(text.parse::<ClientGo>(), Err(UnknownVersion), "{text}");
        }
        assert!(ClientGo::all().all(|v| v.name().parse() == Ok(v)));
    }
}
