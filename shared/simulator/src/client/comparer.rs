//! A client that watches one scope, lists a scope at intervals, and takes each difference for a fault (F42).
//!
//! The client is right if both scopes are equal. For different scopes the client reports differences that are no
//! faults.

use std::time::Duration;

use super::belief::Belief;
use super::go::ClientGo;
use super::machine::{Context, Input, Machine, earlier};
use super::poller::Poller;
use super::record::ClientPhase;
use super::reflector::ReflectorProgram;
use crate::scope::Scope;
use crate::time::Time;

/// The comparer's program.
#[derive(Debug)]
pub(super) struct Comparer {
    watched: ReflectorProgram,
    listed: Poller,
    comparisons: u64,
    differences: u64,
}

impl Comparer {
    pub(super) fn new(every: Duration, listed: Scope, watched: Scope) -> Comparer {
        Comparer {
            watched: ReflectorProgram::new(ClientGo::LATEST, watched, None),
            listed: Poller::new(listed, every),
            comparisons: 0,
            differences: 0,
        }
    }

    /// Compares the client's last list with its watch's present state.
    fn compare(&mut self) {
        self.comparisons += 1;
        let (watched, listed) = (self.watched.beliefs(), self.listed.beliefs());
        let (Some(watched), Some(listed)) = (watched.first(), listed.first()) else {
            return;
        };
        let is_in = |there: &Belief, key: &_| there.objects.contains_key(key);
        let one_sided = |here: &Belief, there: &Belief| {
            let keys = here.objects.keys();
            keys.filter(|key| !is_in(there, key)).count()
        };
        let differences = one_sided(watched, listed) + one_sided(listed, watched);
        self.differences += u64::try_from(differences).unwrap_or(u64::MAX);
    }
}

impl Machine for Comparer {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        self.watched.step(input, ctx);
        self.listed.step(input, ctx);
        if self.listed.lists() > self.comparisons && self.watched.phase() == ClientPhase::Watching {
            self.compare();
        }
    }

    fn wake_at(&self) -> Option<Time> {
        earlier(self.watched.wake_at(), self.listed.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        self.watched.phase()
    }

    fn iterations(&self, _now: Time) -> u64 {
        self.comparisons
    }

    /// Returns the number of differences, summed over all comparisons.
    fn handled(&self, _now: Time) -> u64 {
        self.differences
    }

    fn beliefs(&self) -> Vec<&Belief> {
        self.watched.beliefs()
    }
}
