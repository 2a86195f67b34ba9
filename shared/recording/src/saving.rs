//! The machine that saves a range of a page's loaded chapters as a file of its own.
//!
//! ```text
//!   frames of each chapter ─► Excerpt ─► F of each run ─► chapters ─► Deflate ─(deflated)─► C … ─► I ─► Saved
//! ```

use std::collections::VecDeque;

use thiserror::Error;
use watchscope_model::notes::MAX_NOTES;
use watchscope_model::{EpochId, KeptNote, Seq, Time};

use crate::error::WriteError;
use crate::excerpt::{Excerpt, ExcerptError, ExcerptRun};
use crate::extract::{Lanes, Out, Stretch};
use crate::notes::outside;
use crate::write::{Packing, Writer};

/// The most bytes that are saved at once: what a page holds of its logs.
pub const MAX_SAVED_BYTES: usize = 384 << 20;
/// The most chapters that are saved at once. The file has no more chapters than it is read with, though it has a few more
/// than it was made of: one for each MiB.
pub const MAX_SAVED_CHAPTERS: usize = 32_768;

/// Why a range cannot be saved.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SavingError {
    /// No record is in the range.
    #[error("no record is in the range")]
    Empty,
    /// The chapters cannot be read as those of one log.
    #[error(transparent)]
    Excerpt(#[from] ExcerptError),
    /// The chapters, or the file made of them, are too large.
    #[error("the range has {} MiB, and at most {} MiB can be saved at once", bytes.div_ceil(1 << 20), MAX_SAVED_BYTES >> 20)]
    TooLarge {
        /// How many bytes there are.
        bytes: u64,
    },
    /// There are too many chapters.
    #[error(
        "the range has {chapters} chapters, and at most {MAX_SAVED_CHAPTERS} can be saved at once"
    )]
    TooManyChapters {
        /// How many there are.
        chapters: usize,
    },
    /// The host did not deflate what it was asked to.
    #[error("the file could not be deflated")]
    Deflate,
    /// A part does not fit in a block.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What a saving machine needs next, or its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavingStep<'a> {
    /// These bytes deflated (raw deflate, RFC 1951); at most [`MAX_RAW_BYTES`](crate::MAX_RAW_BYTES).
    Deflate(&'a [u8]),
    /// The machine is at its end.
    Done(Saved),
}

/// A range that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// How many records of the log are in it. Those that stand for records that were left out do not count.
    pub records: u64,
    /// When its first record was.
    pub from: Time,
    /// When its last record was.
    pub to: Time,
}

/// Makes a file of a range of one log, from the frames of its chapters.
///
/// Bounded: it takes at most [`MAX_SAVED_BYTES`] in at most [`MAX_SAVED_CHAPTERS`], and refuses more. It lets go of each
/// chapter that was read. Of one run of the log's writer it holds the extract, which has a snapshot more for each MiB; and
/// the file, which is refused where it outgrows [`MAX_SAVED_BYTES`].
#[derive(Debug)]
pub struct Saving {
    excerpt: Excerpt,
    /// Not read yet.
    chapters: VecDeque<Vec<u8>>,
    /// Chapters of the file that are not written yet.
    outs: VecDeque<Out>,
    file: Option<(Writer, Vec<u8>)>,
    /// What is being deflated.
    packing: Option<Packing>,
    records: u64,
    notes: Vec<KeptNote>,
    /// Records that are in the file, of each run.
    kept: Vec<(EpochId, Vec<(Seq, Seq)>)>,
}

impl Saving {
    /// Of a stretch of one log, and some of its lanes.
    ///
    /// Each of `chapters` has a head frame and then segment frames, one behind the other. They stand in the order of their
    /// records, those of each run together. `watchscope` is the version that the file names as its writer's, `redaction` that
    /// of the rules by which bodies were redacted.
    #[must_use]
    pub fn new(
        stretch: Stretch,
        lanes: Lanes,
        chapters: Vec<Vec<u8>>,
        watchscope: &str,
        redaction: u32,
    ) -> Self {
        Self {
            excerpt: Excerpt::new(stretch, lanes, watchscope, redaction),
            chapters: chapters.into(),
            outs: VecDeque::new(),
            file: None,
            packing: None,
            records: 0,
            notes: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The same with notes of persons: those whose record is not in the range are written beside it. The first
    /// [`MAX_NOTES`] are taken.
    #[must_use]
    pub fn with_notes(self, mut notes: Vec<KeptNote>) -> Self {
        notes.truncate(MAX_NOTES);
        Self { notes, ..self }
    }

    /// Takes in what was to be deflated; returns what to do next.
    ///
    /// # Errors
    /// If there is nothing to save, or too much, or a frame cannot be read. The machine is of no more use then.
    pub fn step(&mut self, deflated: Option<&[u8]>) -> Result<SavingStep<'_>, SavingError> {
        if let Err(error) = self.go_on(deflated) {
            // What is left would make a file that lacks a part.
            self.chapters.clear();
            self.file = None;
            self.outs.clear();
            return Err(error);
        }
        match &self.packing {
            Some(packing) => Ok(SavingStep::Deflate(packing.raw())),
            None => self.file.take().map_or(Err(SavingError::Empty), |file| {
                let notes = outside(std::mem::take(&mut self.notes), &self.kept);
                finished(file, &notes, self.records).map(SavingStep::Done)
            }),
        }
    }

    /// Goes on to the next chapter that is to be deflated, or to the end.
    fn go_on(&mut self, deflated: Option<&[u8]>) -> Result<(), SavingError> {
        match self.packing.take() {
            None => self.check_sizes()?,
            Some(packing) => {
                let deflated = deflated.ok_or(SavingError::Deflate)?;
                self.write(&packing, deflated)?;
            }
        }
        while self.outs.is_empty() && self.read_run()? {}
        if let Some(out) = self.outs.pop_front() {
            let segments = out.segments.iter().map(Vec::as_slice);
            self.packing = Some(Writer::whole_chapter(&out.head, segments)?);
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), SavingError> {
        let chapters = self.chapters.len();
        if chapters > MAX_SAVED_CHAPTERS {
            return Err(SavingError::TooManyChapters { chapters });
        }
        let bytes = self.chapters.iter().map(|frames| frames.len() as u64).sum();
        if bytes > MAX_SAVED_BYTES as u64 {
            return Err(SavingError::TooLarge { bytes });
        }
        Ok(())
    }

    fn write(&mut self, packing: &Packing, deflated: &[u8]) -> Result<(), SavingError> {
        let Some((writer, bytes)) = &mut self.file else {
            return Err(SavingError::Empty);
        };
        bytes.extend(writer.packed(packing, deflated)?);
        let bytes = writer.file_bytes();
        if bytes > MAX_SAVED_BYTES as u64 {
            return Err(SavingError::TooLarge { bytes });
        }
        Ok(())
    }

    /// Reads the chapters of the next run, and writes what they are of; returns whether there was one.
    fn read_run(&mut self) -> Result<bool, SavingError> {
        while let Some(frames) = self.chapters.pop_front() {
            if let Some(run) = self.excerpt.chapter(frames)? {
                return self.begin(run).map(|()| true);
            }
        }
        match self.excerpt.finish() {
            Some(run) => self.begin(run).map(|()| true),
            None => Ok(false),
        }
    }

    /// Begins the part of the file with the chapters of a run.
    fn begin(&mut self, run: ExcerptRun) -> Result<(), SavingError> {
        match &mut self.file {
            Some((writer, bytes)) => bytes.extend(writer.file(&run.of)?),
            None => self.file = Some(Writer::begin(&run.of)?),
        }
        self.records += run.records();
        let kept = run.chapters.iter().flat_map(|chapter| &chapter.kept);
        self.kept
            .push((run.of.epoch.as_str().into(), kept.copied().collect()));
        self.outs.extend(run.chapters);
        Ok(())
    }
}

/// Ends the file.
fn finished(
    (mut writer, mut bytes): (Writer, Vec<u8>),
    notes: &[KeptNote],
    records: u64,
) -> Result<Saved, SavingError> {
    bytes.extend(writer.notes(notes)?);
    bytes.extend(writer.finish()?);
    let chapters = writer.contents().chapters;
    let summaries = chapters.iter().map(|entry| &entry.summary);
    let from = summaries.clone().map(|summary| summary.first_at).min();
    let to = summaries.map(|summary| summary.last_at).max();
    let (from, to) = from.zip(to).ok_or(SavingError::Empty)?;
    Ok(Saved {
        bytes,
        records,
        from,
        to,
    })
}
