//! The interface through which a host takes a journal's output.

use watchscope_diagnosis::audit::Read;
use watchscope_model::{InsideRecord, Record, State};

/// Takes the records and reads of a journal, in order.
///
/// A journal calls it as a trait object. So a record costs no allocation, and a program has one copy of the journal's
/// code.
pub trait Sink {
    /// Takes the next record; its seq is one above that of the entry before, and its time is not earlier. `after` is
    /// the fold that includes it.
    fn record(&mut self, record: Record, after: &State);

    /// Takes the next record of the inside of a simulated cluster, with seq and time as for [`Sink::record`]. `after`
    /// is the fold that has passed it: only its seq and time have changed.
    fn inside(&mut self, record: InsideRecord, after: &State);

    /// Takes a read of the audit, which the host must answer with [`Journal::answer`](crate::Journal::answer). Returns
    /// whether the host takes another one at once. If `false`, the next one comes at the next call of
    /// [`Journal::ask`](crate::Journal::ask) at the earliest.
    fn read(&mut self, read: Read) -> bool;

    /// Has the host begin each watch anew. The journal calls it after the record that raises F33 about the whole
    /// cluster. The cluster then holds an older state than its watches have seen
    /// (docs/semantics/versions.md#restored-measured). A later record of that finding does not call it while it is
    /// open.
    fn restored(&mut self);
}
