//! The machine that writes the runs of an excerpt as one file.
//!
//! ```text
//!   F of each run ─► its chapters ─► deflate ─(deflated)─► C … ─► N ─► I ─► the whole file
//! ```

use watchscope_model::{KeptNote, Notes, Time};

use crate::error::WriteError;
use crate::excerpt::ExcerptRun;
use crate::extract::Out;
use crate::write::{Packing, Writer};

/// The machine that writes the runs of an excerpt, and notes from outside them, as one file. The machine's host
/// deflates, because a browser deflates asynchronously.
///
/// The machine holds one chapter and the whole file, so the size of the excerpt bounds its memory.
#[derive(Debug, Default)]
pub struct ExcerptFile {
    /// The file so far; `None` before the first chapter and after the last.
    file: Option<(Writer, Vec<u8>)>,
    whole: Vec<u8>,
    /// The chapter that the host is deflating.
    packing: Option<Packing>,
    /// Index of the next run, and index of the next chapter in that run.
    next: (usize, usize),
}

impl ExcerptFile {
    /// Takes in the deflated bytes (raw deflate, RFC 1951) of the last step; `None` at the first step. Returns the next
    /// bytes to deflate, or `None` at the end. `runs` returns the run of an index from 0, and `None` after the last.
    /// `runs` and `notes` must be the same at each step. Notes that do not fit in a block are left out.
    ///
    /// # Errors
    /// It fails if a part does not fit in a block, if a chapter's frames cannot be read, or if the deflated bytes are
    /// missing. After an error the machine is unusable.
    pub fn step<'a>(
        &mut self,
        runs: impl Fn(usize) -> Option<&'a ExcerptRun>,
        notes: &[KeptNote],
        deflated: Option<&[u8]>,
    ) -> Result<Option<&[u8]>, WriteError> {
        if let Some(packing) = self.packing.take() {
            let deflated = deflated.ok_or(WriteError::NotDeflated)?;
            let (writer, bytes) = self.file.as_mut().ok_or(WriteError::NoChapter)?;
            bytes.extend(writer.packed(&packing, deflated)?);
        }
        if let Some(chapter) = self.next_chapter(runs)? {
            let segments = chapter.segments.iter().map(Vec::as_slice);
            self.packing = Some(Writer::whole_chapter(&chapter.head, segments)?);
        } else if let Some((mut writer, mut bytes)) = self.file.take() {
            bytes.extend(writer.notes(notes)?);
            bytes.extend(writer.finish()?);
            self.whole = bytes;
        }
        Ok(self.packing.as_ref().map(Packing::raw))
    }

    /// Returns the whole file. The result is empty before the last step, and for an excerpt without a run; notes alone
    /// make no file.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.whole
    }

    /// Returns the next chapter. Before the first chapter of a run, it writes the run's file block (`F`). `None` after
    /// the last chapter. It fails if the file block does not fit in a block.
    fn next_chapter<'a>(
        &mut self,
        runs: impl Fn(usize) -> Option<&'a ExcerptRun>,
    ) -> Result<Option<&'a Out>, WriteError> {
        loop {
            let (place, chapter) = self.next;
            let Some(run) = runs(place) else {
                return Ok(None);
            };
            if chapter == 0 {
                match &mut self.file {
                    Some((writer, bytes)) => bytes.extend(writer.file(&run.of)?),
                    None => self.file = Some(Writer::begin(&run.of)?),
                }
            }
            if let Some(found) = run.chapters.get(chapter) {
                self.next = (place, chapter + 1);
                return Ok(Some(found));
            }
            self.next = (place + 1, 0);
        }
    }
}

/// Returns the notes of persons about a range of time whose records are in none of `runs`, sorted by the times of their
/// records. The range includes both ends. The notes are those of [`Notes::records_about`]: replaced and withdrawn notes
/// are among them. A note of a record that `runs` leave out is returned, too.
#[must_use]
pub fn notes_beside<'a>(
    notes: &Notes,
    (from, to): (Time, Time),
    runs: impl Iterator<Item = &'a ExcerptRun>,
) -> Vec<KeptNote> {
    let runs: Vec<_> = runs.map(ExcerptRun::kept).collect();
    let is_within = |note: &KeptNote| {
        let mut of_its_run = runs.iter().filter(|(epoch, _)| *epoch == note.key.epoch);
        of_its_run.any(|(_, kept)| {
            let mut kept = kept.iter();
            kept.any(|&(first, last)| (first..=last).contains(&note.key.seq))
        })
    };
    let about = notes.records_about(from, to).into_iter();
    about.filter(|note| !is_within(note)).cloned().collect()
}
