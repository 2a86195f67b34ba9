//! A client program as a state machine: its inputs, its actions, and what the world reads from it.

use std::fmt;

use super::belief::Belief;
use super::channel::ChannelEnd;
use super::record::ClientPhase;
use crate::message::{Arrival, ConnectionId, Request, RequestId};
use crate::random::Random;
use crate::time::Time;

/// An input of a client program's state machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// The machine was started.
    Start,
    /// A delivery came over one of the machine's connections.
    Arrival(ConnectionId, &'a Arrival),
    /// The server answered a ping over one of the machine's connections.
    Pong(ConnectionId),
    /// The time has come that the machine requested with [`Machine::wake_at`].
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
    /// Notes that the result channel of a Go program's watch is closed.
    fn channel_closed(&mut self, end: ChannelEnd);
}

/// The world as a machine sees it in one step.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    /// The client's own random numbers. The numbers that one client draws do not change the numbers of another client.
    pub(crate) random: &'a mut Random,
    /// The client's User-Agent, by which faults find the client's connections.
    pub(crate) user_agent: &'a str,
    pub(crate) port: &'a mut dyn Port,
}

/// A client program as a state machine.
pub(crate) trait Machine: Send {
    /// Takes an input, changes the machine's state and acts on the world.
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>);

    /// Returns when the machine must be woken next; `None`: never. The world calls this function after every step, and
    /// may also wake the machine earlier.
    fn wake_at(&self) -> Option<Time>;

    /// Returns the client's present activity.
    fn phase(&self) -> ClientPhase;

    /// Returns the number of iterations of the client's loop until `now`. For a loop that never waits, the number comes
    /// from elapsed time and a fixed rate.
    fn iterations(&self, now: Time) -> u64;

    /// Returns the number of events that the client's handler processed until `now`.
    fn handled(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// Returns whether the client is in a loop that never waits, so that its counts grow without any input.
    fn is_spinning(&self) -> bool {
        false
    }

    /// Returns the client's beliefs, one for each resource or part of the client.
    fn beliefs(&self) -> Vec<&Belief>;
}

/// Writes only the phase: more would need a `Debug` of every program.
impl fmt::Debug for dyn Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phase().word())
    }
}

/// Returns the earlier of two times; `None` means never.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
