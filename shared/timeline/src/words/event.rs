//! Each kind of event as a sentence and as named particulars; the page and the terminal have no other words for them.

use watchscope_model::Time;
use watchscope_model::event::{Attribution, Change, Event, Note};
use watchscope_model::row::Attributed;
use watchscope_model::vocabulary::{
    AuditMethod, AuditOutcome, Author, Cause, Certainty, ChangeType, ClientPhase, LossPlace,
    Origin, Standing,
};

use super::phase::phase_sentence;
use crate::findings::watches_of;
use crate::format::{clock_ms, count, date, duration, number, version};
use crate::phrases::{cause_words, how_sure, name_in, protocol};

/// An event in words.
#[must_use]
pub fn event_words(event: &Event) -> String {
    match event {
        Event::ClusterConnected(event) => {
            format!(
                "Cluster {} answered at {}; it runs {}.",
                event.cluster, event.server, event.version
            )
        }
        Event::ConnectionOpened(event) => {
            let with = event
                .alpn
                .as_deref()
                .map_or(String::new(), |alpn| format!(" with {}", protocol(alpn)));
            let runs = event.version.as_ref().map_or(String::new(), |version| {
                format!("; the server runs {version}")
            });
            format!(
                "Connection {} to {} opened{with}{runs}.",
                event.connection, event.remote
            )
        }
        Event::ConnectionGoaway(event) => {
            format!(
                "The server takes no new streams on connection {} (GOAWAY, code {}).",
                event.connection, event.code
            )
        }
        Event::ConnectionClosed(event) => {
            format!(
                "Connection {} is gone: {}.",
                event.connection,
                cause_words(event.cause)
            )
        }
        Event::WatchStarted(event) => {
            let by = event.server.as_ref();
            let by = by.map_or(String::new(), |server| format!(", by {server} only"));
            let versions = if event.aggregated == Some(true) {
                " Its resourceVersions are another apiserver's, and only compared for equality."
            } else {
                ""
            };
            format!("Watch {} started{by}.{versions}", event.watch)
        }
        Event::WatchPhase(event) => {
            let sentence = phase_sentence(event.to, event.reason, event.delay_ms);
            match &event.error {
                Some(error) => format!("{} ({error}).", sentence.trim_end_matches('.')),
                None => sentence,
            }
        }
        Event::WatchStopped(event) => format!("Watch {} stopped.", event.watch),
        Event::RequestSent(event) => {
            let query = event
                .query
                .as_ref()
                .map_or(String::new(), |query| format!("?{query}"));
            format!(
                "Request {}: {} {}{query} on connection {}.",
                event.request, event.verb, event.path, event.connection
            )
        }
        Event::RequestAnswered(event) => match (event.status, &event.error) {
            (Some(status), None) => format!("Request {} was answered {status}.", event.request),
            (Some(status), Some(error)) => {
                format!("Request {} was answered {status}: {error}", event.request)
            }
            (None, Some(error)) => format!("Request {} got no answer: {error}", event.request),
            (None, None) => format!("Request {} got no answer.", event.request),
        },
        Event::ListPage(event) => {
            let rest = event
                .remaining
                .map_or(String::new(), |rest| format!(", {} remain", number(rest)));
            let at = version(&event.resource_version);
            let lower = match (&event.object, &event.listed) {
                (Some(object), Some(listed)) => format!(
                    " It has {} at {}, which is held at a later version.",
                    name_in(&event.watch, object),
                    version(listed)
                ),
                _ => String::new(),
            };
            format!(
                "A page of {} arrived, at resourceVersion {at}{rest}.{lower}",
                count(event.items, "item")
            )
        }
        Event::ListComplete(event) => format!(
            "The list is complete: {} at resourceVersion {}. Against what was held: {} new, {} changed, {} gone.",
            count(event.items, "item"),
            version(&event.resource_version),
            number(event.added),
            number(event.changed),
            number(event.removed)
        ),
        Event::StreamOpened(event) => {
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
        Event::StreamEnded(event) => {
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
        Event::Attribution(event) => attribution(event),
        Event::Change(event) => change(event),
        Event::Bookmark(event) => {
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
        Event::StreamError(event) => {
            let reason = event.reason.as_deref().unwrap_or("no reason given");
            let message = event.message.as_deref().map_or(String::new(), |message| {
                format!(": {}", message.trim_end_matches('.'))
            });
            // What a client has to know of it; the other codes say nothing of their own.
            let means = match event.code {
                410 => {
                    " The history after the last resourceVersion is gone: only a list can tell what was missed."
                }
                _ => "",
            };
            format!(
                "ERROR {} ({reason}) ended stream {}{message}.{means}",
                event.code, event.stream
            )
        }
        Event::Gap(event) => match (event.resumed, event.lost) {
            (true, _) => {
                "The gap closed: resumed from where it stopped, nothing is lost.".to_string()
            }
            (false, Some(lost)) => format!(
                "The gap closed without a resume: {} missed.",
                count(lost, "event")
            ),
            (false, None) => {
                "The gap closed without a resume: how many events were missed is unknown."
                    .to_string()
            }
        },
        Event::Audit(event) => {
            let why = event.reason.as_ref().map(|why| format!(": {why}"));
            let what = match (&event.object, event.method()) {
                (Some(object), _) => name_in(&event.watch, object),
                // What the second watch compares is what both were told.
                (None, AuditMethod::SecondWatch) => count(event.compared, "event"),
                // One object may be looked at more than once.
                (None, AuditMethod::Get | AuditMethod::ListOne) => count(event.compared, "sample"),
                (None, _) => count(event.compared, "object"),
            };
            if event.outcome() == AuditOutcome::CannotTell {
                let why = why.unwrap_or_default();
                return format!("An audit ({}) cannot tell{why}.", event.method);
            }
            format!(
                "An audit read of {what} ({}): {}{}.",
                event.method,
                event.outcome,
                why.unwrap_or_default()
            )
        }
        Event::Verdict(event) => {
            let state = if event.state == Standing::Cleared {
                "no longer"
            } else {
                "now"
            };
            format!(
                "{} is {state} {} ({}).",
                name_in(&event.watch, &event.object),
                event.kind,
                event.certainty
            )
        }
        Event::Finding(event) => {
            let times = match event.count {
                Some(count) if count > 1 => format!(" ({} times)", number(count)),
                _ => String::new(),
            };
            format!(
                "{} {} {}{times}: {}",
                event.code, event.name, event.state, event.summary
            )
        }
        Event::Loss(event) => {
            let reason = event
                .reason
                .as_deref()
                .map_or(String::new(), |reason| format!(" {reason}"));
            let (all, plural) = (number(event.count), if event.count == 1 { "" } else { "s" });
            match event.place {
                LossPlace::Body if event.count == 1 => format!("1 body not kept.{reason}"),
                LossPlace::Body => format!("{all} bodies not kept.{reason}"),
                LossPlace::Frame => format!("{all} frame{plural} not read.{reason}"),
                place => format!("Lost ({place}): {all} record{plural}.{reason}"),
            }
        }
        Event::Clock(event) => match event.paused_ms {
            None => format!("The wall clock is {} ms off the log's.", event.off_ms),
            Some(paused_ms) => format!(
                "watchscope did not run for {}: the machine slept, or had no time for it. What was late then was late by \
                 us.",
                millis(paused_ms)
            ),
        },
        Event::ClientStarted(event) => {
            format!("Client {} ({}) started.", event.client, event.program)
        }
        Event::ClientRequest(event) => format!("Client {} asked {}.", event.client, event.request),
        Event::ClientReport(event) => {
            let (turns, handled) = (
                count(event.iterations, "turn"),
                count(event.handled, "event"),
            );
            if event.doing() == ClientPhase::Spinning {
                return format!(
                    "Client {} is spinning: its loop reads a stream that is no more, {turns} so far; it handled {handled}.",
                    event.client
                );
            }
            format!(
                "Client {} is {}; it handled {handled} in {turns} of its loop.",
                event.client, event.phase
            )
        }
        Event::Note(event) => note(event),
    }
}

/// What a narrator says, as it is; of a person's note also that it is one, and what it is about.
fn note(note: &Note) -> String {
    if note.author != Author::Person {
        return note.text.clone();
    }
    let mut words = match (note.text.is_empty(), &note.replaces) {
        (true, _) => return "Note withdrawn".to_owned(),
        (false, Some(_)) => format!("Note changed: {}", note.text),
        (false, None) => format!("Note: {}", note.text),
    };
    if let Some(object) = &note.object {
        let namespace = object.namespace.as_deref();
        let namespace = namespace.map_or(String::new(), |name| format!("{name}/"));
        words += &format!(" (on {namespace}{})", object.name);
    }
    match (note.from, note.to) {
        (Some(from), Some(to)) if from < to => {
            words += &format!(" (about {} to {} UTC)", moment(from), moment(to));
        }
        (Some(at), _) => words += &format!(" (about {} UTC)", moment(at)),
        (None, _) => {}
    }
    words
}

/// `2026-11-19 09:35:28.911`.
fn moment(at: Time) -> String {
    format!("{} {}", date(at), clock_ms(at))
}

/// How a stream ended: "ended (reset by peer)", or its cause alone where that begins so.
fn ended(cause: Cause) -> String {
    let words = cause_words(cause);
    match cause {
        Cause::End | Cause::ErrorEvent | Cause::Unknown => words.to_owned(),
        _ => format!("ended ({words})"),
    }
}

fn change(change: &Change) -> String {
    let name = name_in(&change.watch, &change.object);
    let at = version(&change.resource_version);
    let status = change
        .subresource
        .as_deref()
        .map_or(String::new(), |sub| format!(" ({sub})"));
    match (change.change, change.origin) {
        (ChangeType::Deleted, Origin::Inferred) => {
            // On a stream it is another object that has come in its place, or initial events that are complete without it.
            let why = match change.stream {
                Some(stream) => format!("stream {stream} shows that it is gone: deleted unheard"),
                None => "is not in the list: deleted while away".to_owned(),
            };
            format!("{name} was held and {why}, last seen at resourceVersion {at}.")
        }
        (kind, Origin::List) => {
            format!("{kind} {name} at resourceVersion {at}, learned from a list.")
        }
        (kind, Origin::Initial) => {
            format!("{kind} {name} at resourceVersion {at}, one of the initial events.")
        }
        (kind, _) => match &change.manager {
            Some(manager) => format!("{kind} {name} at resourceVersion {at} by {manager}{status}."),
            None => format!("{kind} {name} at resourceVersion {at}."),
        },
    }
}

/// The particulars of an event, by name.
pub(super) fn fields(event: &Event) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    if let Some(watch) = event.watch() {
        fields.push(("watch", watch.to_string()));
    }
    match event {
        Event::Change(event) => {
            let object = &event.object;
            fields.extend(
                object
                    .namespace
                    .as_ref()
                    .map(|namespace| ("namespace", namespace.to_string())),
            );
            fields.push(("name", object.name.to_string()));
            fields.push(("uid", object.uid.to_string()));
            fields.push(("resourceVersion", version(&event.resource_version)));
            fields.extend(
                event
                    .generation
                    .map(|generation| ("generation", number(generation))),
            );
            fields.extend(
                event
                    .manager
                    .as_ref()
                    .map(|manager| ("manager", manager.to_string())),
            );
            fields.extend(
                event
                    .subresource
                    .as_ref()
                    .map(|sub| ("subresource", sub.to_string())),
            );
            fields.push(("origin", event.origin.to_string()));
            fields.extend(event.stream.map(|stream| ("stream", stream.to_string())));
            fields.extend(event.bytes.map(|bytes| ("bytes", number(bytes))));
        }
        Event::ClientReport(event) => {
            fields.push(("phase", event.phase.to_string()));
            fields.push(("turns of its loop", number(event.iterations)));
            fields.push(("events handled", number(event.handled)));
        }
        Event::WatchPhase(event) => {
            fields.push(("phase", event.to.to_string()));
            fields.push(("reason", event.reason.to_string()));
            fields.extend(
                event
                    .error
                    .as_ref()
                    .map(|error| ("error", error.to_string())),
            );
        }
        Event::RequestAnswered(event) => {
            fields.extend(event.status.map(|status| ("status", status.to_string())));
            fields.extend(
                event
                    .retry_after_ms
                    .map(|wait| ("Retry-After", format!("{} s", wait / 1_000))),
            );
        }
        Event::StreamError(event) => {
            fields.push(("stream", event.stream.to_string()));
            fields.push(("code", event.code.to_string()));
            fields.extend(
                event
                    .reason
                    .as_ref()
                    .map(|reason| ("reason", reason.to_string())),
            );
        }
        Event::ListComplete(event) => {
            fields.push(("resourceVersion", version(&event.resource_version)));
            fields.push(("items", number(event.items)));
            fields.push(("new", number(event.added)));
            fields.push(("changed", number(event.changed)));
            fields.push(("gone", number(event.removed)));
        }
        Event::Bookmark(event) => {
            fields.push(("stream", event.stream.to_string()));
            fields.push(("resourceVersion", version(&event.resource_version)));
        }
        Event::StreamEnded(event) => {
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
        Event::Gap(event) => {
            fields.extend(
                event
                    .from
                    .as_ref()
                    .map(|from| ("from resourceVersion", version(from))),
            );
            fields.extend(
                event
                    .to
                    .as_ref()
                    .map(|to| ("to resourceVersion", version(to))),
            );
            fields.push(("reason", event.reason.to_string()));
        }
        Event::Finding(event) => {
            fields.push(("severity", event.severity.to_string()));
            fields.push(("certainty", event.certainty.to_string()));
            if !event.candidates.is_empty() {
                fields.push(("looks like", event.candidates.join(" ")));
            }
            fields.extend(event.count.map(|count| ("times", number(count))));
            fields.extend(
                event
                    .client
                    .as_ref()
                    .map(|name| ("client", name.to_string())),
            );
            fields.extend(watches_of(event).map(|names| ("watches", names)));
            let evidence = event
                .evidence
                .iter()
                .map(|seq| number(seq.0))
                .collect::<Vec<_>>()
                .join(" ");
            fields.push(("evidence", evidence));
        }
        Event::Verdict(event) => {
            fields.extend(event.held.as_ref().map(|held| ("held at", version(held))));
            fields.extend(
                event
                    .listed
                    .as_ref()
                    .map(|listed| ("listed at", version(listed))),
            );
        }
        _ => {}
    }
    fields
}

fn millis(millis: u64) -> String {
    duration(i64::try_from(millis.saturating_mul(1_000)).unwrap_or(i64::MAX))
}

/// Why a stream ended.
fn attribution(event: &Attribution) -> String {
    let stream = event.stream;
    let code = &*event.code;
    let how_sure = how_sure(event.certainty);
    match event.why() {
        Some(Attributed::Normal) => {
            format!("Stream {stream} ended as it should: its time was over.")
        }
        Some(Attributed::Ours) if event.certainty == Certainty::Definite => {
            format!("Stream {stream} was ended by us.")
        }
        Some(Attributed::Ours) => {
            format!("Stream {stream} ended while watchscope did not run, {how_sure}for that.")
        }
        Some(Attributed::Unknown) => format!("Why stream {stream} ended is not known."),
        Some(Attributed::Row(row)) => {
            format!("Stream {stream} ended: {how_sure}{} ({code}).", row.name())
        }
        None => format!("Stream {stream} ended: {how_sure}{code}."),
    }
}
