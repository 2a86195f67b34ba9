//! Judges a client's requests and reports.

use watchscope_model::belief::{Belief, Held};
use watchscope_model::event::{ClientReport, ClientRequest};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, ClientPhase};
use watchscope_model::{ResourceVersion, Row, State};

use super::beliefs::read_named;
use super::line::RequestLine;
use super::lists::{OLDER_US, circle, stale};
use super::spins::{SILENT_US, SPIN_US, merged, spin};
use super::state::{CIRCLE, CROWD, Clients, GHOST_US, LastRequest, Listed, STUCK_US, found};
use crate::findings::draft::Subject;
use crate::findings::registry::FindingRegistry;
use crate::findings::streams::Streams;
use crate::findings::timers::{Timer, Timers};

impl Clients {
    /// Handles a client's request.
    pub(crate) fn asked(
        &mut self,
        event: &ClientRequest,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(line) = RequestLine::read(&event.request) else {
            return;
        };
        let Some(client) = self.clients.get_mut(&event.client) else {
            return;
        };
        let subject = Subject::Client(event.client.clone());
        for row in [Row::F01, Row::F02, Row::F03, Row::F48] {
            registry.clear(
                row,
                subject.clone(),
                record.seq,
                "The client sends requests again.",
            );
        }
        let version = line.options.version.as_deref();
        let version = version
            .map(ResourceVersion::parse)
            .and_then(|version| version.number());
        let raise = |registry: &mut FindingRegistry, row, alike, certainty, evidence, summary| {
            registry.raise(
                found(
                    row, alike, certainty, &subject, evidence, record.at, summary,
                ),
                record.at,
            );
        };
        if !line.options.watch {
            // All pages of a list show the state of its first page.
            let goes_on = line.options.continues.is_some();
            if !goes_on || client.listed.is_none() {
                client.listed = Some(Listed {
                    seq: record.seq,
                    at: record.at,
                    is_of_newest: line.options.version.is_none(),
                });
            }
        } else if line.options.initial_events {
            if client.is_syncing {
                client.unfinished.push(record.seq);
                if client.unfinished.len() > CIRCLE {
                    client.unfinished.remove(0);
                }
                if client.unfinished.len() >= 2 {
                    let summary = format!(
                        "{} asked for initial events again: at least two streams ended before their initial events \
                         were complete.",
                        event.client
                    );
                    let evidence = client.unfinished.clone();
                    raise(
                        registry,
                        Row::F37,
                        &[Row::F35],
                        Certainty::Likely,
                        evidence,
                        summary,
                    );
                }
            }
        } else {
            let holds: u64 = client.belief.iter().map(|belief| belief.objects).sum();
            let is_again = client.watched_paths.contains(line.path) && holds > 0;
            if version.is_none_or(|version| version == 0) && is_again {
                let summary = format!(
                    "{} watches again without a resourceVersion. It holds {holds} objects. Those that still exist come again, \
                     but deletions in between do not.",
                    event.client
                );
                let evidence = vec![record.seq];
                raise(
                    registry,
                    Row::F19,
                    &[],
                    Certainty::Definite,
                    evidence,
                    summary,
                );
                client.may_hold_ghosts = true;
                let due = record.at.plus_micros(GHOST_US);
                timers.set(due, Timer::Ghost(event.client.clone()));
            }
            if let Some(version) = version.filter(|version| *version > 0) {
                let resource = line.resource();
                let held = client
                    .belief
                    .iter()
                    .filter(|belief| *belief.resource == *resource)
                    .flat_map(|belief| &belief.held)
                    .filter_map(Held::revision)
                    .max();
                if let Some(held) = held.filter(|held| version < *held)
                    && client.listed.is_none()
                {
                    let summary = format!(
                        "{} asked for events after {version}, though it holds an object at {held}: known events come \
                         again, deletions too.",
                        event.client
                    );
                    let evidence = vec![record.seq];
                    raise(
                        registry,
                        Row::F21,
                        &[Row::F29, Row::F23],
                        Certainty::Definite,
                        evidence,
                        summary,
                    );
                }
                // The client's request before this one was a list.
                if client
                    .last_request
                    .as_ref()
                    .is_some_and(|asked| !asked.is_watch)
                {
                    circle(client, version, event, record, registry, &subject);
                }
            }
        }
        client.compares(&line, record.seq);
        if line.options.watch && client.watched_paths.len() < CROWD {
            client.watched_paths.insert(line.path.to_owned());
        }
        client.is_syncing = false;
        client.last_request = Some(LastRequest {
            seq: record.seq,
            at: record.at,
            version,
            is_watch: line.options.watch,
            is_versionless: line.options.watch
                && !line.options.initial_events
                && version.is_none_or(|version| version == 0),
        });
        let name = event.client.clone();
        client.wait(name, record.at.plus_micros(STUCK_US), timers);
        if line.options.watch && version.is_none() && !line.options.initial_events {
            self.crowd(before, record, registry);
        } else {
            self.dissolve(record, registry);
        }
    }

    /// Handles a client's report of its phase, its iterations and its belief.
    pub(crate) fn reported(
        &mut self,
        event: &ClientReport,
        before: &State,
        streams: &Streams,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(client) = self.clients.get_mut(&event.client) else {
            return;
        };
        let subject = Subject::Client(event.client.clone());
        let asked_since = client
            .last_request
            .as_ref()
            .is_some_and(|asked| asked.at >= client.reported_at);
        let since_us = record.at.micros_since(client.reported_at);
        let iterations = event.iterations.saturating_sub(client.iterations);
        let handled = event.handled.saturating_sub(client.handled);
        let is_same_phase = client.phase == event.phase;
        let does = event.doing();

        if event.belief.is_none() && !asked_since && is_same_phase && since_us >= SPIN_US {
            spin(
                client,
                iterations,
                handled,
                since_us,
                &event.client,
                record,
                registry,
            );
        }
        if event.belief.is_none() && handled > 0 {
            client.found_differences(handled, &event.client, record, registry);
        }
        match event.belief.as_deref() {
            Some(text) => {
                client.belief = Belief::read(text);
                client.named = read_named(&client.belief, &client.named, record.at);
                client.believed_at = record.at;
                // A list returns objects that the client holds already, so they are no changes.
                if !asked_since {
                    client.changed += handled;
                }
                let holds: u64 = client.belief.iter().map(|belief| belief.objects).sum();
                client.most_objects = client.most_objects.max(holds);
                if let Some(listed) = client.listed {
                    stale(
                        client,
                        listed,
                        &event.client,
                        before,
                        streams,
                        record,
                        registry,
                    );
                }
                if does != ClientPhase::Listing {
                    client.listed = None;
                }
            }
            None if client.is_informer() && is_same_phase && does == ClientPhase::Watching => {
                let holds: u64 = client.belief.iter().map(|belief| belief.objects).sum();
                let is_settled = record.at.micros_since(client.believed_at) >= OLDER_US;
                if holds > 0 && handled >= holds && is_settled && !asked_since {
                    let summary = format!(
                        "The handler of {} got {handled} updates, though no event came and nothing that it holds \
                         changed: a resync.",
                        event.client
                    );
                    registry.raise(
                        found(
                            Row::F46,
                            &[],
                            Certainty::Likely,
                            &subject,
                            vec![record.seq],
                            record.at,
                            summary,
                        ),
                        record.at,
                    );
                }
            }
            None => {}
        }
        client.iterations = event.iterations;
        client.handled = event.handled;
        client.reported_at = record.at;
        if client.is_informer() && does == ClientPhase::Watching {
            merged(client, &event.client, record, registry);
        }
        if !is_same_phase {
            for row in [Row::F01, Row::F02] {
                let why = "The client's loop no longer spins.";
                registry.clear(row, subject.clone(), record.seq, why);
            }
            client.phase = event.phase.clone();
            client.phase_since = record.at;
            client.phase_seq = record.seq;
        }
        match does {
            ClientPhase::Syncing => client.is_syncing = true,
            ClientPhase::Watching => {
                client.unfinished.clear();
                for row in [Row::F35, Row::F44, Row::F50] {
                    registry.clear(
                        row,
                        subject.clone(),
                        record.seq,
                        "The client reads its stream.",
                    );
                }
            }
            _ => {}
        }
        let name = event.client.clone();
        match does {
            ClientPhase::Returned => {
                client.wait(name, client.phase_since.plus_micros(SILENT_US), timers);
            }
            ClientPhase::Connecting | ClientPhase::Syncing => {
                client.wait(name, record.at.plus_micros(STUCK_US), timers);
            }
            _ => {}
        }
        if !is_same_phase {
            self.dissolve(record, registry);
        }
        self.ghost(&event.client, record.at, registry);
    }
}
