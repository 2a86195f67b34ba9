//! Messages between the world and its clients: requests in, deliveries out.
//!
//! A message is a step of HTTP (a head, a chunk, an end), not its bytes; a socket front turns messages into bytes. A
//! response is an [`Arrival::Head`], any number of [`Arrival::Chunk`], then [`Arrival::End`] or [`Arrival::Reset`]. If
//! [`Arrival::Closed`] cuts the connection, every request open on that connection ends with it.

use bytes::Bytes;

use crate::time::Time;

/// The id of one apiserver: its index in [`Config::servers`](crate::Config::servers), from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u16);

/// The id of a client's connection to an apiserver, counted from 1; a world never reuses an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// The id of a request, counted from 1; a world never reuses an id, not even on another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// An HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The HTTP method: `GET`, `POST`, `PUT`, `PATCH`, `DELETE`; in upper case. Objects and lists answer any other
    /// method with 405.
    pub method: String,
    /// The path, still percent-encoded, without the query. The path begins with a slash; a path without it is answered
    /// 404.
    pub path: String,
    /// The query, still percent-encoded, without the question mark; empty if the request has no query.
    pub query: String,
    /// Header names (compared without case) and values. Of several headers with one name the first counts.
    pub headers: Vec<(String, String)>,
    /// The request's body; empty if it has none. No server bounds the size of a request body.
    pub body: Bytes,
}

impl Request {
    /// Returns a GET of `target`, a path with its query if it has one (`/api/v1/pods?watch=true`).
    pub fn get(target: &str) -> Request {
        Request::new("GET", target)
    }

    /// Returns a request of `target`, a path with its query if it has one, without headers and body. The function takes
    /// `method` and `target` unchecked and unencoded.
    pub fn new(method: &str, target: &str) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            ..Request::default()
        }
    }

    /// Returns the request with one more header, after its present headers.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the request with a JSON body in place of its body, and one more header, the content type
    /// `application/json`. If the request has a content type already, the earlier content type comes first and counts.
    #[must_use]
    pub fn json(mut self, body: &serde_json::Value) -> Request {
        self.body = Bytes::from(crate::json::json_text(body));
        self.header("content-type", "application/json")
    }

    /// Returns the value of the first header called `name`; `None` without such a header. Case does not count.
    pub(crate) fn header_value(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Status and headers of a response.
///
/// Over a connection a head has a `content-length` header when the whole body is known: always, except for watches.
/// From [`World::call`](crate::World::call) a head has only the headers of the answer itself, such as `content-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// HTTP status code.
    pub status: u16,
    /// Header names in lower case, and values, in the order in which they are sent.
    pub headers: Vec<(String, String)>,
}

/// A whole response, as [`World::call`](crate::World::call) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status and headers.
    pub head: Head,
    /// The response's body; empty if it has none.
    pub body: Bytes,
}

impl Response {
    /// Returns the body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        crate::json::read(&self.body).unwrap_or_default()
    }
}

/// How a connection ended that the client did not close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut {
    /// TCP reset: bytes under way to the client are discarded (F08).
    Reset,
    /// TCP FIN in the middle of responses: bodies stop before their end (F06, F47). Bytes under way to the client still
    /// arrive; bytes that a stall holds ([`Fault::Stall`](crate::Fault::Stall)) are lost.
    Eof,
}

/// How a client's connection takes bytes off the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A byte counts as read when it is delivered, so only bytes under way fill the window.
    Immediate,
    /// A byte counts as read when the driver calls [`World::consume`](crate::World::consume).
    /// Delivered bytes that are not consumed fill the response's window
    /// ([`NetworkConfig::window_bytes`](crate::NetworkConfig::window_bytes)), then the watcher's buffer. When window
    /// and buffer are full, the apiserver ends the watch (docs/semantics/servers.md#slow-watch, F36).
    Credit,
}

/// Something that reached a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When the delivery reached the client, in virtual time.
    pub at: Time,
    /// The connection that the delivery came over.
    pub connection: ConnectionId,
    /// What reached the client: the beginning, bytes or end of a response or connection.
    pub arrival: Arrival,
}

/// A step of HTTP that reaches a client: a connection opens or closes, or a response begins, brings bytes, or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The connection is open. Requests that the client sent while dialling are not lost; the server may have them
    /// already.
    Connected,
    /// The connection was refused: a reset answered the first packet. Requests that the client sent while dialling are
    /// lost.
    Refused,
    /// A response began.
    Head {
        /// The request that is answered.
        request: RequestId,
        /// The response's status and headers.
        head: Head,
    },
    /// Bytes of a response's body; they are shared with other streams, not copied.
    Chunk {
        /// The request whose response body has these bytes.
        request: RequestId,
        /// The bytes; never empty. A watch's chunk holds whole frames, unless a fault tore a frame.
        bytes: Bytes,
    },
    /// The orderly end of a response's body.
    End {
        /// The request whose response body ends.
        request: RequestId,
    },
    /// The server gives a response up, and its connection stays open (HTTP/2 RST_STREAM).
    Reset {
        /// The request whose response is given up.
        request: RequestId,
        /// The error code of the RST_STREAM frame (RFC 9113 section 7).
        code: u32,
    },
    /// The client should send no new requests over this connection (HTTP/2 GOAWAY, F09). Open requests go on, unless a
    /// cut follows; when they are over, the connection closes. A new request that reaches the server before the
    /// connection closes is still answered.
    GoAway,
    /// The connection is gone, and with it every request open on it.
    Closed(Cut),
}

impl Arrival {
    /// Returns the request whose response this arrival belongs to; `None` for an arrival that concerns the whole
    /// connection.
    pub fn request(&self) -> Option<RequestId> {
        match self {
            Arrival::Head { request, .. }
            | Arrival::Chunk { request, .. }
            | Arrival::End { request }
            | Arrival::Reset { request, .. } => Some(*request),
            Arrival::Connected | Arrival::Refused | Arrival::GoAway | Arrival::Closed(_) => None,
        }
    }
}
