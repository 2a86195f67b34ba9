//! The frames that a watch still has to send: first initial events or a replay, then live events. A bounded number of
//! live events may wait (docs/semantics/servers.md#buffers).
//!
//! ```text
//!  initial events or replay ─► bookmark ─┐
//!                                        ├─► network
//!  dispatcher ─► live, bounded ──────────┘
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::cache::{REPLAY_CHUNK, Replay, WatchCache};
use super::watcher::{FrameContext, Watcher};
use crate::change::Change;
use crate::inside::WatcherLook;
use crate::object::Object;
use crate::time::Time;

/// The frames of a watch that wait for the network.
///
/// The backlog is bounded. Live frames fill the slots of the watch's two channels; the event on which the dispatcher
/// waits is kept apart. While the first events are sent, only one channel has room for live frames, since the first
/// events fill the second channel.
#[derive(Debug)]
pub(super) struct Backlog {
    first: First,
    /// The revision of the bookmark that ends the initial events, if the watch requested one.
    end_bookmark: Option<u64>,
    live: VecDeque<Bytes>,
    /// The event that found the buffer full, on which the dispatcher waits.
    pending: Option<Bytes>,
    /// The number of slots of each of the watch's two channels.
    slots: usize,
    /// The number of first events sent since the last pause; `paused_until` is the pause's end.
    sent_since_pause: usize,
    paused_until: Time,
}

/// The events that a watch gets before live events.
#[derive(Debug)]
pub(super) enum First {
    Nothing,
    /// The objects of the present state, sent as ADDED.
    Objects(std::vec::IntoIter<Arc<Object>>),
    /// The events of a replay from the ring, copied in chunks.
    Ring(Replay, VecDeque<Arc<Change>>),
}

/// The next thing that a backlog has for the network.
#[derive(Debug)]
pub(super) enum Next {
    Frame(Bytes),
    /// No frame waits now.
    Nothing,
    /// No frame is due before this time, because sending many first events takes time.
    NotBefore(Time),
    /// The ring dropped events that were to be replayed. The watch ends without an ERROR
    /// (docs/semantics/servers.md#overrun).
    Overrun,
}

impl Backlog {
    pub(super) fn new(first: First, end_bookmark: Option<u64>, slots: usize) -> Backlog {
        Backlog {
            first,
            end_bookmark,
            live: VecDeque::new(),
            pending: None,
            slots,
            sent_since_pause: 0,
            paused_until: Time::ZERO,
        }
    }

    pub(super) fn has_slot(&self) -> bool {
        self.pending.is_none() && self.live.len() < self.capacity()
    }

    /// Returns the number of waiting frames, and the room for live frames.
    pub(super) fn look(&self) -> WatcherLook {
        let first = match &self.first {
            First::Nothing => 0,
            First::Objects(objects) => objects.len(),
            First::Ring(replay, copied) => replay.left() + copied.len(),
        };
        WatcherLook {
            waiting: first + self.live.len() + usize::from(self.pending.is_some()),
            slots: self.capacity(),
            is_blocking: self.pending.is_some(),
            is_from_etcd: false,
        }
    }

    pub(super) fn push(&mut self, frame: Bytes) {
        self.live.push_back(frame);
    }

    /// Keeps the event on which the dispatcher waits apart from the channels.
    pub(super) fn push_pending(&mut self, frame: Bytes) {
        self.pending = Some(frame);
    }

    pub(super) fn is_blocking(&self) -> bool {
        self.pending.is_some()
    }

    /// Ends the backlog: the frames in the result channel are still sent, all other frames are lost.
    pub(super) fn cut_off(&mut self) {
        let kept = match self.first {
            First::Nothing => self.slots,
            _ => 0,
        };
        self.first = First::Nothing;
        self.end_bookmark = None;
        self.pending = None;
        self.live.truncate(kept);
    }

    /// Takes the next frame. Taking a frame can free a slot for the event on which the dispatcher waits.
    pub(super) fn next(
        &mut self,
        watcher: &mut Watcher,
        cache: Option<&WatchCache>,
        per_event: Duration,
        context: FrameContext<'_>,
    ) -> Next {
        match self.next_first(watcher, cache, per_event, context) {
            Next::Nothing => {}
            next => return next,
        }
        match self.live.pop_front() {
            Some(frame) => {
                if let Some(pending) = self.pending.take() {
                    self.live.push_back(pending);
                }
                Next::Frame(frame)
            }
            None => match self.pending.take() {
                Some(frame) => Next::Frame(frame),
                None => Next::Nothing,
            },
        }
    }

    fn next_first(
        &mut self,
        watcher: &mut Watcher,
        cache: Option<&WatchCache>,
        per_event: Duration,
        context: FrameContext<'_>,
    ) -> Next {
        if matches!(self.first, First::Nothing) {
            return Next::Nothing;
        }
        if self.paused_until > context.now && !per_event.is_zero() {
            return Next::NotBefore(self.paused_until);
        }
        if self.sent_since_pause >= REPLAY_CHUNK && !per_event.is_zero() {
            let count = u32::try_from(self.sent_since_pause).unwrap_or(u32::MAX);
            self.sent_since_pause = 0;
            self.paused_until = context.now + per_event.saturating_mul(count);
            return Next::NotBefore(self.paused_until);
        }
        loop {
            match &mut self.first {
                First::Nothing => break,
                First::Objects(objects) => {
                    if let Some(object) = objects.next() {
                        self.sent_since_pause += 1;
                        return Next::Frame(watcher.initial(&object, context));
                    }
                    self.first = First::Nothing;
                }
                First::Ring(replay, copied) => {
                    if copied.is_empty()
                        && let Some(cache) = cache
                    {
                        match cache.next_of(replay) {
                            Ok(events) => copied.extend(events),
                            Err(_) => return Next::Overrun,
                        }
                    }
                    let Some(change) = copied.pop_front() else {
                        self.first = First::Nothing;
                        continue;
                    };
                    let frame = watcher.event(&change, context);
                    watcher.is_past(change.revision);
                    if let Some(frame) = frame {
                        self.sent_since_pause += 1;
                        return Next::Frame(frame);
                    }
                }
            }
        }
        let bookmark = self.end_bookmark.take();
        let frame = bookmark.and_then(|revision| watcher.bookmark(revision, true, context));
        frame.map_or(Next::Nothing, Next::Frame)
    }

    fn capacity(&self) -> usize {
        match self.first {
            First::Nothing => 2 * self.slots,
            _ => self.slots,
        }
    }
}
