//! The times that findings wait for.

use watchscope_model::tree::BTreeSet;
use watchscope_model::{StreamId, Text, Time, WatchName};

/// The event for which a timer is set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A stream should have delivered a bookmark.
    Bookmark(StreamId),
    /// The initial events of a stream should have gone on, or have ended.
    Initial(StreamId),
    /// The server should have answered a watch request.
    Answer(WatchName),
    /// No better attribution of a stream's end can come.
    Settled(StreamId),
    /// A client should have sent another request, or made progress.
    Client(Text),
    /// A client may hold a ghost that records prove by now.
    Ghost(Text),
    /// One of the servers that serve the same watches may have fallen behind the others.
    Behind(Text),
}

/// The times that findings wait for, in order. Each kind has at most one timer for each subject, except
/// [`Timer::Settled`] and [`Timer::Ghost`]. Timers of these are due at most 12.25 s after the end of the stream, and
/// about 2 s after a deletion or request.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(BTreeSet<(Time, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, at: Time, timer: Timer) {
        self.0.insert((at, timer));
    }

    pub(super) fn unset(&mut self, at: Time, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    /// Returns the time of the next timer; `None` if no timer is set.
    pub(super) fn first_at(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Removes and returns the next timer and its time, if that time is not after `now`.
    pub(super) fn next(&mut self, now: Time) -> Option<(Time, Timer)> {
        let is_due = self.0.first().is_some_and(|(at, _)| *at <= now);
        is_due.then(|| self.0.pop_first()).flatten()
    }
}
