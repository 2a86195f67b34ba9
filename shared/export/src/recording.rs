//! What is exported as a recording: a file of its own, which opens in `watchscope replay` and on the page.

use watchscope_recording::{WriteError, Writer};

use crate::taken::Taken;

/// The whole file. `deflate` is the host's raw deflate (RFC 1951).
///
/// # Errors
/// If a part does not fit in a block.
pub fn recording(
    taken: &Taken,
    mut deflate: impl FnMut(&[u8]) -> Vec<u8>,
) -> Result<Vec<u8>, WriteError> {
    let mut file: Option<(Writer, Vec<u8>)> = None;
    for run in &taken.runs {
        let (writer, bytes) = match &mut file {
            Some((writer, bytes)) => {
                bytes.extend(writer.file(&run.run.of)?);
                (writer, bytes)
            }
            None => {
                let (writer, bytes) = file.insert(Writer::begin(&run.run.of)?);
                (writer, bytes)
            }
        };
        for chapter in &run.run.chapters {
            let segments = chapter.segments.iter().map(Vec::as_slice);
            let packing = Writer::whole_chapter(&chapter.head, segments)?;
            let deflated = deflate(packing.raw());
            bytes.extend(writer.packed(&packing, &deflated)?);
        }
    }
    match file {
        Some((mut writer, mut bytes)) => {
            bytes.extend(writer.notes(&taken.notes)?);
            bytes.extend(writer.finish()?);
            Ok(bytes)
        }
        None => Ok(Vec::new()),
    }
}
