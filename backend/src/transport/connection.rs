//! One open connection of either HTTP version: it takes requests, and returns answers with their bodies.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use tokio::time::timeout;

use super::error::{BodyEnd, CollectError, SendError};
use super::facts::ConnectionFacts;
use super::message::{Framing, Head};
use super::{http1, http2};

/// One open connection that takes a request. With HTTP/1.1 it is the whole connection, and dropping it closes the
/// connection. With HTTP/2 it is a share, and dropping the last share closes the connection.
#[derive(Debug)]
pub struct Connection(pub(super) Spoken);

/// The HTTP version of a connection.
#[derive(Debug)]
pub(super) enum Spoken {
    Http1(Box<http1::Connection>),
    Http2(http2::Connection),
}

/// The head of a response, with a body that is still to be read.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// How the wire marks the end of the body.
    pub framing: Framing,
    /// The number of its stream on the connection (HTTP/2).
    pub stream: Option<u32>,
    /// The body. Dropping it before its end cancels the request: HTTP/1.1 closes the connection, HTTP/2 resets the stream.
    pub body: Body,
}

/// The body of a response, with its connection or share of one.
#[derive(Debug)]
pub struct Body(Read);

/// The HTTP version of a body.
#[derive(Debug)]
enum Read {
    Http1(Box<http1::Body>),
    Http2(http2::Body),
}

impl Connection {
    /// The facts about the connection.
    pub fn facts(&self) -> &Arc<ConnectionFacts> {
        match &self.0 {
            Spoken::Http1(connection) => connection.facts(),
            Spoken::Http2(connection) => connection.facts(),
        }
    }

    /// Returns another share of the connection, for a request at the same time. There is none with HTTP/1.1, if the
    /// connection has no room for one more, or if it takes no more. One share belongs to the keeper, which sends nothing.
    pub fn share(&self) -> Option<Self> {
        match &self.0 {
            Spoken::Http1(_) => None,
            Spoken::Http2(connection) => connection.share().map(|share| Self(Spoken::Http2(share))),
        }
    }

    /// Returns the listener for events of the whole connection. There is one with HTTP/2, and only the first call returns
    /// it.
    pub fn listen(&mut self) -> Option<http2::Listener> {
        match &mut self.0 {
            Spoken::Http1(_) => None,
            Spoken::Http2(connection) => connection.listen(),
        }
    }

    /// Whether it is a share, so that other requests may use the same connection.
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Spoken::Http2(_))
    }

    /// Sends a request whose URI is a path with query. Waits at most `header_limit` for the head of the response. This
    /// function sets Host, `Accept-Encoding: identity`, and User-Agent unless there is one. Only [`SendError::Stale`]
    /// guarantees that the server got no byte of the request. Dropping the future cancels the request.
    pub async fn send(
        self,
        request: Request<Bytes>,
        header_limit: Duration,
    ) -> Result<Response, SendError> {
        let exchange = async {
            Ok(match self.0 {
                Spoken::Http1(connection) => {
                    let (head, body) = connection.send(request).await?;
                    Response::new(head, Read::Http1(Box::new(body)))
                }
                Spoken::Http2(connection) => {
                    let (head, body) = connection.send(request).await?;
                    Response::new(head, Read::Http2(body))
                }
            })
        };
        match timeout(header_limit, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(SendError::HeaderTimeout {
                limit: header_limit,
            }),
        }
    }

    /// Waits until an idle connection can take no more requests, and returns why. Cancel safe.
    pub async fn ended(&mut self) -> BodyEnd {
        match &mut self.0 {
            Spoken::Http1(connection) => connection.ended().await,
            Spoken::Http2(connection) => connection.ended().await,
        }
    }
}

impl Response {
    fn new(head: Head, body: Read) -> Self {
        Self {
            status: head.status,
            headers: head.headers,
            framing: head.framing,
            stream: head.stream,
            body: Body(body),
        }
    }
}

impl Body {
    /// Returns the next piece of the body. It is never empty, and usually one HTTP chunk or frame, cut where a read ended.
    /// It is a slice of the read buffer and keeps all of that alive, so copy what must stay. `None` is the orderly end.
    /// Cancel safe; after an end, each call returns that end again. The read buffer or the stream's window bounds what is
    /// read ahead, so a reader that waits makes the server wait.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyEnd> {
        match &mut self.0 {
            Read::Http1(body) => body.chunk().await,
            Read::Http2(body) => body.chunk().await,
        }
    }

    /// Reads the whole body, at most `limit` bytes within `time_limit`. Also returns the connection if it can be used again.
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

    /// Returns the connection after an orderly end, if it takes more requests.
    ///
    /// # Errors
    /// How the connection ended, or which bytes came that belong to no request. A body that has not ended is cancelled; one
    /// that ended otherwise returns its own end.
    pub async fn into_connection(self) -> Result<Connection, BodyEnd> {
        match self.0 {
            Read::Http1(body) => {
                let connection = body.into_connection().await?;
                Ok(Connection(Spoken::Http1(Box::new(connection))))
            }
            Read::Http2(body) => {
                let connection = body.into_connection()?;
                Ok(Connection(Spoken::Http2(connection)))
            }
        }
    }

    /// Waits until the connection's listener has taken all its events so far. So events of the connection are logged before
    /// their consequences.
    pub async fn settled(&mut self) {
        if let Read::Http2(body) = &mut self.0 {
            body.settled().await;
        }
    }

    /// The bytes of the body that were delivered so far.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Read::Http1(body) => body.bytes(),
            Read::Http2(body) => body.bytes(),
        }
    }

    /// The facts about the connection.
    pub fn facts(&self) -> &Arc<ConnectionFacts> {
        match &self.0 {
            Read::Http1(body) => body.facts(),
            Read::Http2(body) => body.facts(),
        }
    }
}
