//! The checks every request passes, in this order: Host, then Origin, then session or bearer.
//!
//! A pure judgement over method, target and headers. No forwarded header (`X-Forwarded-*`, `Forwarded`) is ever read.

use http::header::{AUTHORIZATION, COOKIE, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Uri};
use watchscope_model::wire::PAGE_HEADER;

use super::refusals::Refusal;
use crate::origin::{AllowedHosts, HostPort, Scheme, named_host, own_origin};
use crate::session::{CredentialError, Grant, Sessions, TokenFile};

/// The header by which a browser says whose page fetches.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Values of our cookie that are looked at; an honest browser sends one.
const MAX_COOKIE_VALUES: usize = 8;

/// What the checks need to know.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The names we answer to.
    pub hosts: AllowedHosts,
    /// Sessions and links.
    pub sessions: Sessions,
    /// What scripts send as Bearer.
    pub token_file: Option<TokenFile>,
}

/// A request that may go on.
#[derive(Clone, Debug)]
pub enum Pass {
    /// To what needs no session: the page, and the state of the session itself.
    Open,
    /// With the right to see the log.
    Granted(Grant),
}

impl Policy {
    /// Judges a request by its head.
    ///
    /// # Errors
    /// The refusal to answer with.
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

    /// `without_origin` is what a cookie meets that comes without one.
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

    /// Whether our own page fetches. A page cannot set `Sec-Fetch-Site`; a fetch from another port of this host says
    /// `same-site`, a link `none`. Browsers send it to loopback and over TLS only: where a name was added for plain http,
    /// and nothing is said of the site, the page's own header stands in. A page of another origin cannot set that without
    /// asking first, which is never allowed; nor can a link, an image or a script.
    fn is_own_fetch(&self, headers: &HeaderMap, host: &HostPort) -> bool {
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        match sites.next() {
            Some(site) => site == "same-origin" && sites.next().is_none(),
            None => self.hosts.is_added(host) && headers.contains_key(PAGE_HEADER),
        }
    }

    /// Whether the request's cookie is that of a living session.
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

/// Where a request wants in. Routes below `/api` and `/ws` that do not exist are guarded like those that do.
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

/// The scheme of the page that a request comes from, whose Origin was judged before.
pub(super) fn page_scheme(headers: &HeaderMap) -> Scheme {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    origin
        .and_then(Scheme::split)
        .map_or(Scheme::Http, |(scheme, _)| scheme)
}

/// What follows `Bearer`, the scheme's name in any case (RFC 9110 section 11.1).
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, credential) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| credential.trim())
}
