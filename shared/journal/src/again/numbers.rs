//! Maps the seqs of recorded records to their seqs in the output with new judgements.

use std::collections::VecDeque;

use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{Event, Seq};

/// The most seqs that are remembered at which the distance from recorded to new seq changed. Above this number the
/// oldest is forgotten, and older seqs may be translated wrongly. The number bounds the memory to 1 MiB, at 16 bytes an
/// entry. The number has no source.
const MAX_SHIFTS: usize = 65_536;

/// A recorded seq from which on the distance from recorded to new seqs is the same, until the next shift.
#[derive(Clone, Copy, Debug)]
struct Shift {
    from: Seq,
    /// The new seq minus the recorded seq; it wraps below 0.
    by: u64,
}

/// The distances between recorded and new seqs. A distance changes only where fewer or more judgements are made again
/// than are recorded, and at a hole. At most 65,536 distances are held: above that number the oldest is forgotten.
/// While that number is held, seqs before the oldest distance use it.
#[derive(Clone, Debug, Default)]
pub struct Numbers(VecDeque<Shift>);

impl Numbers {
    /// Notes that the seq `recorded` became the seq `new`.
    pub(super) fn note(&mut self, recorded: Seq, new: Seq) {
        let by = new.0.wrapping_sub(recorded.0);
        if self.0.back().map_or(0, |shift| shift.by) == by {
            return;
        }
        if self.0.len() == MAX_SHIFTS {
            self.0.pop_front();
        }
        self.0.push_back(Shift { from: recorded, by });
    }

    /// The new seq of a recorded seq.
    fn of(&self, recorded: Seq) -> Seq {
        let place = self.0.partition_point(|shift| shift.from <= recorded);
        let is_oldest_forgotten = self.0.len() == MAX_SHIFTS;
        let shift = match place.checked_sub(1) {
            Some(place) => self.0.get(place),
            None => self.0.front().filter(|_| is_oldest_forgotten),
        };
        Seq(recorded.0.wrapping_add(shift.map_or(0, |shift| shift.by)))
    }

    /// Returns the recorded seq of a new seq. A judgement that was made again has no recorded seq of its own. For it
    /// the result is `None`, or the seq of the recorded judgement at its position. A seq outside of the output gets the
    /// distance of the nearest record.
    #[must_use]
    pub fn recorded(&self, new: Seq) -> Option<Seq> {
        let begins = |shift: &Shift| Seq(shift.from.0.wrapping_add(shift.by));
        let place = self.0.partition_point(|shift| begins(shift) <= new);
        let by = match place.checked_sub(1) {
            Some(place) => self.0[place].by,
            None if self.0.len() == MAX_SHIFTS => self.0[0].by,
            None => 0,
        };
        let recorded = Seq(new.0.wrapping_sub(by));
        (self.of(recorded) == new).then_some(recorded)
    }

    /// Replaces the recorded seqs in an event with the new seqs.
    pub(super) fn renumber(&self, event: &mut Event) {
        if self.0.is_empty() {
            return;
        }
        let named: &mut [Seq] = match event {
            Event::Attribution(attribution) => &mut attribution.evidence,
            Event::Finding(finding) => &mut finding.evidence,
            Event::Gap(gap) => std::slice::from_mut(&mut gap.since),
            Event::Loss(loss) if loss.place == LossPlace::Withheld => {
                loss.from_seq = loss.from_seq.map(|seq| self.of(seq));
                loss.to_seq = loss.to_seq.map(|seq| self.of(seq));
                &mut []
            }
            _ => &mut [],
        };
        for seq in named {
            *seq = self.of(*seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seq_has_the_distance_of_the_last_change_before_it() {
        let mut numbers = Numbers::default();
        for (recorded, new) in [(1, 1), (5, 6), (7, 8), (9, 8), (12, 12)] {
            numbers.note(Seq(recorded), Seq(new));
        }
        let new = [1, 4, 5, 7, 8, 9, 11, 12, 40].map(|recorded| numbers.of(Seq(recorded)).0);
        assert_eq!(new, [1, 4, 6, 8, 9, 8, 10, 12, 40]);
    }

    #[test]
    fn a_new_seq_gives_its_recorded_one_and_that_of_a_new_judgement_gives_none() {
        let mut numbers = Numbers::default();
        for (recorded, new) in [(1, 1), (5, 6), (7, 9), (12, 13)] {
            numbers.note(Seq(recorded), Seq(new));
        }
        let recorded = [1, 4, 5, 6, 7, 8, 9, 10, 12, 13].map(|new| {
            let recorded = numbers.recorded(Seq(new));
            recorded.map_or(0, |recorded| recorded.0)
        });
        assert_eq!(recorded, [1, 4, 0, 5, 6, 0, 7, 8, 10, 12]);
    }

    #[test]
    fn above_the_most_changes_the_oldest_are_forgotten() {
        let mut numbers = Numbers::default();
        for recorded in 1..200_000 {
            numbers.note(Seq(recorded), Seq(recorded + recorded % 2));
        }
        assert_eq!(numbers.0.len(), MAX_SHIFTS);
        let new = [199_999, 199_998].map(|recorded| numbers.of(Seq(recorded)).0);
        assert_eq!(new, [200_000, 199_998]);
    }
}
