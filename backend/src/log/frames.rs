//! A reader of the ring's frames as they were sealed. A recording stores them unchanged.

use std::sync::Arc;

use bytes::Bytes;
use watchscope_model::Seq;

use super::shared::{RingProgress, Shared, lock};

/// One result of [`FrameReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameRead {
    /// The head frame with which a chapter begins.
    Opening(Bytes),
    /// The next segment frame of that chapter.
    Segment(Bytes),
    /// These records are no longer in the ring. An opening follows.
    Loss {
        /// The first.
        from: Seq,
        /// The last.
        to: Seq,
    },
}

/// A cursor into the log's frames, which starts at the first chapter in the ring.
///
/// It holds a position and no queue. If it falls behind the ring, it returns the lost records as [`FrameRead::Loss`].
pub struct FrameReader {
    shared: Arc<Shared>,
    progress: RingProgress,
    next: Seq,
    /// The first record of the chapter whose opening was returned last.
    chapter: Option<Seq>,
}

impl FrameReader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let next = lock(&shared.ring).first();
        Self {
            progress: RingProgress::of(&shared),
            shared,
            next,
            chapter: None,
        }
    }

    /// Waits for the next frame and returns it; `None` after the last one of a closed log. Cancel safe.
    pub async fn next(&mut self) -> Option<FrameRead> {
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

    /// The seq of the record with which the next frame begins, if the ring still holds it.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next
    }

    /// Goes back to the chapter that begins with `first`, so that its frames are returned again from its opening on.
    pub fn back_to(&mut self, first: Seq) {
        self.next = first;
        self.chapter = None;
    }

    /// Returns once the log is closed. Cancel safe.
    pub async fn closed(&mut self) {
        while !self.progress.catch_up() {
            self.progress.changed().await;
        }
    }

    /// Returns the next frame if there is one.
    pub fn try_next(&mut self) -> Option<FrameRead> {
        let ring = lock(&self.shared.ring);
        let first = ring.first();
        if self.next < first {
            let from = std::mem::replace(&mut self.next, first);
            self.chapter = None;
            let to = Seq(first.0 - 1);
            return Some(FrameRead::Loss { from, to });
        }
        let chapter = ring.chapter(self.next)?;
        if self.chapter != Some(chapter.first) {
            self.chapter = Some(chapter.first);
            return Some(FrameRead::Opening(chapter.opening.clone()));
        }
        let segment = chapter.segment(self.next)?;
        self.next = segment.last.next();
        let frame = segment.message.slice_ref(segment.frame());
        Some(FrameRead::Segment(frame))
    }
}
