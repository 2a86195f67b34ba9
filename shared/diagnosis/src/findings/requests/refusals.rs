//! Findings about answers: a 410 as HTTP status (F13), a storm of 429s (F15), a resource that is not served (F18), and
//! lost credentials or rights (F40, F41).

use watchscope_model::event::{RequestAnswered, WatchPhase};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, PhaseReason};
use watchscope_model::{Row, Seq, State, Text, WatchName};

use super::state::{Leak, Requests, Right, STORM, STORM_US, SURE, Streak, Unready};
use super::unreadable::{is_secrets, is_unsaid};
use crate::findings::draft::{FindingDraft, Lasts, Shared, Subject};
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::Timers;
use crate::server_words;
use crate::text::{count, seconds};

/// Number of 429s because of load in a row for one watch from which on they are a storm, too (F15). The watch's backoff
/// keeps it from reaching [`STORM`]. A single 429 is usual; the number has no other source.
const STORM_IN_A_ROW: u64 = 3;
/// Time in µs after which a watch cache that is still not ready no longer counts as just beginning anew (F15). It must
/// also have refused [`STORM`] requests in a row. While several such caches of one server are not ready, they are one
/// finding. The number has no source.
const UNREADY_US: i64 = 20_000_000;
/// Time in µs without a 429 because of load by a server after which its next 200 ends a storm (F15). The storm lasts on
/// while one of the server's watch caches is not ready. This time is as long as [`STORM_US`], within which refusals
/// count for a storm. The number has no other source.
const CALM_US: i64 = 10_000_000;

impl Requests {
    /// Judges the server's answer to a request.
    pub(crate) fn answered(
        &mut self,
        event: &RequestAnswered,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        if let Some(watch) = event.watch.about() {
            self.audited(&watch, event, before, record, registry);
            return;
        }
        let Some(state) = self.watches.get_mut(&event.watch) else {
            return;
        };
        let open = state.open.take_if(|open| open.request == event.request);
        if let Some(open) = &open {
            open.stop_waiting(&event.watch, timers);
        }
        let subject = Subject::Watch(event.watch.clone());
        let server = open
            .as_ref()
            .and_then(|open| before.connections.get(&open.connection))
            .map(|connection| connection.server.clone());
        let is_watch = open.as_ref().is_some_and(|open| open.is_watch);
        let Some(status) = event.status else {
            return;
        };
        if status != 401 {
            state.unknown = 0;
        }
        if status == 200 {
            state.throttled = Streak::default();
            *state.right(is_watch) = Right {
                was_had: true,
                refused: 0,
            };
            state.leak.take_if(|_| !is_watch);
            state.not_found = None;
            if let Some(open) = open.as_ref().filter(|open| open.is_watch) {
                state.stream_connection = Some(open.connection);
            }
            if state.unready.take().is_some() {
                let why = "The server's cache is ready.";
                registry.clear(Row::F15, subject.clone(), record.seq, why);
            }
            let refusals = [Row::F18, Row::F40, Row::F41].into_iter();
            for row in refusals {
                // A right to watch is no right to list, and the other way round.
                if row == Row::F41 && state.lacks_right() {
                    continue;
                }
                registry.clear(
                    row,
                    subject.clone(),
                    record.seq,
                    "The server answers again.",
                );
            }
            if let Some(server) = server {
                self.calm(&server, record, registry);
            }
            if let Some(open) = open.filter(|open| open.is_reported) {
                self.came_late(&event.watch, &open, record, registry);
            }
            return;
        }
        let words = event.error.as_deref().unwrap_or("");
        let (row, certainty, summary) = match status {
            // A server that has just started may not know credentials, roles or custom resources yet. The next answer
            // decides.
            401 if state.had_success() => {
                state.unknown += 1;
                if state.unknown < SURE {
                    return;
                }
                let summary = format!(
                    "The server answered {} before, and does not know its credentials now (401).",
                    event.watch
                );
                (Row::F40, Certainty::Definite, summary)
            }
            403 if state.right(is_watch).was_had => {
                let leak = state.leak;
                let right = state.right(is_watch);
                right.refused += 1;
                if right.refused < SURE && !leak.is_some_and(|leak| leak.is_reported) {
                    return;
                }
                right.refused = SURE;
                state.leak = None;
                let summary = match leak {
                    None => format!(
                        "{} was allowed before, and is forbidden now (403).",
                        event.watch
                    ),
                    Some(leak) => format!(
                        "{} was allowed before, and is forbidden now (403); its stream had gone on for {} after a list \
                         was refused.",
                        event.watch,
                        seconds(record.at.millis_since(leak.since.at))
                    ),
                };
                (Row::F41, Certainty::Definite, summary)
            }
            404 if state.had_success() => {
                match state.not_found {
                    Some(first) => self.not_found(&event.watch, first, record, registry),
                    None => state.not_found = Some(record),
                }
                return;
            }
            410 if is_watch => {
                state.is_expired = true;
                (
                    Row::F13,
                    Certainty::Definite,
                    format!(
                        "HTTP status 410 said that the history of {} is gone. Other servers answer 200 and say it in \
                         the stream.",
                        event.watch
                    ),
                )
            }
            429 => {
                self.throttled(event, before, server, words, record, registry);
                return;
            }
            500 => {
                if !is_watch && is_unsaid(event) && is_secrets(before, &event.watch) {
                    self.fails_unsaid(&event.watch, record, registry);
                }
                self.poisoned(&event.watch, words, record, registry);
                return;
            }
            _ => return,
        };
        let lasts = if status == 410 {
            Lasts::Happened
        } else {
            Lasts::UntilCleared
        };
        let shared = self.shared(row, &event.watch, record.at);
        registry.raise(
            FindingDraft {
                lasts,
                shared,
                ..FindingDraft::of(
                    row,
                    certainty,
                    subject,
                    vec![record.seq],
                    record.at,
                    summary,
                )
            },
            record.at,
        );
    }

    /// Notes a new phase of a watch. Discovery may have found that the watch's resource is not served.
    pub(crate) fn entered(
        &self,
        event: &WatchPhase,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let first = self
            .watches
            .get(&event.watch)
            .and_then(|state| state.not_found);
        if let Some(first) = first.filter(|_| event.reason == PhaseReason::NotDiscovered)
            && !registry.stands(Row::F18, Subject::Watch(event.watch.clone()))
        {
            self.not_found(&event.watch, first, record, registry);
        }
    }

    /// Raises F18: a resource was not found for the second time, or discovery does not list it.
    pub(super) fn not_found(
        &self,
        watch: &WatchName,
        first: Moment,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let summary =
            format!("The resource of {watch} was served before, and is not found now (404).");
        let (subject, evidence) = (Subject::Watch(watch.clone()), vec![first.seq, record.seq]);
        let (sure, since) = (Certainty::Likely, first.at);
        let mut found = FindingDraft::of(Row::F18, sure, subject, evidence, since, summary);
        found.shared = self.shared(Row::F18, watch, record.at);
        registry.raise(found.until_cleared(), record.at);
    }

    /// Judges the answer to a list of the audit. Raises F41 if the watch's stream goes on although the watch may no
    /// longer list.
    fn audited(
        &mut self,
        watch: &WatchName,
        event: &RequestAnswered,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(state) = self.watches.get_mut(watch) else {
            return;
        };
        // A GET needs another right than a list.
        if state
            .audit_list
            .take_if(|list| *list == event.request)
            .is_none()
        {
            return;
        }
        let subject = Subject::Watch(watch.clone());
        let is_streaming = before
            .watches
            .get(watch)
            .is_some_and(|watch| watch.stream.is_some());
        match event.status {
            Some(403) if state.list.was_had && is_streaming => {
                let Some(leak) = &mut state.leak else {
                    let (since, is_reported) = (record, false);
                    state.leak = Some(Leak { since, is_reported });
                    return;
                };
                if std::mem::replace(&mut leak.is_reported, true) {
                    return;
                }
                let summary = format!(
                    "{watch} may no longer be listed (403), but its stream goes on: it delivers objects that this \
                     account may no longer read."
                );
                let evidence = vec![leak.since.seq, record.seq];
                let (sure, since) = (Certainty::Definite, leak.since.at);
                let found = FindingDraft::of(Row::F41, sure, subject, evidence, since, summary);
                registry.raise(found.until_cleared(), record.at);
            }
            Some(200) => {
                state.list.was_had = true;
                if state.leak.take().is_some_and(|leak| leak.is_reported) {
                    registry.clear(Row::F41, subject, record.seq, "It may be listed again.");
                }
            }
            _ => {}
        }
    }

    /// Raises F15: a refusal with 429 because of load. A refusal because the server shuts down or its watch cache
    /// begins anew belongs to other rows.
    pub(super) fn throttled(
        &mut self,
        event: &RequestAnswered,
        before: &State,
        server: Option<Text>,
        words: &str,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        if server_words::is_initializing(words) {
            self.unready(event, server, record, registry);
            return;
        }
        let is_other = server_words::is_shutting_down(words);
        // The words of a refusal that might quote a Secret are redacted. So its reason is unknown.
        if is_other || is_unsaid(event) && is_secrets(before, &event.watch) {
            return;
        }
        let (Some(server), Some(state)) = (server, self.watches.get_mut(&event.watch)) else {
            return;
        };
        state.throttled.add(record);
        let in_a_row = &state.throttled;
        let recent = self.throttles.entry(server.clone()).or_default();
        if recent.len() == STORM {
            recent.pop_front();
        }
        recent.push_back(record);
        let is_storm = recent.len() == STORM
            && recent
                .front()
                .is_some_and(|first| record.at.micros_since(first.at) <= STORM_US);
        if !is_storm && in_a_row.times < STORM_IN_A_ROW {
            return;
        }
        let (since, evidence, what) = if is_storm {
            let began = recent.front().map_or(record.at, |first| first.at);
            let span = seconds(record.at.millis_since(began));
            let evidence: Vec<Seq> = recent.iter().map(|refused| refused.seq).collect();
            (began, evidence, format!("{STORM} requests in {span}"))
        } else {
            let what = format!(
                "{} in a row of {}",
                count(in_a_row.times, "request"),
                event.watch
            );
            (in_a_row.since, in_a_row.evidence.clone(), what)
        };
        registry.raise(
            FindingDraft::of(
                Row::F15,
                Certainty::Definite,
                Subject::Server(server.clone()),
                evidence,
                since,
                format!("{server} refused {what} with 429: it is overloaded."),
            ),
            record.at,
        );
    }

    /// Raises F15: a server's watch cache of a resource has not been ready for [`UNREADY_US`]. Before that time such
    /// refusals belong to another row.
    pub(super) fn unready(
        &mut self,
        event: &RequestAnswered,
        server: Option<Text>,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let (Some(server), Some(state)) = (server, self.watches.get_mut(&event.watch)) else {
            return;
        };
        let first = || Unready {
            server: server.clone(),
            since: record.at,
            times: 0,
        };
        let unready = state.unready.get_or_insert_with(first);
        unready.server.clone_from(&server);
        unready.times += 1;
        let (since, times) = (unready.since, unready.times);
        if record.at.micros_since(since) < UNREADY_US || times < STORM as u64 {
            return;
        }
        let summary = format!(
            "{server} refused {} of {} in a row with 429 for {}: its cache of the type does not become ready.",
            count(times, "request"),
            event.watch,
            seconds(record.at.millis_since(since))
        );
        let found = FindingDraft::of(
            Row::F15,
            Certainty::Definite,
            Subject::Watch(event.watch.clone()),
            vec![record.seq],
            since,
            summary,
        );
        let shared = Shared {
            summary: format!(
                "{server} refuses requests for several types with 429: their caches do not become ready."
            ),
            subject: Subject::Server(server),
            together_us: UNREADY_US,
            waits_until: None,
        };
        let found = found.alike(&[Row::F16]).sharing(Some(shared));
        registry.raise(found.until_cleared(), record.at);
    }

    /// Clears the storm of a server that answered, if its last refusal is at least [`CALM_US`] ago.
    fn calm(&mut self, server: &Text, record: Moment, registry: &mut FindingRegistry) {
        // A storm and caches that are not ready are one finding about the server. It lasts until both are over.
        let mut unready = self
            .watches
            .values()
            .filter_map(|state| state.unready.as_ref());
        if unready.any(|unready| unready.server == *server) {
            return;
        }
        let last = self.throttles.get(server).and_then(|recent| recent.back());
        if last.is_some_and(|last| record.at.micros_since(last.at) >= CALM_US) {
            self.throttles.remove(server);
            let subject = Subject::Server(server.clone());
            registry.clear(Row::F15, subject, record.seq, "The server answers again.");
        }
    }
}
