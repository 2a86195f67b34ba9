//! The histogram of a lesson: what all clients, also those of a crowd, asked of each server, second by second.

use watchscope_model::Time;
use watchscope_model::tree::BTreeMap;
use watchscope_model::wire::player::{CROWD_SECONDS, CrowdNow};
use watchscope_simulator::{Tallied, TallyRecord};

/// What happened in one second at one server.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u32,
    ends: u32,
    refusals: u32,
}

/// The counts since the lesson began, by server and second. The lesson's length bounds them.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    counts: BTreeMap<(u16, u32), Counts>,
}

impl Crowd {
    /// Takes the next records. Those from before the lesson's begin do not count.
    pub(crate) fn take(&mut self, begin: Time, records: &[(Time, TallyRecord)]) {
        for (at, record) in records {
            let Some(second) = second_of(begin, *at) else {
                continue;
            };
            let counts = self.counts.entry((record.server.0, second)).or_default();
            match record.tallied {
                Tallied::Listed | Tallied::Watched => counts.requests += 1,
                Tallied::Ended => counts.ends += 1,
                Tallied::Failed(_) | Tallied::Refused(_) => counts.refusals += 1,
            }
        }
    }

    /// Returns the counts of the seconds up to a time since the lesson began, by server and second.
    pub(crate) fn now(&self, begin: Time, at: Time) -> Vec<CrowdNow> {
        let last = second_of(begin, at).unwrap_or(0);
        let shown = (last + 1).saturating_sub(CROWD_SECONDS)..=last;
        let counts = self.counts.iter();
        let counts = counts.filter(|((_, second), _)| shown.contains(second));
        let now = counts.map(|((server, second), counts)| CrowdNow {
            server: u32::from(*server),
            second: *second,
            requests: counts.requests,
            ends: counts.ends,
            refusals: counts.refusals,
        });
        now.collect()
    }
}

/// Returns the second since the lesson began; `None` before its begin.
fn second_of(begin: Time, at: Time) -> Option<u32> {
    u32::try_from(at.micros_since(begin).div_euclid(1_000_000)).ok()
}

#[cfg(test)]
mod tests {
    use watchscope_simulator::{ServerId, Time as Virtual};

    use super::*;

    fn record(at_us: i64, server: u16, tallied: Tallied) -> (Time, TallyRecord) {
        let record = TallyRecord {
            at: Virtual::ZERO,
            server: ServerId(server),
            tallied,
        };
        (Time(at_us), record)
    }

    #[test]
    fn seconds_count_from_the_lessons_begin_and_old_ones_are_left_out() {
        let begin = Time(5_000_000);
        let mut crowd = Crowd::default();
        crowd.take(
            begin,
            &[
                record(4_999_999, 0, Tallied::Listed),
                record(5_000_000, 0, Tallied::Listed),
                record(5_999_999, 0, Tallied::Watched),
                record(6_000_000, 1, Tallied::Refused(404)),
                record(6_000_000, 0, Tallied::Ended),
                record(6_000_001, 0, Tallied::Failed(410)),
            ],
        );
        let at = |at_us| {
            let now = crowd.now(begin, Time(at_us)).into_iter();
            let words = now.map(|now| {
                let CrowdNow {
                    server,
                    second,
                    requests,
                    ends,
                    refusals,
                } = now;
                format!("{server} {second}: {requests} {ends} {refusals}")
            });
            words.collect::<Vec<String>>()
        };
        assert_eq!(at(6_500_000), ["0 0: 2 0 0", "0 1: 0 1 1", "1 1: 0 0 1"]);
        assert_eq!(at(25_500_000), ["0 1: 0 1 1", "1 1: 0 0 1"]);
        assert_eq!(at(26_000_000), Vec::<String>::new());
    }
}
