//! An export as a recording: a file that opens in `watchscope replay` and on the page.

use watchscope_recording::{ExcerptFile, WriteError};

use crate::taken::Taken;

/// Returns the whole recording file. `deflate` is the host's raw deflate (RFC 1951); it is called once for each
/// chapter. Notes that do not fit in a block of the file are left out.
///
/// # Errors
/// Returns [`WriteError::TooLarge`] if a part other than the notes does not fit in a block. Returns
/// [`WriteError::Frame`] if a frame cannot be read.
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

/// The machine that makes a recording file step by step. The machine's host deflates, because a browser deflates
/// asynchronously.
///
/// The machine holds one chapter and the whole file, so the export's size bounds its memory.
#[derive(Debug, Default)]
pub struct RecordingFile(ExcerptFile);

impl RecordingFile {
    /// Takes in the deflated form (raw deflate, RFC 1951) of the bytes that the previous step returned; `None` at the
    /// first step. Returns the next bytes to deflate, or `None` at the end. `taken` must be the same at each step.
    /// Notes that do not fit in a block of the file are left out.
    ///
    /// # Errors
    /// If a part does not fit in a block, if a frame cannot be read, or if the deflated bytes are missing. After an
    /// error the machine is of no use.
    pub fn step(
        &mut self,
        taken: &Taken,
        deflated: Option<&[u8]>,
    ) -> Result<Option<&[u8]>, WriteError> {
        let runs = |place: usize| taken.runs.get(place).map(|run| &run.run);
        self.0.step(runs, &taken.notes, deflated)
    }

    /// Returns the whole file; empty before [`RecordingFile::step`] returned `None`.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}
