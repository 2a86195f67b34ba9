//! The text of scripted records, and the bounds of the labels.

use std::collections::BTreeSet;
use std::sync::Arc;

use watchscope_model::event::{
    Attribution, Audit, Bookmark, Change, Clock, ClusterConnected, ConnectionClosed,
    ConnectionGoaway, ConnectionOpened, Finding, Gap, ListComplete, Loss, RequestAnswered,
    RequestSent, StreamEnded, StreamError, StreamOpened, Verdict, WatchPhase, WatchStarted,
};
use watchscope_model::vocabulary::{
    AuditOutcome, Cause, Certainty, ChangeType, Divergence, LossPlace, Origin, Phase, PhaseReason,
    Severity, Standing,
};
use watchscope_model::{
    ConnectionId, Event, Object, Record, RequestId, Seq, State, StreamId, Text, Time, Uid,
    WatchName,
};

use super::families::{FAMILIES, Kind};
use super::tally::MAX_RESOURCES;
use super::*;

const START: Time = Time(1_763_715_600_000_000);

/// Scripted records, which are counted and folded as the writer does it.
struct Story {
    now: Time,
    state: State,
    tally: Tally,
}

impl Story {
    fn new() -> Self {
        Self {
            now: START,
            state: State::default(),
            tally: Tally::default(),
        }
    }

    fn tell(&mut self, event: impl Into<Event>) -> &mut Self {
        let record = Record {
            seq: self.state.seq.next(),
            at: self.now,
            event: event.into(),
        };
        self.tally.observe(&record);
        self.state.apply(&record);
        self
    }

    fn after_ms(&mut self, millis: u64) -> &mut Self {
        self.now = self.now.plus_millis(millis);
        self
    }

    fn watch(&mut self, name: &str, group: &str, resource: &str) -> &mut Self {
        self.tell(WatchStarted {
            watch: name.into(),
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
            namespace: Some("shop".into()),
            label_selector: Some("app=canary-selector".into()),
            field_selector: None,
            server: None,
            aggregated: None,
        })
    }

    fn phase(&mut self, to: Phase, reason: PhaseReason) -> &mut Self {
        self.tell(WatchPhase {
            watch: PODS.into(),
            from: None,
            to,
            reason,
            delay_ms: None,
            error: Some("canary-error".to_owned()),
        })
    }

    fn request(&mut self, request: u64, verb: &str, watch: &str) -> &mut Self {
        self.tell(RequestSent {
            watch: watch.into(),
            request: RequestId(request),
            connection: ConnectionId(1),
            verb: verb.into(),
            path: "/api/v1/namespaces/canary-path/pods".into(),
            query: Some("labelSelector=canary-query".to_owned()),
        })
    }

    fn answer(&mut self, request: u64, status: Option<u16>, watch: &str) -> &mut Self {
        self.tell(RequestAnswered {
            watch: watch.into(),
            request: RequestId(request),
            status,
            headers: Default::default(),
            retry_after_ms: None,
            error: status.is_none().then(|| "canary-refusal".to_owned()),
            error_text: None,
        })
    }

    fn change(
        &mut self,
        change: ChangeType,
        origin: Origin,
        name: &str,
        version: u64,
    ) -> &mut Self {
        self.tell(Change {
            watch: PODS.into(),
            stream: (origin == Origin::Live).then_some(StreamId(1)),
            change,
            origin,
            object: object(name),
            resource_version: version.into(),
            generation: None,
            manager: Some("canary-manager".into()),
            subresource: None,
            bytes: (origin != Origin::Inferred).then_some(1_000),
            stray: None,
            owner: None,
        })
    }

    fn list(&mut self, version: u64, items: u64, removed: u64) -> &mut Self {
        self.tell(ListComplete {
            watch: PODS.into(),
            resource_version: version.into(),
            items,
            added: items,
            changed: 0,
            removed,
        })
    }

    fn open(&mut self, stream: u64, watch: &str) -> &mut Self {
        self.tell(StreamOpened {
            watch: watch.into(),
            stream: StreamId(stream),
            request: RequestId(stream),
            resource_version: Some(100.into()),
            http2_stream: None,
        })
    }

    fn end(&mut self, cause: Cause, age_ms: u64, events: u64) -> &mut Self {
        self.tell(StreamEnded {
            watch: PODS.into(),
            stream: StreamId(1),
            cause,
            age_ms,
            events,
            bytes: 10,
            reset_code: None,
            unread_ms: None,
        })
    }

    fn attribute(&mut self, stream: u64, code: &str) -> &mut Self {
        self.attribute_as(stream, code, Certainty::Likely)
    }

    fn attribute_as(&mut self, stream: u64, code: &str, certainty: Certainty) -> &mut Self {
        self.tell(Attribution {
            watch: PODS.into(),
            stream: StreamId(stream),
            code: code.into(),
            certainty,
            evidence: vec![Seq(1)],
        })
    }

    fn finding(&mut self, code: &str, state: Standing, watch: Option<&str>) -> &mut Self {
        self.found(code, state, watch, None)
    }

    fn found(
        &mut self,
        code: &str,
        state: Standing,
        watch: Option<&str>,
        count: Option<u64>,
    ) -> &mut Self {
        self.tell(Finding {
            code: code.into(),
            candidates: Vec::new(),
            name: "canary-finding".into(),
            severity: Severity::Error,
            state,
            certainty: Certainty::Definite,
            watch: watch.map(WatchName::from),
            server: watch.is_none().then(|| "10.0.0.1:6443".into()),
            evidence: vec![Seq(1)],
            summary: "canary-summary".to_owned(),
            client: None,
            count,
            since: None,
            worst: None,
            connection: None,
            group: None,
            resource: None,
            watches: None,
            resumed: None,
            relisted: None,
            names: Vec::new(),
        })
    }

    fn exposition(&mut self) -> Exposition {
        let log = Text::from("demo");
        let mut out = Exposition::default();
        self.tally.settle(self.now);
        self.tally.expose(&log, &mut out);
        standing(&self.state, &self.tally, &log, self.now, &mut out);
        out
    }

    fn text(&mut self) -> String {
        plain(&self.exposition().open_metrics())
    }

    /// Returns the samples whose names begin with `name`.
    fn samples(&mut self, name: &str) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(name)).collect();
        lines.join("\n")
    }
}

const PODS: &str = "shop/pods?app=canary-selector";

fn object(name: &str) -> Arc<Object> {
    Arc::new(Object {
        namespace: Some("canary-namespace".into()),
        name: name.into(),
        uid: Uid::parse("canary-uid"),
    })
}

/// A list; a stream with three events that is reset; a relist that finds an object gone; and the attribution.
fn a_reset_and_a_relist() -> Story {
    let mut story = Story::new();
    story
        .tell(ConnectionOpened {
            connection: ConnectionId(1),
            server: "canary-server".into(),
            remote: "10.0.0.1:6443".into(),
            alpn: None,
            tls: None,
            version: None,
        })
        .tell(ClusterConnected {
            cluster: "canary-cluster".into(),
            server: "https://canary-server".into(),
            version: "v1.36.3".into(),
            uid: None,
        })
        .watch(PODS, "", "pods")
        .phase(Phase::Listing, PhaseReason::FirstList)
        .request(1, "list", PODS)
        .after_ms(30)
        .answer(1, Some(200), PODS)
        .after_ms(30)
        .change(ChangeType::Added, Origin::List, "canary-object", 90)
        .change(ChangeType::Added, Origin::List, "other", 95)
        .list(100, 2, 0)
        .phase(Phase::Connecting, PhaseReason::Listed)
        .request(2, "watch", PODS)
        .after_ms(4)
        .answer(2, Some(200), PODS)
        .tell(StreamOpened {
            watch: PODS.into(),
            stream: StreamId(1),
            request: RequestId(2),
            resource_version: Some(100.into()),
            http2_stream: None,
        })
        .phase(Phase::Streaming, PhaseReason::Opened)
        .after_ms(2_000)
        .change(ChangeType::Modified, Origin::Live, "canary-object", 101)
        .tell(Bookmark {
            watch: PODS.into(),
            stream: StreamId(1),
            resource_version: 105.into(),
            initial_events_end: None,
        })
        .tell(StreamError {
            watch: PODS.into(),
            stream: StreamId(1),
            code: 410,
            reason: Some("canary-reason".into()),
            message: Some("canary-message".to_owned()),
        })
        .end(Cause::ErrorEvent, 2_004, 3)
        .phase(Phase::Waiting, PhaseReason::Expired)
        .attribute(1, "F11")
        .after_ms(800)
        .phase(Phase::Listing, PhaseReason::Expired)
        .request(3, "list", PODS)
        .after_ms(10)
        .answer(3, Some(429), PODS)
        .phase(Phase::Waiting, PhaseReason::TooManyRequests)
        .after_ms(1_000)
        .phase(Phase::Listing, PhaseReason::RetryDue)
        .request(4, "list", PODS)
        .after_ms(20)
        .answer(4, Some(200), PODS)
        .change(ChangeType::Deleted, Origin::Inferred, "other", 95)
        .list(400, 1, 1)
        .tell(Gap {
            watch: PODS.into(),
            since: Seq(1),
            from: Some(105.into()),
            to: Some(400.into()),
            reason: Cause::ErrorEvent,
            resumed: false,
            lost: None,
        })
        .finding("F11", Standing::Raised, Some(PODS))
        .after_ms(5_000)
        .tell(Audit {
            watch: PODS.into(),
            resource_version: Some(400.into()),
            method: "exact".into(),
            compared: 1,
            outcome: "differs".into(),
            reason: Some("canary-audit".into()),
            object: None,
            authority: None,
            whole: None,
            why: None,
        })
        .tell(Verdict {
            watch: PODS.into(),
            object: object("canary-object"),
            kind: Divergence::Ghost,
            held: Some(101.into()),
            listed: None,
            state: Standing::Confirmed,
            certainty: Certainty::Definite,
        });
    story
}

/// Returns the families of [`a_reset_and_a_relist`] from one to before another, in the order of their names; `None` is
/// the beginning or the end.
fn families(from: Option<&str>, before: Option<&str>) -> String {
    let text = a_reset_and_a_relist().text();
    let begin_of = |name: &str| text.find(&format!("# HELP watchscope_{name} ")).unwrap();
    text[from.map_or(0, begin_of)..before.map_or(text.len(), begin_of)].to_owned()
}

#[test]
fn audits_changes_connections_and_findings_are_counted() {
    insta::assert_snapshot!(families(None, Some("list_duration_seconds")), @r#"
    # HELP watchscope_audited_objects_total Objects that the audit compared with its own read of them.
    # TYPE watchscope_audited_objects_total counter
    watchscope_audited_objects_total{cluster="demo",group="",resource="pods"} 1
    # HELP watchscope_audits_total Comparisons of a watch with etcd: agrees, differs, cannot-tell.
    # TYPE watchscope_audits_total counter
    watchscope_audits_total{cluster="demo",group="",resource="pods",outcome="agrees"} 0
    watchscope_audits_total{cluster="demo",group="",resource="pods",outcome="differs"} 1
    watchscope_audits_total{cluster="demo",group="",resource="pods",outcome="cannot-tell"} 0
    # HELP watchscope_bookmarks_total BOOKMARK events received.
    # TYPE watchscope_bookmarks_total counter
    watchscope_bookmarks_total{cluster="demo",group="",resource="pods"} 1
    # HELP watchscope_changes_total Changes of objects as the watch learned them, by lists and streams: ADDED, MODIFIED, DELETED.
    # TYPE watchscope_changes_total counter
    watchscope_changes_total{cluster="demo",group="",resource="pods",type="ADDED"} 2
    watchscope_changes_total{cluster="demo",group="",resource="pods",type="MODIFIED"} 1
    watchscope_changes_total{cluster="demo",group="",resource="pods",type="DELETED"} 1
    # HELP watchscope_clock_off_seconds How far this host's wall clock departed from the log's clock since watchscope started; updated when it changes by over a second.
    # TYPE watchscope_clock_off_seconds gauge
    watchscope_clock_off_seconds{cluster="demo"} 0.0
    # HELP watchscope_cluster_connected 1 while a connection to an apiserver of the cluster is open, else 0.
    # TYPE watchscope_cluster_connected gauge
    watchscope_cluster_connected{cluster="demo"} 1
    # HELP watchscope_connections Connections to apiservers that are open.
    # TYPE watchscope_connections gauge
    watchscope_connections{cluster="demo"} 1
    # HELP watchscope_connections_closed_total Connections to apiservers closed, by cause.
    # TYPE watchscope_connections_closed_total counter
    watchscope_connections_closed_total{cluster="demo",cause="end"} 0
    watchscope_connections_closed_total{cluster="demo",cause="eof"} 0
    watchscope_connections_closed_total{cluster="demo",cause="eof-in-frame"} 0
    watchscope_connections_closed_total{cluster="demo",cause="rst-stream"} 0
    watchscope_connections_closed_total{cluster="demo",cause="goaway"} 0
    watchscope_connections_closed_total{cluster="demo",cause="tcp-reset"} 0
    watchscope_connections_closed_total{cluster="demo",cause="tls"} 0
    watchscope_connections_closed_total{cluster="demo",cause="idle-timeout"} 0
    watchscope_connections_closed_total{cluster="demo",cause="cancelled"} 0
    watchscope_connections_closed_total{cluster="demo",cause="decode"} 0
    watchscope_connections_closed_total{cluster="demo",cause="error-event"} 0
    # HELP watchscope_connections_opened_total Connections to apiservers opened.
    # TYPE watchscope_connections_opened_total counter
    watchscope_connections_opened_total{cluster="demo"} 1
    # HELP watchscope_divergent_objects Objects of a watch that differ from etcd, confirmed by a second read: ghost, missing, stale, list-older.
    # TYPE watchscope_divergent_objects gauge
    watchscope_divergent_objects{cluster="demo",group="",resource="pods",kind="ghost"} 1
    watchscope_divergent_objects{cluster="demo",group="",resource="pods",kind="missing"} 0
    watchscope_divergent_objects{cluster="demo",group="",resource="pods",kind="stale"} 0
    watchscope_divergent_objects{cluster="demo",group="",resource="pods",kind="list-older"} 0
    # HELP watchscope_findings Findings that stand now, by row of the failure catalogue and the worst severity each has had; one cause of several watches counts once. The resource is empty if the finding is about a connection, a server, the cluster or a client.
    # TYPE watchscope_findings gauge
    watchscope_findings{cluster="demo",group="",resource="pods",code="F11",severity="error"} 1
    # HELP watchscope_findings_raised_total Findings raised, repeats of a standing one not counted.
    # TYPE watchscope_findings_raised_total counter
    watchscope_findings_raised_total{cluster="demo",code="F11",severity="error"} 1
    # HELP watchscope_gaps_total Stretches without a stream, closed: resumed (nothing is lost), relisted (a list found the changes, and their events were not received), unknown (what changed is not known).
    # TYPE watchscope_gaps_total counter
    watchscope_gaps_total{cluster="demo",group="",resource="pods",outcome="resumed"} 0
    watchscope_gaps_total{cluster="demo",group="",resource="pods",outcome="relisted"} 1
    watchscope_gaps_total{cluster="demo",group="",resource="pods",outcome="unknown"} 0
    # HELP watchscope_goaways_total HTTP/2 GOAWAY frames received from apiservers.
    # TYPE watchscope_goaways_total counter
    watchscope_goaways_total{cluster="demo"} 0
    # HELP watchscope_inferred_deletes_total Objects found gone by a relist: their DELETED event was never received.
    # TYPE watchscope_inferred_deletes_total counter
    watchscope_inferred_deletes_total{cluster="demo",group="",resource="pods"} 1
    "#);
}

#[test]
fn lists_losses_objects_and_durations_of_requests_are_counted() {
    insta::assert_snapshot!(families(Some("list_duration_seconds"), Some("requests_total")), @r#"
    # HELP watchscope_list_duration_seconds Time from the start of a list, all its pages and retries included, to its end.
    # TYPE watchscope_list_duration_seconds histogram
    watchscope_list_duration_seconds_sum{cluster="demo",group="",resource="pods"} 1.09
    watchscope_list_duration_seconds_count{cluster="demo",group="",resource="pods"} 2
    watchscope_list_duration_seconds_bucket{le="0.01",cluster="demo",group="",resource="pods"} 0
    watchscope_list_duration_seconds_bucket{le="0.05",cluster="demo",group="",resource="pods"} 0
    watchscope_list_duration_seconds_bucket{le="0.1",cluster="demo",group="",resource="pods"} 1
    watchscope_list_duration_seconds_bucket{le="0.5",cluster="demo",group="",resource="pods"} 1
    watchscope_list_duration_seconds_bucket{le="1.0",cluster="demo",group="",resource="pods"} 1
    watchscope_list_duration_seconds_bucket{le="5.0",cluster="demo",group="",resource="pods"} 2
    watchscope_list_duration_seconds_bucket{le="10.0",cluster="demo",group="",resource="pods"} 2
    watchscope_list_duration_seconds_bucket{le="30.0",cluster="demo",group="",resource="pods"} 2
    watchscope_list_duration_seconds_bucket{le="60.0",cluster="demo",group="",resource="pods"} 2
    watchscope_list_duration_seconds_bucket{le="+Inf",cluster="demo",group="",resource="pods"} 2
    # HELP watchscope_list_items_total Objects read by lists.
    # TYPE watchscope_list_items_total counter
    watchscope_list_items_total{cluster="demo",group="",resource="pods"} 3
    # HELP watchscope_lists_total Lists completed, first ones and relists, whole or as initial events of a stream.
    # TYPE watchscope_lists_total counter
    watchscope_lists_total{cluster="demo",group="",resource="pods"} 2
    # HELP watchscope_log_records_total Records written to the log. All numbers of a cluster in one scrape belong to the moment after the last of these records.
    # TYPE watchscope_log_records_total counter
    watchscope_log_records_total{cluster="demo"} 33
    # HELP watchscope_losses_total What was lost by watchscope or on the way to it: bodies dropped from memory, frames that could not become an event, records the log could not take, records that left memory before the history could write them.
    # TYPE watchscope_losses_total counter
    watchscope_losses_total{cluster="demo",where="body"} 0
    watchscope_losses_total{cluster="demo",where="frame"} 0
    watchscope_losses_total{cluster="demo",where="log"} 0
    # HELP watchscope_lost_events_total Fewest events lost in gaps: one for each object that the relist after the gap found added, changed or gone. If that is not known, the gap counts with outcome unknown instead.
    # TYPE watchscope_lost_events_total counter
    watchscope_lost_events_total{cluster="demo",group="",resource="pods"} 2
    # HELP watchscope_object_bytes_total Bytes of the objects in changes, from lists and streams, before anything of them was left out. Objects that a relist found unchanged do not count.
    # TYPE watchscope_object_bytes_total counter
    watchscope_object_bytes_total{cluster="demo",group="",resource="pods"} 3000
    # HELP watchscope_objects Objects that watches hold.
    # TYPE watchscope_objects gauge
    watchscope_objects{cluster="demo",group="",resource="pods"} 1
    # HELP watchscope_pauses_total Stretches of more than a second in which watchscope did not run: its machine slept, or had no time for it.
    # TYPE watchscope_pauses_total counter
    watchscope_pauses_total{cluster="demo"} 0
    # HELP watchscope_relist_total Lists that a watch had to do again after its first.
    # TYPE watchscope_relist_total counter
    watchscope_relist_total{cluster="demo",group="",resource="pods"} 1
    # HELP watchscope_request_duration_seconds Time from the sending of a request to the head of its answer.
    # TYPE watchscope_request_duration_seconds histogram
    watchscope_request_duration_seconds_sum{cluster="demo",verb="list"} 0.06
    watchscope_request_duration_seconds_count{cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="0.005",cluster="demo",verb="list"} 0
    watchscope_request_duration_seconds_bucket{le="0.01",cluster="demo",verb="list"} 1
    watchscope_request_duration_seconds_bucket{le="0.025",cluster="demo",verb="list"} 2
    watchscope_request_duration_seconds_bucket{le="0.05",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="0.1",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="0.25",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="0.5",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="1.0",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="5.0",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="15.0",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="60.0",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_bucket{le="+Inf",cluster="demo",verb="list"} 3
    watchscope_request_duration_seconds_sum{cluster="demo",verb="watch"} 0.004
    watchscope_request_duration_seconds_count{cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.005",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.01",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.025",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.05",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.1",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.25",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="0.5",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="1.0",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="5.0",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="15.0",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="60.0",cluster="demo",verb="watch"} 1
    watchscope_request_duration_seconds_bucket{le="+Inf",cluster="demo",verb="watch"} 1
    "#);
}

#[test]
fn requests_streams_and_watches_are_counted() {
    insta::assert_snapshot!(families(Some("requests_total"), None), @r#"
    # HELP watchscope_requests_total Requests to apiservers answered, by HTTP status (none: there was no answer) and by purpose: a watch, a side watch, a witness, or the audit.
    # TYPE watchscope_requests_total counter
    watchscope_requests_total{cluster="demo",verb="list",code="200",purpose="watch"} 2
    watchscope_requests_total{cluster="demo",verb="list",code="429",purpose="watch"} 1
    watchscope_requests_total{cluster="demo",verb="watch",code="200",purpose="watch"} 1
    # HELP watchscope_short_streams_total Watch streams that ended within a second without a single event.
    # TYPE watchscope_short_streams_total counter
    watchscope_short_streams_total{cluster="demo",group="",resource="pods"} 0
    # HELP watchscope_stream_attributions_total Watch streams ended, by attribution: normal, ours, unknown, or a row of the failure catalogue. Counted a few seconds after the end.
    # TYPE watchscope_stream_attributions_total counter
    watchscope_stream_attributions_total{cluster="demo",group="",resource="pods",code="F11"} 1
    # HELP watchscope_stream_duration_seconds How long watch streams lived, from the sending of their request.
    # TYPE watchscope_stream_duration_seconds histogram
    watchscope_stream_duration_seconds_sum{cluster="demo",group="",resource="pods"} 2.004
    watchscope_stream_duration_seconds_count{cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="1.0",cluster="demo",group="",resource="pods"} 0
    watchscope_stream_duration_seconds_bucket{le="10.0",cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="60.0",cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="300.0",cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="600.0",cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="1800.0",cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="3600.0",cluster="demo",group="",resource="pods"} 1
    watchscope_stream_duration_seconds_bucket{le="+Inf",cluster="demo",group="",resource="pods"} 1
    # HELP watchscope_stream_ends_total Watch streams ended, by what was seen on the wire.
    # TYPE watchscope_stream_ends_total counter
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="end"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="eof"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="eof-in-frame"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="rst-stream"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="goaway"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="tcp-reset"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="tls"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="idle-timeout"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="cancelled"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="decode"} 0
    watchscope_stream_ends_total{cluster="demo",group="",resource="pods",cause="error-event"} 1
    # HELP watchscope_streams_total Watch streams opened.
    # TYPE watchscope_streams_total counter
    watchscope_streams_total{cluster="demo",group="",resource="pods"} 1
    # HELP watchscope_watch_errors_total ERROR events received on watch streams, by the code of their Status; 410 means the history was gone.
    # TYPE watchscope_watch_errors_total counter
    watchscope_watch_errors_total{cluster="demo",group="",resource="pods",code="410"} 1
    # HELP watchscope_watch_events_total Documents received on watch streams that carried news: ADDED, MODIFIED, DELETED, BOOKMARK and ERROR. Of a relist's initial events only those count that differed from what the watch held.
    # TYPE watchscope_watch_events_total counter
    watchscope_watch_events_total{cluster="demo",group="",resource="pods"} 3
    # HELP watchscope_watch_gap_seconds How long a watch has been without the stream it should have, since the last one ended or was refused; else 0. Of several watches, the longest.
    # TYPE watchscope_watch_gap_seconds gauge
    watchscope_watch_gap_seconds{cluster="demo",group="",resource="pods"} 0.0
    # HELP watchscope_watch_last_resource_version The resourceVersion from which a watch would resume. Of several watches, the lowest; absent if it is no number.
    # TYPE watchscope_watch_last_resource_version gauge
    watchscope_watch_last_resource_version{cluster="demo",group="",resource="pods"} 400
    # HELP watchscope_watches Watches, by their present phase.
    # TYPE watchscope_watches gauge
    watchscope_watches{cluster="demo",group="",resource="pods",phase="connecting"} 0
    watchscope_watches{cluster="demo",group="",resource="pods",phase="listing"} 1
    watchscope_watches{cluster="demo",group="",resource="pods",phase="streaming"} 0
    watchscope_watches{cluster="demo",group="",resource="pods",phase="waiting"} 0
    watchscope_watches{cluster="demo",group="",resource="pods",phase="refused"} 0
    watchscope_watches{cluster="demo",group="",resource="pods",phase="stopped"} 0
    "#);
}

#[test]
fn both_forms_differ_only_in_the_names_of_counters_and_the_end() {
    let open_metrics = a_reset_and_a_relist().exposition().open_metrics();
    assert!(open_metrics.ends_with("\n# EOF\n"));
    assert!(open_metrics.contains("\n# TYPE watchscope_relist counter\nwatchscope_relist_total{"));
    let plain = plain(&open_metrics);
    assert!(!plain.contains("EOF"));
    assert!(plain.contains("\n# TYPE watchscope_relist_total counter\nwatchscope_relist_total{"));
    let samples = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(samples(&open_metrics), samples(&plain));
}

/// Row 20, for everything that a record can hold.
#[test]
fn no_text_of_an_object_a_request_or_a_server_is_exposed() {
    let mut story = a_reset_and_a_relist();
    let text = story.text() + &story.exposition().open_metrics();
    for secret in ["canary", "shop", "10.0.0.1", "app="] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn resources_above_the_bound_share_one_series_and_all_are_counted() {
    let mut story = Story::new();
    for number in 0..MAX_RESOURCES + 50 {
        let resource = format!("things{number}");
        let name = format!("shop/{resource}.example.com");
        story.watch(&name, "example.com", &resource);
        story.tell(Bookmark {
            watch: name.as_str().into(),
            stream: StreamId(1),
            resource_version: 7.into(),
            initial_events_end: None,
        });
    }
    story.watch("shop/long", "", &"x".repeat(300));
    let samples = story.samples("watchscope_bookmarks_total");
    assert_eq!(samples.lines().count(), MAX_RESOURCES + 1);
    assert!(
        samples.ends_with(r#"{cluster="demo",group="other",resource="other"} 50"#),
        "{samples}"
    );
    // A resource with series of its own keeps them.
    story.watch("other/things0.example.com", "example.com", "things0");
    let watches = story.samples("watchscope_objects");
    assert_eq!(watches.lines().count(), MAX_RESOURCES + 1);
}

#[test]
fn words_that_are_in_no_list_count_as_other() {
    let mut story = Story::new();
    story.watch(PODS, "", "pods");
    for code in 0..1_000 {
        story.tell(StreamError {
            watch: PODS.into(),
            stream: StreamId(1),
            code,
            reason: None,
            message: None,
        });
        story.attribute(code, &format!("evil-{code}"));
        story.finding(&format!("F{code:02}"), Standing::Raised, None);
        story.request(code, &format!("verb-{code}"), PODS);
        story.answer(code, u16::try_from(code).ok(), PODS);
    }
    story.after_ms(10_000);
    let count = |story: &mut Story, name: &str| story.samples(name).lines().count();
    assert_eq!(
        story.samples("watchscope_stream_attributions_total"),
        r#"watchscope_stream_attributions_total{cluster="demo",group="",resource="pods",code="other"} 1000"#
    );
    assert_eq!(count(&mut story, "watchscope_watch_errors_total"), 20);
    assert_eq!(count(&mut story, "watchscope_requests_total"), 20);
    assert_eq!(
        count(&mut story, "watchscope_findings_raised_total"),
        51,
        "F01 to F50, and other"
    );
}

#[test]
fn unanswered_requests_are_forgotten_oldest_first() {
    let mut story = Story::new();
    story.watch(PODS, "", "pods");
    for request in 0..10_000 {
        story.request(request, "list", PODS);
    }
    story
        .answer(0, Some(200), PODS)
        .answer(9_999, Some(200), PODS);
    insta::assert_snapshot!(story.samples("watchscope_requests_total"), @r#"
    watchscope_requests_total{cluster="demo",verb="list",code="200",purpose="watch"} 1
    watchscope_requests_total{cluster="demo",verb="other",code="200",purpose="watch"} 1
    "#);
}

#[test]
fn requests_are_counted_by_purpose() {
    let mut story = Story::new();
    let names = [
        PODS.to_owned(),
        format!("{PODS}#s"),
        format!("{PODS}#w"),
        format!("{PODS}#a"),
    ];
    for (request, name) in (0..).zip(&names) {
        story.watch(name, "", "pods");
        story
            .request(request, "list", name)
            .answer(request, None, name);
    }
    insta::assert_snapshot!(story.samples("watchscope_requests_total"), @r#"
    watchscope_requests_total{cluster="demo",verb="list",code="none",purpose="watch"} 1
    watchscope_requests_total{cluster="demo",verb="list",code="none",purpose="side"} 1
    watchscope_requests_total{cluster="demo",verb="list",code="none",purpose="witness"} 1
    watchscope_requests_total{cluster="demo",verb="list",code="none",purpose="audit"} 1
    "#);
    assert_eq!(
        story.samples("watchscope_request_duration_seconds"),
        "",
        "an unanswered request has no duration"
    );
}

#[test]
fn an_attribution_that_is_replaced_counts_once_by_its_last_code() {
    let mut story = Story::new();
    story
        .watch(PODS, "", "pods")
        .attribute(1, "F08")
        .after_ms(1_000)
        .attribute(1, "F06")
        .attribute(2, "normal");
    assert_eq!(story.samples("watchscope_stream_attributions_total"), "");
    story.after_ms(1_100);
    insta::assert_snapshot!(story.samples("watchscope_stream_attributions_total"), @r#"
    watchscope_stream_attributions_total{cluster="demo",group="",resource="pods",code="F06"} 1
    "#);
}

#[test]
fn a_suspicion_that_a_late_list_replaces_counts_once() {
    let mut story = Story::new();
    story
        .watch(PODS, "", "pods")
        .attribute_as(1, "unknown", Certainty::Unknown)
        .after_ms(9_000)
        .attribute(1, "F16")
        .after_ms(2_000);
    assert_eq!(story.samples("watchscope_stream_attributions_total"), "");
    story.after_ms(1_300);
    insta::assert_snapshot!(story.samples("watchscope_stream_attributions_total"), @r#"
    watchscope_stream_attributions_total{cluster="demo",group="",resource="pods",code="F16"} 1
    "#);
}

#[test]
fn an_attribution_that_is_replaced_after_a_pause_counts_once() {
    let mut story = Story::new();
    story
        .watch(PODS, "", "pods")
        .attribute(1, "F08")
        .after_ms(60_000)
        .tell(Clock {
            off_ms: 0,
            paused_ms: Some(59_500),
        })
        .after_ms(1_000)
        .attribute(1, "F06")
        .after_ms(1_100);
    insta::assert_snapshot!(story.samples("watchscope_stream_attributions_total"), @r#"
    watchscope_stream_attributions_total{cluster="demo",group="",resource="pods",code="F06"} 1
    "#);
}

#[test]
fn deletes_inferred_from_initial_events_do_not_count_as_received() {
    let mut story = Story::new();
    story.watch(PODS, "", "pods");
    for (change, origin, bytes) in [
        (ChangeType::Added, Origin::Initial, Some(1_000)),
        (ChangeType::Deleted, Origin::Inferred, None),
    ] {
        story.tell(Change {
            watch: PODS.into(),
            stream: Some(StreamId(1)),
            change,
            origin,
            object: object("settings"),
            resource_version: 90.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes,
            stray: None,
            owner: None,
        });
    }
    insta::assert_snapshot!(story.samples("watchscope_watch_events_total"), @r#"
    watchscope_watch_events_total{cluster="demo",group="",resource="pods"} 1
    "#);
}

#[test]
fn a_gap_lost_at_least_what_the_list_that_closed_it_found() {
    let mut story = Story::new();
    let gap = |from: Option<u64>, resumed| Gap {
        watch: PODS.into(),
        since: Seq(1),
        from: from.map(Into::into),
        to: Some(400.into()),
        reason: Cause::ErrorEvent,
        resumed,
        lost: resumed.then_some(0),
    };
    let relist = |added, changed, removed| ListComplete {
        watch: PODS.into(),
        resource_version: 400.into(),
        items: 9,
        added,
        changed,
        removed,
    };
    story
        .watch(PODS, "", "pods")
        .tell(relist(9, 0, 0))
        .tell(gap(Some(100), true))
        .tell(relist(1, 2, 3))
        .tell(gap(Some(100), false))
        // Nothing was held before, so the objects found need not have come in the gap.
        .tell(relist(9, 0, 0))
        .tell(gap(None, false))
        // There is no list, so the loss is unknown.
        .tell(gap(Some(100), false));
    insta::assert_snapshot!(story.samples("watchscope_gaps_total"), @r#"
    watchscope_gaps_total{cluster="demo",group="",resource="pods",outcome="resumed"} 1
    watchscope_gaps_total{cluster="demo",group="",resource="pods",outcome="relisted"} 1
    watchscope_gaps_total{cluster="demo",group="",resource="pods",outcome="unknown"} 2
    "#);
    insta::assert_snapshot!(story.samples("watchscope_lost_events"), @r#"
    watchscope_lost_events_total{cluster="demo",group="",resource="pods"} 6
    "#);
}

#[test]
fn events_compared_with_a_second_watch_do_not_count_as_compared_objects() {
    let mut story = Story::new();
    story.watch(PODS, "", "pods");
    for (method, compared) in [("list exact", 30), ("get", 4), ("second watch", 500)] {
        story.tell(Audit {
            watch: PODS.into(),
            resource_version: Some(400.into()),
            method: method.into(),
            compared,
            outcome: AuditOutcome::Agrees.word().into(),
            reason: None,
            object: None,
            authority: None,
            whole: None,
            why: None,
        });
    }
    insta::assert_snapshot!(story.samples("watchscope_audited_objects_total"), @r#"
    watchscope_audited_objects_total{cluster="demo",group="",resource="pods"} 34
    "#);
}

#[test]
fn a_watch_without_a_stream_is_not_silent_but_in_a_gap() {
    let mut story = Story::new();
    story
        .watch(PODS, "", "pods")
        .open(1, PODS)
        .after_ms(360_000);
    insta::assert_snapshot!(story.samples("watchscope_watch_silence"), @r#"
    watchscope_watch_silence_seconds{cluster="demo",group="",resource="pods"} 360.0
    "#);
    story.end(Cause::TcpReset, 360_000, 0);
    assert_eq!(story.samples("watchscope_watch_silence"), "");
}

#[test]
fn a_cluster_is_connected_while_a_connection_is_open() {
    let mut story = a_reset_and_a_relist();
    assert!(
        story
            .samples("watchscope_cluster_connected")
            .ends_with(" 1")
    );
    story.tell(ConnectionClosed::unasked(
        ConnectionId(1),
        Cause::IdleTimeout,
    ));
    assert!(
        story
            .samples("watchscope_cluster_connected")
            .ends_with(" 0")
    );
}

#[test]
fn findings_stand_until_they_are_cleared_and_each_raising_counts() {
    let mut story = Story::new();
    story
        .watch(PODS, "", "pods")
        .found("F08", Standing::Raised, Some(PODS), Some(1))
        .found("F08", Standing::Raised, Some(PODS), Some(2))
        .found("F08", Standing::Updated, Some(PODS), Some(2))
        .finding("F31", Standing::Raised, None);
    insta::assert_snapshot!(story.samples("watchscope_findings"), @r#"
    watchscope_findings{cluster="demo",group="",resource="",code="F31",severity="error"} 1
    watchscope_findings{cluster="demo",group="",resource="pods",code="F08",severity="error"} 1
    watchscope_findings_raised_total{cluster="demo",code="F08",severity="error"} 1
    watchscope_findings_raised_total{cluster="demo",code="F31",severity="error"} 1
    "#);
    story
        .finding("F08", Standing::Cleared, Some(PODS))
        .finding("F08", Standing::Raised, Some(PODS))
        .finding("F08", Standing::Cleared, Some(PODS));
    insta::assert_snapshot!(story.samples("watchscope_findings"), @r#"
    watchscope_findings{cluster="demo",group="",resource="",code="F31",severity="error"} 1
    watchscope_findings_raised_total{cluster="demo",code="F08",severity="error"} 2
    watchscope_findings_raised_total{cluster="demo",code="F31",severity="error"} 1
    "#);
}

#[test]
fn a_resource_exposes_its_longest_silence_and_gap_and_its_lowest_version() {
    let mut story = Story::new();
    story
        .watch(PODS, "", "pods")
        .watch("bank/pods", "", "pods")
        .list(100, 0, 0);
    story.tell(ListComplete {
        watch: "bank/pods".into(),
        resource_version: 300.into(),
        items: 0,
        added: 0,
        changed: 0,
        removed: 0,
    });
    story
        .open(1, PODS)
        .open(2, "bank/pods")
        .tell(Bookmark {
            watch: "bank/pods".into(),
            stream: StreamId(2),
            resource_version: 301.into(),
            initial_events_end: None,
        })
        .after_ms(1_000)
        .end(Cause::TcpReset, 500, 0)
        .after_ms(4_000);
    insta::assert_snapshot!(story.samples("watchscope_watch_"), @r#"
    watchscope_watch_events_total{cluster="demo",group="",resource="pods"} 1
    watchscope_watch_gap_seconds{cluster="demo",group="",resource="pods"} 4.0
    watchscope_watch_last_resource_version{cluster="demo",group="",resource="pods"} 100
    watchscope_watch_silence_seconds{cluster="demo",group="",resource="pods"} 5.0
    "#);
    insta::assert_snapshot!(story.samples("watchscope_short_streams_total"), @r#"
    watchscope_short_streams_total{cluster="demo",group="",resource="pods"} 1
    "#);
}

#[test]
fn connections_and_losses_are_counted_by_their_words() {
    let mut story = Story::new();
    for connection in [1, 2].map(ConnectionId) {
        story.tell(ConnectionOpened {
            connection,
            server: "s".into(),
            remote: "r".into(),
            alpn: None,
            tls: None,
            version: None,
        });
    }
    story
        .tell(ConnectionGoaway {
            connection: ConnectionId(1),
            last_stream: 7,
            code: 0,
        })
        .tell(ConnectionClosed::unasked(ConnectionId(1), Cause::Goaway))
        .tell(Loss {
            place: LossPlace::Frame,
            count: 3,
            from_seq: None,
            to_seq: None,
            watch: None,
            bytes: Some(9),
            reason: Some("canary".to_owned()),
            what: None,
        });
    let text = story.text();
    let exposed: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.ends_with(" 0"))
        .collect();
    insta::assert_snapshot!(exposed.join("\n"), @r#"
    watchscope_clock_off_seconds{cluster="demo"} 0.0
    watchscope_cluster_connected{cluster="demo"} 1
    watchscope_connections{cluster="demo"} 1
    watchscope_connections_closed_total{cluster="demo",cause="goaway"} 1
    watchscope_connections_opened_total{cluster="demo"} 2
    watchscope_goaways_total{cluster="demo"} 1
    watchscope_log_records_total{cluster="demo"} 5
    watchscope_losses_total{cluster="demo",where="frame"} 3
    "#);
}

#[test]
fn a_hostile_resource_cannot_break_out_of_its_label() {
    let mut story = Story::new();
    story.watch(PODS, "evil\\", "po\"ds\n# EOF\nup 1");
    for text in [story.text(), story.exposition().open_metrics()] {
        assert!(!text.contains("\nup 1"), "{text}");
        let escaped = r#"group="evil\\",resource="po\"ds\n# EOF\nup 1""#;
        assert!(text.contains(escaped), "{text}");
    }
}

#[test]
fn names_follow_the_conventions() {
    let mut names = BTreeSet::new();
    for family in FAMILIES {
        let name = family.name;
        assert!(names.insert(name), "{name} twice");
        assert!(name.starts_with("watchscope_"), "{name}");
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
        assert_eq!(
            name.ends_with("_total"),
            family.kind == Kind::Counter,
            "{name}"
        );
        if family.kind == Kind::Histogram {
            assert!(name.ends_with("_seconds"), "{name}: a base unit");
        }
        for unit in ["_ms", "_millis", "_micros", "_kb", "_mib"] {
            assert!(!name.ends_with(unit), "{name}: a base unit");
        }
        assert!(family.help.ends_with('.'), "{name}: {}", family.help);
        assert!(!family.help.contains(['\\', '"', '\n']), "{name}");
    }
    // The names of the security reference, section C.
    for named in [
        "watchscope_watch_events_total",
        "watchscope_viewer_queue_bytes",
        "watchscope_gap_frames_total",
        "watchscope_coalesced_total",
        "watchscope_relist_total",
        "watchscope_ingest_to_send_seconds",
    ] {
        let family = FAMILIES.iter().find(|family| family.name == named);
        let labels = family.expect(named).labels;
        assert!(
            labels
                .iter()
                .all(|label| ["cluster", "group", "resource"].contains(label)),
            "{named}: {labels:?}"
        );
    }
}

/// Returns the rows of docs/metrics.md: name, type, labels, meaning, what to do.
fn documented() -> Vec<[String; 5]> {
    let lines = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| `watchscope_"));
    lines
        .filter_map(|line| {
            let cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_owned()).collect();
            let [_, name, kind, labels, meaning, to_do, _] = cells.try_into().ok()?;
            Some([name, kind, labels, meaning, to_do])
        })
        .collect()
}

const DOCUMENT: &str = include_str!("../../../docs/metrics.md");

#[test]
fn the_document_has_a_row_for_each_family_and_no_other() {
    let quoted = |text: &&str| format!("`{text}`");
    let families = FAMILIES.iter().map(|family| {
        let labels: Vec<String> = family.labels.iter().map(quoted).collect();
        [
            quoted(&family.name),
            family.kind.word().to_owned(),
            labels.join(", "),
            family.help.to_owned(),
        ]
    });
    let rows = documented();
    for [name, .., to_do] in &rows {
        assert!(!to_do.is_empty(), "what to do about {name}");
    }
    let rows: Vec<[String; 4]> = rows
        .into_iter()
        .map(|[name, kind, labels, meaning, _]| [name, kind, labels, meaning])
        .collect();
    assert_eq!(rows, families.collect::<Vec<_>>());
}

/// Each series that docs/metrics.md names, above all in its alert rules, exists with those labels.
#[test]
fn every_series_that_the_document_names_is_exposed() {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut asked = 0;
    for (at, _) in DOCUMENT.match_indices("watchscope_") {
        let rest = &DOCUMENT[at..];
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let family = FAMILIES.iter().find(|family| {
            let of_histogram = ["_bucket", "_sum", "_count"].iter();
            let base = of_histogram
                .filter_map(|suffix| name.strip_suffix(suffix))
                .next();
            family.name == name || (family.kind == Kind::Histogram && base == Some(family.name))
        });
        let family = family.unwrap_or_else(|| panic!("{name} is no series"));
        let Some((matchers, _)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        else {
            continue;
        };
        for matcher in matchers.split("\",").filter(|matcher| !matcher.is_empty()) {
            let end = matcher.find(|c| !is_of_name(c)).unwrap_or(matcher.len());
            let label = &matcher[..end];
            assert!(
                family.labels.contains(&label),
                "{name} has no label {label}"
            );
            asked += 1;
        }
    }
    assert!(asked >= 8, "{asked} labels were looked at");
}
