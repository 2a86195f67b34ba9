//! client-go's rate-limiting workqueue. A key is in the queue once, one worker at a time works on the key, and after
//! each failure the key waits longer.

use std::collections::VecDeque;
use std::time::Duration;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::super::belief::Key;
use crate::time::Time;

/// The per-key limiter's wait after a first failure. Each further failure doubles the wait, up to `MAX_DELAY`
/// (client-go's `DefaultTypedControllerRateLimiter`, 1.36).
const BASE_DELAY: Duration = Duration::from_millis(5);
/// The per-key limiter's longest wait (client-go's `DefaultTypedControllerRateLimiter`, 1.36). Further failures do not
/// lengthen this wait.
const MAX_DELAY: Duration = Duration::from_secs(1000);
/// Time in which the overall limiter lets one key through: ten keys per second (client-go's
/// `DefaultTypedControllerRateLimiter`, 1.36).
const TOKEN_EVERY: Duration = Duration::from_millis(100);
/// The most keys that the overall limiter lets through at once (client-go's `DefaultTypedControllerRateLimiter`, 1.36).
/// Each further key waits [`TOKEN_EVERY`] longer.
const BURST: u32 = 100;

/// A workqueue of object keys. The number of existing keys bounds it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkQueue {
    queue: VecDeque<Key>,
    /// Keys to work on: keys in the queue, and keys that are queued again when their worker is done.
    dirty: BTreeSet<Key>,
    processing: BTreeSet<Key>,
    /// Keys that are added to the queue later, each with the time of its addition.
    waiting: BTreeMap<Key, Time>,
    failures: BTreeMap<Key, u32>,
    /// When the overall limiter's bucket would be full again if it had no capacity limit.
    bucket_full_at: Time,
}

impl WorkQueue {
    pub(crate) fn add(&mut self, key: Key) {
        if self.dirty.insert(key.clone()) && !self.processing.contains(&key) {
            self.queue.push_back(key);
        }
    }

    /// Takes the next key to work on; `None` if the queue is empty.
    pub(crate) fn get(&mut self) -> Option<Key> {
        let key = self.queue.pop_front()?;
        self.dirty.remove(&key);
        self.processing.insert(key.clone());
        Some(key)
    }

    /// Ends the work on a key. If the key was added meanwhile, it is queued again.
    pub(crate) fn done(&mut self, key: &Key) {
        self.processing.remove(key);
        if self.dirty.contains(key) {
            self.queue.push_back(key.clone());
        }
    }

    /// Adds a key that failed, after the longer delay of the two limiters.
    pub(crate) fn add_rate_limited(&mut self, key: Key, now: Time) {
        let failures = self.failures.entry(key.clone()).or_default();
        let own = BASE_DELAY
            .saturating_mul(1_u32.checked_shl((*failures).min(31)).unwrap_or(u32::MAX))
            .min(MAX_DELAY);
        *failures += 1;
        let full_at = self.bucket_full_at.max(now) + TOKEN_EVERY;
        self.bucket_full_at = full_at;
        let bucket = full_at.since(now + TOKEN_EVERY * BURST);
        let at = now + own.max(bucket);
        let waits = self.waiting.entry(key).or_insert(at);
        *waits = (*waits).min(at);
    }

    /// Returns the number of failures of a key since [`WorkQueue::forget`] was last called for it.
    pub(crate) fn failures(&self, key: &Key) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }

    /// Forgets the failures of a key, so that its next failure waits like a first one.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.failures.remove(key);
    }

    /// Adds the keys whose wait is over to the queue.
    pub(crate) fn wake(&mut self, now: Time) {
        let is_due = |at: &Time| *at <= now;
        let due: Vec<Key> = self
            .waiting
            .iter()
            .filter(|(_, at)| is_due(at))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.waiting.remove(&key);
            self.add(key);
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Time> {
        self.waiting.values().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        (String::new(), name.to_owned())
    }

    #[test]
    fn a_key_added_often_is_worked_on_once_and_once_more_if_added_meanwhile() {
        let mut queue = WorkQueue::default();
        for _ in 0..3 {
            queue.add(key("a"));
        }
        assert_eq!(queue.get(), Some(key("a")));
        queue.add(key("a"));
        queue.add(key("a"));
        assert_eq!(queue.get(), None, "never two workers on one key");
        queue.done(&key("a"));
        assert_eq!(queue.get(), Some(key("a")));
        queue.done(&key("a"));
        assert_eq!(queue.get(), None);
    }

    #[test]
    fn failures_wait_twice_as_long_each_time_up_to_a_quarter_of_an_hour() {
        let mut queue = WorkQueue::default();
        let mut waits_ms = Vec::new();
        for _ in 0..20 {
            queue.add_rate_limited(key("a"), Time::ZERO);
            waits_ms.push(queue.wake_at().unwrap().as_micros() / 1000);
            queue.wake(Time::MAX);
            queue.get();
            queue.done(&key("a"));
        }
        assert_eq!(waits_ms[..4], [5, 10, 20, 40]);
        assert_eq!(waits_ms[19], 1_000_000);
        queue.forget(&key("a"));
        assert_eq!(queue.failures(&key("a")), 0);
    }

    #[test]
    fn beyond_a_hundred_at_once_the_bucket_lets_ten_a_second_through() {
        let mut queue = WorkQueue::default();
        for n in 0..120 {
            queue.add_rate_limited(key(&format!("{n:03}")), Time::ZERO);
        }
        let wait = |n: usize| queue.waiting[&key(&format!("{n:03}"))].as_micros() / 1000;
        assert_eq!((wait(0), wait(99)), (5, 5));
        assert_eq!((wait(100), wait(119)), (100, 2000));
    }
}
