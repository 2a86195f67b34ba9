//! A gRPC watch stream: the channel of responses that all its watchers share, and the loop that empties it
//! (docs/semantics/servers.md#watch-stream).
//!
//! ```text
//!  watchers ──► channel of 128 responses ──► send loop: reads prevKV, takes its time ──► Sent ──► network
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use watchscope_model::tree::BTreeSet;

use super::store::Store;
use crate::change::Change;
use crate::kinds::ResourceId;
use crate::message::ServerId;
use crate::time::Time;

/// The most responses that a stream's channel holds (docs/semantics/servers.md#watch-stream). When the channel is full,
/// a watcher with events becomes a victim: it keeps the events and tries again later.
pub(super) const CHANNEL_SLOTS: usize = 128;

/// The id of a watcher of etcd; an id is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatcherId(pub(super) u64);

/// The key of a watch stream: the apiserver's client of etcd that opened it, and its purpose. An apiserver has one
/// client of etcd per resource. Each such client puts watches with equal context metadata on one stream
/// (docs/semantics/servers.md#watch-stream).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamKey {
    pub(crate) server: ServerId,
    pub(crate) resource: ResourceId,
    pub(crate) purpose: Purpose,
}

/// The purpose of a watch stream of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// The stream carries the watch cache's own watch. Without SeparateCacheWatchRPC this stream carries all watches.
    Cache,
    /// The stream carries the watches of clients that no watch cache serves.
    Direct,
}

/// The watchers that a response is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// The response is for one watcher.
    Watcher(WatcherId),
    /// The response is for all watchers of the stream up to this one, which was the newest when the response was made.
    /// The client learns of a later watcher only after the response.
    StreamUpTo(WatcherId),
}

/// A response on its way to a client of etcd.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) to: Addressee,
    /// The revision in the response's header.
    pub(crate) revision: u64,
    pub(crate) content: Content,
}

/// The content of a response.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Changes of watched keys, oldest first.
    Events(Vec<WatchedChange>),
    /// A progress notification: etcd has sent all changes up to the header's revision.
    Progress,
    /// The watch is over, because the next revision that it needs is below the compacted one.
    Compacted,
    /// The watch is over, because the member has no leader.
    NoLeader,
}

/// A change, as a watch with `prevKV` gets it.
#[derive(Clone, Debug)]
pub(crate) struct WatchedChange {
    pub(crate) change: Arc<Change>,
    /// Whether etcd could still read the object's state before the change when it sent the change. If it could not,
    /// prevKV is nil.
    pub(crate) has_previous: bool,
}

/// A message from etcd to an apiserver's client of etcd.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    pub(crate) stream: StreamKey,
    /// The response on the stream; `None`: the stream breaks, and the stream's client opens its watches again.
    pub(crate) response: Option<Response>,
}

/// The speed of a send loop: the time for a response, and bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) per_response: Duration,
    pub(super) bytes_per_second: u64,
}

impl Pace {
    fn span(&self, response: &Response) -> Duration {
        let Content::Events(events) = &response.content else {
            return self.per_response;
        };
        let bytes: usize = events.iter().map(|e| e.change.object.size()).sum();
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let micros = bytes.saturating_mul(1_000_000) / self.bytes_per_second.max(1);
        self.per_response + Duration::from_micros(micros)
    }
}

/// A stream and its channel.
///
/// Bounded: the channel holds at most 128 responses. A full channel takes no response, and the response's watcher
/// becomes a victim.
#[derive(Debug)]
pub(super) struct Stream {
    channel: VecDeque<Response>,
    busy_until: Time,
    /// Whether an alarm at `busy_until` is set.
    pub(super) wakes: bool,
    pub(super) watchers: BTreeSet<WatcherId>,
    /// Whether progress was requested and could not be sent (defect `NoProgressForIdleWatch`).
    pub(super) owes_progress: bool,
    /// When the next periodic progress notification is due. `None` while nothing has happened since the last one, or if
    /// etcd sends none.
    pub(super) next_tick: Option<Time>,
    /// When the stream was opened. Periodic progress notifications are due at whole intervals after this time.
    pub(super) opened_at: Time,
}

impl Stream {
    pub(super) fn new(now: Time) -> Stream {
        Stream {
            channel: VecDeque::new(),
            busy_until: now,
            wakes: false,
            watchers: BTreeSet::new(),
            owes_progress: false,
            next_tick: None,
            opened_at: now,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.channel.len() < CHANNEL_SLOTS
    }

    /// Returns when the channel has room, if nothing more is put into it: now, or when the send loop takes the next
    /// response.
    pub(super) fn room_at(&self, now: Time) -> Time {
        if self.has_room() {
            now
        } else {
            self.busy_until.max(now)
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.channel.len()
    }

    /// Puts a response into the channel, or sends it at once if the send loop is free. Returns `None` if the channel is
    /// full.
    pub(super) fn offer(
        &mut self,
        response: Response,
        now: Time,
        store: &Store,
        pace: Pace,
    ) -> Option<Offered> {
        if self.channel.is_empty() && self.busy_until <= now {
            return Some(Offered::Sent(self.send(response, now, store, pace)));
        }
        if !self.has_room() {
            return None;
        }
        self.channel.push_back(response);
        if std::mem::replace(&mut self.wakes, true) {
            return Some(Offered::Waits);
        }
        Some(Offered::WakeAt(self.busy_until))
    }

    /// Takes the next response from the channel and sends it; `None` if the channel is empty. The caller knows that the
    /// send loop is free now.
    pub(super) fn wake(
        &mut self,
        now: Time,
        store: &Store,
        pace: Pace,
    ) -> Option<(Time, Response)> {
        self.wakes = false;
        let next = self.channel.pop_front()?;
        Some(self.send(next, now, store, pace))
    }

    /// Returns when the send loop must be woken; `None` if no response waits or an alarm is set already.
    pub(super) fn next_wake(&mut self) -> Option<Time> {
        if self.channel.is_empty() || self.wakes {
            return None;
        }
        self.wakes = true;
        Some(self.busy_until)
    }

    /// Sends a response. Only at sending does etcd read prevKV, if compaction has not removed it
    /// (docs/semantics/servers.md#prev-kv-read).
    fn send(
        &mut self,
        mut response: Response,
        now: Time,
        store: &Store,
        pace: Pace,
    ) -> (Time, Response) {
        if let Content::Events(events) = &mut response.content {
            for event in events {
                event.has_previous = store.has_previous(&event.change);
            }
        }
        self.busy_until = now.max(self.busy_until) + pace.span(&response);
        (self.busy_until, response)
    }

    /// Removes a cancelled watcher, and its waiting responses.
    pub(super) fn forget(&mut self, watcher: WatcherId) {
        self.watchers.remove(&watcher);
        self.channel.retain(|r| r.to != Addressee::Watcher(watcher));
    }
}

/// What happens to a response that a stream's channel took.
#[derive(Debug)]
pub(super) enum Offered {
    /// The response leaves etcd at this time.
    Sent((Time, Response)),
    /// The response waits, and the stream must be woken at this time.
    WakeAt(Time),
    /// The response waits, and an alarm is already set for the stream.
    Waits,
}
