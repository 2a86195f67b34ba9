//! The machines that read for a viewer from a file: the chapter of a record, the body of a record, and notes.

use std::collections::VecDeque;

use bytes::Bytes;
use watchscope_log::Fetched;
use watchscope_model::{EpochId, KeptNote, LogId, Notes, Seq};
use watchscope_recording::{
    BlockPlace, ChapterEntry, Contents, Damage, Input, ReadBodies, ReadChapter, Step, has_notes,
    notes_of,
};

/// The machine that reads the chapter of a record from a file.
///
/// If several chapters hold the record, it returns the first that can be read, in the given order. If a part of the
/// returned chapter is damaged, its frames may end before the record. The machine holds the entries of these chapters,
/// and the memory of [`ReadChapter`] for one chapter.
#[derive(Debug)]
pub struct FetchChapter {
    name: String,
    waiting: VecDeque<ChapterEntry>,
    reading: Option<(Seq, Seq, ReadChapter)>,
    worst: Fetched,
}

impl FetchChapter {
    /// Makes a machine for the chapters of a file that hold the record; there may be none. `name` is the file's name,
    /// for its messages.
    #[must_use]
    pub fn new<'a>(name: &str, entries: impl IntoIterator<Item = &'a ChapterEntry>) -> Self {
        Self {
            name: name.to_owned(),
            waiting: entries.into_iter().cloned().collect(),
            reading: None,
            worst: Fetched::Gone,
        }
    }

    /// Takes in the answer to the last step, and returns the next step; the first answer is [`Input::Begin`]. Without a
    /// readable chapter the result is [`Fetched::NotRead`] with the file's name and the damage of the last chapter. If
    /// no chapter was given, the result is [`Fetched::Gone`].
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

/// The machine that reads the redacted body of a record from a file. The result is `None` if the file has no body of
/// the record. The result is an error if no readable block has the body, and a block that may have it cannot be read.
/// The error is a sentence with the file's name.
///
/// The machine holds the positions of the blocks, and the memory of [`ReadBodies`] for one block.
#[derive(Debug)]
pub struct FetchBody {
    name: String,
    seq: Seq,
    waiting: VecDeque<BlockPlace>,
    reading: Option<ReadBodies>,
    damaged: Option<String>,
}

impl FetchBody {
    /// Makes a machine for the chapters of a file that hold the record `seq`; there may be none. `name` is the file's
    /// name, for its messages.
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

    /// Takes in the answer to the last step, and returns the next step; the first answer is [`Input::Begin`]. The last
    /// step has the result or the error, which the documentation of [`FetchBody`] describes.
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

/// The machine that reads the notes of persons about one log from a file: from notes blocks (`N`), and from chapters
/// whose summary counts notes. A chapter that cannot be read is passed over.
///
/// The machine holds the entries of these chapters, the memory of [`ReadChapter`] for one chapter, and [`Notes`], which
/// have a bound of their own.
#[derive(Debug)]
pub struct FetchNotes {
    log: LogId,
    waiting: VecDeque<ChapterEntry>,
    reading: Option<ReadChapter>,
    notes: Notes,
}

impl FetchNotes {
    /// Makes a machine for a file with these contents. Notes of other logs than `log` are left out.
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

    /// Takes in the answer to the last step, and returns the next step; the first answer is [`Input::Begin`]. The last
    /// step has the notes; the set is empty if there are none.
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
                // The page's notice about the file says what cannot be read.
                Err(_) => {}
            }
            input = Input::Begin;
        }
    }
}

/// Says why a part of a file cannot be read, with the file's name and without its folder.
fn reason(name: &str, damage: &Damage) -> String {
    format!("{name}, {damage}")
}

/// Returns whether a chapter's summary spans the seq of a record.
pub(crate) fn holds(entry: &ChapterEntry, seq: Seq) -> bool {
    (entry.summary.first..=entry.summary.last).contains(&seq)
}

/// Returns the file's entry of the chapter that holds a record; if several chapters do, the first in
/// [`Contents::chapters`]. `None` if no chapter does, or if the file has no such epoch. The name of the log is not
/// compared.
#[must_use]
pub fn holding<'a>(contents: &'a Contents, epoch: &EpochId, seq: Seq) -> Option<&'a ChapterEntry> {
    let mut entries = contents.chapters.iter();
    entries.find(|entry| {
        let of = contents.file_of(entry);
        of.is_some_and(|of| of.epoch == epoch.as_str()) && holds(entry, seq)
    })
}

/// Returns the first chapter among the results from several files; later results are not requested. If no result is a
/// chapter, it returns the last [`Fetched::NotRead`], or [`Fetched::Gone`] if there is none.
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

/// Returns the first body among the results from several files; later results are not requested. It returns `None` if
/// all results are `None`, or if there are no results.
///
/// # Errors
/// The last error among the results, a sentence, if no file gave a body.
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
