//! Which chapter of the past to ask for next.
//!
//! ```text
//!   ring   first ·····│ held │······ not held ······│ held, up to the head │
//!   view                          [ from ─────────────────── to ]
//!   next                                            ▲ the chapter before this record
//! ```

use watchscope_model::id::Seq;
use watchscope_model::time::Time;

/// Records held without a hole, and the time they cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// First record.
    pub first: Seq,
    /// Last record; one before `first` if none came yet.
    pub last: Seq,
    /// From when on everything is known.
    pub from: Time,
    /// Time of the last record.
    pub to: Time,
}

/// Knows what of an epoch is held and asks for what the view lacks: newest first, one chapter at a time.
///
/// Stretches are as many as there were interruptions that were not filled; one more than [`MAX_STRETCHES`] makes the
/// oldest two one stretch again, whose hole is then never asked for.
#[derive(Clone, Debug, Default)]
pub struct Backfill {
    held: Vec<Stretch>,
    oldest: Seq,
    asked: Option<Seq>,
}

/// How many stretches are told apart.
pub const MAX_STRETCHES: usize = 256;

impl Backfill {
    /// Another epoch begins: nothing of it is held, and nothing of the one before can be asked for.
    pub fn reset(&mut self, oldest: Seq) {
        *self = Self {
            oldest,
            ..Self::default()
        };
    }

    /// The first record the ring keeps.
    pub fn set_oldest(&mut self, oldest: Seq) {
        self.oldest = self.oldest.max(oldest);
    }

    /// A connection was lost: what was asked for will not come.
    pub fn interrupted(&mut self) {
        self.asked = None;
    }

    /// All after record `seq`, taken at `at`, is going to come.
    pub fn head(&mut self, seq: Seq, at: Time) {
        if self.held.last().is_some_and(|last| last.last >= seq) {
            return;
        }
        self.held.push(Stretch {
            first: seq.next(),
            last: seq,
            from: at,
            to: at,
        });
        if self.held.len() > MAX_STRETCHES {
            let oldest = self.held.remove(0);
            self.held[0].first = oldest.first;
            self.held[0].from = oldest.from;
        }
    }

    /// Live records came, up to `last`.
    pub fn live(&mut self, last: Seq, at: Time) {
        if let Some(newest) = self.held.last_mut() {
            newest.last = newest.last.max(last);
            newest.to = newest.to.max(at);
        }
    }

    /// The first record of an answer cut before `before` that is not held already: what lies below the hole belongs
    /// to the stretch before it.
    #[must_use]
    pub fn lacking(&self, before: Seq) -> Seq {
        self.held
            .iter()
            .rev()
            .find(|stretch| stretch.first < before)
            .map_or(Seq(0), |stretch| stretch.last.next())
    }

    /// A chapter came: records after `opening` (taken at `from`), up to `before`.
    pub fn chapter(&mut self, opening: Seq, from: Time, before: Seq) {
        self.asked = None;
        let Some(place) = self.held.iter().position(|stretch| stretch.first == before) else {
            return;
        };
        self.held[place].first = opening.next().min(before);
        self.held[place].from = from;
        // It may reach into the stretch before, which it then joins.
        if let Some(earlier) = place.checked_sub(1)
            && self.held[earlier].last >= opening
        {
            let older = self.held.remove(earlier);
            let joined = &mut self.held[earlier];
            joined.first = joined.first.min(older.first);
            joined.from = joined.from.min(older.from);
        }
    }

    /// Records up to `last` are no longer in the ring.
    pub fn expired(&mut self, last: Seq) {
        self.asked = None;
        self.set_oldest(last.next());
    }

    /// The record before which to ask, so that the view from `from` to `to` becomes whole; `None` if it is, if nothing
    /// more is kept, or if an answer is still to come.
    pub fn next(&mut self, from: Time, to: Time) -> Option<Seq> {
        if self.asked.is_some() {
            return None;
        }
        let mut newer_until = to;
        for (place, stretch) in self.held.iter().enumerate().rev() {
            let hole_from = place
                .checked_sub(1)
                .map_or(Time(i64::MIN), |earlier| self.held[earlier].to);
            let hole_to = stretch.from;
            let kept = stretch.first > self.oldest && stretch.first > Seq(1);
            let seen = hole_to > from && hole_from <= newer_until.max(to);
            if kept && seen {
                self.asked = Some(stretch.first);
                return self.asked;
            }
            newer_until = hole_from;
        }
        None
    }

    /// What is held, oldest first.
    #[must_use]
    pub fn held(&self) -> &[Stretch] {
        &self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planner() -> Backfill {
        let mut backfill = Backfill::default();
        backfill.reset(Seq(1));
        backfill.head(Seq(1_000), Time(1_000));
        backfill.live(Seq(1_100), Time(1_100));
        backfill
    }

    #[test]
    fn the_past_is_asked_for_chapter_by_chapter_newest_first_until_the_view_is_whole() {
        let mut backfill = planner();
        assert_eq!(backfill.next(Time(600), Time(1_100)), Some(Seq(1_001)));
        assert_eq!(backfill.next(Time(600), Time(1_100)), None, "one at a time");
        backfill.chapter(Seq(700), Time(700), Seq(1_001));
        assert_eq!(backfill.next(Time(600), Time(1_100)), Some(Seq(701)));
        backfill.chapter(Seq(400), Time(400), Seq(701));
        assert_eq!(backfill.next(Time(600), Time(1_100)), None);
        assert_eq!(backfill.next(Time(300), Time(500)), Some(Seq(401)));
    }

    #[test]
    fn what_is_not_kept_is_not_asked_for() {
        let mut backfill = planner();
        assert_eq!(backfill.next(Time(0), Time(1_100)), Some(Seq(1_001)));
        backfill.expired(Seq(1_000));
        assert_eq!(backfill.next(Time(0), Time(1_100)), None);
        let mut backfill = planner();
        assert_eq!(backfill.next(Time(0), Time(1_100)), Some(Seq(1_001)));
        backfill.chapter(Seq(0), Time(0), Seq(1_001));
        assert_eq!(backfill.next(Time(-50), Time(1_100)), None);
    }

    #[test]
    fn a_hole_in_the_middle_is_filled_and_the_stretches_join() {
        let mut backfill = planner();
        backfill.head(Seq(2_000), Time(2_000));
        assert_eq!(backfill.next(Time(1_050), Time(2_100)), Some(Seq(2_001)));
        assert_eq!(backfill.lacking(Seq(2_001)), Seq(1_101));
        backfill.chapter(Seq(900), Time(900), Seq(2_001));
        assert_eq!(backfill.held().len(), 1);
        assert_eq!(backfill.held()[0].first, Seq(901));
    }

    #[test]
    fn a_lost_connection_frees_the_request() {
        let mut backfill = planner();
        assert_eq!(backfill.next(Time(0), Time(1_100)), Some(Seq(1_001)));
        backfill.interrupted();
        assert_eq!(backfill.next(Time(0), Time(1_100)), Some(Seq(1_001)));
    }
}
