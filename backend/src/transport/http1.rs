//! HTTP/1.1 on one connection, driven on hyper's connection type by whoever waits for an answer.
//!
//! hyper's connection future is polled inside [`Connection::send`] and [`Body::chunk`], not in a
//! task of its own: no chunk crosses a thread, nothing is read that nobody asked for, and no end
//! is noticed behind the reader's back. A chunk is a slice of hyper's read buffer, which grows from
//! 8 KiB to at most 256 KiB while the server is ahead of us, and lives as long as the connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING, USER_AGENT};
use http::{Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::error::{BodyEnd, CollectError, SendError};
use super::facts::ConnectionFacts;
use super::tap::{Ending, Io, Tap};
use super::target::Target;

/// Largest read from the socket, and largest buffer kept per connection while it is busy.
const MAX_READ_BYTES: usize = 256 * 1024;

/// A response head with more bytes is refused.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A response head with more lines is refused.
const MAX_HEAD_LINES: usize = 128;

const OUR_USER_AGENT: &str = concat!("watchscope/", env!("CARGO_PKG_VERSION"));

type Driver = http1::Connection<TokioIo<Tap>, Full<Bytes>>;

/// One open connection with no request in flight. Dropping it closes it.
pub struct Connection {
    facts: Arc<ConnectionFacts>,
    target: Arc<Target>,
    sender: http1::SendRequest<Full<Bytes>>,
    /// Gone once hyper has finished with the connection.
    driver: Option<Driver>,
    /// What hyper found wrong with it.
    fault: Option<String>,
    ending: Arc<Ending>,
    requests: u32,
}

/// How the end of a body is told on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Chunked: an end is told apart from a loss.
    Chunked,
    /// A length given in advance; so too.
    Length(u64),
    /// Until the connection closes (HTTP/1.0 style, as old proxies do): a loss looks like an end.
    UntilClose,
}

/// A response's head, and its body still to be read.
#[derive(Debug)]
pub struct Response {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// How the body's end is told.
    pub framing: Framing,
    /// The body; it owns the connection until its end. Dropping it closes the connection, which
    /// is how a request is cancelled.
    pub body: Body,
}

/// A response's body and the connection it comes on.
pub struct Body {
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
            requests: 0,
        }
    }

    /// What is known about it.
    pub fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.facts
    }

    /// Requests sent on it so far.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Sends a request whose URI is a path with query, and waits for the response's head at most
    /// `header_limit`. Host, User-Agent and `Accept-Encoding: identity` are set here. Only a
    /// [`SendError::Stale`] connection is sure to have carried nothing to the server. Dropping the
    /// future closes the connection.
    pub async fn send(
        mut self,
        request: Request<Bytes>,
        header_limit: Duration,
    ) -> Result<Response, SendError> {
        let request = self.prepare(request)?;
        match timeout(header_limit, self.exchange(request)).await {
            Ok(Ok((head, incoming))) => {
                let framing = match incoming.size_hint().exact() {
                    Some(length) => Framing::Length(length),
                    None if head.headers.contains_key(TRANSFER_ENCODING) => Framing::Chunked,
                    None => Framing::UntilClose,
                };
                let body = Body {
                    connection: self,
                    incoming,
                    bytes: 0,
                    end: None,
                };
                Ok(Response {
                    status: head.status,
                    headers: head.headers,
                    framing,
                    body,
                })
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(SendError::HeaderTimeout {
                limit: header_limit,
            }),
        }
    }

    /// Waits until the idle connection ends from the other side and says how; for one that waits
    /// to be used again. Cancelling it loses nothing.
    pub async fn ended(&mut self) -> BodyEnd {
        poll_fn(|cx| self.poll_driver(cx)).await;
        self.cause("it was closed")
    }

    fn prepare(&self, request: Request<Bytes>) -> Result<Request<Full<Bytes>>, SendError> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let bad = |detail: String| SendError::BadRequest {
            path: path.to_owned(),
            detail,
        };
        let endpoint = &self.target.endpoint;
        let uri: Uri = format!("{}{path}", endpoint.base_path)
            .parse()
            .map_err(|error: http::uri::InvalidUri| bad(error.to_string()))?;
        let host = HeaderValue::try_from(endpoint.host_header())
            .map_err(|error| bad(error.to_string()))?;
        parts.uri = uri;
        parts.headers.insert(HOST, host);
        parts
            .headers
            .insert(USER_AGENT, HeaderValue::from_static(OUR_USER_AGENT));
        parts
            .headers
            .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(Request::from_parts(parts, Full::new(body)))
    }

    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<(http::response::Parts, Incoming), SendError> {
        poll_fn(|cx| self.poll_usable(cx)).await?;
        self.requests = self.requests.saturating_add(1);
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

    /// Lets hyper read and write; ready once it has finished with the connection.
    fn poll_driver(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(driver) = &mut self.driver {
            // Its error is hyper's view of what the tap has noted, or reaches us by the answer; between two answers
            // nobody else hears of it.
            let finished = ready!(Pin::new(driver).poll(cx));
            self.fault = finished.err().map(|error| full_text(&error));
            self.driver = None;
        }
        Poll::Ready(())
    }

    /// Why the connection ended, by what was seen on the wire; what hyper found wrong, if nothing.
    fn cause(&self, otherwise: &str) -> BodyEnd {
        self.ending.get().unwrap_or_else(|| BodyEnd::Malformed {
            detail: otherwise.to_owned(),
        })
    }
}

impl Body {
    /// The next piece of the body: never empty, usually one HTTP chunk, cut where a read ended.
    /// It shares the read buffer, so copy what is to be kept: a slice keeps all of it alive.
    /// `None` is the orderly end. Cancelling it loses nothing; after an end it says that end again.
    /// What hyper reads ahead is bounded by its read buffer, so a reader that waits makes the
    /// server wait.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyEnd> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// Reads the whole body, at most `limit` bytes of it within `time_limit`, and gives the
    /// connection back if it can be used again.
    pub async fn collect(
        mut self,
        limit: usize,
        time_limit: Duration,
    ) -> Result<(Bytes, Option<Connection>), CollectError> {
        let read = async {
            let mut whole = Vec::new();
            while let Some(chunk) = self.chunk().await.map_err(CollectError::Ended)? {
                if chunk.len() > limit - whole.len() {
                    return Err(CollectError::TooLarge { limit });
                }
                whole.extend_from_slice(&chunk);
            }
            Ok(Bytes::from(whole))
        };
        let whole = match timeout(time_limit, read).await {
            Ok(result) => result?,
            Err(_) => return Err(CollectError::Timeout { limit: time_limit }),
        };
        Ok((whole, self.into_connection().await.ok()))
    }

    /// The connection after an orderly end, if the server keeps it open.
    ///
    /// # Errors
    /// How the connection ended, or what came on it that no request asked for. A body that has not
    /// ended gives its own end, or is cancelled by this.
    pub async fn into_connection(mut self) -> Result<Connection, BodyEnd> {
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
        // The server said that it closes the connection; that it has not yet is no fault.
        Err(match fault {
            Some(detail) => self.connection.cause(&detail),
            None => self.connection.ending.get().unwrap_or(BodyEnd::Eof {
                is_unclean_tls: false,
            }),
        })
    }

    /// Bytes of the body delivered so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is known about the connection.
    pub fn facts(&self) -> &Arc<ConnectionFacts> {
        &self.connection.facts
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyEnd>> {
        loop {
            if let Some(end) = &self.end {
                return Poll::Ready(end.clone().map(|()| None));
            }
            // hyper hands over one chunk each time its connection is polled, so that comes first.
            let _ = self.connection.poll_driver(cx);
            match ready!(Pin::new(&mut self.incoming).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    // Anything else is trailers, which nothing here uses.
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
            .field("requests", &self.requests)
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

/// hyper's errors say only their own level; the sources say what happened.
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
