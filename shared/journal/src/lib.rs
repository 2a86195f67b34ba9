//! The machine behind every log: it stamps events, folds them, judges them, and audits what watches hold.
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
//! and decides nothing. The log's writer is one host; the recorder of stories is another one.
//!
//! # Two orders
//!
//! [`Journal::append`] never concludes anything, so the host chooses when silence counts. There are two orders:
//!
//! * A host that stamps events on arrival appends all that it has, then calls [`Journal::settle`]. Such a host may run
//!   late while events wait in its queue. If it settled first, an event that arrived in time would count as silence.
//! * A host whose events carry their own times calls [`Journal::settle_before`] with that time, then appends. No event
//!   of an earlier time can follow, so the silence up to that time is real. If it appended first, a judgement would
//!   rest on events after its due time, and would stand after them.
//!
//! Both orders stamp a judgement with its due time, never before the last record. So a judgement does not depend on
//! how late a timer of the host fires.
//!
//! [`again::Again`] judges a recorded log again; it has the records of a journal and no journal.

pub mod again;
mod audit;
mod journal;
mod sink;

pub use audit::CompareRequest;
pub use journal::Journal;
pub use sink::Sink;
