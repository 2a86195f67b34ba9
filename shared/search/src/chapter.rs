//! The search of one chapter: frames in, hits out.

use std::collections::VecDeque;

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::{DecodeError, Frame};
use watchscope_model::{EpochId, LogId, Record, Seq};

use crate::hit::{Hit, Matched, What};
use crate::matching::lane_of;
use crate::named::Named;
use crate::query::Query;

/// The machine that searches one chapter.
///
/// A chapter can only be read forward, but hits are handed out from the newest. So the machine holds the newest hits
/// until the chapter ends, at most as many as the caller wants. The caller passes frames, and may pause between two.
#[derive(Debug)]
pub struct ChapterSearch<'a> {
    query: &'a Query,
    /// The records whose bodies match, sorted.
    bodies: &'a [Seq],
    before: Seq,
    most: usize,
    reader: ChapterReader,
    log: LogId,
    epoch: EpochId,
    hits: VecDeque<Hit>,
    has_more: bool,
    named: Option<Named>,
}

/// The hits of a chapter.
#[derive(Debug)]
pub struct ChapterHits {
    /// The newest hits, the newest first.
    pub hits: Vec<Hit>,
    /// Whether older records of the chapter match, too. A search before the last hit finds them.
    pub has_more: bool,
    /// What the chapter's records name, if the caller wanted that. It is whole only if all frames were passed.
    pub named: Option<Named>,
}

impl<'a> ChapterSearch<'a> {
    /// Begins with a chapter's head frame. It finds the newest `most` hits, at least 1, among the records before
    /// `before`. `bodies` has the records whose bodies match, sorted.
    ///
    /// # Errors
    /// If the frame is no head frame or is damaged.
    pub fn open(
        query: &'a Query,
        head: Frame<'_>,
        before: Seq,
        most: usize,
        bodies: &'a [Seq],
    ) -> Result<Self, DecodeError> {
        let (reader, log, epoch) = ChapterReader::open_dictionary(head)?;
        Ok(Self {
            query,
            bodies,
            before,
            most: most.max(1),
            reader,
            log,
            epoch,
            hits: VecDeque::new(),
            has_more: false,
            named: None,
        })
    }

    /// Also collects what the records name, for an [`Index`](crate::Index).
    #[must_use]
    pub fn naming(self) -> Self {
        Self {
            named: Some(Named::default()),
            ..self
        }
    }

    /// Whether no later frame can have a hit, and none is needed for what the records name.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.named.is_none() && self.reader.next_seq() >= self.before
    }

    /// Takes in the next segment.
    ///
    /// # Errors
    /// If the segment cannot be read or does not follow. The hits before it stay.
    pub fn segment(&mut self, frame: Frame<'_>) -> Result<(), DecodeError> {
        let records = self.reader.frame_records(frame)?;
        for record in records.iter().flatten() {
            self.record(record);
        }
        Ok(())
    }

    fn record(&mut self, record: &Record) {
        if let Some(named) = &mut self.named {
            named.add(&record.event);
        }
        if record.seq >= self.before {
            return;
        }
        let mut matched = self.query.matched(&record.event);
        if self.bodies.binary_search(&record.seq).is_ok() {
            matched.add(What::Body);
        }
        if !matched.is_empty() {
            self.hit(record, matched);
        }
    }

    fn hit(&mut self, record: &Record, matched: Matched) {
        if self.hits.len() == self.most {
            self.hits.pop_front();
            self.has_more = true;
        }
        let (object, code) = lane_of(&record.event);
        self.hits.push_back(Hit {
            log: self.log.clone(),
            epoch: self.epoch.clone(),
            seq: record.seq,
            at: record.at,
            watch: record.event.watch().cloned(),
            object,
            code,
            matched,
            is_held: false,
        });
    }

    /// Returns the hits.
    #[must_use]
    pub fn finish(self) -> ChapterHits {
        ChapterHits {
            hits: self.hits.into_iter().rev().collect(),
            has_more: self.has_more,
            named: self.named,
        }
    }
}
