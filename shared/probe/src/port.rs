//! The interface of the machine and its driver: inputs, effects, and buffers for events.
//!
//! A driver owns connections and clocks and decides nothing. The machine decides everything and owns neither
//! connections nor clocks. The machine ignores inputs about a request or connection that it has given up, so a driver
//! need not cancel what is in transit.

use std::ops::Range;

use watchscope_model::event::Event;
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::Cause;
use watchscope_model::{ConnectionId, RequestId, StreamId, Text, Time};

/// An event outside the machine. The machine ignores inputs about a request or a connection that it has given up.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Starts the watch. This input comes once, as the first input; a later `Start` changes nothing.
    Start,
    /// The connection of [`Effect::Connect`] is ready for requests. The machine closes a connection that it no longer
    /// needs with [`Effect::Close`].
    Connected {
        /// The connection's channel.
        channel: Channel,
        /// The connection's id.
        connection: ConnectionId,
    },
    /// The connection of [`Effect::Connect`] could not be made.
    ConnectFailed {
        /// The connection's channel.
        channel: Channel,
        /// Why the connection could not be made.
        failure: Failure,
    },
    /// The side connection is not dialled, and will not be before this time on the log's clock. Several watches share a
    /// connection, and it is another watch's turn to check whether the shared connection is dead. This input changes
    /// nothing unless the side connection is being dialled.
    SideLater(Time),
    /// A response head arrived.
    Head {
        /// The request that is answered.
        request: RequestId,
        /// The HTTP status.
        status: u16,
        /// All headers of the response, names in lower case. An event keeps at most 16 of the headers that
        /// [`headers_worth_keeping`](crate::headers_worth_keeping) keeps.
        headers: Headers,
        /// The HTTP/2 stream's number on the connection; `None` with HTTP/1.1.
        http2_stream: Option<u32>,
    },
    /// A request failed before its response head.
    RequestFailed {
        /// The request.
        request: RequestId,
        /// Why the request failed.
        failure: Failure,
    },
    /// A piece of a response body, with the transfer coding removed.
    Body {
        /// The request that is answered.
        request: RequestId,
        /// The bytes that follow the previous piece of this body; a document may be cut anywhere between two pieces.
        bytes: &'a [u8],
    },
    /// A response body ended.
    BodyEnd {
        /// The request that is answered.
        request: RequestId,
        /// How the body ended.
        end: Ending,
    },
    /// A connection will carry no request after the present response. The server or a proxy closes it, or the bytes
    /// after the response are not HTTP. This input comes before that response's [`Input::BodyEnd`].
    Closing {
        /// The connection.
        connection: ConnectionId,
    },
    /// A connection closed, with or without a request on it. This input may come before or after the request's own end.
    Closed {
        /// The connection.
        connection: ConnectionId,
        /// Why the connection closed.
        cause: Cause,
    },
    /// The time of the last [`Effect::SetTimer`] has come. A timer that fires too early does no harm.
    Timer,
    /// The answer to [`Effect::Discover`], or a later change of it: how the server serves the resource, or `None` if
    /// the server does not serve it. This input changes nothing unless the watch waits in the phase `refused`.
    Discovered(Option<Served>),
    /// Credentials or TLS settings could not be loaded, so no connection can be made. This input changes nothing unless
    /// the watch waits or dials.
    CredentialsFailed {
        /// What was tried (exec plugin, token file) and which error it gave, in a sentence without the credentials.
        sentence: String,
    },
    /// Stops the watch. `Stop` is the last input: later inputs change nothing. But a connection that gets ready after
    /// the stop is closed with [`Effect::Close`].
    Stop,
}

/// A resource as discovery describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The API version to use, without the group: `v1`, `v1beta1`.
    pub version: Text,
    /// The kind of its objects: `Pod`.
    pub kind: Text,
    /// Whether an aggregated apiserver, to which the cluster's own forwards requests, serves the resource (an
    /// APIService). Such a resource's versions have no order (docs/semantics/checks.md#trap-aggregated), and a DELETED
    /// of it may have only its object's name.
    pub is_aggregated: bool,
}

/// One of a probe's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// The connection for lists and streams.
    Main,
    /// A second connection, open for at most 15 s, to check whether a silent stream is dead
    /// (docs/semantics/clients.md#probe-silence).
    Side,
}

/// Why a connection or an answer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// What was tried and which error it gave, in a sentence for people, without credentials.
    pub sentence: String,
}

/// The kinds of [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The server or a proxy refused the connection, the name did not resolve, or the network failed while dialling.
    Unreachable,
    /// The TLS handshake failed.
    Tls,
    /// A step of dialling, or the head of an answer, took longer than the driver's time limit.
    Timeout,
    /// The connection to the server or to a proxy broke, or the head of the answer is not valid HTTP or too large. A
    /// request that cannot be sent also counts as broken.
    Broken,
}

/// An act for the driver. The driver carries out effects in the order of [`Output::effects`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Dial, with a time limit of the driver's own. Answer with [`Input::Connected`], [`Input::ConnectFailed`] or, for
    /// the side channel, [`Input::SideLater`]. At most one dial per channel is in progress.
    Connect {
        /// The channel of the connection.
        channel: Channel,
    },
    /// Send a GET request on a connection that has no request in flight.
    Send {
        /// The connection.
        connection: ConnectionId,
        /// The id of the request.
        request: RequestId,
        /// The request's content.
        get: Get,
    },
    /// Close a connection together with its request, or stop dialling. The machine needs no input about the connection
    /// afterwards.
    Close {
        /// The channel of the connection.
        channel: Channel,
        /// The connection's id. `None` while it is dialled. For the side channel it is also `None` after the dial
        /// failed, or after the connection closed by itself.
        connection: Option<ConnectionId>,
    },
    /// Give [`Input::Timer`] at this time, or at once if the time has passed. The new timer replaces the timer set
    /// before.
    SetTimer(
        /// The time on the log's clock.
        Time,
    ),
    /// Load credentials and TLS settings again for the next connection. Give [`Input::CredentialsFailed`] if the load
    /// fails.
    ReloadCredentials,
    /// Ask discovery for the resource; answer with [`Input::Discovered`].
    Discover,
}

/// A GET request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// The path of the URL, percent-encoded; it begins with `/`.
    pub path: Text,
    /// The query without its question mark, percent-encoded; never empty.
    pub query: String,
    /// The value of the Accept header. Accept-Encoding is `identity`, because the probe measures bodies as they come.
    pub accept: &'static str,
}

/// A source of ids that are unique in the epoch, over all probes of the log.
pub trait Ids {
    /// Returns a request id that this source has not returned before.
    fn request(&mut self) -> RequestId;
    /// Returns a stream id that this source has not returned before.
    fn stream(&mut self) -> StreamId;
}

/// How a response body ended, as its driver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// [`Cause::End`] if the body ended in order, so that the connection can be used again unless it is closing; else
    /// the transport's cause.
    pub cause: Cause,
    /// The error code of the RST_STREAM frame that ended the body (RFC 9113); `None` if no such frame did.
    pub reset_code: Option<u32>,
    /// The longest time in which the driver left the body unread, in milliseconds; `None` if the driver reports none.
    /// The backend reports only times of 100 ms or more that ended within the last 10 s.
    pub unread_ms: Option<u64>,
}

/// An ending with this cause, without a reset code or unread time.
impl From<Cause> for Ending {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            reset_code: None,
            unread_ms: None,
        }
    }
}

/// The surroundings of a step.
pub struct Context<'a> {
    /// The present time on the log's clock. It never decreases from one step to the next.
    pub now: Time,
    /// The source of new ids.
    pub ids: &'a mut dyn Ids,
}

/// The results of steps. Each step appends its results. The driver clears the output after it has taken everything, so
/// that buffers are reused.
///
/// The input and the watch bound its size. A piece of a stream gives the events of its documents with their bodies, and
/// a few events about losses, gaps and the stream's end. The end of a page gives the events of its items. The end of a
/// list, or of initial events, also gives one deletion for each held object that the list lacks. The end of initial
/// events also gives the events that were deferred until then.
#[derive(Debug, Default)]
pub struct Output {
    /// The acts for the driver, in the order in which it carries them out; it may be empty.
    pub effects: Vec<Effect>,
    /// The events, in the order of the log; it may be empty.
    pub events: Vec<Emitted>,
    /// The redacted bodies of the events as JSON in UTF-8, one directly after the other, in the order of the events. It
    /// is empty if no event has a body.
    pub bodies: Vec<u8>,
}

impl Output {
    /// Removes all effects, events and bodies, and keeps the memory.
    pub fn clear(&mut self) {
        self.effects.clear();
        self.events.clear();
        self.bodies.clear();
    }
}

/// An event for the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Emitted {
    /// The event. The `since` of a [`watchscope_model::event::Gap`] is 0 here; the log's writer fills it in.
    pub event: Event,
    /// The range of the change's redacted object in [`Output::bodies`], as JSON. `None` if the event is no change, or
    /// is an inferred deletion, whose object was not delivered. The value is also `None` if a part to redact had an
    /// unknown form, so that the body is withheld, and if [`ProbeConfig::with_bodies`](crate::ProbeConfig::with_bodies)
    /// is false.
    pub body: Option<Range<usize>>,
}
