//! The frames of a stretch of time, for a file.

use watchscope_model::chapter::{ChapterWriter, Fold};
use watchscope_model::codec::{DecodeError, split_frame};
use watchscope_model::event::Loss;
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{Entry, EpochId, LogId, Record, Seq, Time};

use super::cache::Store;
use super::chapter::Chapter;

impl Store {
    /// Returns the time range of the loaded records, which may have stretches without records. The range begins at the
    /// time of the record before the first loaded one, if its epoch has one. `None` if no record is loaded.
    #[must_use]
    pub fn loaded(&self) -> Option<(Time, Time)> {
        let chapters = self.epochs.iter().flat_map(|epoch| epoch.chapters.iter());
        let held = chapters.filter(|chapter| chapter.first <= chapter.last);
        held.map(|chapter| (chapter.from, chapter.to))
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// Returns the loaded chapters that reach into a stretch of time, edges included. Each is a head frame and its
    /// segment frames, as large as the chapter. The chapters are ordered by epoch, then by record; there may be none.
    /// Two chapters may share records, and the first and the last may have records beyond the stretch. In a chapter
    /// that begins at a cut of the live log, a record of an unknown kind becomes a record of a loss.
    ///
    /// # Errors
    /// An item is an error if a frame of its chapter cannot be read; the next item is the next chapter.
    pub fn frames(
        &self,
        from: Time,
        to: Time,
    ) -> impl Iterator<Item = Result<Vec<u8>, DecodeError>> + '_ {
        self.epochs.iter().flat_map(move |epoch| {
            let chapters = epoch.chapters.iter();
            let reaches = move |chapter: &&Chapter| {
                chapter.first <= chapter.last && chapter.from <= to && from <= chapter.to
            };
            chapters
                .filter(reaches)
                .map(|chapter| chapter.frames(&epoch.log, &epoch.id))
        })
    }
}

impl Chapter {
    /// Returns the chapter's frames; the first frame has its opening snapshot. A chapter that begins at a cut of the
    /// live log has no opening, so its records are encoded anew.
    ///
    /// # Errors
    /// A [`DecodeError`] if a frame of such a chapter cannot be read. Any other chapter is returned as it is.
    fn frames(&self, log: &LogId, epoch: &EpochId) -> Result<Vec<u8>, DecodeError> {
        let Some(cut) = &self.cut else {
            return Ok(self.bytes.read().into_owned());
        };
        let fold = Fold::new(&cut.state, &cut.layers);
        let (mut writer, mut out) = ChapterWriter::open(log.clone(), epoch.clone(), fold);
        let bytes = self.bytes.read();
        let (mut reader, mut rest) = (cut.reader.clone(), &*bytes);
        let mut last_at = cut.state.at;
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest)?;
            let first = reader.next_seq();
            for (seq, entry) in (first.0..).map(Seq).zip(reader.frame_entries(frame)?) {
                last_at = entry.as_ref().map_or(last_at, Entry::at);
                match entry {
                    Some(Entry::Record(record)) => writer.push(&record),
                    Some(Entry::Inside(record)) => writer.push_inside(&record),
                    None => writer.push(&unknown(seq, last_at)),
                }
            }
            out.extend(writer.seal().into_iter().flatten());
            rest = after;
        }
        Ok(out)
    }
}

/// Returns a record of a loss that replaces a record of a kind that this build does not know.
fn unknown(seq: Seq, at: Time) -> Record {
    let loss = Loss {
        reason: Some("It is of a later version of watchscope.".to_owned()),
        ..Loss::of_run(LossPlace::Withheld, seq, seq)
    };
    Record {
        seq,
        at,
        event: loss.into(),
    }
}
