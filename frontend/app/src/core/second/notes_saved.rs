//! Which notes of an open file are in a copy that was saved, and which are lost when the page closes.

use watchscope_model::{KeptNote, NoteKey};

use crate::core::model::Model;

impl Model {
    /// Notes that an exported recording has all notes that this page had.
    pub(super) fn take_saved(&mut self, kept: u64, name: Box<str>) {
        self.panels.notes.saved = Some((kept, name));
        self.panels.notes.has_rows = false;
        self.show_notes();
    }

    /// Returns the number of notes, changes and withdrawals that are lost when the page closes.
    pub(super) fn unsaved_notes(&self) -> u64 {
        let notes = &self.panels.notes;
        let saved = notes.saved.as_ref().map_or(0, |(kept, _)| *kept);
        if notes.kept_here <= saved {
            return 0;
        }
        let is_unsaved =
            |key: &NoteKey| Some(&key.epoch) == notes.here.as_ref() && key.seq.0 > saved;
        let standing = self.store.notes().standing();
        let is_lost = |note: &&KeptNote| {
            let first = note.note.replaces.as_ref().unwrap_or(&note.key);
            let stands = standing.iter().any(|standing| standing.key == first);
            is_unsaved(&note.key) && (stands || !is_unsaved(first))
        };
        self.store.notes().records().filter(is_lost).count() as u64
    }
}
