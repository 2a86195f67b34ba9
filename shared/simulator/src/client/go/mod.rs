//! client-go, layer by layer: the REST client with its retries, the StreamWatcher, the reflector, the informer.

pub(super) mod backoff;
pub(super) mod informer;
mod queue;
pub(super) mod reflector;
pub(super) mod rest;
mod stream;
mod version;
pub(super) mod workqueue;

pub use version::{ClientGo, UnknownVersion};
