//! The time in which watchscope ran: the log's time without the pauses of watchscope.
//!
//! While the machine sleeps, or the process is stopped, watchscope reads nothing. An event that is late after such a
//! pause is late because of watchscope. So all of diagnosis runs in awake time, and only its records have the log's
//! time. A lesson has no pauses, so in a lesson both times are the same.

use std::collections::VecDeque;

use watchscope_model::Time;
use watchscope_model::time::MILLISECOND_US;

/// Most pauses that are remembered; a further pause replaces the oldest. A moment before the oldest remembered pause
/// counts as before all pauses. The number has no source: a pause lasts over 1 s, so 64 pauses span over a minute.
const MAX_PAUSES: usize = 64;

/// A stretch of the log's time in which watchscope did not run.
#[derive(Clone, Copy, Debug)]
struct Pause {
    /// When the pause began and ended, which is one moment in awake time.
    at: Time,
    /// When the pause ended, in the log's time.
    until: Time,
    /// The length of all pauses so far, this one included.
    total_us: i64,
}

/// The pauses of watchscope, which translate between the log's time and awake time. [`MAX_PAUSES`] bounds their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Awake(VecDeque<Pause>);

impl Awake {
    /// Notes that watchscope did not run for `lasted_ms` before `until`, in the log's time.
    pub(crate) fn pause(&mut self, until: Time, lasted_ms: u64) {
        let lasted_us = i64::try_from(lasted_ms).unwrap_or(i64::MAX);
        let lasted_us = lasted_us.saturating_mul(MILLISECOND_US);
        let last = self.0.back().copied();
        let began = until.plus_micros(-lasted_us);
        // Pauses do not overlap.
        let began = began.max(last.map_or(Time(i64::MIN), |last| last.until));
        let pause = Pause {
            at: self.of(began),
            until,
            total_us: last.map_or(0, |last| last.total_us) + until.micros_since(began),
        };
        if self.0.len() == MAX_PAUSES {
            self.0.pop_front();
        }
        self.0.push_back(pause);
    }

    /// Returns the awake time of a moment of the log. All moments of a pause have the same awake time.
    pub(crate) fn of(&self, at: Time) -> Time {
        let mut after = None;
        for pause in self.0.iter().rev() {
            if pause.until <= at {
                return at.plus_micros(-pause.total_us).min(after.unwrap_or(at));
            }
            after = Some(pause.at);
        }
        after.map_or(at, |first| at.min(first))
    }

    /// Returns the moment of the log at an awake time. If there was a pause at that awake time, returns the begin of
    /// the pause.
    pub(crate) fn logged(&self, awake: Time) -> Time {
        let before = self.0.iter().rev().find(|pause| pause.at < awake);
        before.map_or(awake, |pause| awake.plus_micros(pause.total_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: i64) -> Time {
        Time(seconds * 1_000_000)
    }

    #[test]
    fn without_a_pause_both_times_are_the_same() {
        let awake = Awake::default();
        assert_eq!((awake.of(s(7)), awake.logged(s(7))), (s(7), s(7)));
    }

    #[test]
    fn a_pause_takes_no_time() {
        let mut awake = Awake::default();
        awake.pause(s(110), 100_000);
        awake.pause(s(150), 20_000);
        let of: Vec<i64> = [5, 10, 60, 110, 125, 130, 140, 150, 160]
            .map(|at| awake.of(s(at)).0 / 1_000_000)
            .to_vec();
        assert_eq!(of, [5, 10, 10, 10, 25, 30, 30, 30, 40]);
        let logged: Vec<i64> = [5, 10, 11, 30, 31]
            .map(|at| awake.logged(s(at)).0 / 1_000_000)
            .to_vec();
        assert_eq!(logged, [5, 10, 111, 130, 151]);
    }

    #[test]
    fn forgotten_pauses_do_not_move_later_times() {
        let mut awake = Awake::default();
        for number in 1..=1_000 {
            awake.pause(s(10 * number), 5_000);
        }
        assert_eq!(awake.of(s(10_001)), s(5_001));
        assert_eq!(awake.logged(s(5_001)), s(10_001));
    }
}
