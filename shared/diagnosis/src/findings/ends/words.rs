//! The sentences about ends.

use watchscope_model::Row;

use super::pending::{Pending, QUIET_TYPE_MS};
use crate::attribution::REPLAYED;
use crate::findings::place::Place;
use crate::text::{count, seconds};

fn asked_from(end: &Pending) -> String {
    match (
        end.course.from.filter(|from| *from > 0),
        end.error_facts.oldest,
    ) {
        (Some(from), Some(oldest)) if oldest > from => format!(
            ". It asked to resume from {from}; the oldest version to resume from is {oldest}, {} later",
            oldest - from
        ),
        (Some(from), _) => format!(". It asked to resume from {from}"),
        (None, _) => String::new(),
    }
}

/// Returns the sentence that a resource was so quiet that the watch's version was compacted; empty if it was not.
fn quiet(end: &Pending) -> String {
    match end.quiet_ms() {
        Some(quiet_ms) if quiet_ms > QUIET_TYPE_MS => format!(
            " No event or bookmark had advanced it for {} while others wrote, so its version expired.",
            seconds(quiet_ms)
        ),
        _ => String::new(),
    }
}

pub(super) fn sentence(row: Row, is_suspected: bool, end: &Pending) -> String {
    let watch = &end.watch;
    let after = format!(
        "after {} and {}",
        seconds(end.age_ms),
        count(end.events, "event")
    );
    match row {
        Row::F04 if is_suspected => format!(
            "{watch} received nothing more, and its stream did not end at its timeout: watchscope gave it up \
             {after}. Its connection is dead, or its server ignores timeouts."
        ),
        Row::F04 => format!(
            "{watch} received nothing more, and nothing reported an end: its connection was found dead {after}."
        ),
        Row::F06 if is_suspected => format!(
            "The server of {watch} went away {after}, or something on the way closed its connections."
        ),
        Row::F06 => format!(
            "The server of {watch} went away {after}; it could not be reached at once, or only at another address."
        ),
        Row::F07 => {
            format!("The server of {watch} ended the stream {after}, because it shuts down.")
        }
        Row::F08 => format!("The connection of {watch} was reset {after}."),
        Row::F09 => format!(
            "The server sent GOAWAY, and the stream of {watch} ended with its connection {after}."
        ),
        Row::F11 => format!(
            "The server's watch cache no longer has the history that {watch} asked for (410){}.",
            asked_from(end)
        ),
        Row::F12 => format!(
            "etcd has compacted the history that {watch} asked for (410){}.{}",
            asked_from(end),
            quiet(end)
        ),
        Row::F16 if end.error_facts.is_leaderless => format!(
            "etcd had no leader, so the server ended {watch} {after}: it reads etcd directly, without a cache."
        ),
        Row::F16 => {
            format!("The server ended {watch} {after}: its cache of the resource begins anew.")
        }
        Row::F17 => {
            format!("The server ended {watch} {after}: the storage of its type was rebuilt.")
        }
        Row::F24 => format!(
            "The server ended {watch} with an ERROR {after}: etcd gave it an event without the previous value."
        ),
        Row::F36 if end.unread_ms.is_none() => format!(
            "The server ended {watch} {after}, and at least {REPLAYED} events came at once when it resumed. Most \
             likely the server's buffer for this watch was full."
        ),
        Row::F36 => format!(
            "The server ended {watch} {after}, and watchscope itself had not read it for {}. Most likely the \
             server's buffer for this watch was full.",
            seconds(end.unread_ms.unwrap_or(0))
        ),
        Row::F37 => format!(
            "The server ended {watch} {after}, before its initial events were complete, and not for the first time."
        ),
        Row::F38 => {
            format!(
                "{watch} received data that could not be read; watchscope closed the stream {after}."
            )
        }
        Row::F39 => {
            format!(
                "{watch} received an object of another kind; watchscope closed the stream {after}."
            )
        }
        Row::F47 => format!("The stream of {watch} ended inside an event {after}."),
        _ => format!("The stream of {watch} ended {after}."),
    }
}

/// Returns the sentence of a finding about several streams.
pub(super) fn shared_sentence(
    row: Row,
    is_suspected: bool,
    end: &Pending,
    place: &Place,
) -> String {
    let (server, what) = (place.server_words(), place.type_words());
    match row {
        Row::F04 if is_suspected => format!(
            "A connection to {server} delivered nothing more, and its streams did not end at their timeouts. It is \
             dead, or the server ignores timeouts."
        ),
        Row::F04 => format!(
            "A connection to {server} delivered nothing more, and nothing reported an end: it was found dead."
        ),
        Row::F06 if is_suspected => capital(format!(
            "{server} went away, or something on the way closed its connections."
        )),
        Row::F06 => capital(format!(
            "{server} went away; it could not be reached at once, or only at another address."
        )),
        Row::F07 => capital(format!(
            "{server} ended its streams, because it shuts down."
        )),
        Row::F08 => format!("A connection to {server} was reset."),
        Row::F09 => capital(format!(
            "{server} sent GOAWAY, and the streams of that connection ended with it."
        )),
        Row::F16 if end.error_facts.is_leaderless => format!(
            "etcd had no leader, so {server} ended the streams of {what}: they read etcd directly, without a cache."
        ),
        Row::F16 => capital(format!(
            "{server} ended the streams of {what}: its cache of the resource begins anew."
        )),
        Row::F17 => capital(format!(
            "{server} ended the streams of {what}: the storage of the type was rebuilt."
        )),
        Row::F37 => capital(format!(
            "{server} ended streams of {what} before their initial events were complete, and not for the first time."
        )),
        Row::F38 => capital(format!(
            "{server} sent data of {what} that could not be read; watchscope closed the streams."
        )),
        Row::F47 => format!("Streams of a connection to {server} ended inside an event."),
        _ => format!("Streams of {what} at {server} ended."),
    }
}

/// Returns the words with their first letter in upper case, as a sentence begins.
fn capital(mut words: String) -> String {
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}
