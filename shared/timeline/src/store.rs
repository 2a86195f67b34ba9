//! All that the page holds of a log: encoded chapters, and their traces, epoch by epoch.
//!
//! ```text
//!   Welcome ─► ring_begins     Snapshot ─► snapshot ─┐
//!   Segment ─► segment        Chapter ──► chapter ──┴─► Epoch { chapters (bytes), trace (columns), state (fold) }
//! ```
//!
//! [`Store::coverage`] distinguishes stretches that are loaded, not loaded yet, expired, and never known. A budget of
//! bytes bounds the store. Beyond the budget, the oldest chapters out of view are dropped. The time of a dropped
//! chapter counts as not loaded if the server has the chapter. Otherwise it counts as [`Coverage::Dropped`] at the
//! begin of its epoch, and elsewhere as not loaded, expired or lost.

mod absorb;
mod as_of;
mod cache;
mod catalogue;
mod chapter;
mod coverage;
mod encoded;
mod epoch;
mod frames;
mod gaps;
mod grow;
mod head;
mod intake;
mod lanes;
mod lookups;
mod mark_block;
mod mark_kind;
mod mark_run;
mod mark_sums;
mod marks;
mod merge;
mod names;
mod noted;
mod notes;
mod object_marks;
mod over_seam;
mod parts;
mod spans;
mod trace;
mod versions;

pub use self::as_of::{AsOf, Known, Unknown};
pub use self::cache::{DEFAULT_BUDGET_BYTES, Store};
pub use self::coverage::{Coverage, MOST_AT_ONCE, Stretch};
pub use self::encoded::KeepOutside;
pub(crate) use self::epoch::Epoch;
pub use self::gaps::GapTotals;
pub use self::intake::StoreError;
pub(crate) use self::mark_kind::{MarkKind, NO_VERSION};
pub(crate) use self::mark_sums::Sums;
pub(crate) use self::marks::{MarkReader, Marks};
pub(crate) use self::names::Controller;
pub(crate) use self::object_marks::{ObjectMark, ObjectMarks};
pub(crate) use self::parts::{
    AuditMark, ConnectionSpan, Differs, Fall, GapOutcome, GapSpan, LifeSpan, ListMark, Occurrence,
    OwnRequestMark, OwnRequestStep, PhaseSpan, StepMark, StreamSpan, VerdictSpan, reaches,
};
pub(crate) use self::spans::Span;
pub(crate) use self::trace::{ObjectTrace, Trace, WatchTrace};
pub use self::versions::VersionPlace;
