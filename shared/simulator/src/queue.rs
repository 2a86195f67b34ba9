//! The queue of future events, ordered by (virtual time, sequence).

use watchscope_model::tree::BTreeMap;

use crate::time::Time;

/// Future events by the virtual time at which they happen. Events of the same time keep the order in which they were
/// scheduled.
///
/// The parts that schedule events bound the queue. Each open stream, waiting request, connection and activity of the
/// workload holds a fixed number of entries. Each change in flight holds one entry. Under
/// [`Fault::KillIdle`](crate::Fault::KillIdle) each message that passed within the fault's time holds one more.
#[derive(Debug)]
pub(crate) struct Queue<E> {
    events: BTreeMap<(Time, u64), E>,
    sequence: u64,
}

impl<E> Queue<E> {
    pub(crate) fn new() -> Queue<E> {
        Queue {
            events: BTreeMap::new(),
            sequence: 0,
        }
    }

    pub(crate) fn schedule(&mut self, at: Time, event: E) {
        self.sequence += 1;
        self.events.insert((at, self.sequence), event);
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, E)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_moment_keep_the_order_they_were_scheduled_in() {
        let mut queue = Queue::new();
        queue.schedule(Time::from_secs(2), "c");
        queue.schedule(Time::from_secs(1), "a");
        queue.schedule(Time::from_secs(1), "b");
        let order: Vec<&str> = std::iter::from_fn(|| queue.pop()).map(|(_, e)| e).collect();
        assert_eq!(order, ["a", "b", "c"]);
    }
}
