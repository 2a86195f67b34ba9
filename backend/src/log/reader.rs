//! A reader of the ring's records, for JSON lines, the terminal and the fold at the head.

use std::sync::Arc;

use bytes::Bytes;
use watchscope_log::Ring;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::{Entry, Layers, Seq, State};

use super::shared::{RingProgress, Shared, lock};

/// The position at which a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// At the first record in the ring.
    First,
    /// After this record.
    After(Seq),
    /// At the next record that is written.
    Head,
}

/// One result of [`LogReader`].
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// The next records: the rest of a segment, at least one record.
    Entries(Vec<Entry>),
    /// These records are no longer in the ring.
    Loss {
        /// The first.
        from: Seq,
        /// The last.
        to: Seq,
    },
}

/// A cursor into the log that decodes records.
///
/// It holds a position and a dictionary, but no queue. If it falls behind the ring, it returns the lost records as
/// [`Read::Loss`].
pub struct LogReader {
    shared: Arc<Shared>,
    progress: RingProgress,
    next: Seq,
    decoder: Option<ChapterReader>,
}

/// The frames to decode next: the segment that holds the next record, and those before it that a new decoder needs.
struct Found {
    opening: Option<Bytes>,
    skipped: Vec<Bytes>,
    segment: Bytes,
}

impl LogReader {
    pub(super) fn new(shared: Arc<Shared>, since: Since) -> Self {
        let next = {
            let ring = lock(&shared.ring);
            match since {
                Since::First => ring.first(),
                Since::After(seq) => seq.next(),
                Since::Head => ring.head().next(),
            }
        };
        Self {
            progress: RingProgress::of(&shared),
            shared,
            next,
            decoder: None,
        }
    }

    pub(super) async fn at_head(shared: Arc<Shared>) -> (State, Layers, Self) {
        let mut reader = Self::new(shared, Since::Head);
        let snapshot = loop {
            reader.progress.catch_up();
            let now = reader.shared.clock.now();
            let snapshot = lock(&reader.shared.ring).snapshot(now).cloned();
            if let Some(snapshot) = snapshot {
                break snapshot;
            }
            reader.shared.snapshot_wanted.notify_one();
            reader.progress.changed().await;
        };
        let (decoder, opening) =
            ChapterReader::open(snapshot.frame()).expect("the log reads what it wrote");
        let mut layers = decoder
            .layers(&opening.state, &opening.layers)
            .expect("the log reads what it wrote");
        reader.next = decoder.next_seq();
        reader.decoder = Some(decoder);
        let mut state = opening.state;
        while let Some(Read::Entries(entries)) = reader.try_next() {
            for entry in &entries {
                match entry {
                    Entry::Record(record) => state.apply(record),
                    Entry::Inside(record) => state.pass(record.seq, record.at),
                }
                layers.apply(entry);
            }
        }
        (state, layers, reader)
    }

    /// The seq of the next record.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next
    }

    /// Waits for the next records and returns them; `None` after the last one of a closed log. Cancel safe.
    pub async fn next(&mut self) -> Option<Read> {
        loop {
            let is_closed = self.progress.catch_up();
            if let Some(read) = self.try_next() {
                return Some(read);
            }
            if is_closed {
                return None;
            }
            self.progress.changed().await;
        }
    }

    /// Returns the next records if there are some.
    pub fn try_next(&mut self) -> Option<Read> {
        let found = {
            let ring = lock(&self.shared.ring);
            if self.next < ring.first() {
                let from = self.next;
                self.next = ring.first();
                self.decoder = None;
                return Some(Read::Loss {
                    from,
                    to: Seq(ring.first().0 - 1),
                });
            }
            find(&ring, self.next, self.decoder.is_some())?
        };
        let decoder = match (self.decoder.take(), found.opening) {
            (Some(decoder), _) => self.decoder.insert(decoder),
            (None, opening) => {
                let (decoder, _) = ChapterReader::open(&opening.unwrap_or_default())
                    .expect("the log reads what it wrote");
                self.decoder.insert(decoder)
            }
        };
        for skipped in &found.skipped {
            decoder.skip(skipped).expect("the log reads what it wrote");
        }
        let mut entries: Vec<Entry> = decoder
            .entries(&found.segment)
            .expect("the log reads what it wrote")
            .into_iter()
            .map(|record| record.expect("the log knows what it wrote"))
            .collect();
        entries.retain(|entry| entry.seq() >= self.next);
        self.next = decoder.next_seq();
        Some(Read::Entries(entries))
    }
}

/// Finds the segment that holds `next`, and the frames that a reader without a dictionary must take in before it.
fn find(ring: &Ring, next: Seq, has_dictionary: bool) -> Option<Found> {
    let chapter = ring.chapter(next)?;
    let segment = chapter.segment(next)?;
    let frame =
        |segment: &watchscope_log::SealedSegment| segment.message.slice_ref(segment.frame());
    let skipped = if has_dictionary {
        Vec::new()
    } else {
        let before = chapter.segments_before(segment.first);
        chapter.segments[..before].iter().map(frame).collect()
    };
    Some(Found {
        opening: (!has_dictionary).then(|| chapter.opening.clone()),
        skipped,
        segment: frame(segment),
    })
}
