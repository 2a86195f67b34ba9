//! client-go's RetryWatcher, started from a list as `watchtools.Until` starts it
//! (docs/semantics/clients.md#retry-watcher).
//!
//! The RetryWatcher watches again from the last resourceVersion, at most once a second, and hides bookmarks. It ends
//! for good at an ERROR event with 410, at 401 and at 403 (F48). After an answer with HTTP 410 it repeats the request
//! without end (F13). It never finds deletions that it missed.

use std::time::Duration;

use super::belief::Belief;
use super::go::ClientGo;
use super::go::rest::{Answer, CallId, GoError, Rest};
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::wire::{EventType, Frame, Refusal};
use crate::scope::Scope;
use crate::time::Time;

/// The least time between two starts of a watch; an earlier start waits (docs/semantics/clients.md#retry-watcher).
const RESTART_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum State {
    Listing(CallId),
    Opening(CallId),
    Reading(CallId),
    Waiting(Time),
    /// The result channel is closed, and the program has ended.
    Over(ClientPhase),
}

/// The program over the RetryWatcher.
#[derive(Debug)]
pub(super) struct RetryWatcher {
    rest: Rest,
    seen: Belief,
    last: String,
    state: State,
    began: Time,
    iterations: u64,
    handled: u64,
}

impl RetryWatcher {
    pub(super) fn new(version: ClientGo, scope: Scope) -> RetryWatcher {
        RetryWatcher {
            rest: Rest::new(version),
            seen: Belief::new(scope),
            last: String::new(),
            state: State::Over(ClientPhase::Connecting),
            began: Time::ZERO,
            iterations: 0,
            handled: 0,
        }
    }

    fn open(&mut self, ctx: &mut Context<'_>) {
        self.iterations += 1;
        self.began = ctx.now;
        let request = self.seen.scope.get(&[
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", &self.last),
            ("watch", "true"),
        ]);
        self.state = State::Opening(self.rest.watch(request, ctx));
    }

    /// Waits until 1 s after the last start of a watch, or until the server's Retry-After (`after`), whichever is
    /// later.
    fn retry(&mut self, now: Time, after: Duration) {
        self.state = State::Waiting((self.began + RESTART_DELAY).max(now + after));
    }

    fn take(&mut self, call: CallId, answer: Answer, ctx: &mut Context<'_>) {
        match (&self.state, answer) {
            (State::Listing(own), Answer::Listed(list)) if *own == call => {
                let items = list.items.unwrap_or_default();
                let objects = items.iter().map(|o| (o.key(), o.held()));
                self.seen.replace(objects.collect());
                self.last = list.metadata.resource_version;
                self.seen.know_until(&self.last);
                if matches!(self.last.as_str(), "" | "0") {
                    self.state = State::Over(ClientPhase::Failed);
                } else {
                    self.open(ctx);
                }
            }
            (State::Listing(own), Answer::Failed(_)) if *own == call => {
                self.state = State::Over(ClientPhase::Failed);
            }
            (State::Opening(own), Answer::Opened) if *own == call => {
                self.state = State::Reading(call);
            }
            (State::Opening(own), Answer::Failed(error)) if *own == call => {
                if matches!(
                    error,
                    GoError::Status(Refusal {
                        code: 401 | 403,
                        ..
                    })
                ) {
                    self.state = State::Over(ClientPhase::Failed);
                } else {
                    self.retry(ctx.now, Duration::ZERO);
                }
            }
            (State::Reading(own), Answer::Events(frames)) if *own == call => {
                for frame in frames {
                    self.event(frame, call, ctx);
                    if !matches!(self.state, State::Reading(_)) {
                        break;
                    }
                }
            }
            (State::Reading(own), Answer::Closed(_)) if *own == call => {
                self.retry(ctx.now, Duration::ZERO);
            }
            _ => {}
        }
    }

    fn event(&mut self, frame: Frame, call: CallId, ctx: &mut Context<'_>) {
        let object = frame.object;
        if frame.event == EventType::Error {
            self.rest.stop(call, ctx);
            let refusal = Refusal::of_event(object);
            if refusal.code == 410 {
                self.state = State::Over(ClientPhase::Returned);
            } else {
                let after = Duration::from_secs(refusal.retry_after_secs());
                self.retry(ctx.now, after);
            }
            return;
        }
        if object.metadata.resource_version.is_empty() || frame.event == EventType::Other {
            self.rest.stop(call, ctx);
            self.state = State::Over(ClientPhase::Failed);
            return;
        }
        self.last.clone_from(&object.metadata.resource_version);
        self.seen.know_until(&self.last);
        match frame.event {
            EventType::Added | EventType::Modified => self.seen.hold(object.key(), object.held()),
            EventType::Deleted => {
                self.seen.drop(&object.key());
            }
            _ => return,
        }
        self.handled += 1;
    }
}

impl Machine for RetryWatcher {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        if matches!(input, Input::Start) {
            let request = self.seen.scope.get(&[]);
            self.state = State::Listing(self.rest.list(request, ctx));
        }
        for (call, answer) in self.rest.take(input, ctx) {
            self.take(call, answer, ctx);
        }
        if let State::Waiting(until) = self.state
            && until <= ctx.now
        {
            self.open(ctx);
        }
    }

    fn wake_at(&self) -> Option<Time> {
        let own = match self.state {
            State::Waiting(until) => Some(until),
            _ => None,
        };
        earlier(own, self.rest.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        match self.state {
            State::Listing(_) => ClientPhase::Listing,
            State::Opening(_) => ClientPhase::Connecting,
            State::Reading(_) => ClientPhase::Watching,
            State::Waiting(_) => ClientPhase::Backoff,
            State::Over(phase) => phase,
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
