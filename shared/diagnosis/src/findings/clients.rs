//! Findings about client programs, from what they ask, do and believe (client records; docs/findings).
//!
//! A program whose records these are may be simulated or tapped. What a client is told on its streams is not here.

use std::collections::VecDeque;

use watchscope_model::belief::{Belief, Held};
use watchscope_model::event::{
    Change, ClientReport, ClientRequest, ClientStarted, RequestAnswered, RequestSent,
};
use watchscope_model::fold::Moment;
use watchscope_model::options::{ListOptions, read_get};
use watchscope_model::tree::{self, BTreeMap, BTreeSet};
use watchscope_model::vocabulary::{
    Certainty, ChangeType, ClientPhase, ClientProgram, Origin, Severity, Verb,
};
use watchscope_model::{RequestId, ResourceVersion, Row, Seq, State, Text, Time, Uid};

use super::draft::{FindingDraft, Lasts, Subject};
use super::registry::FindingRegistry;
use super::streams::Streams;
use super::timers::{Timer, Timers};
use crate::text::{count, seconds};
use crate::versions::server_version;

/// Most clients that are followed; the records of others are passed over.
pub const MAX_CLIENTS: usize = 1_024;

/// More turns a second than this, with nothing asked, are a loop that never waits (F01, F02).
const SPIN_PER_S: u64 = 1_000;
/// A loop is watched for so long before anything is said of it, in microseconds.
const SPIN_US: i64 = 900_000;
/// A client that returned and asked for nothing for so long is silent for ever (F03, F48), in microseconds.
const SILENT_US: i64 = 30_000_000;
/// One that returned so soon after it asked to resume was told that its history is gone (F48), in microseconds.
const RETURNED_AT_ONCE_US: i64 = 2_000_000;
/// A client without an answer, or in initial events that do not go on, for so long is held up, in microseconds.
const STUCK_US: i64 = 10_000_000;
/// So many clients that watch without a resourceVersion weigh on a server that asks etcd for each (F20).
const CROWD: usize = 20;
/// A list is older than what a watch of ours had brought so long before it was asked for (F22), in microseconds.
const OLDER_US: i64 = 1_000_000;
/// So many lists…
const CIRCLE: usize = 3;
/// …in this time, each followed by a watch from the same version, are a circle (F14), in microseconds.
const CIRCLE_US: i64 = 60_000_000;
/// Events beyond the objects a client holds that its loop never took singly: they were merged (F49).
const MERGED: u64 = 10;

/// Objects of a client that are compared with what is gone (F19).
const NAMED: usize = 64;
/// Deletions, and GETs without an object, that are remembered; of more the oldest are forgotten.
const GONE: usize = 1_024;
/// What is gone for longer than this and is still held is a ghost (F19), in microseconds.
const GHOST_US: i64 = 2_000_000;

/// What is known of a client.
#[derive(Clone, Debug)]
struct Client {
    /// Which program it is.
    program: ClientProgram,
    /// What it does, in its own word.
    phase: Text,
    phase_since: Time,
    phase_seq: Seq,
    iterations: u64,
    handled: u64,
    reported_at: Time,
    /// The last request, and what watches asked for.
    asked: Option<Asked>,
    watched_paths: BTreeSet<String>,
    /// What it watches of each resource, and a list of something else of one of them that it asked for meanwhile (F42).
    scopes: BTreeMap<String, String>,
    compared: Option<Compared>,
    /// Streams of initial events that were asked for and not finished.
    unfinished: Vec<Seq>,
    /// Whether it had begun to read initial events since its last request.
    is_syncing: bool,
    /// Whether it listed since it last told what it believes; when, and whether it asked for the newest.
    listed: Option<(Time, Seq, bool)>,
    /// Where it watched from after its last lists.
    circle: VecDeque<(Time, Seq, u64)>,
    belief: Vec<Belief>,
    /// The first [`NAMED`] objects that its belief names.
    named: Vec<Named>,
    /// Whether it watched again without a resourceVersion, and holds no ghost that is proven since.
    may_hold_ghosts: bool,
    believed_at: Time,
    /// Events handled along with a change of its belief, and the most objects it held.
    changed: u64,
    most_objects: u64,
    timer: Option<Time>,
}

/// A request.
#[derive(Clone, Debug)]
struct Asked {
    seq: Seq,
    at: Time,
    /// The resourceVersion it asks from; absent if unset.
    version: Option<u64>,
    is_watch: bool,
    /// A watch that asks for the state first, with no version to begin from and no mark at the end of it.
    is_versionless: bool,
}

/// A list of another scope than is watched.
#[derive(Clone, Debug)]
struct Compared {
    seq: Seq,
    watched: String,
    listed: String,
}

/// An object that a client names.
#[derive(Clone, Debug)]
struct Named {
    resource: String,
    /// `NAMESPACE/NAME`, or a name alone.
    key: String,
    uid: Uid,
    /// When it was first reported.
    since: Time,
}

/// What is proven to be gone; each list holds at most [`GONE`].
#[derive(Clone, Debug, Default)]
struct Gone {
    /// Objects whose DELETED was sent to a watch without a selector.
    deleted: VecDeque<(Uid, Moment)>,
    /// Resources and keys whose GET was answered with 404.
    missing: VecDeque<(String, String, Moment)>,
    /// GETs under way.
    asked: VecDeque<(RequestId, String, String)>,
}

/// Client programs by name, at most [`MAX_CLIENTS`], and what is proven to be gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients(BTreeMap<Text, Client>, Gone);

/// A client's request, read.
struct Line<'a> {
    path: &'a str,
    options: ListOptions<'a>,
}

impl<'a> Line<'a> {
    /// Reads `GET PATH?QUERY`; `None` for anything else.
    fn read(text: &'a str) -> Option<Self> {
        let (path, options) = read_get(text)?;
        Some(Self { path, options })
    }

    /// What is asked for: path and selectors.
    fn scope(&self) -> String {
        let selectors = ListOptions {
            label_selector: self.options.label_selector.clone(),
            field_selector: self.options.field_selector.clone(),
            ..ListOptions::default()
        };
        let query = selectors.query();
        let joint = if query.is_empty() { "" } else { "?" };
        format!("{}{joint}{query}", self.path)
    }

    /// The resource, as beliefs name it: `configmaps`, `deployments.apps`.
    fn resource(&self) -> String {
        let mut parts = self.path.trim_matches('/').split('/');
        let group = match parts.next() {
            Some("apis") => parts.next().unwrap_or(""),
            _ => "",
        };
        let plural = self.path.rsplit('/').next().unwrap_or("");
        if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        }
    }
}

impl Clients {
    pub(super) fn started(&mut self, event: &ClientStarted, record: Moment) {
        if self.0.len() >= MAX_CLIENTS && !self.0.contains_key(&event.client) {
            return;
        }
        let client = Client {
            program: event.program(),
            phase: "".into(),
            phase_since: record.at,
            phase_seq: record.seq,
            iterations: 0,
            handled: 0,
            reported_at: record.at,
            asked: None,
            watched_paths: BTreeSet::new(),
            scopes: BTreeMap::new(),
            compared: None,
            unfinished: Vec::new(),
            is_syncing: false,
            listed: None,
            circle: VecDeque::new(),
            belief: Vec::new(),
            named: Vec::new(),
            may_hold_ghosts: false,
            believed_at: record.at,
            changed: 0,
            most_objects: 0,
            timer: None,
        };
        self.0.insert(event.client.clone(), client);
    }

    pub(super) fn asked(
        &mut self,
        event: &ClientRequest,
        before: &State,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(line) = Line::read(&event.request) else {
            return;
        };
        let Some(client) = self.0.get_mut(&event.client) else {
            return;
        };
        let subject = Subject::Client(event.client.clone());
        for row in [Row::F01, Row::F02, Row::F03, Row::F48] {
            registry.clear(row, subject.clone(), record.seq, "The client asks again.");
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
            // The pages of a list are all of its first one's state.
            let goes_on = line.options.continues.is_some();
            if !goes_on || client.listed.is_none() {
                client.listed = Some((record.at, record.seq, line.options.version.is_none()));
            }
        } else if line.options.initial_events {
            if client.is_syncing {
                client.unfinished.push(record.seq);
                if client.unfinished.len() > CIRCLE {
                    client.unfinished.remove(0);
                }
                if client.unfinished.len() >= 2 {
                    let summary = format!(
                        "{} asked for initial events again: at least two streams ended before the end of them.",
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
                    "{} watches again without a resourceVersion: the {holds} objects it holds come again, and of what was \
                     deleted meanwhile it hears nothing.",
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
                        "{} asked for what comes after {version}, though it holds an object at {held}: what it knows comes \
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
                // What it asked before was a list.
                if client.asked.as_ref().is_some_and(|asked| !asked.is_watch) {
                    circle(client, version, event, record, registry, &subject);
                }
            }
        }
        client.compares(&line, record.seq);
        if line.options.watch && client.watched_paths.len() < CROWD {
            client.watched_paths.insert(line.path.to_owned());
        }
        client.is_syncing = false;
        client.asked = Some(Asked {
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

    /// Many clients that watch without a resourceVersion.
    fn crowd(&self, before: &State, record: Moment, registry: &mut FindingRegistry) {
        if registry.stands(Row::F20, Subject::Cluster) || !may_ask_etcd(before) {
            return;
        }
        let crowd = self.versionless();
        if crowd.len() < CROWD {
            return;
        }
        let evidence = crowd
            .iter()
            .filter_map(|client| Some(client.asked.as_ref()?.seq))
            .collect();
        let mut found = found(
            Row::F20,
            &[],
            Certainty::Suspected,
            &Subject::Cluster,
            evidence,
            record.at,
            format!(
                "{} clients watch without a resourceVersion: a server of 1.27 to 1.29 opens a watch of etcd for each.",
                crowd.len()
            ),
        );
        found.lasts = Lasts::UntilCleared;
        registry.raise(found, record.at);
    }

    /// The crowd is over, if it is.
    fn dissolve(&self, record: Moment, registry: &mut FindingRegistry) {
        if !registry.stands(Row::F20, Subject::Cluster) {
            return;
        }
        let left = self.versionless().len();
        if left < CROWD / 2 {
            let why = format!("{left} clients are left that watch without a resourceVersion.");
            registry.clear(Row::F20, Subject::Cluster, record.seq, &why);
        }
    }

    /// Clients that watch without a resourceVersion.
    fn versionless(&self) -> Vec<&Client> {
        let open = |client: &&Client| {
            client
                .asked
                .as_ref()
                .is_some_and(|asked| asked.is_versionless && asked.version.is_none())
                && !matches!(
                    client.does(),
                    ClientPhase::Returned
                        | ClientPhase::Failed
                        | ClientPhase::Done
                        | ClientPhase::Spinning
                        | ClientPhase::Sleeping
                        | ClientPhase::Backoff
                )
        };
        self.0.values().filter(open).collect()
    }

    pub(super) fn reported(
        &mut self,
        event: &ClientReport,
        before: &State,
        streams: &Streams,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(client) = self.0.get_mut(&event.client) else {
            return;
        };
        let subject = Subject::Client(event.client.clone());
        let asked_since = client
            .asked
            .as_ref()
            .is_some_and(|asked| asked.at >= client.reported_at);
        let since_us = record.at.micros_since(client.reported_at);
        let turns = event.iterations.saturating_sub(client.iterations);
        let handled = event.handled.saturating_sub(client.handled);
        let is_same_phase = client.phase == event.phase;
        let does = event.doing();

        if event.belief.is_none() && !asked_since && is_same_phase && since_us >= SPIN_US {
            spin(
                client,
                turns,
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
                // A list gives what is held again, which is no change.
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
                        "The handler of {} was given {handled} updates though nothing came and nothing it holds changed: a \
                         resync.",
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
                let why = "The client turns no longer.";
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

    /// A watch was sent a DELETED. One with a selector is sent it of what lives on, too.
    pub(super) fn deleted(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        let is_live = event.origin == Origin::Live && event.change == ChangeType::Deleted;
        if !is_live || self.0.is_empty() || event.object.uid.is_empty() {
            return;
        }
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        if watch.label_selector.is_some() || watch.field_selector.is_some() {
            return;
        }
        let uid = &event.object.uid;
        remember(&mut self.1.deleted, (uid.clone(), record));
        self.look_again(|named| named.uid == *uid, record, timers);
    }

    /// The audit reads an object.
    pub(super) fn reads(&mut self, event: &RequestSent) {
        let is_read = event.verb() == Verb::Get && event.watch.is_aside() && !self.0.is_empty();
        if let Some((resource, key)) = read_path(&event.path).filter(|_| is_read) {
            remember(&mut self.1.asked, (event.request, resource, key));
        }
    }

    /// A read of the audit was answered.
    pub(super) fn read(&mut self, event: &RequestAnswered, record: Moment, timers: &mut Timers) {
        let asked = &mut self.1.asked;
        let place = asked
            .iter()
            .position(|(request, ..)| *request == event.request);
        let Some((_, resource, key)) = place.and_then(|place| asked.remove(place)) else {
            return;
        };
        if event.status == Some(404) {
            let is_it = |named: &Named| named.resource == resource && named.key == key;
            self.look_again(is_it, record, timers);
            remember(&mut self.1.missing, (resource, key, record));
        }
    }

    /// Something is gone: looks at the clients that hold it once it is gone for long enough.
    fn look_again(&self, is_it: impl Fn(&Named) -> bool, record: Moment, timers: &mut Timers) {
        let holds = |client: &Client| client.may_hold_ghosts && client.named.iter().any(&is_it);
        for (name, _) in self.0.iter().filter(|(_, client)| holds(client)) {
            let due = record.at.plus_micros(GHOST_US + 1);
            timers.set(due, Timer::Ghost(name.clone()));
        }
    }

    /// F19 beside a ghost: a client that watched again without a resourceVersion holds what is proven to be gone.
    pub(super) fn ghost(&mut self, name: &Text, now: Time, registry: &mut FindingRegistry) {
        let Self(clients, gone) = self;
        let Some(client) = clients.get_mut(name) else {
            return;
        };
        let asks_no_more = client.does() == ClientPhase::Returned || client.does().has_ended();
        if !client.may_hold_ghosts || asks_no_more {
            return;
        }
        let mut named = client.named.iter();
        let Some((key, proof)) =
            named.find_map(|named| Some((named.key.clone(), gone.proves(named, now)?)))
        else {
            return;
        };
        client.may_hold_ghosts = false;
        registry.amend(Row::F19, Subject::Client(name.clone()), |found| {
            found.severity = Severity::Divergence;
            found.summary += &format!(" It holds {key}, which is gone.");
            found.evidence.push(proof);
        });
    }

    /// A client did nothing for as long as it was waited for.
    pub(super) fn silent(&mut self, name: &Text, now: Time, registry: &mut FindingRegistry) {
        let Some(client) = self.0.get_mut(name) else {
            return;
        };
        client.timer = None;
        let subject = Subject::Client(name.clone());
        let last_seq = client
            .asked
            .as_ref()
            .map_or(client.phase_seq, |asked| asked.seq);
        let evidence = vec![last_seq, client.phase_seq];
        let waited = seconds(now.millis_since(client.phase_since));
        let asked_ago = |us: i64| {
            client
                .asked
                .as_ref()
                .is_some_and(|asked| asked.is_watch && now.micros_since(asked.at) >= us)
        };
        let (row, alike, certainty, summary): (_, &'static [Row], _, _) = match client.does() {
            ClientPhase::Returned if now.micros_since(client.phase_since) >= SILENT_US => {
                let at_once = client.asked.as_ref().is_some_and(|asked| {
                    asked.version.is_some_and(|version| version > 0)
                        && client.phase_since.micros_since(asked.at) <= RETURNED_AT_ONCE_US
                });
                if at_once {
                    let summary = format!(
                        "{name} returned right after it asked to resume, and has asked for nothing for {waited}: it hears \
                         of nothing any more."
                    );
                    (Row::F48, &[Row::F03], Certainty::Likely, summary)
                } else {
                    let summary = format!(
                        "{name} returned when its stream ended, and has asked for nothing for {waited}: it hears of nothing \
                         any more."
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
                    "{name} reads initial events, of which none came for {}, and no bookmark says that they are over.",
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

impl Gone {
    /// The record that proves an object to be gone, for longer than [`GHOST_US`].
    fn proves(&self, named: &Named, now: Time) -> Option<Seq> {
        let is_old = |proof: Moment| now.micros_since(proof.at) > GHOST_US;
        let mut deleted = self.deleted.iter();
        let deleted = deleted.find(|(uid, proof)| *uid == named.uid && is_old(*proof));
        // A name that was missing before the client had the object may have been given anew.
        let is_it = |(resource, key, proof): &&(String, String, Moment)| {
            *resource == named.resource
                && *key == named.key
                && proof.at >= named.since
                && is_old(*proof)
        };
        let missing = || self.missing.iter().find(is_it).map(|(.., proof)| proof.seq);
        deleted.map(|(_, proof)| proof.seq).or_else(missing)
    }
}

impl Client {
    /// Whether its turns are its handler's, and what it handled the events that reached it.
    fn is_informer(&self) -> bool {
        self.program == ClientProgram::Informer
    }

    /// What it does, if its word is a known one.
    fn does(&self) -> ClientPhase {
        ClientPhase::of(&self.phase)
    }

    /// It asks for something: notes what it watches, and whether it lists something else of that.
    fn compares(&mut self, line: &Line<'_>, seq: Seq) {
        let (resource, scope) = (line.resource(), line.scope());
        let watched = self.scopes.get(&resource);
        if line.options.watch {
            if watched.is_some() || self.scopes.len() < CROWD {
                self.scopes.insert(resource, scope);
            }
            return;
        }
        let other = watched.filter(|watched| **watched != scope);
        self.compared = other.map(|watched| Compared {
            seq,
            watched: watched.clone(),
            listed: scope,
        });
    }

    /// F42: it took something up though nothing it watches changed, right after it had listed another scope.
    fn found_differences(
        &mut self,
        handled: u64,
        name: &Text,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(compared) = self.compared.take() else {
            return;
        };
        let summary = format!(
            "{name} watches {} and listed {}. Nothing that it watches changed, and it took up {}: it compares what is not \
             the same.",
            compared.watched,
            compared.listed,
            count(handled, "difference")
        );
        let subject = Subject::Client(name.clone());
        let evidence = vec![compared.seq, record.seq];
        let found = found(
            Row::F42,
            &[],
            Certainty::Likely,
            &subject,
            evidence,
            record.at,
            summary,
        );
        registry.raise(found, record.at);
    }

    /// Waits for a moment, instead of any other.
    fn wait(&mut self, name: Text, at: Time, timers: &mut Timers) {
        if let Some(old) = self.timer.replace(at) {
            timers.unset(old, Timer::Client(name.clone()));
        }
        timers.set(at, Timer::Client(name));
    }
}

fn found(
    row: Row,
    alike: &'static [Row],
    certainty: Certainty,
    subject: &Subject,
    mut evidence: Vec<Seq>,
    since: Time,
    summary: String,
) -> FindingDraft {
    tree::sort(&mut evidence);
    evidence.dedup();
    FindingDraft::of(row, certainty, subject.clone(), evidence, since, summary).alike(alike)
}

/// F01 and F02: turns of a loop that asks for nothing and is given nothing.
fn spin(
    client: &Client,
    turns: u64,
    handled: u64,
    since_us: i64,
    name: &Text,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    let since_ms = u64::try_from(since_us / 1_000).unwrap_or(1).max(1);
    let per_s = turns.saturating_mul(1_000) / since_ms;
    let reads = matches!(
        client.does(),
        ClientPhase::Watching | ClientPhase::Syncing | ClientPhase::Listing
    );
    if per_s <= SPIN_PER_S || reads {
        return;
    }
    let does_handle = handled > turns / 2;
    let (row, what) = if does_handle {
        (Row::F01, "takes what it reads there for events")
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
            "{name} turns {per_s} times a second though no stream of it is open and it asks for none: it reads a closed \
             channel and {what}."
        ),
    );
    found.lasts = Lasts::UntilCleared;
    registry.raise(found, record.at);
}

/// F22: a list that is older than what a watch of ours had brought before it was asked for. Who asks for the newest must
/// not get that from any server, unless etcd itself went back (F33).
fn stale(
    client: &Client,
    (at, seq, asked_for_newest): (Time, Seq, bool),
    name: &Text,
    before: &State,
    streams: &Streams,
    record: Moment,
    registry: &mut FindingRegistry,
) {
    for belief in &client.belief {
        let Some(revision) = belief.revision.filter(|revision| *revision > 0) else {
            continue;
        };
        let is_of = |watch: &watchscope_model::fold::Watch| {
            if watch.group.is_empty() {
                *watch.resource == *belief.resource
            } else {
                *belief.resource == *format!("{}.{}", watch.resource, watch.group)
            }
        };
        let mut watches = before.watches.iter().filter(|(_, watch)| is_of(watch));
        let beyond = watches.find_map(|(watch, _)| {
            let version = streams.was_beyond(watch, revision, at.plus_micros(-OLDER_US))?;
            Some((watch, version))
        });
        if let Some((watch, version)) = beyond {
            let (row, alike, certainty): (_, &'static [Row], _) = if asked_for_newest {
                (Row::F33, &[Row::F22, Row::F32], Certainty::Suspected)
            } else {
                (Row::F22, &[Row::F31, Row::F33], Certainty::Definite)
            };
            registry.raise(
                found(
                    row,
                    alike,
                    certainty,
                    &Subject::Client(name.clone()),
                    vec![seq, record.seq],
                    at,
                    format!(
                        "{name} listed {} and got the state of {revision}, though {watch} had brought {version} before it \
                         asked.",
                        belief.resource
                    ),
                ),
                record.at,
            );
        }
    }
}

/// F14: lists that come no further, each followed by a watch that does not last.
fn circle(
    client: &mut Client,
    version: u64,
    event: &ClientRequest,
    record: Moment,
    registry: &mut FindingRegistry,
    subject: &Subject,
) {
    if client.circle.len() == CIRCLE {
        client.circle.pop_front();
    }
    client.circle.push_back((record.at, record.seq, version));
    let Some((began, _, first)) = client.circle.front().copied() else {
        return;
    };
    let is_quick = record.at.micros_since(began) <= CIRCLE_US;
    if client.circle.len() < CIRCLE || !is_quick || version > first {
        return;
    }
    let evidence = client.circle.iter().map(|(_, seq, _)| *seq).collect();
    let summary = format!(
        "{} listed {CIRCLE} times in {}, came no further than {version}, and its watch from there never lasted.",
        event.client,
        seconds(record.at.millis_since(began))
    );
    let found = found(
        Row::F14,
        &[Row::F10, Row::F11],
        Certainty::Suspected,
        subject,
        evidence,
        began,
        summary,
    );
    registry.raise(found, record.at);
}

/// F49: more events than turns, beyond what may still wait for its turn.
fn merged(client: &mut Client, name: &Text, record: Moment, registry: &mut FindingRegistry) {
    let open = client.changed.saturating_sub(client.iterations);
    if open <= client.most_objects + MERGED {
        return;
    }
    // Told once for each such burst.
    client.changed = client.iterations;
    let summary = format!(
        "The handler of {name} was given at least {} events fewer singly than came: changes of one object were merged.",
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

/// Whether the servers may be of those that ask etcd for each watch without a resourceVersion
/// (docs/semantics/lists-and-watches.md#watch-without-version); also if their version is not known.
fn may_ask_etcd(state: &State) -> bool {
    match server_version(state) {
        None => true,
        Some((27, patch)) => patch <= 12,
        Some((28, patch)) => patch <= 8,
        Some((29, patch)) => patch <= 3,
        Some(_) => false,
    }
}

/// The objects that a belief names, the first [`NAMED`] of all its resources; those it named before keep their time.
fn read_named(beliefs: &[Belief], before: &[Named], now: Time) -> Vec<Named> {
    let of_part = |belief: &Belief| -> Vec<Named> {
        let held = belief.held.iter().map(|held| &held.object);
        let with_uid = held.filter(|object| !object.uid.is_empty());
        let named = with_uid.map(|object| {
            let key = match &object.namespace {
                Some(namespace) => format!("{namespace}/{}", object.name),
                None => object.name.to_string(),
            };
            let is_it = |old: &&Named| {
                old.uid == object.uid && old.key == key && *old.resource == *belief.resource
            };
            let since = before.iter().find(is_it).map_or(now, |old| old.since);
            Named {
                resource: belief.resource.to_string(),
                key,
                uid: object.uid.clone(),
                since,
            }
        });
        named.take(NAMED).collect()
    };
    let mut named: Vec<Named> = beliefs.iter().flat_map(of_part).collect();
    named.truncate(NAMED);
    named
}

/// The resource and key of the object at a path of the API.
fn read_path(path: &str) -> Option<(String, String)> {
    let mut parts = path.trim_matches('/').split('/');
    let group = match parts.next()? {
        "apis" => parts.next()?,
        _ => "",
    };
    let rest: Vec<&str> = parts.skip(1).collect();
    let (plural, key) = match rest.as_slice() {
        [plural, name] => (*plural, (*name).to_owned()),
        ["namespaces", namespace, plural, name] => (*plural, format!("{namespace}/{name}")),
        _ => return None,
    };
    let resource = if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    };
    Some((resource, key))
}

fn remember<T>(list: &mut VecDeque<T>, thing: T) {
    if list.len() == GONE {
        list.pop_front();
    }
    list.push_back(thing);
}
