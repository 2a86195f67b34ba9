//! A reply on its way: what waits for the network to take it.

use std::collections::VecDeque;

use bytes::Bytes;

use super::watcher::Watcher;
use crate::message::Head;
use crate::time::Time;

/// A reply to one request.
///
/// Bounded: a whole answer by what it answers; a watch by its watcher's slots, beyond which the watch is ended.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    head: Option<Head>,
    body: VecDeque<Bytes>,
    /// How many chunks at the front of `body` do not count against a watcher's slots: initial and replayed events.
    uncounted: usize,
    ended: bool,
    held: bool,
    pub(super) watcher: Option<Watcher>,
    /// Since when frames wait beyond the watcher's slots.
    pub(super) blocked_since: Option<Time>,
}

/// The next thing a reply has for the network.
#[derive(Debug)]
pub(crate) enum Part {
    Head(Head),
    Chunk(Bytes),
    End,
}

impl Reply {
    pub(super) fn set_head(&mut self, status: u16, headers: Vec<(String, String)>) {
        self.head = Some(Head { status, headers });
    }

    /// Appends chunks that do not count as live events.
    pub(super) fn extend(&mut self, chunks: impl IntoIterator<Item = Bytes>) {
        self.body.extend(chunks);
        self.uncounted = self.body.len();
    }

    /// Appends the frame of a live event.
    pub(super) fn push_live(&mut self, frame: Bytes) {
        self.body.push_back(frame);
    }

    /// Live frames that wait for the network.
    pub(super) fn live_frames(&self) -> usize {
        self.body.len() - self.uncounted
    }

    /// Drops live frames beyond the first `kept`.
    pub(super) fn truncate_live(&mut self, kept: usize) {
        self.body.truncate(self.uncounted + kept);
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    pub(super) fn release(&mut self) {
        self.held = false;
    }

    /// Whether it is the reply of a running watch.
    pub(crate) fn is_watch(&self) -> bool {
        self.watcher.is_some()
    }

    /// Takes the next part; chunks only if there is room for them.
    pub(crate) fn next_part(&mut self, room: bool) -> Option<Part> {
        if self.held {
            return None;
        }
        if let Some(head) = self.head.take() {
            return Some(Part::Head(head));
        }
        if self.body.is_empty() {
            return self.ended.then_some(Part::End);
        }
        if !room {
            return None;
        }
        let chunk = self.body.pop_front()?;
        self.uncounted = self.uncounted.saturating_sub(1);
        Some(Part::Chunk(chunk))
    }
}
