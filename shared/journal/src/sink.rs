//! The interface through which a host takes a journal's output.

use watchscope_diagnosis::audit::Read;
use watchscope_model::{InsideRecord, Record, State};

/// Takes the records and reads of a journal, in order.
///
/// A journal calls it as a trait object. So a record costs no allocation, and a program has one copy of the journal's
/// code.
pub trait Sink {
    /// Takes the next record. `after` is the fold that includes it.
    fn record(&mut self, record: Record, after: &State);

    /// Takes the next record of the inside of a simulated cluster. `after` is the fold that includes it.
    fn inside(&mut self, record: InsideRecord, after: &State);

    /// Takes a read of the audit, which the host must answer with [`Journal::answer`](crate::Journal::answer). Returns
    /// whether the host takes another one at once.
    fn read(&mut self, read: Read) -> bool;

    /// The cluster was found, for the first time, to hold an older state than its watches have seen (F33), so each
    /// watch must begin anew. It comes after the record of that.
    fn restored(&mut self);
}
