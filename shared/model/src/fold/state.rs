//! The content of the fold: the cluster, connections, watches with their open requests, streams and gaps, and
//! findings.

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
    /// Everything that is open after record `seq`, and running totals. The log bounds it: one entry for each open
    /// connection, each watch of the epoch and each open finding. The cluster bounds the objects of a watch.
    struct State {
        /// The number of events that the log lost, by `loss` records of the place `log`. It wraps above 64 bits.
        lost "lost": u64,
        /// The wall clock minus `at`, in milliseconds, as last recorded; negative if the wall clock is behind, absent
        /// if never recorded.
        clock_off_ms "clockOffMs": Option<i64>,
        /// The cluster, as it answered last; absent until a cluster answers.
        cluster "cluster": Option<Cluster>,
        /// The open connections, by number.
        connections "connections": Map<ConnectionId, Connection>,
        /// All watches of the epoch by name, including stopped ones.
        watches "watches": Map<WatchName, Watch>,
        /// The open findings, by [`Finding::key`].
        findings "findings": Map<Text, OpenFinding>,
        /// The seq of the last record that was folded or passed over; 0 before the first.
        seq "seq": Seq,
        /// The time of the last record that was folded or passed over. Before the first, it is the time at which the
        /// epoch began, or 1970-01-01T00:00:00Z in the default.
        at "at": Time,
    }

    /// A cluster that answered.
    struct Cluster {
        /// Its name: that of the kubeconfig's context, `in-cluster`, or the host of a bare URL. A simulated cluster has
        /// a name of its own.
        cluster "cluster": Text as Cluster,
        /// Base URL of the apiserver, such as `https://10.0.0.1:6443`.
        server "server": Text as Address,
        /// The server's `gitVersion`, such as `v1.34.1`; empty if it returned none.
        version "version": Text as Fixed,
        /// When the cluster's last `cluster.connected` record came.
        since "since": Moment,
        /// The uid of its namespace `kube-system`; absent until watchscope could read it.
        uid "uid": Option<Text> as Uid,
    }

    /// An open connection.
    struct Connection {
        /// The host and port in the configuration, as `HOST:PORT`.
        server "server": Text as Address,
        /// The IP address and port that the connection reached, as `ADDRESS:PORT`.
        remote "remote": Text as Address,
        /// The protocol negotiated by ALPN (`http/1.1`, `h2`); absent if none was negotiated.
        alpn "alpn": Option<Text> as Fixed,
        /// TLS version and cipher suite, with a space between them; absent without TLS.
        tls "tls": Option<Text> as Fixed,
        /// The record since which it is open.
        since "since": Moment,
        /// When the connection's last GOAWAY came, with which the server announced that it takes no new streams on it.
        /// Absent if none came.
        goaway "goaway": Option<Moment>,
    }

    /// A watch. If it was stopped and started again, its counts and totals go on, and its objects and progress begin
    /// anew.
    struct Watch {
        /// API group; empty for core.
        group "group": Text as Group,
        /// API version, such as `v1`; empty if discovery had not found the resource.
        version "version": Text as Fixed,
        /// Resource, plural.
        resource "resource": Text as Resource,
        /// Namespace; absent for all namespaces and for cluster-scoped resources.
        namespace "namespace": Option<Text> as Namespace,
        /// Label selector; absent if there is none.
        label_selector "labelSelector": Option<Text> as LabelSelector,
        /// Field selector; absent if there is none.
        field_selector "fieldSelector": Option<Text> as FieldSelector,
        /// When the watch was started last.
        since "since": Moment,
        /// The watch's present phase; absent before its first phase since the last start.
        phase "phase": Option<OpenPhase>,
        /// The connection of the watch's last request; absent before its first request, and once the connection closed
        /// or the watch was stopped.
        connection "connection": Option<ConnectionId>,
        /// The watch's last request. Absent before the first request, and once it failed, a page was read, the stream
        /// ended or the watch was stopped.
        request "request": Option<OpenRequest>,
        /// The watch's open stream; absent if none is open.
        stream "stream": Option<OpenStream>,
        /// The open gap; absent if none is open.
        gap "gap": Option<OpenGap>,
        /// The list that the watch is reading, or read last; absent before its first page or first complete watch-list.
        list "list": Option<List>,
        /// The highest resourceVersion that the watch may resume from; a version that cannot be compared replaces the
        /// one before. Absent before the first such version.
        progress "progress": Option<ResourceVersion>,
        /// The resourceVersion that a complete list, a live change or a bookmark showed last since the watch's start;
        /// absent before any of these came. A DELETED does not count if it repeats its object's held version and that
        /// version is no number.
        seen "seen": Option<ResourceVersion>,
        /// The last forward steps of the watch's resourceVersion since its start, in revisions, the oldest first. At
        /// most [`STEPS_KEPT`](super::STEPS_KEPT) are kept; the oldest is dropped first. Empty until the
        /// resourceVersion moved up once.
        steps "steps": Vec<u64>,
        /// The number of the watch's records, by kind number. `watch.started` records count, too.
        counts "counts": Counts,
        /// The number of the watch's changes of type ADDED.
        added "added": u64,
        /// The number of the watch's changes of type MODIFIED.
        modified "modified": u64,
        /// The number of the watch's changes of type DELETED.
        deleted "deleted": u64,
        /// The number of the watch's documents and bodies that were lost, by its `loss` records. It wraps above 64
        /// bits.
        lost "lost": u64,
        /// The open verdicts, by the name of their object: `NAMESPACE/NAME`, or `-/NAME` if the object is
        /// cluster-scoped.
        verdicts "verdicts": Map<Text, OpenVerdict>,
        /// The objects that the watch holds; none once it was stopped.
        objects "objects": Objects,
        /// The address of the apiserver that the watch is pinned to, as `HOST:PORT`; absent if it is not pinned.
        server "server": Option<Text> as Address,
        /// Totals since the watch was started for the first time.
        totals "totals": Totals,
        /// Whether an aggregated apiserver serves the resource, so that its resourceVersions are only compared for
        /// equality (docs/semantics/checks.md#trap-aggregated). Absent if the cluster's own apiserver serves it, or if
        /// that was not known when the watch started.
        aggregated "aggregated": Option<bool>,
        /// When the watch last changed: a stream delivered a live change or an ERROR, or broke off. A gap that begins
        /// because no stream can be opened, or closes without a resume, counts, too. Stream ends with [`Cause::End`] or
        /// [`Cause::Cancelled`], bookmarks and lists do not count. Absent if the watch never changed.
        last_change "lastChange": Option<Moment>,
        /// The record that began the last gap that closed without a resume; the `gap` record itself if the fold had no
        /// open gap. Absent if there was no such gap.
        last_lost "lastLost": Option<Moment>,
        /// The resourceVersion that the watch saw last before it was stopped and started again. Absent once the watch
        /// has seen a resourceVersion after that start, if it saw none before, and for a watch that was started once.
        left_at "leftAt": Option<ResourceVersion>,
    }

    /// The present phase of a watch.
    struct OpenPhase {
        /// The phase.
        phase "phase": Phase,
        /// Why the watch is in it.
        reason "reason": PhaseReason,
        /// The time that the watch waits, in milliseconds from `since`; absent if it does not wait.
        delay_ms "delayMs": Option<u64>,
        /// When the last record of the phase came; each further wait or refusal in the phase has a record of its own.
        since "since": Moment,
        /// The error that led to the phase, in a sentence; absent if a request's record has the error, or there was
        /// none.
        error "error": Option<String> as Free,
    }

    /// A request that has not failed, and whose response has not ended as far as records show it. A request whose page
    /// of a list was lost stays until the next request.
    struct OpenRequest {
        /// The request's id.
        request "request": RequestId,
        /// The request's Kubernetes verb: the word of a [`Verb`](crate::vocabulary::Verb).
        verb "verb": Text as Fixed,
        /// The `timeoutSeconds` of its query, in milliseconds; absent if the query names none, or one that exceeds 64
        /// bits or is no number.
        timeout_ms "timeoutMs": Option<u64>,
        /// When the request was sent.
        since "since": Moment,
    }

    /// An open stream.
    struct OpenStream {
        /// The stream's id.
        stream "stream": StreamId,
        /// The request that opened it.
        request "request": RequestId,
        /// The resourceVersion that its request named; absent if it named none.
        resource_version "resourceVersion": Option<ResourceVersion>,
        /// The `timeoutSeconds` of its request, in milliseconds; absent if the request named none or is unknown.
        timeout_ms "timeoutMs": Option<u64>,
        /// The record since which it is open.
        since "since": Moment,
        /// When the stream's last bookmark came; absent before the first.
        bookmark "bookmark": Option<Moment>,
    }

    /// A gap that has not closed.
    struct OpenGap {
        /// The record that began the gap: a stream's end, or a refusal or wait without a stream.
        since "since": Moment,
        /// The cause of the stream's end that began the gap; [`Cause::Refused`] if a refusal or wait began it.
        reason "reason": Cause,
        /// The stream whose end began the gap; 0 if a refusal or wait began it.
        stream "stream": StreamId,
        /// The watch's progress when the gap began; absent if it had none.
        from "from": Option<ResourceVersion>,
    }

    /// A list, or the initial events of a watch-list once they are complete.
    struct List {
        /// When the list's first page came; for a watch-list, when it was complete.
        since "since": Moment,
        /// The list's resourceVersion.
        resource_version "resourceVersion": ResourceVersion,
        /// The number of items so far, unreadable ones included. It wraps above 64 bits.
        items "items": u64,
        /// When the list was complete; absent while pages are missing.
        complete "complete": Option<Moment>,
    }

    /// An open finding.
    struct OpenFinding {
        /// The last record of the finding.
        finding "finding": Finding,
        /// The record since which it is open.
        since "since": Moment,
        /// The number of occurrences so far, as the last record counts them. If that record states no count, it is the
        /// number before, plus 1 if the record raises the finding. It wraps above 64 bits.
        count "count": u64,
        /// The record that raised the finding last; absent if none did after the record that opened the finding.
        last_raised "lastRaised": Option<Moment>,
    }

    /// An open verdict.
    struct OpenVerdict {
        /// The last record of the verdict.
        verdict "verdict": Verdict,
        /// The record that opened the verdict.
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

/// A rewrite builds the keys again, because each key is made from its finding.
impl Rewrite for Map<Text, OpenFinding> {
    fn rewrite(&mut self, with: &mut dyn Rewriter) {
        self.rekey(|_, open| {
            open.rewrite(with);
            open.finding.key()
        });
    }
}

/// A rewrite builds the keys again, because each key is made from the namespace and name of its object.
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

/// Counts by the kind number of [`Event`]; index 0 is unused. The number of kinds bounds its length; in a decoded
/// snapshot, the size of the frame does. A count wraps above 64 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(Vec<u64>);

impl Counts {
    /// The count of a kind number; 0 for a kind that never came.
    #[must_use]
    pub fn of(&self, kind: u64) -> u64 {
        usize::try_from(kind)
            .ok()
            .and_then(|kind| self.0.get(kind).copied())
            .unwrap_or(0)
    }

    /// The sum of all counts; wraps above 64 bits.
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
    /// The state before the first record.
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
    /// The record that raised the finding last; if none did since the finding was opened, the record that opened it.
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
    /// Whether a list shows what was missed in the gap. Without a known progress a list does not show the missed
    /// events: items that were not held before need not have come in the gap.
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

    /// Carries over the counts of a watch that was stopped and is started again, as after a restore of etcd (F33). The
    /// objects and the progress of that watch are forgotten.
    pub(super) fn count_on_from(&mut self, before: Self) {
        self.counts = before.counts;
        (self.added, self.modified, self.deleted) = (before.added, before.modified, before.deleted);
        self.lost = before.lost;
        self.totals = before.totals;
        self.last_change = before.last_change;
        self.last_lost = before.last_lost;
        self.left_at = before.seen.or(before.left_at);
    }

    /// The object that this watch holds under the namespace and name of `object`, whatever its uid; `None` if it holds
    /// none.
    #[must_use]
    pub fn held(&self, object: &Arc<Object>) -> Option<&Held> {
        self.objects.get(object)
    }

    /// The open verdict on the object with the namespace and name of `object`, whatever its uid; `None` if there is
    /// none.
    #[must_use]
    pub fn verdict_on(&self, object: &Object) -> Option<&OpenVerdict> {
        // Nearly no watch has a verdict, and every change asks, so no key is made in vain.
        if self.verdicts.is_empty() {
            return None;
        }
        self.verdicts.get(&verdict_key(object))
    }
}

/// The key of an object among a watch's verdicts: `NAMESPACE/NAME`, or `-/NAME` if the object is cluster-scoped.
pub(super) fn verdict_key(object: &Object) -> Text {
    let namespace = object.namespace.as_deref().unwrap_or("-");
    format!("{namespace}/{}", object.name).into()
}
