//! Client programs in scripted worlds: what they ask, do, count and believe.

#![allow(clippy::unwrap_used, reason = "the whole crate is tests")]

mod poller;
mod reflector;
mod stage;
