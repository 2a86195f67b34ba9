//! Conversions between HTTP messages and the log: requests with credentials, headers, and the causes of ends.

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Request};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;

use crate::cluster::Session;
use crate::transport::BodyEnd;

/// Builds a GET with the session's credentials.
///
/// # Errors
/// A sentence, if the credentials cannot be had or the target is no URI.
pub(crate) async fn request_of(
    target: String,
    accept: &'static str,
    session: Option<&Session>,
) -> Result<Request<Bytes>, String> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if let Some(session) = session {
        let authorized = session.authorize(&mut headers).await;
        authorized.map_err(|error| error.to_string())?;
    }
    let request = Request::get(target).body(Bytes::new());
    let mut request = request.map_err(|error| error.to_string())?;
    *request.headers_mut() = headers;
    Ok(request)
}

/// Converts headers into the log's form.
pub(crate) fn headers_of(headers: &HeaderMap) -> Headers {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
    Headers(
        headers
            .iter()
            .map(|(name, value)| (name.as_str().into(), text(value)))
            .collect(),
    )
}

/// Returns the log's cause for the end of a body or a connection.
pub(crate) fn cause_of(end: &BodyEnd) -> Cause {
    match end {
        BodyEnd::EofInFrame => Cause::EofInFrame,
        BodyEnd::Reset { .. } => Cause::RstStream,
        BodyEnd::GoAway { .. } => Cause::Goaway,
        BodyEnd::Silent { .. } | BodyEnd::GivenUp { .. } => Cause::IdleTimeout,
        BodyEnd::Eof { .. } => Cause::Eof,
        BodyEnd::TcpReset { .. } => Cause::TcpReset,
        BodyEnd::Tls { .. } => Cause::Tls,
        BodyEnd::Malformed { .. } => Cause::Decode,
    }
}
