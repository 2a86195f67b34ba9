//! HTTP and WebSocket: which requests are accepted, and how bytes move. No other part of the backend uses axum.
//!
//! ```text
//!  listen ─► server ─► stream ─► hyper ─► headers ─► guard (checks) ─► routes ─► page
//!            accept    write              every       Host, Origin,     │
//!            loop,     deadline           answer      session           ├─► socket ─► hub::api::Viewer
//!            bounds                                                     └─► JSON   ─► hub::api::Hub
//! ```
//! Requests of browsers and scripts come in, and all of them are hostile until checked. The hub's bytes go out, unchanged.
//! Deliberately absent: any knowledge of records, windows or heartbeats, which are the hub's; TLS; compression of sockets;
//! cross-origin sharing; and forwarded headers.

pub mod health;
pub mod listen;

mod checks;
mod headers;
mod page;
mod refusals;
mod routes;
mod search_query;
mod server;
mod socket;
mod stream;
mod upgrade;

pub use checks::Policy;
pub use page::{EmbeddedPage, PageSource};
pub use refusals::{Refusal, Refusals};
pub use routes::{MAX_OPENING_SOCKETS, WebConfig, router};
pub use server::{Limits, Traffic, serve};
pub use socket::{HELLO_DEADLINE, MAX_MESSAGES_PER_S};

#[cfg(test)]
mod tests;
