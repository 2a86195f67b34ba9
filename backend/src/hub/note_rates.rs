//! The rate limit of notes for each session.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use watchscope_model::notes::NOTES_A_MINUTE;

use super::api::SessionId;

/// The time over which the notes of a session are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// The most sessions that are counted at the same time. It is four times the most sessions there can be, since a session may
/// end and another begin within the window. A further session waits until one of them has written nothing for a minute.
const MAX_COUNTED: usize = 1_024;

/// The times at which each session wrote its notes of the last minute.
///
/// Bounded: 1,024 sessions with ten times each.
#[derive(Debug, Default)]
pub(super) struct NoteRates(Mutex<BTreeMap<SessionId, VecDeque<Instant>>>);

impl NoteRates {
    /// Whether a session may write a note now. If so, the note is counted.
    pub(super) fn allow(&self, session: SessionId) -> bool {
        let now = Instant::now();
        // Each step leaves a valid list of times, so a poisoned lock is safe.
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|_, times| {
            while times
                .front()
                .is_some_and(|&at| now.duration_since(at) >= WINDOW)
            {
                times.pop_front();
            }
            !times.is_empty()
        });
        if !counted.contains_key(&session) && counted.len() >= MAX_COUNTED {
            return false;
        }
        let times = counted.entry(session).or_default();
        let is_allowed = times.len() < NOTES_A_MINUTE;
        if is_allowed {
            times.push_back(now);
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_writes_at_most_ten_notes_in_any_minute_and_delays_no_other() {
        let rates = NoteRates::default();
        let (one, other) = (SessionId(1), SessionId(2));
        for _ in 0..NOTES_A_MINUTE {
            assert!(rates.allow(one));
            advance(Duration::from_secs(1)).await;
        }
        assert!(!rates.allow(one));
        assert!(rates.allow(other));
        advance(Duration::from_secs(50)).await;
        assert!(rates.allow(one), "the first is a minute old");
        assert!(!rates.allow(one), "the second is not");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_sessions_are_counted_than_the_bound_allows() {
        let rates = NoteRates::default();
        for number in 0..MAX_COUNTED as u64 {
            assert!(rates.allow(SessionId(number)));
        }
        assert!(!rates.allow(SessionId(9_999)));
        assert!(rates.allow(SessionId(3)), "a counted session may continue");
        advance(WINDOW).await;
        assert!(rates.allow(SessionId(9_999)));
        assert_eq!(rates.0.lock().unwrap().len(), 1);
    }
}
