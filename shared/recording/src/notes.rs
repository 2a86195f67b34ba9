//! Notes of persons in a file: in block `N` those whose record lies outside its chapters, and those of a chapter.
//!
//! ```text
//!   N      notes, one behind the other: each behind its length (docs/recordings.md)
//! ```

use watchscope_model::chapter::ChapterReader;
use watchscope_model::event::Note;
use watchscope_model::notes::{decode_notes, push_note};
use watchscope_model::summary::Summary;
use watchscope_model::{Entry, KeptNote};

use crate::chapter::Frames;
use crate::error::DamageKind;

/// The most bytes that an `N` takes; a writer goes on in the next one.
pub const MAX_NOTES_BLOCK_BYTES: usize = 1 << 20;

/// The payloads of the blocks that hold these notes. A note that is too long for a block, which no writer of ours makes, is
/// left out.
pub(crate) fn payloads<'a>(notes: impl IntoIterator<Item = &'a KeptNote>) -> Vec<Vec<u8>> {
    let mut payloads: Vec<Vec<u8>> = Vec::new();
    for note in notes {
        let mut bytes = Vec::new();
        push_note(note, &mut bytes);
        if bytes.len() > MAX_NOTES_BLOCK_BYTES {
            continue;
        }
        match payloads.last_mut() {
            Some(last) if last.len() + bytes.len() <= MAX_NOTES_BLOCK_BYTES => last.extend(bytes),
            _ => payloads.push(bytes),
        }
    }
    payloads
}

/// The notes of a block.
pub(crate) fn read(payload: &[u8]) -> Result<Vec<KeptNote>, DamageKind> {
    if payload.len() > MAX_NOTES_BLOCK_BYTES {
        return Err(DamageKind::Payload("it is longer than 1 MiB"));
    }
    Ok(decode_notes(payload)?)
}

/// Whether a chapter has notes, of persons or of a story: only then it need be read for them.
#[must_use]
pub fn has_notes(summary: &Summary) -> bool {
    summary.counts.iter().any(|(kind, _)| *kind == Note::KIND)
}

/// The notes of persons in a chapter, up to the first segment that cannot be read.
#[must_use]
pub fn notes_of(frames: &Frames) -> Vec<KeptNote> {
    let mut notes = Vec::new();
    let Ok((mut reader, opening)) = ChapterReader::open(frames.head()) else {
        return notes;
    };
    for segment in frames.segments() {
        let Ok(entries) = reader.entries(segment) else {
            break;
        };
        for entry in entries.iter().flatten() {
            if let Entry::Record(record) = entry {
                notes.extend(KeptNote::of(&opening.log, &opening.epoch, record));
            }
        }
    }
    notes
}
