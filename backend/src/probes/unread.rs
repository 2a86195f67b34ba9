//! How long a stream was left unread, since its task had other things to do: what makes a server end it (F36).

use std::time::Duration;

use tokio::time::Instant;

/// How long a stream may stay unread before that is told: what the apiserver's own buffers of a watch bear in the worst
/// case (docs/semantics/streams.md#rule-slow-measured).
const UNREAD: Duration = Duration::from_millis(100);

/// A stretch that was over so long before the end has nothing to do with it: a server whose buffer is full ends the
/// stream at once, and what is in the buffers by then is read in less.
const RECENT: Duration = Duration::from_secs(10);

/// The longest stretch of late in which the current stream was not read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unread(Option<(Duration, Instant)>);

impl Unread {
    /// It was not read since then.
    pub(super) fn since(&mut self, busy_since: Instant) {
        let now = Instant::now();
        let took = now - busy_since;
        if took >= UNREAD && self.at(now).is_none_or(|longest| longest <= took) {
            self.0 = Some((took, now));
        }
    }

    /// The longest stretch that may have to do with an end now.
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
    async fn the_longest_stretch_of_late_is_told_and_what_is_long_ago_or_short_is_not() {
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
        assert_eq!(leave(200, 4_000).await, Some(300), "the longest");
        assert_eq!(leave(0, 2_000).await, None, "long ago");
        assert_eq!(leave(150, 9_000).await, Some(150));
        assert_eq!(leave(0, 2_000).await, None);
    }
}
