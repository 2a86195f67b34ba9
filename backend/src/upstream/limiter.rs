//! The limiter of side watches, which find out whether a shared connection is dead: at most one a minute, in the order in
//! which the watches came.

use std::collections::VecDeque;

use watchscope_model::{Time, WatchName};

/// The least time between two side watches of a connection, in milliseconds.
const SPACING_MS: u64 = 60_000;

/// A watch that comes this much too late, in milliseconds, has lost its place: its stream has spoken meanwhile.
const LATE_MS: u64 = 1_000;

/// The limiter of one connection. Bounded: a watch stands in line once.
#[derive(Debug, Default)]
pub(super) struct SideWatchLimiter {
    /// No side watch before this.
    free_at: Option<Time>,
    line: VecDeque<WatchName>,
}

impl SideWatchLimiter {
    /// Lets a watch open its side watch now.
    ///
    /// # Errors
    /// If others come first: the time to try again. The watch has a place in line until then.
    pub(super) fn ask(&mut self, watch: &WatchName, now: Time) -> Result<(), Time> {
        if let Some(free_at) = self.free_at {
            // Watches that did not come at their time have left the line.
            let mut comes_by = free_at.plus_millis(LATE_MS);
            while comes_by <= now && self.line.front().is_some_and(|first| first != watch) {
                self.line.pop_front();
                comes_by = comes_by.plus_millis(SPACING_MS);
            }
            let place = self.line.iter().position(|waiting| waiting == watch);
            let place = place.unwrap_or_else(|| {
                self.line.push_back(watch.clone());
                self.line.len() - 1
            });
            if place > 0 || now < free_at {
                let places = u64::try_from(place).unwrap_or(u64::MAX);
                let next = free_at.max(now);
                return Err(next.plus_millis(places.saturating_mul(SPACING_MS)));
            }
            self.line.pop_front();
        }
        self.free_at = Some(now.plus_millis(SPACING_MS));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(seconds: i64) -> Time {
        Time(0).plus_micros(seconds * 1_000_000)
    }

    fn watch(resource: &str) -> WatchName {
        WatchName::new("shop", resource, "", None, None, 1)
    }

    /// Who asks when, as `NAME@SECONDS`, and what each is told.
    fn asked(script: &str) -> String {
        let mut limiter = SideWatchLimiter::default();
        let told = script.split_whitespace().map(|word| {
            let (name, seconds) = word.split_once('@').unwrap();
            let watch = watch(name);
            match limiter.ask(&watch, at_s(seconds.parse().unwrap())) {
                Ok(()) => format!("{word} looks"),
                Err(until) => format!(
                    "{word} waits until {}",
                    until.micros_since(at_s(0)) / 1_000_000
                ),
            }
        });
        told.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_first_looks_at_once_and_the_others_a_minute_after_one_another_in_their_order() {
        assert_eq!(
            asked("a@0 b@1 c@2 b@60 c@120 a@121"),
            "a@0 looks, b@1 waits until 60, c@2 waits until 120, b@60 looks, c@120 looks, a@121 waits until 180"
        );
    }

    #[test]
    fn one_who_looks_again_and_again_comes_after_those_who_wait() {
        assert_eq!(
            asked("a@0 b@1 a@60 b@60 a@120"),
            "a@0 looks, b@1 waits until 60, a@60 waits until 120, b@60 looks, a@120 looks"
        );
    }

    #[test]
    fn who_does_not_come_when_told_to_has_left_the_line() {
        assert_eq!(
            asked("a@0 b@1 c@2 c@120"),
            "a@0 looks, b@1 waits until 60, c@2 waits until 120, c@120 looks"
        );
        assert_eq!(
            asked("a@0 b@1 c@61"),
            "a@0 looks, b@1 waits until 60, c@61 looks"
        );
    }

    #[test]
    fn nobody_passes_one_who_was_told_to_come_later() {
        assert_eq!(
            asked("a@0 b@1 c@2 d@65 c@120 d@125 d@180"),
            "a@0 looks, b@1 waits until 60, c@2 waits until 120, d@65 waits until 125, c@120 looks, \
             d@125 waits until 180, d@180 looks"
        );
    }

    #[test]
    fn whatever_is_asked_there_is_a_minute_between_two_looks_and_the_line_holds_each_once() {
        let mut limiter = SideWatchLimiter::default();
        let mut last = None::<i64>;
        let mut chance = 1_u64;
        let mut now_s = 0;
        for _ in 0..10_000 {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            now_s += i64::try_from(chance >> 60).unwrap();
            let watch = watch(&((chance >> 40) % 20).to_string());
            if limiter.ask(&watch, at_s(now_s)).is_ok() {
                assert!(
                    last.is_none_or(|last| now_s - last >= 60),
                    "{last:?} and {now_s}"
                );
                last = Some(now_s);
            }
            assert!(limiter.line.len() <= 20);
        }
        assert!(last.unwrap() > now_s - 120);
    }
}
