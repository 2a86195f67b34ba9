//! Notes of persons as a store holds them, with a number that changes when the notes do.

use watchscope_model::{EpochId, KeptNote, LogId, NoteKey, Notes, Record};

/// Notes of persons, and a number for their changes.
///
/// [`Notes`] bounds their number.
#[derive(Debug, Default)]
pub(super) struct KnownNotes {
    pub(super) notes: Notes,
    /// A number that rises with each change of the notes.
    pub(super) version: u64,
}

impl KnownNotes {
    /// Adds the note in a record, if the record is a person's note.
    pub(super) fn record(&mut self, log: &LogId, epoch: &EpochId, record: &Record) {
        self.extend(KeptNote::of(log, epoch, record));
    }

    /// Adds notes.
    pub(super) fn extend(&mut self, notes: impl IntoIterator<Item = KeptNote>) {
        for note in notes {
            self.version += u64::from(self.notes.insert(note));
        }
    }

    /// Drops the notes for which `is_kept` returns false.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&NoteKey) -> bool) {
        let before = self.notes.len();
        if before > 0 {
            self.notes.retain(is_kept);
            self.version += u64::from(self.notes.len() < before);
        }
    }
}
