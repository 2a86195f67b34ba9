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
            ": it was to go on from {from}, and the oldest left is {oldest}, {} later",
            oldest - from
        ),
        (Some(from), _) => format!(": it was to go on from {from}"),
        (None, _) => String::new(),
    }
}

/// Returns the sentence about a type that was quiet until its version was compacted, if it was.
fn quiet(end: &Pending) -> String {
    match end.quiet_ms() {
        Some(quiet_ms) if quiet_ms > QUIET_TYPE_MS => format!(
            " Neither event nor bookmark had moved it on for {}, while others wrote: what is quiet for so long expires.",
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
            "Nothing came to {watch} any more, nor did its stream end when it was to: given up {after}. Its connection is \
             dead, or its server keeps to no timeouts."
        ),
        Row::F04 => format!(
            "Nothing came to {watch} any more, and nothing said so: its connection was found dead {after}."
        ),
        Row::F06 if is_suspected => format!(
            "The server of {watch} went away {after}, or its connections were closed on their way."
        ),
        Row::F06 => format!(
            "The server of {watch} went away {after}; it was not reached again at once, or elsewhere."
        ),
        Row::F07 => {
            format!("The server of {watch} ended the stream {after}, because it shuts down.")
        }
        Row::F08 => format!("The connection of {watch} was reset {after}."),
        Row::F09 => format!(
            "The server said GOAWAY, and the stream of {watch} ended with its connection {after}."
        ),
        Row::F11 => format!(
            "The server no longer has the history that {watch} asked for in its watch cache (410){}.",
            asked_from(end)
        ),
        Row::F12 => format!(
            "etcd has compacted the history that {watch} asked for (410){}.{}",
            asked_from(end),
            quiet(end)
        ),
        Row::F16 if end.error_facts.is_leaderless => format!(
            "etcd had no leader, and the server ended {watch} {after}: it goes to etcd itself, without a cache."
        ),
        Row::F16 => {
            format!("The server ended {watch} {after}: its cache of the resource begins anew.")
        }
        Row::F17 => {
            format!("The server ended {watch} {after}: the storage of its type was built anew.")
        }
        Row::F24 => format!(
            "The server told {watch} that etcd gave it an event without what was there before, {after}."
        ),
        Row::F36 if end.unread_ms.is_none() => format!(
            "The server ended {watch} {after}, and at least {REPLAYED} events came at once when it went on: the buffer \
             that the server keeps for a watch was full, most likely."
        ),
        Row::F36 => format!(
            "The server ended {watch} {after}, and watchscope itself had not read it for {}: the buffer that the server \
             keeps for a watch was full, most likely.",
            seconds(end.unread_ms.unwrap_or(0))
        ),
        Row::F37 => format!(
            "The server ended {watch} {after}, before all that was there had come, and not for the first time."
        ),
        Row::F38 => {
            format!("What came to {watch} could not be read; the stream was given up {after}.")
        }
        Row::F39 => {
            format!("An object of another kind came to {watch}; the stream was given up {after}.")
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
            "Nothing came over a connection to {server} any more, nor did its streams end when they were to: it is dead, \
             or the server keeps to no timeouts."
        ),
        Row::F04 => format!(
            "Nothing came over a connection to {server} any more, and nothing said so: it was found dead."
        ),
        Row::F06 if is_suspected => capital(format!(
            "{server} went away, or its connections were closed on their way."
        )),
        Row::F06 => capital(format!(
            "{server} went away; it was not reached again at once, or elsewhere."
        )),
        Row::F07 => capital(format!(
            "{server} ended its streams, because it shuts down."
        )),
        Row::F08 => format!("A connection to {server} was reset."),
        Row::F09 => capital(format!(
            "{server} said GOAWAY, and the streams of that connection ended with it."
        )),
        Row::F16 if end.error_facts.is_leaderless => format!(
            "etcd had no leader, and {server} ended the streams of {what}: they go to etcd itself, without a cache."
        ),
        Row::F16 => capital(format!(
            "{server} ended the streams of {what}: its cache of the resource begins anew."
        )),
        Row::F17 => capital(format!(
            "{server} ended the streams of {what}: the storage of the type was built anew."
        )),
        Row::F37 => capital(format!(
            "{server} ended streams of {what} before all that was there had come, and not for the first time."
        )),
        Row::F38 => {
            format!("What {server} sent of {what} could not be read; the streams were given up.")
        }
        Row::F47 => format!("Streams of a connection to {server} ended inside an event."),
        _ => format!("Streams of {what} at {server} ended."),
    }
}

/// Returns words with a capital letter, as a sentence begins.
fn capital(mut words: String) -> String {
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}
