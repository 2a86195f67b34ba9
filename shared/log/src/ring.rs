//! The chapters kept in memory, newest last, and the catalogue of all.

use std::collections::VecDeque;

use bytes::Bytes;
use watchscope_model::chapter::{ChapterReader, ChapterWriter, Fold};
use watchscope_model::codec::DecodeError;
use watchscope_model::{Entry, EpochId, LogId, Seq, Time};

use crate::catalogue::{Catalogue, Summing};
use crate::segment::{HeadSnapshot, NextChapter, Sealed, SealedSegment};

/// A head snapshot is handed to readers who join within so many microseconds…
pub const SNAPSHOT_AGE_US: i64 = 250_000;
/// …while no more than so many bytes were sealed since: a hundred who come at once cost one snapshot, and the segments
/// since bring them to the head.
pub const SNAPSHOT_BEHIND_BYTES: u64 = 64 << 10;

/// A log or an epoch of a longer name is not read from a file: each message names the log.
pub const MAX_NAME_BYTES: usize = 1_024;

/// What a segment costs beside its bytes: its entry here and its allocation.
const SEGMENT_COST: u64 = size_of::<SealedSegment>() as u64 + 64;

/// A run of segments that can be read alone.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// The head frame that opens it.
    pub opening: Bytes,
    /// Its first record, or the one to come.
    pub first: Seq,
    /// When it was opened.
    pub at: Time,
    /// Its segments, in order.
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

    /// The segment that holds a record.
    #[must_use]
    pub fn segment(&self, seq: Seq) -> Option<&SealedSegment> {
        let place = self.segments.partition_point(|segment| segment.last < seq);
        self.segments
            .get(place)
            .filter(|segment| segment.first <= seq)
    }

    /// How many of its segments hold records before `seq`.
    #[must_use]
    pub fn segments_before(&self, seq: Seq) -> usize {
        self.segments.partition_point(|segment| segment.first < seq)
    }
}

/// The chapters in memory.
///
/// Bounded by bytes, its own bookkeeping included: when a push takes it over, whole chapters go, oldest first; the open
/// one always stays. What went is told by [`Ring::first`] and, per watch, by the difference between the running counts
/// of a reader's own fold and those of the first opening kept.
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
    /// Bytes sealed when the snapshot was made.
    snapshot_bytes: u64,
    catalogue: Catalogue,
}

impl Ring {
    /// A ring of an epoch that begins with `first`, of at most `capacity` bytes.
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

    /// A ring of a run that is over: it holds the run's last chapter, by its head frame and segment frames, and a snapshot
    /// of the end.
    ///
    /// # Errors
    /// If a frame cannot be read or does not follow the one before, or if the log's or the run's name is longer than
    /// [`MAX_NAME_BYTES`].
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
            // Records of kinds that this build does not know took their seqs.
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

    /// Takes in what was sealed; drops the oldest chapters while it holds more than it may.
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
            // It grows no more: what was reserved for growth goes back.
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

    /// Puts a head snapshot where joining readers find it.
    pub fn set_snapshot(&mut self, snapshot: HeadSnapshot) {
        self.snapshot_bytes = self.bytes;
        // Of a chapter that was closed since, more is known.
        if snapshot.chapter.first == self.open_chapter().first {
            self.catalogue.put(snapshot.chapter.clone());
        }
        self.snapshot = Some(snapshot);
    }

    /// The head snapshot, if one is there that is as good as new.
    #[must_use]
    pub fn snapshot(&self, now: Time) -> Option<&HeadSnapshot> {
        self.snapshot.as_ref().filter(|snapshot| {
            snapshot.seq == self.head
                || (now.micros_since(snapshot.taken_at) <= SNAPSHOT_AGE_US
                    && self.bytes - self.snapshot_bytes <= SNAPSHOT_BEHIND_BYTES)
        })
    }

    /// All chapters that are known, also those that are not in memory.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The same, for who keeps chapters elsewhere.
    pub fn catalogue_mut(&mut self) -> &mut Catalogue {
        &mut self.catalogue
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &LogId {
        &self.log
    }

    /// The run of its writer.
    #[must_use]
    pub fn epoch(&self) -> &EpochId {
        &self.epoch
    }

    /// The first record kept, or the one to come if there is none.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first_chapter().first
    }

    /// The time of the first record kept, or when the log began if there is none.
    #[must_use]
    pub fn first_at(&self) -> Time {
        let chapter = self.first_chapter();
        chapter
            .segments
            .first()
            .map_or(chapter.at, |segment| segment.first_at)
    }

    /// The last record sealed; 0 before the first.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Bytes held, bookkeeping included.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.cost
    }

    /// Bytes it may hold.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity
    }

    /// Bytes of all segment messages of the epoch.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// The chapter that holds a record, or will hold it if it is the next one.
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

    /// The segment that holds a record.
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
    fn whole_chapters_go_oldest_first_and_what_stays_is_within_the_budget() {
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
    fn a_snapshot_serves_those_who_join_within_a_quarter_second_or_while_nothing_happens() {
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
    fn a_snapshot_far_behind_serves_nobody_however_new() {
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
