//! What a host does with what comes out of a journal.

use watchscope_diagnosis::audit::Read;
use watchscope_model::{InsideRecord, Record, State};

/// A host's half: takes records and reads as they come, in order.
///
/// A trait object and no list of outputs, so that a record costs no allocation, and a program that has a journal holds
/// one copy of it.
pub trait Sink {
    /// Takes the next record. `after` is the fold with that record in it.
    fn record(&mut self, record: Record, after: &State);

    /// Takes the next record of the inside of a simulated cluster.
    fn inside(&mut self, record: InsideRecord, after: &State);

    /// Takes a read of the audit, which the host has to answer with [`Journal::answer`](crate::Journal::answer). Returns
    /// whether the host takes another one at once.
    fn read(&mut self, read: Read) -> bool;

    /// The cluster was found to hold an older state than its watches have seen, for the first time (F33): each watch has
    /// to begin anew. Comes after the record that says so.
    fn restored(&mut self);
}
