//! The notes of persons that the page knows: those of loaded records, and those that the server listed.

use watchscope_model::{KeptNote, LogId, Notes};

use super::cache::Store;

impl Store {
    /// Returns the known notes of persons: those of loaded records, and those that a server listed. [`Notes`] bounds
    /// their number, and its doc says what happens at the bound.
    #[must_use]
    pub fn notes(&self) -> &Notes {
        &self.notes.notes
    }

    /// Returns a number that rises whenever the notes change.
    #[must_use]
    pub fn notes_version(&self) -> u64 {
        self.notes.version
    }

    /// Adds the notes that a server lists for a log, also those whose records are not loaded. Known notes, notes of
    /// other logs, and notes that no person wrote are skipped. [`Notes`] bounds the number of notes.
    pub fn list_notes(&mut self, log: &LogId, notes: Vec<KeptNote>) {
        let notes = notes.into_iter();
        self.notes.extend(notes.filter(|note| note.key.log == *log));
    }

    /// Drops the notes whose records are neither loaded nor known to be at the server. A record is known to be there if
    /// a kept chapter in the server's list has it. It is also known to be there if it is in the server's ring, and this
    /// page did not drop it. Notes of an unknown epoch stay.
    pub fn let_notes_go(&mut self) {
        let Self { epochs, notes, .. } = self;
        notes.retain(|key| {
            let epoch = epochs.iter().find(|epoch| epoch.id == key.epoch);
            // A note of an unknown run stays: the server has listed it, so the server keeps it.
            epoch.is_none_or(|epoch| {
                let is_dropped = epoch.dropped.is_some_and(|last| key.seq <= last.seq);
                let is_in_ring = epoch.ring_first.is_some_and(|first| first.seq <= key.seq);
                let is_kept = epoch.is_kept(key.seq) || (is_in_ring && !is_dropped);
                epoch.has_record(key.seq) || is_kept
            })
        });
    }
}
