//! The chapters in memory, the newest last, and the catalogue of all chapters.

use std::collections::VecDeque;

use bytes::Bytes;
use watchscope_model::chapter::{ChapterReader, ChapterWriter, Fold};
use watchscope_model::codec::DecodeError;
use watchscope_model::{Entry, EpochId, LogId, Seq, Time};

use crate::catalogue::{Catalogue, Summing};
use crate::segment::{HeadSnapshot, NextChapter, Sealed, SealedSegment};

/// The greatest age in microseconds of a head snapshot that serves joining readers. If records were sealed after the
/// snapshot, an older snapshot does not serve, and the reader asks for a new one. While little is written, readers thus
/// cost at most four snapshots a second. A reader that is moved also needs a snapshot that goes beyond its own records.
/// The number has no source.
pub const SNAPSHOT_AGE_US: i64 = 250_000;
/// The most bytes that may be sealed after a head snapshot while it serves joining readers: as many as one message may
/// have. Above this number the reader asks for a new snapshot. Thus 100 readers that join at once cost one snapshot,
/// and the segments after it bring them to the head.
pub const SNAPSHOT_BEHIND_BYTES: u64 = 64 << 10;

/// The longest name of a log or epoch in a file, in bytes; [`Ring::recorded`] refuses a longer name. A replay of
/// several files passes over chapters with a longer name. Most messages to viewers carry the log's name. The number has
/// no source: it is about four times 253, the most bytes of an object's name (`DNS1123SubdomainMaxLength` of
/// apimachinery).
pub const MAX_NAME_BYTES: usize = 1_024;

/// The bytes that the ring counts for a segment beside its message: its entry in the list of segments, and 64 bytes for
/// its allocation. The 64 bytes are an estimate.
const SEGMENT_COST: u64 = size_of::<SealedSegment>() as u64 + 64;

/// Consecutive segments with an opening, which can be read alone. The sealer bounds a chapter: it closes when its
/// segments exceed both [`CHAPTER_BYTES`](crate::CHAPTER_BYTES) and the size of its opening. The chapter of a recording
/// is as large as its writer made it.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// The head frame of the chapter's opening: the encoded folds, of records and of the inside, before the chapter.
    pub opening: Bytes,
    /// The seq of the chapter's first record; if the chapter has no record, the seq of the log's next record.
    pub first: Seq,
    /// When the chapter was opened: the time of the last record before it, or the start of the epoch.
    pub at: Time,
    /// The chapter's segments, the oldest first and without holes. Empty in an open chapter before its first segment is
    /// sealed.
    pub segments: Vec<SealedSegment>,
    cost: u64,
}

impl Chapter {
    fn new(next: NextChapter) -> Self {
        Self {
            cost: next.opening.len() as u64,
            opening: next.opening,
            first: next.first,
            at: next.at,
            segments: Vec::new(),
        }
    }

    /// Returns the segment that holds a record; `None` if no segment of this chapter does.
    #[must_use]
    pub fn segment(&self, seq: Seq) -> Option<&SealedSegment> {
        let place = self.segments.partition_point(|segment| segment.last < seq);
        self.segments
            .get(place)
            .filter(|segment| segment.first <= seq)
    }

    /// Returns the number of the chapter's segments that hold at least one record before `seq`; these are the chapter's
    /// first segments. It is 0 if `seq` is at most the chapter's first record, and the number of all segments if `seq`
    /// is after its last.
    #[must_use]
    pub fn segments_before(&self, seq: Seq) -> usize {
        self.segments.partition_point(|segment| segment.first < seq)
    }
}

/// The ring of chapters in memory.
///
/// A number of bytes bounds the ring, its own bookkeeping included. When a push exceeds the bound, the ring drops whole
/// chapters, the oldest first. The open chapter always stays, so a ring may exceed a bound that is smaller than that
/// chapter. The head snapshot and the catalogue do not count.
///
/// [`Ring::first`] shows which records were dropped. For each watch, the difference between the counts in a reader's
/// own fold and those in the first held opening shows how many were.
#[derive(Debug)]
pub struct Ring {
    log: LogId,
    epoch: EpochId,
    capacity: u64,
    chapters: VecDeque<Chapter>,
    cost: u64,
    head: Seq,
    bytes: u64,
    snapshot: Option<HeadSnapshot>,
    /// The total of sealed bytes when the snapshot was made.
    snapshot_bytes: u64,
    catalogue: Catalogue,
}

impl Ring {
    /// Returns an empty ring of at most `capacity` bytes; [`Ring`] states when it has more. The ring's first record
    /// will be the one that `first` names, and its head is the seq before that.
    #[must_use]
    pub fn new(log: LogId, epoch: EpochId, capacity: u64, first: NextChapter) -> Self {
        let head = Seq(first.first.0.saturating_sub(1));
        let chapter = Chapter::new(first);
        Self {
            log,
            catalogue: Catalogue::new(epoch.clone()),
            epoch,
            capacity,
            cost: chapter.cost,
            chapters: VecDeque::from([chapter]),
            head,
            bytes: 0,
            snapshot: None,
            snapshot_bytes: 0,
        }
    }

    /// Returns a ring of a finished run. The ring holds the run's last chapter, and a snapshot of the run's end. `head`
    /// is the chapter's head frame; `segments` are its segment frames in order, and may be empty. The ring has no bound
    /// of its own: it keeps the whole chapter.
    ///
    /// # Errors
    /// A [`DecodeError`] if a frame cannot be read or does not follow the frame before. A log or run name longer than
    /// [`MAX_NAME_BYTES`] is a [`DecodeError`], too.
    pub fn recorded<'a>(
        head: &[u8],
        segments: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, DecodeError> {
        let (mut reader, opening) = ChapterReader::open(head)?;
        let names = [opening.log.as_str(), opening.epoch.as_str()];
        if names.iter().any(|name| name.len() > MAX_NAME_BYTES) {
            return Err(DecodeError::Message(
                "the name of its log or run is longer than 1 kB",
            ));
        }
        let mut layers = reader.layers(&opening.state, &opening.layers)?;
        let (log, epoch, mut state) = (opening.log, opening.epoch, opening.state);
        let mut summarizer = Summing::new(state.clone());
        let first = NextChapter {
            opening: head.to_vec().into(),
            first: state.seq.next(),
            at: state.at,
        };
        let mut ring = Self::new(log.clone(), epoch.clone(), u64::MAX, first);
        for frame in segments {
            let first = reader.next_seq();
            let entries = reader.entries(frame)?;
            let first_at = entries.iter().flatten().next().map_or(state.at, Entry::at);
            for entry in entries.iter().flatten() {
                match entry {
                    Entry::Record(record) => {
                        state.apply(record);
                        summarizer.record(record);
                    }
                    Entry::Inside(record) => {
                        state.pass(record.seq, record.at);
                        summarizer.pass(record.inside.kind(), record.at);
                    }
                }
                layers.apply(entry);
            }
            // Records of kinds that this build does not know have seqs, too.
            state.seq = Seq(reader.next_seq().0 - 1);
            let segment = SealedSegment::new(&log, frame, (first, state.seq), (first_at, state.at));
            ring.push(Sealed {
                segment,
                closed: None,
            });
        }
        let (_, frame) = ChapterWriter::open(log.clone(), epoch, Fold::new(&state, &layers));
        let chapter = summarizer.summary();
        ring.set_snapshot(HeadSnapshot::new(&log, &state, &frame, chapter, state.at));
        Ok(ring)
    }

    /// Adds the next sealed segment of the run, and lists the chapter that it closed in the catalogue. It is not
    /// checked whether the segment follows the one before. After that, the ring drops the oldest chapters while it
    /// exceeds its capacity, but never the open one. The ring drops the head snapshot, too, if records after the
    /// snapshot were dropped.
    pub fn push(&mut self, sealed: Sealed) {
        let Sealed {
            mut segment,
            closed,
        } = sealed;
        segment.bytes_before = self.bytes;
        self.bytes += segment.message.len() as u64;
        self.head = segment.last;
        let cost = segment.message.len() as u64 + SEGMENT_COST;
        let open = self.open_chapter();
        open.cost += cost;
        open.segments.push(segment);
        self.cost += cost;
        if let Some((summary, next)) = closed {
            self.catalogue.put(summary);
            // A closed chapter grows no more, so its spare memory is freed.
            self.open_chapter().segments.shrink_to_fit();
            let chapter = Chapter::new(next);
            self.cost += chapter.cost;
            self.chapters.push_back(chapter);
        }
        while self.cost > self.capacity && self.chapters.len() > 1 {
            if let Some(dropped) = self.chapters.pop_front() {
                self.cost -= dropped.cost;
                self.catalogue.left_ring(dropped.first);
            }
        }
        let first = self.first();
        self.snapshot = self
            .snapshot
            .take()
            .filter(|snapshot| snapshot.seq.next() >= first);
    }

    /// Sets the head snapshot for joining readers. The new snapshot replaces the one before. The catalogue gets the
    /// snapshot's summary of the open chapter, unless that chapter was closed after the snapshot or has no record. The
    /// caller has pushed all segments up to the snapshot.
    pub fn set_snapshot(&mut self, snapshot: HeadSnapshot) {
        self.snapshot_bytes = self.bytes;
        // If the chapter was closed since, the catalogue already has a newer summary of it.
        if snapshot.chapter.first == self.open_chapter().first {
            self.catalogue.put(snapshot.chapter.clone());
        }
        self.snapshot = Some(snapshot);
    }

    /// Returns the head snapshot if it serves a reader that joins at `now`. A snapshot that ends with the last sealed
    /// record serves at any age; any other one serves within both [`SNAPSHOT_AGE_US`] and [`SNAPSHOT_BEHIND_BYTES`].
    /// `None` if no snapshot serves, so that the caller must set a new one.
    #[must_use]
    pub fn snapshot(&self, now: Time) -> Option<&HeadSnapshot> {
        self.snapshot.as_ref().filter(|snapshot| {
            snapshot.seq == self.head
                || (now.micros_since(snapshot.taken_at) <= SNAPSHOT_AGE_US
                    && self.bytes - self.snapshot_bytes <= SNAPSHOT_BEHIND_BYTES)
        })
    }

    /// Returns the catalogue of all known chapters, including those that are not in memory.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the catalogue, for a caller that keeps chapters in files and must list them.
    pub fn catalogue_mut(&mut self) -> &mut Catalogue {
        &mut self.catalogue
    }

    /// Returns the log's name.
    #[must_use]
    pub fn log(&self) -> &LogId {
        &self.log
    }

    /// Returns the name of the run of the log's writer.
    #[must_use]
    pub fn epoch(&self) -> &EpochId {
        &self.epoch
    }

    /// Returns the seq of the first record in the ring; if the ring is empty, the seq of the log's next record.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first_chapter().first
    }

    /// Returns the time of the first record in the ring, as [`SealedSegment::first_at`] states it. If the ring's first
    /// chapter is empty, it is the time at which that chapter was opened.
    #[must_use]
    pub fn first_at(&self) -> Time {
        let chapter = self.first_chapter();
        chapter
            .segments
            .first()
            .map_or(chapter.at, |segment| segment.first_at)
    }

    /// The seq of the last sealed record. Before the first sealed record it is the seq before [`Ring::first`]: 0 in a
    /// new run.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Returns the number of bytes of the chapters held, bookkeeping included. The head snapshot and the catalogue do
    /// not count. The number is above [`Ring::capacity_bytes`] only if the open chapter alone is.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.cost
    }

    /// Returns the most bytes that the ring may hold; `u64::MAX` for [`Ring::recorded`]. Above this number closed
    /// chapters are dropped.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity
    }

    /// Returns the number of bytes of all segment messages that were pushed, including the dropped ones.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the chapter that holds a record, or that will hold it if it is the log's next record. `None` for a
    /// record before [`Ring::first`], and for a record after the next.
    #[must_use]
    pub fn chapter(&self, seq: Seq) -> Option<&Chapter> {
        if seq > self.head.next() {
            return None;
        }
        let after = self
            .chapters
            .partition_point(|chapter| chapter.first <= seq);
        self.chapters.get(after.checked_sub(1)?)
    }

    /// Returns the segment that holds a record. `None` for a record before [`Ring::first`], and for a record that is
    /// not sealed yet.
    #[must_use]
    pub fn segment(&self, seq: Seq) -> Option<&SealedSegment> {
        self.chapter(seq)?.segment(seq)
    }

    fn first_chapter(&self) -> &Chapter {
        self.chapters.front().expect("the open chapter stays")
    }

    fn open_chapter(&mut self) -> &mut Chapter {
        self.chapters.back_mut().expect("the open chapter stays")
    }
}

#[cfg(test)]
mod tests {
    use watchscope_model::Event;
    use watchscope_model::chapter::{ChapterReader, decode_chapter};
    use watchscope_model::event::Note;
    use watchscope_model::vocabulary::Author;

    use super::*;
    use crate::sealer::folding::FoldingSealer;

    /// When every log of these tests begins.
    const START: Time = Time(1_763_715_600_000_000);

    fn note() -> Event {
        Note::new(Author::Story, "x".repeat(1_000)).into()
    }

    fn filled(capacity: u64, records: u64) -> (FoldingSealer, Ring) {
        let (mut sealer, first) = FoldingSealer::new("demo", "e1", START);
        let mut ring = Ring::new("demo".into(), "e1".into(), capacity, first);
        for _ in 0..records {
            if let Some(sealed) = sealer.push(note(), START).1 {
                ring.push(sealed);
            }
        }
        (sealer, ring)
    }

    #[test]
    fn whole_chapters_are_dropped_oldest_first_and_the_rest_is_within_the_budget() {
        let (_, ring) = filled(4 << 20, 20_000);
        assert!(ring.held_bytes() <= 4 << 20);
        assert!(ring.held_bytes() > 2 << 20);
        assert!(ring.first() > Seq(1));
        let chapter = ring.chapter(ring.first()).unwrap();
        assert_eq!(chapter.first, ring.first());
        let mut bytes = chapter.opening.to_vec();
        for segment in &chapter.segments {
            bytes.extend_from_slice(segment.frame());
        }
        let (opening, records) = decode_chapter(&bytes).unwrap();
        assert_eq!(opening.state.seq.next(), ring.first());
        assert_eq!(records.first().unwrap().seq, ring.first());
        assert!(ring.segment(Seq(ring.first().0 - 1)).is_none());
    }

    #[test]
    fn the_open_chapter_stays_in_a_ring_that_is_too_small_for_it() {
        let (_, ring) = filled(1, 500);
        assert_eq!(ring.first(), Seq(1));
        assert!(ring.segment(Seq(1)).is_some());
    }

    #[test]
    fn every_record_sealed_is_found_in_its_segment() {
        let (_, ring) = filled(64 << 20, 3_000);
        for seq in (1..=ring.head().0).map(Seq) {
            let segment = ring.segment(seq).unwrap();
            assert!(segment.first <= seq && seq <= segment.last);
        }
        assert!(ring.segment(ring.head().next()).is_none());
        assert!(ring.chapter(ring.head().next()).is_some());
        assert!(ring.chapter(ring.head().next().next()).is_none());
    }

    #[test]
    fn a_snapshot_serves_readers_that_join_within_250_ms_or_while_nothing_happens() {
        let (mut sealer, mut ring) = filled(64 << 20, 10);
        let (sealed, snapshot) = sealer.snapshot(START);
        ring.push(sealed.unwrap());
        ring.set_snapshot(snapshot);
        let later = START.plus_millis(10_000);
        assert!(ring.snapshot(later).is_some());
        sealer.push(note(), later);
        ring.push(sealer.seal(later).unwrap());
        assert!(ring.snapshot(later).is_none());
        let found = ring.snapshot(START.plus_millis(250)).unwrap();
        let (mut reader, _) = ChapterReader::open(found.frame()).unwrap();
        let since = ring.segment(found.seq.next()).unwrap();
        assert_eq!(reader.segment(since.frame()).unwrap().len(), 1);
    }

    #[test]
    fn a_snapshot_over_64_kib_behind_serves_no_reader_at_any_age() {
        let (mut sealer, mut ring) = filled(64 << 20, 10);
        let (sealed, snapshot) = sealer.snapshot(START);
        ring.push(sealed.unwrap());
        ring.set_snapshot(snapshot);
        for _ in 0..100 {
            sealer.push(note(), START);
            if let Some(sealed) = sealer.seal(START) {
                ring.push(sealed);
            }
        }
        assert!(ring.snapshot(START).is_none());
    }
}
