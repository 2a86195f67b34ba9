//! The parts of a message that HTTP/1.1 and HTTP/2 share: the head of a response, its limits, and our own headers.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT};
use http::{Request, StatusCode, Uri};

use super::error::SendError;
use super::target::Endpoint;

/// The most bytes in the head of a response; a larger head is refused.
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The most lines in the head of a response; a longer head is refused.
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
    /// By chunks. A missing end shows that the rest was lost.
    Chunked,
    /// By a length given in advance. A missing end shows as well.
    Length(u64),
    /// By closing the connection (in the style of HTTP/1.0, as old proxies do). A lost connection looks like an end.
    UntilClose,
    /// By HTTP/2 frames. A missing end shows as well.
    Frames,
}

/// Prepares a request for this server: it puts the path below the server's base path and sets our headers. With
/// `is_absolute` the URI names the server, as HTTP/2 needs it; otherwise the Host header does.
///
/// # Errors
/// [`SendError::BadRequest`] if path and server form no URI, or if the server's name is no valid header.
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
