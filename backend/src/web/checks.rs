//! The checks that every request passes, in this order: Host, then Origin, then session or bearer.
//!
//! The judgement is a pure function of method, target and headers. It never reads a forwarded header (`X-Forwarded-*`,
//! `Forwarded`).

use http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Uri};
use watchscope_model::wire::PAGE_HEADER;

use super::refusals::Refusal;
use crate::origin::{AllowedHosts, HostPort, Scheme, named_host, own_origin};
use crate::session::{CredentialError, Grant, Sessions, TokenFile};

/// The header in which a browser states which site's page fetches.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The most values of our cookie that are compared; an honest browser sends one.
const MAX_COOKIE_VALUES: usize = 8;

/// The settings of the checks.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The names that the server accepts.
    pub hosts: AllowedHosts,
    /// The sessions and links.
    pub sessions: Sessions,
    /// The file with the token that scripts send as Bearer.
    pub token_file: Option<TokenFile>,
}

/// A request that passed the checks.
#[derive(Clone, Debug)]
pub enum Pass {
    /// It may reach what needs no session: the page, and the state of the session itself.
    Open,
    /// It may also see the log.
    Granted(Grant),
}

impl Policy {
    /// Judges a request by its head.
    ///
    /// # Errors
    /// The refusal, from which the answer is made.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Pass, Refusal> {
        let host = named_host(&self.hosts, uri, headers)?;
        let door = Door::of(method, uri.path());
        if door == Door::SessionStatus {
            return Ok(Pass::Open);
        }
        let page = own_origin(&self.hosts, headers, &host)?;
        let reads = matches!(*method, Method::GET | Method::HEAD);
        match door {
            Door::SessionStatus | Door::Page if reads || page.is_some() => Ok(Pass::Open),
            Door::SessionStatus | Door::Page => Err(Refusal::OriginMissing),
            Door::Api if reads && self.is_own_fetch(headers, &host) => {
                self.credentials(headers, page, Ok(()))
            }
            Door::Api if reads => self.credentials(headers, page, Err(Refusal::FetchSite)),
            Door::Socket | Door::Api => {
                self.credentials(headers, page, Err(Refusal::OriginMissing))
            }
        }
    }

    /// Checks the credentials. `without_origin` is the result for a cookie that comes without an Origin.
    fn credentials(
        &self,
        headers: &HeaderMap,
        page: Option<Scheme>,
        without_origin: Result<(), Refusal>,
    ) -> Result<Pass, Refusal> {
        if let Some(bearer) = bearer(headers) {
            return self.bearer(headers, bearer);
        }
        let cookies = self.cookies(headers);
        if cookies.is_empty() {
            return Err(Refusal::NoSession);
        }
        if page.is_none() {
            without_origin?;
        }
        let grant = self
            .sessions
            .grant_session(cookies, page)
            .ok_or(Refusal::NoSession)?;
        Ok(Pass::Granted(grant))
    }

    fn bearer(&self, headers: &HeaderMap, bearer: &str) -> Result<Pass, Refusal> {
        if headers.contains_key(ORIGIN) {
            return Err(Refusal::BearerWithOrigin);
        }
        let token = match self.token_file.as_ref().map(TokenFile::read).transpose() {
            Ok(token) => token,
            Err(error) => {
                tracing::error!(%error, "the token file cannot be used");
                return Err(Refusal::TokenFileUnreadable);
            }
        };
        let grant = self.sessions.grant_bearer(bearer, token.as_ref())?;
        Ok(Pass::Granted(grant))
    }

    /// Whether our own page makes this fetch. A page cannot set `Sec-Fetch-Site`: a fetch from another port of this host
    /// says `same-site`, a link `none`. Browsers send it to loopback and over TLS only. Under an added name over plain http
    /// it may be missing, and then the page's own header counts. A page of another origin cannot set that header without a
    /// preflight, which is never allowed. A link, an image or a script cannot set it either.
    fn is_own_fetch(&self, headers: &HeaderMap, host: &HostPort) -> bool {
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        match sites.next() {
            Some(site) => site == "same-origin" && sites.next().is_none(),
            None => self.hosts.is_added(host) && headers.contains_key(PAGE_HEADER),
        }
    }

    /// Whether the request has the cookie of a living session.
    #[must_use]
    pub fn has_session(&self, headers: &HeaderMap) -> bool {
        self.sessions
            .grant_session(self.cookies(headers), None)
            .is_some()
    }

    /// The values of our cookie.
    fn cookies<'a>(&self, headers: &'a HeaderMap) -> Vec<&'a str> {
        let name = self.sessions.cookie_name();
        all_cookies(headers)
            .filter_map(|(key, value)| (key == name).then_some(value))
            .take(MAX_COOKIE_VALUES)
            .collect()
    }
}

/// The cookies of a request, as name and value.
pub(super) fn all_cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// The class of routes that a request asks for. Routes below `/api` and `/ws` that do not exist are guarded like those that
/// do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    Page,
    SessionStatus,
    Api,
    Socket,
}

impl Door {
    fn of(method: &Method, path: &str) -> Self {
        let first = path.split('/').nth(1).unwrap_or_default();
        match first {
            "ws" => Self::Socket,
            "api" => Self::Api,
            "session" if path == "/session" && *method == Method::GET => Self::SessionStatus,
            _ => Self::Page,
        }
    }
}

impl From<CredentialError> for Refusal {
    fn from(error: CredentialError) -> Self {
        match error {
            CredentialError::Wrong => Self::WrongCredential,
            CredentialError::TooManyFailures => Self::TooManyFailures,
        }
    }
}

/// The scheme of the page that a request comes from. Its Origin must have been judged before.
pub(super) fn page_scheme(headers: &HeaderMap) -> Scheme {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    origin
        .and_then(Scheme::split)
        .map_or(Scheme::Http, |(scheme, _)| scheme)
}

/// The text after `Bearer`; the word counts in any case (RFC 9110 section 11.1).
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, credential) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| credential.trim())
}
