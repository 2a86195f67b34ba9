//! What is exported as a recording: a file of its own, which opens in `watchscope replay` and on the page.

use watchscope_recording::{ExcerptFile, WriteError};

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
pub struct RecordingFile(ExcerptFile);

impl RecordingFile {
    /// Takes in what was to be deflated (raw deflate, RFC 1951); returns what to deflate next, or nothing at the end.
    /// `taken` is the same at each step.
    ///
    /// # Errors
    /// If a part does not fit in a block, or its host did not deflate the chapter before.
    pub fn step(
        &mut self,
        taken: &Taken,
        deflated: Option<&[u8]>,
    ) -> Result<Option<&[u8]>, WriteError> {
        let runs = |place: usize| taken.runs.get(place).map(|run| &run.run);
        self.0.step(runs, &taken.notes, deflated)
    }

    /// The file, at the end.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}
