//! The summary of a chapter: its time range, its records by kind, and what went wrong.
//!
//! An overview draws hours from summaries alone, without records. A summary has the same bytes in a file and on the
//! wire; docs/recordings.md describes them.

mod summarizer;
mod trouble;

pub use self::summarizer::{Summarizer, UNKNOWN_KIND};
pub use self::trouble::{MAX_TROUBLES, Trouble, TroubleKind};
use self::trouble::{join_neighbours, length_us};
use crate::codec::{DecodeError, Reader, Writer};
use crate::id::Seq;
use crate::time::Time;
use crate::vocabulary::Severity;

/// The most bytes of an encoded summary: 16 KiB. [`MAX_TROUBLES`] troubles, 256 counts and the other fields need under
/// 7 KiB of it. A reader of recordings refuses a longer summary; [`Summary::decode`] does not check the length. The
/// number has no other source.
pub const MAX_SUMMARY_BYTES: usize = 16 << 10;
/// The most kinds that a summary counts, [`UNKNOWN_KIND`] included. A summarizer counts records of further kinds as
/// [`UNKNOWN_KIND`]; a join of summaries drops the counts of the highest kinds. [`Summary::decode`] refuses a summary
/// with more. The number has no source: it is far above the 35 kinds of this build.
const MAX_KINDS: usize = 256;

/// The summary of a chapter, or of several chapters as one. A catalogue also has summaries of stretches of lost
/// records, without counts and troubles. The times of such a stretch are those of the record before it and of the
/// record after it. For the rest of a chapter that a file holds cut short, `last_at` is the time of the chapter's last
/// record. A record whose kind the summary's writer did not know counts with the time of the record before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The seq of the chapter's first record; if it has none, the seq that its first record would have.
    pub first: Seq,
    /// The seq of the chapter's last record; if it has none, the seq before `first`.
    pub last: Seq,
    /// The time of the chapter's first record; if it has none, of its opening.
    pub first_at: Time,
    /// The time of the chapter's last record; if it has none, of its opening.
    pub last_at: Time,
    /// Kind numbers and the number of records of each kind, sorted by kind number, each once; at most 256. Empty
    /// without records, and for lost records. [`UNKNOWN_KIND`] counts kinds that the writer did not know, and further
    /// kinds above the bound.
    pub counts: Vec<(u64, u64)>,
    /// The worst severity of the troubles; `None` if there are none.
    pub worst: Option<Severity>,
    /// What went wrong, sorted by start, length, kind number and severity; empty if nothing did. The list has at most
    /// [`MAX_TROUBLES`] entries: above that number neighbours are joined, the least severe first, then the nearest.
    pub troubles: Vec<Trouble>,
}

impl Summary {
    /// The number of seqs from `first` to `last`; 0 for a chapter without records. In a join of summaries, seqs between
    /// the chapters that no chapter has count, too.
    #[must_use]
    pub fn records(&self) -> u64 {
        (self.last.0.saturating_add(1)).saturating_sub(self.first.0)
    }

    /// Joins this summary and a later one of the same epoch. The result goes from the first record of this summary to
    /// the last record of both. Counts add up and saturate. Above 256 kinds the counts of the highest kinds are
    /// dropped. Above [`MAX_TROUBLES`] neighbours are joined.
    #[must_use]
    pub fn join(mut self, later: Self) -> Self {
        for (kind, count) in later.counts {
            match self.counts.binary_search_by_key(&kind, |known| known.0) {
                Ok(place) => self.counts[place].1 = self.counts[place].1.saturating_add(count),
                Err(place) => self.counts.insert(place, (kind, count)),
            }
        }
        self.counts.truncate(MAX_KINDS);
        self.troubles.extend(later.troubles);
        join_neighbours(&mut self.troubles, MAX_TROUBLES);
        Self {
            last: self.last.max(later.last),
            last_at: self.last_at.max(later.last_at),
            worst: self
                .worst
                .into_iter()
                .chain(later.worst)
                .reduce(Severity::worse),
            ..self
        }
    }

    /// Returns the encoded summary; the bytes are the same in files and on the wire
    /// (docs/recordings.md#c-a-closed-chapter).
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        Writer::plain(|writer| {
            writer.varint(self.first.0);
            writer.varint(self.records());
            writer.signed(self.first_at.0);
            writer.varint(length_us(self.first_at, self.last_at));
            writer.varint(self.counts.len() as u64);
            for &(kind, count) in &self.counts {
                writer.varint(kind);
                writer.varint(count);
            }
            writer.varint(self.worst.map_or(0, |worst| worst.number() + 1));
            writer.varint(self.troubles.len() as u64);
            writer.base_at = self.first_at;
            for trouble in &self.troubles {
                trouble.write(writer);
            }
        })
    }

    /// Reads a summary. Bytes after the last known field, from a later version, are ignored. The order of counts and
    /// troubles is not checked.
    ///
    /// # Errors
    /// The first error in the bytes; [`DecodeError::Message`] if they list over 256 kinds or over [`MAX_TROUBLES`]
    /// troubles. The same error comes if the first seq is 0 without records, or the seq after the last one exceeds 64
    /// bits.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::plain(bytes);
        let first = reader.varint();
        let records = reader.varint();
        let last = first
            .checked_add(records)
            .and_then(|next| next.checked_sub(1));
        let first_at = Time(reader.signed());
        let length = i64::try_from(reader.varint()).unwrap_or(i64::MAX);
        let counts: Vec<(u64, u64)> = (0..reader.count(2, size_of::<(u64, u64)>()))
            .map(|_| (reader.varint(), reader.varint()))
            .collect();
        let worst = reader.varint().checked_sub(1).map(Severity::from_number);
        reader.base_at = first_at;
        let troubles: Vec<Trouble> = (0..reader.count(6, size_of::<Trouble>()))
            .map(|_| Trouble::read(&mut reader))
            .collect();
        if troubles.len() > MAX_TROUBLES || counts.len() > MAX_KINDS {
            reader.fail(DecodeError::Message("a summary lists too much"));
        }
        if last.is_none() {
            reader.fail(DecodeError::Message("a summary counts from no record"));
        }
        reader.finish(Self {
            first: Seq(first),
            last: Seq(last.unwrap_or_default()),
            first_at,
            last_at: first_at.plus_micros(length),
            counts,
            worst,
            troubles,
        })
    }
}
