//! What is exported as a recording: a file of its own, which opens in `watchscope replay` and on the page.

use watchscope_recording::{Out, Packing, WriteError, Writer};

use crate::taken::Taken;

/// The whole file. `deflate` is the host's raw deflate (RFC 1951).
///
/// # Errors
/// If a part does not fit in a block.
pub fn recording(
    taken: &Taken,
    mut deflate: impl FnMut(&[u8]) -> Vec<u8>,
) -> Result<Vec<u8>, WriteError> {
    let mut file = RecordingFile::default();
    let mut deflated = None;
    while let Some(raw) = file.step(taken, deflated.as_deref())? {
        deflated = Some(deflate(raw));
    }
    Ok(file.into_bytes())
}

/// Makes the file, as a machine: its host deflates, which a browser does in its own time.
///
/// Bounded by what is taken: it holds one chapter beside the file.
#[derive(Debug, Default)]
pub struct RecordingFile {
    /// Until it is whole.
    file: Option<(Writer, Vec<u8>)>,
    whole: Vec<u8>,
    /// What is being deflated.
    packing: Option<Packing>,
    /// The run and the chapter in it that come next.
    next: (usize, usize),
}

impl RecordingFile {
    /// Takes in what was to be deflated (raw deflate, RFC 1951); returns what to deflate next, or nothing at the end.
    ///
    /// # Errors
    /// If a part does not fit in a block.
    pub fn step(
        &mut self,
        taken: &Taken,
        deflated: Option<&[u8]>,
    ) -> Result<Option<&[u8]>, WriteError> {
        if let (Some(packing), Some((writer, bytes)), Some(deflated)) =
            (self.packing.take(), &mut self.file, deflated)
        {
            bytes.extend(writer.packed(&packing, deflated)?);
        }
        if let Some(chapter) = self.next_chapter(taken)? {
            let segments = chapter.segments.iter().map(Vec::as_slice);
            self.packing = Some(Writer::whole_chapter(&chapter.head, segments)?);
        } else if let Some((mut writer, mut bytes)) = self.file.take() {
            bytes.extend(writer.notes(&taken.notes)?);
            bytes.extend(writer.finish()?);
            self.whole = bytes;
        }
        Ok(self.packing.as_ref().map(Packing::raw))
    }

    /// The file, at the end.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.whole
    }

    /// The chapter that comes next; where it is the first of a run, the run begins.
    fn next_chapter<'a>(&mut self, taken: &'a Taken) -> Result<Option<&'a Out>, WriteError> {
        loop {
            let (place, chapter) = self.next;
            let Some(run) = taken.runs.get(place) else {
                return Ok(None);
            };
            if chapter == 0 {
                match &mut self.file {
                    Some((writer, bytes)) => bytes.extend(writer.file(&run.run.of)?),
                    None => self.file = Some(Writer::begin(&run.run.of)?),
                }
            }
            if let Some(found) = run.run.chapters.get(chapter) {
                self.next = (place, chapter + 1);
                return Ok(Some(found));
            }
            self.next = (place + 1, 0);
        }
    }
}
