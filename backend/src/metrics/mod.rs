//! Metrics: the numbers of `/metrics`, which an operator can alert on, and their text.
//!
//! ```text
//!  records ─► log's writer ─► Tally (counters) ─┐
//!                  fold ─► standing (gauges) ───┼─► Exposition ─► text ─► scrape
//!  ring, viewers, listeners: their own counts ──┘
//! ```
//! Watches are counted from records, because the records have the whole protocol. The writer counts them, since it has each
//! record with the fold before it. Other numbers (viewers, the ring, refused requests) come from their owners, and `scrape`
//! collects them. Nothing here names another room of the backend.
//!
//! A stranger cannot choose the value of a label. Labels are the log's name, resources that are watched (at most
//! [`tally::MAX_RESOURCES`], the rest together as `other`), and words of closed lists. They never have the name of an
//! object, a namespace, a selector, a header or anything of an object's content.

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
