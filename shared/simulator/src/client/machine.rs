//! A client program as a state machine: its inputs, its actions, and what the world reads of it.

use std::fmt;

use super::belief::Belief;
use super::record::ClientPhase;
use crate::message::{Arrival, ConnectionId, Request, RequestId};
use crate::random::Random;
use crate::time::Time;

/// An input of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// The machine was started.
    Start,
    /// A delivery came over one of its connections.
    Arrival(ConnectionId, &'a Arrival),
    /// The server answered a ping over one of its connections.
    Pong(ConnectionId),
    /// The moment has come that it requested with [`Machine::wake_at`].
    Wake,
}

/// The actions of a machine on the world.
pub(crate) trait Port {
    fn connect(&mut self) -> ConnectionId;
    fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId;
    fn cancel(&mut self, request: RequestId);
    /// Pings a connection. [`Input::Pong`] follows if the server answers.
    fn ping(&mut self, connection: ConnectionId);
    fn close(&mut self, connection: ConnectionId);
}

/// The world as a machine sees it in one step.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    /// The client's own random numbers. What one client draws does not change what another gets.
    pub(crate) random: &'a mut Random,
    /// The client's User-Agent; faults find its connections by it.
    pub(crate) user_agent: &'a str,
    pub(crate) port: &'a mut dyn Port,
}

/// A client program.
pub(crate) trait Machine: Send {
    /// Takes an input, changes its state and acts on the world.
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>);

    /// When it must be woken next; `None`: never. The world reads it after every step, and may also wake it earlier.
    fn wake_at(&self) -> Option<Time>;

    /// Its present activity.
    fn phase(&self) -> ClientPhase;

    /// Iterations of its loop until `now`. A loop that never waits counts them by a stated rate, not by work done here.
    fn iterations(&self, now: Time) -> u64;

    /// Events that its handler processed until `now`.
    fn handled(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// Whether it is in a loop that never waits, so that its counts grow without any input.
    fn is_spinning(&self) -> bool {
        false
    }

    /// Its beliefs, one for each resource in its scope.
    fn beliefs(&self) -> Vec<&Belief>;
}

/// Shows only the phase: more would need a `Debug` of every program.
impl fmt::Debug for dyn Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phase().word())
    }
}

/// The earlier of two moments; `None` stands for never.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
