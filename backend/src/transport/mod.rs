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
//! HTTP/1.1 is what ALPN offers; hyper's connection type is driven in `http1` and in no other
//! file, so another protocol version lives beside that file, behind the same types.

mod dial;
mod error;
mod facts;
mod http1;
mod proxy;
mod tap;
mod target;

#[cfg(test)]
pub(crate) mod tests;

pub use dial::{Connector, DialLimits};
pub use error::{BodyEnd, CollectError, DialError, ProxyFailure, SendError, TlsFailure};
pub use facts::{ConnectionFacts, DialTimes, TlsFacts};
pub use http1::{Body, Connection, Framing, Response};
pub use target::{Endpoint, EndpointError, Proxy, ProxyError, ProxyScheme, Target};
