//! Answers other than 200: their content, and the probe's reaction (docs/semantics/requests.md#errors).

use watchscope_model::Time;
use watchscope_model::event::RequestAnswered;
use watchscope_model::field::Headers;
use watchscope_model::vocabulary::{Cause, ErrorText, FrameLoss, PhaseReason};

use crate::decode::Status;
use crate::journal::worth_keeping;
use crate::port::Effect;
use crate::probe::{Asked, Probe, Task, Turn};
use crate::spec::WatchSpec;

/// The most bytes of a refusal's body that are kept. Further bytes are dropped and counted as lost. The number has no
/// source.
const BODY_LIMIT: usize = 64 << 10;
/// The longest time in ms that the probe waits for the body of a refusal, counted from its head. After 5 s the probe
/// acts on the bytes so far. The number has no source.
const PATIENCE_MS: u64 = 5_000;
/// The most characters of a message, or of a refusal's reason, that an event keeps. Further characters are cut, which
/// bounds the record. The number has no source: the messages of docs/semantics/requests.md#errors have under 100.
const MESSAGE_LIMIT: usize = 500;

/// A refusal while its body arrives.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) asked: Asked,
    status: u16,
    headers: Headers,
    body: Vec<u8>,
    /// The bytes of the body beyond the limit.
    unread: u64,
    pub(crate) deadline: Time,
}

impl Refusal {
    pub(crate) fn new(asked: Asked, status: u16, headers: Headers, now: Time) -> Self {
        Self {
            asked,
            status,
            headers,
            body: Vec::new(),
            unread: 0,
            deadline: now.plus_millis(PATIENCE_MS),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = BODY_LIMIT - self.body.len();
        let (read, unread) = bytes.split_at(bytes.len().min(room));
        self.body.extend_from_slice(read);
        self.unread += unread.len() as u64;
    }

    fn status(&self) -> Status<'_> {
        std::str::from_utf8(&self.body)
            .ok()
            .and_then(Status::parse)
            .unwrap_or_default()
    }

    /// The time in ms that the server asks the client to wait: from the header, else from the Status.
    fn retry_after_ms(&self) -> Option<u64> {
        retry_after_ms(&self.headers).or_else(|| self.status().retry_after_ms())
    }
}

/// Reads Retry-After in milliseconds. apiservers give seconds; a date is ignored.
pub(crate) fn retry_after_ms(headers: &Headers) -> Option<u64> {
    let seconds: u64 = headers.get("retry-after")?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}

impl Probe {
    /// Writes the answer's event, with the sentence from its body.
    pub(crate) fn answered_by_refusal(&self, refusal: &Refusal, turn: &mut Turn<'_>) {
        let said = sentence(&refusal.body, self.spec.is_secrets());
        let (error, error_text) = said.unwrap_or_else(|| {
            let error = format!("the server answered {}", refusal.status);
            (error, ErrorText::StatusOnly)
        });
        turn.emit(RequestAnswered {
            watch: self.spec.name.clone(),
            request: refusal.asked.request,
            status: Some(refusal.status),
            retry_after_ms: refusal.retry_after_ms(),
            headers: worth_keeping(refusal.headers.clone()),
            error: Some(error),
            error_text: Some(error_text),
        });
        if refusal.unread > 0 {
            self.lose(
                FrameLoss::TooLong,
                refusal.unread,
                format!("the body of a refusal is longer than {BODY_LIMIT} bytes"),
                turn,
            );
        }
    }

    /// Acts on a refusal once its body was read.
    pub(crate) fn refused(&mut self, refusal: Refusal, turn: &mut Turn<'_>) {
        self.answered_by_refusal(&refusal, turn);
        let status = refusal.status();
        let retry_after_ms = refusal.retry_after_ms();
        let task = refusal.asked.task;
        if task != Task::List && self.progress.is_some() {
            self.open_gap(Cause::Refused);
        }
        match refusal.status {
            401 => self.unauthorized(turn),
            403 => self.forbidden(turn),
            404 => {
                // The resource may be gone, or served in another version. Then its objects are listed again.
                self.list.restart(false);
                self.task = self.list_task();
                turn.effect(Effect::Discover);
                self.refuse(PhaseReason::NotFound, turn);
            }
            410 if task == Task::List && self.list.token.is_some() => self.token_expired(turn),
            410 if task == Task::Watch => self.expired(turn),
            410 => self.relist(false, PhaseReason::Expired, turn),
            429 => self.fail_politely(PhaseReason::TooManyRequests, retry_after_ms, task, turn),
            500.. if status.is_too_large() => self.too_large(retry_after_ms, task, turn),
            408 | 500.. => self.fail_politely(PhaseReason::ServerError, retry_after_ms, task, turn),
            _ if task == Task::WatchList => {
                // 422 if the gate WatchList is off.
                self.fall_back_to_list();
                self.list.restart(self.list.at_progress);
                self.begin(Task::List, PhaseReason::WatchListRefused, turn);
            }
            _ if task == Task::List && self.list.at_progress => {
                // A server that refuses the constraint, as aggregated ones may, gets a request without it.
                self.relist(false, PhaseReason::BadRequest, turn);
            }
            _ => self.refuse(PhaseReason::BadRequest, turn),
        }
    }

    /// Handles a server that has not reached progress (F32), or never will (F33). The probe lists the most recent state
    /// at once, which shows where etcd is. The probe waits if that list is refused, too, or the stream after such a
    /// list.
    pub(crate) fn too_large(
        &mut self,
        retry_after_ms: Option<u64>,
        task: Task,
        turn: &mut Turn<'_>,
    ) {
        let why = PhaseReason::TooLarge;
        let is_most_recent = !self.list.at_progress || self.progress.is_none();
        match task {
            Task::List if is_most_recent => {
                self.fail_politely(why, retry_after_ms, task, turn);
            }
            Task::Watch => self.relist(false, why, turn),
            Task::List | Task::WatchList => {
                self.list.restart(false);
                self.begin(Task::List, why, turn);
            }
        }
    }
}

impl WatchSpec {
    /// Whether messages about this resource may quote values of Secrets.
    pub(crate) fn is_secrets(&self) -> bool {
        self.group.is_empty() && &*self.resource == "secrets"
    }
}

/// The message of a Status; `None` if there is none, or if it may quote a Secret.
pub(crate) fn message_of(status: &Status<'_>, about_secrets: bool) -> Option<String> {
    if about_secrets || status.is_about_secrets() {
        return None;
    }
    let message = status
        .message
        .as_deref()
        .filter(|message| !message.is_empty())?;
    Some(message.chars().take(MESSAGE_LIMIT).collect())
}

/// The message in a refusal's body, as a sentence. For a refusal about Secrets it is only the reason.
fn sentence(body: &[u8], about_secrets: bool) -> Option<(String, ErrorText)> {
    let text = std::str::from_utf8(body).ok()?.trim();
    match Status::parse(text) {
        Some(status) => match message_of(&status, about_secrets) {
            Some(message) => Some((message, ErrorText::Message)),
            None => {
                let reason = status.reason.as_deref()?;
                let reason: String = reason.chars().take(MESSAGE_LIMIT).collect();
                (!reason.is_empty()).then_some((reason, ErrorText::Reason))
            }
        },
        // Overload filters and proxies answer with text or HTML.
        None if about_secrets || text.is_empty() => None,
        None => {
            let line: Vec<&str> = text.split_whitespace().collect();
            let line = line.join(" ").chars().take(MESSAGE_LIMIT).collect();
            Some((line, ErrorText::Message))
        }
    }
}
