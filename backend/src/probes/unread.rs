//! The time in which a stream was not read because its task was busy. A server may end such a stream (F36).

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time without reading that is reported. In the worst case the apiserver's own buffers of a watch bear this
/// long (docs/semantics/streams.md#rule-slow-measured).
const UNREAD: Duration = Duration::from_millis(100);

/// How long a stretch without reading counts after it is over. An older one cannot have caused an end. A server whose buffer
/// is full ends the stream at once, and the buffered bytes are read in less time.
const RECENT: Duration = Duration::from_secs(10);

/// The longest recent stretch in which the current stream was not read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unread(Option<(Duration, Instant)>);

impl Unread {
    /// Notes that the stream was not read from `busy_since` until now.
    pub(super) fn since(&mut self, busy_since: Instant) {
        let now = Instant::now();
        let took = now - busy_since;
        if took >= UNREAD && self.at(now).is_none_or(|longest| longest <= took) {
            self.0 = Some((took, now));
        }
    }

    /// Returns the longest stretch that may have caused an end now.
    pub(super) fn of_late(&self) -> Option<Duration> {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> Option<Duration> {
        let (longest, until) = self.0?;
        (now - until <= RECENT).then_some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_recent_stretch_counts_and_a_short_or_old_one_does_not() {
        let mut unread = Unread::default();
        let mut leave = async |busy_ms, after_ms| {
            let since = Instant::now();
            tokio::time::advance(Duration::from_millis(busy_ms)).await;
            unread.since(since);
            tokio::time::advance(Duration::from_millis(after_ms)).await;
            unread.of_late().map(|longest| longest.as_millis())
        };
        assert_eq!(leave(99, 0).await, None);
        assert_eq!(leave(300, 5_000).await, Some(300));
        assert_eq!(leave(200, 4_000).await, Some(300), "the longest stretch");
        assert_eq!(leave(0, 2_000).await, None, "too old");
        assert_eq!(leave(150, 9_000).await, Some(150));
        assert_eq!(leave(0, 2_000).await, None);
    }
}
