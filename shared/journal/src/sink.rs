//! The interface through which a host takes a journal's output.

use watchscope_diagnosis::audit::Read;
use watchscope_model::{InsideRecord, Record, State};

/// A receiver of the records and reads of a journal, in order.
///
/// A journal calls its sink as a trait object. Because of that, a record costs no allocation, and a program has one
/// copy of the journal's code.
pub trait Sink {
    /// Takes the next record; its seq is one above that of the entry before, and its time is not earlier than that
    /// entry's. `after` is the fold that includes the record.
    fn record(&mut self, record: Record, after: &State);

    /// Takes the next record of the inside of a simulated cluster, with seq and time as for [`Sink::record`]. `after`
    /// is the fold that has passed over the record: only the fold's seq and time have changed.
    fn inside(&mut self, record: InsideRecord, after: &State);

    /// Takes a read of the audit, which the host must answer with [`Journal::answer`](crate::Journal::answer). Returns
    /// whether the host takes another read at once. If `false`, the next read comes at the next call of
    /// [`Journal::ask`](crate::Journal::ask) at the earliest.
    fn read(&mut self, read: Read) -> bool;

    /// Has the host begin each watch anew. The journal calls it after the record that raises F33 about the whole
    /// cluster. In that case the cluster holds an older state than its watches have seen
    /// (docs/semantics/versions.md#restored-measured). While the finding is open, later records of it do not lead to
    /// another call.
    fn restored(&mut self);
}
