//! The routes behind the checks: session, records, state, notes, search, objects, and the upgrade to a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{
    CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER, SET_COOKIE,
    WWW_AUTHENTICATE,
};
use http::{StatusCode, Uri};
use tokio::sync::Semaphore;
use watchscope_model::wire::PROTOCOL_VERSION;

use super::checks::{Pass, Policy, all_cookies, bearer, page_scheme};
use super::page::PageSource;
use super::refusals::{Refusal, Refusals, Refused};
use super::server::Connection;
use super::upgrade::Upgrade;
use super::{headers, page, search_query, socket as viewer_socket};
use crate::hub::api::{Hub, JsonLines, NotesForm, ObjectError, SearchError, SessionId};
use crate::origin::Scheme;
use crate::session::Grant;

/// The most sockets that are open and have not said hello. One more is refused, with the advice to try again.
pub const MAX_OPENING_SOCKETS: usize = 256;
/// The content type of a recording's block `N`.
const BLOCK: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// The content type of JSON lines, as `-o jsonl` writes them.
const JSON_LINES: HeaderValue = HeaderValue::from_static("application/jsonl; charset=utf-8");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The settings of the data port, beside the hub.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Names, sessions and the token file.
    pub policy: Policy,
    /// The source of the page's files.
    pub page: PageSource,
    /// The counters of refusals.
    pub refusals: Arc<Refusals>,
}

/// Makes the router of the data port. Every route, including the page, is behind the checks.
pub fn router<H: Hub>(hub: H, config: WebConfig) -> Router {
    let page_source = config.page.clone();
    let web = Arc::new(Web {
        hub,
        config,
        opening: Arc::new(Semaphore::new(MAX_OPENING_SOCKETS)),
    });
    Router::new()
        .route("/ws", get(socket::<H>))
        .route(
            "/session",
            get(session_status::<H>).post(session_exchange::<H>),
        )
        .route("/api/records", get(records::<H>))
        .route("/api/state", get(state::<H>))
        .route("/api/notes", get(notes::<H>))
        .route("/api/search", get(search::<H>))
        .route("/api/objects/{position}", get(object::<H>))
        .merge(
            page::router(page_source).layer(middleware::from_fn_with_state(
                Arc::clone(&web),
                bring_session::<H>,
            )),
        )
        .layer(middleware::from_fn_with_state(Arc::clone(&web), guard::<H>))
        .layer(middleware::map_response(headers::secure))
        .with_state(web)
}

struct Web<H> {
    hub: H,
    config: WebConfig,
    opening: Arc<Semaphore>,
}

/// Judges a request. A grant goes into the request's extensions.
async fn guard<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    mut request: Request,
    next: Next,
) -> Response {
    let judged = web
        .config
        .policy
        .judge(request.method(), request.uri(), request.headers())
        .and_then(|pass| {
            if let Pass::Granted(grant) = pass {
                if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
                    connection
                        .admit()
                        .map_err(|_| Refusal::TooManyConnections)?;
                }
                request.extensions_mut().insert(grant);
            }
            Ok(())
        });
    match judged {
        Ok(()) => next.run(request).await,
        Err(refusal) => web.refuse(refusal, request.method(), request.uri(), request.headers()),
    }
}

impl<H: Hub> Web<H> {
    /// Returns what the server is, and whether these headers come from a browser with a session. With a session also the
    /// hash of the recording that exports name.
    fn session_status(&self, headers: &HeaderMap) -> String {
        let instance = self.config.policy.sessions.instance();
        let session = self.config.policy.has_session(headers);
        let source = self.hub.source().filter(|_| session);
        let source = source.map_or_else(String::new, |hash| format!(r#","source":"{hash}""#));
        // The fields are in the documented order. No value needs escaping.
        format!(
            r#"{{"product":"watchscope","protocol":{PROTOCOL_VERSION},"instance":"{instance}","session":{session}{source}}}"#
        )
    }
}

impl<H> Web<H> {
    fn refuse(
        &self,
        refusal: Refusal,
        method: &http::Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Response {
        let host = match uri.authority() {
            Some(authority) => Some(authority.as_str().as_bytes()),
            None => headers.get(HOST).map(HeaderValue::as_bytes),
        };
        let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
        self.config.refusals.note(
            refusal,
            Refused {
                method,
                path: uri.path(),
                host,
                origin,
            },
        );
        refusal.into_response()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{}\n", self.advice())).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"watchscope\""),
            );
        }
        response
    }
}

async fn session_status<H: Hub>(State(web): State<Arc<Web<H>>>, headers: HeaderMap) -> Response {
    ([(CONTENT_TYPE, JSON)], web.session_status(&headers)).into_response()
}

/// Adds the answer of `GET /session` to the document, in the one header that a page can read of its own document. This saves
/// a round trip before the page draws. If that answer shows no session, the page asks by itself.
async fn bring_session<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    request: Request,
    next: Next,
) -> Response {
    let status = page::is_document(&request).then(|| web.session_status(request.headers()));
    let mut response = next.run(request).await;
    if let Some(status) = status {
        let quoted = status.replace('"', "\\\"");
        let value = HeaderValue::try_from(format!("session;desc=\"{quoted}\""))
            .expect("hex digits, words and numbers make a header");
        response.headers_mut().insert(SERVER_TIMING, value);
    }
    response
}

async fn session_exchange<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    method: http::Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let sessions = &web.config.policy.sessions;
    let scheme = page_scheme(&headers);
    match bearer(&headers)
        .ok_or(Refusal::NoSession)
        .and_then(|secret| Ok(sessions.exchange(secret, scheme)?))
    {
        Ok(token) => {
            let secure = match scheme {
                Scheme::Http => "",
                Scheme::Https => "; Secure",
            };
            let cookie = format!(
                "{}={}; Path=/; HttpOnly; SameSite=Strict{secure}",
                sessions.cookie_name(),
                token.expose()
            );
            let mut response = StatusCode::NO_CONTENT.into_response();
            response
                .headers_mut()
                .append(SET_COOKIE, set_cookie(cookie));
            for name in sessions.spare_cookies(all_cookies(&headers).map(|(name, _)| name)) {
                response.headers_mut().append(
                    SET_COOKIE,
                    set_cookie(format!("{name}=; Path=/; Max-Age=0")),
                );
            }
            response
        }
        Err(refusal) => web.refuse(refusal, &method, &uri, &headers),
    }
}

fn set_cookie(text: String) -> HeaderValue {
    let mut value = HeaderValue::try_from(text).expect("hex and base64 make a header");
    value.set_sensitive(true);
    value
}

async fn records<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    Extension(grant): Extension<Grant>,
    uri: Uri,
) -> Response {
    let since = match only_parameter(&uri, "since") {
        Ok(since) => since,
        Err(refused) => return refused,
    };
    match web.hub.records(since) {
        Ok(lines) => json_lines(lines, grant),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

async fn state<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    Extension(grant): Extension<Grant>,
    uri: Uri,
) -> Response {
    match no_parameter(&uri) {
        Ok(()) => json_lines(web.hub.state(), grant),
        Err(refused) => refused,
    }
}

async fn notes<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    Extension(_): Extension<Grant>,
    uri: Uri,
) -> Response {
    let (form, content_type) = match only_parameter(&uri, "form") {
        Ok(None) => (NotesForm::Lines, JSON_LINES),
        Ok(Some("block")) => (NotesForm::Block, BLOCK),
        Ok(Some(_)) => return (StatusCode::BAD_REQUEST, "form: there is block\n").into_response(),
        Err(refused) => return refused,
    };
    let notes = web.hub.notes(form).await;
    ([(CONTENT_TYPE, content_type)], notes).into_response()
}

async fn search<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    Extension(grant): Extension<Grant>,
    uri: Uri,
) -> Response {
    let request = match search_query::request(&uri) {
        Ok(request) => request,
        Err(refused) => return bad_query(&refused.to_string()),
    };
    let error = match web.hub.search(SessionId(grant.session()), request) {
        Ok(lines) => return json_lines(lines, grant),
        Err(error) => error,
    };
    let status = match &error {
        SearchError::Query(_) | SearchError::BadPosition { .. } => StatusCode::BAD_REQUEST,
        SearchError::UnknownLog { .. } => StatusCode::NOT_FOUND,
        SearchError::NotKept { from } => {
            let line = search_query::not_kept(from);
            return (StatusCode::GONE, [(CONTENT_TYPE, JSON_LINES)], line).into_response();
        }
    };
    (status, format!("{error}\n")).into_response()
}

async fn object<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    Extension(_): Extension<Grant>,
    Path(position): Path<String>,
    uri: Uri,
) -> Response {
    if let Err(refused) = no_parameter(&uri) {
        return refused;
    }
    let parsed = position
        .split_once('.')
        .and_then(|(epoch, seq)| Some((epoch, seq.parse().ok()?)));
    let answer = match parsed {
        Some((epoch, seq)) => web.hub.object(epoch, seq).await,
        None => Err(ObjectError::Unknown),
    };
    match answer {
        Ok(body) => ([(CONTENT_TYPE, JSON)], body).into_response(),
        Err(error) => {
            let status = match error {
                ObjectError::Gone => StatusCode::GONE,
                ObjectError::Unknown => StatusCode::NOT_FOUND,
                ObjectError::NotRead { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (status, format!("{error}\n")).into_response()
        }
    }
}

async fn socket<H: Hub>(
    State(web): State<Arc<Web<H>>>,
    Extension(grant): Extension<Grant>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    if let Err(refused) = no_parameter(&uri) {
        return refused;
    }
    let Ok(opening) = Arc::clone(&web.opening).try_acquire_owned() else {
        return web.refuse(Refusal::TooManyUpgrades, &http::Method::GET, &uri, &headers);
    };
    let viewer = web.hub.viewer(SessionId(grant.session()));
    upgrade.answer(viewer_socket::config(), move |socket| {
        viewer_socket::run(socket, viewer, grant.revoked(), opening)
    })
}

/// Returns a stream of JSON lines that ends with the grant.
fn json_lines(lines: JsonLines, grant: Grant) -> Response {
    let lines = lines
        .take_until(Box::pin(grant.revoked()))
        .map(Ok::<Bytes, std::convert::Infallible>);
    ([(CONTENT_TYPE, JSON_LINES)], Body::from_stream(lines)).into_response()
}

/// Returns the value of the one query parameter that a route knows. Positions need no percent-encoding.
#[allow(clippy::result_large_err, reason = "the error is the answer")]
fn only_parameter<'a>(uri: &'a Uri, known: &str) -> Result<Option<&'a str>, Response> {
    let mut value = None;
    for pair in uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
    {
        match pair.split_once('=') {
            Some((name, text)) if name == known && value.is_none() => value = Some(text),
            _ => {
                return Err(bad_query(&format!(
                    "this route takes one parameter, {known}"
                )));
            }
        }
    }
    Ok(value)
}

#[allow(clippy::result_large_err, reason = "the error is the answer")]
fn no_parameter(uri: &Uri) -> Result<(), Response> {
    match uri.query() {
        None | Some("") => Ok(()),
        Some(_) => Err(bad_query("this route takes no parameter")),
    }
}

fn bad_query(advice: &str) -> Response {
    (StatusCode::BAD_REQUEST, format!("{advice}\n")).into_response()
}
