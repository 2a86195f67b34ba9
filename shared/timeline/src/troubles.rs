//! Trouble: one typed list of all that a viewer must not miss, over all lanes, by the time at which it began.
//!
//! ```text
//!   traces of loaded records ─┐
//!   summaries of chapters ────┴─► gather ─► Troubles ─┬─► next and previous
//!                                                     ├─► counts off each edge of the view
//!                                                     └─► arrows on lanes
//! ```
//! Trouble is each occurrence of a finding with a severity of warning or above. A lost gap, a refused watch and a watch
//! that waits over 5 s are trouble too, unless such a finding is about the same stretch. A finding of severity note is
//! no trouble.

mod gather;
mod list;
mod off_view;
mod outage;
mod trouble;
mod worst;

pub use self::list::Troubles;
pub use self::trouble::{NAMED, Trouble, TroubleOf, TroublePlace};
pub use self::worst::{OffSide, Side};
