//! A stage for scripts: watches that stream, a clock that a test turns, and the judgements with their times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use watchscope_diagnosis::Diagnosis;
use watchscope_model::event::{
    Audit, Bookmark, Change, ClientReport, ClientRequest, ClientStarted, Clock, ClusterConnected,
    ConnectionClosed, ConnectionGoaway, ConnectionOpened, Finding, Gap, ListComplete, ListPage,
    Loss, RequestAnswered, RequestSent, StreamEnded, StreamError, StreamOpened, Verdict,
    WatchPhase, WatchStarted, WatchStopped,
};
use watchscope_model::field::Headers;
use watchscope_model::id::Aside;
use watchscope_model::vocabulary::{
    AuditMethod, AuditOutcome, Cause, Certainty, ChangeType, Divergence, ErrorText, FrameLoss,
    LossPlace, Origin, Phase, PhaseReason, Standing,
};
use watchscope_model::{
    ConnectionId, Event, Object, Record, RequestId, ResourceVersion, Seq, State, StreamId, Time,
    Uid, WatchName,
};

/// The timeout that each watch asks for, in seconds.
const TIMEOUT_S: u64 = 400;

pub(crate) struct Stage {
    state: State,
    diagnosis: Diagnosis,
    now: Time,
    ids: u64,
    last_request: RequestId,
    timeout_s: Option<u64>,
    attributions: String,
    found: String,
    /// Since when each finding is raised, in seconds, according to its last record.
    since: BTreeMap<String, i64>,
    evidence: BTreeMap<String, Vec<u64>>,
    /// Whether findings are listed with their candidates.
    lists_candidates: bool,
    /// Whether another apiserver serves the watched types.
    is_aggregated: bool,
}

/// Returns the subject of a finding about several watches, its numbers, and its first names.
fn numbers(found: &Finding) -> String {
    let subject = found.subject().unwrap_or_else(|| "the cluster".into());
    let figures = [
        ("watches", found.watches),
        ("resumed", found.resumed),
        ("relisted", found.relisted),
    ];
    let figures = figures
        .iter()
        .filter_map(|(what, number)| Some(format!("{what}={}", (*number)?)));
    let figures: Vec<String> = figures.collect();
    let mut names: Vec<&str> = found.names.iter().map(WatchName::as_str).collect();
    let many = names.len();
    names.truncate(3);
    format!(
        "{subject} {} names={many} {}",
        figures.join(" "),
        names.join(",")
    )
}

impl Stage {
    /// Watches that have just begun to stream, each over its own connection to one server. A resource that is watched
    /// twice has a server for each watch.
    pub(crate) fn new(first_id: u64, watches: &[&str]) -> Self {
        Self::begin(first_id, watches, Some(TIMEOUT_S), false)
    }

    /// Like `new`; `is_another` says that another apiserver serves the watched types.
    pub(crate) fn served_by(is_another: bool, first_id: u64, watches: &[&str]) -> Self {
        Self::begin(first_id, watches, Some(TIMEOUT_S), is_another)
    }

    /// Like `new`, without timeouts.
    pub(crate) fn without_timeouts(first_id: u64, watches: &[&str]) -> Self {
        Self::begin(first_id, watches, None, false)
    }

    /// Like `new`, with this timeout in seconds.
    pub(crate) fn with_timeouts_of(timeout_s: u64, first_id: u64, watches: &[&str]) -> Self {
        Self::begin(first_id, watches, Some(timeout_s), false)
    }

    fn begin(first_id: u64, watches: &[&str], timeout_s: Option<u64>, is_aggregated: bool) -> Self {
        let mut stage = Self {
            state: State::default(),
            diagnosis: Diagnosis::default(),
            now: Time(0),
            ids: first_id,
            last_request: RequestId(0),
            timeout_s,
            attributions: String::new(),
            found: String::new(),
            since: BTreeMap::new(),
            evidence: BTreeMap::new(),
            lists_candidates: false,
            is_aggregated,
        };
        for name in watches {
            let (namespace, rest) = name.split_once('/').unwrap();
            let name_in_log = WatchName::from(*name);
            let (what, ordinal) = name_in_log.what_and_ordinal();
            let is_pinned = watches.contains(&format!("{what}#2").as_str());
            let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
            let (resource, group) = rest.split_once('.').unwrap_or((rest, ""));
            stage.record(WatchStarted {
                watch: (*name).into(),
                group: group.into(),
                version: "v1".into(),
                resource: resource.into(),
                namespace: (!matches!(namespace, "*" | "-")).then(|| namespace.into()),
                label_selector: None,
                field_selector: None,
                server: is_pinned.then(|| format!("10.0.0.{ordinal}:6443").into()),
                aggregated: is_aggregated.then_some(true),
            });
            stage.reopened(name);
        }
        stage
    }

    /// Begins a watch of the same type by the configured address.
    pub(crate) fn by_address(&mut self, watch: &str) -> &mut Self {
        self.started(watch, "pods", None)
    }

    /// Begins a watch of all namespaces by the configured address.
    pub(crate) fn by_address_of(&mut self, watch: &str) -> &mut Self {
        let (_, what) = watch.split_once('/').unwrap();
        let resource = what.split_once('.').map_or(what, |(resource, _)| resource);
        self.started(watch, resource, None)
    }

    /// Begins a watch of pods with a selector.
    pub(crate) fn selecting(&mut self, watch: &str) -> &mut Self {
        self.started(watch, "pods", Some("tier=web"))
    }

    fn started(&mut self, watch: &str, resource: &str, labels: Option<&str>) -> &mut Self {
        self.begins_to_watch(watch, resource, labels)
            .reopened(watch)
    }

    fn begins_to_watch(&mut self, watch: &str, resource: &str, labels: Option<&str>) -> &mut Self {
        self.record(WatchStarted {
            watch: watch.into(),
            group: "".into(),
            version: "v1".into(),
            resource: resource.into(),
            namespace: None,
            label_selector: labels.map(Into::into),
            field_selector: None,
            server: None,
            aggregated: None,
        });
        self
    }

    /// Begins a watch that has sent no request yet.
    pub(crate) fn begins(&mut self, watch: &str) -> &mut Self {
        self.begins_to_watch(watch, "pods", None)
    }

    /// From now on the cluster's own apiserver serves the watched types.
    pub(crate) fn own(&mut self) -> &mut Self {
        self.is_aggregated = false;
        self
    }

    /// Ends the watch's stream, and opens another that asks for bookmarks.
    pub(crate) fn asking_for_bookmarks(&mut self, watch: &str) -> &mut Self {
        self.ended(watch, Cause::Cancelled);
        let connection = self.connected("10.0.0.1:6443");
        self.opened_asking(watch, connection, "&allowWatchBookmarks=true", Some(10))
    }

    /// Returns a version as the probe has it.
    fn version(&self, number: u64) -> ResourceVersion {
        let version = ResourceVersion::from(number);
        if self.is_aggregated {
            version.unordered()
        } else {
            version
        }
    }

    fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    fn record(&mut self, event: impl Into<Event>) {
        let record = Record {
            seq: self.state.seq.next(),
            at: self.now,
            event: event.into(),
        };
        self.diagnosis.observe(&self.state, &record);
        self.state.apply(&record);
    }

    /// Appends the judgements that are due by now, as the log's writer does.
    fn conclude(&mut self) {
        for event in self.diagnosis.conclude(self.now) {
            if let Event::Attribution(given) = &event {
                let seconds = self.now.0 as f64 / 1e6;
                let evidence: Vec<u64> = given.evidence.iter().map(|seq| seq.0).collect();
                let (watch, code, certainty) = (&given.watch, &given.code, given.certainty);
                writeln!(
                    self.attributions,
                    "{seconds:.3} {watch} {code} {certainty} {evidence:?}"
                )
                .unwrap();
            }
            if let Event::Finding(found) = &event {
                let seconds = self.now.0 as f64 / 1e6;
                let since = found.since.unwrap();
                assert!((Time(0)..=self.now).contains(&since), "{found:?}");
                let watch = found.watch.as_ref().map(|watch| watch.as_str());
                let watch = watch.or(found.client.as_deref()).unwrap_or("");
                let watch = match found.watches {
                    Some(_) => numbers(found),
                    None => watch.to_owned(),
                };
                let count = found.count.unwrap_or(0);
                let alike: Vec<&str> = found.candidates.iter().map(|code| &**code).collect();
                let alike = match (self.lists_candidates, alike.as_slice()) {
                    (true, [_, ..]) => format!(" or {}", alike.join(" ")),
                    _ => String::new(),
                };
                writeln!(
                    self.found,
                    "{seconds:.3} {}{alike} {} {} {} x{count} {watch}: {}",
                    found.code, found.state, found.severity, found.certainty, found.summary
                )
                .unwrap();
                let evidence = found.evidence.iter().map(|seq| seq.0).collect();
                self.evidence.insert(found.code.to_string(), evidence);
                let since = found.since.map(|since| since.0 / 1_000_000);
                self.since
                    .extend(since.map(|at| (found.code.to_string(), at)));
                // The evidence of this test names seqs; findings are left out of it.
                continue;
            }
            self.record(event);
        }
    }

    /// Lets time pass, and wakes diagnosis when it asks for that.
    pub(crate) fn after_ms(&mut self, wait_ms: u64) -> &mut Self {
        let until = self.now.plus_millis(wait_ms);
        loop {
            self.conclude();
            match self.diagnosis.wake_at() {
                Some(at) if at <= until => self.now = self.now.max(at),
                _ => break,
            }
        }
        self.now = until;
        self
    }

    pub(crate) fn after_s(&mut self, wait_s: u64) -> &mut Self {
        self.after_ms(wait_s * 1_000)
    }

    /// Lets watchscope pause for `lasted_s`, and reports the pause.
    pub(crate) fn paused_s(&mut self, lasted_s: u64) -> &mut Self {
        self.now = self.now.plus_millis(lasted_s * 1_000);
        self.record(Clock {
            off_ms: 0,
            paused_ms: Some(lasted_s * 1_000),
        });
        self.conclude();
        self
    }

    /// Opens a stream of the watch over a new connection to an address.
    pub(crate) fn opened(&mut self, watch: &str, remote: &str) -> &mut Self {
        let connection = self.connected(remote);
        self.opened_on(watch, connection)
    }

    /// Moves the watches to one connection that they share.
    pub(crate) fn sharing(&mut self, watches: &[&str]) -> ConnectionId {
        let connection = self.connected("10.0.0.1:6443");
        for watch in watches {
            self.ended(watch, Cause::Cancelled);
            self.opened_on(watch, connection);
        }
        connection
    }

    /// Lets the server take no new streams on a connection.
    pub(crate) fn goaway(&mut self, connection: ConnectionId) {
        self.record(ConnectionGoaway {
            connection,
            last_stream: (1 << 31) - 1,
            code: 0,
        });
    }

    /// Closes a shared connection, after the ends of its streams.
    pub(crate) fn closed(&mut self, connection: ConnectionId, cause: Cause) {
        self.record(ConnectionClosed::unasked(connection, cause));
        self.conclude();
    }

    pub(crate) fn connected(&mut self, remote: &str) -> ConnectionId {
        self.connected_as("api.example.com:6443", remote)
    }

    /// Opens a connection to a server of this name.
    pub(crate) fn connected_as(&mut self, server: &str, remote: &str) -> ConnectionId {
        let connection = ConnectionId(self.id());
        self.record(ConnectionOpened {
            connection,
            server: server.into(),
            remote: remote.into(),
            alpn: None,
            tls: None,
            version: None,
        });
        connection
    }

    /// Sends a watch request over a connection; it has no answer.
    pub(crate) fn asks_for_a_stream(&mut self, watch: &str, connection: ConnectionId) -> &mut Self {
        self.asks_to("watch", watch, connection, None)
    }

    /// Sends a list request over a connection; it has no answer.
    pub(crate) fn asks_for_a_list(&mut self, watch: &str, connection: ConnectionId) -> &mut Self {
        self.asks_to("list", watch, connection, Some("limit=500"))
    }

    fn asks_to(
        &mut self,
        verb: &str,
        watch: &str,
        connection: ConnectionId,
        query: Option<&str>,
    ) -> &mut Self {
        let request = RequestId(self.id());
        self.last_request = request;
        self.record(RequestSent {
            watch: watch.into(),
            request,
            connection,
            verb: verb.into(),
            path: "/api".into(),
            query: query.map(str::to_owned),
        });
        self
    }

    /// Sends a watch request over a connection, answers it, and opens the stream, as probes record it.
    pub(crate) fn asks_and_opens(&mut self, watch: &str, connection: ConnectionId) -> &mut Self {
        self.asks_for_a_stream(watch, connection)
            .answered_last(watch);
        let stream = StreamId(self.id());
        self.record(StreamOpened {
            watch: watch.into(),
            stream,
            request: self.last_request,
            resource_version: Some(10.into()),
            http2_stream: None,
        });
        self
    }

    /// Ends the watch's stream, and opens another with initial events.
    pub(crate) fn opened_with_initial_events(&mut self, watch: &str) -> &mut Self {
        self.ended(watch, Cause::Cancelled);
        self.opens_with_initial_events(watch)
    }

    /// Opens a stream with initial events for a watch without a stream.
    pub(crate) fn opens_with_initial_events(&mut self, watch: &str) -> &mut Self {
        let connection = self.connected("10.0.0.1:6443");
        self.opened_asking(watch, connection, "&sendInitialEvents=true", None)
    }

    /// Like `opens_with_initial_events`, with bookmarks.
    pub(crate) fn opens_with_initial_events_and_bookmarks(&mut self, watch: &str) -> &mut Self {
        let connection = self.connected("10.0.0.1:6443");
        let asks = "&sendInitialEvents=true&allowWatchBookmarks=true";
        self.opened_asking(watch, connection, asks, None)
    }

    /// Ends the watch's stream in order, and opens another from a version.
    pub(crate) fn resumed_from(&mut self, watch: &str, from: u64) -> &mut Self {
        self.ended(watch, Cause::Cancelled);
        let connection = self.connected("10.0.0.1:6443");
        self.opened_asking(watch, connection, "", Some(from))
    }

    fn opened_on(&mut self, watch: &str, connection: ConnectionId) -> &mut Self {
        self.opened_asking(watch, connection, "", Some(10))
    }

    fn opened_asking(
        &mut self,
        watch: &str,
        connection: ConnectionId,
        more: &str,
        from: Option<u64>,
    ) -> &mut Self {
        let request = RequestId(self.id());
        let stream = StreamId(self.id());
        self.last_request = request;
        let query = self
            .timeout_s
            .map(|timeout_s| format!("watch=true&timeoutSeconds={timeout_s}{more}"));
        self.record(RequestSent {
            watch: watch.into(),
            request,
            connection,
            verb: "watch".into(),
            path: "/api".into(),
            query,
        });
        self.record(StreamOpened {
            watch: watch.into(),
            stream,
            request,
            resource_version: from.map(|from| self.version(from)),
            http2_stream: None,
        });
        self
    }

    pub(crate) fn reopened(&mut self, watch: &str) -> &mut Self {
        self.opened(watch, "10.0.0.1:6443")
    }

    /// Stops the watch.
    pub(crate) fn stopped(&mut self, watch: &str) -> &mut Self {
        self.record(WatchStopped {
            watch: watch.into(),
            reason: PhaseReason::StopRequested,
        });
        self.conclude();
        self
    }

    /// Ends the watch's stream without an event.
    pub(crate) fn ended(&mut self, watch: &str, cause: Cause) -> &mut Self {
        self.ended_after(watch, cause, 0)
    }

    /// Ends the watch's stream after `events` events; if the cause implies it, ends its connection too.
    pub(crate) fn ended_after(&mut self, watch: &str, cause: Cause, events: u64) -> &mut Self {
        self.ended_unread(watch, cause, events, None)
    }

    /// Like `ended_after`; watchscope had left the stream unread for this time.
    pub(crate) fn ended_unread(
        &mut self,
        watch: &str,
        cause: Cause,
        events: u64,
        unread_ms: Option<u64>,
    ) -> &mut Self {
        let watch: WatchName = watch.into();
        let held = &self.state.watches[&watch];
        let open = held.stream.clone().unwrap();
        let connection = held.connection.unwrap();
        let age_us = self.now.micros_since(open.since.at);
        self.record(StreamEnded {
            watch,
            stream: open.stream,
            cause,
            age_ms: u64::try_from(age_us / 1_000).unwrap(),
            events,
            bytes: 0,
            reset_code: None,
            unread_ms,
        });
        let streams = self.state.watches.values();
        let is_shared = streams
            .filter(|held| held.connection == Some(connection))
            .count()
            > 1;
        if !matches!(cause, Cause::End | Cause::ErrorEvent) && !is_shared {
            self.record(ConnectionClosed::unasked(connection, cause));
        }
        self.conclude();
        self
    }

    pub(crate) fn error(&mut self, watch: &str, code: u64, reason: &str, message: &str) {
        let watch: WatchName = watch.into();
        let stream = self.state.watches[&watch].stream.as_ref().unwrap().stream;
        self.record(StreamError {
            watch,
            stream,
            code,
            reason: Some(reason.into()),
            message: (!message.is_empty()).then(|| message.to_owned()),
        });
    }

    pub(crate) fn lost(&mut self, watch: &str, reason: &str) {
        self.record(Loss {
            place: LossPlace::Frame,
            count: 1,
            from_seq: None,
            to_seq: None,
            watch: Some(watch.into()),
            bytes: Some(10),
            reason: Some(reason.to_owned()),
            what: Some(frame_loss(reason)),
        });
    }

    /// Closes the gap of a watch: it resumes over a connection, or lists, with these changes.
    pub(crate) fn back_on(
        &mut self,
        watch: &str,
        connection: ConnectionId,
        relisted: Option<u64>,
    ) -> &mut Self {
        let name = WatchName::from(watch);
        let gap = self.state.watches[&name].gap.clone().unwrap();
        self.opened_on(watch, connection);
        self.record(Gap {
            watch: name,
            since: gap.since.seq,
            from: Some(10.into()),
            to: Some(10.into()),
            reason: Cause::End,
            resumed: relisted.is_none(),
            lost: relisted,
        });
        self
    }

    /// Opens a stream of the watch over a connection that others may share.
    pub(crate) fn opened_over(&mut self, watch: &str, connection: ConnectionId) -> &mut Self {
        self.opened_on(watch, connection)
    }

    /// Opens a connection to an address, ready for requests.
    pub(crate) fn dials(&mut self, remote: &str) -> ConnectionId {
        self.connected(remote)
    }

    /// Records that a new discovery does not know the watch's resource.
    pub(crate) fn not_discovered(&mut self, watch: &str) -> &mut Self {
        self.enters(
            watch,
            Phase::Refused,
            PhaseReason::NotDiscovered,
            Some(1_000),
        );
        self.conclude();
        self
    }

    pub(crate) fn phase(&mut self, watch: &str, reason: PhaseReason) {
        self.enters(watch, Phase::Waiting, reason, Some(1_000));
        self.conclude();
    }

    /// Begins the initial events of the watch's stream.
    pub(crate) fn lists(&mut self, watch: &str) {
        self.enters(watch, Phase::Listing, PhaseReason::Opened, None);
    }

    fn enters(&mut self, watch: &str, to: Phase, reason: PhaseReason, delay_ms: Option<u64>) {
        self.record(WatchPhase {
            watch: watch.into(),
            from: None,
            to,
            reason,
            delay_ms,
            error: None,
        });
    }

    pub(crate) fn refused(&mut self, watch: &str, status: u16, error: &str) -> &mut Self {
        self.answer(watch.into(), status, Some(error))
    }

    /// Records the audit's GET of an object with this status.
    pub(crate) fn got(&mut self, watch: &str, name: &str, status: u16) -> &mut Self {
        self.audits(watch, "get", &format!("/api/v1/pods/{name}"), status)
    }

    /// Records the audit's list of the watch's objects with this status.
    pub(crate) fn audit_answered(&mut self, watch: &str, status: u16) -> &mut Self {
        self.audits(watch, "list", "/api/v1/pods", status)
    }

    fn audits(&mut self, watch: &str, verb: &str, path: &str, status: u16) -> &mut Self {
        let connection = self.connected("10.0.0.1:6443");
        let request = RequestId(self.id());
        let watch = WatchName::from(watch).aside(Aside::Audit);
        self.record(RequestSent {
            watch: watch.clone(),
            request,
            connection,
            verb: verb.into(),
            path: path.into(),
            query: None,
        });
        self.answer_to(request, watch, status, None)
    }

    /// Answers a request of the watch itself with this status.
    pub(crate) fn answered(&mut self, watch: &str, status: u16) -> &mut Self {
        self.answer(watch.into(), status, None)
    }

    fn answer(&mut self, watch: WatchName, status: u16, error: Option<&str>) -> &mut Self {
        let request = RequestId(self.id());
        self.answer_to(request, watch, status, error)
    }

    /// Refuses the last request of the watch.
    pub(crate) fn refused_last(&mut self, watch: &str, status: u16, error: &str) -> &mut Self {
        let request = self.last_request;
        self.answer_to(request, watch.into(), status, Some(error))
    }

    /// Answers the last request of the watch with 200.
    pub(crate) fn answered_last(&mut self, watch: &str) -> &mut Self {
        let watch = WatchName::from(watch);
        let request = self.state.watches[&watch].request.as_ref().unwrap().request;
        self.answer_to(request, watch, 200, None)
    }

    fn answer_to(
        &mut self,
        request: RequestId,
        watch: WatchName,
        status: u16,
        error: Option<&str>,
    ) -> &mut Self {
        self.record(RequestAnswered {
            watch,
            request,
            status: Some(status),
            headers: Headers::default(),
            retry_after_ms: None,
            error: error.map(str::to_owned),
            error_text: error.map(error_text),
        });
        self.conclude();
        self
    }

    fn change(&mut self, watch: &str, name: &str, change: ChangeType, generation: u64) {
        let version = self.id();
        let object = Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse("u"),
        };
        self.record(Change {
            watch: watch.into(),
            stream: None,
            change,
            origin: Origin::List,
            object: Arc::new(object),
            resource_version: ResourceVersion::from(version),
            generation: Some(generation),
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        });
    }

    /// Delivers an event on the watch's stream.
    pub(crate) fn live(
        &mut self,
        watch: &str,
        change: ChangeType,
        name: &str,
        uid: &str,
        version: u64,
        generation: Option<u64>,
    ) -> &mut Self {
        self.brings(
            Origin::Live,
            watch,
            change,
            (name, uid),
            version,
            generation,
        )
    }

    /// Delivers an initial event on the watch's stream.
    pub(crate) fn initial(&mut self, watch: &str, name: &str, version: u64) -> &mut Self {
        let added = ChangeType::Added;
        self.brings(Origin::Initial, watch, added, (name, name), version, None)
    }

    /// Lists an object that was not held.
    pub(crate) fn listed(&mut self, watch: &str, name: &str, uid: &str, version: u64) -> &mut Self {
        let added = ChangeType::Added;
        self.brings(Origin::List, watch, added, (name, uid), version, None)
    }

    /// Lists an older version of an object than the held one.
    pub(crate) fn listed_older(&mut self, watch: &str, name: &str, version: u64) -> &mut Self {
        let (modified, origin) = (ChangeType::Modified, Origin::List);
        self.brings(origin, watch, modified, (name, name), version, None)
    }

    /// Infers from the initial events of the watch's stream that a held object is gone.
    pub(crate) fn inferred_gone(&mut self, watch: &str, name: &str, uid: &str) -> &mut Self {
        let (gone, origin) = (ChangeType::Deleted, Origin::Inferred);
        self.brings(origin, watch, gone, (name, uid), 11, None)
    }

    /// Completes a page of a list of the watch.
    pub(crate) fn page(&mut self, watch: &str, version: u64) -> &mut Self {
        self.record(ListPage {
            watch: watch.into(),
            request: self.last_request,
            resource_version: version.into(),
            items: 1,
            remaining: None,
            object: None,
            listed: None,
        });
        self
    }

    /// Like `page`, with an object at a lower version than the held one: name, uid and version.
    pub(crate) fn page_with(
        &mut self,
        watch: &str,
        version: u64,
        (name, uid, listed): (&str, &str, u64),
    ) -> &mut Self {
        let object = Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse(uid),
        };
        self.record(ListPage {
            watch: watch.into(),
            request: self.last_request,
            resource_version: version.into(),
            items: 1,
            remaining: None,
            object: Some(Arc::new(object)),
            listed: Some(listed.into()),
        });
        self
    }

    /// Stops and starts the watch, as after a restore of etcd.
    pub(crate) fn begins_anew(&mut self, watch: &str) -> &mut Self {
        let known = self.state.watches[&WatchName::from(watch)].clone();
        self.stopped(watch);
        self.record(WatchStarted {
            watch: watch.into(),
            group: known.group,
            version: known.version,
            resource: known.resource,
            namespace: known.namespace,
            label_selector: known.label_selector,
            field_selector: known.field_selector,
            server: known.server,
            aggregated: known.aggregated,
        });
        self
    }

    fn brings(
        &mut self,
        origin: Origin,
        watch: &str,
        change: ChangeType,
        object: (&str, &str),
        version: u64,
        generation: Option<u64>,
    ) -> &mut Self {
        let brought = self.brought(origin, watch, change, object, version);
        self.record(Change {
            generation,
            ..brought
        });
        self
    }

    /// Records a change by a list or by the open stream of the watch.
    fn brought(
        &self,
        origin: Origin,
        watch: &str,
        change: ChangeType,
        (name, uid): (&str, &str),
        version: u64,
    ) -> Change {
        let watch: WatchName = watch.into();
        let stream = self.state.watches[&watch].stream.as_ref().unwrap().stream;
        let object = Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse(uid),
        };
        Change {
            watch,
            stream: (origin != Origin::List).then_some(stream),
            change,
            origin,
            object: Arc::new(object),
            resource_version: self.version(version),
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        }
    }

    /// Delivers an object outside the watch's selectors on its stream.
    pub(crate) fn stray(&mut self, watch: &str, name: &str, version: u64) -> &mut Self {
        let modified = ChangeType::Modified;
        let brought = self.brought(Origin::Live, watch, modified, (name, name), version);
        self.record(Change {
            stray: Some(true),
            ..brought
        });
        self
    }

    /// Completes a state in which `removed` objects are gone.
    pub(crate) fn list_complete(&mut self, watch: &str, version: u64, removed: u64) -> &mut Self {
        self.record(ListComplete {
            watch: watch.into(),
            resource_version: self.version(version),
            items: 1,
            added: 0,
            changed: 0,
            removed,
        });
        self
    }

    /// Closes the gap of the watch, by a resume or by a list.
    pub(crate) fn gap_closed(&mut self, watch: &str, resumed: bool) -> &mut Self {
        self.record(Gap {
            watch: watch.into(),
            since: Seq(0),
            from: None,
            to: None,
            reason: Cause::End,
            resumed,
            lost: resumed.then_some(0),
        });
        self.conclude();
        self
    }

    /// Records the server's version.
    pub(crate) fn of_version(&mut self, version: &str) -> &mut Self {
        self.record(ClusterConnected {
            cluster: "test".into(),
            server: "https://10.0.0.1:6443".into(),
            version: version.into(),
            uid: None,
        });
        self
    }

    /// Delivers a bookmark on the watch's stream.
    pub(crate) fn bookmark(&mut self, watch: &str, version: u64) -> &mut Self {
        self.bookmarked(watch, version, None)
    }

    /// Delivers the bookmark that ends the initial events of the watch's stream.
    pub(crate) fn end_bookmark(&mut self, watch: &str, version: u64) -> &mut Self {
        self.bookmarked(watch, version, Some(true))
    }

    fn bookmarked(&mut self, watch: &str, version: u64, ends: Option<bool>) -> &mut Self {
        let watch: WatchName = watch.into();
        let stream = self.state.watches[&watch].stream.as_ref().unwrap().stream;
        self.record(Bookmark {
            watch,
            stream,
            resource_version: self.version(version),
            initial_events_end: ends,
        });
        self
    }

    /// Records an audit of the watch at a version.
    pub(crate) fn audited(
        &mut self,
        watch: &str,
        method: &str,
        outcome: &str,
        version: u64,
    ) -> &mut Self {
        self.record(Audit {
            watch: watch.into(),
            resource_version: Some(self.version(version)),
            method: method.into(),
            compared: 1,
            outcome: outcome.into(),
            reason: None,
            object: None,
            authority: None,
            whole: None,
            why: None,
        });
        self.conclude();
        self
    }

    /// Records that two reads of etcd at a version contradict an event of the watch.
    pub(crate) fn was_not(&mut self, watch: &str, name: &str, version: u64) -> &mut Self {
        let object = Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse("u"),
        };
        self.record(Audit {
            watch: watch.into(),
            resource_version: Some(self.version(version)),
            method: "list one as told twice".into(),
            compared: 1,
            outcome: AuditOutcome::Differs.word().into(),
            reason: None,
            object: Some(Arc::new(object)),
            authority: None,
            whole: None,
            why: None,
        });
        self.conclude();
        self
    }

    /// Records the audit's GET of an object behind a DELETED: etcd has it at a version, with this uid.
    pub(crate) fn found_left(
        &mut self,
        watch: &str,
        name: &str,
        uid: &str,
        version: u64,
    ) -> &mut Self {
        let object = Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse(uid),
        };
        self.record(Audit {
            watch: watch.into(),
            resource_version: Some(self.version(version)),
            method: AuditMethod::GetLeft.word().into(),
            compared: 1,
            outcome: AuditOutcome::Agrees.word().into(),
            reason: None,
            object: Some(Arc::new(object)),
            authority: None,
            whole: None,
            why: None,
        });
        self.conclude();
        self
    }

    /// Records a verdict on an object of the watch.
    pub(crate) fn verdict(
        &mut self,
        watch: &str,
        name: &str,
        kind: Divergence,
        listed: u64,
        state: Standing,
    ) -> &mut Self {
        let object = Object {
            namespace: None,
            name: name.into(),
            uid: Uid::parse("u"),
        };
        self.record(Verdict {
            watch: watch.into(),
            object: Arc::new(object),
            kind,
            held: None,
            listed: (listed > 0).then(|| ResourceVersion::from(listed)),
            state,
            certainty: Certainty::Definite,
        });
        self.conclude();
        self
    }

    /// Starts a client program.
    pub(crate) fn starts(&mut self, client: &str, program: &str) -> &mut Self {
        self.record(ClientStarted {
            client: client.into(),
            program: program.into(),
            version: None,
        });
        self
    }

    /// Records a client's request.
    pub(crate) fn asks(&mut self, client: &str, target: &str) -> &mut Self {
        self.record(ClientRequest {
            client: client.into(),
            request: format!("GET {target}"),
        });
        self
    }

    /// Records a client's report: its phase, iterations and handled events, and its belief if that is new.
    pub(crate) fn reports(
        &mut self,
        client: &str,
        phase: &str,
        (iterations, handled): (u64, u64),
        belief: Option<&str>,
    ) -> &mut Self {
        self.record(ClientReport {
            client: client.into(),
            phase: phase.into(),
            iterations,
            handled,
            belief: belief.map(str::to_owned),
        });
        self
    }

    /// Lists findings with their candidates.
    pub(crate) fn with_candidates(mut self) -> Self {
        self.lists_candidates = true;
        self
    }

    /// Returns the findings by now.
    pub(crate) fn found(&mut self) -> &str {
        self.conclude();
        self.found.trim_end()
    }

    pub(crate) fn held(&mut self, watch: &str, name: &str, generation: u64) {
        self.change(watch, name, ChangeType::Added, generation);
    }

    pub(crate) fn changed(&mut self, watch: &str, name: &str, generation: u64) {
        self.change(watch, name, ChangeType::Modified, generation);
    }

    /// Replaces the machine by one that starts from the fold.
    pub(crate) fn resumed_from_fold(&mut self) {
        self.diagnosis = Diagnosis::since(&self.state);
    }

    /// Returns since when a finding is raised, in seconds, according to its last record.
    pub(crate) fn since(&self, code: &str) -> Option<i64> {
        self.since.get(code).copied()
    }

    /// Returns the evidence of a finding, according to its last record.
    pub(crate) fn evidence(&self, code: &str) -> &[u64] {
        self.evidence.get(code).map_or(&[], Vec::as_slice)
    }

    /// Returns the seq of the newest record.
    pub(crate) fn head(&self) -> u64 {
        self.state.seq.0
    }

    /// Lets 10 s pass, and returns the attributions with their times and evidence.
    pub(crate) fn attributions(&mut self) -> &str {
        self.after_s(10);
        self.attributions.trim_end()
    }
}

/// Returns the kind of frame that the probe reports as lost in these words.
fn frame_loss(reason: &str) -> FrameLoss {
    if reason.starts_with("an item of a list") {
        FrameLoss::Item
    } else if reason.contains("was asked for") {
        FrameLoss::OtherKind
    } else {
        FrameLoss::Malformed
    }
}

/// Returns the origin of a refusal's words, as the probe reports it.
fn error_text(error: &str) -> ErrorText {
    if error.starts_with("the server answered") {
        ErrorText::StatusOnly
    } else if error.contains(' ') {
        ErrorText::Message
    } else {
        ErrorText::Reason
    }
}
