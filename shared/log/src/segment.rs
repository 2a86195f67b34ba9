//! The values that the sealer passes to the ring, and the ring to readers: sealed segments, chapter openings,
//! snapshots.

use bytes::Bytes;
use watchscope_model::summary::Summary;
use watchscope_model::wire;
use watchscope_model::{LogId, Seq, State, Time};

/// A sealed sequence of records, encoded once for all readers.
///
/// The sealer bounds a segment: the record that reaches [`SEAL_BYTES`](crate::SEAL_BYTES) or
/// [`SEAL_RECORDS`](crate::SEAL_RECORDS) is the segment's last. A segment of a file is as large as its writer made it.
#[derive(Clone, Debug)]
pub struct SealedSegment {
    /// The seq of the first record.
    pub first: Seq,
    /// The seq of the last record. A segment has no holes. If a segment of a file has no records, it is the seq before
    /// `first`.
    pub last: Seq,
    /// The time of the first record. In a segment of a file, it is that of the first record whose kind this build
    /// knows. Without such a record, it is the time of the last known record before the segment, or of the chapter's
    /// opening.
    pub first_at: Time,
    /// The time of the last record. In a segment of a file, it is that of the chapter's last record so far whose kind
    /// this build knows, or of its opening.
    pub last_at: Time,
    /// The whole wire message: the header [`wire::Segment`], then the segment frame. If it is larger than a message may
    /// be, a reader sends it in pieces.
    pub message: Bytes,
    pub(crate) frame_at: usize,
    /// The number of bytes of all segment messages before this one in the ring's epoch; the ring sets it.
    pub(crate) bytes_before: u64,
}

impl SealedSegment {
    /// A segment of a log with a frame, its first and last record, and their times.
    pub(crate) fn new(
        log: &LogId,
        frame: &[u8],
        (first, last): (Seq, Seq),
        (first_at, last_at): (Time, Time),
    ) -> Self {
        let header = wire::Segment { log: log.clone() };
        let message: Bytes = wire::encode_server(&header.into(), &[frame]).into();
        Self {
            first,
            last,
            first_at,
            last_at,
            frame_at: message.len() - frame.len(),
            message,
            bytes_before: 0,
        }
    }

    /// Returns the segment's frame: the encoded records, without the header of the message.
    #[must_use]
    pub fn frame(&self) -> &[u8] {
        &self.message[self.frame_at..]
    }
}

/// A snapshot of two folds at a head of the log, for readers that join: of the records, and of the inside records of a
/// simulated cluster. The contents of the folds bound its size, above all the objects of the watches.
#[derive(Clone, Debug)]
pub struct HeadSnapshot {
    /// The seq of the last record folded; 0 before the first record of a new run.
    pub seq: Seq,
    /// When the snapshot was made, on the log's clock. In [`Ring::recorded`](crate::Ring::recorded), it is the time of
    /// the last record whose kind this build knows, or of the chapter's opening.
    pub taken_at: Time,
    /// The summary of the open chapter up to the last folded record. The summary counts no record if the chapter has
    /// none yet. In [`Ring::recorded`](crate::Ring::recorded), the summary leaves out records of kinds that this build
    /// does not know. Builds without the feature `catalogue` leave all fields of the summary 0, empty or `None`.
    pub chapter: Summary,
    /// The whole wire message: the header [`wire::Snapshot`], then the head frame. If it is larger than a message may
    /// be, a reader sends it in pieces.
    pub message: Bytes,
    pub(crate) frame_at: usize,
}

impl HeadSnapshot {
    /// A snapshot of a log with its head frame; `chapter` is the summary of the open chapter.
    pub(crate) fn new(
        log: &LogId,
        state: &State,
        frame: &[u8],
        chapter: Summary,
        taken_at: Time,
    ) -> Self {
        let header = wire::Snapshot {
            log: log.clone(),
            seq: state.seq,
        };
        let message: Bytes = wire::encode_server(&header.into(), &[frame]).into();
        Self {
            seq: state.seq,
            taken_at,
            chapter,
            frame_at: message.len() - frame.len(),
            message,
        }
    }

    /// Returns the head frame: the encoded fold, without the header of the message.
    #[must_use]
    pub fn frame(&self) -> &[u8] {
        &self.message[self.frame_at..]
    }
}

/// The result of a seal, for the ring.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// The segment.
    pub segment: SealedSegment,
    /// The summary of the chapter that this segment closed, and the opening of the next one. `None` if the chapter
    /// stays open. Builds without the feature `catalogue` leave all fields of the summary 0, empty or `None`.
    pub closed: Option<(Summary, NextChapter)>,
}

/// The opening of a chapter. The content of the folds bounds its size, as for a [`HeadSnapshot`].
#[derive(Clone, Debug)]
pub struct NextChapter {
    /// The head frame: the encoded folds, of records and of the inside, before the chapter.
    pub opening: Bytes,
    /// The seq that the chapter's first record will have.
    pub first: Seq,
    /// When the chapter was opened: the time of the last record before it, or the start of the epoch.
    pub at: Time,
}
