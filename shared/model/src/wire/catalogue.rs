//! The entries of a catalogue: summaries of chapters, and whether their records can be read.
//!
//! ```text
//!   entry   length, flags (availability in bits 0 and 1, bit 2: several chapters as one), summary
//! ```

use crate::codec::{DecodeError, Reader, Writer};
use crate::summary::Summary;

/// Whether the records of a chapter can be read, as the server knew when it sent the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The chapter is in memory or in a file.
    Kept,
    /// No file holds the chapter, and it left the memory: its file was removed, or files kept no chapters when it left.
    Expired,
    /// The chapter, the end of it, or a stretch of records between two chapters left the memory before a file had it.
    Lost,
}

/// The value of the availability's bits for an expired chapter.
const EXPIRED: u8 = 1;
/// The value of the availability's bits for a lost chapter.
const LOST: u8 = 2;
/// The mask of the two bits of an availability. The value 0 is kept; 3, which no build writes, reads as expired.
const AVAILABILITY: u8 = 3;
/// The bit in an entry's flags that marks an entry for several chapters.
const MERGED: u8 = 4;

/// An entry of a catalogue: one chapter, or several chapters as one.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueEntry {
    /// Whether the entry's records can be read. An entry for several chapters is kept if any of them is, else expired
    /// if any is, else lost.
    pub availability: Availability,
    /// Whether the entry is for several chapters. Such an entry replaces all earlier entries of its records.
    pub is_merged: bool,
    /// The summary of the chapter; for several chapters, their joined summary. The summary of the open chapter is as of
    /// the last head snapshot. The summary of a lost stretch has no counts and no troubles.
    pub summary: Summary,
}

/// Appends an entry to the data after a [`Catalogue`](super::Catalogue). It checks no size; the caller bounds the data.
pub fn push_catalogue_entry(entry: &CatalogueEntry, out: &mut Vec<u8>) {
    let availability = match entry.availability {
        Availability::Kept => 0,
        Availability::Expired => EXPIRED,
        Availability::Lost => LOST,
    };
    let merged = if entry.is_merged { MERGED } else { 0 };
    let summary = entry.summary.encode();
    out.extend(Writer::plain(|writer| {
        writer.varint(summary.len() as u64 + 1);
        writer.byte(availability | merged);
    }));
    out.extend_from_slice(&summary);
}

/// Decodes the entries after a [`Catalogue`](super::Catalogue), in their order; no bytes give none.
///
/// # Errors
/// [`DecodeError::Message`] if an entry is empty; the first error in the bytes or in a summary. Entries that need over
/// 16 times their bytes plus 1 MiB are [`DecodeError::OverBudget`].
pub fn catalogue_entries(bytes: &[u8]) -> Result<Vec<CatalogueEntry>, DecodeError> {
    let mut reader = Reader::plain(bytes);
    let mut entries = Vec::new();
    while !reader.is_at_end() {
        let length: usize = reader.varint_as();
        let entry = reader.take(length);
        let Some((flags, summary)) = entry.split_first() else {
            reader.fail(DecodeError::Message("an entry of a catalogue is empty"));
            break;
        };
        if !reader.charge(size_of::<CatalogueEntry>()) {
            break;
        }
        entries.push(CatalogueEntry {
            availability: match flags & AVAILABILITY {
                0 => Availability::Kept,
                LOST => Availability::Lost,
                _ => Availability::Expired,
            },
            is_merged: flags & MERGED != 0,
            summary: Summary::decode(summary)?,
        });
    }
    reader.finish(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Seq;
    use crate::time::Time;
    use proptest::prelude::*;

    #[test]
    fn entries_read_back() {
        let entry = |availability, is_merged| CatalogueEntry {
            availability,
            is_merged,
            summary: Summary {
                first: Seq(7),
                last: Seq(9),
                first_at: Time(-3),
                last_at: Time(40),
                counts: vec![(4, 3)],
                worst: None,
                troubles: Vec::new(),
            },
        };
        let entries = [
            entry(Availability::Kept, false),
            entry(Availability::Expired, true),
            entry(Availability::Lost, false),
        ];
        let mut bytes = Vec::new();
        entries
            .iter()
            .for_each(|entry| push_catalogue_entry(entry, &mut bytes));
        assert_eq!(catalogue_entries(&bytes).unwrap(), entries);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = catalogue_entries(&bytes);
        }
    }
}
