//! Refusals: each reason to refuse a request, with its answer, its counter and its log line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;

use crate::origin::NameRefusal;

/// The shortest time between two log lines of one reason. Refusals in between are counted, and the next line reports their
/// number.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// The most bytes of a header that a log line repeats.
const MAX_LOGGED_CHARS: usize = 128;

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request has no Host, several, or one that names no host.
    HostMalformed,
    /// The Host is not one of the accepted names.
    HostNotAllowed,
    /// The Origin is not that of this host, or there are several.
    OriginForeign,
    /// The request needs an Origin and has none.
    OriginMissing,
    /// The request has a cookie but no Origin, and is not a fetch of our own page.
    FetchSite,
    /// A browser's page sent the token file's bearer.
    BearerWithOrigin,
    /// There is no cookie and no bearer, or the cookie's session has ended.
    NoSession,
    /// The bearer or the link's secret is wrong.
    WrongCredential,
    /// There were too many wrong credentials in the last minute.
    TooManyFailures,
    /// The token file can no longer be read.
    TokenFileUnreadable,
    /// The most connections with a session are already open.
    TooManyConnections,
    /// The most sockets that have not said hello are already open.
    TooManyUpgrades,
}

impl Refusal {
    /// All refusals, in the order of the counters.
    pub const ALL: [Self; 12] = [
        Self::HostMalformed,
        Self::HostNotAllowed,
        Self::OriginForeign,
        Self::OriginMissing,
        Self::FetchSite,
        Self::BearerWithOrigin,
        Self::NoSession,
        Self::WrongCredential,
        Self::TooManyFailures,
        Self::TokenFileUnreadable,
        Self::TooManyConnections,
        Self::TooManyUpgrades,
    ];

    /// The label of its counter, and the reason in its log line.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::HostMalformed => "host-malformed",
            Self::HostNotAllowed => "host-not-allowed",
            Self::OriginForeign => "origin-foreign",
            Self::OriginMissing => "origin-missing",
            Self::FetchSite => "fetch-site",
            Self::BearerWithOrigin => "bearer-with-origin",
            Self::NoSession => "no-session",
            Self::WrongCredential => "wrong-credential",
            Self::TooManyFailures => "too-many-failures",
            Self::TokenFileUnreadable => "token-file-unreadable",
            Self::TooManyConnections => "too-many-connections",
            Self::TooManyUpgrades => "too-many-upgrades",
        }
    }

    /// The HTTP status of the answer.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::HostMalformed => NameRefusal::HostMalformed.status(),
            Self::HostNotAllowed => NameRefusal::HostNotAllowed.status(),
            Self::OriginForeign => NameRefusal::OriginForeign.status(),
            Self::OriginMissing | Self::FetchSite | Self::BearerWithOrigin => StatusCode::FORBIDDEN,
            Self::NoSession | Self::WrongCredential => StatusCode::UNAUTHORIZED,
            Self::TooManyFailures => StatusCode::TOO_MANY_REQUESTS,
            Self::TokenFileUnreadable | Self::TooManyConnections | Self::TooManyUpgrades => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// The body of the answer: what is wrong and what to do. It repeats nothing that the request sent.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::HostMalformed => NameRefusal::HostMalformed.advice(),
            Self::HostNotAllowed => NameRefusal::HostNotAllowed.advice(),
            Self::OriginForeign => NameRefusal::OriginForeign.advice(),
            Self::OriginMissing => "this request needs the Origin of watchscope's own page",
            Self::FetchSite => {
                "with a cookie this is for watchscope's own page; scripts send the content of --token-file as Bearer"
            }
            Self::BearerWithOrigin => "the token of --token-file is for scripts, not for pages",
            Self::NoSession => "no session; open a fresh link, which `watchscope token` prints",
            Self::WrongCredential => {
                "the secret is unknown, spent or too old; `watchscope token` prints a fresh link"
            }
            Self::TooManyFailures => "too many wrong secrets in the last minute; wait a minute",
            Self::TokenFileUnreadable => {
                "the file of --token-file cannot be used; see watchscope's log"
            }
            Self::TooManyConnections => "too many connections; close some, or try again",
            Self::TooManyUpgrades => "too many sockets are opening; try again",
        }
    }

    /// The seconds after which a retry can succeed.
    #[must_use]
    pub fn retry_after_s(self) -> Option<u32> {
        match self {
            Self::TooManyFailures => Some(60),
            Self::TooManyConnections | Self::TooManyUpgrades => Some(5),
            _ => None,
        }
    }
}

impl From<NameRefusal> for Refusal {
    fn from(refusal: NameRefusal) -> Self {
        match refusal {
            NameRefusal::HostMalformed => Self::HostMalformed,
            NameRefusal::HostNotAllowed => Self::HostNotAllowed,
            NameRefusal::OriginForeign => Self::OriginForeign,
        }
    }
}

/// The counters of refusals, and the last log line of each reason.
#[derive(Debug, Default)]
pub struct Refusals {
    counters: [Counter; Refusal::ALL.len()],
}

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    logged: Mutex<Logged>,
}

#[derive(Debug, Default)]
struct Logged {
    at: Option<Instant>,
    /// The count at the last log line.
    count: u64,
}

/// The parts of a refused request that a log line shows. They are hostile text, which is escaped and cut when it is written.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// The method.
    pub method: &'a http::Method,
    /// The path without its query, which may hold secrets.
    pub path: &'a str,
    /// The Host of the request.
    pub host: Option<&'a [u8]>,
    /// The Origin of the request.
    pub origin: Option<&'a [u8]>,
}

impl Refusals {
    /// Counts a refusal. Logs it unless the same reason was logged less than 1 s ago.
    pub fn note(&self, refusal: Refusal, request: Refused<'_>) {
        let counter = self.counter(refusal);
        let count = counter.count.fetch_add(1, Ordering::Relaxed) + 1;
        let now = Instant::now();
        let unlogged = {
            let mut logged = counter
                .logged
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if logged
                .at
                .is_some_and(|at| now.duration_since(at) < LOG_INTERVAL)
            {
                return;
            }
            let unlogged = count.saturating_sub(logged.count + 1);
            *logged = Logged {
                at: Some(now),
                count,
            };
            unlogged
        };
        tracing::warn!(
            reason = refusal.reason(),
            method = %request.method,
            path = %escaped(request.path.as_bytes()),
            host = %request.host.map(escaped).unwrap_or_default(),
            origin = %request.origin.map(escaped).unwrap_or_default(),
            unlogged,
            "refused a request"
        );
    }

    /// How many times this refusal was given.
    #[must_use]
    pub fn count(&self, refusal: Refusal) -> u64 {
        self.counter(refusal).count.load(Ordering::Relaxed)
    }

    fn counter(&self, refusal: Refusal) -> &Counter {
        &self.counters[refusal as usize]
    }
}

/// Returns hostile bytes as one line of plain ASCII, cut to [`MAX_LOGGED_CHARS`].
fn escaped(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(MAX_LOGGED_CHARS)]
        .escape_ascii()
        .to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_refusal_has_a_counter_and_a_reason_of_its_own() {
        let refusals = Refusals::default();
        let request = Refused {
            method: &http::Method::GET,
            path: "/",
            host: None,
            origin: None,
        };
        for (index, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, index);
            for _ in 0..=index {
                refusals.note(refusal, request);
            }
        }
        let reasons: BTreeSet<&str> = Refusal::ALL
            .iter()
            .map(|refusal| refusal.reason())
            .collect();
        assert_eq!(reasons.len(), Refusal::ALL.len());
        for (index, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusals.count(refusal), index as u64 + 1, "{refusal:?}");
        }
    }

    /// Row 29 of the attack table, for the text of a request.
    #[test]
    fn a_log_line_repeats_only_short_and_plain_text() {
        assert_eq!(escaped(b"a\nb\x1b[31m\xff\"c"), "a\\nb\\x1b[31m\\xff\\\"c");
        assert_eq!(escaped(&[b'x'; 4096]).len(), MAX_LOGGED_CHARS);
    }
}
