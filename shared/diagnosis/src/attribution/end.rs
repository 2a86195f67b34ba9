//! A stream, from its opening to its end.

use watchscope_model::event::StreamEnded;
use watchscope_model::fold::Watch;
use watchscope_model::id::is_built_in_group;
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{Cause, Certainty};
use watchscope_model::{
    ConnectionId, ResourceVersion, Row, Seq, State, StreamId, Text, Time, WatchName,
};

use super::judgement::Judgement;

/// Time in µs after a pause of watchscope within which a stream that had events waiting may end because of the pause.
/// The server gives up a client that does not read (F36; docs/semantics/servers.md#slow-watch). A gap that begins
/// within this time may also find its history gone because of the pause (F11, F12). Another pause that ends within this
/// time counts as one with it. The number has no source. A longer time would blame watchscope for more ends, a shorter
/// time the server.
pub(crate) const AFTERMATH_US: i64 = 10_000_000;
/// Age in ms below which a stream without events is barren (F10; docs/semantics/streams.md#rule-barren). The number has
/// no source: it is twice the 1 s below which client-go sees an error (docs/semantics/clients.md#reflector-end).
pub(crate) const BARREN_MS: u64 = 2_000;

/// A stream, from its opening on.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) watch: WatchName,
    /// Resource and group in the form of a CRD's name: `widgets.example.com`, `pods`.
    pub(crate) resource: Text,
    /// Whether a custom resource definition (CRD) declares the resource.
    pub(crate) is_custom: bool,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) remote: Option<Text>,
    pub(crate) since: Time,
    pub(crate) from: Option<ResourceVersion>,
    /// The timeout that the stream's request asked for; `None` if it asked for none, or is unknown.
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) error: Option<ServerError>,
    /// The last document of the stream that could not become an event; `None` if there was none.
    pub(crate) unread: Option<Unread>,
    /// The last pause in which watchscope did not read the stream; `None` if there was none.
    pub(super) pause: Option<Interruption>,
    /// The last edit of the resource's CRD since the stream was opened; `None` if there was none.
    pub(super) edit: Option<Interruption>,
}

/// An event after which a stream may stay silent: a pause of watchscope, or an edit of the resource's CRD.
#[derive(Clone, Debug)]
pub(super) struct Interruption {
    pub(super) seq: Seq,
    /// When the pause ended, or when the CRD was edited.
    pub(super) at: Time,
    /// How long the pause took, with the pauses before it that might still matter when it ended; 0 for an edit.
    pub(super) lasted_ms: u64,
    /// The last resourceVersion that the watch had received before it; `None` if it had received none.
    pub(super) seen: Option<ResourceVersion>,
}

/// A pause of watchscope that may explain the end of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPause {
    pub(crate) seq: Seq,
    /// Whether the pause was too short to close a connection.
    pub(crate) is_short: bool,
}

/// A document of a stream that could not become an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    pub(crate) seq: Seq,
    /// Whether the document was an object of another kind than the request asked for.
    pub(crate) is_other_kind: bool,
}

/// The ERROR event of a stream.
#[derive(Clone, Debug)]
pub(crate) struct ServerError {
    pub(crate) seq: Seq,
    pub(crate) code: u64,
    pub(crate) reason: Option<Text>,
    pub(crate) message: Option<String>,
}

/// A stream's end.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) id: StreamId,
    pub(crate) stream: Stream,
    pub(crate) seq: Seq,
    pub(crate) at: Time,
    pub(crate) cause: Cause,
    pub(crate) age_ms: u64,
    pub(crate) events: u64,
    /// The longest time that watchscope left the stream unread, if it was long enough to be recorded.
    pub(crate) unread_ms: Option<u64>,
    /// The GOAWAY by which the server refused new streams on the connection; `None` if there was none.
    pub(crate) goaway: Option<Seq>,
    /// A pause of watchscope that may explain the end: the stream delivered nothing after it, or ended at most 10 s
    /// after it. `None` if there is no such pause.
    pub(crate) pause: Option<OwnPause>,
    /// The number of barren streams in a row that began at this stream's resourceVersion, this stream included. A
    /// barren stream ended at once, without an event. 0 if this stream was not barren, or if its end was not orderly.
    pub(crate) barren: u32,
    /// The last edit of the resource's CRD, if it came at most 130 s before the end.
    pub(crate) edit: Option<Seq>,
    /// The number of streams in a row, this stream included, that ended before all their initial events had come (F37).
    pub(crate) cut_short: u32,
    /// The end of the watch's previous stream, if F36 (a slow reader) is likely or definite for that end.
    pub(crate) slow_before: Option<Seq>,
    /// The highest resourceVersion that any watch of the cluster had received when the stream ended; `None` if no watch
    /// had received one. Watches of Events do not count, because a cluster may keep its events in another etcd.
    pub(super) highest: Option<u64>,
    /// The 410 that the watch met when it resumed, and the list that shows that the watch cache was built anew; `None`
    /// unless both came.
    pub(crate) rebuilt: Option<[Seq; 2]>,
    /// The judgement that was published last; `None` before the first.
    pub(super) published: Option<Judgement>,
}

impl End {
    /// Returns a judgement of this end. The judgement's evidence is the record of the end.
    pub(super) fn judged(&self, why: impl Into<Attributed>, certainty: Certainty) -> Judgement {
        Judgement {
            why: why.into(),
            certainty,
            evidence: vec![self.seq],
        }
    }

    /// Returns whether it is known already that the server's watch cache began anew: by an edit of the CRD, or by a
    /// published F16 or F17.
    pub(super) fn is_rebuilding(&self) -> bool {
        let published = self.published.as_ref().and_then(|it| it.why.row());
        self.edit.is_some() || matches!(published, Some(Row::F16 | Row::F17))
    }
}

/// Returns whether the server accepted a stream and closed it at once, without an event.
pub(crate) fn is_barren(event: &StreamEnded) -> bool {
    let is_closed =
        event.cause == Cause::End || matches!(event.cause, Cause::Eof | Cause::RstStream);
    is_closed && event.events == 0 && event.age_ms < BARREN_MS
}

impl Interruption {
    /// Returns whether the pause or edit may explain the end of its watch's stream: the stream has delivered nothing
    /// after it, or it is at most [`AFTERMATH_US`] ago.
    pub(super) fn may_matter(&self, watch: Option<&Watch>, now: Time) -> bool {
        let seen = watch.and_then(|watch| watch.seen.as_ref());
        // A bookmark at the same version as the last one shows as well that the stream lives.
        let bookmark = watch.and_then(|watch| watch.stream.as_ref()?.bookmark);
        let is_silent =
            self.seen.as_ref() == seen && bookmark.is_none_or(|bookmark| bookmark.seq < self.seq);
        is_silent || now.micros_since(self.at) <= AFTERMATH_US
    }
}

impl Stream {
    /// Returns a stream of a watch over the connection of its last request.
    pub(super) fn of(name: &WatchName, watch: &Watch, state: &State, since: Time) -> Self {
        let resource = if watch.group.is_empty() {
            watch.resource.clone()
        } else {
            format!("{}.{}", watch.resource, watch.group).into()
        };
        Self {
            watch: name.clone(),
            resource,
            is_custom: !is_built_in_group(&watch.group),
            connection: watch.connection,
            remote: watch
                .connection
                .and_then(|connection| state.connections.get(&connection))
                .map(|connection| connection.remote.clone()),
            since,
            from: None,
            timeout_ms: None,
            error: None,
            unread: None,
            pause: None,
            edit: None,
        }
    }
}
