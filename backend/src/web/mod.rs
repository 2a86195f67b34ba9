//! HTTP and WebSocket: who may come in, and how bytes move. The only part that mentions axum.

pub mod hosts;
pub mod hub_border;
