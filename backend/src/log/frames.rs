//! Reads the ring's frames as they were sealed: what a recording keeps.

use std::sync::Arc;

use bytes::Bytes;
use watchscope_model::Seq;

use super::shared::{RingProgress, Shared, lock};

/// What a reader of frames gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameRead {
    /// A chapter begins with this head frame.
    Opening(Bytes),
    /// The next segment frame of that chapter.
    Segment(Bytes),
    /// These records are no longer in the ring. An opening follows.
    Loss {
        /// First.
        from: Seq,
        /// Last.
        to: Seq,
    },
}

/// A cursor into the log's frames, from the first chapter kept on.
///
/// Holds a position, no queue: one that falls behind the ring gets the records that it lost as [`FrameRead::Loss`].
pub struct FrameReader {
    shared: Arc<Shared>,
    progress: RingProgress,
    next: Seq,
    /// The first record of the chapter whose opening was given.
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

    /// The next frame, as soon as there is one; `None` after the last one of a closed log. Cancel safe.
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

    /// The record that is given next, if it is still in the ring.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next
    }

    /// Goes back to the chapter that begins with `first`: its frames are given again, from its opening on.
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

    /// The next frame, if it is there.
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
