//! Writes the events that neither streams nor lists deliver: phases, requests, losses, gaps.

use watchscope_model::event::{Gap, Loss, RequestAnswered, RequestSent, WatchPhase};
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::{Cause, FrameLoss, LossPlace, Phase, PhaseReason};
use watchscope_model::{ConnectionId, RequestId, ResourceVersion, Seq, WatchName};

use crate::port::{Effect, Get};
use crate::probe::{OpenGap, Probe, Turn};

impl Probe {
    /// Enters a phase, unless the watch is in it already.
    pub(crate) fn set_phase(&mut self, to: Phase, reason: PhaseReason, turn: &mut Turn<'_>) {
        if self.phase == Some(to) {
            return;
        }
        turn.emit(WatchPhase {
            watch: self.spec.name.clone(),
            from: self.phase,
            to,
            reason,
            delay_ms: None,
            error: None,
        });
        self.phase = Some(to);
    }

    /// Writes the event of a request that got no answer, with the reason.
    pub(crate) fn answered_by_failure(
        &mut self,
        request: RequestId,
        sentence: String,
        turn: &mut Turn<'_>,
    ) {
        turn.emit(RequestAnswered {
            watch: self.spec.name.clone(),
            request,
            status: None,
            headers: Headers::default(),
            retry_after_ms: None,
            error: Some(sentence),
            error_text: None,
        });
    }

    /// Writes the loss of a frame that could not become an event.
    pub(crate) fn lose(
        &self,
        what: FrameLoss,
        bytes: u64,
        reason: impl Into<String>,
        turn: &mut Turn<'_>,
    ) {
        self.lose_all(what, 1, bytes, reason, turn);
    }

    /// Like [`Self::lose`], for several documents.
    pub(crate) fn lose_all(
        &self,
        what: FrameLoss,
        count: u64,
        bytes: u64,
        reason: impl Into<String>,
        turn: &mut Turn<'_>,
    ) {
        let loss = self.loss(LossPlace::Frame, count, bytes, reason.into());
        turn.emit(Loss {
            what: Some(what),
            ..loss
        });
    }

    /// Writes the loss of a body whose event is kept.
    pub(crate) fn lose_body(&self, bytes: u64, reason: &str, turn: &mut Turn<'_>) {
        turn.emit(self.loss(LossPlace::Body, 1, bytes, reason.to_owned()));
    }

    fn loss(&self, place: LossPlace, count: u64, bytes: u64, reason: String) -> Loss {
        Loss {
            place,
            count,
            from_seq: None,
            to_seq: None,
            watch: Some(self.spec.name.clone()),
            bytes: Some(bytes),
            reason: Some(reason),
            what: None,
        }
    }

    /// Opens a gap, unless one is open.
    pub(crate) fn open_gap(&mut self, reason: Cause) {
        self.gap.get_or_insert_with(|| OpenGap {
            from: self.progress.clone(),
            reason,
        });
    }

    /// Whether a gap is open.
    pub(crate) fn has_gap(&self) -> bool {
        self.gap.is_some()
    }

    /// Closes the open gap, if there is one.
    pub(crate) fn close_gap(&mut self, resumed: bool, turn: &mut Turn<'_>) {
        if let Some(gap) = self.gap.take() {
            turn.emit(Gap {
                watch: self.spec.name.clone(),
                since: Seq(0),
                from: gap.from,
                to: self.progress.clone(),
                reason: gap.reason,
                resumed,
                lost: resumed.then_some(0),
            });
        }
    }

    /// Moves progress up to `version`, never down. A version that cannot be compared replaces progress.
    pub(crate) fn advance(&mut self, version: &ResourceVersion) {
        let goes_down = self
            .progress
            .as_ref()
            .is_some_and(|progress| progress.is_after(version));
        if !goes_down && self.progress.as_ref() != Some(version) {
            self.progress = Some(version.clone());
            self.streaks.bare = 0;
        }
    }
}

/// Sends a request and writes its event.
pub(crate) fn send_get(
    watch: &WatchName,
    verb: &str,
    request: RequestId,
    connection: ConnectionId,
    get: Get,
    turn: &mut Turn<'_>,
) {
    turn.emit(RequestSent {
        watch: watch.clone(),
        request,
        connection,
        verb: verb.into(),
        path: get.path.clone(),
        query: Some(get.query.clone()),
    });
    turn.effect(Effect::Send {
        connection,
        request,
        get,
    });
}

/// The names of the headers that an event keeps, in lower case and sorted. All other headers are dropped. The kept
/// headers identify the request, or explain the answer. Two of them name the flow schema and the priority level of the
/// request (KEP-1040).
const KEPT_HEADERS: [&str; 7] = [
    "audit-id",
    "connection",
    "content-type",
    "retry-after",
    "warning",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// Returns only the headers of [`KEPT_HEADERS`]: at most 16, each value cut at 512 characters.
pub(crate) fn worth_keeping(headers: Headers) -> Headers {
    Headers(
        headers
            .0
            .into_iter()
            .filter(|(name, _)| KEPT_HEADERS.contains(&&**name))
            .take(16)
            .map(|(name, value)| {
                let cut = value.char_indices().nth(512).map(|(at, _)| at);
                (name, cut.map_or(value.clone(), |at| value[..at].into()))
            })
            .collect(),
    )
}
