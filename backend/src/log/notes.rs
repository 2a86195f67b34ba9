//! The notes of persons that the log has, beside the ring: what a new note may replace, and what readers ask for.

use std::collections::BTreeSet;

use watchscope_model::event::Note;
use watchscope_model::notes::MAX_NOTES;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::{EpochId, KeptNote, LogId, NoteKey, Notes, Record, Seq, State, WatchName};

/// The most names of watches of earlier runs that are held; a note about one that is left out is refused.
const MAX_WATCHES: usize = 20_000;

/// The notes of persons that can be read: those whose record is in the ring or, where a history keeps the log, in its
/// files.
///
/// Bounded: [`MAX_NOTES`] records of at most 4 KiB of text; one more is refused. Names of watches: 20,000.
#[derive(Debug, Default)]
pub(super) struct NoteBook {
    notes: Notes,
    /// Whether a history keeps what the ring drops.
    is_kept: bool,
    /// What was watched in the runs that the history holds.
    watches: BTreeSet<WatchName>,
}

impl NoteBook {
    /// Takes in a record that was written.
    pub(super) fn record(&mut self, log: &LogId, epoch: &EpochId, record: &Record) {
        self.notes.record(log, epoch, record);
    }

    /// From now on a history keeps the notes.
    pub(super) fn set_kept(&mut self) {
        self.is_kept = true;
    }

    /// Takes in notes and watches that the files of a history hold.
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

    /// Lets notes go that nothing keeps any more.
    pub(super) fn forget(&mut self, keys: &[NoteKey]) {
        keys.iter().for_each(|key| self.notes.remove(key));
    }

    /// The notes that can be read, where the ring's first record is `first`.
    pub(super) fn notes(&mut self, epoch: &EpochId, first: Seq) -> &Notes {
        if !self.is_kept {
            self.notes
                .retain(|key| key.epoch == *epoch && key.seq >= first);
        }
        &self.notes
    }

    /// Why a note is not taken; `None` if it is.
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
