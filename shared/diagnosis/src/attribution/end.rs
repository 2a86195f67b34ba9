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

/// Time in µs after a pause of watchscope in which a stream that had events waiting may end because of it. The server
/// gives up a client that does not read (F36; docs/semantics/servers.md#slow-watch). The number has no source. A longer
/// one would blame watchscope for more ends, a shorter one the server.
pub(crate) const AFTERMATH_US: i64 = 10_000_000;
/// Age in ms below which a stream without events is barren (F10; docs/semantics/streams.md#rule-barren). The number has
/// no source: it is twice the 1 s below which client-go sees an error (docs/semantics/clients.md#reflector-end).
pub(crate) const BARREN_MS: u64 = 2_000;

/// A stream, from its opening on.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) watch: WatchName,
    /// Resource and group in the form of a definition: `widgets.example.com`, `pods`.
    pub(crate) resource: Text,
    /// Whether a definition declares the resource. Kubernetes itself declares all others.
    pub(crate) is_custom: bool,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) remote: Option<Text>,
    pub(crate) since: Time,
    pub(crate) from: Option<ResourceVersion>,
    /// The timeout that the request asked for.
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) error: Option<ServerError>,
    /// The last of its documents that could not become an event.
    pub(crate) unread: Option<Unread>,
    /// The last pause in which watchscope did not read the stream.
    pub(super) pause: Option<Interruption>,
    /// The last edit of the resource's definition since the stream was opened.
    pub(super) edit: Option<Interruption>,
}

/// An event after which a stream may stay silent: a pause of watchscope, or an edit of the resource's definition.
#[derive(Clone, Debug)]
pub(super) struct Interruption {
    pub(super) seq: Seq,
    /// When it ended.
    pub(super) at: Time,
    /// How long it took; 0 for an edit.
    pub(super) lasted_ms: u64,
    /// The last version that the watch had seen before it.
    pub(super) seen: Option<ResourceVersion>,
}

/// A pause of watchscope that may explain an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnPause {
    pub(crate) seq: Seq,
    /// Whether it was too short to close a connection.
    pub(crate) is_short: bool,
}

/// A document that could not become an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unread {
    pub(crate) seq: Seq,
    /// Whether it was an object of another kind than the request asked for.
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
    /// The longest time that watchscope left the stream unread, if that was noticeable.
    pub(crate) unread_ms: Option<u64>,
    /// The GOAWAY by which the server refused new streams on the connection.
    pub(crate) goaway: Option<Seq>,
    /// A pause of watchscope that may explain the end: the stream delivered nothing after it, or ended soon after it.
    pub(crate) pause: Option<OwnPause>,
    /// The number of barren streams in a row that began at this resourceVersion, this one included.
    pub(crate) barren: u32,
    /// The edit of the resource's definition not long before.
    pub(crate) edit: Option<Seq>,
    /// The number of streams in a row, this one included, that ended before all their initial events had come (F37).
    pub(crate) cut_short: u32,
    /// The end of the watch's stream before, if strong evidence shows that the reader was slow (F36).
    pub(crate) slow_before: Option<Seq>,
    /// The highest version that any watch of the cluster had seen at the end.
    pub(super) highest: Option<u64>,
    /// The 410 that the watch met when it resumed, and the list that shows that the cache was built anew.
    pub(crate) rebuilt: Option<[Seq; 2]>,
    /// The judgement that was published last.
    pub(super) published: Option<Judgement>,
}

impl End {
    /// Returns a judgement of this end. Its evidence is the record of the end.
    pub(super) fn judged(&self, why: impl Into<Attributed>, certainty: Certainty) -> Judgement {
        Judgement {
            why: why.into(),
            certainty,
            evidence: vec![self.seq],
        }
    }

    /// Returns whether another record shows already that the server's cache began anew.
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
    /// Returns whether it may explain the end of its watch's stream: nothing came after it, or it is less than
    /// [`AFTERMATH_US`] ago.
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
