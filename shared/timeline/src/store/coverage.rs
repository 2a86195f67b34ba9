//! What is known of time: loaded, not loaded yet, expired, dropped, never known.

use watchscope_model::{Seq, Time};

use super::{Epoch, Store};

/// What is known of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All records are here.
    Loaded,
    /// The server has records that are not here yet.
    NotLoaded,
    /// The server no longer has them.
    Expired,
    /// They were here and were dropped for want of room.
    Dropped,
    /// watchscope did not run, or lost them.
    Lost,
}

/// A stretch of time and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// What is known of it.
    pub coverage: Coverage,
}

impl Store {
    /// The stretches of time from the oldest known to `now`, in order, and what is known of each.
    #[must_use]
    pub fn coverage(&self, now: Time) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (number, epoch) in self.epochs.iter().enumerate() {
            let is_last = number + 1 == self.epochs.len();
            let mut floor = stretches.last().map_or(Time(0), |last| last.to);
            if number > 0
                && let Some(begins) = epoch.begins().filter(|_| epoch.begins_known())
                && floor < begins
            {
                stretches.push(Stretch {
                    from: floor,
                    to: begins,
                    coverage: Coverage::Lost,
                });
                floor = begins;
            }
            epoch.coverage(floor, is_last.then_some(now), &mut stretches);
        }
        stretches
    }
}

impl Epoch {
    /// Adds what is known from `floor` on.
    fn coverage(&self, floor: Time, now: Option<Time>, out: &mut Vec<Stretch>) {
        let mut push = |from: Time, to: Time, coverage: Coverage| {
            if from >= to {
                return;
            }
            match out.last_mut() {
                Some(last) if last.coverage == coverage && last.to >= from => {
                    last.to = last.to.max(to)
                }
                _ => out.push(Stretch { from, to, coverage }),
            }
        };
        let (ring_first, ring_at) = self.ring_first.unwrap_or((Seq(1), floor));
        let (mut after, mut cursor) = (Seq(0), floor);
        if let Some((_, dropped)) = self.dropped {
            push(cursor, dropped, Coverage::Dropped);
            cursor = cursor.max(dropped);
        }
        for (place, chapter) in self.chapters.iter().enumerate() {
            let begins = chapter.from.max(cursor);
            let is_hole = after.next() < chapter.first;
            if is_hole && after.next() < ring_first {
                let kept = if chapter.first <= ring_first {
                    begins
                } else {
                    ring_at.clamp(cursor, begins)
                };
                push(cursor, kept, Coverage::Expired);
                push(kept, begins, Coverage::NotLoaded);
            } else if is_hole {
                let from = if place == 0 {
                    ring_at.clamp(cursor, begins)
                } else {
                    cursor
                };
                push(from, begins, Coverage::NotLoaded);
            }
            let is_last = place + 1 == self.chapters.len();
            let to = now
                .filter(|_| is_last)
                .map_or(chapter.to, |now| now.max(chapter.to));
            push(begins, to, Coverage::Loaded);
            (after, cursor) = (chapter.last, chapter.to.max(cursor));
        }
    }
}
