//! Rules about an end alone: its cause, its age, its ERROR, and a pause of watchscope.
//!
//! The rules in this file need neither the ends of other streams nor a wait. [`is_plain`] tries these rules before
//! other streams are looked at. A rule returns `None` if it does not apply.

use std::ops::RangeInclusive;

use watchscope_model::Row;
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{Cause, Certainty};

use super::end::{End, ServerError};
use super::judgement::Judgement;
use crate::server_words;

/// Greatest difference in ms between a stream's age and its timeout for which the stream ended by the timeout (F05;
/// docs/semantics/streams.md#rule-timeout). After a pause of watchscope, a later end counts as the timeout, too. The
/// number has no source: it covers the time that request and end take between client and server.
const TIMEOUT_SLACK_MS: u64 = 2_000;
/// Time in ms after the timeout within which an orderly end counts as a timeout that was held up, as by a buffering
/// proxy (F44; docs/semantics/streams.md#rule-timeout). A server that ends streams later than that does not keep to
/// timeouts. The number has no source.
const TIMEOUT_LATE_MS: u64 = 60_000;
/// Ages in ms at which a server ends a stream without a timeout: 1800 s to 3600 s
/// (docs/semantics/servers.md#watch-lifetime). The upper end has 2 s more as slack, as in [`TIMEOUT_SLACK_MS`]. After a
/// pause of watchscope, the lower end counts as the timeout of a stream without one.
const SERVER_TIMEOUT_MS: RangeInclusive<u64> = 1_800_000..=3_602_000;
/// Time in ms after the timeout from which on a silent stream may come from a server that keeps to no timeouts
/// (docs/semantics/streams.md#rule-silence). At this time the probe gives up a silent stream that no side watch can
/// check (`WATCH_GRACE_MS`). The number has no other source.
const OVERDUE_MS: u64 = 30_000;

/// Returns whether the end explains itself, so that its judgement needs neither other ends nor more time.
///
/// A reset is plain as well, but later facts may show that the server went away.
pub(super) fn is_plain(end: &End) -> bool {
    let rules = [
        own_cancel,
        error_event,
        timeout,
        silence,
        goaway_last_word,
        unread_frame,
        reset,
    ];
    rules.iter().any(|rule| rule(end).is_some()) || end.pause.is_some_and(|pause| !pause.is_short)
}

/// Judges an end after a pause of watchscope itself: the machine slept, or gave watchscope no CPU time. The pause is to
/// blame unless the server gave a reason. If the stream's timeout passed during the pause, the end is normal.
///
/// A short pause closes no connection. A short pause only makes a server give up a client that does not read, or makes
/// watchscope take a stream for silent.
pub(super) fn pause(end: &End) -> Option<Judgement> {
    let pause = end.pause?;
    let may_explain = match end.cause {
        Cause::Cancelled | Cause::ErrorEvent | Cause::Goaway | Cause::Decode => false,
        Cause::End | Cause::RstStream | Cause::IdleTimeout => true,
        _ => !pause.is_short,
    };
    if !may_explain || is_of_timeout(end).is_some() {
        return None;
    }
    let timeout_ms = end.stream.timeout_ms.unwrap_or(*SERVER_TIMEOUT_MS.start());
    let why = if end.cause == Cause::End && end.age_ms + TIMEOUT_SLACK_MS >= timeout_ms {
        Attributed::Normal
    } else {
        Attributed::Ours
    };
    Some(end.judged(why, Certainty::Likely).with([pause.seq]))
}

/// Judges an end that watchscope itself caused.
pub(super) fn own_cancel(end: &End) -> Option<Judgement> {
    (end.cause == Cause::Cancelled).then(|| end.judged(Attributed::Ours, Certainty::Definite))
}

/// Judges an end by an ERROR event: code and words of the event name the row.
pub(super) fn error_event(end: &End) -> Option<Judgement> {
    if end.cause != Cause::ErrorEvent {
        return None;
    }
    let unknown = || end.judged(Attributed::Unknown, Certainty::Unknown);
    let Some(error) = &end.stream.error else {
        return Some(unknown());
    };
    let judgement = match row_of(error) {
        Some((row, certainty)) => end.judged(row, certainty),
        None => unknown(),
    };
    Some(judgement.with([error.seq]))
}

/// Judges an end by the stream's timeout, which is a normal end.
pub(super) fn timeout(end: &End) -> Option<Judgement> {
    let certainty = match end.cause {
        Cause::End => is_of_timeout(end)?,
        // If a body ends with its connection, a timeout ends the connection too.
        Cause::Eof if is_at_timeout(end) => Certainty::Likely,
        _ => return None,
    };
    Some(end.judged(Attributed::Normal, certainty))
}

/// Judges the end of a stream that watchscope or the kernel closed as dead (F04). A side watch or an unanswered ping
/// proved the stream dead, or its end did not come after its timeout.
pub(super) fn silence(end: &End) -> Option<Judgement> {
    if end.cause != Cause::IdleTimeout {
        return None;
    }
    let is_overdue = |timeout_ms: u64| end.age_ms >= timeout_ms.saturating_add(OVERDUE_MS);
    let certainty = if end.stream.timeout_ms.is_some_and(is_overdue) {
        Certainty::Suspected
    } else {
        Certainty::Definite
    };
    Some(end.judged(Row::F04, certainty))
}

/// Judges an end that a GOAWAY frame itself caused (F09).
pub(super) fn goaway_last_word(end: &End) -> Option<Judgement> {
    (end.cause == Cause::Goaway).then(|| end.judged(Row::F09, Certainty::Definite).with(end.goaway))
}

/// Judges an end by an unreadable frame: an object of another kind (F39), or no valid document (F38).
pub(super) fn unread_frame(end: &End) -> Option<Judgement> {
    if end.cause != Cause::Decode {
        return None;
    }
    let (row, certainty) = match end.stream.unread {
        Some(unread) if unread.is_other_kind => (Row::F39, Certainty::Definite),
        _ => (Row::F38, Certainty::Suspected),
    };
    let evidence = end.stream.unread.map(|unread| unread.seq);
    Some(end.judged(row, certainty).with(evidence))
}

/// Judges an end by a reset of the connection.
pub(super) fn reset(end: &End) -> Option<Judgement> {
    (end.cause == Cause::TcpReset).then(|| end.judged(Row::F08, Certainty::Definite))
}

/// Returns whether the stream ended at the timeout that it asked for, give or take [`TIMEOUT_SLACK_MS`].
fn is_at_timeout(end: &End) -> bool {
    let asked = end.stream.timeout_ms;
    asked.is_some_and(|timeout_ms| end.age_ms.abs_diff(timeout_ms) <= TIMEOUT_SLACK_MS)
}

/// Returns how certain it is that an orderly end at this age came from the timeout; `None` if it did not.
fn is_of_timeout(end: &End) -> Option<Certainty> {
    let is_late = match end.stream.timeout_ms {
        Some(_) if is_at_timeout(end) => return Some(Certainty::Definite),
        Some(timeout_ms) => {
            let latest = timeout_ms.saturating_add(TIMEOUT_LATE_MS);
            (timeout_ms..=latest).contains(&end.age_ms)
        }
        None => SERVER_TIMEOUT_MS.contains(&end.age_ms),
    };
    is_late.then_some(Certainty::Likely)
}

/// Returns the catalogue row of an ERROR's status, with its certainty (docs/semantics/streams.md#rule-error); `None` if
/// no row applies.
fn row_of(error: &ServerError) -> Option<(Row, Certainty)> {
    let message = error.message.as_deref().unwrap_or("");
    let reason = error.reason.as_deref().unwrap_or("");
    Some(match error.code {
        410 if server_words::is_expired(message) => (Row::F11, Certainty::Definite),
        410 if server_words::is_compacted(message) => (Row::F12, Certainty::Definite),
        // A 410 without words does not say which history ended.
        410 => (Row::F11, Certainty::Suspected),
        504 if server_words::is_too_large(message) => (Row::F32, Certainty::Suspected),
        500 if server_words::is_leaderless(message) => (Row::F16, Certainty::Likely),
        500 if server_words::is_storage_read_error(reason) => (Row::F38, Certainty::Likely),
        500 if server_words::is_prev_kv_lost(message) => (Row::F24, Certainty::Suspected),
        _ => return None,
    })
}
