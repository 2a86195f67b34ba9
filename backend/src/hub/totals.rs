//! The sums over all viewers of a hub: their number, the bytes sent, and how long records waited.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use watchscope_log::Served;

use crate::metrics::{Exposition, Histogram, families as f};

/// Bounds of the histogram of waits, in µs: 1 ms to 10 s. A segment waits up to 16 ms to be sealed, and should be sent
/// within 10 ms more. A viewer that is 5 s behind is moved to the head.
const WAIT_BOUNDS_US: &[u64] = &[
    1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// The sums over all viewers, including those that have left.
#[derive(Debug)]
pub(crate) struct ViewerTotals {
    open: AtomicU64,
    queue_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    moves: AtomicU64,
    moved_past: AtomicU64,
    waits: Mutex<Histogram>,
}

impl Default for ViewerTotals {
    fn default() -> Self {
        Self {
            open: AtomicU64::default(),
            queue_bytes: AtomicU64::default(),
            sent_bytes: AtomicU64::default(),
            moves: AtomicU64::default(),
            moved_past: AtomicU64::default(),
            waits: Mutex::new(Histogram::new(WAIT_BOUNDS_US)),
        }
    }
}

impl ViewerTotals {
    /// Adds the sums to an exposition.
    pub(crate) fn expose(&self, out: &mut Exposition) {
        let sum = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        out.add(&f::VIEWERS, [], sum(&self.open));
        out.add(&f::VIEWER_QUEUE, [], sum(&self.queue_bytes));
        out.add(&f::VIEWER_BYTES, [], sum(&self.sent_bytes));
        out.add(&f::GAP_FRAMES, [], sum(&self.moves));
        out.add(&f::COALESCED, [], sum(&self.moved_past));
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        out.add(&f::INGEST_TO_SEND, [], &*waits);
    }
}

/// One viewer's share of the sums. Dropping it subtracts the viewer and its unacknowledged bytes.
#[derive(Debug)]
pub(super) struct ViewerShare {
    totals: Arc<ViewerTotals>,
    /// The viewer's counts at the last update.
    counted: Served,
}

impl ViewerShare {
    /// Makes the share of one more viewer.
    pub(super) fn of(totals: Arc<ViewerTotals>) -> Self {
        totals.open.fetch_add(1, Ordering::Relaxed);
        Self {
            totals,
            counted: Served::default(),
        }
    }

    /// Adds the changes of the viewer's counts to the sums. Call it after each message to or from the viewer.
    pub(super) fn update(&mut self, served: Served) {
        let all = &*self.totals;
        let add = |sum: &AtomicU64, now: u64, before: u64| {
            if now != before {
                // The addition wraps, since a gauge can fall.
                sum.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
            }
        };
        add(&all.sent_bytes, served.bytes, self.counted.bytes);
        add(&all.moves, served.moves, self.counted.moves);
        add(&all.moved_past, served.moved_past, self.counted.moved_past);
        add(
            &all.queue_bytes,
            served.unacknowledged_bytes,
            self.counted.unacknowledged_bytes,
        );
        // The wait is observed once, with the message that brought it.
        if let Some(waited_us) = served
            .waited_us
            .filter(|_| served.messages != self.counted.messages)
        {
            let mut waits = all.waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.observe_us(waited_us);
        }
        self.counted = served;
    }
}

impl Drop for ViewerShare {
    fn drop(&mut self) {
        self.totals.open.fetch_sub(1, Ordering::Relaxed);
        let unacknowledged = self.counted.unacknowledged_bytes;
        self.totals
            .queue_bytes
            .fetch_sub(unacknowledged, Ordering::Relaxed);
    }
}
