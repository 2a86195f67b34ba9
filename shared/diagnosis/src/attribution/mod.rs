//! Attribution: why each stream ended (docs/semantics/streams.md#rules).
//!
//! ```text
//!   judgement ◄─ end ◄─ own, runs, fact ◄─ facts ◄─ case ◄─ rules
//! ```
//!
//! * [`judgement`] says why a stream ended, how certain this is, and by which records.
//! * [`end`] describes a stream from its opening to its end.
//! * [`own`] judges an end alone: by its cause, its age, its ERROR.
//! * [`runs`] counts streams of a watch in a row.
//! * [`fact`] is an event after an end.
//! * [`facts`] holds open streams, recent ends and the events around them.
//! * [`case`] is an end with the facts around it.
//! * [`rules`] is the list of all rules. The first rule that answers decides.

mod case;
mod end;
mod fact;
mod facts;
mod judgement;
mod own;
mod rules;
mod runs;

pub(crate) use self::end::{AFTERMATH_US, is_barren};
pub(crate) use self::facts::{DRAIN_US, StreamFacts};
pub use self::facts::{MAX_ENDS, MAX_FACTS, REVISED_US, SUSPICION_REVISED_US, TOGETHER_US};
pub use self::judgement::is_suspicion;
pub(crate) use self::rules::attribute;
pub(crate) use self::runs::REPLAYED;
