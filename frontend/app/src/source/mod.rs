//! From the server's messages to the store's input, and back: everything between the socket and the picture.
//!
//! ```text
//!   fetch, socket, timers ─► Connection ─► effects: ask, exchange, open, send …
//!                                └► Feed ─► deliveries: head, segment, chapter …  ─► store
//!   what the store lacks ─► Backfill ─► the next chapter to ask for
//! ```
//!
//! Plain machines without a clock or a browser, so that the host can test them; the page carries out their effects.

pub mod acknowledge;
pub mod backfill;
pub mod backoff;
pub mod clock;
pub mod connection;
pub mod feed;
pub mod link;
