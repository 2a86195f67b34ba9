//! One open connection, whichever HTTP it speaks: requests go in, answers with their bodies come out.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use tokio::time::timeout;

use super::error::{BodyEnd, CollectError, SendError};
use super::facts::ConnectionFacts;
use super::message::{Framing, Head};
use super::{http1, http2};

/// One open connection that takes a request. With HTTP/1.1 it is the whole connection, and dropping it closes that;
/// with HTTP/2 it is a share, and the last one dropped closes it.
#[derive(Debug)]
pub struct Connection(pub(super) Spoken);

/// What is spoken on it.
#[derive(Debug)]
pub(super) enum Spoken {
    Http1(Box<http1::Connection>),
    Http2(http2::Connection),
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
    /// The number of its stream on the connection (HTTP/2).
    pub stream: Option<u32>,
    /// The body. Dropping it before its end cancels the request: with HTTP/1.1 by closing the connection, with HTTP/2
    /// by resetting its stream.
    pub body: Body,
}

/// A response's body and the connection (or share of one) it comes on.
#[derive(Debug)]
pub struct Body(Read);

/// The protocol that the body comes by.
#[derive(Debug)]
enum Read {
    Http1(Box<http1::Body>),
    Http2(http2::Body),
}

impl Connection {
    /// What is known about it.
    pub fn facts(&self) -> &Arc<ConnectionFacts> {
        match &self.0 {
            Spoken::Http1(connection) => connection.facts(),
            Spoken::Http2(connection) => connection.facts(),
        }
    }

    /// Another share of the connection, for a request at the same time; none with HTTP/1.1, nor where the connection
    /// has no room for one more or takes no more. One share is taken for its keeper's, who sends nothing.
    pub fn share(&self) -> Option<Self> {
        match &self.0 {
            Spoken::Http1(_) => None,
            Spoken::Http2(connection) => connection.share().map(|share| Self(Spoken::Http2(share))),
        }
    }

    /// Who hears what happens to the connection as a whole; with HTTP/2, and once.
    pub fn listen(&mut self) -> Option<http2::Listener> {
        match &mut self.0 {
            Spoken::Http1(_) => None,
            Spoken::Http2(connection) => connection.listen(),
        }
    }

    /// Whether it is a share, so that others' requests may be on the same connection.
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Spoken::Http2(_))
    }

    /// Sends a request whose URI is a path with query, and waits for the response's head at most
    /// `header_limit`. Host, User-Agent (unless there is one) and `Accept-Encoding: identity` are set here. Only a
    /// [`SendError::Stale`] connection is sure to have carried nothing to the server. Dropping the
    /// future cancels the request.
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

    /// Waits until the idle connection can take no more requests and says why; for one that waits to be used again.
    /// Cancelling it loses nothing.
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
    /// The next piece of the body: never empty, usually one HTTP chunk or frame, cut where a read ended.
    /// It shares the read buffer, so copy what is to be kept: a slice keeps all of it alive.
    /// `None` is the orderly end. Cancelling it loses nothing; after an end it says that end again.
    /// What is read ahead is bounded by the read buffer or the stream's window, so a reader that waits makes the
    /// server wait.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyEnd> {
        match &mut self.0 {
            Read::Http1(body) => body.chunk().await,
            Read::Http2(body) => body.chunk().await,
        }
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

    /// The connection after an orderly end, if it takes more requests.
    ///
    /// # Errors
    /// How the connection ended, or what came on it that no request asked for. A body that has not
    /// ended gives its own end, or is cancelled by this.
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

    /// Returns when whoever listens to the connection has heard all that it said so far, so that what it says goes
    /// before what comes of it.
    pub async fn settled(&mut self) {
        if let Read::Http2(body) = &mut self.0 {
            body.settled().await;
        }
    }

    /// Bytes of the body delivered so far.
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Read::Http1(body) => body.bytes(),
            Read::Http2(body) => body.bytes(),
        }
    }

    /// What is known about the connection.
    pub fn facts(&self) -> &Arc<ConnectionFacts> {
        match &self.0 {
            Read::Http1(body) => body.facts(),
            Read::Http2(body) => body.facts(),
        }
    }
}
