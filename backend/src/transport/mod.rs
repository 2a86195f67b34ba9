//! Connections to an apiserver. Each step of their life is reported as a fact.
//!
//! The input is a [`Target`] (address, TLS settings, proxy) and requests. The output is [`Connection`]s with their
//! [`ConnectionFacts`], responses whose body states how it ended ([`BodyEnd`]), and errors that name the failed step.
//! Deliberately absent: pools, retries, redirects (never followed), credentials (`cluster`), and any knowledge of
//! Kubernetes' messages.
//!
//! ```text
//!  Connector::open: resolve ─► connect ─► [proxy] ─► [TLS, ALPN] ─► Connection
//!                        ▲                                             │ send
//!                        │ closed                                      ▼
//!                        └──────────── into_connection ◄─ end ─ Response, Body ─► BodyEnd
//! ```
//!
//! Over TLS the server chooses between HTTP/2 and HTTP/1.1 (ALPN). `http2` uses the h2 crate, and `http1` uses hyper's
//! connection type. Both are behind the types of `connection`, and share the parts in `message`. One HTTP/2 connection
//! carries many requests: each has a share of it, and a [`Listener`] gets the events of the whole connection.

mod connection;
mod dial;
mod error;
mod facts;
mod frames;
mod http1;
mod http2;
mod message;
mod proxy;
mod tap;
mod target;

#[cfg(test)]
pub(crate) mod tests;

pub use connection::{Body, Connection, Response};
pub use dial::{Connector, DialLimits};
pub use error::{BodyEnd, CollectError, DialError, ProxyFailure, SendError, TlsFailure};
pub use facts::{ConnectionFacts, DialTimes, TlsFacts};
pub use http2::{Happening, Listener};
pub use message::Framing;
pub use target::{Endpoint, EndpointError, Protocols, Proxy, ProxyError, ProxyScheme, Target};
