//! What a watch has still to be sent: first what was there, then what is live, and how much of that may wait
//! (docs/semantics/servers.md#buffers).
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
use super::watcher::{Telling, Watcher};
use crate::change::Change;
use crate::inside::WatcherLook;
use crate::object::Object;
use crate::time::Time;

/// The frames of a watch that wait for the network.
///
/// Bounded: live frames by the slots of the watcher's two channels, with the event on which the dispatcher waits kept
/// aside; while it is still being sent what was there, by one channel's, since that fills the other.
#[derive(Debug)]
pub(super) struct Backlog {
    first: First,
    /// The revision of the bookmark that ends the initial events, if one is asked for.
    end_bookmark: Option<u64>,
    live: VecDeque<Bytes>,
    /// The event that found the buffer full.
    pending: Option<Bytes>,
    /// Slots of each channel.
    slots: usize,
    /// How many of the first events were sent since the last pause, and until when that lasts.
    sent_since_pause: usize,
    paused_until: Time,
}

/// What is sent first.
#[derive(Debug)]
pub(super) enum First {
    Nothing,
    /// The objects that were there, as ADDED.
    Objects(std::vec::IntoIter<Arc<Object>>),
    /// What is in the ring, copied in chunks.
    Ring(Replay, VecDeque<Arc<Change>>),
}

/// What a backlog has for the network.
#[derive(Debug)]
pub(super) enum Next {
    Frame(Bytes),
    /// Nothing now.
    Nothing,
    /// Nothing before this moment: it takes time to go through many objects.
    NotBefore(Time),
    /// The ring lost what was to be replayed: the watch ends without a word (docs/semantics/servers.md#overrun).
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

    /// What waits for the network.
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

    /// Keeps aside the event the dispatcher waits with.
    pub(super) fn push_pending(&mut self, frame: Bytes) {
        self.pending = Some(frame);
    }

    pub(super) fn is_blocking(&self) -> bool {
        self.pending.is_some()
    }

    /// The watch is over: what the result channel holds is still sent, the rest is lost to it.
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

    /// Takes the next frame. With it gone, an event the dispatcher waits with may have found a slot.
    pub(super) fn next(
        &mut self,
        watcher: &mut Watcher,
        cache: Option<&WatchCache>,
        per_event: Duration,
        telling: Telling<'_>,
    ) -> Next {
        match self.next_first(watcher, cache, per_event, telling) {
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
        telling: Telling<'_>,
    ) -> Next {
        if matches!(self.first, First::Nothing) {
            return Next::Nothing;
        }
        if self.paused_until > telling.now {
            return Next::NotBefore(self.paused_until);
        }
        if self.sent_since_pause >= REPLAY_CHUNK && !per_event.is_zero() {
            let count = u32::try_from(self.sent_since_pause).unwrap_or(u32::MAX);
            self.sent_since_pause = 0;
            self.paused_until = telling.now + per_event.saturating_mul(count);
            return Next::NotBefore(self.paused_until);
        }
        loop {
            match &mut self.first {
                First::Nothing => break,
                First::Objects(objects) => {
                    if let Some(object) = objects.next() {
                        self.sent_since_pause += 1;
                        return Next::Frame(watcher.initial(&object, telling));
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
                    let frame = watcher.event(&change, telling);
                    watcher.is_past(change.revision);
                    if let Some(frame) = frame {
                        self.sent_since_pause += 1;
                        return Next::Frame(frame);
                    }
                }
            }
        }
        let bookmark = self.end_bookmark.take();
        let frame = bookmark.and_then(|revision| watcher.bookmark(revision, true, telling));
        frame.map_or(Next::Nothing, Next::Frame)
    }

    fn capacity(&self) -> usize {
        match self.first {
            First::Nothing => 2 * self.slots,
            _ => self.slots,
        }
    }
}
