//! The connection to the server: session, socket, heartbeat, retries. A machine of inputs and effects.
//!
//! ```text
//!             ┌────────────────────────── no session ──────────────► Locked ──poke, link──┐
//!   Asking ───┼── a link ──► Exchanging ──┬── 204 ─────────┐            ▲                  │
//!   ▲   ▲     └── a session ──────────────┼──► Opening ────┴──► Live   └─ 401 ─────────── Asking
//!   │   └──────────────────────────────── Waiting ◄── closed, silent, refused ──┘
//!   └─ "Try now", timer                                  another protocol version ──► Halted
//! ```

use watchscope_model::id::{EpochId, LogId, Seq};
use watchscope_model::wire::{
    Acknowledge, Backfill, Bye, ClientMessage, Command, Hello, PROTOCOL_VERSION, Pause, WriteNote,
    encode_client, encode_note,
};

use super::acknowledge::Acknowledger;
use super::backoff;
use super::feed::{Delivery, Feed};

/// How long a connection may bring nothing, not even a heartbeat, in milliseconds; then it is dead.
pub const DEAD_AFTER_MS: u64 = 45_000;

/// The answer to `GET session`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// `watchscope`; any other name means that another program has the address.
    pub product: String,
    /// Version of the wire protocol.
    pub protocol: u32,
    /// The run of watchscope.
    pub instance: String,
    /// Whether this browser has a session.
    pub session: bool,
}

/// A position in a log: the last record held.
pub type Position = (LogId, EpochId, Seq);

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<'a> {
    /// The page has loaded, or its link has changed; the secret was taken out of the fragment.
    Link(Option<String>),
    /// `GET session` was answered; `None`: no answer.
    Session(Option<SessionStatus>),
    /// `POST session` was answered with this status; `None`: no answer.
    Exchanged(Option<u16>),
    /// The socket is open; the store can resume after this record.
    Opened(Option<Position>),
    /// A delivery could not be decoded, for this reason.
    Undecodable(String),
    /// A message arrived.
    Message(&'a [u8]),
    /// The socket is closed, or could not be opened.
    Closed,
    /// The time of [`Connection::wake_ms`] has come.
    Timer,
    /// The person wants an attempt now.
    TryNow,
    /// The tab has the focus again, or another tab has a session: a reason to ask for one.
    Poke,
    /// The tab was hidden or shown.
    Hidden(bool),
    /// The other end has begun again; the held records are of no use.
    Anew,
    /// All delivered segments are taken in, and later ones will be at once. Until then segments are held and not
    /// acknowledged, so the server sends at most [`WINDOW_BYTES`](watchscope_model::wire::WINDOW_BYTES) of them.
    TakenIn,
}

/// An effect for the page to carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// `GET session`.
    AskSession,
    /// `POST session` with this secret.
    Exchange(String),
    /// Announce to the browser's other tabs that there is a session now.
    TellTabs,
    /// Open a socket; messages of the last one are ignored.
    OpenSocket,
    /// Close the socket.
    CloseSocket,
    /// Send these bytes.
    Send(Vec<u8>),
    /// Pass this to the store and the panels.
    Deliver(Delivery),
    /// Show the person that a message could not be decoded, and why.
    TellUndecodable(String),
}

/// The state of the connection, as the person should see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The first connection is being made.
    Connecting,
    /// Connected.
    Live,
    /// Not connected.
    NotConnected {
        /// Since when, in the browser's milliseconds.
        since_ms: u64,
        /// When the next try is due; absent while one is under way.
        next_try_ms: Option<u64>,
        /// What went wrong.
        why: Trouble,
    },
    /// There is no session.
    Locked(Lock),
    /// The server speaks another version of the protocol: the page has to be loaded again.
    OtherVersion {
        /// The server's version.
        theirs: u32,
    },
    /// The server ended the connection and asked for no reconnect.
    Ended {
        /// The server's reason.
        reason: String,
    },
}

/// Why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The page was opened without a link, and this browser has no session.
    NoLink,
    /// The link was used before, or is too old.
    LinkSpent,
    /// There was a session, and the server no longer knows it: it was restarted, or sessions were revoked.
    SessionOver,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// There is no answer, or the connection broke.
    Unreachable,
    /// Another program answers at this address.
    OtherProgram,
    /// The connection was silent for [`DEAD_AFTER_MS`].
    Silent,
    /// A message could not be decoded.
    Undecodable,
    /// The server said goodbye: it is going away, or this viewer was too slow.
    Goodbye,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Asking,
    Exchanging { session: bool },
    Opening,
    Live,
    Waiting { until_ms: u64 },
    Locked(Lock),
    OtherVersion { theirs: u32 },
    Ended { reason: String },
}

/// The connection to the server. It owns nothing of the browser: the page carries out its effects.
#[derive(Debug)]
pub struct Connection {
    state: State,
    feed: Feed,
    acknowledger: Acknowledger,
    secret: Option<String>,
    had_session: bool,
    hidden: bool,
    attempt: u32,
    heard_ms: u64,
    trouble: Option<(u64, Trouble)>,
    retry_after_ms: Option<u64>,
    commands: u64,
    /// Whether to start from a snapshot, since the held records could not be resumed.
    fresh: bool,
    /// Whether segments are taken in as they arrive.
    takes_in: bool,
    /// Bytes of messages whose segments are not taken in yet.
    held_bytes: u64,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            state: State::Idle,
            feed: Feed::default(),
            acknowledger: Acknowledger::default(),
            secret: None,
            had_session: false,
            hidden: false,
            attempt: 0,
            heard_ms: 0,
            trouble: None,
            retry_after_ms: None,
            commands: 0,
            fresh: false,
            takes_in: false,
            held_bytes: 0,
        }
    }
}

impl Connection {
    /// Handles an input at `now_ms`; `random` (0 to 1) jitters a delay. Returns the effects in order.
    pub fn step(&mut self, input: Input<'_>, now_ms: u64, random: f64) -> Vec<Effect> {
        match input {
            Input::Link(secret) => self.link(secret),
            Input::Session(answer) => self.session(answer, now_ms, random),
            Input::Exchanged(status) => self.exchanged(status, now_ms, random),
            Input::Opened(position) => self.opened(position, now_ms),
            Input::Undecodable(why) => self.undecodable(why, now_ms, random),
            Input::Message(bytes) => self.message(bytes, now_ms, random),
            Input::Closed => self.closed(now_ms, random),
            Input::Timer => self.timer(now_ms, random),
            Input::TryNow | Input::Poke => self.poke(),
            Input::Hidden(hidden) => self.hide(hidden),
            Input::Anew => self.begin_anew(now_ms),
            Input::TakenIn => self.taken_in(now_ms),
        }
    }

    /// Returns when [`Input::Timer`] is due.
    #[must_use]
    pub fn wake_ms(&self) -> Option<u64> {
        match self.state {
            State::Waiting { until_ms } => Some(until_ms),
            State::Live | State::Opening => {
                let dead_ms = self.heard_ms + DEAD_AFTER_MS;
                Some(
                    self.acknowledger
                        .due_ms()
                        .map_or(dead_ms, |due| due.min(dead_ms)),
                )
            }
            _ => None,
        }
    }

    /// Returns the state that the person should see.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.state {
            State::Live => Status::Live,
            State::Locked(lock) => Status::Locked(*lock),
            State::OtherVersion { theirs } => Status::OtherVersion { theirs: *theirs },
            State::Ended { reason } => Status::Ended {
                reason: reason.clone(),
            },
            State::Waiting { until_ms } => self.not_connected(Some(*until_ms)),
            State::Idle | State::Asking | State::Exchanging { .. } | State::Opening => {
                self.not_connected(None)
            }
        }
    }

    /// Requests the chapter before a record; `None` while not connected.
    #[must_use]
    pub fn backfill(&self, (log, epoch, before): Position) -> Option<Effect> {
        let message = Backfill { log, epoch, before };
        (self.state == State::Live).then(|| send(message.into()))
    }

    /// Sends a command; returns its number. `None` while not connected.
    pub fn command(&mut self, verb: &str, argument: String) -> Option<(u64, Effect)> {
        if self.state != State::Live {
            return None;
        }
        self.commands += 1;
        let message = Command {
            command: self.commands,
            verb: verb.into(),
            argument,
        };
        Some((self.commands, send(message.into())))
    }

    /// Sends a note for the log; returns the command's number. `None` while not connected.
    pub fn note(&mut self, note: WriteNote) -> Option<(u64, Effect)> {
        if self.state != State::Live {
            return None;
        }
        self.commands += 1;
        let command = self.commands;
        let note = WriteNote { command, ..note };
        Some((command, Effect::Send(encode_note(&note))))
    }

    fn not_connected(&self, next_try_ms: Option<u64>) -> Status {
        match self.trouble {
            Some((since_ms, why)) => Status::NotConnected {
                since_ms,
                next_try_ms,
                why,
            },
            None => Status::Connecting,
        }
    }

    fn link(&mut self, secret: Option<String>) -> Vec<Effect> {
        let fresh = secret.is_some();
        if fresh {
            self.secret = secret;
        }
        match self.state {
            // Without a new secret a connected page has nothing to do.
            State::Live | State::Opening if !fresh => Vec::new(),
            State::Asking | State::Exchanging { .. } => Vec::new(),
            State::OtherVersion { .. } => Vec::new(),
            State::Live | State::Opening => {
                self.state = State::Asking;
                vec![Effect::CloseSocket, Effect::AskSession]
            }
            _ => self.ask(),
        }
    }

    fn ask(&mut self) -> Vec<Effect> {
        self.state = State::Asking;
        vec![Effect::AskSession]
    }

    fn session(&mut self, answer: Option<SessionStatus>, now_ms: u64, random: f64) -> Vec<Effect> {
        if self.state != State::Asking {
            return Vec::new();
        }
        let Some(status) = answer else {
            return self.wait(Trouble::Unreachable, now_ms, random);
        };
        if status.product != "watchscope" {
            return self.wait(Trouble::OtherProgram, now_ms, random);
        }
        if status.protocol != PROTOCOL_VERSION {
            self.state = State::OtherVersion {
                theirs: status.protocol,
            };
            return Vec::new();
        }
        if let Some(secret) = self.secret.take() {
            self.state = State::Exchanging {
                session: status.session,
            };
            return vec![Effect::Exchange(secret)];
        }
        if status.session {
            self.open(now_ms)
        } else {
            self.lock(Lock::NoLink)
        }
    }

    fn exchanged(&mut self, status: Option<u16>, now_ms: u64, random: f64) -> Vec<Effect> {
        let State::Exchanging { session } = self.state else {
            return Vec::new();
        };
        match status {
            Some(204) => {
                let mut effects = vec![Effect::TellTabs];
                effects.extend(self.open(now_ms));
                effects
            }
            Some(_) if session => self.open(now_ms),
            Some(_) => self.lock(Lock::LinkSpent),
            None => self.wait(Trouble::Unreachable, now_ms, random),
        }
    }

    fn lock(&mut self, why: Lock) -> Vec<Effect> {
        let why = if self.had_session && why == Lock::NoLink {
            Lock::SessionOver
        } else {
            why
        };
        self.state = State::Locked(why);
        Vec::new()
    }

    fn open(&mut self, now_ms: u64) -> Vec<Effect> {
        self.had_session = true;
        self.state = State::Opening;
        self.heard_ms = now_ms;
        self.acknowledger = Acknowledger::default();
        self.held_bytes = 0;
        self.feed = Feed::default();
        vec![Effect::OpenSocket]
    }

    fn begin_anew(&mut self, now_ms: u64) -> Vec<Effect> {
        if !matches!(self.state, State::Opening | State::Live) {
            return Vec::new();
        }
        self.fresh = true;
        self.open(now_ms)
    }

    fn opened(&mut self, position: Option<Position>, now_ms: u64) -> Vec<Effect> {
        if self.state != State::Opening {
            return Vec::new();
        }
        self.heard_ms = now_ms;
        let position = position.filter(|_| !self.fresh);
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            log: position.as_ref().map(|(log, ..)| log.clone()),
            epoch: position.as_ref().map(|(_, epoch, _)| epoch.clone()),
            last: position.map(|(.., last)| last),
        };
        vec![send(hello.into())]
    }

    fn undecodable(&mut self, why: String, now_ms: u64, random: f64) -> Vec<Effect> {
        if !matches!(self.state, State::Opening | State::Live) {
            return Vec::new();
        }
        self.fresh = true;
        let mut effects = vec![Effect::TellUndecodable(why), Effect::CloseSocket];
        effects.extend(self.wait(Trouble::Undecodable, now_ms, random));
        effects
    }

    fn message(&mut self, bytes: &[u8], now_ms: u64, random: f64) -> Vec<Effect> {
        if !matches!(self.state, State::Opening | State::Live) {
            return Vec::new();
        }
        self.heard_ms = now_ms;
        let length = bytes.len() as u64;
        let mut effects = match self.feed.take(bytes) {
            Ok(None) => Vec::new(),
            Ok(Some(segment @ Delivery::Segment(_))) if !self.takes_in => {
                self.held_bytes += length;
                return vec![Effect::Deliver(segment)];
            }
            Ok(Some(Delivery::Bye(bye))) => return self.bye(bye, now_ms, random),
            Ok(Some(delivery)) => {
                let mut effects = Vec::new();
                if let Delivery::Welcome(welcome) = &delivery {
                    if welcome.protocol != PROTOCOL_VERSION {
                        self.state = State::OtherVersion {
                            theirs: welcome.protocol,
                        };
                        return vec![Effect::CloseSocket];
                    }
                    self.state = State::Live;
                    self.trouble = None;
                    self.attempt = 0;
                    self.fresh = false;
                    if self.hidden {
                        effects.push(send(Pause { paused: true }.into()));
                    }
                }
                effects.push(Effect::Deliver(delivery));
                effects
            }
            Err(error) => return self.undecodable(error.to_string(), now_ms, random),
        };
        effects.extend(self.acknowledge(length, now_ms));
        effects
    }

    fn acknowledge(&mut self, length: u64, now_ms: u64) -> Option<Effect> {
        let bytes = self.acknowledger.take(length, now_ms)?;
        Some(send(Acknowledge { bytes }.into()))
    }

    fn taken_in(&mut self, now_ms: u64) -> Vec<Effect> {
        self.takes_in = true;
        let held_bytes = std::mem::take(&mut self.held_bytes);
        match self.state {
            State::Live => self.acknowledge(held_bytes, now_ms).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn bye(&mut self, bye: Bye, now_ms: u64, random: f64) -> Vec<Effect> {
        let mut effects = vec![
            Effect::Deliver(Delivery::Bye(bye.clone())),
            Effect::CloseSocket,
        ];
        match (&*bye.reason, bye.retry_after_ms) {
            ("session-ended", _) => effects.extend(self.ask()),
            ("version", _) => effects.extend(self.ask()),
            (_, Some(retry_after_ms)) => {
                self.retry_after_ms = Some(retry_after_ms);
                effects.extend(self.wait(Trouble::Goodbye, now_ms, random));
            }
            // A server that goes away gives no time; a new one may come to its address.
            ("going-away", None) => effects.extend(self.wait(Trouble::Goodbye, now_ms, random)),
            (reason, None) => {
                self.state = State::Ended {
                    reason: reason.to_owned(),
                };
            }
        }
        effects
    }

    fn closed(&mut self, now_ms: u64, random: f64) -> Vec<Effect> {
        match self.state {
            State::Opening | State::Live => self.wait(Trouble::Unreachable, now_ms, random),
            _ => Vec::new(),
        }
    }

    fn timer(&mut self, now_ms: u64, random: f64) -> Vec<Effect> {
        match self.state {
            State::Waiting { until_ms } if now_ms >= until_ms => self.ask(),
            State::Live | State::Opening if now_ms >= self.heard_ms + DEAD_AFTER_MS => {
                let mut effects = vec![Effect::CloseSocket];
                effects.extend(self.wait(Trouble::Silent, now_ms, random));
                effects
            }
            State::Live => self
                .acknowledger
                .due(now_ms)
                .map(|bytes| send(Acknowledge { bytes }.into()))
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    fn poke(&mut self) -> Vec<Effect> {
        match self.state {
            State::Waiting { .. } | State::Locked(_) | State::Ended { .. } => self.ask(),
            _ => Vec::new(),
        }
    }

    fn hide(&mut self, hidden: bool) -> Vec<Effect> {
        if self.hidden == hidden {
            return Vec::new();
        }
        self.hidden = hidden;
        match self.state {
            State::Live => vec![send(Pause { paused: hidden }.into())],
            _ if hidden => Vec::new(),
            _ => self.poke(),
        }
    }

    fn wait(&mut self, why: Trouble, now_ms: u64, random: f64) -> Vec<Effect> {
        let since_ms = self.trouble.map_or(now_ms, |(since_ms, _)| since_ms);
        self.trouble = Some((since_ms, why));
        let delay_ms =
            backoff::delay_ms(self.attempt, random).max(self.retry_after_ms.take().unwrap_or(0));
        self.attempt += 1;
        self.state = State::Waiting {
            until_ms: now_ms + delay_ms,
        };
        Vec::new()
    }
}

fn send(message: ClientMessage) -> Effect {
    Effect::Send(encode_client(&message))
}

#[cfg(test)]
mod tests;
