//! The machine that saves a range of a page's loaded chapters as a file of its own.
//!
//! ```text
//!   frames of each chapter ─► Extract (one a run) ─► F ─► chapters ─► Deflate ─(deflated)─► C … ─► I ─► Saved
//! ```

use std::collections::VecDeque;

use thiserror::Error;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::{EpochId, LogId, Time};

use crate::chapter::Frames;
use crate::error::{ExtractError, WriteError};
use crate::extract::{Extract, Lanes, Out, Stretch};
use crate::file_block::{FileBlock, Form};
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
    /// A frame cannot be read.
    #[error("chapter {number} of the range cannot be read: {error}")]
    Frame {
        /// Which of the chapters, from 1.
        number: usize,
        /// Why.
        error: DecodeError,
    },
    /// The chapters are of several logs.
    #[error("chapter {number} of the range is of another log than those before it")]
    SeveralLogs {
        /// Which of the chapters, from 1.
        number: usize,
    },
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
    stretch: Stretch,
    lanes: Lanes,
    /// What the chapters of each run are of, but for what is known of the run.
    of: FileBlock,
    /// Not read yet.
    chapters: VecDeque<Vec<u8>>,
    /// How many were read.
    read: usize,
    log: Option<LogId>,
    run: Option<Run>,
    /// Chapters of the file that are not written yet.
    outs: VecDeque<Out>,
    file: Option<(Writer, Vec<u8>)>,
    /// What is being deflated.
    packing: Option<Packing>,
    records: u64,
}

/// A run of the log's writer whose chapters are being read.
#[derive(Debug)]
struct Run {
    epoch: EpochId,
    extract: Extract,
    of: FileBlock,
    outs: Vec<Out>,
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
        let of = FileBlock {
            watchscope: watchscope.to_owned(),
            redaction,
            form: Form::Extract,
            withheld: withheld(&lanes),
            ..FileBlock::default()
        };
        Self {
            stretch,
            lanes,
            of,
            chapters: chapters.into(),
            read: 0,
            log: None,
            run: None,
            outs: VecDeque::new(),
            file: None,
            packing: None,
            records: 0,
        }
    }

    /// Takes in what was to be deflated; returns what to do next.
    ///
    /// # Errors
    /// If there is nothing to save, or too much, or a frame cannot be read. The machine is of no more use then.
    pub fn step(&mut self, deflated: Option<&[u8]>) -> Result<SavingStep<'_>, SavingError> {
        if let Err(error) = self.go_on(deflated) {
            // What is left would make a file that lacks a part.
            self.chapters.clear();
            (self.run, self.file) = (None, None);
            self.outs.clear();
            return Err(error);
        }
        match &self.packing {
            Some(packing) => Ok(SavingStep::Deflate(packing.raw())),
            None => self.file.take().map_or(Err(SavingError::Empty), |file| {
                finished(file, self.records).map(SavingStep::Done)
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
            self.read += 1;
            if self.read_chapter(frames)? {
                return Ok(true);
            }
        }
        match self.run.take() {
            Some(run) => self.end(run).map(|()| true),
            None => Ok(false),
        }
    }

    /// Reads a chapter; returns whether one run ended before it.
    fn read_chapter(&mut self, bytes: Vec<u8>) -> Result<bool, SavingError> {
        let number = self.read;
        let failed = |error| SavingError::Frame { number, error };
        let frames = Frames::split(bytes).map_err(failed)?;
        let opened = ChapterReader::open(frames.head()).map_err(failed)?;
        let (_, opening) = &opened;
        let epoch = opening.epoch.clone();
        if *self.log.get_or_insert_with(|| opening.log.clone()) != opening.log {
            return Err(SavingError::SeveralLogs { number });
        }
        let ended = self.run.take_if(|run| run.epoch != epoch);
        let run = self.run.get_or_insert_with(|| Run {
            extract: Extract::new(self.stretch, self.lanes.clone()),
            of: FileBlock {
                log: opening.log.as_str().to_owned(),
                epoch: epoch.as_str().to_owned(),
                ..self.of.clone()
            },
            epoch,
            outs: Vec::new(),
        });
        let outs = run.extract.opened(opened, &frames);
        run.outs.extend(outs.map_err(failed)?);
        if let Some(state) = run.extract.state() {
            run.of = std::mem::take(&mut run.of).with_state(state);
        }
        match ended {
            Some(ended) => self.end(ended).map(|()| true),
            None => Ok(false),
        }
    }

    /// Begins the part of the file with the chapters of a run. A run without a record in the stretch has none.
    fn end(&mut self, run: Run) -> Result<(), SavingError> {
        let mut outs = run.outs;
        match run.extract.finish() {
            Ok(last) => outs.extend(last),
            // It fails for no other reason.
            Err(ExtractError::Empty | ExtractError::Frame { .. }) => return Ok(()),
        }
        match &mut self.file {
            Some((writer, bytes)) => bytes.extend(writer.file(&run.of)?),
            None => self.file = Some(Writer::begin(&run.of)?),
        }
        let kept = outs.iter().flat_map(|out| &out.kept);
        let records: u64 = kept.map(|(first, last)| last.0 - first.0 + 1).sum();
        self.records += records;
        self.outs.extend(outs);
        Ok(())
    }
}

/// Ends the file.
fn finished(
    (mut writer, mut bytes): (Writer, Vec<u8>),
    records: u64,
) -> Result<Saved, SavingError> {
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

/// What the lanes leave out, in a few words.
fn withheld(lanes: &Lanes) -> Vec<String> {
    match lanes {
        Lanes::All => Vec::new(),
        Lanes::Only { watches, clients } => vec![format!(
            "all but {} watches and {} clients",
            watches.len(),
            clients.len()
        )],
    }
}
