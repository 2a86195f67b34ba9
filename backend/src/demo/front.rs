//! The simulated apiserver on sockets: HTTP around the world's structured messages.
//!
//! Its own listener, over hyper's server connection for HTTP/1.1 (`http1`) and h2's for HTTP/2 (`http2`), since it must
//! be able to reset a connection, to end one without the body's end, to leave a frame torn, and to send GOAWAY and
//! RST_STREAM. A client's first word says which it speaks: HTTP/2 comes with "prior knowledge", there is no TLS.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, request};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use watchscope_simulator::{self as sim, ConnectionId, Head};

use super::pump::{Ask, Pump, Wire};
use super::{http1, http2};
use crate::web::hosts::AllowedHosts;
use crate::web::judge_names;

/// Largest request body taken; an apiserver takes 3 MiB.
pub(super) const MAX_BODY_BYTES: usize = 3 << 20;
/// What a larger one is told.
pub(super) const TOO_LARGE: &str = "the request body is larger than 3 MiB\n";
/// What is said when there is no world any more.
pub(super) const ENDED: &str = "the simulated cluster has ended\n";
/// For a client's first word, the head of a request on a fresh connection, and the wait between two with HTTP/1.1.
pub(super) const FIRST_WORD_LIMIT: Duration = Duration::from_secs(120);
/// Connections served at once; the next waits in the kernel's queue.
const MAX_CONNECTIONS: usize = 512;
/// How a client of HTTP/2 begins; no request of HTTP/1.1 does.
const HTTP2_BEGINS: &[u8; 4] = b"PRI ";

/// Between two tries of what failed: accepting, or listening again.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Serves the world behind `pump` until dropped. While nobody listens in the world, nobody does at `address`.
pub(super) async fn serve(mut listener: TcpListener, address: SocketAddr, pump: Pump) {
    let seats = Arc::new(tokio::sync::Semaphore::new(MAX_CONNECTIONS));
    let mut conversations = tokio::task::JoinSet::new();
    let mut refusing = pump.refusing();
    loop {
        if *refusing.borrow_and_update() {
            drop(listener);
            // An error means that the world has ended.
            if refusing.wait_for(|refuses| !refuses).await.is_err() {
                return;
            }
            listener = loop {
                match TcpListener::bind(address).await {
                    Ok(listener) => break listener,
                    Err(_) => tokio::time::sleep(RETRY_AFTER).await,
                }
            };
        }
        let seat = Arc::clone(&seats).acquire_owned().await;
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Ok(()) = refusing.changed() => continue,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(RETRY_AFTER).await;
            continue;
        };
        while conversations.try_join_next().is_some() {}
        let pump = pump.clone();
        conversations.spawn(async move {
            converse(stream, pump).await;
            drop(seat);
        });
    }
}

/// One connection, from accept to its end.
async fn converse(stream: TcpStream, pump: Pump) {
    let _ = stream.set_nodelay(true);
    let (reply, wire) = oneshot::channel();
    if !pump.ask(Ask::Connect(reply)).await {
        return;
    }
    let Ok(Wire {
        connection,
        deliveries,
    }) = wire.await
    else {
        return;
    };
    let _closes = CloseOnDrop {
        pump: pump.clone(),
        connection,
    };
    let Ok(is_http2) = timeout(FIRST_WORD_LIMIT, begins_http2(&stream)).await else {
        return;
    };
    // The stream is kept in reach, so that it can be reset rather than closed.
    let stream = Arc::new(stream);
    if is_http2 {
        http2::converse(stream, pump, connection, deliveries).await;
    } else {
        http1::converse(stream, pump, connection, deliveries).await;
    }
}

/// Whether a client's first word is HTTP/2's.
async fn begins_http2(stream: &TcpStream) -> bool {
    let mut first = [0; HTTP2_BEGINS.len()];
    loop {
        match stream.peek(&mut first).await {
            Ok(count) if count == first.len() => return &first == HTTP2_BEGINS,
            Ok(count) if count > 0 && HTTP2_BEGINS.starts_with(&first[..count]) => {
                // A word cut in the middle: nothing tells when the rest is there.
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            _ => return false,
        }
    }
}

/// Whether a request may be answered; else the status and the advice.
pub(super) fn judge(parts: &request::Parts) -> Result<(), (StatusCode, &'static str)> {
    judge_names(&AllowedHosts::loopback(), &parts.uri, &parts.headers)
        .map_err(|refusal| (refusal.status(), refusal.advice()))
}

/// A request as the world takes it.
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

/// The head of a response of the world's.
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

/// Has the socket send RST instead of FIN when it is closed: with no lingering.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// Tells the world when a client has gone.
struct CloseOnDrop {
    pump: Pump,
    connection: ConnectionId,
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.pump.ask_now(Ask::Close(self.connection));
    }
}

/// A TCP stream that is shared with whoever may reset it.
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
