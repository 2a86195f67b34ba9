//! A client program as a machine: what happens to it, what it may do, and what the world asks of it.

use std::fmt;

use super::belief::Belief;
use super::record::ClientPhase;
use crate::message::{Arrival, ConnectionId, Request, RequestId};
use crate::random::Random;
use crate::time::Time;

/// Something that happens to a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input<'a> {
    /// It was started.
    Start,
    /// Something came over one of its connections.
    Arrival(ConnectionId, &'a Arrival),
    /// The server answered a ping over one of its connections.
    Pong(ConnectionId),
    /// The moment it asked for with [`Machine::wake_at`] is here.
    Wake,
}

/// What a machine may do besides changing itself.
pub(crate) trait Port {
    fn connect(&mut self) -> ConnectionId;
    fn send(&mut self, connection: ConnectionId, request: Request) -> RequestId;
    fn cancel(&mut self, request: RequestId);
    /// Asks whether a connection lives; [`Input::Pong`] answers, or nothing does.
    fn ping(&mut self, connection: ConnectionId);
    fn close(&mut self, connection: ConnectionId);
}

/// The world as a machine sees it in one step.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    /// The client's own chance, so that what one client draws does not change what another gets.
    pub(crate) random: &'a mut Random,
    /// What the client calls itself; faults find its connections by it.
    pub(crate) user_agent: &'a str,
    pub(crate) port: &'a mut dyn Port,
}

/// A client program.
pub(crate) trait Machine: Send {
    /// Something happens.
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>);

    /// When it wants to be woken next. It is asked after every step; a wake may also come early.
    fn wake_at(&self) -> Option<Time>;

    /// What it is doing.
    fn phase(&self) -> ClientPhase;

    /// Turns of its loop until now. A loop that never waits counts by a stated rate, not by work done here.
    fn iterations(&self, now: Time) -> u64;

    /// Events its handler took until now.
    fn handled(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// Whether it is in a loop that never waits, so that its counts grow without anything happening.
    fn is_spinning(&self) -> bool {
        false
    }

    /// What it believes, a belief for each resource it looks at.
    fn beliefs(&self) -> Vec<&Belief>;
}

/// Its phase says enough: what else a machine holds would have to be written for every program.
impl fmt::Debug for dyn Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phase().word())
    }
}

/// The earlier of two moments that may not come.
pub(crate) fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
