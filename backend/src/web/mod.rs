//! HTTP and WebSocket: who may come in, and how bytes move. The only part of the backend that mentions axum.
//!
//! ```text
//!  listen ─► server ─► stream ─► hyper ─► headers ─► guard (checks) ─► routes ─► page
//!            accept    write              every       Host, Origin,     │
//!            loop,     deadline           answer      session           ├─► socket ─► hub::api::Viewer
//!            bounds                                                     └─► JSON   ─► hub::api::Hub
//! ```
//! What comes in: requests of browsers and scripts, all of them hostile until checked. What goes out: what the hub gave,
//! unchanged. Deliberately absent: any opinion about records, windows or heartbeats (the hub's), TLS, compression of
//! sockets, cross-origin sharing, and forwarded headers.

pub mod health;
pub mod listen;

mod checks;
mod headers;
mod page;
mod refusals;
mod routes;
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
