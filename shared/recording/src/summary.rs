//! The summary of a chapter whose frames are at hand.

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::summary::{Summarizer, Summary, UNKNOWN_KIND};
use watchscope_model::{Entry, EpochId, LogId, Seq, State};

/// Makes a chapter's summary from its frames.
#[derive(Debug)]
pub struct FrameSummarizer {
    reader: ChapterReader,
    /// Why no segment is taken any more.
    broken: Option<DecodeError>,
    log: LogId,
    epoch: EpochId,
    summarizer: Summarizer,
}

impl FrameSummarizer {
    /// Begins with a chapter's opening.
    ///
    /// # Errors
    /// If it is no head frame.
    pub fn open(head: &[u8]) -> Result<Self, DecodeError> {
        let (reader, opening) = ChapterReader::open(head)?;
        Ok(Self {
            reader,
            broken: None,
            log: opening.log,
            epoch: opening.epoch,
            summarizer: Summarizer::new(opening.state),
        })
    }

    /// The log that the opening names.
    #[must_use]
    pub fn log(&self) -> &LogId {
        &self.log
    }

    /// The run of its writer that the opening names.
    #[must_use]
    pub fn epoch(&self) -> &EpochId {
        &self.epoch
    }

    /// The chapter's first record.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.summarizer.first()
    }

    /// The fold behind the last record, without the objects that the chapter opened with.
    #[must_use]
    pub fn state(&self) -> &State {
        self.summarizer.state()
    }

    /// Takes in the next segment.
    ///
    /// # Errors
    /// If it cannot be read or does not follow. What was taken in before stands; behind a segment that cannot be read
    /// no other is taken.
    pub fn segment(&mut self, frame: &[u8]) -> Result<(), DecodeError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let entries = self.reader.entries(frame).inspect_err(|error| {
            // Else it may have taken in some of the segment's definitions.
            let is_untouched = matches!(
                error,
                DecodeError::Tag(_) | DecodeError::Discontinuous { .. }
            );
            self.broken = (!is_untouched).then(|| error.clone());
        })?;
        for entry in &entries {
            match entry {
                Some(Entry::Record(record)) => self.summarizer.record(record),
                Some(Entry::Inside(inside)) => {
                    self.summarizer.pass(inside.inside.kind(), inside.at);
                }
                None => {
                    let at = self.summarizer.state().at;
                    self.summarizer.pass(UNKNOWN_KIND, at);
                }
            }
        }
        Ok(())
    }

    /// What the chapter is in short so far.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summarizer.summary()
    }
}
