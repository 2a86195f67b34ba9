//! The side watch: a second stream that checks whether a silent stream is dead (F04;
//! docs/semantics/clients.md#probe-silence).
//!
//! A stream may be silent because nothing happens, or because its connection is dead. Only another watch can show
//! whether nothing happens or the connection is dead: a watch of 3 s from progress over a new connection. The first
//! stream is dead if that side watch delivers something beyond progress, and the first stream is still silent at its
//! end.
//!
//! The side watch's events are not logged as changes, because the resumed stream delivers them.

use watchscope_model::event::RequestAnswered;
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::ErrorText;
use watchscope_model::{Aside, ConnectionId, RequestId, ResourceVersion, Time, WatchName};

use crate::decode::{Document, decode_line};
use crate::journal::{send_get, worth_keeping};
use crate::lines::{Lines, Piece};
use crate::port::{Channel, Effect};
use crate::probe::{Probe, Turn};
use crate::refusal::retry_after_ms;

/// The `timeoutSeconds` of a side watch. The server should send a bookmark 2 s before the watch's end
/// (docs/semantics/checks.md#side-watch). So this is the shortest timeout in whole seconds with time for a bookmark.
const TIMEOUT_S: u32 = 3;
/// The time in ms after which a side watch is given up, its dial included. Events that it had delivered before it was
/// given up still count as proof. The time is as long as an HTTP/2 ping may stay unanswered
/// (docs/semantics/servers.md#ping), and five times the timeout of a side watch.
const PATIENCE_MS: u64 = 15_000;
/// The least time in ms between two side watches of a probe. The driver makes probes that share a connection take
/// turns. With this spacing, side watches of a probe cost its server at most one request a minute. The number has no
/// source.
const SPACING_MS: u64 = 60_000;

/// The side watch of a probe: at most one at a time, and one per minute.
#[derive(Debug)]
pub(crate) struct Side {
    look: Option<Look>,
    /// The earliest time of the next side watch.
    not_before: Time,
    /// Whether the last side watch has ended and delivered what the stream did not.
    proof: bool,
    /// Whether the last side watch could not check: it got no answer, a refusal or an ERROR, or it was another watch's
    /// turn.
    blind: bool,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            look: None,
            not_before: Time(i64::MIN),
            proof: false,
            blind: false,
        }
    }
}

#[derive(Debug)]
struct Look {
    deadline: Time,
    connection: Option<ConnectionId>,
    request: Option<RequestId>,
    answered: bool,
    lines: Lines,
    /// Whether the side watch was accepted and delivered no ERROR.
    sees: bool,
    /// Whether the side watch delivered an event or a bookmark beyond progress.
    beyond: bool,
}

impl Side {
    /// Whether `request` is the request of the side watch.
    pub(crate) fn is(&self, request: RequestId) -> bool {
        self.look
            .as_ref()
            .is_some_and(|look| look.request == Some(request))
    }

    /// Whether `connection` is the connection of the side watch.
    pub(crate) fn is_on(&self, connection: ConnectionId) -> bool {
        self.look
            .as_ref()
            .is_some_and(|look| look.connection == Some(connection))
    }

    pub(crate) fn forget_connection(&mut self) {
        if let Some(look) = &mut self.look {
            look.connection = None;
        }
    }

    /// Takes the result: whether a side watch has just proved the stream dead.
    pub(crate) fn take_proof(&mut self) -> bool {
        std::mem::take(&mut self.proof)
    }

    /// Whether the last side watch of this silence could not check.
    pub(crate) fn is_blind(&self) -> bool {
        self.blind
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.look.as_ref().map(|look| look.deadline)
    }

    pub(crate) fn not_before(&self) -> Time {
        self.not_before
    }
}

impl Probe {
    /// Opens a side watch, if one is allowed now.
    pub(crate) fn side_open(&mut self, turn: &mut Turn<'_>) {
        if self.side.look.is_some() || turn.now < self.side.not_before {
            return;
        }
        self.side.not_before = turn.now.plus_millis(SPACING_MS);
        if !self.has_place() {
            return;
        }
        self.side.look = Some(Look {
            deadline: turn.now.plus_millis(PATIENCE_MS),
            connection: None,
            request: None,
            answered: false,
            lines: Lines::new(self.config.line_limit),
            sees: false,
            beyond: false,
        });
        turn.effect(Effect::Connect {
            channel: Channel::Side,
        });
    }

    pub(crate) fn side_connected(&mut self, connection: ConnectionId, turn: &mut Turn<'_>) {
        let wanted = self
            .side
            .look
            .as_ref()
            .is_some_and(|look| look.connection.is_none());
        if !wanted {
            turn.effect(Effect::Close {
                channel: Channel::Side,
                connection: Some(connection),
            });
            return;
        }
        let request = turn.ids.request();
        let version = self.api_version();
        let get = self
            .spec
            .watch(&self.config, &version, self.progress.as_ref(), TIMEOUT_S);
        send_get(&self.side_name(), "watch", request, connection, get, turn);
        if let Some(look) = &mut self.side.look {
            look.connection = Some(connection);
            look.request = Some(request);
        }
    }

    /// Handles that other watches check the shared connection until a time. Until that time no side watch can prove
    /// anything about this stream.
    pub(crate) fn side_later(&mut self, until: Time) {
        if self
            .side
            .look
            .take_if(|look| look.connection.is_none())
            .is_some()
        {
            self.side.not_before = until;
            self.side.blind = true;
        }
    }

    /// Processes a response head, if it answers the side watch; returns whether it does.
    pub(crate) fn side_head(
        &mut self,
        request: RequestId,
        status: u16,
        headers: &Headers,
        turn: &mut Turn<'_>,
    ) -> bool {
        if !self.side.is(request) {
            return false;
        }
        turn.emit(RequestAnswered {
            watch: self.side_name(),
            request,
            status: Some(status),
            retry_after_ms: retry_after_ms(headers),
            headers: worth_keeping(headers.clone()),
            error: (status != 200).then(|| format!("the server answered {status}")),
            error_text: (status != 200).then_some(ErrorText::StatusOnly),
        });
        if let Some(look) = &mut self.side.look {
            look.answered = true;
            look.sees = status == 200;
        }
        if status != 200 {
            self.side_over(turn);
        }
        true
    }

    pub(crate) fn side_body(&mut self, request: RequestId, bytes: &[u8], turn: &mut Turn<'_>) {
        if !self.side.is(request) {
            return;
        }
        let (Some(look), Some(decoder)) = (&mut self.side.look, &mut self.decoder) else {
            return;
        };
        let mut rest = bytes;
        while let Some(piece) = look.lines.next(&mut rest) {
            let Piece::Line(line) = piece else { continue };
            // An unreadable line proves nothing, and is not this watch's loss.
            let Ok(document) = decode_line(line, decoder) else {
                continue;
            };
            let object = match &document {
                Document::Data { object, .. } | Document::Bookmark(object) => object,
                Document::Error(_) => {
                    look.sees = false;
                    continue;
                }
            };
            let version = object
                .head
                .resource_version
                .as_deref()
                .map(ResourceVersion::parse);
            if let (Some(version), Some(progress)) = (version, &self.progress) {
                look.beyond |= version.is_after(progress);
            }
        }
        if look.deadline <= turn.now {
            self.side_over(turn);
        }
    }

    pub(crate) fn side_failed(&mut self, sentence: String, turn: &mut Turn<'_>) {
        self.side_unanswered(sentence, turn);
        self.side_over(turn);
    }

    /// Cancels the side watch, because the stream delivered something or ended.
    pub(crate) fn side_cancel(&mut self, turn: &mut Turn<'_>) {
        if self.side.look.is_some() {
            self.side_over(turn);
        }
        self.side.proof = false;
        self.side.blind = false;
    }

    /// Ends the side watch, whatever the reason. If the side watch delivered something beyond progress, the stream,
    /// silent until now, is dead.
    pub(crate) fn side_over(&mut self, turn: &mut Turn<'_>) {
        self.side_unanswered("given up".into(), turn);
        let Some(look) = self.side.look.take() else {
            return;
        };
        turn.effect(Effect::Close {
            channel: Channel::Side,
            connection: look.connection,
        });
        self.side.proof = look.beyond;
        self.side.blind = !look.sees;
    }

    pub(crate) fn side_timer(&mut self, turn: &mut Turn<'_>) {
        if self
            .side
            .look
            .as_ref()
            .is_some_and(|look| look.deadline <= turn.now)
        {
            self.side_over(turn);
        }
    }

    fn side_unanswered(&mut self, sentence: String, turn: &mut Turn<'_>) {
        let name = self.side_name();
        let Some(look) = &mut self.side.look else {
            return;
        };
        if let Some(request) = look.request
            && !look.answered
        {
            look.answered = true;
            turn.emit(RequestAnswered {
                watch: name,
                request,
                status: None,
                headers: Headers::default(),
                retry_after_ms: None,
                error: Some(sentence),
                error_text: None,
            });
        }
    }

    fn side_name(&self) -> WatchName {
        self.spec.name.aside(Aside::Side)
    }
}
