//! The phase of a watch and its reason, in a sentence.

use watchscope_model::vocabulary::{Phase, PhaseReason};

use crate::format::duration;

/// Returns what a watch does and why, in one sentence with its full stop. `delay_ms` is the wait before the next
/// request in ms; `None` if the phase has none. The sentence names the wait only for waiting and refused watches.
#[must_use]
pub fn phase_sentence(phase: Phase, reason: PhaseReason, delay_ms: Option<u64>) -> String {
    phase_words(phase, reason, delay_ms, false)
}

/// Returns the sentence of a phase in the present tense if it goes on, or in the past tense if it is over.
pub(super) fn phase_words(
    phase: Phase,
    reason: PhaseReason,
    delay_ms: Option<u64>,
    is_over: bool,
) -> String {
    let delay = delay_ms.map(|delay| {
        duration(
            i64::try_from(delay)
                .unwrap_or(i64::MAX / 1_000)
                .saturating_mul(1_000),
        )
    });
    let doing = match (phase, &delay) {
        (Phase::Connecting, _) => "Asking for a stream and waiting for the answer".to_string(),
        (Phase::Listing, _) => "Reading a list of all objects".to_string(),
        (Phase::Streaming, _) if is_over => "It received events as they happened".to_string(),
        (Phase::Streaming, _) => "Receiving events as they happen".to_string(),
        (Phase::Waiting, Some(delay)) => format!("Waiting {delay} before the next request"),
        (Phase::Waiting, None) => "Waiting before the next request".to_string(),
        (Phase::Refused, Some(delay)) => format!("Refused, and asking again only after {delay}"),
        (Phase::Refused, None) => "Refused".to_string(),
        (Phase::Stopped, _) => "Not watching".to_string(),
        (Phase::Unknown, _) => "In a phase that this page does not know".to_string(),
    };
    format!("{doing}, because {}.", because(reason))
}

/// Returns the reason of a phase, after "because".
fn because(reason: PhaseReason) -> &'static str {
    match reason {
        PhaseReason::Started => "the watch has just been started",
        PhaseReason::FirstList => "a watch begins with a list to know what exists",
        PhaseReason::Listed => {
            "the list is complete and the stream goes on from its resourceVersion"
        }
        PhaseReason::Opened => "the server accepted the watch",
        PhaseReason::Resume => "the stream ended and is opened again from the last resourceVersion",
        PhaseReason::ShortStream => "two streams in a row were short, and it spares the server",
        PhaseReason::Expired => {
            "the server answered 410: the history since the last resourceVersion is gone"
        }
        PhaseReason::TooLarge => "this server has not reached the requested resourceVersion",
        PhaseReason::ErrorEvent => {
            "the server sent an ERROR event, so the stream cannot be trusted"
        }
        PhaseReason::Decode => "some bytes could not be decoded and may have hidden an event",
        PhaseReason::TooManyRequests => "the server answered 429: try again later",
        PhaseReason::Unauthorized => "the server answered 401: it does not know these credentials",
        PhaseReason::Forbidden => {
            "the server answered 403: this account may not list or watch here"
        }
        PhaseReason::NotFound => "the server answered 404: it does not serve this resource",
        PhaseReason::BadRequest => "the server refused the request as malformed",
        PhaseReason::ServerError => "the server answered with an internal error",
        PhaseReason::Unreachable => "the server could not be reached",
        PhaseReason::TlsFailed => "the TLS handshake failed",
        PhaseReason::Timeout => "no answer came in time",
        PhaseReason::Broken => "the connection broke before the answer was complete",
        PhaseReason::Idle => "nothing came for too long, and a second watch proved the stream dead",
        PhaseReason::StopRequested => "someone asked it to stop",
        PhaseReason::NotDiscovered => "the server does not list this resource (yet)",
        PhaseReason::Credentials => "there were no credentials",
        PhaseReason::RetryDue => "the wait is over",
        PhaseReason::WatchListRefused => {
            "this server refuses streaming lists, so the watch makes an ordinary list"
        }
        PhaseReason::InitialEventsEnd => "the initial events are complete",
        PhaseReason::Malformed => "an answer did not have the shape of a list",
        PhaseReason::Restored => "a list shows that etcd went back to an older state",
        PhaseReason::Unknown => "of a reason that this page does not know",
    }
}
