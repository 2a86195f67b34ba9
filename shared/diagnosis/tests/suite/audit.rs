//! Tests of the audit against a scripted server: what it finds, what it costs, and each trap of
//! docs/semantics/checks.md#traps by name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use insta::assert_snapshot;
use watchscope_diagnosis::audit::{
    Auditor, FULL_WATCH, Level, MOST_LISTED, PAGE, Read, Reply, SMALL_WATCH,
};
use watchscope_model::event::{
    Bookmark, Change, Clock, ClusterConnected, ConnectionClosed, ConnectionOpened, ListComplete,
    RequestSent, StreamEnded, StreamOpened, WatchPhase, WatchStarted, WatchStopped,
};
use watchscope_model::read::{Page, Seen, Told};
use watchscope_model::vocabulary::{
    AuditMethod, Cause, ChangeType, Origin, Phase, PhaseReason, Standing, Verb,
};
use watchscope_model::{
    ConnectionId, Event, Object, Record, RequestId, ResourceVersion, State, StreamId, Text, Time,
    Uid, WatchName,
};

const WATCH: &str = "shop/pods";

/// Objects by name, with uid and version.
type Objects = BTreeMap<String, (u8, ResourceVersion)>;

/// Audited watches, and the server that the audit reads from.
struct Stage {
    state: State,
    auditor: Auditor,
    now: Time,
    ids: u64,
    minor: u64,
    /// The minor versions of servers that differ from the cluster's. `None`: the server does not name its version to
    /// the audit, and has the cluster's.
    minor_of: BTreeMap<Text, Option<u64>>,
    /// The audit's connection to each server.
    connections: BTreeMap<Text, ConnectionId>,
    /// etcd's states by revision; the last is the present one.
    etcd: BTreeMap<u64, Objects>,
    /// No state below this revision can be read.
    compacted: u64,
    /// The state that lists from a cache return, whatever version they ask for.
    cache: Option<(u64, Objects)>,
    /// Whether the cache stays at its version. Lists that ask for a later version are refused; lists that ask for the
    /// newest come from etcd.
    cache_waits: bool,
    /// The same for the lists of one server.
    cache_of: BTreeMap<Text, (u64, Objects)>,
    /// Answers that replace the server's, by the number of the read.
    answers: BTreeMap<usize, Reply>,
    /// The version that a list states, if that is not the requested one.
    says: Option<ResourceVersion>,
    page: usize,
    /// The server that never answers.
    hangs: Option<Text>,
    /// The answer of second watches.
    second_watch: Option<Told>,
    /// Objects that are to be deleted, since when, and their owner.
    deleted: BTreeMap<String, &'static str>,
    owned: BTreeMap<String, Uid>,
    /// An object that the watch's selectors do not match.
    unmatched: Option<&'static str>,
    /// Whether lists get no answer.
    lists_fail: bool,
    /// Whether lists at an exact version are refused (422).
    refuses_exact: bool,
    /// Whether GETs of objects are refused (403).
    refuses_get: bool,
    /// Whether another apiserver serves the watched type, so that the probe takes its versions to have no order.
    is_aggregated: bool,
    reads: Vec<(Time, Read)>,
    /// Events that the watch receives while a read is under way, by the number of the read.
    meanwhile: BTreeMap<usize, Event>,
    /// A person's pending request: for all of [`WATCH`], or for one of its objects.
    asked: Option<Option<Arc<Object>>>,
    results: String,
}

impl Stage {
    fn new(minor: u64, level: Level) -> Self {
        Self::with(minor, Auditor::new(level))
    }

    fn with(minor: u64, auditor: Auditor) -> Self {
        let mut stage = Self {
            state: State::default(),
            auditor,
            now: Time(0),
            ids: 0,
            minor,
            minor_of: BTreeMap::new(),
            connections: BTreeMap::new(),
            etcd: BTreeMap::from([(10, Objects::new())]),
            compacted: 0,
            cache: None,
            cache_waits: false,
            cache_of: BTreeMap::new(),
            answers: BTreeMap::new(),
            says: None,
            page: usize::MAX,
            hangs: None,
            second_watch: None,
            deleted: BTreeMap::new(),
            owned: BTreeMap::new(),
            unmatched: None,
            lists_fail: false,
            refuses_exact: false,
            refuses_get: false,
            is_aggregated: false,
            reads: Vec::new(),
            meanwhile: BTreeMap::new(),
            asked: None,
            results: String::new(),
        };
        stage.record(ClusterConnected {
            cluster: "test".into(),
            server: "https://test".into(),
            version: format!("v1.{minor}.3").as_str().into(),
            uid: None,
        });
        stage
    }

    fn record(&mut self, event: impl Into<Event>) {
        let record = Record {
            seq: self.state.seq.next(),
            at: self.now,
            event: event.into(),
        };
        self.auditor.observe(&self.state, &record);
        self.state.apply(&record);
    }

    fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// Returns a version as the probe has it.
    fn version(&self, version: ResourceVersion) -> ResourceVersion {
        if self.is_aggregated {
            version.unordered()
        } else {
            version
        }
    }

    fn current(&self) -> (u64, Objects) {
        let (revision, objects) = self.etcd.last_key_value().expect("there is a first state");
        (*revision, objects.clone())
    }

    /// Writes an object in etcd; returns its version.
    fn write(&mut self, name: &str, uid: u8) -> u64 {
        let (revision, mut objects) = self.current();
        objects.insert(name.to_owned(), (uid, (revision + 1).into()));
        self.etcd.insert(revision + 1, objects);
        revision + 1
    }

    /// Deletes an object in etcd; returns the revision.
    fn delete(&mut self, name: &str) -> u64 {
        let (revision, mut objects) = self.current();
        objects.remove(name);
        self.etcd.insert(revision + 1, objects);
        revision + 1
    }

    /// Writes another object.
    fn write_elsewhere(&mut self) -> u64 {
        let (revision, objects) = self.current();
        self.etcd.insert(revision + 1, objects);
        revision + 1
    }

    fn phase(&mut self, watch: &str, to: Phase) {
        self.record(WatchPhase {
            watch: watch.into(),
            from: None,
            to,
            reason: PhaseReason::Started,
            delay_ms: None,
            error: None,
        });
    }

    fn asked(&mut self, watch: &str, verb: &str) -> RequestId {
        self.asked_over(watch, verb, ConnectionId(1))
    }

    fn asked_over(&mut self, watch: &str, verb: &str, connection: ConnectionId) -> RequestId {
        let request = RequestId(self.id());
        let resource = watch.split_once('/').expect("a name").1;
        self.record(RequestSent {
            watch: watch.into(),
            request,
            connection,
            verb: verb.into(),
            path: format!(
                "/api/v1/namespaces/shop/{}",
                resource.trim_end_matches("#2")
            )
            .as_str()
            .into(),
            query: Some("labelSelector=app%3Dweb&timeoutSeconds=300".into()),
        });
        request
    }

    /// Begins a watch, which lists and then streams.
    fn watch(&mut self, watch: &str) {
        self.watch_at(watch, None);
    }

    /// Like `watch`, for one server.
    fn watch_at(&mut self, watch: &str, server: Option<&str>) {
        self.record(WatchStarted {
            watch: watch.into(),
            group: "".into(),
            version: "v1".into(),
            resource: watch.split_once('/').expect("a name").1.into(),
            namespace: Some("shop".into()),
            label_selector: Some("app=web".into()),
            field_selector: None,
            server: server.map(Into::into),
            aggregated: self.is_aggregated.then_some(true),
        });
        self.list(watch);
        self.open(watch);
    }

    fn list(&mut self, watch: &str) {
        self.phase(watch, Phase::Listing);
        self.asked(watch, "list");
        let (revision, objects) = self.current();
        for (name, (uid, version)) in &objects {
            self.tell(
                watch,
                ChangeType::Added,
                Origin::List,
                name,
                *uid,
                version.clone(),
            );
        }
        self.record(ListComplete {
            watch: watch.into(),
            resource_version: self.version(revision.into()),
            items: objects.len() as u64,
            added: objects.len() as u64,
            changed: 0,
            removed: 0,
        });
    }

    fn open(&mut self, watch: &str) {
        self.open_over(watch, ConnectionId(1));
    }

    fn open_over(&mut self, watch: &str, connection: ConnectionId) {
        let request = self.asked_over(watch, "watch", connection);
        let stream = StreamId(self.id());
        let from = self.state.watches[&WatchName::from(watch)].progress.clone();
        self.record(StreamOpened {
            watch: watch.into(),
            stream,
            request,
            resource_version: from,
            http2_stream: None,
        });
        self.phase(watch, Phase::Streaming);
    }

    fn tell(
        &mut self,
        watch: &str,
        change: ChangeType,
        origin: Origin,
        name: &str,
        uid: u8,
        version: ResourceVersion,
    ) {
        let version = self.version(version);
        self.record(changed(watch, change, origin, object(name, uid), version));
    }

    /// Delivers an event on the watch's stream.
    fn event(&mut self, change: ChangeType, name: &str, uid: u8, version: u64) {
        self.tell(WATCH, change, Origin::Live, name, uid, version.into());
    }

    fn bookmark(&mut self, version: u64) {
        self.bookmark_of(WATCH, version);
    }

    fn bookmark_of(&mut self, watch: &str, version: u64) {
        self.record(Bookmark {
            watch: watch.into(),
            ..bookmark(version)
        });
    }

    fn seen(&self, name: &str, uid: u8, version: &ResourceVersion) -> Seen {
        Seen {
            deleted_at: self.deleted.get(name).map(|at| (*at).into()),
            owners: self.owned.get(name).cloned().into_iter().collect(),
            ..seen(name, uid, version.clone())
        }
    }

    /// Returns a server's version, also if the server does not name it to the audit.
    fn minor_at(&self, server: &Text) -> u64 {
        self.minor_of
            .get(server)
            .copied()
            .flatten()
            .unwrap_or(self.minor)
    }

    /// Sends a read over the audit's connection to its server.
    fn send(&mut self, read: &Read) {
        let server = read.server.clone().unwrap_or_else(|| "any".into());
        if !self.connections.contains_key(&server) {
            let connection = ConnectionId(self.id());
            let is_told = self.minor_of.get(&server) != Some(&None);
            let version = format!("v1.{}.3", self.minor_at(&server));
            self.record(ConnectionOpened {
                connection,
                server: server.clone(),
                remote: server.clone(),
                alpn: None,
                tls: None,
                version: is_told.then(|| version.as_str().into()),
            });
            self.connections.insert(server.clone(), connection);
        }
        let request = RequestId(self.id());
        self.record(read.sent(request, self.connections[&server]));
    }

    /// Restarts a server with another version, which closes the audit's connection to it.
    fn upgrade(&mut self, server: &str, minor: u64) {
        self.minor_of.insert(server.into(), Some(minor));
        if let Some(connection) = self.connections.remove(&Text::from(server)) {
            self.record(ConnectionClosed::unasked(connection, Cause::Eof));
        }
    }

    /// Returns the server's answer.
    fn answer(&self, read: &Read) -> Reply {
        let query = read.query.as_deref().unwrap_or("");
        if read.verb == Verb::Watch {
            return self.second_watch.clone().map_or(Reply::Failed, Reply::Told);
        }
        let parameter = |name: &str| {
            let pair = query
                .split('&')
                .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
            pair.map(|(_, value)| value.to_owned())
        };
        let (now, objects) = self.current();
        if read.verb == Verb::Get && self.refuses_get {
            return refused(403);
        }
        if self.refuses_exact && query.contains("Exact") {
            return refused(422);
        }
        if read.verb == Verb::Get {
            let name = read.path.rsplit('/').next().expect("a name");
            return match objects.get(name) {
                Some((uid, version)) => Reply::One(self.seen(name, *uid, version)),
                None => refused(404),
            };
        }
        if self.lists_fail {
            return Reply::Failed;
        }
        // Only a list of all objects shows whether an object ever existed.
        let is_of_all = query.contains("resourceVersion=0") || query.contains("&fieldSelector=");
        assert!(query.contains("labelSelector=app%3Dweb") || is_of_all);
        let one = parameter("fieldSelector").map(|field| field.replace("metadata.name%3D", ""));
        let wanted = parameter("resourceVersion").map(|text| text.parse::<u64>().unwrap_or(0));
        // The continue tokens of this server are `REVISION.PLACE`.
        let token = parameter("continue");
        let (wanted, from) = match token.as_deref().and_then(|token| token.split_once('.')) {
            Some((revision, place)) => (revision.parse().ok(), place.parse().unwrap_or(0)),
            None => (wanted, 0),
        };
        let minor = self.minor_at(read.server.as_ref().unwrap_or(&"any".into()));
        let cached = match wanted {
            _ if one.is_some() => wanted == Some(0),
            None => minor >= 31,
            Some(0) => true,
            Some(_) => minor >= 34,
        };
        let of_server = read.server.as_ref().and_then(|of| self.cache_of.get(of));
        let (at, found) = match (of_server.or(self.cache.as_ref()), wanted) {
            (Some((cache, _)), Some(at)) if cached && self.cache_waits && at > *cache => {
                return too_large((*cache).into());
            }
            (Some((cache, _)), None) if cached && self.cache_waits && now > *cache => {
                (now, objects)
            }
            (Some((at, objects)), None | Some(0)) if cached => (*at, objects.clone()),
            (Some((_, objects)), Some(at)) if cached => (at, objects.clone()),
            (_, None | Some(0)) => (now, objects),
            (_, Some(at)) if at > now => return refused(504),
            (_, Some(at)) if at < self.compacted => {
                let says_newest = (19..24).contains(&minor) && one.is_some();
                return refused(if says_newest { 500 } else { 410 });
            }
            (_, Some(at)) => {
                let state = self.etcd.range(..=at).next_back();
                (
                    at,
                    state
                        .map(|(_, objects)| objects.clone())
                        .unwrap_or_default(),
                )
            }
        };
        let is_selected = query.contains("labelSelector=");
        let all: Vec<Seen> = found
            .iter()
            .filter(|(name, _)| one.as_ref().is_none_or(|one| one == *name))
            .filter(|(name, _)| !is_selected || self.unmatched != Some(name.as_str()))
            .map(|(name, (uid, version))| self.seen(name, *uid, version))
            .collect();
        // A list of one name states the present version.
        let says_newest = (19..24).contains(&minor) && one.is_some();
        let at = if says_newest { now } else { at };
        let items: Vec<Seen> = all.iter().skip(from).take(self.page).cloned().collect();
        let next = from + items.len();
        Reply::Page(Page {
            version: self.says.clone().unwrap_or_else(|| at.into()),
            token: (next < all.len()).then(|| format!("{at}.{next}")),
            items,
            unreadable: 0,
            is_whole: false,
        })
    }

    /// Lets time pass; each read takes 10 ms.
    fn after_s(&mut self, seconds: u64) {
        let until = self.now.plus_millis(seconds * 1_000);
        loop {
            self.append();
            let Some(at) = self.auditor.wake_at().filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(at);
            let Some(read) = self.auditor.next(self.now, &self.state) else {
                continue;
            };
            self.send(&read);
            if self.hangs.is_some() && read.server == self.hangs {
                self.reads.push((self.now, read));
                continue;
            }
            let reply = self
                .answers
                .remove(&self.reads.len())
                .unwrap_or_else(|| self.answer(&read));
            if let Some(event) = self.meanwhile.remove(&self.reads.len()) {
                self.record(event);
            }
            self.reads.push((self.now, read));
            self.append();
            self.now = self.now.plus_millis(10);
            let (_, read) = self.reads.last().expect("it was pushed");
            self.auditor.answer(read, reply, self.now, &self.state);
        }
        self.now = until;
    }

    fn append(&mut self) {
        for event in self.auditor.take() {
            let seconds = self.now.0 as f64 / 1e6;
            match &event {
                Event::Audit(audit) => {
                    let at = audit
                        .resource_version
                        .as_ref()
                        .map(|at| format!(" at {at}"));
                    let why = audit.reason.as_ref().map(|why| format!(": {why}"));
                    let (watch, method, outcome) = (&audit.watch, &audit.method, &audit.outcome);
                    let (at, why) = (at.unwrap_or_default(), why.unwrap_or_default());
                    let compared = audit.compared;
                    writeln!(
                        self.results,
                        "{seconds:.2} {watch} {method}{at} {compared} {outcome}{why}"
                    )
                }
                Event::Verdict(verdict) => {
                    let version = |version: &Option<ResourceVersion>| {
                        version.as_ref().map_or("-".to_owned(), ToString::to_string)
                    };
                    let (held, listed) = (version(&verdict.held), version(&verdict.listed));
                    let (name, kind, state) = (&verdict.object.name, verdict.kind, verdict.state);
                    let certainty = verdict.certainty;
                    writeln!(
                        self.results,
                        "{seconds:.2} {name} {kind} held {held} listed {listed} {state} {certainty}"
                    )
                }
                other => panic!("{other:?}"),
            }
            .expect("a string");
            self.record(event);
        }
        let watch = WATCH.into();
        let is_over = |object: &Option<Arc<Object>>| {
            let object = object.as_deref();
            self.auditor.is_over(Some(&watch), object, self.now)
        };
        if self.asked.as_ref().is_some_and(is_over) {
            self.asked = None;
            let seconds = self.now.0 as f64 / 1e6;
            writeln!(self.results, "{seconds:.2} over").expect("a string");
        }
    }

    /// Makes a person's request; its end is one of the results.
    fn ask(&mut self, object: Option<Arc<Object>>) {
        let watch = WATCH.into();
        self.auditor.ask(Some(&watch), object.as_ref(), self.now);
        self.asked = Some(object);
    }

    fn results(&mut self) -> String {
        std::mem::take(&mut self.results)
    }

    /// Returns the verdicts since the last call.
    fn verdicts(&mut self) -> Vec<String> {
        let results = self.results();
        let lines = results.lines().filter(|line| line.contains(" held "));
        lines.map(str::to_owned).collect()
    }

    fn lines(&self) -> Vec<String> {
        let line = |(at, read): &(Time, Read)| {
            let query = read.query.as_ref().map(|query| format!("?{query}"));
            format!(
                "{} {}{}",
                at.0 / 1_000_000,
                read.path,
                query.unwrap_or_default()
            )
        };
        self.reads.iter().map(line).collect()
    }
}

fn bookmark(version: u64) -> Bookmark {
    Bookmark {
        watch: WATCH.into(),
        stream: StreamId(1),
        resource_version: version.into(),
        initial_events_end: None,
    }
}

fn changed(
    watch: &str,
    change: ChangeType,
    origin: Origin,
    object: Arc<Object>,
    resource_version: ResourceVersion,
) -> Change {
    Change {
        watch: watch.into(),
        stream: Some(StreamId(1)),
        change,
        origin,
        object,
        resource_version,
        generation: None,
        manager: None,
        subresource: None,
        bytes: None,
        stray: None,
        owner: None,
    }
}

fn refused(status: u16) -> Reply {
    Reply::Refused {
        status,
        retry_after_ms: None,
        current: None,
    }
}

/// The answer of a server whose version is below the requested one.
fn too_large(current: ResourceVersion) -> Reply {
    Reply::Refused {
        status: 504,
        retry_after_ms: Some(1_000),
        current: Some(current),
    }
}

fn seen(name: &str, uid: u8, version: ResourceVersion) -> Seen {
    Seen {
        object: object(name, uid),
        version,
        deleted_at: None,
        owners: Vec::new(),
    }
}

fn object(name: &str, uid: u8) -> Arc<Object> {
    Arc::new(Object {
        namespace: Some("shop".into()),
        name: name.into(),
        uid: Uid::parse(&format!("0000000{uid}-0000-0000-0000-000000000000")),
    })
}

/// A watch that holds `a` and `b`.
fn watching(minor: u64, level: Level) -> Stage {
    let mut stage = Stage::new(minor, level);
    stage.write("a", 1);
    stage.write("b", 1);
    stage.watch(WATCH);
    stage
}

/// A watch that holds `a`. It missed the deletion, and is past it.
fn with_ghost(minor: u64, level: Level) -> Stage {
    let mut stage = watching(minor, level);
    stage.delete("a");
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    stage
}

#[test]
fn a_ghost_is_raised_and_confirmed_by_two_lists_at_one_version() {
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(40);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 14 2 differs
    0.01 a ghost held 11 listed - raised likely
    0.02 shop/pods list exact again at 14 2 differs
    0.02 a ghost held 11 listed - confirmed definite
    30.01 shop/pods list exact at 14 2 differs
    ");
    assert_snapshot!(stage.lines().join("\n"), @r"
    0 /api/v1/namespaces/shop/pods?limit=500&resourceVersion=14&resourceVersionMatch=Exact&labelSelector=app%3Dweb
    0 /api/v1/namespaces/shop/pods?limit=500&resourceVersion=14&resourceVersionMatch=Exact&labelSelector=app%3Dweb
    0 /api/v1/namespaces/shop/pods?resourceVersion=11&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da
    30 /api/v1/namespaces/shop/pods?limit=500&resourceVersion=14&resourceVersionMatch=Exact&labelSelector=app%3Dweb
    ");
}

#[test]
fn a_difference_is_read_again_at_the_same_version_though_the_watch_has_gone_on() {
    let mut stage = with_ghost(30, Level::Light);
    let further = stage.write_elsewhere();
    stage.meanwhile.insert(0, bookmark(further).into());
    stage.after_s(10);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 14 2 differs
    0.01 a ghost held 11 listed - raised likely
    0.02 shop/pods list exact again at 14 2 differs
    0.02 a ghost held 11 listed - confirmed definite
    ");
}

#[test]
fn a_missing_and_a_stale_object_are_found() {
    let mut stage = watching(30, Level::Light);
    stage.write("c", 1);
    stage.write("a", 1);
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    stage.after_s(10);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 15 3 differs
    0.01 a stale held 11 listed 14 raised likely
    0.01 c missing held - listed 13 raised likely
    0.02 shop/pods list exact again at 15 3 differs
    0.02 a stale held 11 listed 14 confirmed definite
    0.02 c missing held - listed 13 confirmed definite
    ");
}

#[test]
fn a_ghost_of_the_cache_is_found_by_looking_objects_up_in_etcd() {
    let mut stage = with_ghost(35, Level::Light);
    let held = Objects::from([("a".into(), (1, 11.into())), ("b".into(), (1, 14.into()))]);
    stage.cache = Some((14, held));
    stage.after_s(40);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 14 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 14 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    30.00 shop/pods get at 14 1 agrees
    30.01 shop/pods list newest at 14 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    ");
    assert_snapshot!(stage.lines().join("\n"), @r"
    0 /api/v1/namespaces/shop/pods?limit=500&resourceVersion=14&resourceVersionMatch=Exact&labelSelector=app%3Dweb
    0 /api/v1/namespaces/shop/pods/a
    0 /api/v1/namespaces/shop/pods?resourceVersion=14&resourceVersionMatch=Exact&labelSelector=app%3Dweb&fieldSelector=metadata.name%3Da
    0 /api/v1/namespaces/shop/pods?resourceVersion=14&resourceVersionMatch=Exact&labelSelector=app%3Dweb&fieldSelector=metadata.name%3Da
    0 /api/v1/namespaces/shop/pods?resourceVersion=11&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da
    15 /api/v1/namespaces/shop/pods/b
    30 /api/v1/namespaces/shop/pods?limit=500&labelSelector=app%3Dweb
    30 /api/v1/namespaces/shop/pods/a
    ");
}

#[test]
fn an_object_that_another_servers_cache_lost_is_no_ghost() {
    let mut stage = watching(35, Level::Light);
    stage.cache = Some((12, Objects::new()));
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
    assert!(
        stage
            .lines()
            .iter()
            .any(|line| line.contains("metadata.name%3Da"))
    );
}

#[test]
fn a_verdict_is_cleared_once_the_watch_receives_the_object() {
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(5);
    assert_eq!(stage.verdicts().len(), 2);
    let version = stage.write_elsewhere();
    stage.event(ChangeType::Deleted, "a", 1, version);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    5.00 a ghost held 11 listed - cleared definite
    30.01 shop/pods list exact at 15 1 agrees
    60.01 shop/pods list newest at 15 1 agrees
    ");
}

#[test]
fn a_verdict_is_cleared_once_etcd_has_the_held_object() {
    let mut stage = watching(30, Level::Light);
    stage.write("c", 1);
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    stage.after_s(5);
    assert_eq!(stage.verdicts().len(), 2);
    stage.delete("c");
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    stage.after_s(60);
    let verdicts = stage.verdicts();
    assert!(
        verdicts.len() == 1 && verdicts[0].contains("c missing") && verdicts[0].contains("cleared"),
        "{verdicts:?}"
    );
}

#[test]
fn one_more_event_heals_no_difference_beyond_those_that_are_followed() {
    let mut stage = Stage::new(30, Level::Light);
    let stale: Vec<String> = (0..120).map(|n| format!("a{n:03}")).collect();
    let ghosts: Vec<String> = (0..5).map(|n| format!("z{n}")).collect();
    for name in stale.iter().chain(&ghosts) {
        stage.write(name, 1);
    }
    stage.watch(WATCH);
    for name in &ghosts {
        stage.delete(name);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(5);
    assert_eq!(confirmed(&stage), ghosts);
    for name in &stale {
        stage.write(name, 1);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    let version = stage.write("a000", 1);
    let received = changed(
        WATCH,
        ChangeType::Modified,
        Origin::Live,
        object("a000", 1),
        version.into(),
    );
    stage.meanwhile.insert(stage.reads.len(), received.into());
    stage.results();
    stage.after_s(30);
    assert!(stage.meanwhile.is_empty());
    let results = stage.results();
    assert!(
        results.contains("stale") && !results.contains("cleared"),
        "{results}"
    );
    assert!(confirmed(&stage).ends_with(&ghosts));
}

#[test]
fn a_list_of_several_pages_is_compared_as_one() {
    let mut stage = Stage::new(30, Level::Light);
    for name in ["a", "b", "c", "d", "e"] {
        stage.write(name, 1);
    }
    stage.watch(WATCH);
    stage.page = 2;
    stage.delete("c");
    stage.delete("e");
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    // The watch goes on while the pages are read.
    stage.after_s(1);
    let verdicts = stage.verdicts();
    let of = |name: &str| {
        verdicts
            .iter()
            .filter(|line| line.contains(&format!(" {name} ghost")))
            .count()
    };
    assert_eq!(
        [of("a"), of("b"), of("c"), of("d"), of("e")],
        [0, 0, 2, 0, 2],
        "{verdicts:?}"
    );
}

// The traps of docs/semantics/checks.md#traps.

#[test]
fn trap_comparing_before_the_watch_has_come_so_far() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.results();
    // The watch receives both 20 s late.
    let (gone, version) = (stage.delete("a"), stage.write("c", 1));
    stage.after_s(50);
    assert_eq!(stage.verdicts(), [""; 0]);
    stage.event(ChangeType::Deleted, "a", 1, gone);
    stage.event(ChangeType::Added, "c", 1, version);
    stage.after_s(60);
    let results = stage.results();
    assert!(
        !results.contains(" held ") && results.contains("list exact at 14 2 agrees"),
        "{results}"
    );
}

#[test]
fn trap_synthetic_phase() {
    let mut stage = watching(30, Level::Full);
    stage.after_s(1);
    stage.phase(WATCH, Phase::Listing);
    let version = stage.write("c", 1);
    stage.tell(
        WATCH,
        ChangeType::Added,
        Origin::Initial,
        "c",
        1,
        version.into(),
    );
    stage.after_s(60);
    assert_eq!(
        stage.reads.len(),
        1,
        "nothing is asked while a state is read"
    );
    assert_eq!(stage.verdicts(), [""; 0]);
}

#[test]
fn trap_synthetic_phase_begun_between_the_pages_of_a_read() {
    let mut stage = watching(30, Level::Full);
    let read = stage.auditor.next(stage.now, &stage.state).expect("a read");
    stage.phase(WATCH, Phase::Listing);
    stage
        .auditor
        .answer(&read, stage.answer(&read), stage.now, &stage.state);
    stage.append();
    assert_eq!(stage.results(), "");
}

#[test]
fn trap_different_scope_selector_or_version_of_the_api() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(70);
    assert!(stage.reads.len() > 2);
    for (_, read) in &stage.reads {
        assert!(
            read.path.starts_with("/api/v1/namespaces/shop/pods"),
            "{read:?}"
        );
        assert!(
            read.query
                .as_ref()
                .is_some_and(|query| query.contains("labelSelector=app%3Dweb"))
        );
    }
}

#[test]
fn trap_chunked_list_continued_with_an_inconsistent_token() {
    let mut stage = watching(30, Level::Light);
    let items = vec![seen("a", 1, 11.into())];
    let first = Reply::Page(Page {
        version: 12.into(),
        token: Some("12.1".into()),
        items,
        unreadable: 0,
        is_whole: false,
    });
    let second = Reply::Page(Page {
        version: 99.into(),
        token: None,
        items: vec![],
        unreadable: 0,
        is_whole: false,
    });
    stage.answers = BTreeMap::from([(0, first), (1, second)]);
    stage.after_s(5);
    assert_snapshot!(stage.results(), @"0.02 shop/pods list exact at 12 0 cannot-tell: the request asked for 12, but the server listed 99");
}

#[test]
fn trap_a_different_etcd_per_resource() {
    let mut stage = watching(30, Level::Light);
    stage.watch("shop/events");
    // Another resource is at a much higher version, which says nothing about this one's.
    stage.tell(
        "shop/events",
        ChangeType::Added,
        Origin::Live,
        "e",
        1,
        900_000.into(),
    );
    stage.after_s(100);
    let read_at = |resource: &str| {
        let lines = stage.lines().into_iter();
        let of = lines.filter(|line| line.contains(resource));
        let version = |line: String| Some(line.split_once("resourceVersion=")?.1.to_owned());
        let versions = of.filter_map(version).map(|version| {
            let number = version.split('&').next().map(str::to_owned);
            number.expect("there is always a first")
        });
        versions.collect::<Vec<String>>()
    };
    assert_eq!(read_at("/pods?"), ["12"]);
    assert_eq!(read_at("/events?")[0], "900000");
    let results = stage.results();
    let of_pods = results.lines().filter(|line| line.contains("shop/pods"));
    assert_snapshot!(of_pods.collect::<Vec<_>>().join("\n"), @r"
    0.02 shop/pods list exact at 12 2 agrees
    30.01 shop/pods list newest at 12 2 agrees
    60.01 shop/pods list newest at 12 2 agrees
    90.01 shop/pods list newest at 12 2 agrees
    ");
    assert!(!results.contains(" held "), "{results}");
}

#[test]
fn trap_aggregated_apis_with_versions_that_are_no_numbers() {
    let mut stage = Stage::new(30, Level::Light);
    stage.etcd.clear();
    stage.etcd.insert(
        10,
        Objects::from([("a".into(), (1, ResourceVersion::parse("x1")))]),
    );
    stage.watch(WATCH);
    stage.tell(
        WATCH,
        ChangeType::Added,
        Origin::Live,
        "b",
        1,
        ResourceVersion::parse("x7"),
    );
    // A difference is read once more, and is never more than a difference; agreement is recorded.
    let page = |version: &str, items: Vec<Seen>| {
        Reply::Page(Page {
            version: ResourceVersion::parse(version),
            token: None,
            items,
            unreadable: 0,
            is_whole: false,
        })
    };
    let seen = |name: &str, version: &str| seen(name, 1, ResourceVersion::parse(version));
    let at_another = page("x9", vec![]);
    let other_versions = page("x7", vec![seen("a", "x2"), seen("b", "x7")]);
    let equal = page("x7", vec![seen("a", "x1"), seen("b", "x7")]);
    stage.answers = BTreeMap::from([(0, at_another), (1, other_versions), (2, equal)]);
    stage.after_s(50);
    assert_snapshot!(stage.results(), @r"
    4.02 shop/pods list newest at x7 0 cannot-tell: its versions are another apiserver's and are only compared for equality; events for the objects that differ may still come
    34.02 shop/pods list newest at x7 2 agrees: its versions are another apiserver's and are only compared for equality
    ");
    // The twin with numbers, which are compared like those of the cluster.
    let with_number = |is_aggregated: bool| {
        let mut stage = Stage::new(30, Level::Light);
        stage.is_aggregated = is_aggregated;
        stage.write("a", 1);
        let newest = stage.write("b", 1);
        stage.watch(WATCH);
        // The list's version is the newest of its items', and goes down with it.
        stage.event(ChangeType::Deleted, "b", 1, newest);
        stage.delete("b");
        stage.says = Some(ResourceVersion::from(newest - 1));
        stage.refuses_exact = true;
        stage.after_s(70);
        stage.results()
    };
    assert_snapshot!(with_number(true), @r"
    0.01 shop/pods list newest at 11 1 agrees: its versions are another apiserver's and are only compared for equality
    30.01 shop/pods list newest at 11 1 agrees: its versions are another apiserver's and are only compared for equality
    60.01 shop/pods list newest at 11 1 agrees: its versions are another apiserver's and are only compared for equality
    ");
    assert_snapshot!(with_number(false), @"4.03 shop/pods list newest twice at 11 0 cannot-tell: the newest list is at 11, though the watch has seen 12");
}

/// A watch on a server that lists, at an exact version, only the objects with that very version.
fn filtered_by_version(is_aggregated: bool) -> Stage {
    let mut stage = Stage::new(30, Level::Full);
    stage.is_aggregated = is_aggregated;
    stage.write("a", 1);
    stage.write("b", 1);
    stage.watch(WATCH);
    let (newest, objects) = stage.current();
    let newest_only = objects.into_iter().filter(|(name, _)| name == "b");
    stage.etcd.insert(newest, newest_only.collect());
    stage
}

#[test]
fn trap_aggregated_apis_that_list_at_an_exact_version_what_has_that_version() {
    let mut stage = filtered_by_version(true);
    stage.after_s(40);
    assert_snapshot!(stage.results(), @"4.02 shop/pods list newest at 12 0 cannot-tell: its versions are another apiserver's and are only compared for equality; events for the objects that differ may still come");
    assert!(!stage.lines().iter().any(|line| line.contains("Exact")));
    // An object that a person asks for is compared for equality, too, and not looked up.
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("a", 1)), stage.now);
    stage.after_s(1);
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("b", 1)), stage.now);
    stage.after_s(1);
    assert_snapshot!(stage.results(), @r"
    40.01 shop/pods get 0 cannot-tell: its versions are another apiserver's and are only compared for equality; events for the objects that differ may still come
    41.01 shop/pods get at 12 1 agrees
    ");
    assert!(!stage.lines().iter().any(|line| line.contains("Exact")));
    let mut stage = filtered_by_version(false);
    stage.after_s(1);
    assert_snapshot!(stage.verdicts().join("\n"), @r"
    0.01 a ghost held 11 listed - raised likely
    0.02 a ghost held 11 listed - confirmed definite
    ");
}

#[test]
fn trap_deleted_and_created_again_between_reads() {
    let mut stage = watching(35, Level::Light);
    let (gone, born) = (stage.delete("a"), stage.write("a", 2));
    // In etcd it is already another object; the watch receives that a little later.
    stage.after_s(5);
    stage.event(ChangeType::Deleted, "a", 1, gone);
    stage.event(ChangeType::Added, "a", 2, born);
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
    // The twin: the watch never receives it, and is past it.
    let mut stage = watching(35, Level::Light);
    stage.delete("a");
    stage.write("a", 2);
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    stage.after_s(5);
    assert_snapshot!(stage.verdicts().join("\n"), @r"
    0.02 a stale held 11 listed 14 raised likely
    0.03 a stale held 11 listed 14 confirmed definite
    ");
}

#[test]
fn trap_finalizers() {
    let mut stage = watching(35, Level::Light);
    // The deletion is only requested: a MODIFIED, delivered in time.
    stage.deleted.insert("a".into(), "2026-01-01T00:00:00Z");
    let version = stage.write("a", 1);
    stage.event(ChangeType::Modified, "a", 1, version);
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
    // It was listed, and read with a GET from etcd.
    let lines = stage.lines();
    assert!(lines.iter().any(|line| line.contains("/pods?limit")));
    assert!(lines.iter().any(|line| line.ends_with("/pods/a")));
}

#[test]
fn trap_a_list_from_any_time_is_older_than_the_log() {
    let mut stage = watching(30, Level::Light);
    stage.cache = Some((3, Objects::from([("z".into(), (1, 2.into()))])));
    let version = stage.write("b", 1);
    // The first list comes before the version of the cache is known.
    stage.after_s(41);
    let lines = stage.lines();
    assert!(lines.iter().any(|line| line.contains("resourceVersion=0")));
    stage.event(ChangeType::Modified, "b", 1, version);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 12 2 agrees
    38.02 shop/pods list any twice at 3 0 cannot-tell: the server knows nothing beyond 3; the stream was opened at 12, and a list at 13 differs from the held objects
    40.02 shop/pods reads ahead at 13 0 cannot-tell: the stream is at 12 and has delivered nothing for 10 s; meanwhile reads showed an object at 13
    41.01 shop/pods list exact at 13 2 agrees
    71.01 shop/pods list newest at 13 2 agrees
    101.01 shop/pods list newest at 13 2 agrees
    ");
}

#[test]
fn trap_etcd_restored_from_a_backup() {
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(5);
    assert_eq!(stage.verdicts().len(), 2);
    // The state before any deletion; earlier comparisons are of another history.
    stage.etcd.retain(|revision, _| *revision <= 12);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    34.03 shop/pods list newest twice at 12 0 cannot-tell: the newest list is at 12, though the watch has seen 14
    34.03 a ghost held 11 listed - cleared definite
    ");
}

/// Returns the reads of a quiet watch that resumes 10 s after its first round, over another connection if it `moves`.
fn reads_after_a_resume(level: Level, moves: bool) -> Vec<String> {
    let mut stage = watching(36, level);
    stage.after_s(10);
    let known = stage.reads.len();
    stage.record(ended());
    stage.open_over(WATCH, ConnectionId(if moves { 7 } else { 1 }));
    stage.after_s(5);
    let reads = stage.reads[known..].iter();
    let lists = reads.filter(|(_, read)| read.verb == Verb::List);
    let line = |(at, read): &(Time, Read)| {
        let seconds = at.0 as f64 / 1e6;
        format!("{seconds:.0} {}", read.query.as_deref().unwrap_or(""))
    };
    lists.map(line).collect()
}

#[test]
fn a_second_after_a_stream_is_opened_over_another_connection_the_newest_list_is_read() {
    let moved = reads_after_a_resume(Level::Light, true);
    assert_eq!(moved, ["11 limit=500&labelSelector=app%3Dweb"]);
    assert_eq!(reads_after_a_resume(Level::Light, false), [""; 0]);
    assert_eq!(reads_after_a_resume(Level::Off, true), [""; 0]);
}

#[test]
fn a_restored_etcd_with_a_restarted_server_is_reported_within_six_seconds_of_the_resume() {
    let mut stage = watching(36, Level::Light);
    stage.after_s(10);
    stage.record(ended());
    stage.etcd.retain(|revision, _| *revision <= 11);
    stage.open_over(WATCH, ConnectionId(7));
    stage.after_s(10);
    let results = stage.results();
    let back = results.lines().filter(|line| line.contains("twice"));
    assert_snapshot!(back.collect::<Vec<_>>().join("\n"), @"15.02 shop/pods list newest twice at 11 0 cannot-tell: the newest list is at 11, though the watch has seen 12");
}

#[test]
fn trap_events_that_end_with_their_lease() {
    let mut stage = watching(30, Level::Light);
    for n in 0..40 {
        stage.write(&format!("e{n}"), 1);
    }
    stage.list(WATCH);
    stage.open(WATCH);
    stage.after_s(5);
    let gone: Vec<u64> = (0..40).map(|n| stage.delete(&format!("e{n}"))).collect();
    stage.after_s(40);
    for (n, version) in gone.into_iter().enumerate() {
        stage.event(ChangeType::Deleted, &format!("e{n}"), 1, version);
    }
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
}

#[test]
fn trap_a_server_without_a_leader() {
    let mut stage = watching(30, Level::Light);
    stage.answers = (0..4).map(|read| (read, refused(500))).collect();
    stage.after_s(100);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list newest 0 cannot-tell: the server answered 500
    60.01 shop/pods list exact at 12 2 agrees
    90.01 shop/pods list newest at 12 2 agrees
    ");
}

#[test]
fn trap_our_own_slow_reader() {
    let mut stage = watching(30, Level::Full);
    // Everything is unread in our socket for minutes.
    let versions: Vec<u64> = (0..50).map(|n| stage.write(&format!("p{n}"), 1)).collect();
    stage.after_s(100);
    assert_eq!(stage.verdicts(), [""; 0]);
    for (n, version) in versions.into_iter().enumerate() {
        stage.event(ChangeType::Added, &format!("p{n}"), 1, version);
    }
    stage.after_s(100);
    assert_eq!(stage.verdicts(), [""; 0]);
}

#[test]
fn trap_clock_skew() {
    // The watch does not reach the version of a list. No wall clock decides how long the audit waits for it.
    let results_with = |off_ms: Option<i64>| {
        let mut stage = watching(30, Level::Light);
        stage.after_s(31);
        stage.delete("a");
        stage.bookmark(12);
        stage.after_s(60);
        if let Some(off_ms) = off_ms {
            stage.record(Clock {
                off_ms,
                paused_ms: None,
            });
        }
        stage.after_s(140);
        (stage.results(), stage.lines())
    };
    let as_it_is = results_with(None);
    assert!(as_it_is.0.contains("in 120 s"), "{}", as_it_is.0);
    for off_ms in [86_400_000, -86_400_000] {
        assert_eq!(results_with(Some(off_ms)), as_it_is, "{off_ms}");
    }
}

#[test]
fn a_watch_that_never_reaches_a_list_is_reported_as_undecided() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.results();
    stage.delete("a");
    stage.bookmark(12);
    stage.after_s(200);
    assert_snapshot!(stage.results(), @r"
    188.01 shop/pods list at 13 0 cannot-tell: the watch is at 12 and has not reached 13 in 120 s; a list at 13 differed
    188.02 shop/pods list exact at 12 2 agrees
    ");
}

#[test]
fn a_watch_that_is_far_behind_a_list_and_goes_on_is_waited_for() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.results();
    // The writes arrive over a slow link, one event a second.
    let written: Vec<u64> = (0..400).map(|_| stage.write("b", 1)).collect();
    stage.write("a", 1);
    stage.after_s(30);
    for version in written {
        stage.event(ChangeType::Modified, "b", 1, version);
        stage.after_s(1);
    }
    let results = stage.results();
    assert!(!results.contains("has not reached"), "{results}");
    // In the end it stands still.
    stage.after_s(200);
    let results = stage.results();
    assert!(results.contains("has not reached"), "{results}");
}

#[test]
fn a_list_ahead_of_an_event_by_a_moment_is_not_reported() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.results();
    let written = stage.write("a", 1);
    // Others write to etcd, and no event moves the watch past these writes.
    stage.write_elsewhere();
    stage.after_s(36);
    stage.event(ChangeType::Modified, "a", 1, written);
    stage.after_s(300);
    let results = stage.results();
    assert!(!results.contains("cannot-tell"), "{results}");
    assert!(results.contains("agrees"), "{results}");
}

#[test]
fn a_watch_from_the_future_is_shown_by_the_servers_own_cache() {
    let mut stage = watching(30, Level::Light);
    stage.cache = Some((7, Objects::new()));
    stage.delete("a");
    stage.after_s(70);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 12 2 agrees
    38.02 shop/pods list any twice at 7 0 cannot-tell: the server knows nothing beyond 7; the stream was opened at 12, and a list at 13 differs from the held objects
    ");
}

/// A watch of `objects` objects with a selector, named from `o10` on. From 31 s on its stream delivers a DELETED of
/// each within 1 s. All are really deleted except those in `left`. Returns the stage, the number of GETs, and the
/// reports of selector exits.
fn gone_together(level: Level, objects: u8, left: &[&str]) -> (Stage, usize, Vec<String>) {
    let mut stage = Stage::new(36, level);
    let names: Vec<String> = (10..10 + objects).map(|n| format!("o{n}")).collect();
    for (uid, name) in (10..).zip(&names) {
        stage.write(name, uid);
    }
    stage.watch(WATCH);
    stage.after_s(31);
    stage.results();
    let reads = stage.reads.len();
    for (uid, name) in (10..).zip(&names) {
        let is_left = left.contains(&name.as_str());
        let version = if is_left {
            stage.write(name, uid)
        } else {
            stage.delete(name)
        };
        stage.event(ChangeType::Deleted, name, uid, version);
        stage.now = stage.now.plus_millis(50);
    }
    // An object that only left the selector can be read by its path, and is in no list of the watch.
    stage.unmatched = left
        .first()
        .and_then(|name| (*name == "o10").then_some("o10"));
    stage.lists_fail = stage.unmatched.is_none() && !left.is_empty();
    stage.after_s(50);
    let gets = stage.reads[reads..].iter().filter(|(_, read)| {
        let name = read.path.rsplit('/').next().unwrap_or_default();
        read.verb == Verb::Get && names.iter().any(|of| of == name)
    });
    let gets = gets.count();
    let results = stage.results();
    let found = results
        .lines()
        .filter(|line| line.contains(AuditMethod::GetLeft.word()));
    let found = found.map(str::to_owned).collect();
    (stage, gets, found)
}

#[test]
fn one_get_of_each_object_separates_selector_exits_from_deletions() {
    for level in [Level::Light, Level::Full] {
        let (_, gets, found) = gone_together(level, 2, &["o10"]);
        assert_eq!((gets, found.len()), (2, 1), "{found:?}");
    }
    let (_, _, found) = gone_together(Level::Light, 2, &["o10"]);
    assert_snapshot!(found.join("\n"), @"32.02 shop/pods get of what left at 13 1 agrees: it has the same uid: it only left the selector");
}

#[test]
fn a_deleted_object_is_not_reported_as_a_selector_exit() {
    let (_, gets, found) = gone_together(Level::Light, 5, &[]);
    assert_eq!((gets, found), (5, Vec::new()));
}

#[test]
fn in_a_burst_the_newest_eight_are_looked_up_and_the_others_stay_unjudged() {
    let (stage, gets, found) = gone_together(Level::Light, 15, &["o24", "o11"]);
    assert_eq!((gets, found.len()), (8, 1), "{found:?}");
    let minute = stage.reads.iter().filter(|(at, _)| at.0 > 30_000_000);
    assert!(minute.count() <= 20);
}

#[test]
fn selector_exits_are_not_looked_up_with_the_audit_off_or_without_the_right_to_get() {
    let (_, gets, found) = gone_together(Level::Off, 2, &["o10"]);
    assert_eq!((gets, found), (0, Vec::new()));
    let mut stage = watching(36, Level::Light);
    stage.refuses_get = true;
    stage.after_s(31);
    let before = stage.reads.len();
    let version = stage.write("a", 1);
    stage.unmatched = Some("a");
    stage.event(ChangeType::Deleted, "a", 1, version);
    stage.after_s(50);
    let mut reads = stage.reads[before..].iter();
    assert!(!reads.any(|(_, read)| read.verb == Verb::Get));
}

#[test]
fn a_new_object_with_the_name_of_a_deleted_one_has_not_left() {
    let mut stage = watching(36, Level::Light);
    stage.after_s(31);
    stage.results();
    let version = stage.delete("a");
    stage.event(ChangeType::Deleted, "a", 1, version);
    stage.write("a", 2);
    stage.unmatched = Some("a");
    stage.after_s(20);
    let results = stage.results();
    assert!(!results.contains(AuditMethod::GetLeft.word()), "{results}");
    assert!(
        stage
            .reads
            .iter()
            .any(|(at, read)| at.0 > 31_000_000 && read.path.ends_with("/a"))
    );
}

/// Returns the reports that reads are ahead of the stream. From 31 s on the stream delivers nothing, except in `then`.
fn ahead(level: Level, mut then: impl FnMut(&mut Stage)) -> Vec<String> {
    let mut stage = watching(36, level);
    stage.after_s(31);
    stage.results();
    then(&mut stage);
    stage.after_s(75);
    let results = stage.results();
    let lines = results.lines().filter(|line| line.contains("reads ahead"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_stream_that_delivers_nothing_for_ten_seconds_while_reads_show_newer_objects_is_reported_once()
{
    for level in [Level::Light, Level::Full] {
        let written = |stage: &mut Stage| {
            stage.write("a", 1);
        };
        let results = ahead(level, written);
        assert_eq!(results.len(), 1, "{results:?}");
    }
    let results = ahead(Level::Light, |stage| {
        stage.write("a", 1);
        stage.after_s(3);
        stage.write("b", 1);
    });
    assert_snapshot!(results.join("\n"), @"55.03 shop/pods reads ahead at 14 0 cannot-tell: the stream is at 12 and has delivered nothing for 10 s; meanwhile reads showed an object at 14");
}

#[test]
fn a_list_with_nothing_but_a_higher_version_shows_no_lag() {
    let elsewhere = |stage: &mut Stage| {
        stage.write_elsewhere();
    };
    assert_eq!(ahead(Level::Light, elsewhere), [""; 0]);
    // A deletion does not show that events are late: it may have been missed.
    let gone = |stage: &mut Stage| {
        stage.delete("a");
    };
    assert_eq!(ahead(Level::Light, gone), [""; 0]);
}

#[test]
fn a_stream_that_delivers_something_meanwhile_does_not_lag() {
    // The first read with the newer object comes within a few seconds.
    let by_event = |stage: &mut Stage| {
        let version = stage.write("a", 1);
        stage.after_s(9);
        stage.event(ChangeType::Modified, "a", 1, version);
    };
    assert_eq!(ahead(Level::Light, by_event), [""; 0]);
    let late = |stage: &mut Stage| {
        for _ in 0..9 {
            let version = stage.write("a", 1);
            stage.after_s(9);
            stage.event(ChangeType::Modified, "a", 1, version);
        }
    };
    assert_eq!(ahead(Level::Light, late), [""; 0]);
    let reopened = |stage: &mut Stage| {
        let version = stage.write("a", 1);
        stage.after_s(9);
        stage.record(ended());
        stage.open(WATCH);
        stage.after_s(3);
        stage.event(ChangeType::Modified, "a", 1, version);
    };
    assert_eq!(ahead(Level::Light, reopened), [""; 0]);
}

/// Returns the reports that reads are ahead of a stream that is silent after a bookmark at 31 s. The event comes
/// `after_s` later. Where `is_dead`, the second look finds that out at 124 s.
fn ahead_of_silence(after_s: u64, is_dead: bool) -> String {
    let mut stage = watching(36, Level::Full);
    stage.after_s(31);
    stage.bookmark(12);
    stage.after_s(after_s);
    stage.write("a", 1);
    stage.after_s(93 - after_s);
    if is_dead {
        stage.record(ended());
    }
    stage.after_s(50);
    let results = stage.results();
    let lines = results.lines().filter(|line| line.contains("reads ahead"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_lag_waits_for_the_second_look_at_a_silent_stream_that_is_about_to_come() {
    assert_eq!(ahead_of_silence(64, true), "");
    assert_snapshot!(ahead_of_silence(64, false), @"125.01 shop/pods reads ahead at 13 0 cannot-tell: the stream is at 12 and has delivered nothing for 20 s; meanwhile reads showed an object at 13");
    // Long before a second look the lag is reported, whatever the look will show.
    assert_snapshot!(ahead_of_silence(5, true), @"55.02 shop/pods reads ahead at 13 0 cannot-tell: the stream is at 12 and has delivered nothing for 10 s; meanwhile reads showed an object at 13");
}

#[test]
fn with_the_audit_off_a_persons_request_looks_for_no_lag() {
    let asked = |stage: &mut Stage| {
        stage.write("a", 1);
        stage.ask(None);
    };
    assert_eq!(ahead(Level::Off, asked), [""; 0]);
}

/// A watch of a quiet type. Its server's cache stays at 11, below the version at which the watch was opened.
fn beyond_its_cache(minor: u64, level: Level) -> Stage {
    let mut stage = watching(minor, level);
    let (_, objects) = stage.current();
    stage.cache = Some((11, objects));
    stage.cache_waits = true;
    stage
}

#[test]
fn for_a_quiet_type_each_list_that_a_lagging_cache_refuses_states_its_version() {
    let mut stage = beyond_its_cache(36, Level::Light);
    stage.after_s(45);
    let lists = |results: &str| {
        let lines = results.lines().filter(|line| line.contains(" list "));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(lists(&stage.results()), @r"
    0.01 shop/pods list exact too large at 11 0 cannot-tell: the request asked for 12, but the server has only reached 11
    0.02 shop/pods list newest at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    20.02 shop/pods list exact too large at 11 0 cannot-tell: the request asked for 12, but the server has only reached 11
    20.03 shop/pods list newest at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    40.03 shop/pods list exact too large at 11 0 cannot-tell: the request asked for 12, but the server has only reached 11
    40.04 shop/pods list newest at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    ");
    // The cache has caught up.
    stage.cache = None;
    stage.after_s(60);
    assert_snapshot!(lists(&stage.results()), @r"
    60.04 shop/pods list exact at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    90.04 shop/pods list newest at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    ");
    // Before 1.34 the list comes from etcd.
    let mut stage = beyond_its_cache(33, Level::Light);
    stage.after_s(45);
    assert_snapshot!(lists(&stage.results()), @r"
    0.01 shop/pods list exact at 12 2 agrees
    30.01 shop/pods list newest at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    ");
}

#[test]
fn if_a_lagging_cache_refuses_lists_objects_missing_from_the_newest_are_looked_up_in_etcd() {
    let mut stage = beyond_its_cache(36, Level::Light);
    stage.delete("a");
    // A bookmark has a later version than the cache.
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(3);
    assert_eq!(
        stage.verdicts(),
        [
            "0.03 a ghost held 11 listed - raised likely",
            "0.04 a ghost held 11 listed - confirmed definite",
        ]
    );
}

#[test]
fn the_second_list_of_full_that_is_refused_comes_twenty_seconds_after_the_first_too() {
    let mut stage = beyond_its_cache(36, Level::Full);
    stage.after_s(45);
    let results = stage.results();
    let at = results.lines().filter(|line| line.contains("too large"));
    let at: Vec<&str> = at.filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(at, ["0.01", "15.01", "20.02", "35.02"]);
}

#[test]
fn one_request_with_the_audit_off_reports_a_refused_list_once() {
    let mut stage = beyond_its_cache(36, Level::Off);
    stage.ask(None);
    stage.after_s(100);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact too large at 11 0 cannot-tell: the request asked for 12, but the server has only reached 11
    0.02 shop/pods list newest at 12 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.04 shop/pods get each at 12 2 agrees
    0.04 over
    ");
}

#[test]
fn an_event_that_comes_after_a_later_one_makes_no_verdict() {
    let mut stage = watching(30, Level::Light);
    let (first, second) = (stage.write("c", 1), stage.write("b", 1));
    stage.event(ChangeType::Modified, "b", 1, second);
    stage.event(ChangeType::Added, "c", 1, first);
    stage.after_s(60);
    // The DELETED of 1.9.2 carries the version of its object (F23).
    stage.delete("a");
    stage.event(ChangeType::Deleted, "a", 1, 11);
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
}

#[test]
fn a_compacted_version_is_tried_again_where_the_watch_is_now() {
    let mut stage = watching(30, Level::Light);
    stage.compacted = 100;
    stage.write_elsewhere();
    stage.after_s(35);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list newest at 13 2 agrees
    30.02 shop/pods list newest at 13 2 agrees
    ");
}

/// A watch that holds `ghosts` deleted objects, among 60 watches whose lists have 11 pages each. Every five minutes
/// etcd is compacted to its revision five minutes before.
fn with_ghosts_among_long_lists(ghosts: usize) -> Stage {
    let mut stage = Stage::new(33, Level::Light);
    for n in 0..22 {
        stage.write(&format!("p{n:02}"), 1);
    }
    let others: Vec<String> = (1..60).map(|n| format!("shop/w{n:02}")).collect();
    stage.watch(WATCH);
    for n in 0..ghosts {
        stage.delete(&format!("p{n:02}"));
        stage.write(&format!("q{n:02}"), 1);
        let (revision, _) = stage.current();
        stage.event(ChangeType::Added, &format!("q{n:02}"), 1, revision);
    }
    for name in &others {
        stage.watch(name);
    }
    stage.page = 2;
    let mut compacted_next = stage.current().0;
    for minute in 1..=40 {
        stage.after_s(60);
        let version = stage.write_elsewhere();
        for name in others.iter().map(String::as_str).chain([WATCH]) {
            stage.bookmark_of(name, version);
        }
        if minute % 5 == 0 {
            stage.compacted = std::mem::replace(&mut compacted_next, version);
        }
    }
    stage
}

#[test]
fn a_difference_in_a_long_list_among_many_watches_is_confirmed_before_its_version_is_compacted() {
    let stage = with_ghosts_among_long_lists(1);
    assert_eq!(confirmed(&stage), ["p00"]);
    // More ghosts than pages.
    let stage = with_ghosts_among_long_lists(13);
    assert!(confirmed(&stage).len() >= 8, "{:?}", confirmed(&stage));
}

#[test]
fn in_a_long_list_few_differences_are_confirmed_one_by_one_and_many_by_a_second_list() {
    let reads = |ghosts: usize| {
        let mut stage = Stage::new(33, Level::Light);
        for n in 0..8 {
            stage.write(&format!("p{n}"), 1);
        }
        stage.watch(WATCH);
        for n in 0..ghosts {
            stage.delete(&format!("p{n}"));
        }
        let version = stage.write_elsewhere();
        stage.bookmark(version);
        stage.page = 2;
        stage.after_s(20);
        assert_eq!(confirmed(&stage).len(), ghosts);
        stage.reads.len()
    };
    // One ghost: four pages, a second read of the object, and a check whether it ever existed. Six ghosts: one page, a
    // second list, and one check for all.
    assert_eq!([reads(1), reads(6)], [4 + 1 + 1, 1 + 1 + 1]);
}

#[test]
fn without_exact_lists_a_list_of_several_pages_is_undecided_with_a_reason() {
    let mut stage = watching(30, Level::Light);
    stage.refuses_exact = true;
    stage.page = 1;
    stage.after_s(100);
    assert_snapshot!(stage.results(), @"0.02 shop/pods list newest at 12 0 cannot-tell: the server refuses lists at an exact resourceVersion; only the first page of the newest list is compared");
}

#[test]
fn a_list_of_several_pages_by_another_apiserver_is_not_reported_to_differ() {
    let mut stage = Stage::new(30, Level::Light);
    stage.is_aggregated = true;
    stage.write("a", 1);
    stage.write("b", 1);
    stage.watch(WATCH);
    stage.page = 1;
    stage.after_s(100);
    assert_snapshot!(stage.results(), @"0.01 shop/pods list newest at 12 0 cannot-tell: its versions are another apiserver's, and the pages of a list may show different states");
}

#[test]
fn a_request_for_a_watch_with_an_unknown_state_gets_a_reason() {
    let mut stage = watching(30, Level::Off);
    stage.event(ChangeType::Modified, "b", 1, 12);
    stage.event(ChangeType::Deleted, "a", 1, 11);
    stage.ask(None);
    stage.after_s(10);
    stage.ask(Some(object("c", 1)));
    stage.write("c", 1);
    stage.after_s(10);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list newest at 12 0 cannot-tell: the state that the watch held is unknown, because its stream delivered events out of order
    0.02 over
    10.02 shop/pods list one exact at 12 0 cannot-tell: the state that the watch held is unknown, because its stream delivered events out of order
    10.02 over
    ");
}

#[test]
fn a_server_that_refuses_exact_lists_is_compared_where_versions_happen_to_be_equal() {
    let mut stage = with_ghost(30, Level::Light);
    stage.answers = BTreeMap::from([(0, refused(422))]);
    stage.after_s(40);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list newest at 14 2 differs: the server refuses lists at an exact resourceVersion; the newest list is at the version of the watch
    0.02 a ghost held 11 listed - raised likely
    30.01 shop/pods list newest at 14 2 differs: the server refuses lists at an exact resourceVersion; the newest list is at the version of the watch
    ");
}

#[test]
fn without_exact_lists_a_watch_that_is_a_moment_behind_is_not_reported() {
    let mut stage = watching(30, Level::Light);
    stage.refuses_exact = true;
    stage.delete("a");
    stage.write("c", 1);
    stage.after_s(100);
    assert_eq!(stage.verdicts(), [""; 0]);
}

#[test]
fn a_server_that_only_answers_from_its_cache_is_reported_as_such() {
    let mut stage = with_ghost(35, Level::Light);
    stage.refuses_exact = true;
    stage.after_s(20);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list newest at 14 0 cannot-tell: the list may come from the watch cache, and the server refuses lists at an exact resourceVersion
    0.03 shop/pods get 0 cannot-tell: an object differs, and the server refuses to list it at the version of the watch
    ");
}

#[test]
fn without_the_right_to_get_objects_are_listed_by_name() {
    let mut stage = with_ghost(35, Level::Light);
    let held = Objects::from([("a".into(), (1, 11.into())), ("b".into(), (1, 14.into()))]);
    stage.cache = Some((14, held));
    stage.refuses_get = true;
    stage.after_s(40);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 14 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 14 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    30.00 shop/pods list one exact at 14 1 agrees: a GET of these objects is not allowed; they were listed by name
    30.01 shop/pods list newest at 14 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    30.02 shop/pods list one exact at 14 1 differs
    ");
    let gets = stage
        .reads
        .iter()
        .filter(|(_, read)| read.verb == Verb::Get);
    assert_eq!(gets.count(), 1);
}

#[test]
fn an_object_of_a_watch_whose_request_the_audit_never_saw_is_not_read() {
    let mut stage = watching(30, Level::Off);
    // This audit begins while the watch is streaming, so no path to its objects is known.
    stage.auditor = Auditor::new(Level::Off);
    stage.record(bookmark(15));
    let watch = WATCH.into();
    let is_there = (stage.auditor).ask(Some(&watch), Some(&object("a", 1)), stage.now);
    assert!(!is_there);
    assert_eq!(stage.auditor.next(stage.now, &stage.state), None);
    assert_eq!(stage.auditor.wake_at(), None);
}

#[test]
fn a_server_that_lists_one_name_at_a_version_as_of_the_newest_is_believed_all_the_same() {
    let mut stage = with_ghost(21, Level::Off);
    // Others write to etcd, no event moves the watch past these writes, and its version is compacted once.
    stage.write_elsewhere();
    stage.answers = BTreeMap::from([(1, refused(500))]);
    stage.meanwhile.insert(1, bookmark(15).into());
    stage.write_elsewhere();
    stage.ask(Some(object("a", 1)));
    stage.after_s(5);
    assert_snapshot!(stage.results(), @r"
    0.03 shop/pods list one exact at 15 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 15 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    0.04 over
    ");
    // The audit does not take the present state for the state at that version.
    let mut stage = with_ghost(21, Level::Off);
    let now = stage.write("b", 1);
    let of_now = Reply::Page(Page {
        version: now.into(),
        token: None,
        items: vec![seen("b", 1, now.into())],
        unreadable: 0,
        is_whole: false,
    });
    stage.answers = BTreeMap::from([(1, of_now)]);
    stage.ask(Some(object("b", 1)));
    stage.after_s(5);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list one exact 0 cannot-tell: no readable answer came
    0.02 over
    ");
}

#[test]
fn a_server_without_metadata_lists_is_read_in_whole_objects_and_reported() {
    let mut stage = watching(30, Level::Light);
    let mut auditor = stage.auditor.clone();
    let read = auditor.next(stage.now, &stage.state).expect("a read");
    let Reply::Page(page) = stage.answer(&read) else {
        panic!("a list");
    };
    stage.answers = BTreeMap::from([(
        0,
        Reply::Page(Page {
            is_whole: true,
            ..page
        }),
    )]);
    stage.after_s(5);
    assert_snapshot!(stage.results(), @"0.01 shop/pods list exact at 12 2 agrees: the server does not list metadata alone, so whole objects were read");
}

#[test]
fn a_server_that_is_busy_is_left_alone_as_long_as_it_asks() {
    let mut stage = watching(30, Level::Full);
    let busy = Reply::Refused {
        status: 429,
        retry_after_ms: Some(25_000),
        current: None,
    };
    stage.answers = BTreeMap::from([(0, busy)]);
    stage.after_s(40);
    let at: Vec<i64> = stage.reads.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(at, [0, 25, 25]);
    assert_eq!(stage.reads[0].1, stage.reads[1].1);
}

#[test]
fn a_server_too_busy_for_a_second_watch_is_left_alone_as_well() {
    let mut stage = watching(30, Level::Full);
    let received = stage.write("b", 1);
    stage.after_s(30);
    stage.event(ChangeType::Modified, "b", 1, received);
    stage.after_s(29);
    let next = stage.reads.len();
    stage.answers = (next..next + 4)
        .map(|read| {
            let busy = Reply::Refused {
                status: 429,
                retry_after_ms: Some(25_000),
                current: None,
            };
            (read, busy)
        })
        .collect();
    stage.after_s(20);
    let verbs: Vec<&str> = stage.reads[next..]
        .iter()
        .map(|(_, read)| read.verb.word())
        .collect();
    assert_eq!(verbs, ["watch"]);
}

#[test]
fn without_the_right_to_read_the_audit_asks_ever_more_rarely_until_it_has_it() {
    let mut stage = watching(30, Level::Light);
    stage.answers = (0..4).map(|read| (read, refused(403))).collect();
    stage.after_s(1_000);
    let at: Vec<i64> = stage.reads.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    assert_eq!(at[..6], [0, 60, 180, 420, 900, 930]);
}

#[test]
fn a_server_that_is_not_reached_is_dialled_ever_more_rarely_and_asked_as_before_once_it_is() {
    let mut stage = watching(35, Level::Full);
    stage.answers = (0..9).map(|read| (read, Reply::Unreached)).collect();
    stage.after_s(400);
    let at: Vec<i64> = stage.reads.iter().map(|(at, _)| at.0 / 1_000_000).collect();
    let dialled = [0, 1, 8, 15, 23, 39, 71, 131, 191];
    assert_eq!(at[..9], dialled);
    assert_eq!(at[9..13], [251, 251, 258, 266]);
    assert!(stage.results().contains("no connection for the request"));
}

#[test]
fn requests_stay_within_the_budget_and_are_fairly_shared() {
    let mut stage = Stage::new(35, Level::Full);
    for n in 0..40 {
        stage.write(&format!("p{n}"), 1);
    }
    let names: Vec<String> = (0..30).map(|n| format!("shop/w{n:02}")).collect();
    for name in &names {
        stage.watch(name);
    }
    stage.after_s(300);
    for window in 0..240 {
        let (from, to) = (window * 1_000_000, (window + 60) * 1_000_000);
        let within = |(at, _): &&(Time, Read)| (from..to).contains(&at.0);
        let all: Vec<&(Time, Read)> = stage.reads.iter().filter(within).collect();
        assert!(
            all.len() <= 120,
            "{} in the minute from {window} s",
            all.len()
        );
        for name in &names {
            let own = all
                .iter()
                .filter(|(_, read)| read.watch.as_str() == name)
                .count();
            assert!(
                (2..=20).contains(&own),
                "{own} of {name} in the minute from {window} s"
            );
        }
    }
    assert!(stage.reads.len() > 550, "{}", stage.reads.len());
}

#[test]
fn with_too_many_watches_to_list_in_time_each_still_has_objects_looked_up() {
    let mut stage = Stage::new(35, Level::Light);
    stage.write("a", 1);
    stage.write("b", 1);
    let names: Vec<String> = (0..150).map(|n| format!("shop/w{n:03}")).collect();
    for name in &names {
        stage.watch(name);
    }
    stage.after_s(1_800);
    for name in &names {
        let of_late =
            |(at, read): &&(Time, Read)| read.watch.as_str() == name && at.0 >= 1_200_000_000;
        let verbs: Vec<&str> = stage
            .reads
            .iter()
            .filter(of_late)
            .map(|(_, read)| read.verb.word())
            .collect();
        assert!(
            verbs.contains(&"get") && verbs.contains(&"list"),
            "{name}: {verbs:?}"
        );
    }
}

/// A watch by each of two servers.
fn at_two_servers(level: Level) -> Stage {
    let mut stage = Stage::new(35, level);
    for n in 0..40 {
        stage.write(&format!("p{n}"), 1);
    }
    stage.watch_at("shop/pods", Some("10.0.0.1:6443"));
    stage.watch_at("shop/pods#2", Some("10.0.0.2:6443"));
    stage
}

#[test]
fn a_server_that_hangs_holds_up_no_others_audit() {
    let reads_of_second = |hangs: Option<&str>| {
        let mut stage = at_two_servers(Level::Light);
        stage.hangs = hangs.map(Into::into);
        stage.after_s(70);
        let (of_first, of_second): (Vec<_>, Vec<_>) = stage
            .reads
            .iter()
            .partition(|(_, read)| read.server.as_deref() == Some("10.0.0.1:6443"));
        if hangs.is_some() {
            assert_eq!(of_first.len(), 1, "{of_first:?}");
        }
        let line = |(_, read): &&(Time, Read)| read.target();
        of_second.iter().map(line).collect::<Vec<String>>()
    };
    let results = reads_of_second(Some("10.0.0.1:6443"));
    assert!(results.len() > 10, "{results:?}");
    assert_eq!(results, reads_of_second(None));
}

#[test]
fn each_server_has_a_budget_of_its_own() {
    let mut stage = Stage::new(35, Level::Full);
    for n in 0..40 {
        stage.write(&format!("p{n}"), 1);
    }
    for n in 0..10 {
        stage.watch_at(&format!("shop/w{n}"), Some("10.0.0.1:6443"));
        stage.watch_at(&format!("shop/w{n}#2"), Some("10.0.0.2:6443"));
    }
    stage.after_s(59);
    for server in ["10.0.0.1:6443", "10.0.0.2:6443"] {
        let of = |(_, read): &&(Time, Read)| read.server.as_deref() == Some(server);
        // And one request for its version, with which the connection begins.
        assert_eq!(stage.reads.iter().filter(of).count(), 119, "{server}");
    }
}

/// Returns the GETs of objects by name.
fn looked_up(stage: &Stage) -> BTreeMap<String, Vec<i64>> {
    let mut looked_up: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (at, read) in stage
        .reads
        .iter()
        .filter(|(_, read)| read.verb == Verb::Get)
    {
        let name = read.path.rsplit('/').next().expect("a name");
        looked_up.entry(name.to_owned()).or_default().push(at.0);
    }
    looked_up
}

#[test]
fn full_reads_each_of_two_hundred_objects_within_two_minutes() {
    let mut stage = Stage::new(35, Level::Full);
    for n in 0..FULL_WATCH {
        stage.write(&format!("p{n}"), 1);
    }
    stage.watch(WATCH);
    stage.after_s(600);
    let looked_up = looked_up(&stage);
    assert_eq!(looked_up.len(), FULL_WATCH);
    for (name, at) in looked_up {
        let ends = [0].into_iter().chain(at.iter().copied());
        let longest = ends.zip(at.iter()).map(|(from, to)| to - from).max();
        assert!(longest.is_some_and(|us| us < 120_000_000), "{name} {at:?}");
    }
    let in_first_minute = stage.reads.iter().filter(|(at, _)| at.0 < 60_000_000);
    assert!(in_first_minute.count() <= 120);
}

#[test]
fn full_reads_two_hundred_objects_of_six_watches_within_two_minutes() {
    let mut stage = Stage::new(35, Level::Full);
    stage.lists_fail = true;
    // Each watch has 33 or 34 objects with names of their own.
    for n in 0..6 {
        let objects = (0..FULL_WATCH).filter(|object| object % 6 == n);
        let objects = objects.map(|object| (format!("p{object}"), (1, 10.into())));
        stage.etcd.insert(10, objects.collect());
        stage.watch(&format!("shop/w{n}"));
    }
    let objects = (0..FULL_WATCH).map(|object| (format!("p{object}"), (1, 10.into())));
    stage.etcd.insert(10, objects.collect());
    stage.after_s(120);
    assert_eq!(looked_up(&stage).len(), FULL_WATCH);
}

#[test]
fn a_lookup_for_one_watch_serves_all_others_of_the_same_server() {
    let mut stage = Stage::new(35, Level::Full);
    for n in 0..100 {
        stage.write(&format!("p{n}"), 1);
    }
    stage.watch(WATCH);
    stage.watch("shop/pods#2");
    stage.after_s(120);
    let looked_up = looked_up(&stage);
    assert_eq!(looked_up.len(), 100);
    let all: usize = looked_up.values().map(Vec::len).sum();
    assert!(all <= 125, "{all} looks at 100 objects in two minutes");
}

#[test]
fn light_confirms_a_divergence_in_a_small_watch_within_a_minute() {
    let names = || (0..SMALL_WATCH).map(|n| format!("p{n:02}"));
    let mut stage = Stage::new(33, Level::Light);
    for n in 0..PAGE - 1 {
        stage.write(&format!("p{n}"), 1);
    }
    stage.watch(WATCH);
    stage.after_s(31);
    stage.delete("p7");
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(60);
    assert_eq!(stage.verdicts().len(), 2);
    for wrong in names() {
        for ghost in [true, false] {
            let mut stage = Stage::new(35, Level::Light);
            for name in names() {
                stage.write(&name, 1);
            }
            stage.watch(WATCH);
            // Lists still show what the watch holds.
            stage.cache = Some(stage.current());
            stage.after_s(100);
            assert_eq!(stage.verdicts(), [""; 0]);
            if ghost {
                stage.delete(&wrong);
            } else {
                stage.write(&wrong, 1);
            }
            let version = stage.write_elsewhere();
            stage.bookmark(version);
            let (_, held) = stage.cache.take().expect("it was put there");
            stage.cache = Some((version, held));
            stage.after_s(60);
            let verdicts = stage.verdicts();
            assert!(
                verdicts.len() == 2 && verdicts[1].contains("confirmed"),
                "{wrong}: {verdicts:?}"
            );
        }
    }
}

/// Returns the names of objects with a confirmed verdict.
fn confirmed(stage: &Stage) -> Vec<String> {
    let verdicts = stage.state.watches[&WATCH.into()].verdicts.values();
    let confirmed = verdicts.filter(|open| open.verdict.state == Standing::Confirmed);
    confirmed
        .map(|open| open.verdict.object.name.to_string())
        .collect()
}

#[test]
fn if_lists_may_hide_divergences_all_missing_objects_are_confirmed_until_they_are_deleted() {
    let mut stage = watching(35, Level::Light);
    let missing: Vec<String> = (0..20).map(|n| format!("m{n:02}")).collect();
    for name in &missing {
        stage.write(name, 1);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    // Two reads for each object, and at most 20 reads in a minute.
    stage.after_s(200);
    assert_eq!(confirmed(&stage), missing);
    for name in &missing[8..] {
        stage.delete(name);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(300);
    assert_eq!(confirmed(&stage), missing[..8]);
}

#[test]
fn a_missing_object_is_cleared_once_the_selectors_do_not_match_it() {
    let mut stage = watching(35, Level::Light);
    stage.write("m", 1);
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(10);
    assert_eq!(confirmed(&stage), ["m"]);
    stage.unmatched = Some("m");
    stage.write("m", 1);
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(120);
    assert_eq!(confirmed(&stage), [""; 0]);
}

#[test]
fn a_persons_request_tries_exact_lists_that_were_refused_before() {
    let mut stage = watching(30, Level::Off);
    stage.answers = BTreeMap::from([(0, refused(400))]);
    stage.ask(None);
    stage.after_s(10);
    stage.results();
    stage.ask(None);
    stage.after_s(10);
    assert_snapshot!(stage.results(), @r"
    10.01 shop/pods list exact at 12 2 agrees
    10.01 over
    ");
}

#[test]
fn in_a_large_watch_divergent_objects_leave_lookups_for_the_others() {
    let mut stage = Stage::new(35, Level::Light);
    let (revision, mut objects) = stage.current();
    for n in 0..1_200 {
        objects.insert(format!("p{n:04}"), (1, revision.into()));
    }
    stage.etcd.insert(revision, objects);
    stage.watch(WATCH);
    for n in 0..10 {
        stage.write(&format!("m{n}"), 1);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.after_s(600);
    assert_eq!(confirmed(&stage).len(), 10);
    let others = looked_up(&stage).into_keys();
    let others = others.filter(|name| name.starts_with('p')).count();
    assert!(others > 40, "{others}");
}

#[test]
fn an_event_that_only_a_second_watch_delivers_was_lost() {
    let mut stage = watching(30, Level::Full);
    stage.after_s(30);
    stage.results();
    let lost = stage.write("a", 1);
    let (lost_too, received) = (stage.write("c", 1), stage.write("b", 1));
    stage.event(ChangeType::Modified, "b", 1, received);
    let gone = stage.delete("c");
    stage.event(ChangeType::Deleted, "c", 1, gone);
    let later = stage.write("b", 1);
    let events = [
        ("a", lost),
        ("c", lost_too),
        ("b", received),
        ("c", gone),
        ("b", later),
    ];
    stage.second_watch = Some(Told {
        events: events.map(|(name, at)| seen(name, 1, at.into())).to_vec(),
        reached: Some(later.into()),
    });
    stage.after_s(31);
    let results = stage.results();
    let results = results.lines().filter(|line| line.contains("second"));
    assert_snapshot!(results.collect::<Vec<_>>().join("\n"), @"60.01 shop/pods second watch at 16 2 differs: a second watch delivered 2 events from 12 to 16 that this one did not");
    let asked = stage
        .reads
        .iter()
        .filter(|(_, read)| read.verb == Verb::Watch);
    let asked: Vec<String> = asked
        .map(|(_, read)| format!("{} {}", read.lane, read.target()))
        .collect();
    assert_snapshot!(asked.join("\n"), @"shop/pods#w /api/v1/namespaces/shop/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=12&labelSelector=app%3Dweb");
}

#[test]
fn a_second_watch_that_agrees_is_reported_and_a_quiet_watch_needs_none() {
    let mut stage = watching(30, Level::Full);
    let received = stage.write("b", 1);
    stage.after_s(30);
    stage.event(ChangeType::Modified, "b", 1, received);
    // It is already further than the watch.
    let later = stage.write("a", 1);
    stage.second_watch = Some(Told {
        events: vec![seen("b", 1, received.into()), seen("a", 1, later.into())],
        reached: Some(later.into()),
    });
    stage.after_s(31);
    stage.event(ChangeType::Modified, "a", 1, later);
    stage.second_watch = Some(Told {
        events: vec![seen("a", 1, later.into())],
        reached: Some(later.into()),
    });
    stage.after_s(600);
    let results = stage.results();
    let results = results.lines().filter(|line| line.contains("second"));
    assert_snapshot!(results.collect::<Vec<_>>().join("\n"), @r"
    60.01 shop/pods second watch at 13 1 agrees: in the events from 12 to 13
    120.01 shop/pods second watch at 14 1 agrees: in the events from 13 to 14
    ");
}

#[test]
fn an_event_that_a_second_watch_has_twice_or_from_before_was_not_lost() {
    let mut stage = watching(30, Level::Full);
    let old = stage.write("a", 1);
    stage.event(ChangeType::Modified, "a", 1, old);
    stage.after_s(30);
    let received = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, received);
    stage.second_watch = Some(Told {
        events: [("a", old), ("b", received), ("b", received)]
            .map(|(name, at)| seen(name, 1, at.into()))
            .to_vec(),
        reached: Some(received.into()),
    });
    stage.after_s(31);
    let results = stage.results();
    let results = results.lines().filter(|line| line.contains("second"));
    assert_snapshot!(results.collect::<Vec<_>>().join("\n"), @"60.01 shop/pods second watch at 14 1 agrees: in the events from 13 to 14");
}

/// An etcd that was restored to the state before the last write of `a` and before `c` was created. Before the next
/// read, other writes have brought it to the same revision again.
fn put_back_and_further(minor: u64) -> Stage {
    let mut stage = watching(minor, Level::Light);
    let backup = stage.current();
    for (change, name) in [(ChangeType::Modified, "a"), (ChangeType::Added, "c")] {
        let version = stage.write(name, 1);
        stage.event(change, name, 1, version);
    }
    let (revision, _) = stage.current();
    let (at, objects) = backup;
    stage.etcd.split_off(&(at + 1));
    stage.etcd.insert(at, objects);
    while stage.current().0 <= revision {
        stage.write_elsewhere();
    }
    let version = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, version);
    stage
}

#[test]
fn a_restored_etcd_that_has_come_further_since_never_had_the_watchs_state() {
    for minor in [21, 30, 35] {
        let mut stage = put_back_and_further(minor);
        stage.after_s(20);
        let results = stage.results();
        let never = "shop/pods list one as told twice at 14 1 differs";
        assert!(results.contains(never), "1.{minor}: {results}");
    }
}

#[test]
fn a_compacted_version_has_no_report_and_a_lost_event_is_only_reported_as_lost() {
    let mut stage = put_back_and_further(30);
    stage.compacted = stage.current().0;
    stage.after_s(20);
    let results = stage.results();
    assert!(
        results.contains("c ghost held 14 listed - confirmed"),
        "{results}"
    );
    assert!(!results.contains("as told"), "{results}");
    // The object whose event was lost existed.
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(20);
    let is_asked = stage
        .lines()
        .iter()
        .any(|line| line.contains("resourceVersion=11"));
    let results = stage.results();
    assert!(is_asked && !results.contains("as told"), "{results}");
}

/// A watch by each of two servers. The first watch and its server's cache hold `z` if `first_has_z`; the second watch,
/// its cache and etcd hold it otherwise.
fn of_two_minds(first_has_z: bool) -> Stage {
    let mut stage = Stage::new(35, Level::Light);
    // More objects than can be looked up one by one in this time.
    for n in 0..60 {
        stage.write(&format!("p{n:02}"), 1);
    }
    stage.write("z", 1);
    let (version, with_z) = stage.current();
    let mut without_z = with_z.clone();
    without_z.remove("z");
    let (firsts, seconds) = if first_has_z {
        (with_z, without_z)
    } else {
        (without_z, with_z)
    };
    for (watch, server, held) in [
        ("shop/pods", "10.0.0.1:6443", firsts),
        ("shop/pods#2", "10.0.0.2:6443", seconds),
    ] {
        stage.etcd.insert(version, held.clone());
        stage.watch_at(watch, Some(server));
        stage.cache_of.insert(server.into(), (version, held));
    }
    stage
}

#[test]
fn an_object_missing_from_one_servers_cache_is_found_by_the_list_of_another() {
    let mut stage = of_two_minds(false);
    stage.after_s(2);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 71 60 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.01 shop/pods#2 list of another server at 71 61 cannot-tell: objects that differ are looked up in etcd, to find which server is wrong; read from 10.0.0.1:6443
    0.02 shop/pods#2 list one exact at 71 1 agrees
    0.03 shop/pods list one exact at 71 1 differs
    0.03 z missing held - listed 71 raised likely
    0.04 shop/pods#2 list exact at 71 61 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.04 shop/pods list of another server at 71 61 differs: only in objects that are known to be wrong; read from 10.0.0.2:6443
    0.05 shop/pods list one exact at 71 1 differs
    0.05 z missing held - listed 71 confirmed definite
    ");
}

#[test]
fn if_the_lists_of_two_servers_differ_etcd_says_which_is_wrong() {
    let mut stage = of_two_minds(true);
    stage.after_s(5);
    assert_snapshot!(stage.verdicts().join("\n"), @r"
    0.03 z ghost held 71 listed - raised likely
    0.05 z ghost held 71 listed - confirmed definite
    ");
    assert_eq!(stage.state.watches[&WATCH.into()].verdicts.len(), 1);
}

const OLD: &str = "10.0.0.1:6443";
const NEW: &str = "10.0.0.2:6443";

/// A cluster in the middle of an upgrade. One watch is by a server of 1.33, the version that the cluster states. The
/// other is by a server of 1.34. Both watches hold `a`, whose deletion they missed. The second server's cache holds it
/// too.
fn in_an_upgrade() -> Stage {
    let mut stage = Stage::new(33, Level::Light);
    stage.minor_of.insert(NEW.into(), Some(34));
    stage.write("a", 1);
    stage.write("b", 1);
    stage.watch_at("shop/pods", Some(OLD));
    stage.watch_at("shop/pods#2", Some(NEW));
    let (_, held) = stage.current();
    stage.delete("a");
    let version = stage.write_elsewhere();
    for watch in ["shop/pods", "shop/pods#2"] {
        stage.record(Bookmark {
            watch: watch.into(),
            stream: StreamId(1),
            resource_version: version.into(),
            initial_events_end: None,
        });
    }
    stage.cache_of.insert(NEW.into(), (version, held));
    stage
}

#[test]
fn each_server_of_a_cluster_in_an_upgrade_is_trusted_as_far_as_its_own_version_allows() {
    let mut stage = in_an_upgrade();
    stage.after_s(1);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 14 2 differs
    0.01 a ghost held 11 listed - raised likely
    0.02 shop/pods#2 list exact at 14 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.02 shop/pods list of another server at 14 2 agrees: read from 10.0.0.2:6443
    0.03 shop/pods list exact again at 14 2 differs
    0.03 a ghost held 11 listed - confirmed definite
    0.03 shop/pods#2 list of another server at 14 2 differs: only in objects that are known to be wrong; read from 10.0.0.1:6443
    0.06 shop/pods#2 list one exact at 14 1 differs
    0.06 a ghost held 11 listed - raised likely
    0.07 shop/pods#2 list one exact at 14 1 differs
    0.07 a ghost held 11 listed - confirmed definite
    ");
    assert_eq!(stage.state.watches[&"shop/pods#2".into()].verdicts.len(), 1);
}

#[test]
fn a_divergence_that_only_the_older_servers_list_shows_is_found_in_the_newer_servers_watch() {
    let mut stage = of_two_minds(false);
    stage.upgrade(NEW, 33);
    stage.after_s(2);
    let verdicts = stage.verdicts();
    assert!(
        verdicts[1].contains("z missing") && verdicts[1].contains("confirmed"),
        "{verdicts:?}"
    );
}

#[test]
fn a_server_that_was_upgraded_is_trusted_no_further_than_before_it_said_so() {
    let mut stage = in_an_upgrade();
    stage.upgrade(NEW, 33);
    stage.cache_of.clear();
    let (version, held) = stage
        .etcd
        .first_key_value()
        .map(|(_, held)| (stage.current().0, held.clone()))
        .expect("a state");
    stage.after_s(1);
    stage.results.clear();
    stage.upgrade(NEW, 34);
    // An object that its cache has lost is no ghost.
    stage.cache_of.insert(NEW.into(), (version, held));
    stage.after_s(60);
    let verdicts = stage.verdicts();
    assert_eq!(verdicts, [""; 0]);
}

#[test]
fn if_any_server_may_answer_the_newest_version_decides_what_a_list_may_hide() {
    for (minor, said, is_trusted) in [(33, None, true), (33, Some("v1.34.0"), false)] {
        let mut stage = with_ghost(minor, Level::Light);
        if let Some(said) = said {
            stage.record(ClusterConnected {
                cluster: "test".into(),
                server: "https://test".into(),
                version: said.into(),
                uid: None,
            });
        }
        stage.after_s(1);
        let results = stage.results();
        assert_eq!(
            results.contains("list exact again"),
            is_trusted,
            "{results}"
        );
        // Lookups one by one find it all the same.
        assert!(
            results.contains("a ghost held 11 listed - confirmed"),
            "{results}"
        );
    }
}

#[test]
fn a_server_that_does_not_say_its_version_to_the_audit_is_taken_for_the_newest() {
    let mut stage = with_ghost(33, Level::Light);
    stage.minor_of.insert("any".into(), None);
    stage.after_s(1);
    let results = stage.results();
    assert!(
        !results.contains("list exact again") && results.contains("list one exact"),
        "{results}"
    );
}

#[test]
fn in_a_large_watch_objects_that_should_be_gone_are_looked_up_first() {
    let mut stage = Stage::new(35, Level::Light);
    stage.write("owner", 7);
    for n in 0..900 {
        stage.write(&format!("p{n:03}"), 1);
    }
    stage.watch(WATCH);
    let version = stage.delete("owner");
    stage.event(ChangeType::Deleted, "owner", 7, version);
    stage.deleted = (700..710)
        .map(|n| (format!("p{n}"), "2026-01-02T03:04:05Z"))
        .collect();
    stage.deleted.insert("p800".into(), "2025-12-31T23:59:59Z");
    stage.owned = BTreeMap::from([("p600".into(), object("owner", 7).uid.clone())]);
    let (_, held) = stage.current();
    for ghost in ["p600", "p700", "p800"] {
        stage.delete(ghost);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.cache = Some((version, held));
    stage.after_s(180);
    let verdicts = stage.verdicts();
    let confirmed = verdicts.iter().filter(|line| line.contains("confirmed"));
    let names: Vec<&str> = confirmed
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(names, ["p800", "p700", "p600"]);
    // The others have their turn too.
    let looked_up = looked_up(&stage);
    let others = looked_up.keys().filter(|name| name.as_str() < "p600");
    assert!(others.count() >= 12);
}

#[test]
fn a_watch_of_very_many_objects_is_not_listed_and_some_objects_are_looked_up() {
    let mut stage = Stage::new(30, Level::Light);
    let (revision, mut objects) = stage.current();
    for n in 0..6_000 {
        objects.insert(format!("p{n:05}"), (1, revision.into()));
    }
    stage.etcd.insert(revision, objects);
    stage.watch(WATCH);
    stage.page = 500;
    stage.after_s(600);
    let lines = stage.lines();
    assert!(
        lines
            .iter()
            .all(|line| !line.contains("Exact") && !line.contains("continue"))
    );
    let gets = lines.iter().filter(|line| line.contains("/pods/p")).count();
    assert!((155..=165).contains(&gets), "{gets}");
    // The audit does not read beyond the first objects of the list, and concludes nothing from them.
    assert!(!stage.results.contains("cannot-tell"));
    assert_eq!(stage.verdicts(), [""; 0]);
    // A request for the whole watch gets the reason.
    stage.ask(None);
    stage.after_s(5);
    assert_snapshot!(stage.results(), @"600.01 shop/pods list newest at 10 0 cannot-tell: more than 5,000 objects are not listed at once; they are looked up one by one");
}

#[test]
fn with_the_audit_off_only_a_persons_request_reads() {
    let mut stage = with_ghost(30, Level::Off);
    stage.after_s(600);
    assert_eq!(stage.lines(), [""; 0]);
    stage.auditor.ask(Some(&WATCH.into()), None, stage.now);
    stage.after_s(60);
    assert_eq!(stage.verdicts().len(), 2);
    assert_eq!(stage.reads.len(), 3);
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("b", 1)), stage.now);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @"660.01 shop/pods get at 14 1 agrees");
}

#[test]
fn a_persons_request_ends_once_all_its_results_are_reported() {
    let mut stage = with_ghost(35, Level::Off);
    let held = Objects::from([("a".into(), (1, 11.into())), ("b".into(), (1, 14.into()))]);
    stage.cache = Some((14, held));
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 14 2 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 14 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    0.06 shop/pods get each at 14 2 differs
    0.06 over
    ");
    // A request for one object does not end with the first sign of a difference, and does not wait for other reads.
    let mut stage = with_ghost(35, Level::Light);
    stage.ask(Some(object("a", 1)));
    stage.after_s(1);
    assert_snapshot!(stage.results(), @r"
    0.02 shop/pods list one exact at 14 1 differs
    0.02 a ghost held 11 listed - raised likely
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - confirmed definite
    0.03 over
    0.05 shop/pods list exact at 14 2 differs: the list may come from the watch cache; it differs only in objects that are known to be wrong
    ");
    // A watch that is behind a list has time to reach it.
    let mut stage = watching(30, Level::Off);
    stage.refuses_exact = true;
    stage.write("c", 1);
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @"");
    stage.bookmark(13);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    60.01 shop/pods list newest at 13 3 differs: the server refuses lists at an exact resourceVersion; the newest list is at the version of the watch
    60.01 c missing held - listed 13 raised likely
    60.01 over
    ");
}

/// A pending request for a sweep of `objects` objects, on a server whose lists may come from its cache.
fn waited_for(objects: u64) -> Stage {
    let mut stage = Stage::with(35, Auditor::new(Level::Off).looking_at(MOST_LISTED));
    for n in 0..objects {
        stage.write(&format!("p{n:03}"), 1);
    }
    stage.watch(WATCH);
    stage.ask(None);
    stage
}

fn ended() -> Event {
    let stream = StreamEnded {
        watch: WATCH.into(),
        stream: StreamId(1),
        cause: Cause::End,
        age_ms: 1,
        events: 0,
        bytes: 0,
        reset_code: None,
        unread_ms: None,
    };
    stream.into()
}

#[test]
fn a_sweep_looks_up_each_object() {
    let mut stage = waited_for(40);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 50 40 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.41 shop/pods get each at 50 40 agrees
    0.41 over
    ");
    assert_eq!(stage.reads.len(), 41);
    // An empty watch has nothing to look up.
    let mut stage = waited_for(0);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 10 0 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.01 shop/pods get each at 10 0 agrees
    0.01 over
    ");
    // Lists from etcd show everything.
    let mut stage = Stage::with(30, Auditor::new(Level::Off).looking_at(MOST_LISTED));
    stage.write("a", 1);
    stage.watch(WATCH);
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 11 1 agrees
    0.01 over
    ");
}

#[test]
fn a_sweep_finds_a_ghost_among_many_objects() {
    let mut stage = waited_for(40);
    let (_, held) = stage.current();
    stage.delete("p030");
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.cache = Some((version, held));
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 52 40 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.33 shop/pods list one exact at 52 1 differs
    0.33 p030 ghost held 41 listed - raised likely
    0.34 shop/pods list one exact at 52 1 differs
    0.34 p030 ghost held 41 listed - confirmed definite
    0.44 shop/pods get each at 52 40 differs
    0.44 over
    ");
}

#[test]
fn the_servers_budget_holds_for_any_sweep_and_a_watch_that_stops_reports_its_progress() {
    let mut stage = waited_for(300);
    stage.after_s(59);
    assert_eq!(stage.reads.len(), 119);
    stage.after_s(59);
    assert_eq!(stage.reads.len(), 239);
    stage.record(WatchStopped {
        watch: WATCH.into(),
        reason: PhaseReason::StopRequested,
    });
    stage.after_s(60);
    assert_eq!(stage.reads.len(), 239);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 310 300 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    118.00 shop/pods get each at 310 238 cannot-tell: the watch was stopped when 238 of 300 objects had been looked up in etcd and agreed
    118.00 over
    ");
    let mut stage = waited_for(300);
    stage.after_s(180);
    assert!(stage.results().contains("get each at 310 300 agrees"));
}

#[test]
fn a_sweep_leaves_later_changes_to_the_stream_and_ends() {
    let mut stage = waited_for(20);
    let gone = stage.delete("p005");
    let written = stage.write("p006", 1);
    let added = stage.write("p020", 1);
    let late = stage.write("p007", 1);
    let received = |change, name: &str, version: u64| -> Event {
        changed(WATCH, change, Origin::Live, object(name, 1), version.into()).into()
    };
    stage.meanwhile = BTreeMap::from([
        (1, received(ChangeType::Deleted, "p005", gone)),
        (2, received(ChangeType::Modified, "p006", written)),
        (3, received(ChangeType::Added, "p020", added)),
        // It is read at the watch's version, and the watch receives its change meanwhile.
        (8, received(ChangeType::Modified, "p007", late)),
    ]);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.21 shop/pods get each at 30 18 agrees: 2 changed meanwhile; the stream delivers these changes
    0.21 over
    ");
    // Each object is written again with every read.
    let mut stage = waited_for(20);
    for n in 0..200 {
        let name = format!("p{:03}", n * 7 % 20);
        let version = stage.write(&name, 1);
        let event = received(ChangeType::Modified, &name, version);
        stage.meanwhile.insert(n, event);
    }
    stage.after_s(60);
    let results = stage.results();
    assert!(
        results.contains("get each at 30 ") && results.contains("over"),
        "{results}"
    );
    assert!(stage.reads.len() <= 60, "{results}");
}

#[test]
fn a_stream_that_is_replaced_does_not_disturb_a_sweep_and_a_lost_one_ends_it() {
    let mut stage = waited_for(20);
    stage.meanwhile.insert(5, ended());
    stage.after_s(2);
    stage.open(WATCH);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    4.21 shop/pods get each at 30 20 agrees
    4.21 over
    ");
    let mut stage = waited_for(20);
    stage.meanwhile.insert(5, ended());
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    4.06 shop/pods get each at 30 5 cannot-tell: the watch stopped streaming when 5 of 20 objects had been looked up in etcd and agreed
    4.06 over
    ");
    // The state after another list need not be etcd's.
    let mut stage = waited_for(20);
    stage.meanwhile.insert(5, ended());
    stage.after_s(1);
    stage.list(WATCH);
    stage.open(WATCH);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    4.06 shop/pods get each at 30 5 cannot-tell: the watch listed again when 5 of 20 objects had been looked up in etcd and agreed
    4.06 over
    ");
}

#[test]
fn failing_lookups_are_reported_and_soon_given_up() {
    let mut stage = waited_for(20);
    stage.answers.insert(3, refused(500));
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.04 shop/pods get 0 cannot-tell: the server answered 500
    0.21 shop/pods get each at 30 19 cannot-tell: 1 of 20 objects could not be looked up in etcd
    0.21 over
    ");
    let mut stage = waited_for(40);
    stage.answers = (1..40).map(|n| (n, refused(500))).collect();
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 50 40 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.02 shop/pods get 0 cannot-tell: the server answered 500
    0.09 shop/pods get each at 50 0 cannot-tell: 40 of 40 objects could not be looked up in etcd
    0.09 over
    ");
    assert!(stage.reads.len() < 10);
    // Objects may be listed by name.
    let mut stage = waited_for(20);
    stage.refuses_get = true;
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.22 shop/pods get each at 30 20 agrees: a GET of these objects is not allowed; they were listed by name
    0.22 over
    ");
    // No read is allowed any more.
    let mut stage = waited_for(20);
    stage.refuses_get = true;
    stage.answers.insert(2, refused(403));
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.03 shop/pods list one exact 0 cannot-tell: the server answered 403
    0.03 shop/pods get each at 30 0 cannot-tell: 20 of 20 objects could not be looked up in etcd
    0.03 over
    ");
}

#[test]
fn a_request_of_the_page_looks_up_a_few_objects_and_ends_soon() {
    let mut stage = Stage::new(35, Level::Off);
    for n in 0..40 {
        stage.write(&format!("p{n:03}"), 1);
    }
    stage.watch(WATCH);
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.results(), @r"
    0.01 shop/pods list exact at 50 40 agrees: the list may come from the watch cache, which may believe in objects that etcd does not have
    0.17 shop/pods get at 50 16 agrees
    0.17 over
    ");
}

#[test]
fn a_watch_that_does_not_stream_is_left_alone() {
    let mut stage = watching(30, Level::Full);
    stage.after_s(1);
    let (asked, stream) = (stage.reads.len(), StreamId(1));
    stage.record(StreamEnded {
        watch: WATCH.into(),
        stream,
        cause: Cause::TcpReset,
        age_ms: 1,
        events: 0,
        bytes: 0,
        reset_code: None,
        unread_ms: None,
    });
    stage.after_s(600);
    assert_eq!(stage.reads.len(), asked);
    stage.open(WATCH);
    stage.after_s(20);
    assert!(stage.reads.len() > asked);
}

#[test]
fn a_request_for_a_watch_without_a_stream_gets_a_reason_each_time() {
    let mut stage = watching(30, Level::Off);
    stage.record(StreamEnded {
        watch: WATCH.into(),
        stream: StreamId(1),
        cause: Cause::TcpReset,
        age_ms: 1,
        events: 0,
        bytes: 0,
        reset_code: None,
        unread_ms: None,
    });
    for object in [None, Some(&object("b", 1)), None] {
        assert!(stage.auditor.ask(Some(&WATCH.into()), object, stage.now));
        stage.after_s(60);
        let results = stage.results();
        assert!(
            results.contains("cannot-tell: the watch is not streaming"),
            "{results}"
        );
    }
    assert_eq!(stage.lines(), [""; 0]);
    assert!(
        !stage
            .auditor
            .ask(Some(&"shop/nodes".into()), None, stage.now)
    );
}

#[test]
fn a_request_for_a_known_ghost_reports_that_it_is_still_one() {
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(20);
    stage.results();
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("a", 1)), stage.now);
    stage.after_s(1);
    assert_snapshot!(stage.results(), @"20.01 shop/pods get at 14 1 differs");
}
