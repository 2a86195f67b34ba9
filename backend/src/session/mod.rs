//! Sessions: a one-time secret becomes a cookie, a cookie becomes a grant, and a revocation ends them all at once.
//!
//! ```text
//!  link secret ──exchange──► session token ──cookie──► grant ──► socket, stream
//!  token file ──────────────────bearer───────────────► grant        ▲
//!  revoke ───────────────────────────────────────────────────ends───┘
//! ```
//! Nothing is written to disk, so all sessions end with the process. Bounded: at most [`MAX_SECRETS`] unused links and
//! [`MAX_SESSIONS`] sessions. One more replaces the oldest link, or the session that was unused longest.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

mod link;
mod secret;

pub use link::{BadBase, BadLink, Base, Link};
pub use secret::{Secret, TokenFile, TokenFileError};

use crate::origin::Scheme;

/// How long a printed link stays valid.
pub const LINK_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long the link stays valid that watchscope opens in a browser itself.
pub const BROWSER_LINK_LIFETIME: Duration = Duration::from_secs(60);
/// The most unused links.
pub const MAX_SECRETS: usize = 64;
/// The most sessions.
pub const MAX_SESSIONS: usize = 256;
/// The most wrong secrets, or wrong bearers, in any [`FAILURE_WINDOW`]. Above it none is compared, not even a right one.
pub const MAX_FAILURES: usize = 10;
/// The time over which failures are counted.
pub const FAILURE_WINDOW: Duration = Duration::from_secs(60);

/// The most cookies of other instances that a browser keeps when it enters a session here.
pub const MAX_OTHER_COOKIES: usize = 8;
/// The session number that all senders of the token file's bearer share.
const BEARER: u64 = 0;
const COOKIE_PREFIX: &str = "watchscope_";

/// The sessions of this process; cheap to clone.
#[derive(Clone, Debug)]
pub struct Sessions {
    shared: Arc<Shared>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new()
    }
}

impl Sessions {
    /// Makes an empty table with a new instance id.
    ///
    /// # Panics
    /// If the operating system gives no random bytes.
    #[must_use]
    pub fn new() -> Self {
        let mut id = [0; 8];
        getrandom::fill(&mut id).expect("the operating system gives randomness");
        let instance = id.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a String does not fail");
            text
        });
        let shared = Shared {
            instance,
            table: Mutex::new(SessionTable::default()),
            revocations: watch::Sender::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The sixteen hexadecimal digits that distinguish this process from all others.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.shared.instance
    }

    /// The name of our cookie. Cookies ignore ports, so the name contains the instance. Two watchscopes on one machine do
    /// not overwrite each other's cookies, and a cookie from before a restart is ignored.
    #[must_use]
    pub fn cookie_name(&self) -> String {
        format!("{COOKIE_PREFIX}{}", self.shared.instance)
    }

    /// Returns the names of other instances' cookies that a browser should drop: all but the newest [`MAX_OTHER_COOKIES`] of
    /// `names`. RFC 6265 section 5.4 orders them oldest first. Each restart leaves one cookie behind, and a browser sends
    /// all of them with each request. Without this the head would outgrow its bound.
    #[must_use]
    pub fn spare_cookies<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let is_instance = |id: &str| {
            id.len() == self.shared.instance.len() && id.bytes().all(|b| b.is_ascii_hexdigit())
        };
        let mut others: Vec<&str> = names
            .into_iter()
            .filter(|name| {
                name.strip_prefix(COOKIE_PREFIX)
                    .is_some_and(|id| is_instance(id) && id != self.instance())
            })
            .collect();
        others.truncate(others.len().saturating_sub(MAX_OTHER_COOKIES));
        others
    }

    /// Makes a link that is good for one exchange within `lifetime`. If there are [`MAX_SECRETS`] links, the oldest goes.
    #[must_use]
    pub fn new_link(&self, base: Base, lifetime: Duration) -> Link {
        let secret = Secret::random();
        let mut table = self.table();
        if table.secrets.len() >= MAX_SECRETS {
            table.secrets.pop_front();
        }
        table.secrets.push_back(OneTime {
            secret: secret.clone(),
            expires: Instant::now() + lifetime,
        });
        Link {
            base,
            secret: Some(secret),
        }
    }

    /// Exchanges a link's secret for a session token; the secret is spent. `scheme` is that of the page that asks.
    ///
    /// # Errors
    /// See [`CredentialError`].
    pub fn exchange(&self, guess: &str, scheme: Scheme) -> Result<Secret, CredentialError> {
        let now = Instant::now();
        let mut table = self.table();
        if table.exchange_failures.is_full(now) {
            return Err(CredentialError::TooManyFailures);
        }
        table.secrets.retain(|one_time| one_time.expires > now);
        // Every secret is compared, so that the time taken does not show which one was close.
        let mut found = None;
        for (index, one_time) in table.secrets.iter().enumerate() {
            if one_time.secret.equals(guess) {
                found = Some(index);
            }
        }
        let Some(index) = found else {
            table.exchange_failures.note(now);
            return Err(CredentialError::Wrong);
        };
        table.secrets.remove(index);
        if table.sessions.len() >= MAX_SESSIONS {
            table.sessions.pop_front();
        }
        let token = Secret::random();
        table.last_number += 1;
        let number = table.last_number;
        table.sessions.push_back(Session {
            number,
            token: token.clone(),
            scheme,
        });
        Ok(token)
    }

    /// Returns the grant of a session if one of the cookie's values belongs to a living one. There may be several values:
    /// another program on another port of this host can set a cookie of our name. That must not lock the person out. A page
    /// over plain http gets nothing from a session that was entered behind TLS, since anybody on the way can write such a
    /// page. Not every browser withholds SameSite cookies from a page of the other scheme.
    pub fn grant_session<'a>(
        &self,
        values: impl IntoIterator<Item = &'a str>,
        page: Option<Scheme>,
    ) -> Option<Grant> {
        let is_plain = page == Some(Scheme::Http);
        let mut table = self.table();
        let mut found = None;
        for value in values {
            for (index, session) in table.sessions.iter().enumerate() {
                let is_same = session.token.equals(value);
                if is_same && !(is_plain && session.scheme == Scheme::Https) {
                    found = Some(index);
                }
            }
        }
        let session = table.sessions.remove(found?)?;
        let number = session.number;
        table.sessions.push_back(session);
        Some(self.grant(number))
    }

    /// Returns the grant of a script that sends the content of the token file.
    ///
    /// # Errors
    /// See [`CredentialError`]; without a token file every bearer is wrong.
    pub fn grant_bearer(
        &self,
        guess: &str,
        token: Option<&Secret>,
    ) -> Result<Grant, CredentialError> {
        let now = Instant::now();
        let mut table = self.table();
        if table.bearer_failures.is_full(now) {
            return Err(CredentialError::TooManyFailures);
        }
        if token.is_some_and(|token| token.equals(guess)) {
            Ok(self.grant(BEARER))
        } else {
            table.bearer_failures.note(now);
            Err(CredentialError::Wrong)
        }
    }

    /// Ends every session, unused link, socket and stream. Later grants are not affected.
    pub fn revoke(&self) {
        let mut table = self.table();
        table.secrets.clear();
        table.sessions.clear();
        self.shared
            .revocations
            .send_modify(|generation| *generation += 1);
    }

    /// Makes a grant. It is called with the table locked, so that no revocation falls between check and grant.
    fn grant(&self, session: u64) -> Grant {
        Grant {
            session,
            revocations: self.shared.revocations.subscribe(),
        }
    }

    fn table(&self) -> MutexGuard<'_, SessionTable> {
        self.shared
            .table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a credential is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// It is unknown, spent or too old.
    #[error("unknown, spent or too old")]
    Wrong,
    /// Too many were wrong in the last minute, so none is compared.
    #[error("too many failures in the last minute")]
    TooManyFailures,
}

/// The right to see the log, until it is revoked.
#[derive(Clone, Debug)]
pub struct Grant {
    session: u64,
    revocations: watch::Receiver<u64>,
}

impl Grant {
    /// The number of the session, unique in this process. All senders of the token file's bearer share one.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Waits for the end of the grant: a revocation, or the end of the sessions with the process.
    pub async fn revoked(mut self) {
        let _ = self.revocations.changed().await;
    }
}

#[derive(Debug)]
struct Shared {
    instance: String,
    table: Mutex<SessionTable>,
    revocations: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct SessionTable {
    secrets: VecDeque<OneTime>,
    /// The least recently used first.
    sessions: VecDeque<Session>,
    /// The number of the newest session.
    last_number: u64,
    exchange_failures: Failures,
    bearer_failures: Failures,
}

#[derive(Debug)]
struct Session {
    number: u64,
    token: Secret,
    /// The scheme of the page that entered it.
    scheme: Scheme,
}

#[derive(Debug)]
struct OneTime {
    secret: Secret,
    expires: Instant,
}

/// The times of the last failures, at most [`MAX_FAILURES`].
#[derive(Debug, Default)]
struct Failures(VecDeque<Instant>);

impl Failures {
    fn is_full(&mut self, now: Instant) -> bool {
        while self
            .0
            .front()
            .is_some_and(|&at| now.duration_since(at) >= FAILURE_WINDOW)
        {
            self.0.pop_front();
        }
        self.0.len() >= MAX_FAILURES
    }

    fn note(&mut self, now: Instant) {
        self.0.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn base() -> Base {
        "http://127.0.0.1:8080".parse().unwrap()
    }

    fn secret_of(link: &Link) -> String {
        link.secret.as_ref().unwrap().expose().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_is_good_for_one_exchange() {
        let sessions = Sessions::new();
        let secret = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        let token = sessions.exchange(&secret, Scheme::Http).unwrap();
        assert_eq!(
            sessions.exchange(&secret, Scheme::Http).unwrap_err(),
            CredentialError::Wrong
        );
        assert!(sessions.grant_session([token.expose()], None).is_some());
        assert!(sessions.grant_session([secret.as_str()], None).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_dies_of_age() {
        let sessions = Sessions::new();
        let slow = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        let browser = secret_of(&sessions.new_link(base(), BROWSER_LINK_LIFETIME));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(
            sessions.exchange(&browser, Scheme::Http).unwrap_err(),
            CredentialError::Wrong
        );
        tokio::time::advance(Duration::from_secs(9 * 60 - 1)).await;
        assert!(sessions.exchange(&slow, Scheme::Http).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn after_ten_failures_in_a_minute_even_the_right_secret_waits() {
        let sessions = Sessions::new();
        let secret = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        for _ in 0..10 {
            assert_eq!(
                sessions.exchange("guess", Scheme::Http).unwrap_err(),
                CredentialError::Wrong
            );
        }
        for guess in ["guess", &secret] {
            assert_eq!(
                sessions.exchange(guess, Scheme::Http).unwrap_err(),
                CredentialError::TooManyFailures
            );
        }
        tokio::time::advance(FAILURE_WINDOW).await;
        assert!(sessions.exchange(&secret, Scheme::Http).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn guessing_bearers_does_not_lock_out_links_or_sessions() {
        let sessions = Sessions::new();
        let secret = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        let token = Secret::random();
        for _ in 0..10 {
            assert_eq!(
                sessions.grant_bearer("guess", Some(&token)).unwrap_err(),
                CredentialError::Wrong
            );
        }
        assert_eq!(
            sessions
                .grant_bearer(token.expose(), Some(&token))
                .unwrap_err(),
            CredentialError::TooManyFailures
        );
        let session = sessions.exchange(&secret, Scheme::Http).unwrap();
        assert!(
            sessions
                .grant_session(["planted by another port", session.expose()], None)
                .is_some()
        );
    }

    #[tokio::test]
    async fn revoking_ends_links_sessions_and_grants_but_not_later_ones() {
        let sessions = Sessions::new();
        let unused = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        let used = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        let token = sessions.exchange(&used, Scheme::Http).unwrap();
        let grant = sessions.grant_session([token.expose()], None).unwrap();
        assert!(grant.clone().revoked().now_or_never().is_none());
        sessions.revoke();
        assert!(grant.revoked().now_or_never().is_some());
        assert!(sessions.grant_session([token.expose()], None).is_none());
        assert_eq!(
            sessions.exchange(&unused, Scheme::Http).unwrap_err(),
            CredentialError::Wrong
        );
        let fresh = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        let token = sessions.exchange(&fresh, Scheme::Http).unwrap();
        let grant = sessions.grant_session([token.expose()], None).unwrap();
        assert!(grant.revoked().now_or_never().is_none());
    }

    #[test]
    fn above_the_bounds_the_longest_unused_session_goes() {
        let sessions = Sessions::new();
        let enter = || {
            let link = sessions.new_link(base(), LINK_LIFETIME);
            sessions.exchange(&secret_of(&link), Scheme::Http).unwrap()
        };
        let (first, second) = (enter(), enter());
        for _ in 2..MAX_SESSIONS {
            enter();
        }
        assert!(sessions.grant_session([first.expose()], None).is_some());
        enter();
        assert!(sessions.grant_session([first.expose()], None).is_some());
        assert!(sessions.grant_session([second.expose()], None).is_none());

        let oldest = secret_of(&sessions.new_link(base(), LINK_LIFETIME));
        for _ in 0..MAX_SECRETS {
            let _ = sessions.new_link(base(), LINK_LIFETIME);
        }
        assert_eq!(
            sessions.exchange(&oldest, Scheme::Http).unwrap_err(),
            CredentialError::Wrong
        );
    }

    #[test]
    fn only_the_newest_cookies_of_earlier_instances_stay() {
        let sessions = Sessions::new();
        let names: Vec<String> = (0..12)
            .map(|restart| format!("watchscope_{restart:016x}"))
            .collect();
        let own = sessions.cookie_name();
        let strange = [
            "theme",
            "watchscope_",
            "watchscope_short",
            "watchscope_000000000000000g",
            own.as_str(),
        ];
        let sent = strange.into_iter().chain(names.iter().map(String::as_str));
        assert_eq!(sessions.spare_cookies(sent), names[..4]);
        assert!(
            sessions
                .spare_cookies(names[..8].iter().map(String::as_str))
                .is_empty()
        );
    }

    #[test]
    fn two_processes_do_not_share_a_cookie_name() {
        let sessions = Sessions::new();
        assert_ne!(sessions.cookie_name(), Sessions::new().cookie_name());
        assert_eq!(sessions.instance().len(), 16);
    }
}
