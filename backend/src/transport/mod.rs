//! Connections to an apiserver, with every step of their life as a fact.
//!
//! In go a [`Target`] (address, TLS settings, proxy) and requests; out come [`Connection`]s with
//! their [`ConnectionFacts`], responses whose body tells how it ended ([`BodyEnd`]), and errors
//! that say which step failed. Deliberately absent: pools, retries, redirects (never followed),
//! credentials (`cluster`) and any knowledge of Kubernetes' messages.
//!
//! ```text
//!  Connector::open: resolve ─► connect ─► [proxy] ─► [TLS, ALPN] ─► Connection
//!                        ▲                                             │ send
//!                        │ closed                                      ▼
//!                        └──────────── into_connection ◄─ end ─ Response, Body ─► BodyEnd
//! ```
//!
//! Over TLS the server chooses between HTTP/2 and HTTP/1.1 (ALPN); each has its file, `http2` over the h2 crate and
//! `http1` over hyper's connection type, behind the types of `connection`; `message` has the parts that both share. One HTTP/2 connection carries many requests:
//! each has a share of it, and a [`Listener`] hears what happens to it as a whole.

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
