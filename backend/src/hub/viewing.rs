//! What the viewers of a hub get, added up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use watchscope_log::Served;

use crate::metrics::{Exposition, Histogram, families as f};

/// 1 ms to 10 s: a segment waits up to 16 ms to be sealed, should be on its way within 10 ms more, and a viewer 5 s behind
/// is moved to the head.
const WAIT_BOUNDS_US: &[u64] = &[
    1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// The sums over all viewers, those that have gone included.
#[derive(Debug)]
pub(crate) struct Viewing {
    open: AtomicU64,
    queue_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    moves: AtomicU64,
    moved_past: AtomicU64,
    waits: Mutex<Histogram>,
}

impl Default for Viewing {
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

impl Viewing {
    /// Adds the sums.
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

/// One viewer's part of the sums; what it has not acknowledged is taken out of them when it goes.
#[derive(Debug)]
pub(super) struct Share {
    viewing: Arc<Viewing>,
    told: Served,
}

impl Share {
    pub(super) fn of(viewing: Arc<Viewing>) -> Self {
        viewing.open.fetch_add(1, Ordering::Relaxed);
        Self {
            viewing,
            told: Served::default(),
        }
    }

    /// Brings the sums up to what became of the viewer; to be called after each message to or from it.
    pub(super) fn update(&mut self, served: Served) {
        let all = &*self.viewing;
        let add = |sum: &AtomicU64, now: u64, told: u64| {
            if now != told {
                // Wrapping: a gauge goes down as well.
                sum.fetch_add(now.wrapping_sub(told), Ordering::Relaxed);
            }
        };
        add(&all.sent_bytes, served.bytes, self.told.bytes);
        add(&all.moves, served.moves, self.told.moves);
        add(&all.moved_past, served.moved_past, self.told.moved_past);
        add(
            &all.queue_bytes,
            served.unacknowledged_bytes,
            self.told.unacknowledged_bytes,
        );
        // Told once, with the message that brought it.
        if let Some(waited_us) = served
            .waited_us
            .filter(|_| served.messages != self.told.messages)
        {
            let mut waits = all.waits.lock().unwrap_or_else(PoisonError::into_inner);
            waits.observe_us(waited_us);
        }
        self.told = served;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.viewing.open.fetch_sub(1, Ordering::Relaxed);
        let unacknowledged = self.told.unacknowledged_bytes;
        self.viewing
            .queue_bytes
            .fetch_sub(unacknowledged, Ordering::Relaxed);
    }
}
