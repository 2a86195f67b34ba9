//! The notes of persons in the log, kept beside the ring. They answer readers, and decide whether a new note is accepted.

use std::collections::BTreeSet;

use watchscope_model::event::Note;
use watchscope_model::notes::MAX_NOTES;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::{EpochId, KeptNote, LogId, NoteKey, Notes, Record, Seq, State, WatchName};

/// The most names of watches of earlier runs that are kept. A note about a watch beyond them is refused.
const MAX_WATCHES: usize = 20_000;

/// The notes of persons that can be read. Their records are in the ring, or in the files of a history if one keeps the log.
///
/// Bounded: [`MAX_NOTES`] records with at most 4 KiB of text each; one more is refused. At most [`MAX_WATCHES`] names of
/// watches are kept; further ones are left out.
#[derive(Debug, Default)]
pub(super) struct NoteBook {
    notes: Notes,
    /// Whether a history keeps the records that the ring drops.
    is_kept: bool,
    /// The watches of the runs that the history holds.
    watches: BTreeSet<WatchName>,
}

impl NoteBook {
    /// Takes in a record that was written, if it is a note.
    pub(super) fn record(&mut self, log: &LogId, epoch: &EpochId, record: &Record) {
        self.notes.record(log, epoch, record);
    }

    /// States that a history keeps the notes from now on.
    pub(super) fn set_kept(&mut self) {
        self.is_kept = true;
    }

    /// Adds the notes and watches that the files of a history hold.
    pub(super) fn learn(
        &mut self,
        notes: impl IntoIterator<Item = KeptNote>,
        watches: impl IntoIterator<Item = WatchName>,
    ) {
        for note in notes {
            self.notes.insert(note);
        }
        for watch in watches {
            if self.watches.len() < MAX_WATCHES {
                self.watches.insert(watch);
            }
        }
    }

    /// Removes notes that nothing keeps any more.
    pub(super) fn forget(&mut self, keys: &[NoteKey]) {
        keys.iter().for_each(|key| self.notes.remove(key));
    }

    /// Returns the notes that can be read. `first` is the first record in the ring; notes before it go unless a history
    /// keeps them.
    pub(super) fn notes(&mut self, epoch: &EpochId, first: Seq) -> &Notes {
        if !self.is_kept {
            self.notes
                .retain(|key| key.epoch == *epoch && key.seq >= first);
        }
        &self.notes
    }

    /// Returns why a note is refused; `None` if it is accepted.
    pub(super) fn refusal(
        &mut self,
        note: &Note,
        state: &State,
        epoch: &EpochId,
        first: Seq,
    ) -> Option<NoteRefusal> {
        let is_known =
            |watch: &WatchName| state.watches.contains_key(watch) || self.watches.contains(watch);
        if !note.watch.as_ref().is_none_or(is_known) {
            return Some(NoteRefusal::UnknownWatch);
        }
        let notes = self.notes(epoch, first);
        let replaces = note.replaces.as_ref();
        if !replaces.is_none_or(|earlier| notes.contains(earlier)) {
            return Some(NoteRefusal::UnknownNote);
        }
        (notes.len() >= MAX_NOTES).then_some(NoteRefusal::TooMany)
    }
}
