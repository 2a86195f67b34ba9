//! The machines that read for a viewer what is not in memory: the chapter of a record, the body of a record.

use std::collections::VecDeque;

use bytes::Bytes;
use watchscope_log::Fetched;
use watchscope_model::{EpochId, KeptNote, LogId, Notes, Seq};
use watchscope_recording::{
    BlockPlace, ChapterEntry, Contents, Damage, Input, ReadBodies, ReadChapter, Step, has_notes,
    notes_of,
};

/// Reads the chapter of a record from a file.
///
/// Of several chapters that hold the record it gives the first that can be read. It holds their entries, and what
/// [`ReadChapter`] holds of one.
#[derive(Debug)]
pub struct FetchChapter {
    name: String,
    waiting: VecDeque<ChapterEntry>,
    reading: Option<(Seq, Seq, ReadChapter)>,
    worst: Fetched,
}

impl FetchChapter {
    /// Of the chapters of a file that hold the record; `name` is the file's, for people.
    #[must_use]
    pub fn new<'a>(name: &str, entries: impl IntoIterator<Item = &'a ChapterEntry>) -> Self {
        Self {
            name: name.to_owned(),
            waiting: entries.into_iter().cloned().collect(),
            reading: None,
            worst: Fetched::Gone,
        }
    }

    /// Takes in what was asked for; returns what to do next.
    pub fn step(&mut self, mut input: Input) -> Step<Fetched> {
        loop {
            let (first, last, mut machine) = match self.reading.take() {
                Some(reading) => reading,
                None => match self.waiting.pop_front() {
                    Some(entry) => {
                        let machine = ReadChapter::new(&entry);
                        (entry.summary.first, entry.summary.last, machine)
                    }
                    None => {
                        let worst = std::mem::replace(&mut self.worst, Fetched::Gone);
                        return Step::Done(worst);
                    }
                },
            };
            match machine.step(input).map(Step::into_done) {
                Ok(Err(needs)) => {
                    self.reading = Some((first, last, machine));
                    return needs;
                }
                Ok(Ok(chapter)) => {
                    return Step::Done(Fetched::Chapter {
                        first,
                        last,
                        frames: chapter.frames.into_bytes().into(),
                    });
                }
                Err(damage) => {
                    self.worst = Fetched::NotRead {
                        reason: reason(&self.name, &damage),
                    };
                }
            }
            input = Input::Begin;
        }
    }
}

/// Reads the redacted body of a record from a file: `None` if the file has none, an error in a sentence if a block that
/// may have it cannot be read.
///
/// It holds the places of the blocks, and what [`ReadBodies`] holds of one.
#[derive(Debug)]
pub struct FetchBody {
    name: String,
    seq: Seq,
    waiting: VecDeque<BlockPlace>,
    reading: Option<ReadBodies>,
    damaged: Option<String>,
}

impl FetchBody {
    /// Of the chapters of a file that hold the record `seq`; `name` is the file's, for people.
    #[must_use]
    pub fn new<'a>(
        name: &str,
        entries: impl IntoIterator<Item = &'a ChapterEntry>,
        seq: Seq,
    ) -> Self {
        let blocks = entries.into_iter().flat_map(|entry| &entry.bodies);
        Self {
            name: name.to_owned(),
            seq,
            waiting: blocks.copied().collect(),
            reading: None,
            damaged: None,
        }
    }

    /// Takes in what was asked for; returns what to do next.
    pub fn step(&mut self, mut input: Input) -> Step<Result<Option<Bytes>, String>> {
        loop {
            let mut machine = match self.reading.take() {
                Some(reading) => reading,
                None => match self.waiting.pop_front() {
                    Some(place) => ReadBodies::new(place),
                    None => return Step::Done(self.damaged.take().map_or(Ok(None), Err)),
                },
            };
            match machine.step(input).map(Step::into_done) {
                Ok(Err(needs)) => {
                    self.reading = Some(machine);
                    return needs;
                }
                Ok(Ok(bodies)) => {
                    if let Some(body) = bodies.get(self.seq) {
                        return Step::Done(Ok(Some(Bytes::copy_from_slice(body))));
                    }
                }
                Err(damage) => self.damaged = Some(reason(&self.name, &damage)),
            }
            input = Input::Begin;
        }
    }
}

/// Reads the notes of persons of one log in a file: those of its `N` blocks, and those of chapters that list notes. A chapter
/// that cannot be read is passed over.
///
/// It holds the entries of these chapters, what [`ReadChapter`] holds of one, and [`Notes`].
#[derive(Debug)]
pub struct FetchNotes {
    log: LogId,
    waiting: VecDeque<ChapterEntry>,
    reading: Option<ReadChapter>,
    notes: Notes,
}

impl FetchNotes {
    /// Of a file with these contents.
    #[must_use]
    pub fn new(log: LogId, contents: &Contents) -> Self {
        let noted = contents.chapters.iter();
        let noted = noted.filter(|entry| has_notes(&entry.summary));
        let mut fetch = Self {
            log,
            waiting: noted.cloned().collect(),
            reading: None,
            notes: Notes::default(),
        };
        fetch.take(contents.notes.clone());
        fetch
    }

    fn take(&mut self, notes: Vec<KeptNote>) {
        for note in notes {
            if note.key.log == self.log {
                self.notes.insert(note);
            }
        }
    }

    /// Takes in what was asked for; returns what to do next.
    pub fn step(&mut self, mut input: Input) -> Step<Notes> {
        loop {
            let mut machine = match self.reading.take() {
                Some(reading) => reading,
                None => match self.waiting.pop_front() {
                    Some(entry) => ReadChapter::new(&entry),
                    None => return Step::Done(std::mem::take(&mut self.notes)),
                },
            };
            match machine.step(input).map(Step::into_done) {
                Ok(Err(needs)) => {
                    self.reading = Some(machine);
                    return needs;
                }
                Ok(Ok(chapter)) => self.take(notes_of(&chapter.frames)),
                // The page says of the file what cannot be read.
                Err(_) => {}
            }
            input = Input::Begin;
        }
    }
}

/// Why a part of a file cannot be read: its name, and not where it lies.
fn reason(name: &str, damage: &Damage) -> String {
    format!("{name}, {damage}")
}

/// Whether a chapter holds a record.
pub(crate) fn holds(entry: &ChapterEntry, seq: Seq) -> bool {
    (entry.summary.first..=entry.summary.last).contains(&seq)
}

/// What a file lists of the chapter that holds a record; of several, the first that does.
#[must_use]
pub fn holding<'a>(contents: &'a Contents, epoch: &EpochId, seq: Seq) -> Option<&'a ChapterEntry> {
    let mut entries = contents.chapters.iter();
    entries.find(|entry| {
        let of = contents.file_of(entry);
        of.is_some_and(|of| of.epoch == epoch.as_str()) && holds(entry, seq)
    })
}

/// The first chapter that one of several files gave; else why one of them could not be read.
pub fn first_chapter(found: impl IntoIterator<Item = Fetched>) -> Fetched {
    let mut worst = Fetched::Gone;
    for found in found {
        match found {
            Fetched::Chapter { .. } => return found,
            Fetched::Gone => {}
            Fetched::NotRead { .. } => worst = found,
        }
    }
    worst
}

/// The same of bodies.
///
/// # Errors
/// Why one of them could not be read, in a sentence.
pub fn first_body(
    found: impl IntoIterator<Item = Result<Option<Bytes>, String>>,
) -> Result<Option<Bytes>, String> {
    let mut worst = Ok(None);
    for found in found {
        match found {
            Ok(Some(_)) => return found,
            Ok(None) => {}
            Err(_) => worst = found,
        }
    }
    worst
}
