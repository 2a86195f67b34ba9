//! The summary of a chapter, from its frames.

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::DecodeError;
use watchscope_model::summary::{Summarizer, Summary, UNKNOWN_KIND};
use watchscope_model::{Entry, EpochId, LogId, Seq, State};

/// A maker of a chapter's summary from its frames, whose records it folds.
///
/// It holds the chapter's dictionary, a fold without the objects of the opening snapshot, and the counts and troubles
/// of a [`Summarizer`]. The summary has at most 16 KiB when encoded.
#[derive(Debug)]
pub struct FrameSummarizer {
    reader: ChapterReader,
    /// The error after which no segment is taken in.
    broken: Option<DecodeError>,
    log: LogId,
    epoch: EpochId,
    summarizer: Summarizer,
}

impl FrameSummarizer {
    /// Begins with a chapter's head frame. Bytes after the frame are ignored.
    ///
    /// # Errors
    /// It fails if `head` does not begin with a head frame, or if that frame cannot be read. The layers in the frame
    /// stay unread, so damage in them is no error.
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

    /// Returns the log that the head frame names.
    #[must_use]
    pub fn log(&self) -> &LogId {
        &self.log
    }

    /// Returns the run of the log's writer that the head frame names.
    #[must_use]
    pub fn epoch(&self) -> &EpochId {
        &self.epoch
    }

    /// Returns the seq of the chapter's first record, which is one more than the seq of the opening snapshot.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.summarizer.first()
    }

    /// Returns the fold after the last record, without the objects of the opening snapshot. Changes of a watch with
    /// progress are left out of this fold, as [`Summarizer::state`] states. Before the first record, it is the opening
    /// snapshot without objects.
    #[must_use]
    pub fn state(&self) -> &State {
        self.summarizer.state()
    }

    /// Takes in the next segment. Bytes after the frame are ignored.
    ///
    /// # Errors
    /// It fails if the segment cannot be read or does not follow. The fields of a record of an unknown kind are not
    /// read, so damage in them is no error. The records of a segment that fails are not taken in, and earlier records
    /// stay. After a segment that cannot be read, every later segment fails with the same error. A segment that does
    /// not follow, or a frame of another kind, leaves the summarizer usable.
    pub fn segment(&mut self, frame: &[u8]) -> Result<(), DecodeError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let entries = self.reader.entries(frame).inspect_err(|error| {
            // Other errors may leave some of the segment's definitions in the reader, so it cannot go on.
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

    /// Returns the summary of the records so far. A record of a kind that this build does not know counts with the time
    /// of the record before it. Without records, the summary's times are those of the opening snapshot, and its last
    /// seq is one below its first.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.summarizer.summary()
    }
}
