//! The machine that makes an extract from chapters of one log, across several runs of its writer.

use thiserror::Error;
use watchscope_hiding::{Hide, Parts};
use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::{EpochId, LogId, Seq};

use crate::chapter::Frames;
use crate::error::ExtractError;
use crate::extract::{Extract, Lanes, Out, Stretch};
use crate::file_block::{FileBlock, Form};

/// Why chapters cannot be read as those of one log.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExcerptError {
    /// A frame cannot be read, or does not follow the frame before.
    #[error("chapter {number} of the range cannot be read: {error}")]
    Frame {
        /// Number of the chapter among those taken in, from 1.
        number: usize,
        /// The decoder's error.
        error: DecodeError,
    },
    /// The chapter belongs to another log than the chapters before it.
    #[error("chapter {number} of the range is of another log than those before it")]
    SeveralLogs {
        /// Number of the chapter among those taken in, from 1.
        number: usize,
    },
}

/// The part of an excerpt from one run of the log's writer. The stretch has at least one record of the run, but the
/// choice of watches and clients may leave out all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcerptRun {
    /// The file block (`F`) for the run's chapters, with the cluster and the watches as of the last kept record of the
    /// stretch. If no record is kept, they are those of the stretch's begin.
    pub of: FileBlock,
    /// The run's chapters, in the order of their records; at least one.
    pub chapters: Vec<Out>,
}

impl ExcerptRun {
    /// Returns the run's epoch, and the kept records as pairs of first and last seq, both included. The pairs are
    /// sorted; pairs of two chapters may be adjacent. There are no pairs if all records are left out.
    #[must_use]
    pub fn kept(&self) -> (EpochId, Vec<(Seq, Seq)>) {
        let kept = self.chapters.iter().flat_map(|chapter| &chapter.kept);
        (self.of.epoch.as_str().into(), kept.copied().collect())
    }

    /// Returns how many records of the log the excerpt keeps of this run. `loss` records that replace others do not
    /// count.
    #[must_use]
    pub fn records(&self) -> u64 {
        let kept = self.chapters.iter().flat_map(|chapter| &chapter.kept);
        kept.map(|(first, last)| last.0 - first.0 + 1).sum()
    }
}

/// The machine that makes an extract of one log, across runs of its writer: of a stretch, and of some watches and
/// clients in it.
///
/// The machine holds the fold of the current run and the run's new chapters: the kept records, and snapshots. A
/// snapshot comes after more than 1 MiB of segments at the earliest, except at the begin and after a hole. The stretch
/// bounds the new chapters. The objects that the watches hold bound the fold.
#[derive(Debug)]
pub struct Excerpt {
    stretch: Stretch,
    lanes: Lanes,
    hider: Option<Box<dyn Hide>>,
    /// The file block (`F`) for each run, without the fields that depend on the run.
    of: FileBlock,
    /// The number of chapters that were taken in.
    read: usize,
    log: Option<LogId>,
    run: Option<Run>,
}

/// The run of the log's writer whose chapters are being taken in.
#[derive(Debug)]
struct Run {
    epoch: EpochId,
    extract: Extract,
    of: FileBlock,
    chapters: Vec<Out>,
}

impl Excerpt {
    /// Makes a machine for a stretch and the watches and clients of `lanes`. It hides no names. Each file block (`F`)
    /// names `watchscope` as the writer's version, and `redaction` as the version of the redaction rules for bodies.
    #[must_use]
    pub fn new(stretch: Stretch, lanes: Lanes, watchscope: &str, redaction: u32) -> Self {
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
            hider: None,
            of,
            read: 0,
            log: None,
            run: None,
        }
    }

    /// Continues an earlier excerpt: the new file blocks (`F`) begin with the withheld parts of `of`, and take over its
    /// hidden parts. Call this before [`Excerpt::hiding`], because it replaces the hidden parts noted so far, and
    /// before the first chapter.
    #[must_use]
    pub fn after(mut self, of: &FileBlock) -> Self {
        let own = std::mem::take(&mut self.of.withheld);
        self.of.withheld = of.withheld.iter().cloned().chain(own).collect();
        self.of.hidden.clone_from(&of.hidden);
        self
    }

    /// Hides parts of the result with `hider`, and adds these parts to the hidden parts of each file block (`F`). The
    /// hider must know all names in the chapters: unknown names may stay. Call this before the first chapter.
    #[must_use]
    pub fn hiding(mut self, hider: Box<dyn Hide>) -> Self {
        let before: Parts = self.of.hidden.iter().copied().collect();
        let parts = hider.parts().iter().fold(before, Parts::with);
        self.of.hidden = parts.iter().collect();
        self.hider = Some(hider);
        self
    }

    /// Takes in a chapter: a head frame and the segment frames after it. The caller passes chapters in the order of
    /// their records, and the chapters of each run together.
    ///
    /// Returns the run that ended before this chapter, if it has a record of the stretch; otherwise `None`.
    ///
    /// # Errors
    /// It fails if a frame cannot be read or does not follow, or if the chapter belongs to another log. After an error
    /// a part of the excerpt may be missing.
    pub fn chapter(&mut self, bytes: Vec<u8>) -> Result<Option<ExcerptRun>, ExcerptError> {
        self.read += 1;
        let number = self.read;
        let failed = |error| ExcerptError::Frame { number, error };
        let frames = Frames::split(bytes).map_err(failed)?;
        let opened = ChapterReader::open(frames.head()).map_err(failed)?;
        let (_, opening) = &opened;
        let epoch = opening.epoch.clone();
        if *self.log.get_or_insert_with(|| opening.log.clone()) != opening.log {
            return Err(ExcerptError::SeveralLogs { number });
        }
        let ended = self.run.take_if(|run| run.epoch != epoch);
        let mut log = opening.log.clone();
        if let Some(hider) = &mut self.hider {
            hider.log(&mut log);
        }
        let hider = self.hider.as_ref().map(|hider| hider.again());
        let run = self.run.get_or_insert_with(|| Run {
            extract: Extract::new(self.stretch, self.lanes.clone()).hiding(hider),
            of: FileBlock {
                log: log.as_str().to_owned(),
                epoch: epoch.as_str().to_owned(),
                ..self.of.clone()
            },
            epoch,
            chapters: Vec::new(),
        });
        let made = run.extract.opened(opened, &frames);
        run.chapters.extend(made.map_err(failed)?);
        if let Some(state) = run.extract.state() {
            run.of = std::mem::take(&mut run.of).with_state(state);
        }
        Ok(ended.and_then(Run::end))
    }

    /// Takes in all chapters, as [`chapter`](Self::chapter) does. Returns the runs that have a record of the stretch,
    /// in the order of the chapters; none if no record is in the stretch.
    ///
    /// # Errors
    /// It fails if a frame cannot be read or does not follow, or if a chapter belongs to another log.
    pub fn runs(
        mut self,
        chapters: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Vec<ExcerptRun>, ExcerptError> {
        let mut runs = Vec::new();
        for chapter in chapters {
            runs.extend(self.chapter(chapter)?);
        }
        runs.extend(self.finish());
        Ok(runs)
    }

    /// Ends the extract. Returns the last run, if it has a record of the stretch. `None` if the last run has none, if
    /// no chapter was taken in, or at a second call.
    pub fn finish(&mut self) -> Option<ExcerptRun> {
        self.run.take().and_then(Run::end)
    }
}

impl Run {
    fn end(self) -> Option<ExcerptRun> {
        let mut chapters = self.chapters;
        match self.extract.finish() {
            Ok(last) => chapters.extend(last),
            // `finish` fails only if no record was in the stretch.
            Err(ExtractError::Empty | ExtractError::Frame { .. }) => return None,
        }
        Some(ExcerptRun {
            of: self.of,
            chapters,
        })
    }
}

/// Returns in a few words which records the choice of watches and clients leaves out; no words for [`Lanes::All`].
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
