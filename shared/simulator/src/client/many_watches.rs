//! One process with many watches of one scope, each without a resourceVersion (F20; k/k#123448).
//!
//! Each watch is a loop of [`WatchDeployment::Final`](super::watch_deployment::WatchDeployment::Final): it sleeps 5 s
//! after each end, and watches again without a resourceVersion. The process has no idle timer, keeps no objects, and only
//! counts events.

use super::belief::Belief;
use super::go::rest::{Answer, CallId, Rest};
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::watch_deployment::{CLIENT_GO, SLEEP};
use crate::scope::Scope;
use crate::time::Time;

#[derive(Clone, Copy, Debug)]
enum State {
    Opening(CallId),
    Reading(CallId),
    Sleeping(Time),
}

/// The client program with many watches.
#[derive(Debug)]
pub(super) struct ManyWatches {
    rest: Rest,
    scope: Scope,
    watches: Vec<State>,
    handled: u64,
}

impl ManyWatches {
    pub(super) fn new(watches: u16, scope: Scope) -> ManyWatches {
        ManyWatches {
            rest: Rest::new(CLIENT_GO),
            scope,
            watches: vec![State::Sleeping(Time::ZERO); usize::from(watches)],
            handled: 0,
        }
    }

    fn take(&mut self, call: CallId, answer: &Answer, now: Time) {
        let mut watches = self.watches.iter_mut();
        let own = watches.find(
            |state| matches!(state, State::Opening(own) | State::Reading(own) if *own == call),
        );
        let Some(state) = own else {
            return;
        };
        match answer {
            Answer::Opened => *state = State::Reading(call),
            Answer::Events(frames) => {
                self.handled += u64::try_from(frames.len()).unwrap_or(u64::MAX);
            }
            _ => *state = State::Sleeping(now + SLEEP),
        }
    }
}

impl Machine for ManyWatches {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        for (call, answer) in self.rest.take(input, ctx) {
            self.take(call, &answer, ctx.now);
        }
        for state in &mut self.watches {
            if matches!(state, State::Sleeping(until) if *until <= ctx.now) {
                let request = self.scope.get(&[("watch", "true")]);
                *state = State::Opening(self.rest.watch(request, ctx));
            }
        }
    }

    fn wake_at(&self) -> Option<Time> {
        let sleeping = self.watches.iter().filter_map(|state| match state {
            State::Sleeping(until) => Some(*until),
            _ => None,
        });
        earlier(sleeping.min(), self.rest.wake_at())
    }

    /// Returns the phase of the watch that is furthest: watching if any watch reads.
    fn phase(&self) -> ClientPhase {
        let has = |is: fn(&State) -> bool| self.watches.iter().any(is);
        if has(|state| matches!(state, State::Reading(_))) {
            ClientPhase::Watching
        } else if has(|state| matches!(state, State::Opening(_))) {
            ClientPhase::Connecting
        } else {
            ClientPhase::Sleeping
        }
    }

    fn iterations(&self, _now: Time) -> u64 {
        self.handled
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        Vec::new()
    }
}
