//! What a driver and the machine say to each other: inputs, effects, and the buffers events come out in.
//!
//! A driver owns connections and clocks and decides nothing; the machine decides everything and touches neither.
//! Inputs about a request or connection the machine has given up are ignored, so a driver need not cancel what is
//! already on its way.

use std::ops::Range;

use watchscope_model::event::Event;
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, StreamId, Text, Time};

/// What happened outside.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// The watch is wanted. Once, first.
    Start,
    /// A connection asked for by [`Effect::Connect`] is ready for requests.
    Connected {
        /// Which one was asked for.
        channel: Channel,
        /// Its id.
        connection: ConnectionId,
    },
    /// A connection asked for could not be had.
    ConnectFailed {
        /// Which one was asked for.
        channel: Channel,
        /// Why.
        failure: Failure,
    },
    /// The side connection asked for is not dialled, and will not be before this time: other watches share this one's
    /// connection, and it is their turn to look whether it is dead.
    SideLater(Time),
    /// A response head arrived.
    Head {
        /// The request answered.
        request: RequestId,
        /// HTTP status.
        status: u16,
        /// All its headers, names in lower case; the machine keeps what matters.
        headers: Headers,
        /// The number of its stream on the connection; absent with HTTP/1.1.
        http2_stream: Option<u32>,
    },
    /// A request failed before its response head.
    RequestFailed {
        /// The request.
        request: RequestId,
        /// Why.
        failure: Failure,
    },
    /// A piece of a response body, after transfer decoding.
    Body {
        /// The request answered.
        request: RequestId,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// A response body is over.
    BodyEnd {
        /// The request answered.
        request: RequestId,
        /// How.
        end: Ending,
    },
    /// A connection will carry no request after the one whose response is under way: its other side closes it, or what
    /// comes after the response is none of HTTP. Before that response's [`Input::BodyEnd`].
    Closing {
        /// The connection.
        connection: ConnectionId,
    },
    /// A connection is gone, with or without a request on it. May come before or after the request's own end.
    Closed {
        /// The connection.
        connection: ConnectionId,
        /// Why.
        cause: Cause,
    },
    /// The time of the last [`Effect::SetTimer`] has come. Early or spurious ones do no harm.
    Timer,
    /// An answer to [`Effect::Discover`], or news of it: what the server serves of the resource, if anything.
    Discovered(Option<Served>),
    /// Credentials or TLS settings could not be had, so no connection can be made.
    CredentialsFailed {
        /// What was tried (exec plugin, token file) and what came back, in a sentence without the credentials.
        sentence: String,
    },
    /// The watch is not wanted any more. Last.
    Stop,
}

/// What discovery says of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// API version to use.
    pub version: Text,
    /// Kind of its objects.
    pub kind: Text,
    /// Another apiserver serves it through the cluster's: its resourceVersions say nothing of their order, and a DELETED
    /// may have no more of its object than the name.
    pub is_aggregated: bool,
}

/// Which of a probe's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The one lists and streams go over.
    Main,
    /// A second one, for a moment, to see whether a silent stream is dead.
    Side,
}

/// Why a connection or an answer could not be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// What was tried and what came back, in a sentence.
    pub sentence: String,
}

/// Kinds of [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Refused, no route, name not resolved, proxy said no.
    Unreachable,
    /// The TLS handshake failed.
    Tls,
    /// No answer in time.
    Timeout,
    /// The connection broke.
    Broken,
}

/// What the driver is to do, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Dial, with a time limit of the driver's; answer with [`Input::Connected`], [`Input::ConnectFailed`] or, for the
    /// side, [`Input::SideLater`]. At most one per channel is under way.
    Connect {
        /// Which connection it will be.
        channel: Channel,
    },
    /// Send a GET request on a connection that has no request in flight.
    Send {
        /// The connection.
        connection: ConnectionId,
        /// The id of the request.
        request: RequestId,
        /// What to ask.
        get: Get,
    },
    /// Close a connection, and with it the request on it, or stop dialling. Nothing more is heard of it.
    Close {
        /// Which one.
        channel: Channel,
        /// Its id; absent while it is being dialled.
        connection: Option<ConnectionId>,
    },
    /// Give [`Input::Timer`] at this time. Replaces the timer set before.
    SetTimer(
        /// When.
        Time,
    ),
    /// Load credentials and TLS settings anew for the next connection; say [`Input::CredentialsFailed`] if that fails.
    ReloadCredentials,
    /// Ask discovery for the resource; answer with [`Input::Discovered`].
    Discover,
}

/// A GET request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// URL path.
    pub path: Text,
    /// Query without the question mark, percent-encoded; never empty.
    pub query: String,
    /// Value of the Accept header. Accept-Encoding is `identity`: bodies are measured as they come.
    pub accept: &'static str,
}

/// Hands out ids that are unique in the epoch.
pub trait Ids {
    /// A fresh request id.
    fn request(&mut self) -> RequestId;
    /// A fresh stream id.
    fn stream(&mut self) -> StreamId;
}

/// How a response body ended, as far as its driver saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// [`Cause::End`] if orderly (the connection may be used again), else what the transport saw.
    pub cause: Cause,
    /// The code of the RST_STREAM that ended it.
    pub reset_code: Option<u32>,
    /// The longest time in which the driver did not read it, in milliseconds, if that was noticeable.
    pub unread_ms: Option<u64>,
}

impl From<Cause> for Ending {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            reset_code: None,
            unread_ms: None,
        }
    }
}

/// What a step may ask for.
pub struct Context<'a> {
    /// Now, on the log's clock.
    pub now: Time,
    /// Where ids come from.
    pub ids: &'a mut dyn Ids,
}

/// What a step gives. Steps append; the driver clears it when it has taken everything, so buffers are used again.
///
/// Bounded by the input: one body piece gives at most the events in it and their bodies.
#[derive(Debug, Default)]
pub struct Output {
    /// What to do, in order.
    pub effects: Vec<Effect>,
    /// What happened, in order.
    pub events: Vec<Emitted>,
    /// The redacted bodies of the events, one after the other.
    pub bodies: Vec<u8>,
}

impl Output {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.effects.clear();
        self.events.clear();
        self.bodies.clear();
    }
}

/// An event for the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    /// The event. `since` of a gap is left at 0; the log's writer fills it in.
    pub event: Event,
    /// Where in [`Output::bodies`] the object's redacted JSON lies; absent if there is none or it was withheld.
    pub body: Option<Range<usize>>,
}
