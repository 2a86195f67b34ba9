//! The machine that makes every log's records: it stamps events, folds them, judges them, and audits the objects that
//! watches hold.
//!
//! ```text
//!                    ┌──────────────── Journal ────────────────┐
//!   event, time ─────► stamp ─► Diagnosis, Auditor ─► fold ────┼─► Sink::record
//!   settle(now) ─────► what diagnosis says, as events ─────────┼─► Sink::record
//!   ask(now), reply ─► what the audit says, and its next reads ┼─► Sink::record, Sink::read
//!                    └─────────────────────────────────────────┘
//! ```
//!
//! A [`Journal`] has no bytes, clock, queue or channel. A host passes time in, carries out the calls of the [`Sink`],
//! and decides nothing. The log's writer is one host; the recorder of stories is another.
//!
//! # Two orders
//!
//! [`Journal::append`] never appends judgements, so the host chooses when silence counts as evidence. There are two
//! orders of calls:
//!
//! * A host that stamps events on arrival appends all events that it has, then calls [`Journal::settle`]. Such a host
//!   may run late while events wait in its queue. If it settled first, events that arrived in time would be missed, and
//!   their absence would count as silence.
//! * A host whose events carry their own times calls [`Journal::settle_before`] with an event's time, then appends the
//!   event. No event of an earlier time can follow, so the silence up to that time is real. If the host appended first,
//!   a judgement would rest on events after its due time, and its record would come after theirs.
//!
//! Both orders stamp a judgement with its due time, never before the last record's time. A judgement therefore does not
//! depend on how late a timer of the host fires.
//!
//! [`again::Again`] judges a recorded log again; it works on records that a journal made, without a journal.

pub mod again;
mod audit;
mod journal;
mod sink;

pub use audit::CompareRequest;
pub use journal::Journal;
pub use sink::Sink;
