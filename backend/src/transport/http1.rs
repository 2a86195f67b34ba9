//! HTTP/1.1 on one connection. The task that waits for an answer drives hyper's connection type.
//!
//! hyper's connection future is polled inside [`Connection::send`] and [`Body::chunk`], not in a task of its own. So no
//! chunk crosses a thread, nothing is read without a request for it, and the reader itself sees every end. A chunk is a
//! slice of hyper's read buffer. That grows from 8 KiB to at most 256 KiB while the server is ahead of us, and lives as long
//! as the connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Request;
use http::header::TRANSFER_ENCODING;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::error::{BodyEnd, SendError};
use super::facts::ConnectionFacts;
use super::message::{Framing, Head, MAX_HEAD_BYTES, MAX_HEAD_LINES, prepare};
use super::tap::{Ending, Io, Tap};
use super::target::Target;

/// The most bytes of one read from the socket, and of the buffer that a busy connection keeps.
const MAX_READ_BYTES: usize = 256 * 1024;

type Driver = http1::Connection<TokioIo<Tap>, Full<Bytes>>;

/// One open connection with no request in flight. Dropping it closes it.
pub(super) struct Connection {
    facts: Arc<ConnectionFacts>,
    target: Arc<Target>,
    sender: http1::SendRequest<Full<Bytes>>,
    /// None once hyper has finished with the connection.
    driver: Option<Driver>,
    /// hyper's error about the connection.
    fault: Option<String>,
    ending: Arc<Ending>,
}

/// The body of a response, and the connection that it comes on.
pub(super) struct Body {
    connection: Connection,
    incoming: Incoming,
    bytes: u64,
    end: Option<Result<(), BodyEnd>>,
}

impl Connection {
    pub(super) async fn start(
        io: Box<dyn Io>,
        facts: ConnectionFacts,
        target: Arc<Target>,
    ) -> Self {
        let (tap, ending) = Tap::new(io);
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(MAX_READ_BYTES)
            .max_header_size(MAX_HEAD_BYTES)
            .max_headers(MAX_HEAD_LINES)
            .writev(false)
            .handshake(TokioIo::new(tap))
            .await
            .expect("hyper's HTTP/1 handshake exchanges nothing, so it cannot fail");
        Self {
            facts: Arc::new(facts),
            target,
            sender,
            driver: Some(driver),
            fault: None,
            ending,
        }
    }

    pub(super) fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.facts
    }

    pub(super) async fn send(mut self, request: Request<Bytes>) -> Result<(Head, Body), SendError> {
        let request = prepare(request, &self.target.endpoint, false)?.map(Full::new);
        let (parts, incoming) = self.exchange(request).await?;
        let framing = match incoming.size_hint().exact() {
            Some(length) => Framing::Length(length),
            None if parts.headers.contains_key(TRANSFER_ENCODING) => Framing::Chunked,
            None => Framing::UntilClose,
        };
        let head = Head {
            status: parts.status,
            headers: parts.headers,
            framing,
            stream: None,
        };
        let body = Body {
            connection: self,
            incoming,
            bytes: 0,
            end: None,
        };
        Ok((head, body))
    }

    pub(super) async fn ended(&mut self) -> BodyEnd {
        poll_fn(|cx| self.poll_driver(cx)).await;
        self.cause("it was closed")
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(http::response::Parts, Incoming), SendError> {
        poll_fn(|cx| self.poll_usable(cx)).await?;
        let mut answer = Box::pin(self.sender.send_request(request));
        let answered = poll_fn(|cx| {
            // hyper delivers the answer while its connection is polled, so that comes first.
            let _ = self.poll_driver(cx);
            answer.as_mut().poll(cx)
        })
        .await;
        match answered {
            Ok(response) => Ok(response.into_parts()),
            Err(error) if error.is_parse() => {
                let detail = full_text(&error);
                Err(SendError::BadHead {
                    detail,
                    max_bytes: MAX_HEAD_BYTES,
                    max_lines: MAX_HEAD_LINES,
                })
            }
            Err(error) => Err(SendError::Ended(self.cause(&full_text(&error)))),
        }
    }

    /// Ready once a request may be sent; an error if the server has closed the connection.
    fn poll_usable(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let finished = self.poll_driver(cx).is_ready();
        match self.sender.poll_ready(cx) {
            Poll::Ready(Ok(())) if !finished => Poll::Ready(Ok(())),
            Poll::Pending if !finished => Poll::Pending,
            _ => Poll::Ready(Err(SendError::Stale)),
        }
    }

    /// Lets hyper read and write. Ready once hyper has finished with the connection.
    fn poll_driver(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(driver) = &mut self.driver {
            // The tap has noted this error too, or the answer carries it. Between two answers nobody else sees it, so it is
            // kept.
            let finished = ready!(Pin::new(driver).poll(cx));
            self.fault = finished.err().map(|error| full_text(&error));
            self.driver = None;
        }
        Poll::Ready(())
    }

    /// Returns why the connection ended, as seen on the wire; if nothing was seen, `otherwise`.
    fn cause(&self, otherwise: &str) -> BodyEnd {
        self.ending.get().unwrap_or_else(|| BodyEnd::Malformed {
            detail: otherwise.to_owned(),
        })
    }
}

impl Body {
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, BodyEnd> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    pub(super) async fn into_connection(mut self) -> Result<Connection, BodyEnd> {
        match self.end.take() {
            Some(Ok(())) => {}
            Some(Err(end)) => return Err(end),
            None => return Err(self.connection.cause("it was left before its end")),
        }
        let usable = poll_fn(|cx| Poll::Ready(self.connection.poll_usable(cx))).await;
        if matches!(usable, Poll::Ready(Ok(()))) {
            return Ok(self.connection);
        }
        let fault = self.connection.fault.take();
        // The server announced that it closes the connection. It is no fault that it has not done so yet.
        Err(match fault {
            Some(detail) => self.connection.cause(&detail),
            None => self.connection.ending.get().unwrap_or(BodyEnd::Eof {
                is_unclean_tls: false,
            }),
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.connection.facts
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyEnd>> {
        loop {
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(|()| None));
            }
            // hyper returns one chunk each time its connection is polled, so that comes first.
            let _ = self.connection.poll_driver(cx);
            match ready!(Pin::new(&mut self.incoming).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Other frames are trailers, which are not used.
                    if let Ok(chunk) = frame.into_data()
                        && !chunk.is_empty()
                    {
                        self.bytes += chunk.len() as u64;
                        return Poll::Ready(Ok(Some(chunk)));
                    }
                }
                Some(Err(error)) => self.end = Some(Err(self.connection.cause(&full_text(&error)))),
                None => self.end = Some(Ok(())),
            }
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("bytes", &self.bytes)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// Returns an error's text with those of its sources, since hyper's errors describe only their own level.
fn full_text(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
