//! What is on its way to a viewer, and how far behind that leaves it.

use std::collections::VecDeque;

use watchscope_model::wire::WINDOW_BYTES;
use watchscope_model::{Seq, Time};

use crate::ring::Ring;

/// A viewer so many microseconds behind is moved to the head.
pub const BEHIND_US: i64 = 5_000_000;
/// A viewer so many bytes behind is moved to the head.
pub const BEHIND_BYTES: u64 = 4 << 20;

/// Live data waits while the oldest unacknowledged message is so old: a slow link would else hold a whole window, and
/// the head would come behind it.
const STALLED_US: i64 = 2_000_000;
/// So much is sent however long its acknowledgement takes.
const STALLED_BYTES: u64 = 64 << 10;
/// Messages of the past leave this much of the window to live ones.
const LIVE_RESERVE_BYTES: u64 = WINDOW_BYTES / 2;

/// Messages sent within this time share a mark…
const MARK_US: i64 = 100_000;
/// …while they are of at most so many bytes together.
const MARK_BYTES: u64 = 16 << 10;
/// Lag is compared with the lag so long ago, or up to twice that.
const TREND_US: i64 = 1_000_000;

/// Counts what was sent and acknowledged.
///
/// Bounded: marks hold 16 KiB or 100 ms each of what the window lets out, about a hundred in all.
#[derive(Debug, Default)]
pub(super) struct Window {
    sent: u64,
    acknowledged: u64,
    marks: VecDeque<Mark>,
    /// The record after the last one acknowledged.
    next: Seq,
    /// When the last snapshot was acknowledged, and what the log had sealed by then; `None` while one is on its way.
    settled: Option<(Time, u64)>,
    trend: Trend,
}

/// Messages sent, up to a count of bytes.
#[derive(Debug)]
struct Mark {
    start: u64,
    end: u64,
    sent_at: Time,
    /// The record after the last one that these messages bring.
    next: Option<Seq>,
    is_snapshot: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Trend {
    at: Time,
    now: Lag,
    before: Lag,
}

/// How far behind a viewer is: what the log sealed after the last record it acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Lag {
    us: i64,
    bytes: u64,
}

/// What a message brings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// Nothing of the log.
    Control,
    /// Something of the past, or a piece that is not the last.
    Part,
    /// A segment whole.
    Records {
        /// The record after its last.
        next: Seq,
    },
    /// A snapshot whole.
    Snapshot {
        /// The record after it.
        next: Seq,
    },
}

impl Window {
    /// Starts at `next` without a snapshot: the viewer has what is before.
    pub(super) fn resume(&mut self, next: Seq, ring: &Ring, now: Time) {
        self.next = next;
        self.settled = Some((now, ring.total_bytes()));
    }

    /// Whether a live message of `bytes` may be sent.
    pub(super) fn admits_live(&self, bytes: usize, now: Time) -> bool {
        self.admits_snapshot(bytes) && !self.is_stalled(now)
    }

    /// Whether part of a snapshot may be sent.
    pub(super) fn admits_snapshot(&self, bytes: usize) -> bool {
        self.unacknowledged() == 0 || self.unacknowledged() + bytes as u64 <= WINDOW_BYTES
    }

    /// Whether a message of the past may be sent.
    pub(super) fn admits_past(&self, bytes: usize, now: Time) -> bool {
        self.unacknowledged() + bytes as u64 <= WINDOW_BYTES - LIVE_RESERVE_BYTES
            && !self.is_stalled(now)
    }

    /// Counts a message.
    pub(super) fn send(&mut self, bytes: usize, content: Content, now: Time) {
        let start = self.sent;
        self.sent += bytes as u64;
        let (next, is_snapshot) = match content {
            Content::Control => return,
            Content::Part => (None, false),
            Content::Records { next } => (Some(next), false),
            Content::Snapshot { next } => (Some(next), true),
        };
        if is_snapshot {
            self.settled = None;
        }
        let end = self.sent;
        match self.marks.back_mut() {
            Some(mark)
                if !mark.is_snapshot
                    && !is_snapshot
                    && now.micros_since(mark.sent_at) < MARK_US
                    && end - mark.start <= MARK_BYTES =>
            {
                mark.end = end;
                mark.next = next.or(mark.next);
            }
            _ => self.marks.push_back(Mark {
                start,
                end,
                sent_at: now,
                next,
                is_snapshot,
            }),
        }
    }

    /// Counts an acknowledgement of all bytes up to `bytes`; returns whether so many were sent.
    pub(super) fn acknowledge(&mut self, bytes: u64, ring: &Ring, now: Time) -> bool {
        if bytes > self.sent {
            return false;
        }
        self.acknowledged = self.acknowledged.max(bytes);
        while let Some(mark) = self.marks.front() {
            if mark.end > bytes {
                break;
            }
            self.next = mark.next.unwrap_or(self.next);
            if mark.is_snapshot {
                self.settled = Some((now, ring.total_bytes()));
            }
            self.marks.pop_front();
        }
        true
    }

    /// Notes the lag of now and then, so that it can be told whether it shrinks.
    pub(super) fn watch_lag(&mut self, ring: &Ring, now: Time) {
        if now.micros_since(self.trend.at) >= TREND_US {
            self.trend = Trend {
                at: now,
                before: self.trend.now,
                now: self.lag(ring, now),
            };
        }
    }

    /// Whether the viewer is so far behind that it should be moved to the head: over a limit, counted from the
    /// acknowledgement of its last snapshot, and not catching up.
    pub(super) fn is_left_behind(&self, ring: &Ring, now: Time) -> bool {
        let Some((settled_at, settled_bytes)) = self.settled else {
            return false;
        };
        let lag = self.lag(ring, now);
        let over_us = lag.us.min(now.micros_since(settled_at)) > BEHIND_US;
        let over_bytes = lag.bytes.min(ring.total_bytes() - settled_bytes) > BEHIND_BYTES;
        (over_us && lag.us >= self.trend.before.us)
            || (over_bytes && lag.bytes >= self.trend.before.bytes)
    }

    fn lag(&self, ring: &Ring, now: Time) -> Lag {
        if self.next > ring.head() {
            return Lag::default();
        }
        let (at, bytes) = match ring.segment(self.next) {
            Some(segment) => (segment.first_at, segment.bytes_before),
            // Dropped: at least as far behind as the oldest kept.
            None => (ring.first_at(), 0),
        };
        Lag {
            us: now.micros_since(at),
            bytes: ring.total_bytes() - bytes,
        }
    }

    /// Bytes sent and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.sent - self.acknowledged
    }

    fn is_stalled(&self, now: Time) -> bool {
        self.unacknowledged() > STALLED_BYTES
            && self
                .marks
                .front()
                .is_some_and(|mark| now.micros_since(mark.sent_at) > STALLED_US)
    }
}
