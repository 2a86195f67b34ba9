//! The budget of the audit's requests (docs/semantics/checks.md#budget). The audit must not become a load for the
//! cluster.

use std::collections::VecDeque;

use watchscope_model::Time;

/// Default for the most requests of the audit in a minute to a server with pinned watches, two a second. All watches
/// that are not pinned share another such budget, whatever servers answer them. Further requests wait; only the request
/// for the server's version, on a new connection, does not wait, but counts. The default is enough for six small
/// watches (docs/audit.md#how-much-is-read). The number has no other source.
pub const PER_MINUTE: usize = 120;
/// Most requests in a minute for one watch; further requests wait. For a small watch at level `light` these 20 are two
/// lists, 16 lookups and two reads that confirm (docs/audit.md#how-much-is-read). The number has no other source. Only
/// the server's budget limits second watches, requests for the server's version, and a sweep for `watchscope audit`.
/// The same holds for a watch whose objects the level `full` all looks up.
pub const PER_WATCH: usize = 20;
/// One minute in µs.
const MINUTE_US: i64 = 60_000_000;
/// First wait in ms after a server was busy or could not be reached. Each further such answer in a row doubles the
/// wait, up to [`LONGEST_REST_MS`]. If the server asks for a longer wait, that wait counts. Many servers ask for a wait
/// of 1 s, too (docs/semantics/requests.md#too-many-requests).
const REST_MS: u64 = 1_000;
/// Longest wait in ms after refusals in a row, unless the server asks for a longer one. More refusals do not lengthen
/// the wait. The number has no source.
const LONGEST_REST_MS: u64 = 60_000;

/// The times of the requests in the minute up to the last request. They are at most `most`, unless the limit was
/// lowered or some requests did not wait for it.
#[derive(Clone, Debug)]
pub(super) struct Minute {
    most: usize,
    sent: VecDeque<Time>,
}

impl Minute {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            sent: VecDeque::new(),
        }
    }

    /// Returns when the next request may be sent; a past time means now.
    pub(super) fn free_at(&self) -> Time {
        let Some(next) = self.sent.len().checked_sub(self.most) else {
            return Time(i64::MIN);
        };
        let after = self.sent.get(next).map(|sent| sent.plus_micros(MINUTE_US));
        after.unwrap_or(Time(i64::MAX))
    }

    /// Sets the limit to `most` requests a minute from now on.
    pub(super) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    pub(super) fn spend(&mut self, now: Time) {
        while self
            .sent
            .front()
            .is_some_and(|first| now.micros_since(*first) >= MINUTE_US)
        {
            self.sent.pop_front();
        }
        self.sent.push_back(now);
    }

    /// Returns how many requests were sent in the minute before `now`.
    pub(super) fn spent(&self, now: Time) -> usize {
        self.sent
            .iter()
            .filter(|at| now.micros_since(**at) < MINUTE_US)
            .count()
    }
}

/// The budget of requests to one server.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    minute: Minute,
    rests_until: Time,
    refusals: u32,
}

impl Budget {
    pub(super) fn new(per_minute: usize) -> Self {
        Self {
            minute: Minute::new(per_minute),
            rests_until: Time(i64::MIN),
            refusals: 0,
        }
    }

    pub(super) fn free_at(&self) -> Time {
        self.minute.free_at().max(self.rests_until)
    }

    pub(super) fn spend(&mut self, now: Time) {
        self.minute.spend(now);
    }

    /// Returns whether a request was sent in the minute before `now`, or the wait after a refusal lasts.
    pub(super) fn is_spent(&self, now: Time) -> bool {
        self.minute.spent(now) > 0 || self.rests_until > now
    }

    /// Returns whether at least three quarters of the requests of a minute were sent in the minute before `now`.
    pub(super) fn is_scarce(&self, now: Time) -> bool {
        self.minute.spent(now) * 4 >= self.minute.most * 3
    }

    /// Notes that the server is busy (429, 503), or cannot be reached. No request is sent for the wait that the server
    /// asks for, or for a wait that grows with each refusal in a row.
    pub(super) fn refused(&mut self, retry_after_ms: Option<u64>, now: Time) {
        let ever_longer = (REST_MS << self.refusals.min(6)).min(LONGEST_REST_MS);
        self.refusals += 1;
        let rest_ms = retry_after_ms.unwrap_or(0).max(ever_longer);
        self.rests_until = self.rests_until.max(now.plus_millis(rest_ms));
    }

    pub(super) fn answered(&mut self) {
        self.refusals = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_the_budget_is_sent_in_any_minute() {
        let mut minute = Minute::new(3);
        let mut sent = Vec::new();
        let mut now = Time(0);
        for _ in 0..7 {
            now = now.max(minute.free_at()).plus_millis(1_000);
            minute.spend(now);
            sent.push(now.0 / 1_000_000);
        }
        assert_eq!(sent, [1, 2, 3, 62, 63, 64, 123]);
        assert_eq!(minute.spent(now), 2);
        minute.allow(1);
        assert_eq!(minute.free_at(), now.plus_micros(MINUTE_US));
    }

    #[test]
    fn a_busy_server_rests_for_its_wait_and_longer_each_time() {
        let mut budget = Budget::new(10);
        let rest_s = |budget: &Budget| budget.free_at().0 / 1_000_000;
        budget.refused(Some(30_000), Time(0));
        assert_eq!(rest_s(&budget), 30);
        let mut now = Time(30_000_000);
        let mut rests = Vec::new();
        for _ in 0..8 {
            budget.refused(None, now);
            rests.push(budget.free_at().micros_since(now) / 1_000_000);
            now = budget.free_at();
        }
        assert_eq!(rests, [2, 4, 8, 16, 32, 60, 60, 60]);
        budget.answered();
        budget.refused(Some(0), now);
        assert_eq!(budget.free_at().micros_since(now), 1_000_000);
    }
}
