//! The end-to-end test (docs/semantics/cases.md#ghost-you) that reads a watch in a select loop and never asks whether
//! the channel is closed.
//!
//! The test watches without a resourceVersion for at most 30 s. The test passes when the object is deleted, and fails
//! on an ERROR event. In the broken version a closed channel yields zero values at once, and the loop prints each zero
//! value (F01). The fixed version notices the close and fails the test; it deliberately does not watch again.

use std::time::Duration;

use super::belief::Belief;
use super::go::ClientGo;
use super::go::rest::{Answer, CallId, Rest};
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::spin::Spin;
use super::wire::{EventType, Frame};
use crate::scope::Scope;
use crate::time::Time;

/// The test's own deadline, from its start: 30 s, as in docs/semantics/cases.md#ghost-you. A test that still runs then
/// fails. The constant that the test names is 5 min in the copies of the code that we found.
const DEADLINE: Duration = Duration::from_secs(30);
/// The version of client-go that the program uses. With this version an end of the file, a reset or a timeout closes
/// the channel without an ERROR event (docs/semantics/clients.md#read-errors). The number has no other source.
const CLIENT_GO: ClientGo = ClientGo::minor(19);

#[derive(Debug)]
enum State {
    Opening(CallId),
    Reading(CallId),
    Spinning(Spin),
    Over(ClientPhase),
}

/// The end-to-end test's program.
#[derive(Debug)]
pub(super) struct PvcLoop {
    is_fixed: bool,
    rest: Rest,
    seen: Belief,
    state: State,
    deadline: Option<Time>,
    iterations: u64,
}

impl PvcLoop {
    pub(super) fn new(is_fixed: bool, scope: Scope) -> PvcLoop {
        PvcLoop {
            is_fixed,
            rest: Rest::new(CLIENT_GO),
            seen: Belief::new(scope),
            state: State::Over(ClientPhase::Connecting),
            deadline: None,
            iterations: 0,
        }
    }

    fn take(&mut self, call: CallId, answer: Answer, ctx: &mut Context<'_>) {
        match (&self.state, answer) {
            (State::Opening(own), Answer::Opened) if *own == call => {
                self.state = State::Reading(call);
            }
            (State::Opening(own), Answer::Failed(_)) if *own == call => {
                self.end(ClientPhase::Failed, ctx);
            }
            (State::Reading(own), Answer::Events(frames)) if *own == call => {
                for frame in frames {
                    if let Some(ending) = self.event(frame) {
                        return self.end(ending, ctx);
                    }
                }
            }
            (State::Reading(own), Answer::Closed(_)) if *own == call => {
                if self.is_fixed {
                    self.end(ClientPhase::Failed, ctx);
                } else {
                    self.state = State::Spinning(Spin { since: ctx.now });
                }
            }
            _ => {}
        }
    }

    /// Runs one iteration of the loop. Returns how the test ends; `None` if it goes on.
    fn event(&mut self, frame: Frame) -> Option<ClientPhase> {
        self.iterations += 1;
        let object = frame.object;
        match frame.event {
            EventType::Added | EventType::Modified => {
                self.seen.hold(object.key(), object.held());
                None
            }
            EventType::Deleted => {
                self.seen.drop(&object.key());
                Some(ClientPhase::Done)
            }
            EventType::Error => Some(ClientPhase::Failed),
            EventType::Bookmark | EventType::Other => None,
        }
    }

    fn end(&mut self, phase: ClientPhase, ctx: &mut Context<'_>) {
        match self.state {
            State::Opening(call) | State::Reading(call) => self.rest.stop(call, ctx),
            State::Spinning(spin) => self.iterations += spin.iterations(ctx.now),
            State::Over(_) => {}
        }
        self.state = State::Over(phase);
        self.deadline = None;
    }
}

impl Machine for PvcLoop {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        if matches!(input, Input::Start) {
            let request = self.seen.scope.get(&[("watch", "true")]);
            self.state = State::Opening(self.rest.watch(request, ctx));
            self.deadline = Some(ctx.now + DEADLINE);
        }
        for (call, answer) in self.rest.take(input, ctx) {
            self.take(call, answer, ctx);
        }
        if self.deadline.is_some_and(|at| at <= ctx.now) {
            self.end(ClientPhase::Failed, ctx);
        }
    }

    fn wake_at(&self) -> Option<Time> {
        earlier(self.deadline, self.rest.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        match &self.state {
            State::Opening(_) => ClientPhase::Connecting,
            State::Reading(_) => ClientPhase::Watching,
            State::Spinning(_) => ClientPhase::Spinning,
            State::Over(phase) => *phase,
        }
    }

    fn iterations(&self, now: Time) -> u64 {
        match self.state {
            State::Spinning(spin) => self.iterations + spin.iterations(now),
            _ => self.iterations,
        }
    }

    /// Returns the number of events with the zero values, which the program cannot distinguish from events.
    fn handled(&self, now: Time) -> u64 {
        self.iterations(now)
    }

    fn is_spinning(&self) -> bool {
        matches!(self.state, State::Spinning(_))
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![&self.seen]
    }
}
