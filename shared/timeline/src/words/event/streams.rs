//! Words for streams: their opening, bookmarks, errors, and why they end.

use watchscope_model::event::{Attribution, Bookmark, StreamEnded, StreamError, StreamOpened};
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{Cause, Certainty};

use super::fields::Fields;
use crate::format::{count, millis, number, version};
use crate::phrases::{cause_words, how_sure};

pub(super) fn stream_opened(event: &StreamOpened) -> String {
    let number = event
        .http2_stream
        .map_or(String::new(), |number| format!(" (HTTP/2 stream {number})"));
    let from = event
        .resource_version
        .as_ref()
        .map_or(String::new(), |from| {
            format!(" from resourceVersion {}", version(from))
        });
    format!("Stream {}{number} opened{from}.", event.stream)
}

pub(super) fn stream_ended(event: &StreamEnded) -> String {
    let unread = event.unread_ms.map_or(String::new(), |unread_ms| {
        format!(" watchscope had not read it for {}.", millis(unread_ms))
    });
    format!(
        "Stream {} {} after {} and {}.{unread}",
        event.stream,
        ended(event.cause),
        millis(event.age_ms),
        count(event.events, "event")
    )
}

pub(super) fn bookmark(event: &Bookmark) -> String {
    let end = if event.initial_events_end == Some(true) {
        "; the initial events are complete"
    } else {
        ""
    };
    format!(
        "BOOKMARK: nothing up to resourceVersion {} is missing{end}.",
        version(&event.resource_version)
    )
}

pub(super) fn stream_error(event: &StreamError) -> String {
    let reason = event.reason.as_deref().unwrap_or("no reason given");
    let message = event.message.as_deref().map_or(String::new(), |message| {
        format!(": {}", message.trim_end_matches('.'))
    });
    // What the code means for a client; the other codes need no explanation.
    let means = match event.code {
        410 => {
            " The history after the last resourceVersion is gone: only a list can show what was missed."
        }
        _ => "",
    };
    format!(
        "ERROR {} ({reason}) ended stream {}{message}.{means}",
        event.code, event.stream
    )
}

pub(super) fn stream_error_fields(event: &StreamError, fields: &mut Fields) {
    fields.push(("stream", event.stream.to_string()));
    fields.push(("code", event.code.to_string()));
    fields.extend(
        event
            .reason
            .as_ref()
            .map(|reason| ("reason", reason.to_string())),
    );
}

pub(super) fn bookmark_fields(event: &Bookmark, fields: &mut Fields) {
    fields.push(("stream", event.stream.to_string()));
    fields.push(("resourceVersion", version(&event.resource_version)));
}

pub(super) fn stream_ended_fields(event: &StreamEnded, fields: &mut Fields) {
    fields.push(("stream", event.stream.to_string()));
    fields.push(("cause", event.cause.to_string()));
    fields.extend(
        event
            .reset_code
            .map(|code| ("error code", code.to_string())),
    );
    fields.push(("events", number(event.events)));
    fields.push(("bytes", number(event.bytes)));
}

/// Returns how a stream ended: "ended (reset by peer)", or only the cause's words if these begin with "ended".
fn ended(cause: Cause) -> String {
    let words = cause_words(cause);
    match cause {
        Cause::End | Cause::ErrorEvent | Cause::Unknown => words.to_owned(),
        _ => format!("ended ({words})"),
    }
}

/// Returns why a stream ended.
pub(super) fn attribution(event: &Attribution) -> String {
    let stream = event.stream;
    let code = &*event.code;
    let how_sure = how_sure(event.certainty);
    match event.why() {
        Some(Attributed::Normal) => {
            format!("Stream {stream} ended at its timeout, as it should.")
        }
        Some(Attributed::Ours) if event.certainty == Certainty::Definite => {
            format!("watchscope ended stream {stream}.")
        }
        Some(Attributed::Ours) => {
            format!(
                "Stream {stream} ended while watchscope did not run, {how_sure}because of that."
            )
        }
        Some(Attributed::Unknown) => format!("It is unknown why stream {stream} ended."),
        Some(Attributed::Row(row)) => {
            format!("Stream {stream} ended: {how_sure}{} ({code}).", row.name())
        }
        None => format!("Stream {stream} ended: {how_sure}{code}."),
    }
}
