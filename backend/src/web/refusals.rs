//! Refusals: every reason to turn a request away, its answer, its counter and its log line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;

use crate::origin::NameRefusal;

/// One log line per reason and this span; what comes between is counted and told in the next line.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// The most of a header that a log line repeats.
const MAX_LOGGED_CHARS: usize = 128;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No Host, several, or one that names no host.
    HostMalformed,
    /// A host we do not answer to.
    HostNotAllowed,
    /// An Origin other than this very host's, or several.
    OriginForeign,
    /// No Origin where one is needed.
    OriginMissing,
    /// A cookie, no Origin, and not a fetch of our own page.
    FetchSite,
    /// The token file's bearer from a browser's page.
    BearerWithOrigin,
    /// No cookie and no bearer, or a cookie of a session that has ended.
    NoSession,
    /// A wrong bearer or link secret.
    WrongCredential,
    /// Too many wrong credentials in the last minute.
    TooManyFailures,
    /// The token file cannot be read any more.
    TokenFileUnreadable,
    /// More connections with a session than we serve.
    TooManyConnections,
    /// More sockets that have not said hello than we wait for.
    TooManyUpgrades,
}

impl Refusal {
    /// All of them, in the order of the counters.
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

    /// The label of its counter and the reason in its log line.
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

    /// The status of the answer.
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

    /// The body of the answer: what is wrong and what to do, and nothing of what was sent.
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

    /// Seconds to wait before another try helps.
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

/// The counters of refusals, and when each reason was last logged.
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
    /// The count that the last log line told.
    count: u64,
}

/// What a log line tells of a refused request; hostile text, escaped and cut when it is written.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// The method.
    pub method: &'a http::Method,
    /// The path without its query, which may hold what does not belong in a log.
    pub path: &'a str,
    /// What the request called us.
    pub host: Option<&'a [u8]>,
    /// Where it says it comes from.
    pub origin: Option<&'a [u8]>,
}

impl Refusals {
    /// Counts a refusal, and logs it unless the same reason was logged less than a second ago.
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

    /// How often that refusal was given.
    #[must_use]
    pub fn count(&self, refusal: Refusal) -> u64 {
        self.counter(refusal).count.load(Ordering::Relaxed)
    }

    fn counter(&self, refusal: Refusal) -> &Counter {
        &self.counters[refusal as usize]
    }
}

/// Hostile bytes as one line of plain ASCII, cut to what a log line needs.
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

    /// Row 29 of the attack table, for what a request can bring.
    #[test]
    fn what_a_log_line_repeats_is_plain_and_short() {
        assert_eq!(escaped(b"a\nb\x1b[31m\xff\"c"), "a\\nb\\x1b[31m\\xff\\\"c");
        assert_eq!(escaped(&[b'x'; 4096]).len(), MAX_LOGGED_CHARS);
    }
}
