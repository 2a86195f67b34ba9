//! The limiter of side watches, which show whether a shared connection is dead. It allows one a minute, in the order of the
//! requests.

use std::collections::VecDeque;

use watchscope_model::{Time, WatchName};

/// The shortest time between two side watches of a connection, in ms.
const SPACING_MS: u64 = 60_000;

/// How late, in ms, a watch may be before it loses its place in the queue. A watch that comes later needs no side watch any
/// more, since its stream delivered something meanwhile.
const LATE_MS: u64 = 1_000;

/// The limiter of one connection. Bounded: each watch is in the queue at most once.
#[derive(Debug, Default)]
pub(super) struct SideWatchLimiter {
    /// The earliest time of the next side watch.
    free_at: Option<Time>,
    queue: VecDeque<WatchName>,
}

impl SideWatchLimiter {
    /// Lets a watch open its side watch now.
    ///
    /// # Errors
    /// The time to try again, if other watches come first. The watch keeps a place in the queue until then.
    pub(super) fn ask(&mut self, watch: &WatchName, now: Time) -> Result<(), Time> {
        if let Some(free_at) = self.free_at {
            // Watches that did not return in time leave the queue.
            let mut comes_by = free_at.plus_millis(LATE_MS);
            while comes_by <= now && self.queue.front().is_some_and(|first| first != watch) {
                self.queue.pop_front();
                comes_by = comes_by.plus_millis(SPACING_MS);
            }
            let place = self.queue.iter().position(|waiting| waiting == watch);
            let place = place.unwrap_or_else(|| {
                self.queue.push_back(watch.clone());
                self.queue.len() - 1
            });
            if place > 0 || now < free_at {
                let places = u64::try_from(place).unwrap_or(u64::MAX);
                let next = free_at.max(now);
                return Err(next.plus_millis(places.saturating_mul(SPACING_MS)));
            }
            self.queue.pop_front();
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

    /// Asks the limiter as the script says, as `NAME@SECONDS`. Returns each request with its answer.
    fn asked(script: &str) -> String {
        let mut limiter = SideWatchLimiter::default();
        let answers = script.split_whitespace().map(|word| {
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
        answers.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_first_watch_looks_at_once_and_the_others_follow_in_order_one_a_minute() {
        assert_eq!(
            asked("a@0 b@1 c@2 b@60 c@120 a@121"),
            "a@0 looks, b@1 waits until 60, c@2 waits until 120, b@60 looks, c@120 looks, a@121 waits until 180"
        );
    }

    #[test]
    fn a_watch_that_asks_again_comes_after_those_that_wait() {
        assert_eq!(
            asked("a@0 b@1 a@60 b@60 a@120"),
            "a@0 looks, b@1 waits until 60, a@60 waits until 120, b@60 looks, a@120 looks"
        );
    }

    #[test]
    fn a_watch_that_does_not_return_in_time_leaves_the_queue() {
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
    fn no_later_watch_passes_one_that_waits() {
        assert_eq!(
            asked("a@0 b@1 c@2 d@65 c@120 d@125 d@180"),
            "a@0 looks, b@1 waits until 60, c@2 waits until 120, d@65 waits until 125, c@120 looks, \
             d@125 waits until 180, d@180 looks"
        );
    }

    #[test]
    fn two_looks_are_always_a_minute_apart_and_each_watch_is_queued_once() {
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
            assert!(limiter.queue.len() <= 20);
        }
        assert!(last.unwrap() > now_s - 120);
    }
}
