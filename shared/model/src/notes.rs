//! Notes of persons: which notes are accepted, their form outside the log, and the state of all notes.
//!
//! ```text
//!   WriteNote ─► checked ─► Note ─► the log's writer ─► record
//!                                                          │ at, log, epoch, seq
//!   block N, /api/notes ─► decode_notes ─► KeptNote ◄──────┘
//!                                              └─► Notes ─► standing, in_range
//! ```
//!
//! A note that replaces another note belongs to the same thread. The key of a thread is the key of its first record.
//! The thread's last record is the note as it stands; an empty text withdraws the note.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::codec::{DecodeError, Reader, Writer};
use crate::event::{Event, Note, NoteKey, Record};
use crate::field::{Field as _, Fields as _, fields, struct_fields};
use crate::id::{EpochId, LogId, Object};
use crate::time::Time;
use crate::tree::{self, BTreeMap, BTreeSet};
use crate::vocabulary::{Author, NoteRefusal};
use crate::wire::WriteNote;

/// The most bytes of a note's text: 4 KiB. With [`MAX_NOTES`] it bounds the texts of a log's notes at 41 MB. A longer
/// note from a viewer is refused with `TooLong`; a longer text in a file is cut. The number has no source.
pub const MAX_NOTE_BYTES: usize = 4 << 10;
/// The most notes of persons that a log holds at a time, including replaced and withdrawn ones. A further note is
/// refused with `TooMany`. Of more notes, [`Notes`] keeps those with the latest times, and [`decode_notes`] fails. A
/// reader of a recording reads at most as many notes. The number has no source.
pub const MAX_NOTES: usize = 10_000;
/// The most notes that one session may write in 60 s. A further note is refused with `TooOften`. The number has no
/// source: one session alone takes 1,000 minutes to reach [`MAX_NOTES`].
pub const NOTES_A_MINUTE: usize = 10;
/// The most bytes of an object's namespace, name or uid in a note. A note whose object has a longer one is refused with
/// `BadObject`. The number has no source: it is about twice 253, the most bytes of an object's name
/// (`DNS1123SubdomainMaxLength` of apimachinery).
pub const MAX_OBJECT_TEXT_BYTES: usize = 512;

fields! {
    /// A person's note with the key and time of its record.
    struct KeptNote {
        /// The key of the note's record: its log, epoch and seq. The log may no longer keep the note's record.
        key "key": NoteKey,
        /// The time on the log's clock when the log's writer took the note.
        at "at": Time,
        /// The note.
        note "note": Note,
    }
}
struct_fields!(KeptNote);

impl KeptNote {
    /// The note of a record of this log and epoch; `None` if the record is not a person's note.
    #[must_use]
    pub fn of(log: &LogId, epoch: &EpochId, record: &Record) -> Option<Self> {
        let Event::Note(note) = &record.event else {
            return None;
        };
        (note.author == Author::Person).then(|| Self {
            key: NoteKey {
                log: log.clone(),
                epoch: epoch.clone(),
                seq: record.seq,
            },
            at: record.at,
            note: note.clone(),
        })
    }
}

/// The JSON form is that of the note's record, with `log` and `epoch` before `seq`, because it is used outside the
/// lines of one epoch.
impl Serialize for KeptNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "note")?;
        self.key.entries(&mut map)?;
        map.serialize_entry("at", &self.at)?;
        self.note.entries(&mut map)?;
        map.end()
    }
}

/// Appends a note in the form of block `N` and `/api/notes` (docs/recordings.md#n-notes). A varint states the number of
/// bytes that follow; then come the fields in their order. Every text is written in place, without a dictionary. The
/// note's text is not cut.
pub fn push_note(note: &KeptNote, out: &mut Vec<u8>) {
    out.extend(Writer::plain(|writer| note.write(writer)));
}

/// Reads notes that [`push_note`] wrote, in their order; no bytes give none. Notes of other authors than persons are
/// left out. A text over [`MAX_NOTE_BYTES`] is cut at that length, or, to keep characters whole, up to 3 bytes before.
///
/// # Errors
/// The first error in the bytes; [`DecodeError::Message`] if any note follows after [`MAX_NOTES`] notes of persons.
pub fn decode_notes(bytes: &[u8]) -> Result<Vec<KeptNote>, DecodeError> {
    let mut reader = Reader::plain(bytes);
    let mut notes = Vec::new();
    while !reader.is_at_end() && !reader.has_failed() {
        let note = KeptNote::read(&mut reader);
        if notes.len() == MAX_NOTES {
            reader.fail(DecodeError::Message("it has more notes than a log holds"));
        }
        if note.note.author == Author::Person && !reader.has_failed() {
            notes.push(bounded(note));
        }
    }
    reader.finish(notes)
}

/// Cuts the text of a note at [`MAX_NOTE_BYTES`], because a file may hold any text.
fn bounded(mut note: KeptNote) -> KeptNote {
    let text = &mut note.note.text;
    if text.len() > MAX_NOTE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_NOTE_BYTES));
    }
    note
}

/// Checks a viewer's note as far as a check needs no log; returns the note to write. The log's writer checks later
/// whether it knows the note's watch and the note that is replaced.
///
/// # Errors
/// The first reason for a refusal, in the order of this list:
/// * [`NoteRefusal::TooLong`]: a text over [`MAX_NOTE_BYTES`].
/// * [`NoteRefusal::NotText`]: a text that is not UTF-8.
/// * [`NoteRefusal::Empty`]: an empty text that replaces no note.
/// * [`NoteRefusal::BadObject`]: an object without a name, or with a text over [`MAX_OBJECT_TEXT_BYTES`].
/// * [`NoteRefusal::BadSpan`]: an end without a start, or before it.
pub fn checked(asked: WriteNote) -> Result<Note, NoteRefusal> {
    if asked.text.0.len() > MAX_NOTE_BYTES {
        return Err(NoteRefusal::TooLong);
    }
    let text = String::from_utf8(asked.text.0).map_err(|_| NoteRefusal::NotText)?;
    if text.is_empty() && asked.replaces.is_none() {
        return Err(NoteRefusal::Empty);
    }
    if !asked.object.as_deref().is_none_or(may_be) {
        return Err(NoteRefusal::BadObject);
    }
    match (asked.from, asked.to) {
        (None, Some(_)) => return Err(NoteRefusal::BadSpan),
        (Some(from), Some(to)) if to < from => return Err(NoteRefusal::BadSpan),
        _ => {}
    }
    Ok(Note {
        watch: asked.watch,
        object: asked.object,
        from: asked.from,
        to: asked.to,
        replaces: asked.replaces,
        ..Note::new(Author::Person, text)
    })
}

/// Whether the names of an object have allowed lengths, and the object has a name.
fn may_be(object: &Object) -> bool {
    let fits = |text: &str| text.len() <= MAX_OBJECT_TEXT_BYTES;
    let uid = object.uid.to_string();
    !object.name.is_empty()
        && fits(&object.name)
        && fits(&uid)
        && object.namespace.as_deref().is_none_or(fits)
}

/// The first line of a text that is not blank, without white space at its ends. Where space is small, this line is
/// shown for a note. Empty if the text is blank.
#[must_use]
pub fn heading(text: &str) -> &str {
    text.trim_start()
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end()
}

/// All notes of persons that a reader knows, of any epochs, added in any order.
///
/// At most [`MAX_NOTES`] records with texts of at most [`MAX_NOTE_BYTES`] are held. Of more records, those with the
/// latest times are kept, and [`Notes::is_cut`] returns true. The result does not depend on the order in which records
/// are added, unless two records with the same key differ: the first added stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    by_key: BTreeMap<NoteKey, KeptNote>,
    /// The same records by time; above the bound the earliest record is dropped.
    by_time: BTreeSet<(Time, NoteKey)>,
    is_cut: bool,
}

/// A note as the last record of its thread states it.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingNote<'a> {
    /// The key of the thread's first record, which identifies the note while it stands. The thread's first record may
    /// not be held. A further version of the note names this key in [`Note::replaces`], or `last` if the log no longer
    /// keeps the first record.
    pub key: &'a NoteKey,
    /// The key of the thread's last record.
    pub last: &'a NoteKey,
    /// The last record's note: its text, which is never empty, its watch and its object.
    pub note: &'a Note,
    /// Start of the time that the note is about. If the note states no start, it is the time of the thread's first
    /// record, or of its last if the first is not held.
    pub from: Time,
    /// End of the time that the note is about, included; never before `from`, and equal to `from` for one moment.
    pub to: Time,
    /// The time of the thread's last record.
    pub written_at: Time,
}

impl StandingNote<'_> {
    /// The first line of the note's text that is not blank ([`heading`]); empty if all lines are blank.
    #[must_use]
    pub fn heading(&self) -> &str {
        heading(&self.note.text)
    }

    /// Whether the note's time overlaps a range. The note's time and the range include their ends. If `to` is before
    /// `from`, it returns whether the note's time covers `to` and `from`, which a moment never does.
    #[must_use]
    pub fn touches(&self, from: Time, to: Time) -> bool {
        self.from <= to && from <= self.to
    }
}

impl Notes {
    /// Adds the note of a record; returns whether it was added, as [`Notes::insert`] does. Other records are ignored.
    pub fn record(&mut self, log: &LogId, epoch: &EpochId, record: &Record) -> bool {
        KeptNote::of(log, epoch, record).is_some_and(|note| self.insert(note))
    }

    /// Adds a note; returns whether it was added. A note is not added if its author is no person, or its record is held
    /// already. If [`MAX_NOTES`] records are held, the earliest record is dropped: a held one, or the new one. A text
    /// over [`MAX_NOTE_BYTES`] is cut.
    pub fn insert(&mut self, note: KeptNote) -> bool {
        if note.note.author != Author::Person || self.by_key.contains_key(&note.key) {
            return false;
        }
        let place = (note.at, note.key.clone());
        if self.by_key.len() >= MAX_NOTES {
            self.is_cut = true;
            match self.by_time.first() {
                Some(first) if *first < place => {
                    let (_, first) = first.clone();
                    self.remove(&first);
                }
                _ => return false,
            }
        }
        self.by_key.insert(note.key.clone(), bounded(note));
        self.by_time.insert(place);
        true
    }

    /// Removes the record with a key; does nothing if no record has the key. If the removed record replaced another,
    /// the replaced record counts again, unless a further record replaces it, too.
    pub fn remove(&mut self, key: &NoteKey) {
        if let Some(note) = self.by_key.remove(key) {
            self.by_time.remove(&(note.at, note.key));
        }
    }

    /// Keeps only the records for which `is_kept` returns true, as if the others were removed one by one.
    pub fn retain(&mut self, is_kept: impl Fn(&NoteKey) -> bool) {
        self.by_key.retain(|key, _| is_kept(key));
        self.by_time.retain(|(_, key)| is_kept(key));
    }

    /// The number of records held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether no record is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Whether records were dropped because there were more than [`MAX_NOTES`]. Once true, it stays true.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the record with a key is held.
    #[must_use]
    pub fn contains(&self, key: &NoteKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// The record with a key; `None` if no held record has the key.
    #[must_use]
    pub fn get(&self, key: &NoteKey) -> Option<&KeptNote> {
        self.by_key.get(key)
    }

    /// All held records, sorted by their times, then by key; replaced and withdrawn notes are included. The result may
    /// be empty.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &KeptNote> {
        let notes = self.by_time.iter();
        notes.filter_map(|(_, key)| self.by_key.get(key))
    }

    /// The notes as they stand, one for each thread that is not withdrawn; empty if there is none. The notes are sorted
    /// by start, end and key. A note's position in the list, from 1, is its number on a picture.
    #[must_use]
    pub fn standing(&self) -> Vec<StandingNote<'_>> {
        let notes = self.by_key.values();
        let replaced = notes.filter_map(|note| note.note.replaces.as_ref());
        let replaced: BTreeSet<&NoteKey> = replaced.collect();
        let mut threads: BTreeMap<&NoteKey, &KeptNote> = BTreeMap::new();
        // The last record that no other record replaces counts in each thread. Times alone do not decide, because a
        // clock may have been set back. In a circle, which only a damaged file has, every record is replaced.
        let rank = |note: &KeptNote| (!replaced.contains(&note.key), note.at);
        let mut roots = BTreeMap::new();
        for note in self.by_key.values() {
            let root = self.root(&note.key, &mut roots);
            let last = threads.entry(root).or_insert(note);
            if (rank(last), &last.key) < (rank(note), &note.key) {
                *last = note;
            }
        }
        let mut standing: Vec<StandingNote<'_>> = threads
            .into_iter()
            .filter(|(_, last)| !last.note.text.is_empty())
            .map(|(key, last)| {
                let first = self.by_key.get(key).unwrap_or(last);
                let from = last.note.from.unwrap_or(first.at);
                let to = last.note.to.unwrap_or(from).max(from);
                StandingNote {
                    key,
                    last: &last.key,
                    note: &last.note,
                    from,
                    to,
                    written_at: last.at,
                }
            })
            .collect();
        tree::sort_by(&mut standing, |one, other| {
            let place = |note: &StandingNote<'_>| (note.from, note.to);
            (place(one), one.key).cmp(&(place(other), other.key))
        });
        standing
    }

    /// The standing notes whose time overlaps a range ([`StandingNote::touches`]), ends included, sorted as in
    /// [`Notes::standing`]. The records of the returned notes may lie in any epoch. The list is empty if there is no
    /// such note.
    #[must_use]
    pub fn in_range(&self, from: Time, to: Time) -> Vec<StandingNote<'_>> {
        let mut standing = self.standing();
        standing.retain(|note| note.touches(from, to));
        standing
    }

    /// The held records of every thread that concerns a range, sorted by their times, then by key; empty if none does.
    /// A thread concerns the range if its standing note overlaps the range, or the time of one of its records lies in
    /// the range. The range includes its ends. With these records, a file of the range shows the same notes in the
    /// range as `self`.
    #[must_use]
    pub fn records_about(&self, from: Time, to: Time) -> Vec<&KeptNote> {
        let mut roots = BTreeMap::new();
        let mut about: BTreeSet<&NoteKey> = BTreeSet::new();
        about.extend(self.in_range(from, to).iter().map(|note| note.key));
        for note in self.by_key.values() {
            if (from..=to).contains(&note.at) {
                about.insert(self.root(&note.key, &mut roots));
            }
        }
        let records = self.records();
        records
            .filter(|note| about.contains(self.root(&note.key, &mut roots)))
            .collect()
    }

    /// The key of the first record of a note's thread, which may not be held. If records replace each other in a
    /// circle, it is the least key of the circle.
    fn root<'a>(
        &'a self,
        key: &'a NoteKey,
        roots: &mut BTreeMap<&'a NoteKey, &'a NoteKey>,
    ) -> &'a NoteKey {
        let mut path: Vec<&NoteKey> = Vec::new();
        let mut passed = BTreeSet::new();
        let mut at = key;
        let root = loop {
            if let Some(root) = roots.get(at) {
                break *root;
            }
            if !passed.insert(at) {
                let begin = path.iter().position(|&on| on == at).unwrap_or(0);
                break path[begin..].iter().min().copied().unwrap_or(at);
            }
            path.push(at);
            match self.by_key.get(at).map(|note| &note.note.replaces) {
                Some(Some(earlier)) => at = earlier,
                _ => break at,
            }
        };
        roots.extend(path.into_iter().map(|on| (on, root)));
        root
    }
}

#[cfg(test)]
mod tests;
