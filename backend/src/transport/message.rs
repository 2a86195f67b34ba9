//! The parts of a message that HTTP/1.1 and HTTP/2 share: the head of a response, its limits, and our own headers.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT};
use http::{Request, StatusCode, Uri};

use super::error::SendError;
use super::target::Endpoint;

/// Largest head of a response, in bytes; a larger one is refused.
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Most lines in the head of a response; one with more is refused.
pub(super) const MAX_HEAD_LINES: usize = 128;

const OUR_USER_AGENT: &str = concat!("watchscope/", env!("CARGO_PKG_VERSION"));

/// The head of a response.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// The number of its stream on the connection (HTTP/2).
    pub(super) stream: Option<u32>,
}

/// How the wire marks the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// In chunks: a missing end shows that the body was lost.
    Chunked,
    /// With its length given in advance: a missing end shows too.
    Length(u64),
    /// By closing the connection (HTTP/1.0 style, as old proxies do): a loss looks like an end.
    UntilClose,
    /// In HTTP/2's frames: a missing end shows too.
    Frames,
}

/// Makes a request one for this server: puts its path below the server's base path and sets our headers. With
/// `is_absolute` the URI names the server, as HTTP/2 wants it; without, the Host header does.
///
/// # Errors
/// [`SendError::BadRequest`] if path and server make no URI, or the server's name no header.
pub(super) fn prepare(
    request: Request<Bytes>,
    endpoint: &Endpoint,
    is_absolute: bool,
) -> Result<Request<Bytes>, SendError> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let bad = |detail: String| SendError::BadRequest {
        path: path.to_owned(),
        detail,
    };
    let server = endpoint.host_header();
    let target = format!("{}{path}", endpoint.base_path);
    let target = if is_absolute {
        let scheme = if endpoint.is_tls { "https" } else { "http" };
        format!("{scheme}://{server}{target}")
    } else {
        target
    };
    let uri: Uri = target
        .parse()
        .map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
    if !is_absolute {
        let host = HeaderValue::try_from(server).map_err(|error| bad(error.to_string()))?;
        parts.headers.insert(HOST, host);
    }
    parts.uri = uri;
    parts
        .headers
        .entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(OUR_USER_AGENT));
    parts
        .headers
        .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(Request::from_parts(parts, body))
}
