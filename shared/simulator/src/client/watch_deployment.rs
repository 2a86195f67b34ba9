//! `WatchDeployment` (docs/semantics/cases.md#watch-pitfalls) in its three versions, over client-go's StreamWatcher,
//! which hides why a stream ended.
//!
//! The first version returns when the result channel closes, and then sends no request any more (F03). The second
//! version continues, and logs in a loop that never waits (F02). The last version sleeps 5 s after each end and watches
//! again without a resourceVersion (F19). The last version's idle timer of 30 minutes ends a silent watch; each event
//! restarts the timer. The lesson `three-tries` also runs the last version with one line changed ([`Edit`]).

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

/// Time from the end of a watch, or from its refusal, to the next request of [`WatchDeployment::Final`]
/// (docs/semantics/cases.md#watch-pitfalls).
pub(super) const SLEEP: Duration = Duration::from_secs(5);
/// Time without an event after which [`WatchDeployment::Final`] ends its watch
/// (docs/semantics/cases.md#watch-pitfalls).
const IDLE: Duration = Duration::from_secs(30 * 60);
/// [`SLEEP`] with [`Edit::ShortSleep`]. The number has no source.
const SHORT_SLEEP: Duration = Duration::from_millis(100);
/// [`IDLE`] with [`Edit::ShortTimer`]. The number has no source.
const SHORT_IDLE: Duration = Duration::from_secs(60);
/// The version of client-go that the program uses. With this version a cut connection closes the channel without an
/// ERROR event (docs/semantics/clients.md#read-errors). The number has no other source.
pub(super) const CLIENT_GO: ClientGo = ClientGo::minor(28);

/// The versions of `WatchDeployment` (docs/semantics/cases.md#watch-pitfalls).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchDeployment {
    /// Returns when the channel closes, or if the watch cannot be opened, and does nothing more (F03).
    V1,
    /// Continues when the channel closes, in a loop that never waits (F02). The program returns if the watch cannot be
    /// opened.
    V2,
    /// Sleeps 5 s after each end or failure, and watches again without a resourceVersion (F19). After 30 min without an
    /// event the program ends its watch itself.
    Final,
    /// [`WatchDeployment::Final`] with one line changed.
    Edited(Edit),
}

/// A line of [`WatchDeployment::Final`] that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The program sleeps 0.1 s after each end.
    ShortSleep,
    /// The idle timer ends a watch after 1 min without an event.
    ShortTimer,
    /// The program watches again from the resourceVersion of the last event. If the server refuses it with 410, the
    /// program asks the same again, without end (F11).
    Resumes,
}

impl WatchDeployment {
    /// Returns the time without an event after which the program ends its watch; `None` if it never does.
    const fn idle(self) -> Option<Duration> {
        match self {
            Self::V1 | Self::V2 => None,
            Self::Edited(Edit::ShortTimer) => Some(SHORT_IDLE),
            Self::Final | Self::Edited(_) => Some(IDLE),
        }
    }

    /// Returns the time between the end of a watch and the next one, if the program watches again.
    const fn pause(self) -> Duration {
        match self {
            Self::Edited(Edit::ShortSleep) => SHORT_SLEEP,
            _ => SLEEP,
        }
    }
}

#[derive(Debug)]
enum State {
    Opening(CallId),
    Reading(CallId),
    Spinning(Spin),
    Sleeping(Time),
    Returned,
}

/// The client program that calls `WatchDeployment`.
#[derive(Debug)]
pub(super) struct WatchDeploymentProgram {
    variant: WatchDeployment,
    rest: Rest,
    /// The application's state, as the program's handlers keep it.
    state_of_app: Belief,
    state: State,
    idle_at: Option<Time>,
    /// The resourceVersion of the last event; empty before the first one.
    last: String,
    iterations: u64,
    handled: u64,
}

impl WatchDeploymentProgram {
    pub(super) fn new(variant: WatchDeployment, scope: Scope) -> WatchDeploymentProgram {
        WatchDeploymentProgram {
            variant,
            rest: Rest::new(CLIENT_GO),
            state_of_app: Belief::new(scope),
            state: State::Returned,
            idle_at: None,
            last: String::new(),
            iterations: 0,
            handled: 0,
        }
    }

    fn open(&mut self, ctx: &mut Context<'_>) {
        let mut parameters = vec![("watch", "true")];
        if self.variant == WatchDeployment::Edited(Edit::Resumes) && !self.last.is_empty() {
            parameters.insert(0, ("resourceVersion", &self.last));
        }
        let request = self.state_of_app.scope.get(&parameters);
        self.state = State::Opening(self.rest.watch(request, ctx));
    }

    fn take(&mut self, call: CallId, answer: Answer, now: Time) {
        match (&self.state, answer) {
            (State::Opening(own), Answer::Opened) if *own == call => {
                self.state = State::Reading(call);
                self.arm(now);
            }
            (State::Opening(own), Answer::Failed(_)) if *own == call => match self.variant {
                WatchDeployment::V1 | WatchDeployment::V2 => self.state = State::Returned,
                WatchDeployment::Final | WatchDeployment::Edited(_) => self.sleep(now),
            },
            (State::Reading(own), Answer::Events(frames)) if *own == call => {
                self.arm(now);
                frames.into_iter().for_each(|frame| self.event(frame));
            }
            (State::Reading(own), Answer::Closed(_)) if *own == call => match self.variant {
                WatchDeployment::V1 => self.state = State::Returned,
                WatchDeployment::V2 => self.state = State::Spinning(Spin { since: now }),
                WatchDeployment::Final | WatchDeployment::Edited(_) => self.sleep(now),
            },
            _ => {}
        }
    }

    fn arm(&mut self, now: Time) {
        self.idle_at = self.variant.idle().map(|idle| now + idle);
    }

    fn sleep(&mut self, now: Time) {
        self.idle_at = None;
        self.state = State::Sleeping(now + self.variant.pause());
    }

    /// Runs one iteration of the loop. The loop logs and skips an object of another kind, such as the Status of an
    /// ERROR event.
    fn event(&mut self, frame: Frame) {
        self.iterations += 1;
        let object = frame.object;
        if object.kind != self.state_of_app.scope.kind {
            return;
        }
        match frame.event {
            EventType::Added | EventType::Modified => {
                self.state_of_app.hold(object.key(), object.held());
            }
            EventType::Deleted => {
                self.state_of_app.drop(&object.key());
            }
            EventType::Bookmark | EventType::Error | EventType::Other => return,
        }
        self.handled += 1;
        self.last = object.metadata.resource_version;
    }
}

impl Machine for WatchDeploymentProgram {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        if matches!(input, Input::Start) {
            self.open(ctx);
        }
        for (call, answer) in self.rest.take(input, ctx) {
            self.take(call, answer, ctx.now);
        }
        if let State::Sleeping(until) = self.state
            && until <= ctx.now
        {
            self.open(ctx);
        }
        if self.idle_at.is_some_and(|at| at <= ctx.now) {
            if let State::Reading(call) = self.state {
                self.rest.stop(call, ctx);
            }
            self.sleep(ctx.now);
        }
    }

    fn wake_at(&self) -> Option<Time> {
        let own = match self.state {
            State::Sleeping(until) => Some(until),
            _ => self.idle_at,
        };
        earlier(own, self.rest.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        match self.state {
            State::Opening(_) => ClientPhase::Connecting,
            State::Reading(_) => ClientPhase::Watching,
            State::Spinning(_) => ClientPhase::Spinning,
            State::Sleeping(_) => ClientPhase::Sleeping,
            State::Returned => ClientPhase::Returned,
        }
    }

    fn iterations(&self, now: Time) -> u64 {
        match self.state {
            State::Spinning(spin) => self.iterations + spin.iterations(now),
            _ => self.iterations,
        }
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn is_spinning(&self) -> bool {
        matches!(self.state, State::Spinning(_))
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![&self.state_of_app]
    }
}
