//! Notes of persons: what one may say, how one is kept outside its record, and how all of them stand.
//!
//! ```text
//!   WriteNote ─► checked ─► Note ─► the log's writer ─► record
//!                                                          │ at, log, epoch, seq
//!   block N, /api/notes ─► decode_notes ─► KeptNote ◄──────┘
//!                                              └─► Notes ─► standing, in_range
//! ```
//!
//! A note that replaces another one belongs to the same thread as that one. A thread is known by the place of its first
//! record; the last of its records says what stands, and an empty text withdraws it.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::codec::{DecodeError, Reader, Writer};
use crate::event::{Event, Note, NoteKey, Record};
use crate::field::{Field as _, Fields as _, fields, struct_fields};
use crate::id::{EpochId, LogId, Object};
use crate::time::Time;
use crate::tree::{self, BTreeMap, BTreeSet};
use crate::vocabulary::{Author, NoteRefusal};
use crate::wire::WriteNote;

/// The most bytes of a note's text.
pub const MAX_NOTE_BYTES: usize = 4 << 10;
/// The most notes of persons that a log holds, later versions and withdrawals counted.
pub const MAX_NOTES: usize = 10_000;
/// The most notes that one session may write in a minute.
pub const NOTES_A_MINUTE: usize = 10;
/// The most bytes of an object's namespace, name or uid in a note: twice what Kubernetes allows.
pub const MAX_OBJECT_TEXT_BYTES: usize = 512;

fields! {
    /// A person's note with the place and time of its record.
    struct KeptNote {
        /// Where its record is, or was.
        key "key": NoteKey,
        /// When the log took it.
        at "at": Time,
        /// What it says.
        note "note": Note,
    }
}
struct_fields!(KeptNote);

impl KeptNote {
    /// The note of a record; `None` if the record is none of a person's.
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

/// As its record in the JSON form, with `log` and `epoch` in front of `seq`: it stands outside of the lines of its run.
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

/// Appends a note as block `N` and `/api/notes` hold it: behind its length, every text in place.
pub fn push_note(note: &KeptNote, out: &mut Vec<u8>) {
    out.extend(Writer::plain(|writer| note.write(writer)));
}

/// Reads notes that [`push_note`] wrote, at most [`MAX_NOTES`]; those of other authors than persons are left out, and a
/// text over [`MAX_NOTE_BYTES`] is cut.
///
/// # Errors
/// If the bytes are no notes, or there are more.
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

/// The note with no more text than one may have: a file may hold anything.
fn bounded(mut note: KeptNote) -> KeptNote {
    let text = &mut note.note.text;
    if text.len() > MAX_NOTE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_NOTE_BYTES));
    }
    note
}

/// The note that a viewer asks for, if nothing is wrong with it that can be seen without the log.
///
/// # Errors
/// What is wrong with it. Whether its watch and the note that it replaces are known, the log's writer says.
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

/// Whether an object may have such names.
fn may_be(object: &Object) -> bool {
    let fits = |text: &str| text.len() <= MAX_OBJECT_TEXT_BYTES;
    let uid = object.uid.to_string();
    !object.name.is_empty()
        && fits(&object.name)
        && fits(&uid)
        && object.namespace.as_deref().is_none_or(fits)
}

/// Text up to its first line end: what stands for a note where there is little room.
#[must_use]
pub fn heading(text: &str) -> &str {
    text.trim_start()
        .lines()
        .next()
        .unwrap_or_default()
        .trim_end()
}

/// All notes of persons that a reader knows, of several epochs, in whatever order they came.
///
/// Bounded: [`MAX_NOTES`] records with texts of at most [`MAX_NOTE_BYTES`]. Where there are more, those with the latest
/// records stay, and [`Notes::is_cut`] says so. What stands does not depend on the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    by_key: BTreeMap<NoteKey, KeptNote>,
    /// The same in the order of their records' times: the first goes where there is no room.
    by_time: BTreeSet<(Time, NoteKey)>,
    is_cut: bool,
}

/// A note as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct StandingNote<'a> {
    /// The place of the first record of its thread: its name for as long as it stands. It is the record that the next
    /// version replaces.
    pub key: &'a NoteKey,
    /// The place of the record that says what stands.
    pub last: &'a NoteKey,
    /// What it says, and what it is on.
    pub note: &'a Note,
    /// When the time it is about begins: as it says, else when its first record was written.
    pub from: Time,
    /// When that time ends; the same if it is one moment.
    pub to: Time,
    /// When the record was written that says what stands.
    pub written_at: Time,
}

impl StandingNote<'_> {
    /// Its first line.
    #[must_use]
    pub fn heading(&self) -> &str {
        heading(&self.note.text)
    }

    /// Whether its time touches a range; both ends belong to both.
    #[must_use]
    pub fn touches(&self, from: Time, to: Time) -> bool {
        self.from <= to && from <= self.to
    }
}

impl Notes {
    /// Takes in a record. Returns whether it was a person's note that was not known.
    pub fn record(&mut self, log: &LogId, epoch: &EpochId, record: &Record) -> bool {
        KeptNote::of(log, epoch, record).is_some_and(|note| self.insert(note))
    }

    /// Takes in a note; returns whether it was not known. One of another author than a person is passed over.
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

    /// Lets a record go.
    pub fn remove(&mut self, key: &NoteKey) {
        if let Some(note) = self.by_key.remove(key) {
            self.by_time.remove(&(note.at, note.key));
        }
    }

    /// Lets go of the records that `is_kept` does not keep.
    pub fn retain(&mut self, is_kept: impl Fn(&NoteKey) -> bool) {
        self.by_key.retain(|key, _| is_kept(key));
        self.by_time.retain(|(_, key)| is_kept(key));
    }

    /// How many records are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Whether there were more than are held.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether a record is held.
    #[must_use]
    pub fn contains(&self, key: &NoteKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// A record.
    #[must_use]
    pub fn get(&self, key: &NoteKey) -> Option<&KeptNote> {
        self.by_key.get(key)
    }

    /// The records that are held, in the order of their times.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &KeptNote> {
        let notes = self.by_time.iter();
        notes.filter_map(|(_, key)| self.by_key.get(key))
    }

    /// The notes as they stand, in the order of their times: the place in it, from 1, is a note's number on a picture.
    #[must_use]
    pub fn standing(&self) -> Vec<StandingNote<'_>> {
        let notes = self.by_key.values();
        let replaced = notes.filter_map(|note| note.note.replaces.as_ref());
        let replaced: BTreeSet<&NoteKey> = replaced.collect();
        let mut threads: BTreeMap<&NoteKey, &KeptNote> = BTreeMap::new();
        // Of each thread the last record counts that no other one replaces: a clock may have been set back between two.
        // In a circle, which only a damaged file has, each one is replaced.
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

    /// The notes whose time touches a range, in whatever epoch their records lie, in the order of their times.
    #[must_use]
    pub fn in_range(&self, from: Time, to: Time) -> Vec<StandingNote<'_>> {
        let mut standing = self.standing();
        standing.retain(|note| note.touches(from, to));
        standing
    }

    /// The records of every thread that has to do with a range: the time it is about touches the range, or one of its records
    /// lies in it. With them a file that holds the range alone tells of notes as the whole log does.
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

    /// The first record of a note's thread, which may be none that is held; of a circle its least.
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
