//! A stream while it is open: how it begins, its documents, and its silence.

use std::borrow::Cow;

use watchscope_model::event::{Bookmark, StreamError, StreamOpened};
use watchscope_model::vocabulary::{ChangeType, FrameLoss, Origin, Phase, PhaseReason};
use watchscope_model::{RequestId, ResourceVersion, StreamId, Time};

use crate::decode::{DecodeError, Decoder, Document, Object, ObjectHead, Status, decode_line};
use crate::held::{Relation, Reversal};
use crate::lines::{Lines, Piece, Unread};
use crate::list::Learned;
use crate::probe::{Asked, Probe, Task, Turn};
use crate::refusal::message_of;

/// The silence in ms after which a stream that has delivered a bookmark is suspected dead, and a side watch checks it.
/// Bookmarks come about once a minute (docs/semantics/lists-and-watches.md#bookmark-period). The number has no source:
/// it is one and a half minutes, so that a late bookmark raises no suspicion.
const SILENCE_WITH_BOOKMARKS_MS: u64 = 90_000;
/// The silence in ms after which a stream that has delivered no bookmark is suspected dead, and a side watch checks it.
/// Such a stream may be silent while nothing happens. The number is the longest timeout that client-go asks for
/// (docs/semantics/servers.md#client-timeout).
const SILENCE_MS: u64 = 600_000;
/// The time in ms since its opening from which on a resumed stream without an ERROR counts as accepted, and its gap
/// closes. A stream that delivers a document counts earlier. Servers send 410 at once
/// (docs/semantics/servers.md#cache-resume). The number has no source.
pub(crate) const ACCEPTED_MS: u64 = 2_000;
/// The time in ms at which the end bookmark of initial events is overdue (F35). The probe then ends the stream, and
/// uses lists from then on. The time counts from the first live event, or, before such an event, from the stream's last
/// bytes. The number has no source: it is ten times the 1 s in which kube-apiserver sends 13,000 initial events
/// (docs/semantics/servers.md#load).
const INITIAL_SILENCE_MS: u64 = 10_000;
/// The time in ms after an ERROR at which the probe ends the stream, if the server has not. A stream ends after an
/// ERROR (docs/semantics/requests.md#errors). The number has no source: it leaves time for the server's end of the
/// stream to arrive, so that the log has that end.
const ERROR_LINGER_MS: u64 = 1_000;

/// An open stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) lines: Lines,
    pub(crate) facts: Facts,
}

/// The state of a stream.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) request: RequestId,
    pub(crate) stream: StreamId,
    pub(crate) sent_at: Time,
    pub(crate) opened_at: Time,
    /// When the server should have ended the stream.
    overdue_at: Time,
    pub(crate) heard_at: Time,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    bookmarked: bool,
    pub(crate) opening: Opening,
    /// When a live event, or a bookmark that does not end the initial events, first came. From then on the end bookmark
    /// is due.
    live_at: Option<Time>,
    /// Initial events that would change held objects and are not newer than progress. These events are deferred until
    /// the end bookmark shows whether their state is older than progress. Together they have at most the bytes of a
    /// page; above that limit the probe lists.
    aside: Vec<Aside>,
    /// The evidence in the initial events that etcd was restored.
    reversal: Reversal,
    /// The reaction to an ERROR, once an ERROR came, and the time at which the probe ends the stream.
    pub(crate) error: Option<(Remedy, Time)>,
    /// The unread bytes after an ERROR.
    pub(crate) trailing: Unread,
}

impl Facts {
    /// Returns when the bookmark that ends the initial events is overdue, whatever else the stream delivers.
    fn end_due_at(&self) -> Time {
        let since = self.live_at.unwrap_or(self.heard_at);
        since.plus_millis(INITIAL_SILENCE_MS)
    }
}

/// A deferred initial event.
#[derive(Debug)]
struct Aside {
    namespace: Option<String>,
    name: String,
    line: Vec<u8>,
}

/// How a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// At progress, with the events after it. A stream whose initial events are over has this value, too.
    Resume,
    /// With the whole state as ADDED events in any order, and a bookmark after them.
    WatchList,
    /// With the whole state as ADDED events and no mark of their end, because the watch has no resourceVersion to begin
    /// from.
    AnyState,
}

/// The reaction to an ERROR event (docs/semantics/requests.md#errors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// 410: list again.
    Expired,
    /// 429: request the same stream again later.
    Later { retry_after_ms: Option<u64> },
    /// 504 on a watch-list: the server has not reached the version.
    TooLarge { retry_after_ms: Option<u64> },
    /// Any other ERROR: it is unknown what was lost, so list the most recent state (F24).
    Relist,
}

/// Why the probe ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnEnd {
    /// A line could not be decoded or had another kind than requested, so its change is missing.
    Decode,
    /// An ERROR came, and the server did not end the stream.
    AfterError,
    /// The stream is taken as dead. A side watch delivered what this stream did not, or side watches cannot check and
    /// the stream is past its timeout.
    Dead,
    /// The initial events do not end in time, or too many of them were deferred.
    Initial,
    /// The initial events are of a state older than what the watch has seen. A list will show whether etcd was
    /// restored.
    Before,
}

impl Probe {
    /// Opens the stream of an accepted watch request.
    pub(crate) fn open_stream(
        &mut self,
        asked: Asked,
        http2_stream: Option<u32>,
        turn: &mut Turn<'_>,
    ) -> Stream {
        let stream = turn.ids.stream();
        let opening = self.opening_of(asked.task);
        let from = match opening {
            Opening::Resume => self.progress.clone(),
            Opening::WatchList => self.progress.clone().filter(|_| self.list.at_progress),
            Opening::AnyState => None,
        };
        turn.emit(StreamOpened {
            watch: self.spec.name.clone(),
            stream,
            request: asked.request,
            resource_version: from,
            http2_stream: http2_stream.map(u64::from),
        });
        let phase = match opening {
            Opening::Resume => Phase::Streaming,
            Opening::WatchList | Opening::AnyState => {
                self.list.restart(self.list.at_progress);
                Phase::Listing
            }
        };
        self.set_phase(phase, PhaseReason::Opened, turn);
        Stream {
            lines: Lines::new(self.config.line_limit),
            facts: Facts {
                request: asked.request,
                stream,
                sent_at: asked.sent_at,
                opened_at: turn.now,
                overdue_at: asked.deadline,
                heard_at: turn.now,
                documents: 0,
                bytes: 0,
                bookmarked: false,
                live_at: None,
                opening,
                aside: Vec::new(),
                reversal: Reversal::default(),
                error: None,
                trailing: Unread::default(),
            },
        }
    }

    /// Returns how the stream of a task begins.
    fn opening_of(&self, task: Task) -> Opening {
        match task {
            Task::WatchList => Opening::WatchList,
            _ if self.progress.is_none() => Opening::AnyState,
            _ => Opening::Resume,
        }
    }

    /// Processes bytes of a stream; returns why the probe must end the stream, or `None`.
    pub(crate) fn read_stream(
        &mut self,
        stream: &mut Stream,
        bytes: &[u8],
        turn: &mut Turn<'_>,
    ) -> Option<OwnEnd> {
        let Stream { lines, facts } = stream;
        facts.bytes += bytes.len() as u64;
        facts.heard_at = turn.now;
        self.side_cancel(turn);
        let mut decoder = self.decoder.take()?;
        let mut rest = bytes;
        let mut end = None;
        while end.is_none()
            && facts.error.is_none()
            && let Some(piece) = lines.next(&mut rest)
        {
            end = self.take_piece(piece, facts, &mut decoder, turn);
        }
        self.decoder = Some(decoder);
        if end.is_none()
            && let Some(bytes) = lines.take_excess()
        {
            // The line may never end.
            end = Some(self.line_too_long(bytes, turn));
        }
        if facts.error.is_some() {
            facts.trailing.take(rest);
        } else if !rest.is_empty() {
            let mut unread = Unread::default();
            unread.take(rest);
            self.lose_all(
                FrameLoss::AfterEnd,
                unread.documents(),
                unread.bytes,
                "what followed was not read",
                turn,
            );
        }
        end
    }

    fn take_piece(
        &mut self,
        piece: Piece<'_>,
        facts: &mut Facts,
        decoder: &mut Decoder,
        turn: &mut Turn<'_>,
    ) -> Option<OwnEnd> {
        let line = match piece {
            Piece::Line(line) if line.trim_ascii().is_empty() => return None,
            Piece::Line(line) => line,
            Piece::TooLong(bytes) => return Some(self.line_too_long(bytes, turn)),
        };
        let taken = decode_line(line, decoder).and_then(|document| {
            if !matches!(document, Document::Error(_)) {
                self.accepted(facts, turn);
            }
            match document {
                Document::Data { change, object } => {
                    decoder.check_kind(object.head.kind.as_deref())?;
                    if self.is_doubtful(change, &object.head, facts) {
                        return Ok(self.put_aside(&object.head, line, facts));
                    }
                    self.take_data(change, &object, facts, decoder, turn)?;
                    Ok(None)
                }
                Document::Bookmark(object) => {
                    self.take_bookmark(&object.head, facts, decoder, turn)
                }
                Document::Error(status) => {
                    self.take_error(&status, facts, turn);
                    Ok(None)
                }
            }
        });
        match taken {
            Ok(end) => {
                facts.documents += 1;
                end
            }
            Err(error) => {
                self.lose(error.loss(), line.len() as u64 + 1, error.to_string(), turn);
                Some(OwnEnd::Decode)
            }
        }
    }

    fn line_too_long(&self, bytes: u64, turn: &mut Turn<'_>) -> OwnEnd {
        let limit = self.config.line_limit;
        self.lose(
            FrameLoss::TooLong,
            bytes,
            format!("a line is longer than {limit} bytes"),
            turn,
        );
        OwnEnd::Decode
    }

    /// Closes an open gap as resumed, because the server continues from the requested version and nothing is missing.
    pub(crate) fn accepted(&mut self, facts: &Facts, turn: &mut Turn<'_>) {
        if facts.opening == Opening::Resume && self.has_gap() {
            self.close_gap(true, turn);
        }
    }

    fn take_data(
        &mut self,
        change: ChangeType,
        read: &Object<'_>,
        facts: &mut Facts,
        decoder: &Decoder,
        turn: &mut Turn<'_>,
    ) -> Result<(), DecodeError> {
        if facts.opening != Opening::Resume && change == ChangeType::Added {
            if let Some(progress) = self.progress.as_ref().filter(|_| self.has_place()) {
                let (name, version) = self.identity(&read.head)?;
                let uid = read.head.uid.as_deref().unwrap_or("");
                let who = (read.head.namespace.as_deref(), name, uid);
                facts.reversal.take(&self.held, progress, who, &version);
            }
            // Initial events are not in the order of their versions, so they are no progress (F21).
            self.learn(read, Origin::Initial, Some(facts.stream), decoder, turn)?;
            self.note_initial_item();
            return Ok(());
        }
        facts.live_at = facts.live_at.or(Some(turn.now));
        if facts.opening == Opening::AnyState {
            // An event other than ADDED ends the initial state, but no mark shows that the state was complete.
            facts.opening = Opening::Resume;
            self.list.finish(self.config.page_size);
            self.set_phase(Phase::Streaming, PhaseReason::InitialEventsEnd, turn);
        }
        let head = &read.head;
        let (namespace, name) = (head.namespace.as_deref(), head.name.as_deref());
        let name = name.unwrap_or("");
        // Deferred events of the same object are older.
        facts.aside.retain(|aside| {
            !(aside.name == name && aside.namespace.as_deref() == head.namespace.as_deref())
        });
        let (object, version, relation) = if change == ChangeType::Deleted && self.is_by_name(head)
        {
            // For an object that is not held it has no meaning.
            let Some((object, last)) = self.held.named(namespace, name) else {
                return Ok(());
            };
            match self.identity(head) {
                Ok((_, version)) if version != last => (object, version, Relation::Older),
                _ => (object, last, Relation::Same),
            }
        } else {
            let (_, version) = self.identity(head)?;
            let uid = head.uid.as_deref().unwrap_or("");
            let (object, relation) = self.held.relate(namespace, name, uid, &version);
            (object, version, relation)
        };
        let is_past = matches!(relation, Relation::Newer);
        // A DELETED with the held version does not show the position of the stream.
        let is_step = change != ChangeType::Deleted || !matches!(relation, Relation::Same);
        if let Relation::Replaced(gone, last) = relation
            && change != ChangeType::Deleted
        {
            self.infer_deleted(gone, last, Some(facts.stream), turn);
        }
        self.write_change(
            Learned {
                change,
                origin: Origin::Live,
                object: object.clone(),
                version: version.clone(),
                stream: Some(facts.stream),
            },
            read,
            decoder,
            turn,
        );
        if facts.opening == Opening::Resume {
            if is_step {
                self.advance(&version);
            }
            self.streaks.expired = 0;
        }
        if is_past {
            // The change is written as it came, but a newer version is held (F23, F29, F30).
        } else if change == ChangeType::Deleted {
            self.held.remove(&object);
        } else {
            self.held.hold(object, version, self.list.number);
        }
        Ok(())
    }

    /// Whether an object has only a name, as in aggregated APIs that watch for names (`OpenShift`'s projects).
    fn is_by_name(&self, head: &ObjectHead<'_>) -> bool {
        let is_missing = |text: &Option<Cow<'_, str>>| text.as_deref().is_none_or(str::is_empty);
        self.spec.is_aggregated()
            && !is_missing(&head.name)
            && (is_missing(&head.uid) || is_missing(&head.resource_version))
    }

    /// Whether an initial event may be of a state older than progress: it would change a held object, and is not newer
    /// than progress.
    fn is_doubtful(&self, change: ChangeType, head: &ObjectHead<'_>, facts: &Facts) -> bool {
        let Some(progress) = &self.progress else {
            return false;
        };
        if facts.opening != Opening::WatchList || change != ChangeType::Added {
            return false;
        }
        let Ok((name, version)) = self.identity(head) else {
            return false;
        };
        let uid = head.uid.as_deref().unwrap_or("");
        let (_, relation) = self
            .held
            .relate(head.namespace.as_deref(), name, uid, &version);
        !version.is_after(progress) && !matches!(relation, Relation::Same | Relation::Newer)
    }

    fn put_aside(
        &mut self,
        head: &ObjectHead<'_>,
        line: &[u8],
        facts: &mut Facts,
    ) -> Option<OwnEnd> {
        self.note_initial_item();
        facts.aside.push(Aside {
            namespace: head.namespace.as_deref().map(str::to_owned),
            name: head.name.as_deref().unwrap_or("").to_owned(),
            line: line.to_vec(),
        });
        let bytes: usize = facts.aside.iter().map(|aside| aside.line.len()).sum();
        (bytes > self.config.page_limit).then_some(OwnEnd::Initial)
    }

    fn take_bookmark(
        &mut self,
        head: &ObjectHead<'_>,
        facts: &mut Facts,
        decoder: &mut Decoder,
        turn: &mut Turn<'_>,
    ) -> Result<Option<OwnEnd>, DecodeError> {
        let version = head
            .resource_version
            .as_deref()
            .filter(|version| !version.is_empty())
            .map(|version| self.version(ResourceVersion::parse(version)))
            .ok_or(DecodeError::Missing(
                "metadata.resourceVersion of a bookmark",
            ))?;
        facts.bookmarked = true;
        turn.emit(Bookmark {
            watch: self.spec.name.clone(),
            stream: facts.stream,
            resource_version: version.clone(),
            initial_events_end: head.initial_events_end.then_some(true),
        });
        let ends_initial = match facts.opening {
            Opening::Resume => false,
            Opening::WatchList => head.initial_events_end,
            Opening::AnyState => true,
        };
        if !ends_initial {
            facts.live_at = facts.live_at.or(Some(turn.now));
            if facts.opening == Opening::Resume {
                self.advance(&version);
                self.streaks.expired = 0;
            }
            return Ok(None);
        }
        let is_older = self
            .progress
            .as_ref()
            .is_some_and(|progress| progress.is_after(&version));
        if is_older || std::mem::take(&mut facts.reversal).shown().is_some() {
            // The initial events are a state older than progress, or of another history, so nothing may be inferred
            // from them.
            return Ok(Some(OwnEnd::Before));
        }
        for aside in std::mem::take(&mut facts.aside) {
            // The line was read when it came.
            if let Document::Data { object, .. } = decode_line(&aside.line, decoder)? {
                self.learn(&object, Origin::Initial, Some(facts.stream), decoder, turn)?;
            }
        }
        facts.opening = Opening::Resume;
        self.streaks.unfinished = 0;
        self.complete_list(version, Some(facts.stream), turn);
        self.set_phase(Phase::Streaming, PhaseReason::InitialEventsEnd, turn);
        Ok(None)
    }

    fn take_error(&mut self, status: &Status<'_>, facts: &mut Facts, turn: &mut Turn<'_>) {
        let retry_after_ms = status.retry_after_ms();
        let remedy = if status.is_expired() {
            Remedy::Expired
        } else if status.code == Some(429) {
            Remedy::Later { retry_after_ms }
        } else if status.is_too_large() && facts.opening == Opening::WatchList {
            Remedy::TooLarge { retry_after_ms }
        } else {
            Remedy::Relist
        };
        facts.error = Some((remedy, turn.now.plus_millis(ERROR_LINGER_MS)));
        turn.emit(StreamError {
            watch: self.spec.name.clone(),
            stream: facts.stream,
            code: status.code.unwrap_or(0),
            reason: status
                .reason
                .as_deref()
                .filter(|reason| !reason.is_empty())
                .map(|reason| self.texts.text(reason)),
            message: message_of(status, self.spec.is_secrets()),
        });
    }

    /// Acts on what is due on a stream now; returns why the probe must end the stream, or `None`.
    pub(crate) fn stream_timer(
        &mut self,
        stream: &mut Stream,
        turn: &mut Turn<'_>,
    ) -> Option<OwnEnd> {
        let facts = &stream.facts;
        let silent_ms = turn.now.millis_since(facts.heard_at);
        if let Some((_, until)) = facts.error {
            return (until <= turn.now).then_some(OwnEnd::AfterError);
        }
        if turn.now.millis_since(facts.opened_at) >= ACCEPTED_MS {
            self.accepted(facts, turn);
        }
        if facts.opening == Opening::WatchList && facts.end_due_at() <= turn.now {
            return Some(OwnEnd::Initial);
        }
        if silent_ms >= silence_ms(facts) {
            if facts.overdue_at <= turn.now && !self.can_be_seen() {
                return Some(OwnEnd::Dead);
            }
            self.side_open(turn);
        }
        None
    }

    /// Whether a side watch may show that the stream is dead. If `false`, only the stream's own timeout proves the
    /// stream dead. A side watch proves nothing if it gets no answer, is refused, gets an ERROR or must wait for its
    /// turn. No side watch opens if the watch has no progress, or its progress has no order.
    fn can_be_seen(&self) -> bool {
        self.has_place() && !self.side.is_blind()
    }

    /// Whether the watch has progress, and its progress has an order.
    pub(crate) fn has_place(&self) -> bool {
        self.progress
            .as_ref()
            .is_some_and(|progress| progress.is_ordered())
    }

    /// Returns when the next act may be due on a stream.
    pub(crate) fn stream_deadline(&self, facts: &Facts) -> Time {
        if let Some((_, until)) = facts.error {
            return until;
        }
        let suspicious_at = facts.heard_at.plus_millis(silence_ms(facts));
        let mut guard = suspicious_at.max(self.side.not_before());
        if !self.can_be_seen() {
            guard = guard.min(facts.overdue_at.max(suspicious_at));
        }
        if facts.opening == Opening::WatchList {
            facts.end_due_at()
        } else if self.has_gap() && facts.opening == Opening::Resume {
            guard.min(facts.opened_at.plus_millis(ACCEPTED_MS))
        } else {
            guard
        }
    }
}

fn silence_ms(facts: &Facts) -> u64 {
    if facts.bookmarked {
        SILENCE_WITH_BOOKMARKS_MS
    } else {
        SILENCE_MS
    }
}
