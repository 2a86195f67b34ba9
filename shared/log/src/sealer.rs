//! Encodes records into segments, and segments into chapters.

#[cfg(test)]
pub(crate) mod folding;

use bytes::Bytes;
use watchscope_model::chapter::{ChapterWriter, Fold};
use watchscope_model::fold::Moment;
use watchscope_model::summary::Summary;
use watchscope_model::wire::MAX_MESSAGE_BYTES;
use watchscope_model::{Entry, EpochId, InsideRecord, Layers, LogId, Record, State, Time};

use crate::catalogue::Summing;
use crate::segment::{HeadSnapshot, NextChapter, Sealed, SealedSegment};

/// The bytes of records and definitions at which a segment is sealed: 60 KiB. The 4 KiB up to [`MAX_MESSAGE_BYTES`] are
/// for the headers and the rest of the segment's last record; a larger message is sent in pieces. The 4 KiB have no
/// other source.
pub const SEAL_BYTES: usize = MAX_MESSAGE_BYTES - (4 << 10);
/// The number of records at which a segment is sealed, whatever its bytes. The number bounds the records that a viewer
/// processes at once. The number has no source: at 15 bytes a change (docs/benchmarks.md) such a segment has about 4
/// kB.
pub const SEAL_RECORDS: u64 = 256;
/// The bytes of a chapter's segment frames above which the chapter closes, with the segment that exceeds this number.
/// The segment frames must also exceed the bytes of the chapter's opening, so that a log of many objects does not
/// consist mostly of openings. The number has no source. A chapter is read, dropped and sent as a whole, so larger
/// chapters make reading, dropping and sending coarser.
pub const CHAPTER_BYTES: usize = 1 << 20;

/// The number of records from which a sealed segment has many ([`SealPace`]). At 250 records a second 16 ms have as
/// many.
pub const FEW_RECORDS: u64 = 4;

/// The time in microseconds after a seal at which the next one is due, if records keep coming. A full segment is sealed
/// earlier. A first record that comes after a longer quiet time is due at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealPace {
    /// The time after a segment of fewer than [`FEW_RECORDS`] records.
    pub after_few_us: i64,
    /// The time after a segment of more.
    pub after_many_us: i64,
}

impl SealPace {
    /// The pace of a log with viewers. 16 ms is about one frame of a screen at 60 Hz, and the page draws once a frame.
    /// After few records it is half of that: up to some hundred records a second a viewer has each one sooner, and a
    /// busier log has no more seals.
    pub const FOR_VIEWERS: Self = Self {
        after_few_us: 8_000,
        after_many_us: 16_000,
    };

    /// The same time after each segment.
    #[must_use]
    pub const fn steady(interval_us: i64) -> Self {
        Self {
            after_few_us: interval_us,
            after_many_us: interval_us,
        }
    }
}

/// The encoder of the log's one writer.
///
/// The sealer holds the chapter's dictionary, the open segment, and the fold of the inside, which is empty without an
/// inside. It also holds the chapter's summary so far, with a fold that lacks the objects of the opening. The segment
/// is bounded by [`SEAL_BYTES`] and [`SEAL_RECORDS`]: the record that reaches one of these bounds causes a seal.
///
/// The caller keeps the whole fold of the records. The caller passes that fold, with exactly the records taken so far,
/// to each call. The chapter bounds the dictionary; [`CHAPTER_BYTES`] and the size of the opening bound the chapter.
#[derive(Debug)]
pub struct Sealer {
    log: LogId,
    layers: Layers,
    writer: ChapterWriter,
    summing: Summing,
    opening_bytes: usize,
    chapter_bytes: usize,
    /// The first record of the open segment; `None` while no segment is open.
    open: Option<Moment>,
    /// The earliest time of the next seal that is due; `None` before the first seal.
    next_seal: Option<Time>,
    pace: SealPace,
}

impl Sealer {
    /// Begins an epoch at `at`, whose first record has seq 1. Returns the sealer and the first chapter, for a ring.
    #[must_use]
    pub fn new(log: LogId, epoch: EpochId, at: Time) -> (Self, NextChapter) {
        let state = State {
            at,
            ..State::default()
        };
        Self::after(log, epoch, state, Layers::default())
    }

    /// Continues after the given folds of records and of the inside: the next record has the seq after that of `state`.
    /// Returns the sealer and the first chapter, for a ring.
    #[must_use]
    pub fn after(log: LogId, epoch: EpochId, state: State, layers: Layers) -> (Self, NextChapter) {
        let (first, at) = (state.seq.next(), state.at);
        let fold = Fold::new(&state, &layers);
        let (writer, opening) = ChapterWriter::open(log.clone(), epoch, fold);
        let sealer = Self {
            log,
            layers,
            writer,
            summing: Summing::new(state),
            opening_bytes: opening.len(),
            chapter_bytes: 0,
            open: None,
            next_seal: None,
            pace: SealPace::FOR_VIEWERS,
        };
        let next = NextChapter {
            opening: opening.into(),
            first,
            at,
        };
        (sealer, next)
    }

    /// Returns the sealer with another pace than that of a log with viewers. A slower one makes a busy log cheaper and its
    /// readers later.
    #[must_use]
    pub fn with_pace(self, pace: SealPace) -> Self {
        Self { pace, ..self }
    }

    /// Returns the fold of the inside after all records taken so far. The fold begins empty, or with the fold given to
    /// [`Sealer::after`]. The fold of the inside changes when a layer reports, or a client program starts, requests or
    /// reports.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Encodes the next record; `after` is the fold that includes the record. Returns the sealed segment if the record
    /// filled it, and `None` while the segment stays open. Debug builds panic if `after` does not end with the record.
    pub fn take(&mut self, record: &Record, after: &State) -> Option<Sealed> {
        debug_assert_eq!(record.seq, after.seq, "the fold ends with the record");
        self.open.get_or_insert(record.into());
        self.layers.apply_event(&record.event, record.into());
        self.writer.push(record);
        self.summing.record(record);
        self.seal_if_full(after)
    }

    /// Encodes the next record of the inside; returns and panics as [`Sealer::take`] does. `after` is the fold of
    /// records, whose `seq` and `at` are those of this record.
    pub fn take_inside(&mut self, record: InsideRecord, after: &State) -> Option<Sealed> {
        debug_assert_eq!(record.seq, after.seq, "the fold ends with the record");
        self.open.get_or_insert(Moment {
            seq: record.seq,
            at: record.at,
        });
        self.writer.push_inside(&record);
        self.summing.pass(record.inside.kind(), record.at);
        self.layers.apply(&Entry::Inside(record));
        self.seal_if_full(after)
    }

    fn seal_if_full(&mut self, after: &State) -> Option<Sealed> {
        let is_full =
            self.writer.open_bytes() >= SEAL_BYTES || self.writer.open_count() >= SEAL_RECORDS;
        if is_full {
            self.seal(after.at, after)
        } else {
            None
        }
    }

    /// Returns when the open segment is due: as the [`SealPace`] says after the last seal, but not before the segment's
    /// first record. If nothing was sealed before, the segment is due at the time of its first record. `None` while no
    /// segment is open.
    #[must_use]
    pub fn seal_at(&self) -> Option<Time> {
        let first_at = self.open?.at;
        Some(self.next_seal.map_or(first_at, |next| next.max(first_at)))
    }

    /// Seals the open segment at `now`, whether due or not, and closes the chapter if the chapter is full. `state` is
    /// the fold of all records taken. Returns `None` if no segment is open.
    pub fn seal(&mut self, now: Time, state: &State) -> Option<Sealed> {
        let first = self.open.take()?;
        let frame = self.writer.seal()?;
        let interval_us = match state.seq.0 + 1 - first.seq.0 < FEW_RECORDS {
            true => self.pace.after_few_us,
            false => self.pace.after_many_us,
        };
        self.next_seal = Some(now.plus_micros(interval_us));
        self.chapter_bytes += frame.len();
        let segment = SealedSegment::new(
            &self.log,
            &frame,
            (first.seq, state.seq),
            (first.at, state.at),
        );
        let is_chapter_full = self.chapter_bytes > CHAPTER_BYTES.max(self.opening_bytes);
        let closed = is_chapter_full.then(|| self.next_chapter(state));
        Some(Sealed { segment, closed })
    }

    fn next_chapter(&mut self, state: &State) -> (Summary, NextChapter) {
        let summary = self.summing.summary();
        self.summing.next_chapter();
        let opening: Bytes = self.writer.open_next(Fold::new(state, &self.layers)).into();
        self.opening_bytes = opening.len();
        self.chapter_bytes = 0;
        let next = NextChapter {
            opening,
            first: state.seq.next(),
            at: state.at,
        };
        (summary, next)
    }

    /// Returns a snapshot of the head for readers that join, and the segment that had to be sealed for it, due or not.
    /// That seal closes the chapter if the chapter is full. The segment is `None` if no segment was open; the caller
    /// passes the segment to the ring before the snapshot. `state` is the fold of all records taken.
    pub fn snapshot(&mut self, now: Time, state: &State) -> (Option<Sealed>, HeadSnapshot) {
        let sealed = self.seal(now, state);
        let frame = self.writer.head_snapshot(Fold::new(state, &self.layers));
        let chapter = self.summing.summary();
        let snapshot = HeadSnapshot::new(&self.log, state, &frame, chapter, now);
        (sealed, snapshot)
    }
}

#[cfg(test)]
mod tests {
    use watchscope_model::chapter::{ChapterReader, decode_chapter};
    use watchscope_model::event::{Clock, Gap, Note, StreamEnded, WatchStarted};
    use watchscope_model::vocabulary::{Author, Cause};
    use watchscope_model::{Event, Seq, StreamId, WatchName};

    use super::folding::FoldingSealer;
    use super::*;

    /// When every log of these tests begins.
    const START: Time = Time(1_763_715_600_000_000);

    fn sealer() -> (FoldingSealer, NextChapter) {
        FoldingSealer::new("demo", "e1", START)
    }

    fn clock() -> Event {
        Clock {
            off_ms: 1,
            paused_ms: None,
        }
        .into()
    }

    fn note(bytes: usize) -> Event {
        Note::new(Author::Story, "x".repeat(bytes)).into()
    }

    #[test]
    fn the_first_record_is_due_at_once_and_later_ones_8_ms_after_few_or_16_ms_after_many() {
        let (mut sealer, _) = sealer();
        assert_eq!(sealer.seal_at(), None);
        sealer.push(clock(), START.plus_millis(5));
        assert_eq!(sealer.seal_at(), Some(START.plus_millis(5)));
        assert!(sealer.seal(START.plus_millis(5)).is_some());
        for _ in 0..FEW_RECORDS {
            sealer.push(clock(), START.plus_millis(6));
            assert_eq!(sealer.seal_at(), Some(START.plus_millis(13)));
        }
        let segment = sealer.seal(START.plus_millis(13)).unwrap().segment;
        assert_eq!((segment.first, segment.last), (Seq(2), Seq(5)));
        sealer.push(clock(), START.plus_millis(14));
        assert_eq!(sealer.seal_at(), Some(START.plus_millis(29)));
        assert!(sealer.seal(START.plus_millis(29)).is_some());
        sealer.push(clock(), START.plus_millis(40));
        assert_eq!(sealer.seal_at(), Some(START.plus_millis(40)));
    }

    #[test]
    fn a_steady_pace_delays_all_seals_but_the_first() {
        let (sealer, _) = Sealer::new("demo".into(), "e1".into(), START);
        let mut sealer = sealer.with_pace(SealPace::steady(50_000));
        let mut state = State {
            at: START,
            ..State::default()
        };
        let mut push = |sealer: &mut Sealer, at: Time| {
            let record = state.stamp(clock(), at);
            state.apply(&record);
            sealer.take(&record, &state);
            sealer.seal_at()
        };
        assert_eq!(push(&mut sealer, START), Some(START));
        assert!(sealer.seal(START, &State::default()).is_some());
        let due = push(&mut sealer, START.plus_millis(1));
        assert_eq!(due, Some(START.plus_millis(50)));
    }

    #[test]
    fn a_segment_is_sealed_by_its_256th_record_and_by_its_bytes() {
        let (mut sealer, _) = sealer();
        for seq in 1..=512 {
            let (pushed, sealed) = sealer.push(clock(), START);
            assert_eq!(pushed, Seq(seq));
            assert_eq!(sealed.is_some(), seq % 256 == 0);
        }
        let sealed: Vec<usize> = (0..100)
            .filter_map(|_| sealer.push(note(3_000), START).1)
            .map(|sealed| sealed.segment.message.len())
            .collect();
        assert_eq!(sealed.len(), 4);
        assert!(
            sealed
                .iter()
                .all(|&bytes| bytes > SEAL_BYTES && bytes <= MAX_MESSAGE_BYTES)
        );
    }

    #[test]
    fn definitions_count_as_bytes_of_a_segment() {
        let (mut sealer, _) = sealer();
        let started =
            |name: &str| Event::from(WatchStarted::plain(WatchName(name.into()), "", "pods"));
        let sealed = (0..200)
            .find_map(|number| {
                let name = format!("{number}{}", "n".repeat(1_000));
                sealer.push(started(&name), START).1
            })
            .unwrap();
        assert!(sealed.segment.message.len() <= MAX_MESSAGE_BYTES);
    }

    #[test]
    fn a_gap_is_completed_with_the_seq_of_the_end_that_began_it() {
        let (mut sealer, opening) = sealer();
        let watch = WatchName::from("shop/pods");
        sealer.push(
            WatchStarted {
                watch: watch.clone(),
                group: "".into(),
                version: "v1".into(),
                resource: "pods".into(),
                namespace: Some("shop".into()),
                label_selector: None,
                field_selector: None,
                server: None,
                aggregated: None,
            }
            .into(),
            START,
        );
        let ended = StreamEnded {
            watch: watch.clone(),
            stream: StreamId(1),
            cause: Cause::TcpReset,
            age_ms: 1,
            events: 0,
            bytes: 0,
            reset_code: None,
            unread_ms: None,
        };
        let (end, _) = sealer.push(ended.into(), START);
        let gap = Gap {
            watch,
            since: Seq(0),
            from: None,
            to: None,
            reason: Cause::TcpReset,
            resumed: true,
            lost: Some(0),
        };
        sealer.push(gap.into(), START);
        let segment = sealer.seal(START).unwrap().segment;
        let (mut reader, _) = ChapterReader::open(&opening.opening).unwrap();
        let records = reader.segment(segment.frame()).unwrap();
        let Some(Record {
            event: Event::Gap(gap),
            ..
        }) = records.last().unwrap()
        else {
            panic!("the last record is the gap")
        };
        assert_eq!(gap.since, end);
    }

    #[test]
    fn time_never_decreases() {
        let (mut sealer, _) = sealer();
        sealer.push(clock(), START.plus_millis(9));
        sealer.push(clock(), START.plus_millis(3));
        let segment = sealer.seal(START.plus_millis(9)).unwrap().segment;
        assert_eq!(segment.last_at, START.plus_millis(9));
    }

    #[test]
    fn a_chapter_closes_when_its_segments_outweigh_a_mebibyte_and_its_opening() {
        let (mut sealer, first) = sealer();
        let (mut chapter, mut opening) = (0, first.opening.len());
        let mut closed = 0;
        while closed < 3 {
            let Some(sealed) = sealer.push(note(2_000), START).1 else {
                continue;
            };
            chapter += sealed.segment.frame().len();
            assert_eq!(
                sealed.closed.is_some(),
                chapter > CHAPTER_BYTES && chapter > opening
            );
            if let Some((summary, next)) = sealed.closed {
                assert_eq!(summary.last, sealed.segment.last);
                assert_eq!(next.first, sealed.segment.last.next());
                (chapter, opening, closed) = (0, next.opening.len(), closed + 1);
            }
        }
    }

    #[test]
    fn a_snapshot_holds_all_pushed_records() {
        let (mut sealer, opening) = sealer();
        sealer.push(clock(), START);
        let (sealed, snapshot) = sealer.snapshot(START);
        assert_eq!(snapshot.seq, Seq(1));
        assert_eq!(sealed.unwrap().segment.last, Seq(1));
        let (_, head) = ChapterReader::open(snapshot.frame()).unwrap();
        assert_eq!(&head.state, sealer.state());
        assert!(decode_chapter(&opening.opening).is_ok());
        let (sealed, _) = sealer.snapshot(START);
        assert!(sealed.is_none());
    }
}
