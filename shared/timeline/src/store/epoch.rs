//! An epoch: one run of the log's writer, as far as it is loaded.

use watchscope_model::chapter::ChapterReader;
use watchscope_model::fold::Moment;
use watchscope_model::wire::CatalogueEntry;
use watchscope_model::{EpochId, Layers, LogId, Seq, State, Time};

use super::chapter::Chapter;
use super::trace::Trace;
use crate::levels::LayerTrace;

/// The head of an epoch that is still being written.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) reader: ChapterReader,
    pub(super) state: State,
    /// The encoded fold of inside records from the snapshot, until the next segment. The page's second part decodes it.
    pub(super) unread_layers: Option<Vec<u8>>,
}

/// One run of the log's writer.
#[derive(Debug)]
pub(crate) struct Epoch {
    pub(super) log: LogId,
    pub(super) id: EpochId,
    /// The epoch's number in [`RecordId`](crate::id::RecordId)s; it never changes.
    pub(super) number: u32,
    /// The number by which epochs are sorted.
    pub(super) order: u64,
    /// Chapters that the server has listed, by their first records.
    pub(super) catalogue: Vec<CatalogueEntry>,
    /// Loaded chapters by seq; records between two of them are not loaded.
    pub(super) chapters: Vec<Chapter>,
    pub(crate) trace: Trace,
    pub(super) live: Option<Live>,
    /// The first record of the epoch in the server's ring.
    pub(super) ring_first: Option<Moment>,
    /// The last record that was dropped for lack of room.
    pub(super) dropped: Option<Moment>,
    /// The fold of inside records of a simulated cluster at the live head.
    pub(super) layers: Layers,
    pub(crate) layer_trace: LayerTrace,
}

impl Epoch {
    pub(super) fn new(log: LogId, id: EpochId, number: u32, order: u64) -> Self {
        Self {
            log,
            id,
            number,
            order,
            catalogue: Vec::new(),
            chapters: Vec::new(),
            trace: Trace::default(),
            live: None,
            ring_first: None,
            dropped: None,
            layers: Layers::default(),
            layer_trace: LayerTrace::default(),
        }
    }

    pub(super) fn merge(&mut self, (trace, layers): (Trace, LayerTrace)) {
        // The first chapter needs no merge.
        if self.chapters.is_empty() {
            (self.trace, self.layer_trace) = (trace, layers);
        } else {
            self.trace.merge(trace);
            self.layer_trace.merge(layers);
        }
    }

    /// Ends the live log at its last record. What is open at that record is known to be open only until then.
    pub(super) fn end_live(&mut self) {
        if let Some(live) = self.live.take() {
            self.trace.freeze(live.state.at);
        }
    }

    /// Returns the part of a chapter from `first` to `last` that may be read. The part leaves out records that were
    /// dropped, records of a loaded chapter that extends beyond either end, and live records.
    pub(super) fn room_for(&self, first: Seq, last: Seq) -> (Seq, Seq) {
        let dropped = self.dropped.map_or(Seq(0), |dropped| dropped.seq);
        let (mut from, mut to) = (first.max(dropped.next()), last);
        for (place, held) in self.chapters.iter().enumerate() {
            let is_live = self.live.is_some() && place + 1 == self.chapters.len();
            if is_live || (held.last > last && held.first <= last) {
                to = to.min(Seq(held.first.0 - 1));
            } else if held.first < first && held.last >= first {
                from = from.max(held.last.next());
            }
        }
        (from, to)
    }

    /// Returns the epoch's number in [`RecordId`](crate::id::RecordId)s.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether a record is loaded.
    pub(crate) fn has_record(&self, seq: Seq) -> bool {
        let mut chapters = self.chapters.iter();
        chapters.any(|chapter| chapter.first <= seq && seq <= chapter.last)
    }

    /// Whether a loaded chapter with records covers a time.
    pub(crate) fn holds(&self, at: Time) -> bool {
        let mut chapters = self.chapters.iter();
        chapters.any(|chapter| chapter.first <= chapter.last && chapter.is_within((at, at)))
    }

    /// Whether all records from `first` to `last` are loaded; if `last` lies after the last known record, up to that
    /// one.
    pub(crate) fn has_all(&self, first: Seq, last: Seq) -> bool {
        let mut reached = None;
        let chapters = self.chapters.iter().rev();
        for chapter in chapters.filter(|chapter| chapter.first <= last) {
            if reached.is_some_and(|reached| chapter.last.next() != reached) {
                return false;
            }
            if chapter.first <= first {
                return true;
            }
            reached = Some(chapter.first);
        }
        false
    }

    pub(super) fn bytes(&self) -> usize {
        self.chapters.iter().map(Chapter::held_bytes).sum::<usize>()
            + self.trace.bytes()
            + self.layer_trace.bytes()
    }
}
