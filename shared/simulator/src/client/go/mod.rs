//! client-go, layer by layer: the REST client with its retries, the StreamWatcher, the reflector, the informer.

pub(super) mod backoff;
pub(super) mod reflector;
pub(super) mod rest;
pub(super) mod stream;
mod version;

pub use version::{ClientGo, UnknownVersion};
