//! The fold: all that is open after some record, with the record since which it is.
//!
//! One function, [`State::apply`], used by the hub, diagnosis, the timeline and tests. A snapshot is a `State`
//! encoded; the fold of a snapshot and the records after it equals the fold from the start, at every cut.

mod objects;
mod totals;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap;

pub use self::objects::{Held, Objects};
pub use self::totals::{ENDS_KEPT, EndReason, Totals};
use crate::codec::{Reader, Writer};
use crate::event::{
    Change, ClusterConnected, ConnectionOpened, Event, Finding, ListComplete, Record,
    RequestAnswered, StreamEnded, StreamOpened, Verdict, WatchStarted,
};
use crate::field::{AsJson, Field, Fields, fields, struct_fields};
use crate::id::{ConnectionId, Object, RequestId, ResourceVersion, Seq, StreamId, Text, WatchName};
use crate::map::Map;
use crate::time::Time;
use crate::vocabulary::{Cause, ChangeType, LossPlace, Origin, Phase, PhaseReason, Standing, Verb};

/// Steps of a watch's resourceVersion that are kept to tell a jump.
pub const STEPS_KEPT: usize = 16;
/// A jump is a step over this…
const JUMP_OVER: u64 = 100;
/// …and over this many times the largest of the last [`STEPS_KEPT`] steps.
const JUMP_FACTOR: u64 = 8;

/// The record since which something is so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The record's seq.
    pub seq: Seq,
    /// The record's time.
    pub at: Time,
}

impl From<&Record> for Moment {
    fn from(record: &Record) -> Self {
        Self {
            seq: record.seq,
            at: record.at,
        }
    }
}

impl serde::Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("at", &self.at)?;
        map.end()
    }
}

impl Field for Moment {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.seq_before(self.seq);
        writer.time(self.at);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            seq: reader.seq_before(),
            at: reader.time(),
        }
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}

fields! {
    /// All that is open after record `seq`.
    struct State {
        /// Records lost to the log, by its own account.
        lost "lost": u64,
        /// Wall clock less `at`, in milliseconds, as last reported.
        clock_off_ms "clockOffMs": Option<i64>,
        /// The cluster, once it answered.
        cluster "cluster": Option<Cluster>,
        /// Open connections.
        connections "connections": Map<ConnectionId, Connection>,
        /// All watches of the epoch, stopped ones too.
        watches "watches": Map<WatchName, Watch>,
        /// Findings that stand, by code and subject.
        findings "findings": Map<Text, OpenFinding>,
        /// The last record folded; 0 before the first.
        seq "seq": Seq,
        /// Its time.
        at "at": Time,
    }

    /// A cluster that answered.
    struct Cluster {
        /// Name.
        cluster "cluster": Text,
        /// Base URL of the apiserver.
        server "server": Text,
        /// Its version.
        version "version": Text,
        /// Since when.
        since "since": Moment,
    }

    /// An open connection.
    struct Connection {
        /// Host and port asked for.
        server "server": Text,
        /// Address reached.
        remote "remote": Text,
        /// Protocol.
        alpn "alpn": Option<Text>,
        /// TLS version and cipher suite.
        tls "tls": Option<Text>,
        /// Since when.
        since "since": Moment,
        /// Since when the server takes no new streams on it.
        goaway "goaway": Option<Moment>,
    }

    /// A watch.
    struct Watch {
        /// API group.
        group "group": Text,
        /// API version.
        version "version": Text,
        /// Resource, plural.
        resource "resource": Text,
        /// Namespace.
        namespace "namespace": Option<Text>,
        /// Label selector.
        label_selector "labelSelector": Option<Text>,
        /// Field selector.
        field_selector "fieldSelector": Option<Text>,
        /// Since when it is wanted.
        since "since": Moment,
        /// What it does now; absent before its first phase.
        phase "phase": Option<OpenPhase>,
        /// The connection of its last request, while that is open.
        connection "connection": Option<ConnectionId>,
        /// Its last request that has no end yet.
        request "request": Option<OpenRequest>,
        /// Its open stream.
        stream "stream": Option<OpenStream>,
        /// The gap it is in.
        gap "gap": Option<OpenGap>,
        /// The list it is reading, or read last.
        list "list": Option<List>,
        /// The highest resourceVersion it may resume from.
        progress "progress": Option<ResourceVersion>,
        /// The resourceVersion it saw last.
        seen "seen": Option<ResourceVersion>,
        /// The last steps of its resourceVersion, oldest first.
        steps "steps": Vec<u64>,
        /// Records of the watch, by kind number.
        counts "counts": Counts,
        /// Changes by type: added, modified, deleted.
        added "added": u64,
        /// Changes of type MODIFIED.
        modified "modified": u64,
        /// Changes of type DELETED.
        deleted "deleted": u64,
        /// Documents or bytes that could not become events.
        lost "lost": u64,
        /// Verdicts that stand.
        verdicts "verdicts": Map<Text, OpenVerdict>,
        /// Objects it holds.
        objects "objects": Objects,
        /// The address of the apiserver it is pinned to.
        server "server": Option<Text>,
        /// What it has been through.
        totals "totals": Totals,
        /// Whether another apiserver serves it, so that its resourceVersions are only compared for equality.
        aggregated "aggregated": Option<bool>,
        /// When something last happened to it: a stream delivered a change or an ERROR, broke off or was refused, or a
        /// gap ended without a resume. An orderly end that is resumed, a bookmark and a list do not count.
        last_change "lastChange": Option<Moment>,
        /// The end that began the last gap without a resume.
        last_lost "lastLost": Option<Moment>,
        /// The resourceVersion that it saw last before it was stopped and started again; absent once it has seen one since.
        left_at "leftAt": Option<ResourceVersion>,
    }

    /// What a watch does now.
    struct OpenPhase {
        /// What.
        phase "phase": Phase,
        /// Why.
        reason "reason": PhaseReason,
        /// For how long it waits, in milliseconds.
        delay_ms "delayMs": Option<u64>,
        /// Since when.
        since "since": Moment,
        /// What went wrong before it, in a sentence.
        error "error": Option<String>,
    }

    /// A request without an end.
    struct OpenRequest {
        /// Its id.
        request "request": RequestId,
        /// Verb.
        verb "verb": Text,
        /// The `timeoutSeconds` it asked for, in milliseconds.
        timeout_ms "timeoutMs": Option<u64>,
        /// When it was sent.
        since "since": Moment,
    }

    /// An open stream.
    struct OpenStream {
        /// Its id.
        stream "stream": StreamId,
        /// The request that opened it.
        request "request": RequestId,
        /// Where it was opened from.
        resource_version "resourceVersion": Option<ResourceVersion>,
        /// The timeout it asked for, in milliseconds.
        timeout_ms "timeoutMs": Option<u64>,
        /// Since when it is open.
        since "since": Moment,
        /// When its last bookmark came.
        bookmark "bookmark": Option<Moment>,
    }

    /// A gap that has not closed.
    struct OpenGap {
        /// The end that began it.
        since "since": Moment,
        /// That end's cause.
        reason "reason": Cause,
        /// The stream that ended; 0 if none had begun, because the one after a list was refused.
        stream "stream": StreamId,
        /// Progress then.
        from "from": Option<ResourceVersion>,
    }

    /// A list, in pages.
    struct List {
        /// Since when.
        since "since": Moment,
        /// Its resourceVersion.
        resource_version "resourceVersion": ResourceVersion,
        /// Items so far.
        items "items": u64,
        /// When it was complete.
        complete "complete": Option<Moment>,
    }

    /// A finding that stands.
    struct OpenFinding {
        /// The finding as last reported.
        finding "finding": Finding,
        /// Since when.
        since "since": Moment,
        /// How often it occurred.
        count "count": u64,
        /// The record that last raised it, which `finding` states; absent if that is the one since which it stands.
        last_raised "lastRaised": Option<Moment>,
    }

    /// A verdict that stands.
    struct OpenVerdict {
        /// The verdict as last reported.
        verdict "verdict": Verdict,
        /// Since when.
        since "since": Moment,
    }
}

struct_fields!(
    Cluster,
    Connection,
    Watch,
    OpenPhase,
    OpenRequest,
    OpenStream,
    OpenGap,
    List,
    OpenFinding,
    OpenVerdict,
    Finding,
    Verdict,
);

/// Running counts by the kind number of [`Event`]; index 0 is unused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<u64>);

impl Counts {
    /// The count of a kind number.
    #[must_use]
    pub fn of(&self, kind: u64) -> u64 {
        usize::try_from(kind)
            .ok()
            .and_then(|kind| self.0.get(kind).copied())
            .unwrap_or(0)
    }

    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn add(&mut self, kind: u64) {
        let kind = kind as usize;
        if self.0.len() <= kind {
            self.0.resize(kind + 1, 0);
        }
        self.0[kind] += 1;
    }
}

impl Field for Counts {
    fn write(&self, writer: &mut Writer<'_>) {
        self.0.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        Self(Vec::read(reader))
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        let named: BTreeMap<&str, u64> = Event::KINDS
            .iter()
            .map(|&(kind, type_name)| (type_name, self.of(kind)))
            .filter(|&(_, count)| count > 0)
            .collect();
        map.serialize_entry(name, &named)
    }
}

impl<K: Field + Ord + serde::Serialize, V: Field + Fields> Field for Map<K, V> {
    fn write(&self, writer: &mut Writer<'_>) {
        writer.varint(self.len() as u64);
        for (key, value) in self {
            key.write(writer);
            value.write(writer);
        }
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let count = reader.count(2, Self::ENTRY_BYTES);
        let mut map = Self::with_capacity(count);
        for _ in 0..count {
            let (key, value) = (K::read(reader), V::read(reader));
            if reader.has_failed() {
                break;
            }
            map.insert(key, value);
        }
        map
    }

    fn entry<M: SerializeMap>(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        struct Entries<'a, K, V>(&'a Map<K, V>);
        impl<K: serde::Serialize, V: Fields> serde::Serialize for Entries<'_, K, V> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(key, value)| (key, AsJson(value))))
            }
        }
        if self.is_empty() {
            Ok(())
        } else {
            map.serialize_entry(name, &Entries(self))
        }
    }
}

impl Default for State {
    /// Nothing has happened yet.
    fn default() -> Self {
        Self {
            seq: Seq(0),
            at: Time(0),
            lost: 0,
            clock_off_ms: None,
            cluster: None,
            connections: Map::new(),
            watches: Map::new(),
            findings: Map::new(),
        }
    }
}

/// How a watch's resourceVersion moved with one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionStep {
    /// As usual, or the first.
    Usual,
    /// Up by `by`, far beyond its last steps.
    Jump {
        /// The step.
        by: u64,
    },
    /// Down by `by`; a correct server never does this (F23, F30).
    Reversal {
        /// The step.
        by: u64,
    },
    /// Not comparable with the one before.
    Incomparable,
}

impl State {
    /// Fills in what only the state knows about an event that is about to be recorded: the end since which a gap is.
    pub fn complete(&self, event: &mut Event) {
        if let Event::Gap(gap) = event
            && let Some(open) = self
                .watches
                .get(&gap.watch)
                .and_then(|watch| watch.gap.as_ref())
        {
            gap.since = open.since.seq;
        }
    }

    /// Takes note that the next record of the log is none of these: one of the inside, or of a kind this build does not
    /// know.
    pub fn pass(&mut self, seq: Seq, at: Time) {
        (self.seq, self.at) = (seq, at);
    }

    /// Folds the next record in.
    pub fn apply(&mut self, record: &Record) {
        let now = Moment::from(record);
        (self.seq, self.at) = (record.seq, record.at);
        match &record.event {
            Event::ClusterConnected(event) => self.cluster = Some(Cluster::new(event, now)),
            Event::ConnectionOpened(event) => {
                self.connections
                    .insert(event.connection, Connection::new(event, now));
            }
            Event::ConnectionGoaway(event) => {
                if let Some(connection) = self.connections.get_mut(&event.connection) {
                    connection.goaway = Some(now);
                }
            }
            Event::ConnectionClosed(event) => {
                self.connections.remove(&event.connection);
                for watch in self.watches.values_mut() {
                    if watch.connection == Some(event.connection) {
                        watch.connection = None;
                    }
                }
            }
            Event::WatchStarted(event) => {
                let mut watch = Watch::new(event, now);
                if let Some(before) = self.watches.remove(&event.watch) {
                    watch.count_on_from(before);
                }
                self.watches.insert(event.watch.clone(), watch);
            }
            Event::Finding(event) => self.apply_finding(event, now),
            Event::Loss(event) if event.place == LossPlace::Log => self.lost += event.count,
            Event::Clock(event) => self.clock_off_ms = Some(event.off_ms),
            _ => {}
        }
        if let Some(watch) = record
            .event
            .watch()
            .and_then(|name| self.watches.get_mut(name))
        {
            watch.apply(&record.event, now);
        }
    }

    /// The fold as JSON lines: first the cluster and counts, then one line per connection, watch, object, finding.
    pub fn json_lines(&self, out: &mut Vec<u8>) {
        use crate::json::push_line;
        if let Some(cluster) = &self.cluster {
            push_line(
                &StateLine {
                    type_name: "cluster",
                    id: None::<&str>,
                    value: cluster,
                },
                out,
            );
        }
        for (id, connection) in &self.connections {
            push_line(
                &StateLine {
                    type_name: "connection",
                    id: Some(("connection", id)),
                    value: connection,
                },
                out,
            );
        }
        for (name, watch) in &self.watches {
            push_line(
                &StateLine {
                    type_name: "watch",
                    id: Some(("watch", name)),
                    value: watch,
                },
                out,
            );
            for held in watch.objects.sorted() {
                push_line(
                    &StateLine {
                        type_name: "object",
                        id: Some(("watch", name)),
                        value: held,
                    },
                    out,
                );
            }
        }
        for open in self.findings.values() {
            push_line(
                &StateLine {
                    type_name: "finding",
                    id: None::<&str>,
                    value: open,
                },
                out,
            );
        }
    }

    fn apply_finding(&mut self, event: &Finding, now: Moment) {
        let key = event.key();
        if event.state == Standing::Cleared {
            self.findings.remove(&key);
            return;
        }
        let known = self.findings.get(&key);
        let (since, count) = known.map_or((now, 0), |open| (open.since, open.count));
        let last_raised = match event.state {
            Standing::Raised => known.map(|_| now),
            _ => known.and_then(|open| open.last_raised),
        };
        let open = OpenFinding {
            finding: event.clone(),
            since,
            count: event
                .count
                .unwrap_or(count + u64::from(event.state == Standing::Raised)),
            last_raised,
        };
        self.findings.insert(key, open);
    }
}

impl OpenFinding {
    /// The record that raised the occurrence that `finding` states.
    #[must_use]
    pub fn raised(&self) -> Moment {
        self.last_raised.unwrap_or(self.since)
    }
}

/// One line of the state's JSON form.
pub(crate) struct StateLine<'a, I, T> {
    pub(crate) type_name: &'static str,
    pub(crate) id: Option<I>,
    pub(crate) value: &'a T,
}

/// Names the thing a line is about.
pub(crate) trait Naming {
    fn entry<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: serde::Serialize> Naming for (&'static str, &T) {
    fn entry<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(self.0, self.1)
    }
}

impl<A: Naming, B: Naming> Naming for (A, B, ()) {
    fn entry<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.0.entry(map)?;
        self.1.entry(map)
    }
}

impl Naming for &str {
    fn entry<M: SerializeMap>(&self, _map: &mut M) -> Result<(), M::Error> {
        Ok(())
    }
}

impl<I: Naming, T: Fields> serde::Serialize for StateLine<'_, I, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.type_name)?;
        if let Some(id) = &self.id {
            id.entry(&mut map)?;
        }
        self.value.entries(&mut map)?;
        map.end()
    }
}

impl Cluster {
    fn new(event: &ClusterConnected, since: Moment) -> Self {
        let ClusterConnected {
            cluster,
            server,
            version,
        } = event.clone();
        Self {
            cluster,
            server,
            version,
            since,
        }
    }
}

impl Connection {
    fn new(event: &ConnectionOpened, since: Moment) -> Self {
        let ConnectionOpened {
            connection: _,
            server,
            remote,
            alpn,
            tls,
            version: _,
        } = event;
        Self {
            server: server.clone(),
            remote: remote.clone(),
            alpn: alpn.clone(),
            tls: tls.clone(),
            since,
            goaway: None,
        }
    }
}

impl OpenGap {
    /// Whether a list shows what was missed in it: what is found where nothing was held need not have come meanwhile.
    fn is_measurable(&self) -> bool {
        self.from.is_some()
    }
}

impl Watch {
    fn new(event: &WatchStarted, since: Moment) -> Self {
        let WatchStarted {
            watch: _,
            group,
            version,
            resource,
            namespace,
            label_selector,
            field_selector,
            server,
            aggregated,
        } = event.clone();
        Self {
            group,
            version,
            resource,
            namespace,
            label_selector,
            field_selector,
            since,
            phase: None,
            connection: None,
            request: None,
            stream: None,
            gap: None,
            list: None,
            progress: None,
            seen: None,
            steps: Vec::new(),
            counts: Counts::default(),
            added: 0,
            modified: 0,
            deleted: 0,
            lost: 0,
            verdicts: Map::new(),
            objects: Objects::default(),
            server,
            totals: Totals::begun(),
            aggregated,
            last_change: None,
            last_lost: None,
            left_at: None,
        }
    }

    /// The watch was stopped before and is started again, as after a restore of etcd (F33): what it held and where it
    /// was is forgotten, and what was counted in this epoch goes on.
    fn count_on_from(&mut self, before: Self) {
        self.counts = before.counts;
        (self.added, self.modified, self.deleted) = (before.added, before.modified, before.deleted);
        self.lost = before.lost;
        self.totals = before.totals;
        self.last_change = before.last_change;
        self.last_lost = before.last_lost;
        self.left_at = before.seen.or(before.left_at);
    }

    /// How this watch's resourceVersion moves to `version`. The first one after a stop and a start is held against the last
    /// one before them, below which it only is if etcd was restored.
    #[must_use]
    pub fn move_to(&self, version: &ResourceVersion) -> VersionStep {
        if self.seen.is_some() {
            return self.step_to(version);
        }
        let left_at = self.left_at.as_ref().and_then(ResourceVersion::number);
        match left_at.zip(version.number()) {
            Some((from, to)) if to < from => VersionStep::Reversal { by: from - to },
            _ => VersionStep::Usual,
        }
    }

    /// How this watch's resourceVersion would move to `version`.
    #[must_use]
    pub fn step_to(&self, version: &ResourceVersion) -> VersionStep {
        let Some(seen) = &self.seen else {
            return VersionStep::Usual;
        };
        let (Some(from), Some(to)) = (seen.number(), version.number()) else {
            return VersionStep::Incomparable;
        };
        if to < from {
            return VersionStep::Reversal { by: from - to };
        }
        let by = to - from;
        let largest = self.steps.iter().copied().max();
        match largest {
            Some(largest) if by > JUMP_OVER && by > largest.saturating_mul(JUMP_FACTOR) => {
                VersionStep::Jump { by }
            }
            _ => VersionStep::Usual,
        }
    }

    /// Whether `change` touched status only: `generation` is known and unchanged, and `subresource` is `status`.
    #[must_use]
    pub fn is_status_only(&self, change: &Change) -> bool {
        let held = self.objects.get(&change.object);
        change.change == ChangeType::Modified
            && change.subresource.as_deref() == Some("status")
            && change.generation.is_some()
            && held.is_some_and(|held| held.generation == change.generation)
    }

    /// The object this watch holds in the place of `object`, if it holds one.
    #[must_use]
    pub fn held(&self, object: &Arc<Object>) -> Option<&Held> {
        self.objects.get(object)
    }

    /// The verdict that stands on what is in the place of `object`, if one does.
    #[must_use]
    pub fn verdict_on(&self, object: &Object) -> Option<&OpenVerdict> {
        self.verdicts.get(&verdict_key(object))
    }

    fn apply(&mut self, event: &Event, now: Moment) {
        self.counts.add(event.kind());
        self.count(event, now);
        match event {
            Event::WatchPhase(event) => {
                self.phase = Some(OpenPhase {
                    phase: event.to,
                    reason: event.reason,
                    delay_ms: event.delay_ms,
                    since: now,
                    error: event.error.clone(),
                });
                if matches!(event.to, Phase::Waiting | Phase::Refused) {
                    self.apply_rest(now);
                }
            }
            Event::WatchStopped(event) => {
                self.phase = Some(OpenPhase {
                    phase: Phase::Stopped,
                    reason: event.reason,
                    delay_ms: None,
                    since: now,
                    error: None,
                });
                self.request = None;
                self.stream = None;
                self.gap = None;
                self.connection = None;
                self.objects = Objects::default();
                self.verdicts.clear();
            }
            Event::RequestSent(event) => {
                self.connection = Some(event.connection);
                self.request = Some(OpenRequest {
                    request: event.request,
                    verb: event.verb.clone(),
                    timeout_ms: event.query.as_deref().and_then(timeout_ms),
                    since: now,
                });
            }
            Event::RequestAnswered(event) if event.has_failed() => {
                self.apply_refusal(event, now);
            }
            Event::ListPage(event) => self.apply_page(&event.resource_version, event.items, now),
            Event::ListComplete(event) => self.apply_list(event, now),
            Event::StreamOpened(event) => self.apply_opened(event, now),
            Event::StreamEnded(event) => self.apply_ended(event, now),
            Event::Change(event) => self.apply_change(event, now),
            Event::Bookmark(event) => {
                if let Some(stream) = &mut self.stream {
                    stream.bookmark = Some(now);
                }
                self.learn(&event.resource_version);
            }
            Event::StreamError(_) => self.last_change = Some(now),
            Event::Gap(event) => {
                if !event.resumed {
                    self.last_change = Some(now);
                    self.last_lost = Some(self.gap.as_ref().map_or(now, |gap| gap.since));
                }
                self.gap = None;
            }
            Event::Loss(event) => self.lost += event.count,
            Event::Verdict(event) => {
                let key = verdict_key(&event.object);
                if event.state == Standing::Cleared {
                    self.verdicts.remove(&key);
                } else {
                    let since = self.verdicts.get(&key).map_or(now, |open| open.since);
                    self.verdicts.insert(
                        key,
                        OpenVerdict {
                            verdict: event.clone(),
                            since,
                        },
                    );
                }
            }
            _ => {}
        }
    }

    /// Counts what an event says of what the watch has been through, before the event itself is folded in.
    fn count(&mut self, event: &Event, now: Moment) {
        let totals = &mut self.totals;
        match event {
            Event::Change(_) | Event::Bookmark(_) => totals.hear(now.at),
            Event::ListComplete(event) => {
                totals.hear(now.at);
                // This one is among the records already.
                if self.counts.of(ListComplete::KIND) > 1 {
                    totals.relist(event.items);
                }
                if self.gap.as_ref().is_some_and(OpenGap::is_measurable) {
                    totals.miss(event.added + event.changed + event.removed);
                }
            }
            Event::StreamEnded(event) => totals.end(event.stream, event.cause),
            Event::Attribution(event) => totals.attribute(event),
            Event::Gap(event) => {
                let since = self.gap.as_ref().map_or(now, |gap| gap.since);
                let listed = self.list.as_ref().and_then(|list| list.complete);
                let is_measured = self.gap.as_ref().is_some_and(OpenGap::is_measurable)
                    && listed.is_some_and(|listed| listed.seq > since.seq);
                totals.close(event, now.at.micros_since(since.at), is_measured);
            }
            _ => {}
        }
    }

    /// A request without a good answer. If it was to open a stream, the server's no begins a gap: of what happens from
    /// now on nothing comes, and what happened since progress may be gone.
    fn apply_refusal(&mut self, event: &RequestAnswered, now: Moment) {
        let request = self.request.take();
        let is_watch = request
            .filter(|request| request.request == event.request)
            .is_some_and(|request| Verb::of(&request.verb) == Verb::Watch);
        if is_watch && event.status.is_some() {
            self.stay_without_stream(now);
        }
    }

    /// The watch rests though its list is complete and it has no stream: the one that was to follow cannot be had, and
    /// of what happens from now on nothing comes.
    fn apply_rest(&mut self, now: Moment) {
        let is_listed = self
            .list
            .as_ref()
            .is_some_and(|list| list.complete.is_some());
        if is_listed && self.stream.is_none() {
            self.stay_without_stream(now);
        }
    }

    /// The stream that was to go on from progress cannot be had: a gap begins, unless one is open.
    fn stay_without_stream(&mut self, now: Moment) {
        let can_resume = self
            .progress
            .as_ref()
            .is_some_and(ResourceVersion::is_position);
        if can_resume && self.gap.is_none() {
            self.last_change = Some(now);
            self.gap = Some(OpenGap {
                since: now,
                reason: Cause::Refused,
                stream: StreamId(0),
                from: self.progress.clone(),
            });
        }
    }

    fn apply_page(&mut self, version: &ResourceVersion, items: u64, now: Moment) {
        self.request = None;
        match &mut self.list {
            Some(list) if list.complete.is_none() && list.resource_version == *version => {
                list.items += items
            }
            list => {
                *list = Some(List {
                    since: now,
                    resource_version: version.clone(),
                    items,
                    complete: None,
                });
            }
        }
    }

    fn apply_list(&mut self, event: &ListComplete, now: Moment) {
        let since = match &self.list {
            Some(list) if list.complete.is_none() => list.since,
            _ => now,
        };
        self.list = Some(List {
            since,
            resource_version: event.resource_version.clone(),
            items: event.items,
            complete: Some(now),
        });
        self.see(&event.resource_version);
        if event.resource_version.is_position() {
            self.advance(&event.resource_version);
        }
    }

    fn apply_opened(&mut self, event: &StreamOpened, now: Moment) {
        let timeout_ms = self
            .request
            .as_ref()
            .filter(|request| request.request == event.request)
            .and_then(|request| request.timeout_ms);
        self.stream = Some(OpenStream {
            stream: event.stream,
            request: event.request,
            resource_version: event.resource_version.clone(),
            timeout_ms,
            since: now,
            bookmark: None,
        });
    }

    fn apply_ended(&mut self, event: &StreamEnded, now: Moment) {
        self.stream = None;
        self.request = None;
        if !matches!(event.cause, Cause::Cancelled | Cause::End) {
            self.last_change = Some(now);
        }
        if event.cause != Cause::Cancelled && self.gap.is_none() {
            self.gap = Some(OpenGap {
                since: now,
                reason: event.cause,
                stream: event.stream,
                from: self.progress.clone(),
            });
        }
    }

    fn apply_change(&mut self, event: &Change, now: Moment) {
        match event.change {
            ChangeType::Added => self.added += 1,
            ChangeType::Modified => self.modified += 1,
            ChangeType::Deleted => self.deleted += 1,
            ChangeType::Unknown => {}
        }
        if event.origin == Origin::Live {
            self.last_change = Some(now);
        }
        let mut is_step = event.origin == Origin::Live;
        if event.change == ChangeType::Deleted {
            // One that says which version is gone, and not at which, leaves the watch where it stood. Numbers that
            // are in order see to that by themselves.
            let version = &event.resource_version;
            let is_last = |held: &Held| held.resource_version == *version;
            is_step &=
                version.number().is_some() || !self.objects.get(&event.object).is_some_and(is_last);
            self.objects.remove(event);
        } else {
            self.objects.hold(event, now);
        }
        if is_step {
            self.learn(&event.resource_version);
        }
    }

    /// A version came by a stream. While the state is still being read there (initial events), it is no progress: what
    /// was before it may not have come yet (docs/semantics/clients.md#probe-initial-events).
    fn learn(&mut self, version: &ResourceVersion) {
        self.see(version);
        let is_reading = self
            .phase
            .as_ref()
            .is_some_and(|phase| phase.phase == Phase::Listing);
        if !is_reading {
            self.advance(version);
        }
    }

    fn see(&mut self, version: &ResourceVersion) {
        if let (Some(from), Some(to)) = (
            self.seen.as_ref().and_then(ResourceVersion::number),
            version.number(),
        ) && to > from
        {
            if self.steps.len() == STEPS_KEPT {
                self.steps.remove(0);
            }
            self.steps.push(to - from);
        }
        self.seen = Some(version.clone());
        self.left_at = None;
    }

    /// Moves progress up to `version`; never down. What cannot be compared replaces it.
    fn advance(&mut self, version: &ResourceVersion) {
        let goes_down = self
            .progress
            .as_ref()
            .is_some_and(|progress| progress.is_after(version));
        if !goes_down {
            self.progress = Some(version.clone());
        }
    }
}

/// The `timeoutSeconds` of a query, in milliseconds. It is read alone, without [`crate::options`]: the fold is in what a
/// page downloads first.
fn timeout_ms(query: &str) -> Option<u64> {
    let seconds = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("timeoutSeconds="))?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000)
}

/// The key of a place among a watch's verdicts.
fn verdict_key(object: &Object) -> Text {
    let namespace = object.namespace.as_deref().unwrap_or("-");
    format!("{namespace}/{}", object.name).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Bookmark, Gap, Loss, WatchStopped};
    use crate::vocabulary::{Origin, PhaseReason};

    fn watch_of_pods() -> WatchName {
        WatchName::from("shop/pods")
    }

    fn started() -> Event {
        WatchStarted {
            watch: watch_of_pods(),
            group: "".into(),
            version: "v1".into(),
            resource: "pods".into(),
            namespace: None,
            label_selector: None,
            field_selector: None,
            server: None,
            aggregated: None,
        }
        .into()
    }

    fn added(origin: Origin) -> Event {
        Change {
            watch: watch_of_pods(),
            stream: None,
            change: ChangeType::Added,
            origin,
            object: Arc::new(Object {
                namespace: None,
                name: "a".into(),
                uid: crate::Uid::parse("u"),
            }),
            resource_version: 7.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
        }
        .into()
    }

    fn ended(cause: Cause) -> Event {
        StreamEnded {
            watch: watch_of_pods(),
            stream: StreamId(1),
            cause,
            age_ms: 1,
            events: 0,
            bytes: 0,
            reset_code: None,
            unread_ms: None,
        }
        .into()
    }

    fn gap(resumed: bool) -> Event {
        Gap {
            watch: watch_of_pods(),
            since: Seq(1),
            from: None,
            to: None,
            reason: Cause::End,
            resumed,
            lost: None,
        }
        .into()
    }

    #[test]
    fn a_list_a_bookmark_and_a_timeout_that_is_resumed_leave_a_watch_quiet() {
        let bookmark = Bookmark {
            watch: watch_of_pods(),
            stream: StreamId(1),
            resource_version: 9.into(),
            initial_events_end: None,
        };
        let quiet = [
            added(Origin::List),
            bookmark.into(),
            ended(Cause::End),
            gap(true),
        ];
        let loud = [added(Origin::Live), ended(Cause::TcpReset), gap(false)];
        let last_change = |event: Event| {
            let mut state = State::default();
            for (seq, event) in (1..).zip([started(), event]) {
                let at = Time(0);
                state.apply(&Record {
                    seq: Seq(seq),
                    at,
                    event,
                });
            }
            state.watches[&watch_of_pods()].last_change
        };
        for event in quiet {
            assert_eq!(last_change(event.clone()), None, "{event:?}");
        }
        for event in loud {
            let seq = last_change(event.clone()).map(|moment| moment.seq);
            assert_eq!(seq, Some(Seq(2)), "{event:?}");
        }
    }

    #[test]
    fn only_records_that_the_log_could_not_take_count_as_lost_to_it() {
        let mut state = State::default();
        for (seq, place) in (1..).zip([LossPlace::Body, LossPlace::Log, LossPlace::Ring]) {
            let event = Loss {
                place,
                count: 5,
                from_seq: None,
                to_seq: None,
                watch: None,
                bytes: None,
                reason: None,
                what: None,
            };
            state.apply(&Record {
                seq: Seq(seq),
                at: Time(0),
                event: event.into(),
            });
        }
        assert_eq!(state.lost, 5);
    }

    #[test]
    fn a_watch_that_is_stopped_and_started_again_counts_on_and_holds_nothing() {
        let list = ListComplete {
            watch: watch_of_pods(),
            resource_version: 9.into(),
            items: 1,
            added: 1,
            changed: 0,
            removed: 0,
        };
        let stopped = WatchStopped {
            watch: watch_of_pods(),
            reason: PhaseReason::StopRequested,
        };
        let events = [
            started(),
            added(Origin::List),
            list.into(),
            gap(false),
            stopped.into(),
            started(),
        ];
        let mut state = State::default();
        for (seq, event) in (1..).zip(events) {
            state.apply(&Record {
                seq: Seq(seq),
                at: Time(0),
                event,
            });
        }
        let again = &state.watches[&watch_of_pods()];
        assert_eq!((again.objects.len(), &again.progress), (0, &None));
        assert_eq!(again.since.seq, Seq(6));
        assert_eq!((again.added, again.totals.lost()), (1, 1));
        assert_eq!(again.counts.of(ListComplete::KIND), 1);
        assert_eq!(again.counts.of(WatchStarted::KIND), 2);
    }
}
