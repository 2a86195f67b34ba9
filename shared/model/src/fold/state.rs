//! What the fold holds: cluster, connections, watches with all that is open of them, and findings.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap;

use super::moment::Moment;
use super::objects::{Held, Objects};
use super::totals::Totals;
use crate::codec::{Reader, Writer};
use crate::event::{ClusterConnected, ConnectionOpened, Event, Finding, Verdict, WatchStarted};
use crate::field::{Field, struct_fields};
use crate::id::{ConnectionId, Object, RequestId, ResourceVersion, Seq, StreamId, Text, WatchName};
use crate::map::Map;
use crate::rewrite::{Rewrite, Rewriter, classed_fields};
use crate::time::Time;
use crate::vocabulary::{Cause, Phase, PhaseReason};

classed_fields! {
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
        cluster "cluster": Text as Cluster,
        /// Base URL of the apiserver.
        server "server": Text as Address,
        /// Its version.
        version "version": Text as Fixed,
        /// Since when.
        since "since": Moment,
        /// The uid of its namespace `kube-system`, if that may be read.
        uid "uid": Option<Text> as Uid,
    }

    /// An open connection.
    struct Connection {
        /// Host and port asked for.
        server "server": Text as Address,
        /// Address reached.
        remote "remote": Text as Address,
        /// Protocol.
        alpn "alpn": Option<Text> as Fixed,
        /// TLS version and cipher suite.
        tls "tls": Option<Text> as Fixed,
        /// Since when.
        since "since": Moment,
        /// Since when the server takes no new streams on it.
        goaway "goaway": Option<Moment>,
    }

    /// A watch.
    struct Watch {
        /// API group.
        group "group": Text as Group,
        /// API version.
        version "version": Text as Fixed,
        /// Resource, plural.
        resource "resource": Text as Resource,
        /// Namespace.
        namespace "namespace": Option<Text> as Namespace,
        /// Label selector.
        label_selector "labelSelector": Option<Text> as LabelSelector,
        /// Field selector.
        field_selector "fieldSelector": Option<Text> as FieldSelector,
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
        server "server": Option<Text> as Address,
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
        error "error": Option<String> as Free,
    }

    /// A request without an end.
    struct OpenRequest {
        /// Its id.
        request "request": RequestId,
        /// Verb.
        verb "verb": Text as Fixed,
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

/// Its keys are those of the findings.
impl Rewrite for Map<Text, OpenFinding> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        self.rekey(|_, open| {
            open.rewrite(with);
            open.finding.key()
        });
    }
}

/// Its keys are the places of the objects.
impl Rewrite for Map<Text, OpenVerdict> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        self.rekey(|_, open| {
            open.rewrite(with);
            verdict_key(&open.verdict.object)
        });
    }
}

impl Rewrite for Counts {
    fn rewrite(&mut self, _with: &mut dyn Rewriter) {}
}

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
        self.0.iter().fold(0, |sum, count| sum.wrapping_add(*count))
    }

    pub(super) fn add(&mut self, kind: u64) {
        let kind = kind as usize;
        if self.0.len() <= kind {
            self.0.resize(kind + 1, 0);
        }
        self.0[kind] = self.0[kind].wrapping_add(1);
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

impl OpenFinding {
    /// The record that raised the occurrence that `finding` states.
    #[must_use]
    pub fn raised(&self) -> Moment {
        self.last_raised.unwrap_or(self.since)
    }
}

impl Cluster {
    pub(super) fn new(event: &ClusterConnected, since: Moment) -> Self {
        let ClusterConnected {
            cluster,
            server,
            version,
            uid,
        } = event.clone();
        Self {
            cluster,
            server,
            version,
            since,
            uid,
        }
    }
}

impl Connection {
    pub(super) fn new(event: &ConnectionOpened, since: Moment) -> Self {
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
    pub(super) fn is_measurable(&self) -> bool {
        self.from.is_some()
    }
}

impl Watch {
    pub(super) fn new(event: &WatchStarted, since: Moment) -> Self {
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
    pub(super) fn count_on_from(&mut self, before: Self) {
        self.counts = before.counts;
        (self.added, self.modified, self.deleted) = (before.added, before.modified, before.deleted);
        self.lost = before.lost;
        self.totals = before.totals;
        self.last_change = before.last_change;
        self.last_lost = before.last_lost;
        self.left_at = before.seen.or(before.left_at);
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
}

/// The key of a place among a watch's verdicts.
pub(super) fn verdict_key(object: &Object) -> Text {
    let namespace = object.namespace.as_deref().unwrap_or("-");
    format!("{namespace}/{}", object.name).into()
}
