//! Metrics: the numbers of `/metrics`, which an operator can alert on, and their text.
//!
//! ```text
//!  records ─► log's writer ─► Tally (counters) ─┐
//!                  fold ─► standing (gauges) ───┼─► Exposition ─► text ─► scrape
//!  ring, viewers, listeners: their own counts ──┘
//! ```
//! The records hold the truth about the protocol, so watches are counted from them, where the writer has each with the
//! fold before it. Other numbers (viewers, the ring, refused requests) come from their owners, which `scrape` collects.
//! Nothing here names another room of the backend.
//!
//! No label has a value that a stranger can choose: they are the log's name, resources that are watched (at most
//! [`tally::MAX_RESOURCES`], the rest together as `other`), and words of closed lists. Never an object's name, a namespace, a
//! selector, a header or anything of an object's content.

mod exposition;
pub(crate) mod families;
mod histogram;
mod standing;
mod tally;
mod words;

pub(crate) use self::exposition::{Exposition, plain};
pub(crate) use self::histogram::Histogram;
pub(crate) use self::standing::standing;
pub(crate) use self::tally::Tally;

#[cfg(test)]
mod tests;
