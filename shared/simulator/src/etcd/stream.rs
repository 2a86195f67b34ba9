//! One gRPC watch stream: the response channel that all watchers on it share, and the loop that empties it
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

/// Responses that a stream's channel holds.
pub(super) const CHANNEL_SLOTS: usize = 128;

/// A watch of etcd; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatcherId(pub(super) u64);

/// A stream by who opened it: an apiserver has one client of etcd per resource, and that client multiplexes the watches
/// with equal context metadata on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamKey {
    pub(crate) server: ServerId,
    pub(crate) resource: ResourceId,
    pub(crate) purpose: Purpose,
}

/// What a stream is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// The watch cache's own watch; without SeparateCacheWatchRPC everything.
    Cache,
    /// Watches that clients asked for and no watch cache serves.
    Direct,
}

/// Whom a response is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressee {
    /// One watcher.
    Watcher(WatcherId),
    /// All watchers of the stream up to this one, the newest when it was made: their client learns of a later one only
    /// behind it.
    StreamUpTo(WatcherId),
}

/// A response on its way to a client of etcd.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) to: Addressee,
    /// The revision of its header.
    pub(crate) revision: u64,
    pub(crate) content: Content,
}

/// What a response says.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Changes, oldest first.
    Events(Vec<WatchedChange>),
    /// Every change up to the header's revision was sent.
    Progress,
    /// The watch starts before the compacted revision; it is over.
    Compacted,
    /// The member has no leader; the watch is over.
    NoLeader,
}

/// A change as a watch with `prevKV` gets it.
#[derive(Clone, Debug)]
pub(crate) struct WatchedChange {
    pub(crate) change: Arc<Change>,
    /// Whether the state before it could be read when it was sent: prevKV is nil otherwise.
    pub(crate) has_previous: bool,
}

/// Something that leaves etcd.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    pub(crate) stream: StreamKey,
    /// `None`: the stream breaks, and its client opens its watches anew.
    pub(crate) response: Option<Response>,
}

/// How fast a send loop is.
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

/// A stream.
///
/// Bounded by its channel: what finds it full is not taken, and its watcher becomes a victim.
#[derive(Debug)]
pub(super) struct Stream {
    channel: VecDeque<Response>,
    busy_until: Time,
    /// Whether a wake at `busy_until` is set.
    pub(super) wakes: bool,
    pub(super) watchers: BTreeSet<WatcherId>,
    /// Progress that was asked for and could not be sent (defect `NoProgressForIdleWatch`).
    pub(super) owes_progress: bool,
    /// When the next periodic progress is due; `None` while there is nothing new to tell.
    pub(super) next_tick: Option<Time>,
    /// Ticks fall on this moment plus whole intervals.
    pub(super) opened_at: Time,
    /// The revision at the last tick.
    pub(super) told: u64,
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
            told: 0,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.channel.len() < CHANNEL_SLOTS
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.channel.len()
    }

    /// Puts a response into the channel; what may leave at once is returned. `None`: the channel is full.
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

    /// The send loop is free: takes the next response, if there is one.
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

    /// When the send loop is to be woken, if responses wait and no wake is set.
    pub(super) fn next_wake(&mut self) -> Option<Time> {
        if self.channel.is_empty() || self.wakes {
            return None;
        }
        self.wakes = true;
        Some(self.busy_until)
    }

    /// Reads what prevKV it can, only now (docs/semantics/servers.md#prev-kv-read), and takes its time.
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

    /// What waits for a watcher that is cancelled goes nowhere.
    pub(super) fn forget(&mut self, watcher: WatcherId) {
        self.watchers.remove(&watcher);
        self.channel.retain(|r| r.to != Addressee::Watcher(watcher));
    }
}

/// What became of an offered response.
#[derive(Debug)]
pub(super) enum Offered {
    /// It leaves at this time.
    Sent((Time, Response)),
    /// It waits, and somebody has to wake the stream then.
    WakeAt(Time),
    /// It waits.
    Waits,
}
