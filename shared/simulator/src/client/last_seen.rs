//! A client that watches in a loop without a list. It resumes from the resourceVersion of the last event that it saw,
//! whichever event that was (F21).
//!
//! The synthetic ADDED events at the watch's start are not in the order of their resourceVersions, so the last one may
//! be months old. A resume from such an old resourceVersion replays history, with deletions of objects that exist
//! again. If the server instead refuses the resume with 410, the loop repeats the same request each second, without end
//! (F11, F13).

use std::time::Duration;

use super::belief::Belief;
use super::go::ClientGo;
use super::go::rest::{Answer, CallId, Rest};
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::wire::{EventType, Frame};
use crate::scope::Scope;
use crate::time::Time;

/// Time from the end of a watch, or from its refusal, to the next request. The wait keeps the loop from spinning. The
/// number has no source.
const SLEEP: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum State {
    Opening(CallId),
    Reading(CallId),
    Sleeping(Time),
}

/// The client program that resumes from the last event that it saw.
#[derive(Debug)]
pub(super) struct LastSeen {
    rest: Rest,
    seen: Belief,
    last: String,
    state: State,
    iterations: u64,
    handled: u64,
}

impl LastSeen {
    pub(super) fn new(scope: Scope) -> LastSeen {
        LastSeen {
            rest: Rest::new(ClientGo::LATEST),
            seen: Belief::new(scope),
            last: String::new(),
            state: State::Sleeping(Time::ZERO),
            iterations: 0,
            handled: 0,
        }
    }

    fn take(&mut self, call: CallId, answer: Answer, now: Time) {
        let (State::Opening(own) | State::Reading(own)) = self.state else {
            return;
        };
        if own != call {
            return;
        }
        match answer {
            Answer::Opened => self.state = State::Reading(call),
            Answer::Events(frames) => frames.into_iter().for_each(|frame| self.event(frame)),
            _ => self.state = State::Sleeping(now + SLEEP),
        }
    }

    fn event(&mut self, frame: Frame) {
        let object = frame.object;
        match frame.event {
            EventType::Added | EventType::Modified => self.seen.hold(object.key(), object.held()),
            EventType::Deleted => {
                self.seen.drop(&object.key());
            }
            EventType::Bookmark | EventType::Error | EventType::Other => return,
        }
        self.handled += 1;
        self.last = object.metadata.resource_version;
        self.seen.know_until(&self.last);
    }
}

impl Machine for LastSeen {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        for (call, answer) in self.rest.take(input, ctx) {
            self.take(call, answer, ctx.now);
        }
        if let State::Sleeping(until) = self.state
            && until <= ctx.now
        {
            self.iterations += 1;
            let parameters = [("resourceVersion", self.last.as_str()), ("watch", "true")];
            let request = self.seen.scope.get(&parameters);
            self.state = State::Opening(self.rest.watch(request, ctx));
        }
    }

    fn wake_at(&self) -> Option<Time> {
        let own = match self.state {
            State::Sleeping(until) => Some(until),
            _ => None,
        };
        earlier(own, self.rest.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        match self.state {
            State::Opening(_) => ClientPhase::Connecting,
            State::Reading(_) => ClientPhase::Watching,
            State::Sleeping(_) => ClientPhase::Sleeping,
        }
    }

    fn iterations(&self, _now: Time) -> u64 {
        self.iterations
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![&self.seen]
    }
}
