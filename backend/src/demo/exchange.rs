//! The parts of an exchange that HTTP/1.1 and HTTP/2 share: its limits, its heads, and the stream below both.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, request};
use tokio::net::TcpStream;
use watchscope_simulator::{self as sim, Head};

use crate::origin::{AllowedHosts, judge_names};

/// The most bytes of a request's body. An apiserver accepts 3 MiB.
pub(super) const MAX_BODY_BYTES: usize = 3 << 20;
/// The answer to a larger body.
pub(super) const TOO_LARGE: &str = "the request body is larger than 3 MiB\n";
/// The answer once the simulated cluster has ended.
pub(super) const ENDED: &str = "the simulated cluster has ended\n";
/// The timeout for a client's first bytes and for the head of a request on a fresh connection. With HTTP/1.1 it is also that
/// of the wait between two requests.
pub(super) const FIRST_WORD_LIMIT: Duration = Duration::from_secs(120);

/// Checks Host and Origin of a request.
///
/// # Errors
/// The status and the advice of the refusal.
pub(super) fn judge(parts: &request::Parts) -> Result<(), (StatusCode, &'static str)> {
    judge_names(&AllowedHosts::loopback(), &parts.uri, &parts.headers)
        .map_err(|refusal| (refusal.status(), refusal.advice()))
}

/// Converts a request into the form that the simulated cluster takes.
pub(super) fn simulated(parts: &request::Parts, body: Bytes) -> sim::Request {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    sim::Request {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body,
    }
}

/// Converts a head of the simulated cluster into an HTTP response.
pub(super) fn head_of(head: Head) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() =
        StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Sets the socket to send RST instead of FIN when it is closed, by a linger time of zero.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// A TCP stream that is shared with the code that may reset it.
pub(super) struct SharedStream(pub(super) Arc<TcpStream>);

impl tokio::io::AsyncRead for SharedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        loop {
            std::task::ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl tokio::io::AsyncWrite for SharedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        loop {
            std::task::ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(
            rustix::net::shutdown(&*self.0, rustix::net::Shutdown::Write).map_err(Into::into),
        )
    }
}
