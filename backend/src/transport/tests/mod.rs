//! Connections to local listeners that do exactly what a test says.

pub(crate) mod authority;
mod bodies;
mod dialling;
mod frames;
pub(crate) mod harness;
pub(crate) mod http2;
mod proxies;
mod sending;
mod tls;
