//! The bytes in transit to a viewer, and its lag behind the log.

use std::collections::VecDeque;

use watchscope_model::wire::WINDOW_BYTES;
use watchscope_model::{Seq, Time};

use crate::ring::Ring;

/// The lag in microseconds above which a viewer for which live data waits is moved to the head, unless the lag shrinks.
/// The lag is the age of the first record of the first segment that the viewer has not wholly acknowledged. Time before
/// the viewer acknowledged its last snapshot, or resumed, does not count. A viewer that connects again with a greater
/// lag gets a snapshot. The number has no source: a picture that is further behind is hardly live.
pub const BEHIND_US: i64 = 5_000_000;
/// The lag in bytes above which a viewer for which live data waits is moved to the head, unless the lag shrinks. The
/// lag is the number of sealed bytes from the first segment on that the viewer has not wholly acknowledged. Bytes
/// sealed before the viewer acknowledged its last snapshot, or resumed, do not count. A viewer that connects again with
/// a greater lag gets a snapshot. The number has no source: it is four times [`WINDOW_BYTES`].
pub const BEHIND_BYTES: u64 = 4 << 20;

/// The age in microseconds of the oldest unacknowledged data above which live data, past data and the catalogue wait,
/// if more than [`STALLED_BYTES`] are unacknowledged. The age of unacknowledged data does not hold back snapshots.
/// Without this limit a slow link would hold a whole window of data, and a snapshot of the head would arrive after all
/// that data. The number has no source: it is less than [`BEHIND_US`], so that the window is not full when a viewer is
/// moved to the head.
const STALLED_US: i64 = 2_000_000;
/// The unacknowledged bytes up to which data is sent at any age of the oldest message. The number is that of the
/// largest message, so that a message is always on its way.
const STALLED_BYTES: u64 = 64 << 10;
/// The bytes of the window, half of it, that messages of the past and of the catalogue leave to live messages. Such a
/// message waits while less than this would be free after it. With this reserve, live and past messages each have room.
/// The share has no source.
const LIVE_RESERVE_BYTES: u64 = WINDOW_BYTES / 2;

/// The time in microseconds in which sent messages share a mark; a message at the end of that time or later begins a
/// new mark. The age of a message is therefore known to 100 ms, a twentieth of [`STALLED_US`]. The number has no
/// source.
const MARK_US: i64 = 100_000;
/// The most bytes of sent messages that share a mark. Above this number a new mark begins; a larger message has a mark
/// of its own. A full window has about 64 such marks. The number has no source.
const MARK_BYTES: u64 = 16 << 10;
/// The least time in microseconds between two samples of the lag. The present lag is compared with the sample before
/// the last one. That older sample is at least this old, and at most about twice as old if the reader is called often.
/// The number has no source: it is a fifth of [`BEHIND_US`], so a lag that shrinks shows before the viewer is moved.
const TREND_US: i64 = 1_000_000;

/// The window of a viewer: the counts of sent and acknowledged bytes.
///
/// The window bounds the number of marks: a mark covers up to 16 KiB or 100 ms of sent messages. The number is about
/// 100, or more with small messages if the viewer does not acknowledge.
#[derive(Debug, Default)]
pub(super) struct Window {
    sent: u64,
    acknowledged: u64,
    marks: VecDeque<Mark>,
    /// The seq of the record after the last acknowledged record.
    next: Seq,
    /// The last acknowledgement of a snapshot, or the resume; `None` while a snapshot is in transit.
    settled: Option<Settled>,
    trend: Trend,
}

/// The moment from which a viewer's lag counts: it acknowledged a snapshot, or resumed without one.
#[derive(Clone, Copy, Debug)]
struct Settled {
    at: Time,
    /// The number of bytes that the log had sealed at the time `at`.
    bytes: u64,
}

/// A range of sent bytes, with the time of sending.
#[derive(Debug)]
struct Mark {
    start: u64,
    end: u64,
    sent_at: Time,
    /// The seq of the record after the last record in these bytes; `None` if they complete no segment or snapshot.
    next: Option<Seq>,
    is_snapshot: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Trend {
    at: Time,
    now: Lag,
    before: Lag,
}

/// How far a viewer is behind: the log's data after the last acknowledged record.
#[derive(Clone, Copy, Debug, Default)]
struct Lag {
    us: i64,
    bytes: u64,
}

/// The content of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// The message has no part of the log.
    Control,
    /// A part of the past or of the catalogue, or a piece that is not the last.
    Part,
    /// A whole segment, or its last piece.
    Records {
        /// The seq of the record after the segment's last.
        next: Seq,
    },
    /// A whole snapshot, or its last piece.
    Snapshot {
        /// The seq of the record after the last one that the snapshot folds.
        next: Seq,
    },
}

impl Window {
    /// Begins at `next` without a snapshot: the viewer already holds the records before it.
    pub(super) fn resume(&mut self, next: Seq, ring: &Ring, now: Time) {
        self.next = next;
        self.settled = Some(Settled {
            at: now,
            bytes: ring.total_bytes(),
        });
    }

    /// Whether a live message of `bytes` bytes may be sent.
    pub(super) fn admits_live(&self, bytes: usize, now: Time) -> bool {
        self.admits_snapshot(bytes) && !self.is_stalled(now)
    }

    /// Whether a part of a snapshot may be sent.
    pub(super) fn admits_snapshot(&self, bytes: usize) -> bool {
        self.unacknowledged() == 0 || self.unacknowledged() + bytes as u64 <= WINDOW_BYTES
    }

    /// Whether a message of the past may be sent.
    pub(super) fn admits_past(&self, bytes: usize, now: Time) -> bool {
        self.unacknowledged() + bytes as u64 <= WINDOW_BYTES - LIVE_RESERVE_BYTES
            && !self.is_stalled(now)
    }

    /// Counts a sent message.
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

    /// Counts an acknowledgement of all bytes up to `bytes`; returns false if fewer were sent.
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
                self.settled = Some(Settled {
                    at: now,
                    bytes: ring.total_bytes(),
                });
            }
            self.marks.pop_front();
        }
        true
    }

    /// Samples the lag at most once per [`TREND_US`], so that it is known whether the lag shrinks.
    pub(super) fn watch_lag(&mut self, ring: &Ring, now: Time) {
        if now.micros_since(self.trend.at) >= TREND_US {
            self.trend = Trend {
                at: now,
                before: self.trend.now,
                now: self.lag(ring, now),
            };
        }
    }

    /// Whether the viewer must be moved to the head: its lag is over a limit and does not shrink. Only the lag since
    /// the viewer acknowledged its last snapshot, or resumed, counts. Before it acknowledged a snapshot, or resumed,
    /// the viewer is never left behind.
    pub(super) fn is_left_behind(&self, ring: &Ring, now: Time) -> bool {
        let Some(settled) = self.settled else {
            return false;
        };
        let lag = self.lag(ring, now);
        let over_us = lag.us.min(now.micros_since(settled.at)) > BEHIND_US;
        let over_bytes = lag.bytes.min(ring.total_bytes() - settled.bytes) > BEHIND_BYTES;
        (over_us && lag.us >= self.trend.before.us)
            || (over_bytes && lag.bytes >= self.trend.before.bytes)
    }

    fn lag(&self, ring: &Ring, now: Time) -> Lag {
        if self.next > ring.head() {
            return Lag::default();
        }
        let (at, bytes) = match ring.segment(self.next) {
            Some(segment) => (segment.first_at, segment.bytes_before),
            // The ring dropped the record, so the viewer is at least as far behind as the oldest record held.
            None => (ring.first_at(), 0),
        };
        Lag {
            us: now.micros_since(at),
            bytes: ring.total_bytes() - bytes,
        }
    }

    /// The number of bytes that were sent and not acknowledged.
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
