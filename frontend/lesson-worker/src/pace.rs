//! How fast a lesson plays: as chosen, and faster where nothing happens.

use std::time::Duration;

/// The speed of a clock, in thousandths. Stretches without a change are hurried only at this speed, since another one
/// was chosen by the person.
pub(crate) const USUAL: u32 = 1_000;
/// How much faster a stretch without a change plays.
const HURRY: u32 = 20;
/// The part of a stretch without a change that is hurried lasts at most this long. With the two rests it is under 6 s.
const LONGEST: Duration = Duration::from_secs(5);
/// A stretch without a change is hurried if it is longer than this. So a pause of a second is seen as one.
const QUIET: Duration = Duration::from_secs(2);
/// The part at either end of a quiet stretch that plays as chosen, so that a change is seen to come.
const REST: Duration = Duration::from_millis(400);

/// Returns the speed at a time, in thousandths. `chosen` is the person's choice; `passage` is how many times faster the
/// passage plays a stretch that only repeats itself. `changes` are the times of all changes, in order; `end` is the time
/// at which playing stops.
pub(crate) fn at(
    (chosen, passage): (u32, Option<u32>),
    changes: &[Duration],
    at: Duration,
    end: Duration,
) -> u32 {
    if chosen != USUAL {
        return chosen;
    }
    let chosen = chosen.saturating_mul(passage.unwrap_or(1));
    let next = changes.partition_point(|change| *change <= at);
    let before = next
        .checked_sub(1)
        .map_or(Duration::ZERO, |place| changes[place]);
    let after = changes.get(next).copied().unwrap_or(end).min(end);
    let length = after.saturating_sub(before);
    let is_within = at >= before + REST && at + REST < after;
    if length <= QUIET || !is_within {
        return chosen;
    }
    let least = length.as_millis().div_ceil(LONGEST.as_millis());
    let least = u32::try_from(least).unwrap_or(u32::MAX);
    chosen.max(USUAL.saturating_mul(HURRY.max(least)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_stretch_without_a_change_plays_faster_but_for_its_ends() {
        let changes = [secs(1.0), secs(1.5), secs(6.0)];
        let speed = |at_s| at((USUAL, None), &changes, secs(at_s), secs(9.0));
        let speeds = [1.2, 1.6, 2.0, 5.5, 5.7, 6.1, 7.0, 8.8].map(speed);
        let usual = USUAL;
        let fast = 20 * USUAL;
        assert_eq!(
            speeds,
            [usual, usual, fast, fast, usual, usual, fast, usual]
        );
    }

    #[test]
    fn no_stretch_without_a_change_lasts_over_six_seconds() {
        let played = at((USUAL, None), &[], secs(100.0), secs(600.0));
        assert_eq!(played, 120 * USUAL);
    }

    #[test]
    fn a_speed_that_the_person_chose_stays() {
        assert_eq!(at((500, Some(4)), &[], secs(10.0), secs(60.0)), 500);
    }

    #[test]
    fn a_passage_names_the_speed_of_a_stretch_that_repeats_itself() {
        let changes: Vec<Duration> = (0..20).map(|second| secs(f64::from(second))).collect();
        let speed = |passage| at((USUAL, passage), &changes, secs(5.5), secs(19.0));
        assert_eq!([speed(None), speed(Some(4))], [USUAL, 4 * USUAL]);
    }
}
