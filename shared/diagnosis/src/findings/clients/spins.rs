//! Findings about loops that spin (F01, F02), clients that fall silent (F03, F48) or are stuck (F35, F44, F50), and
//! merged changes (F49).

use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, ClientPhase};
use watchscope_model::{Row, Text, Time};

use super::state::{Client, Clients, STUCK_US, found};
use crate::findings::draft::{Lasts, Subject};
use crate::findings::registry::FindingRegistry;
use crate::text::seconds;

/// Iterations a second above which a loop without requests and without a stream counts as spinning (F01, F02). A loop
/// that waits for anything is far slower. A hot loop prints millions of lines in 30 s
/// (docs/semantics/cases.md#ghost-you), so a spinning loop is far faster. The number has no other source.
const SPIN_PER_S: u64 = 1_000;
/// Least time in µs between two reports of a client from which the rate of its loop is computed. A spinning client
/// reports once a second, so this leaves 0.1 s for a report that comes early. The number has no other source.
pub(super) const SPIN_US: i64 = 900_000;
/// Time in µs after which a client that returned and sends no request counts as silent (F03, F48). The number has no
/// source. A program that waits longer before its next request counts as silent until that request.
pub(super) const SILENT_US: i64 = 30_000_000;
/// Longest time in µs from a client's request to resume to the return of its watch loop. Within this time a 410 counts
/// as the reason (F48). A server sends the 410 at once (docs/semantics/servers.md#cache-resume). The number is that
/// after which the probe takes a stream for accepted (`ACCEPTED_MS`), and has no other source.
const RETURNED_AT_ONCE_US: i64 = 2_000_000;
/// Number of events above which changes count as merged (F49). They are the events beyond the client's iterations and
/// the most objects that it held. A smaller surplus may still wait for the handler. The number has no source. With a
/// smaller number, waiting events would count as merged.
const MERGED: u64 = 10;

impl Clients {
    /// Judges a client that did nothing until its timer ended: F03, F48, F44, F50 or F35.
    pub(crate) fn silent(&mut self, name: &Text, now: Time, registry: &mut FindingRegistry) {
        let Some(client) = self.clients.get_mut(name) else {
            return;
        };
        client.timer = None;
        let subject = Subject::Client(name.clone());
        let last_seq = client
            .last_request
            .as_ref()
            .map_or(client.phase_seq, |asked| asked.seq);
        let evidence = vec![last_seq, client.phase_seq];
        let waited = seconds(now.millis_since(client.phase_since));
        let asked_ago = |us: i64| {
            client
                .last_request
                .as_ref()
                .is_some_and(|asked| asked.is_watch && now.micros_since(asked.at) >= us)
        };
        let (row, alike, certainty, summary): (_, &'static [Row], _, _) = match client.does() {
            ClientPhase::Returned if now.micros_since(client.phase_since) >= SILENT_US => {
                let at_once = client.last_request.as_ref().is_some_and(|asked| {
                    asked.version.is_some_and(|version| version > 0)
                        && client.phase_since.micros_since(asked.at) <= RETURNED_AT_ONCE_US
                });
                if at_once {
                    let summary = format!(
                        "{name} returned right after it asked to resume, and has sent no request for {waited}: it \
                         receives no more events."
                    );
                    (Row::F48, &[Row::F03], Certainty::Likely, summary)
                } else {
                    let summary = format!(
                        "{name} returned when its stream ended, and has sent no request for {waited}: it receives no \
                         more events."
                    );
                    (Row::F03, &[Row::F48], Certainty::Likely, summary)
                }
            }
            ClientPhase::Connecting if asked_ago(STUCK_US) => {
                let summary = format!(
                    "A watch of {name} has no answer for {waited}; a server sends its headers at once."
                );
                if client.watched_paths.len() > 1 {
                    (
                        Row::F50,
                        &[Row::F44, Row::F04],
                        Certainty::Suspected,
                        summary,
                    )
                } else {
                    (
                        Row::F44,
                        &[Row::F50, Row::F04],
                        Certainty::Suspected,
                        summary,
                    )
                }
            }
            ClientPhase::Syncing if now.micros_since(client.reported_at) >= STUCK_US => {
                let summary = format!(
                    "{name} reads initial events, but none came for {} and no bookmark has marked their end.",
                    seconds(now.millis_since(client.reported_at))
                );
                (
                    Row::F35,
                    &[Row::F37, Row::F04],
                    Certainty::Suspected,
                    summary,
                )
            }
            _ => return,
        };
        let mut found = found(row, alike, certainty, &subject, evidence, now, summary);
        found.since = client.phase_since;
        found.lasts = Lasts::UntilCleared;
        registry.raise(found, now);
    }
}

/// Raises F01 or F02: a loop iterates without a request and without an event.
pub(super) fn spin(
    client: &Client,
    iterations: u64,
    handled: u64,
    since_us: i64,
    name: &Text,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let since_ms = u64::try_from(since_us / 1_000).unwrap_or(1).max(1);
    let per_s = iterations.saturating_mul(1_000) / since_ms;
    let reads = matches!(
        client.does(),
        ClientPhase::Watching | ClientPhase::Syncing | ClientPhase::Listing
    );
    if per_s <= SPIN_PER_S || reads {
        return;
    }
    let does_handle = handled > iterations / 2;
    let (row, what) = if does_handle {
        (Row::F01, "takes the zero values for events")
    } else {
        (Row::F02, "goes on")
    };
    let mut found = found(
        row,
        &[],
        Certainty::Definite,
        &Subject::Client(name.clone()),
        vec![client.phase_seq, record.seq],
        client.phase_since,
        format!(
            "The loop of {name} runs {per_s} times a second without an open stream and without a request: it reads a \
             closed channel and {what}."
        ),
    );
    found.lasts = Lasts::UntilCleared;
    registry.raise(found, record.at);
}

/// Raises F49: the client received more changes than its handler was called for, because changes were merged. Events
/// that may still wait for the handler do not count.
pub(super) fn merged(
    client: &mut Client,
    name: &Text,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let open = client.changed.saturating_sub(client.iterations);
    if open <= client.most_objects + MERGED {
        return;
    }
    // Each such burst is reported once.
    client.changed = client.iterations;
    let summary = format!(
        "The handler of {name} got at least {} fewer events than were delivered: changes of one object were merged.",
        open - client.most_objects
    );
    let subject = Subject::Client(name.clone());
    let found = found(
        Row::F49,
        &[],
        Certainty::Likely,
        &subject,
        vec![record.seq],
        record.at,
        summary,
    );
    registry.raise(found, record.at);
}
