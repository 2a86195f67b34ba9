//! The chapters of a log from the newest back, in memory and in files.

use bytes::Bytes;
use watchscope_log::{Chapter, FileChapter, Ring};
use watchscope_model::{EpochId, Seq, Time};
use watchscope_search::KeptFrom;

use crate::log::LogHandle;

/// The next chapter of a search.
#[derive(Debug)]
pub(super) struct Found {
    /// The run of the log's writer.
    pub(super) epoch: EpochId,
    /// The search goes on before this record.
    pub(super) before: Seq,
    /// The chapter's first and last record.
    pub(super) first: Seq,
    pub(super) last: Seq,
    /// The times of these records.
    pub(super) first_at: Time,
    pub(super) last_at: Time,
    /// Whether it grows no more.
    pub(super) is_closed: bool,
    /// Whether the chapter before it is kept.
    pub(super) follows: bool,
    pub(super) source: Source,
}

/// Where a chapter is.
#[derive(Debug)]
pub(super) enum Source {
    /// In memory: its head frame, and its segment frames.
    Memory(Vec<Bytes>),
    /// In files; the entry stands for one chapter, or for several.
    File {
        /// Whether it stands for several.
        is_merged: bool,
    },
}

/// Finds the newest chapter with records before a position, or of the runs before it. `None` if nothing is kept there.
pub(super) fn next_chapter(log: &LogHandle, epoch: &EpochId, before: Seq) -> Option<Found> {
    log.with_ring(|ring| {
        let (mut epoch, mut before) = (epoch.clone(), before);
        loop {
            if epoch == *ring.epoch()
                && let Some(found) = in_memory(ring, &epoch, before)
            {
                return Some(found);
            }
            if let Some(chapter) = ring.catalogue().last_in_file(&epoch, before) {
                return Some(in_file(ring, epoch, before, chapter));
            }
            let mut runs = ring.catalogue().runs().map(|(run, _)| run);
            let run = runs.position(|run| *run == epoch)?;
            let mut runs = ring.catalogue().runs().map(|(run, _)| run);
            epoch = runs.nth(run.checked_sub(1)?)?.clone();
            before = Seq(u64::MAX);
        }
    })
}

fn in_memory(ring: &Ring, epoch: &EpochId, before: Seq) -> Option<Found> {
    let last = Seq(before.0.checked_sub(1)?.min(ring.head().0));
    let chapter = ring.chapter(last).filter(|_| last >= ring.first())?;
    let (begin, end) = (chapter.segments.first()?, chapter.segments.last()?);
    Some(Found {
        epoch: epoch.clone(),
        before,
        first: chapter.first,
        last: end.last,
        first_at: begin.first_at,
        last_at: end.last_at,
        is_closed: end.last < ring.head() || ring.chapter(ring.head().next())?.first > end.last,
        follows: is_kept(ring, epoch, chapter.first),
        source: Source::Memory(frames(chapter)),
    })
}

fn frames(chapter: &Chapter) -> Vec<Bytes> {
    let segments = chapter.segments.iter();
    let segments = segments.map(|segment| segment.message.slice_ref(segment.frame()));
    std::iter::once(chapter.opening.clone())
        .chain(segments)
        .collect()
}

fn in_file(ring: &Ring, epoch: EpochId, before: Seq, chapter: FileChapter) -> Found {
    Found {
        before,
        first: chapter.first,
        last: chapter.last,
        first_at: chapter.first_at,
        last_at: chapter.last_at,
        // A file's chapter that is still being written is in memory.
        is_closed: !chapter.is_merged,
        follows: is_kept(ring, &epoch, chapter.first),
        source: Source::File {
            is_merged: chapter.is_merged,
        },
        epoch,
    }
}

/// Whether the record before `first` is kept. If `first` is the first record of its run, there is none to keep.
pub(super) fn is_before_kept(log: &LogHandle, epoch: &EpochId, first: Seq) -> bool {
    log.with_ring(|ring| is_kept(ring, epoch, first))
}

fn is_kept(ring: &Ring, epoch: &EpochId, first: Seq) -> bool {
    let Some(before) = first.0.checked_sub(1).filter(|&seq| seq > 0).map(Seq) else {
        return true;
    };
    let in_memory = epoch == ring.epoch() && before >= ring.first();
    in_memory || ring.catalogue().is_in_file(epoch, before)
}

/// Returns the first record that is kept; `None` if there is no record.
pub(super) fn kept_from(log: &LogHandle) -> Option<KeptFrom> {
    log.with_ring(|ring| {
        let place = |(epoch, seq, at): (&EpochId, Seq, Time)| KeptFrom {
            epoch: epoch.clone(),
            seq,
            at,
        };
        let listed = ring.catalogue().kept_from();
        let in_memory = || (ring.epoch(), ring.first(), ring.first_at());
        let has_records = ring.head() >= ring.first();
        listed.or_else(|| has_records.then(in_memory)).map(place)
    })
}

/// Whether records before a position can be kept: its run is listed, and it is not before the first record that is kept.
pub(super) fn is_position_kept(
    log: &LogHandle,
    epoch: &EpochId,
    before: Seq,
    from: &KeptFrom,
) -> bool {
    log.with_ring(|ring| {
        let place = |of: &EpochId| ring.catalogue().runs().position(|(run, _)| run == of);
        match (place(epoch), place(&from.epoch)) {
            (Some(of), Some(first)) => (of, before) >= (first, from.seq),
            _ => false,
        }
    })
}

/// The time of the record `seq` of a chapter in memory, as its segment has it; `None` if it is not in memory.
pub(super) fn time_in_memory(log: &LogHandle, seq: Seq) -> Option<Time> {
    log.with_ring(|ring| ring.segment(seq).map(|segment| segment.first_at))
}
