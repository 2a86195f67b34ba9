//! Notes of persons in a file: the notes in notes blocks (`N`), whose records lie outside the chapters, and the notes
//! in chapters.
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

/// The most bytes in the payload of a notes block (`N`): a reader holds one payload at a time. A writer continues in
/// the next `N` block, and leaves out a note that alone is longer. A reader reports a longer payload as damage. The
/// number has no source.
pub const MAX_NOTES_BLOCK_BYTES: usize = 1 << 20;

/// Returns the payloads of the `N` blocks for these notes. A note that is too long for a block is left out; no writer
/// of watchscope makes such a note.
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

/// Reads the notes of a notes block (`N`). It fails if the payload is over [`MAX_NOTES_BLOCK_BYTES`], if a note cannot
/// be decoded, or if there are more notes than a log holds.
pub(crate) fn read(payload: &[u8]) -> Result<Vec<KeptNote>, DamageKind> {
    if payload.len() > MAX_NOTES_BLOCK_BYTES {
        return Err(DamageKind::Payload("it is longer than 1 MiB"));
    }
    Ok(decode_notes(payload)?)
}

/// Returns whether a chapter has notes, of persons or of a story, by the counts of its summary. `false` means that the
/// chapter need not be read for notes.
#[must_use]
pub fn has_notes(summary: &Summary) -> bool {
    summary.counts.iter().any(|(kind, _)| *kind == Note::KIND)
}

/// Returns the notes of persons in a chapter, in the order of their records. The list ends before the first segment
/// that cannot be read or does not follow. Replaced and withdrawn notes are among them. The result is empty if there
/// are none, or if the head frame cannot be read.
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
