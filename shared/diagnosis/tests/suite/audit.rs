//! The audit against a scripted server: what it finds, what it costs, and each trap of docs/semantics/checks.md#traps
//! by name.

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
use watchscope_model::vocabulary::{Cause, ChangeType, Origin, Phase, PhaseReason, Standing, Verb};
use watchscope_model::{
    ConnectionId, Event, Object, Record, RequestId, ResourceVersion, State, StreamId, Text, Time,
    Uid, WatchName,
};

const WATCH: &str = "shop/pods";

/// Name to uid and version.
type Objects = BTreeMap<String, (u8, ResourceVersion)>;

/// Audited watches, and the server that the audit reads from.
struct Stage {
    state: State,
    auditor: Auditor,
    now: Time,
    ids: u64,
    minor: u64,
    /// Of servers that are of another version; absent: they do not say it to the audit, and are as the others.
    minor_of: BTreeMap<Text, Option<u64>>,
    /// The audit's connection to each server.
    connections: BTreeMap<Text, ConnectionId>,
    /// etcd's states by revision; the last is now.
    etcd: BTreeMap<u64, Objects>,
    /// Below this nothing can be read.
    compacted: u64,
    /// What lists served by a cache return instead, whatever they ask for.
    cache: Option<(u64, Objects)>,
    /// The cache stands at its version: lists that ask for more are refused, or are etcd's if they ask for the newest.
    cache_waits: bool,
    /// The same of the lists of one server.
    cache_of: BTreeMap<Text, (u64, Objects)>,
    /// Answers given instead of the server's, by the number of the read.
    answers: BTreeMap<usize, Reply>,
    /// The version a list says it is of, where it is not the one asked for.
    says: Option<ResourceVersion>,
    page: usize,
    /// The server that never answers.
    hangs: Option<Text>,
    /// What second watches tell.
    told_again: Option<Told>,
    /// Since when objects are to be deleted, and whom they belong to.
    deleted: BTreeMap<String, &'static str>,
    owned: BTreeMap<String, Uid>,
    /// An object that the watch's selectors do not match.
    unmatched: Option<&'static str>,
    /// No list is answered.
    lists_fail: bool,
    /// No list is given at an exact version (422).
    refuses_exact: bool,
    /// No object may be got (403).
    refuses_get: bool,
    /// Another apiserver serves what is watched, so that the probe takes its versions to be in no order.
    is_aggregated: bool,
    reads: Vec<(Time, Read)>,
    /// What the watch brings while a read is made, by the number of the read.
    meanwhile: BTreeMap<usize, Event>,
    /// What a person asked for that is not over: of all of [`WATCH`], or of an object of it.
    asked: Option<Option<Arc<Object>>>,
    told: String,
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
            told_again: None,
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
            told: String::new(),
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

    /// A version, as the probe has it.
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

    /// Something is written in etcd; the version it gets.
    fn write(&mut self, name: &str, uid: u8) -> u64 {
        let (revision, mut objects) = self.current();
        objects.insert(name.to_owned(), (uid, (revision + 1).into()));
        self.etcd.insert(revision + 1, objects);
        revision + 1
    }

    /// Something is deleted in etcd; the revision of that.
    fn delete(&mut self, name: &str) -> u64 {
        let (revision, mut objects) = self.current();
        objects.remove(name);
        self.etcd.insert(revision + 1, objects);
        revision + 1
    }

    /// Something else is written.
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

    /// A watch begins, lists what is there, and streams from there.
    fn watch(&mut self, watch: &str) {
        self.watch_at(watch, None);
    }

    /// The same, of one server.
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

    /// The watch's stream brings an event.
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

    /// A server's version; where it is not told to the audit, as it is.
    fn minor_at(&self, server: &Text) -> u64 {
        self.minor_of
            .get(server)
            .copied()
            .flatten()
            .unwrap_or(self.minor)
    }

    /// A read goes out, over the audit's connection to its server.
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

    /// A server starts anew, as another version; the audit's connection to it is gone.
    fn upgrade(&mut self, server: &str, minor: u64) {
        self.minor_of.insert(server.into(), Some(minor));
        if let Some(connection) = self.connections.remove(&Text::from(server)) {
            self.record(ConnectionClosed::unasked(connection, Cause::Eof));
        }
    }

    /// What the server answers.
    fn answer(&self, read: &Read) -> Reply {
        let query = read.query.as_deref().unwrap_or("");
        if read.verb == Verb::Watch {
            return self.told_again.clone().map_or(Reply::Failed, Reply::Told);
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
        // Whether an object ever was is asked of all there are.
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
        // A list of one name says that it is of now.
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
                        self.told,
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
                        self.told,
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
            writeln!(self.told, "{seconds:.2} over").expect("a string");
        }
    }

    /// A person asks, and what is told says when that is over.
    fn ask(&mut self, object: Option<Arc<Object>>) {
        let watch = WATCH.into();
        self.auditor.ask(Some(&watch), object.as_ref(), self.now);
        self.asked = Some(object);
    }

    fn told(&mut self) -> String {
        std::mem::take(&mut self.told)
    }

    /// Verdicts that were told since it was asked last.
    fn verdicts(&mut self) -> Vec<String> {
        let told = self.told();
        let lines = told.lines().filter(|line| line.contains(" held "));
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

/// The server has come to this version, which is below the one asked for.
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

/// The watch believes in `a`, whose end it was never told, and is past it.
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
    assert_snapshot!(stage.told(), @r"
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
fn what_differs_is_read_again_at_the_same_version_though_the_watch_has_gone_on() {
    let mut stage = with_ghost(30, Level::Light);
    let further = stage.write_elsewhere();
    stage.meanwhile.insert(0, bookmark(further).into());
    stage.after_s(10);
    assert_snapshot!(stage.told(), @r"
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
    assert_snapshot!(stage.told(), @r"
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
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 14 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 14 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    30.00 shop/pods get at 14 1 agrees
    30.01 shop/pods list newest at 14 2 agrees: the list may be the watch cache's, and so show what only the cache believes
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
fn what_another_servers_cache_has_lost_is_no_ghost() {
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
fn a_verdict_is_over_once_the_watch_hears_of_the_object() {
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(5);
    assert_eq!(stage.verdicts().len(), 2);
    let version = stage.write_elsewhere();
    stage.event(ChangeType::Deleted, "a", 1, version);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    5.00 a ghost held 11 listed - cleared definite
    30.01 shop/pods list exact at 15 1 agrees
    60.01 shop/pods list newest at 15 1 agrees
    ");
}

#[test]
fn a_verdict_is_over_once_etcd_has_what_is_held() {
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
fn of_more_differences_than_are_followed_none_is_taken_for_healed_because_one_more_event_came() {
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
    let told = changed(
        WATCH,
        ChangeType::Modified,
        Origin::Live,
        object("a000", 1),
        version.into(),
    );
    stage.meanwhile.insert(stage.reads.len(), told.into());
    stage.told();
    stage.after_s(30);
    assert!(stage.meanwhile.is_empty());
    let told = stage.told();
    assert!(
        told.contains("stale") && !told.contains("cleared"),
        "{told}"
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
    stage.told();
    // The watch is told 20 s late.
    let (gone, version) = (stage.delete("a"), stage.write("c", 1));
    stage.after_s(50);
    assert_eq!(stage.verdicts(), [""; 0]);
    stage.event(ChangeType::Deleted, "a", 1, gone);
    stage.event(ChangeType::Added, "c", 1, version);
    stage.after_s(60);
    let told = stage.told();
    assert!(
        !told.contains(" held ") && told.contains("list exact at 14 2 agrees"),
        "{told}"
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
    assert_eq!(stage.told(), "");
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
    assert_snapshot!(stage.told(), @"0.02 shop/pods list exact at 12 0 cannot-tell: asked for 12, the server listed 99");
}

#[test]
fn trap_a_different_etcd_per_resource() {
    let mut stage = watching(30, Level::Light);
    stage.watch("shop/events");
    // Another resource is far further on: its versions say nothing of this one's.
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
    let told = stage.told();
    let of_pods = told.lines().filter(|line| line.contains("shop/pods"));
    assert_snapshot!(of_pods.collect::<Vec<_>>().join("\n"), @r"
    0.02 shop/pods list exact at 12 2 agrees
    30.01 shop/pods list newest at 12 2 agrees
    60.01 shop/pods list newest at 12 2 agrees
    90.01 shop/pods list newest at 12 2 agrees
    ");
    assert!(!told.contains(" held "), "{told}");
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
    // Whatever differs is looked at once more, and is never more than different; what is equal is told.
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
    assert_snapshot!(stage.told(), @r"
    4.02 shop/pods list newest at x7 0 cannot-tell: its versions are those of another apiserver, and only compared for equality: whether what differs is still to come is not known
    34.02 shop/pods list newest at x7 2 agrees: its versions are those of another apiserver, and only compared for equality
    ");
    // Its twin of numbers, which are compared as those of the cluster are.
    let with_number = |is_aggregated: bool| {
        let mut stage = Stage::new(30, Level::Light);
        stage.is_aggregated = is_aggregated;
        stage.write("a", 1);
        let newest = stage.write("b", 1);
        stage.watch(WATCH);
        // The list's version is the newest of its items', and goes down with that.
        stage.event(ChangeType::Deleted, "b", 1, newest);
        stage.delete("b");
        stage.says = Some(ResourceVersion::from(newest - 1));
        stage.refuses_exact = true;
        stage.after_s(70);
        stage.told()
    };
    assert_snapshot!(with_number(true), @r"
    0.01 shop/pods list newest at 11 1 agrees: its versions are those of another apiserver, and only compared for equality
    30.01 shop/pods list newest at 11 1 agrees: its versions are those of another apiserver, and only compared for equality
    60.01 shop/pods list newest at 11 1 agrees: its versions are those of another apiserver, and only compared for equality
    ");
    assert_snapshot!(with_number(false), @"4.03 shop/pods list newest twice at 11 0 cannot-tell: the newest list is of 11, though the watch has seen 12");
}

/// A watch of what such a server keeps that lists, at an exact version, only what has that very version.
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
    assert_snapshot!(stage.told(), @"4.02 shop/pods list newest at 12 0 cannot-tell: its versions are those of another apiserver, and only compared for equality: whether what differs is still to come is not known");
    assert!(!stage.lines().iter().any(|line| line.contains("Exact")));
    // Nor is an object looked up that a person asks for, beyond whether it is equal.
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("a", 1)), stage.now);
    stage.after_s(1);
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("b", 1)), stage.now);
    stage.after_s(1);
    assert_snapshot!(stage.told(), @r"
    40.01 shop/pods get 0 cannot-tell: its versions are those of another apiserver, and only compared for equality: whether what differs is still to come is not known
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
    // Looked up in etcd it is another one already; the watch is told a little later.
    stage.after_s(5);
    stage.event(ChangeType::Deleted, "a", 1, gone);
    stage.event(ChangeType::Added, "a", 2, born);
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
    // Its twin: the watch is never told, and is past it.
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
    // The deletion is only wanted: a MODIFIED, told in time.
    stage.deleted.insert("a".into(), "2026-01-01T00:00:00Z");
    let version = stage.write("a", 1);
    stage.event(ChangeType::Modified, "a", 1, version);
    stage.after_s(60);
    assert_eq!(stage.verdicts(), [""; 0]);
    // It was listed, and looked up in etcd.
    let lines = stage.lines();
    assert!(lines.iter().any(|line| line.contains("/pods?limit")));
    assert!(lines.iter().any(|line| line.ends_with("/pods/a")));
}

#[test]
fn trap_a_list_from_any_time_is_older_than_the_log() {
    let mut stage = watching(30, Level::Light);
    stage.cache = Some((3, Objects::from([("z".into(), (1, 2.into()))])));
    let version = stage.write("b", 1);
    // Not before it was asked how far the cache is.
    stage.after_s(41);
    let lines = stage.lines();
    assert!(lines.iter().any(|line| line.contains("resourceVersion=0")));
    stage.event(ChangeType::Modified, "b", 1, version);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 12 2 agrees
    38.02 shop/pods list any twice at 3 0 cannot-tell: the server knows nothing beyond 3; the stream was opened at 12, and a list at 13 differs from what is held
    40.02 shop/pods reads ahead at 13 0 cannot-tell: the stream is at 12 and has delivered nothing for 10 s, in which reads showed an object at 13
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
    // As it was before anything was deleted; what was compared is of another time.
    stage.etcd.retain(|revision, _| *revision <= 12);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    34.03 shop/pods list newest twice at 12 0 cannot-tell: the newest list is of 12, though the watch has seen 14
    34.03 a ghost held 11 listed - cleared definite
    ");
}

/// The reads of a quiet watch that resumes 10 s after its first round, over another connection if it `moves`.
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
fn an_etcd_that_was_put_back_with_its_server_restarted_is_told_of_within_six_seconds_of_the_resume()
{
    let mut stage = watching(36, Level::Light);
    stage.after_s(10);
    stage.record(ended());
    stage.etcd.retain(|revision, _| *revision <= 11);
    stage.open_over(WATCH, ConnectionId(7));
    stage.after_s(10);
    let told = stage.told();
    let back = told.lines().filter(|line| line.contains("twice"));
    assert_snapshot!(back.collect::<Vec<_>>().join("\n"), @"15.02 shop/pods list newest twice at 11 0 cannot-tell: the newest list is of 11, though the watch has seen 12");
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
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list newest 0 cannot-tell: the server answered 500
    60.01 shop/pods list exact at 12 2 agrees
    90.01 shop/pods list newest at 12 2 agrees
    ");
}

#[test]
fn trap_our_own_slow_reader() {
    let mut stage = watching(30, Level::Full);
    // Everything is in our socket and unread for minutes.
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
    // A watch that does not come as far as a list was; how long it is waited for, no wall clock says.
    let told_with = |off_ms: Option<i64>| {
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
        (stage.told(), stage.lines())
    };
    let as_it_is = told_with(None);
    assert!(as_it_is.0.contains("in 120 s"), "{}", as_it_is.0);
    for off_ms in [86_400_000, -86_400_000] {
        assert_eq!(told_with(Some(off_ms)), as_it_is, "{off_ms}");
    }
}

#[test]
fn a_watch_that_never_comes_so_far_is_not_told_of() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.told();
    stage.delete("a");
    stage.bookmark(12);
    stage.after_s(200);
    assert_snapshot!(stage.told(), @r"
    188.01 shop/pods list at 13 0 cannot-tell: the watch is at 12 and has not come to 13, at which a list differed, in 120 s
    188.02 shop/pods list exact at 12 2 agrees
    ");
}

#[test]
fn a_watch_that_is_far_behind_a_list_and_goes_on_is_waited_for() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.told();
    // What has been written since comes by a slow link, an event a second.
    let written: Vec<u64> = (0..400).map(|_| stage.write("b", 1)).collect();
    stage.write("a", 1);
    stage.after_s(30);
    for version in written {
        stage.event(ChangeType::Modified, "b", 1, version);
        stage.after_s(1);
    }
    let told = stage.told();
    assert!(!told.contains("has not come"), "{told}");
    // It stands still in the end.
    stage.after_s(200);
    let told = stage.told();
    assert!(told.contains("has not come"), "{told}");
}

#[test]
fn a_list_that_was_ahead_of_an_event_by_a_moment_differs_no_more_and_nothing_is_said() {
    let mut stage = watching(30, Level::Light);
    stage.after_s(31);
    stage.told();
    let written = stage.write("a", 1);
    // Others write to etcd, and nothing moves the watch on so far.
    stage.write_elsewhere();
    stage.after_s(36);
    stage.event(ChangeType::Modified, "a", 1, written);
    stage.after_s(300);
    let told = stage.told();
    assert!(!told.contains("cannot-tell"), "{told}");
    assert!(told.contains("agrees"), "{told}");
}

#[test]
fn a_watch_from_the_future_is_told_by_the_servers_own_cache() {
    let mut stage = watching(30, Level::Light);
    stage.cache = Some((7, Objects::new()));
    stage.delete("a");
    stage.after_s(70);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 12 2 agrees
    38.02 shop/pods list any twice at 7 0 cannot-tell: the server knows nothing beyond 7; the stream was opened at 12, and a list at 13 differs from what is held
    ");
}

/// A watch of `objects` objects under a selector, `o10` and up. From 31 s on its stream delivers a DELETED of each within a
/// second; all are really gone but those in `left`. Returns what is read by path, and what is found to have only left.
fn gone_together(level: Level, objects: u8, left: &[&str]) -> (Stage, usize, Vec<String>) {
    let mut stage = Stage::new(36, level);
    let names: Vec<String> = (10..10 + objects).map(|n| format!("o{n}")).collect();
    for (uid, name) in (10..).zip(&names) {
        stage.write(name, uid);
    }
    stage.watch(WATCH);
    stage.after_s(31);
    stage.told();
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
    // What only left is there for a look by path, and in no list of the watch.
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
    let told = stage.told();
    let found = told
        .lines()
        .filter(|line| line.contains("get of what left"));
    let found = found.map(str::to_owned).collect();
    (stage, gets, found)
}

#[test]
fn what_only_left_a_selector_is_told_from_what_is_gone_by_one_look_at_each() {
    for level in [Level::Light, Level::Full] {
        let (_, gets, found) = gone_together(level, 2, &["o10"]);
        assert_eq!((gets, found.len()), (2, 1), "{found:?}");
    }
    let (_, _, found) = gone_together(Level::Light, 2, &["o10"]);
    assert_snapshot!(found.join("\n"), @"32.02 shop/pods get of what left at 13 1 agrees: it has the uid that it had: it only left the selector");
}

#[test]
fn what_is_gone_is_not_said_to_have_left() {
    let (_, gets, found) = gone_together(Level::Light, 5, &[]);
    assert_eq!((gets, found), (5, Vec::new()));
}

#[test]
fn of_a_burst_the_newest_eight_are_looked_up_and_the_others_stay_unjudged() {
    let (stage, gets, found) = gone_together(Level::Light, 15, &["o24", "o11"]);
    assert_eq!((gets, found.len()), (8, 1), "{found:?}");
    let minute = stage.reads.iter().filter(|(at, _)| at.0 > 30_000_000);
    assert!(minute.count() <= 20);
}

#[test]
fn nothing_that_left_is_looked_up_with_the_audit_off_or_without_the_right_to_get() {
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
fn another_object_of_the_name_of_one_that_is_gone_has_not_left() {
    let mut stage = watching(36, Level::Light);
    stage.after_s(31);
    stage.told();
    let version = stage.delete("a");
    stage.event(ChangeType::Deleted, "a", 1, version);
    stage.write("a", 2);
    stage.unmatched = Some("a");
    stage.after_s(20);
    let told = stage.told();
    assert!(!told.contains("get of what left"), "{told}");
    assert!(
        stage
            .reads
            .iter()
            .any(|(at, read)| at.0 > 31_000_000 && read.path.ends_with("/a"))
    );
}

/// What is said of reads ahead of a stream that delivers nothing from 31 s on, while `a` is written and what is done after
/// that is done.
fn ahead(level: Level, mut then: impl FnMut(&mut Stage)) -> Vec<String> {
    let mut stage = watching(36, level);
    stage.after_s(31);
    stage.told();
    then(&mut stage);
    stage.after_s(75);
    let told = stage.told();
    let lines = told.lines().filter(|line| line.contains("reads ahead"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_stream_that_delivers_nothing_for_ten_seconds_while_reads_show_newer_objects_is_told_of_once() {
    for level in [Level::Light, Level::Full] {
        let written = |stage: &mut Stage| {
            stage.write("a", 1);
        };
        let told = ahead(level, written);
        assert_eq!(told.len(), 1, "{told:?}");
    }
    let told = ahead(Level::Light, |stage| {
        stage.write("a", 1);
        stage.after_s(3);
        stage.write("b", 1);
    });
    assert_snapshot!(told.join("\n"), @"55.03 shop/pods reads ahead at 14 0 cannot-tell: the stream is at 12 and has delivered nothing for 10 s, in which reads showed an object at 14");
}

#[test]
fn what_lists_have_at_a_higher_version_alone_is_no_lag() {
    let elsewhere = |stage: &mut Stage| {
        stage.write_elsewhere();
    };
    assert_eq!(ahead(Level::Light, elsewhere), [""; 0]);
    // What is gone may have gone unheard.
    let gone = |stage: &mut Stage| {
        stage.delete("a");
    };
    assert_eq!(ahead(Level::Light, gone), [""; 0]);
}

#[test]
fn a_stream_that_delivers_something_meanwhile_does_not_lag() {
    // The first read that shows it comes within a few seconds.
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

#[test]
fn with_the_audit_off_no_lag_is_looked_for_though_a_person_asks() {
    let asked = |stage: &mut Stage| {
        stage.write("a", 1);
        stage.ask(None);
    };
    assert_eq!(ahead(Level::Off, asked), [""; 0]);
}

/// A watch of a type that nobody writes, whose server's cache stands at 11, below where the watch was opened.
fn beyond_its_cache(minor: u64, level: Level) -> Stage {
    let mut stage = watching(minor, level);
    let (_, objects) = stage.current();
    stage.cache = Some((11, objects));
    stage.cache_waits = true;
    stage
}

#[test]
fn of_a_quiet_type_each_list_that_is_refused_since_the_cache_is_behind_says_where_that_is() {
    let mut stage = beyond_its_cache(36, Level::Light);
    stage.after_s(45);
    let lists = |told: &str| {
        let lines = told.lines().filter(|line| line.contains(" list "));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(lists(&stage.told()), @r"
    0.01 shop/pods list exact too large at 11 0 cannot-tell: asked for 12, the server has come to 11
    0.02 shop/pods list newest at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    20.02 shop/pods list exact too large at 11 0 cannot-tell: asked for 12, the server has come to 11
    20.03 shop/pods list newest at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    40.03 shop/pods list exact too large at 11 0 cannot-tell: asked for 12, the server has come to 11
    40.04 shop/pods list newest at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    ");
    // Its cache has caught up.
    stage.cache = None;
    stage.after_s(60);
    assert_snapshot!(lists(&stage.told()), @r"
    60.04 shop/pods list exact at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    90.04 shop/pods list newest at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    ");
    // Before 1.34 the list is etcd's.
    let mut stage = beyond_its_cache(33, Level::Light);
    stage.after_s(45);
    assert_snapshot!(lists(&stage.told()), @r"
    0.01 shop/pods list exact at 12 2 agrees
    30.01 shop/pods list newest at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    ");
}

#[test]
fn where_lists_are_refused_since_the_cache_is_behind_what_the_newest_lacks_is_looked_up_in_etcd() {
    let mut stage = beyond_its_cache(36, Level::Light);
    stage.delete("a");
    // A bookmark says more than the cache knows.
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
    let told = stage.told();
    let at = told.lines().filter(|line| line.contains("too large"));
    let at: Vec<&str> = at.filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(at, ["0.01", "15.01", "20.02", "35.02"]);
}

#[test]
fn who_asks_once_with_the_audit_off_is_told_of_a_refused_list_once() {
    let mut stage = beyond_its_cache(36, Level::Off);
    stage.ask(None);
    stage.after_s(100);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact too large at 11 0 cannot-tell: asked for 12, the server has come to 11
    0.02 shop/pods list newest at 12 2 agrees: the list may be the watch cache's, and so show what only the cache believes
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
    // 1.9.2's DELETED carries the version of its object (F23).
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
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list newest at 13 2 agrees
    30.02 shop/pods list newest at 13 2 agrees
    ");
}

/// Of 60 watches whose lists have 11 pages each, one that holds so many objects that are gone; etcd is compacted every
/// five minutes to where it was five minutes before.
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
fn what_differs_in_a_long_list_among_many_watches_is_confirmed_before_its_version_is_compacted() {
    let stage = with_ghosts_among_long_lists(1);
    assert_eq!(confirmed(&stage), ["p00"]);
    // More than there are pages.
    let stage = with_ghosts_among_long_lists(13);
    assert!(confirmed(&stage).len() >= 8, "{:?}", confirmed(&stage));
}

#[test]
fn of_a_long_list_few_differences_are_confirmed_one_by_one_and_many_by_a_second_list() {
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
    // Four pages, and three; one or two again; and for each confirmed one by one, or once, whether it ever was.
    assert_eq!([reads(1), reads(6)], [4 + 1 + 1, 1 + 1 + 1]);
}

#[test]
fn a_server_that_refuses_exact_lists_says_why_it_tells_nothing_of_a_list_of_several_pages() {
    let mut stage = watching(30, Level::Light);
    stage.refuses_exact = true;
    stage.page = 1;
    stage.after_s(100);
    assert_snapshot!(stage.told(), @"0.02 shop/pods list newest at 12 0 cannot-tell: the server refuses lists at an exact resourceVersion, and of the newest list only the first page is compared");
}

#[test]
fn of_a_list_of_several_pages_by_another_apiserver_what_was_read_is_not_said_to_differ() {
    let mut stage = Stage::new(30, Level::Light);
    stage.is_aggregated = true;
    stage.write("a", 1);
    stage.write("b", 1);
    stage.watch(WATCH);
    stage.page = 1;
    stage.after_s(100);
    assert_snapshot!(stage.told(), @"0.01 shop/pods list newest at 12 0 cannot-tell: its versions are those of another apiserver, and a list of several pages need not be of one state");
}

#[test]
fn a_person_who_asks_of_a_watch_whose_state_is_not_known_is_told_why() {
    let mut stage = watching(30, Level::Off);
    stage.event(ChangeType::Modified, "b", 1, 12);
    stage.event(ChangeType::Deleted, "a", 1, 11);
    stage.ask(None);
    stage.after_s(10);
    stage.ask(Some(object("c", 1)));
    stage.write("c", 1);
    stage.after_s(10);
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list newest at 12 0 cannot-tell: what the watch held where it stands is not known, since its stream brought something out of order
    0.02 over
    10.02 shop/pods list one exact at 12 0 cannot-tell: what the watch held where it stands is not known, since its stream brought something out of order
    10.02 over
    ");
}

#[test]
fn a_server_that_refuses_exact_lists_is_compared_where_versions_happen_to_be_equal() {
    let mut stage = with_ghost(30, Level::Light);
    stage.answers = BTreeMap::from([(0, refused(422))]);
    stage.after_s(40);
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list newest at 14 2 differs: the server refuses lists at an exact resourceVersion; the newest is of the one that the watch is at
    0.02 a ghost held 11 listed - raised likely
    30.01 shop/pods list newest at 14 2 differs: the server refuses lists at an exact resourceVersion; the newest is of the one that the watch is at
    ");
}

#[test]
fn a_server_that_refuses_exact_lists_says_nothing_of_a_watch_that_is_a_moment_behind() {
    let mut stage = watching(30, Level::Light);
    stage.refuses_exact = true;
    stage.delete("a");
    stage.write("c", 1);
    stage.after_s(100);
    assert_eq!(stage.verdicts(), [""; 0]);
}

#[test]
fn a_server_of_which_only_a_cache_can_be_asked_is_told_of_as_such() {
    let mut stage = with_ghost(35, Level::Light);
    stage.refuses_exact = true;
    stage.after_s(20);
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list newest at 14 0 cannot-tell: the list may be the watch cache's, and the server refuses to list at an exact resourceVersion
    0.03 shop/pods get 0 cannot-tell: an object differs, and the server refuses to list it at the resourceVersion that the watch is at
    ");
}

#[test]
fn where_objects_may_not_be_got_lists_of_their_names_are_the_next_best() {
    let mut stage = with_ghost(35, Level::Light);
    let held = Objects::from([("a".into(), (1, 11.into())), ("b".into(), (1, 14.into()))]);
    stage.cache = Some((14, held));
    stage.refuses_get = true;
    stage.after_s(40);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 14 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 14 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    30.00 shop/pods list one exact at 14 1 agrees: looking objects up by their paths is not allowed; they were listed by their names
    30.01 shop/pods list newest at 14 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    30.02 shop/pods list one exact at 14 1 differs
    ");
    let gets = stage
        .reads
        .iter()
        .filter(|(_, read)| read.verb == Verb::Get);
    assert_eq!(gets.count(), 1);
}

#[test]
fn a_server_that_lists_one_name_at_a_version_as_of_the_newest_is_believed_all_the_same() {
    let mut stage = with_ghost(21, Level::Off);
    // Others write to etcd, and nothing moves the watch on so far; its version is compacted once.
    stage.write_elsewhere();
    stage.answers = BTreeMap::from([(1, refused(500))]);
    stage.meanwhile.insert(1, bookmark(15).into());
    stage.write_elsewhere();
    stage.ask(Some(object("a", 1)));
    stage.after_s(5);
    assert_snapshot!(stage.told(), @r"
    0.03 shop/pods list one exact at 15 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 15 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    0.04 over
    ");
    // What is of now is not taken for it.
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
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list one exact 0 cannot-tell: there was no answer that could be read
    0.02 over
    ");
}

#[test]
fn a_server_that_lists_no_metadata_alone_is_read_whole_and_that_is_told() {
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
    assert_snapshot!(stage.told(), @"0.01 shop/pods list exact at 12 2 agrees: whole objects were read, for the server does not list metadata alone");
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
    let told = stage.write("b", 1);
    stage.after_s(30);
    stage.event(ChangeType::Modified, "b", 1, told);
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
fn who_may_not_read_asks_ever_more_rarely_and_as_before_once_it_may() {
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
    assert!(stage.told().contains("no connection to ask over"));
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
fn of_more_watches_than_can_be_listed_in_time_each_has_objects_looked_up_all_the_same() {
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

/// The watch of a server, and the same of another one.
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
    let told = reads_of_second(Some("10.0.0.1:6443"));
    assert!(told.len() > 10, "{told:?}");
    assert_eq!(told, reads_of_second(None));
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
        // And one for its version, with which the connection begins.
        assert_eq!(stage.reads.iter().filter(of).count(), 119, "{server}");
    }
}

/// Objects that were looked up, by name.
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
    // Of each watch 33 or 34 objects, of names of their own.
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
fn a_look_for_one_watch_tells_all_others_of_the_same_server() {
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
fn light_confirms_what_is_wrong_in_a_small_watch_within_a_minute() {
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
            // Lists go on showing what the watch holds.
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

/// Names of objects with a standing verdict that is confirmed.
fn confirmed(stage: &Stage) -> Vec<String> {
    let verdicts = stage.state.watches[&WATCH.into()].verdicts.values();
    let confirmed = verdicts.filter(|open| open.verdict.state == Standing::Confirmed);
    confirmed
        .map(|open| open.verdict.object.name.to_string())
        .collect()
}

#[test]
fn where_lists_may_hide_what_is_wrong_all_that_is_missing_is_confirmed_and_no_more_so_once_it_is_gone()
 {
    let mut stage = watching(35, Level::Light);
    let missing: Vec<String> = (0..20).map(|n| format!("m{n:02}")).collect();
    for name in &missing {
        stage.write(name, 1);
    }
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    // Two reads for each, and no more than 20 in a minute.
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
fn what_was_missing_is_so_no_more_once_the_selectors_do_not_match_it() {
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
fn a_person_who_asks_has_exact_lists_tried_that_were_refused_before() {
    let mut stage = watching(30, Level::Off);
    stage.answers = BTreeMap::from([(0, refused(400))]);
    stage.ask(None);
    stage.after_s(10);
    stage.told();
    stage.ask(None);
    stage.after_s(10);
    assert_snapshot!(stage.told(), @r"
    10.01 shop/pods list exact at 12 2 agrees
    10.01 over
    ");
}

#[test]
fn in_a_large_watch_what_is_said_to_be_wrong_leaves_looks_for_the_others() {
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
fn an_event_that_only_a_second_watch_tells_of_was_lost() {
    let mut stage = watching(30, Level::Full);
    stage.after_s(30);
    stage.told();
    let lost = stage.write("a", 1);
    let (lost_too, told) = (stage.write("c", 1), stage.write("b", 1));
    stage.event(ChangeType::Modified, "b", 1, told);
    let gone = stage.delete("c");
    stage.event(ChangeType::Deleted, "c", 1, gone);
    let later = stage.write("b", 1);
    let events = [
        ("a", lost),
        ("c", lost_too),
        ("b", told),
        ("c", gone),
        ("b", later),
    ];
    stage.told_again = Some(Told {
        events: events.map(|(name, at)| seen(name, 1, at.into())).to_vec(),
        reached: Some(later.into()),
    });
    stage.after_s(31);
    let told = stage.told();
    let told = told.lines().filter(|line| line.contains("second"));
    assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"60.01 shop/pods second watch at 16 2 differs: a second watch told of 2 events from 12 to 16 that this one did not");
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
fn a_second_watch_that_tells_the_same_is_told_of_and_one_of_a_quiet_watch_is_not_asked_for() {
    let mut stage = watching(30, Level::Full);
    let told = stage.write("b", 1);
    stage.after_s(30);
    stage.event(ChangeType::Modified, "b", 1, told);
    // It is further on already than the watch.
    let later = stage.write("a", 1);
    stage.told_again = Some(Told {
        events: vec![seen("b", 1, told.into()), seen("a", 1, later.into())],
        reached: Some(later.into()),
    });
    stage.after_s(31);
    stage.event(ChangeType::Modified, "a", 1, later);
    stage.told_again = Some(Told {
        events: vec![seen("a", 1, later.into())],
        reached: Some(later.into()),
    });
    stage.after_s(600);
    let told = stage.told();
    let told = told.lines().filter(|line| line.contains("second"));
    assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r"
    60.01 shop/pods second watch at 13 1 agrees: of what came from 12 to 13
    120.01 shop/pods second watch at 14 1 agrees: of what came from 13 to 14
    ");
}

#[test]
fn what_a_second_watch_is_told_twice_or_from_before_was_not_lost() {
    let mut stage = watching(30, Level::Full);
    let old = stage.write("a", 1);
    stage.event(ChangeType::Modified, "a", 1, old);
    stage.after_s(30);
    let told = stage.write("b", 1);
    stage.event(ChangeType::Modified, "b", 1, told);
    stage.told_again = Some(Told {
        events: [("a", old), ("b", told), ("b", told)]
            .map(|(name, at)| seen(name, 1, at.into()))
            .to_vec(),
        reached: Some(told.into()),
    });
    stage.after_s(31);
    let told = stage.told();
    let told = told.lines().filter(|line| line.contains("second"));
    assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"60.01 shop/pods second watch at 14 1 agrees: of what came from 13 to 14");
}

/// etcd is put back to before `a` was written for the last time and `c` was created, and has come as far again by other
/// writes before anybody looks.
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
fn an_etcd_that_was_put_back_and_has_come_further_since_never_was_as_the_watch_was_told() {
    for minor in [21, 30, 35] {
        let mut stage = put_back_and_further(minor);
        stage.after_s(20);
        let told = stage.told();
        let never = "shop/pods list one as told twice at 14 1 differs";
        assert!(told.contains(never), "1.{minor}: {told}");
    }
}

#[test]
fn of_a_time_that_is_compacted_nothing_is_said_and_of_what_was_lost_only_that_it_was() {
    let mut stage = put_back_and_further(30);
    stage.compacted = stage.current().0;
    stage.after_s(20);
    let told = stage.told();
    assert!(
        told.contains("c ghost held 14 listed - confirmed"),
        "{told}"
    );
    assert!(!told.contains("as told"), "{told}");
    // Whose event was lost was there.
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(20);
    let is_asked = stage
        .lines()
        .iter()
        .any(|line| line.contains("resourceVersion=11"));
    let told = stage.told();
    assert!(is_asked && !told.contains("as told"), "{told}");
}

/// A watch by two servers. That of the first and its cache hold `z` or not, the other way round than the second's and
/// etcd.
fn of_two_minds(first_has_z: bool) -> Stage {
    let mut stage = Stage::new(35, Level::Light);
    // More than are looked up one by one in this time.
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
fn what_one_servers_cache_lacks_is_found_by_the_list_of_another() {
    let mut stage = of_two_minds(false);
    stage.after_s(2);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 71 60 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.01 shop/pods#2 list of another server at 71 61 cannot-tell: what differs is looked up in etcd, to tell which server is wrong; made by 10.0.0.1:6443
    0.02 shop/pods#2 list one exact at 71 1 agrees
    0.03 shop/pods list one exact at 71 1 differs
    0.03 z missing held - listed 71 raised likely
    0.04 shop/pods#2 list exact at 71 61 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.04 shop/pods list of another server at 71 61 differs: in what is known to be wrong; made by 10.0.0.2:6443
    0.05 shop/pods list one exact at 71 1 differs
    0.05 z missing held - listed 71 confirmed definite
    ");
}

#[test]
fn of_two_servers_lists_that_differ_etcd_says_which_is_wrong() {
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

/// In the middle of an upgrade: a watch by a server of 1.33, which the cluster said it is, and the same by one of 1.34.
/// Both believe in `a`, whose end they were never told, and so does the cache of the second server.
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
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 14 2 differs
    0.01 a ghost held 11 listed - raised likely
    0.02 shop/pods#2 list exact at 14 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.02 shop/pods list of another server at 14 2 agrees: made by 10.0.0.2:6443
    0.03 shop/pods list exact again at 14 2 differs
    0.03 a ghost held 11 listed - confirmed definite
    0.03 shop/pods#2 list of another server at 14 2 differs: in what is known to be wrong; made by 10.0.0.1:6443
    0.06 shop/pods#2 list one exact at 14 1 differs
    0.06 a ghost held 11 listed - raised likely
    0.07 shop/pods#2 list one exact at 14 1 differs
    0.07 a ghost held 11 listed - confirmed definite
    ");
    assert_eq!(stage.state.watches[&"shop/pods#2".into()].verdicts.len(), 1);
}

#[test]
fn what_only_the_list_of_the_older_server_shows_is_found_in_a_watch_by_the_newer() {
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
    stage.told.clear();
    stage.upgrade(NEW, 34);
    // What its cache has lost is no ghost.
    stage.cache_of.insert(NEW.into(), (version, held));
    stage.after_s(60);
    let verdicts = stage.verdicts();
    assert_eq!(verdicts, [""; 0]);
}

#[test]
fn where_any_server_may_answer_the_newest_that_was_seen_decides_what_a_list_may_hide() {
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
        let told = stage.told();
        assert_eq!(told.contains("list exact again"), is_trusted, "{told}");
        // Looked up one by one it is found all the same.
        assert!(
            told.contains("a ghost held 11 listed - confirmed"),
            "{told}"
        );
    }
}

#[test]
fn a_server_that_does_not_say_its_version_to_the_audit_is_taken_for_the_newest() {
    let mut stage = with_ghost(33, Level::Light);
    stage.minor_of.insert("any".into(), None);
    stage.after_s(1);
    let told = stage.told();
    assert!(
        !told.contains("list exact again") && told.contains("list one exact"),
        "{told}"
    );
}

#[test]
fn in_a_large_watch_what_should_be_gone_is_looked_up_first() {
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
fn a_watch_of_very_many_objects_is_not_listed_but_looked_into() {
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
    // Its first objects of those: the rest is not read, and nothing is concluded of it.
    assert!(!stage.told.contains("cannot-tell"));
    assert_eq!(stage.verdicts(), [""; 0]);
    // Who asks for all of it is told so.
    stage.ask(None);
    stage.after_s(5);
    assert_snapshot!(stage.told(), @"600.01 shop/pods list newest at 10 0 cannot-tell: more than 5,000 objects are not listed as a whole; they are looked up one by one");
}

#[test]
fn off_asks_nothing_but_what_a_person_asks() {
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
    assert_snapshot!(stage.told(), @"660.01 shop/pods get at 14 1 agrees");
}

#[test]
fn what_a_person_asked_is_over_once_all_that_comes_of_it_is_told() {
    let mut stage = with_ghost(35, Level::Off);
    let held = Objects::from([("a".into(), (1, 11.into())), ("b".into(), (1, 14.into()))]);
    stage.cache = Some((14, held));
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 14 2 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - raised likely
    0.04 shop/pods list one exact at 14 1 differs
    0.04 a ghost held 11 listed - confirmed definite
    0.06 shop/pods get each at 14 2 differs
    0.06 over
    ");
    // Of one object it is not over with the first sign of a difference, and does not wait for other reads.
    let mut stage = with_ghost(35, Level::Light);
    stage.ask(Some(object("a", 1)));
    stage.after_s(1);
    assert_snapshot!(stage.told(), @r"
    0.02 shop/pods list one exact at 14 1 differs
    0.02 a ghost held 11 listed - raised likely
    0.03 shop/pods list one exact at 14 1 differs
    0.03 a ghost held 11 listed - confirmed definite
    0.03 over
    0.05 shop/pods list exact at 14 2 differs: the list may be the watch cache's; it differs from what is held where that is known to be wrong
    ");
    // A watch that is behind a list has its time to come so far.
    let mut stage = watching(30, Level::Off);
    stage.refuses_exact = true;
    stage.write("c", 1);
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @"");
    stage.bookmark(13);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    60.01 shop/pods list newest at 13 3 differs: the server refuses lists at an exact resourceVersion; the newest is of the one that the watch is at
    60.01 c missing held - listed 13 raised likely
    60.01 over
    ");
}

/// Somebody waits until each of so many objects was looked up, of a server whose lists may be its cache's.
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
fn each_object_is_looked_up_for_who_waits_for_it() {
    let mut stage = waited_for(40);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 50 40 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.41 shop/pods get each at 50 40 agrees
    0.41 over
    ");
    assert_eq!(stage.reads.len(), 41);
    // Of an empty one there is nothing to look up.
    let mut stage = waited_for(0);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 10 0 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.01 shop/pods get each at 10 0 agrees
    0.01 over
    ");
    // Where lists are etcd's they show all.
    let mut stage = Stage::with(30, Auditor::new(Level::Off).looking_at(MOST_LISTED));
    stage.write("a", 1);
    stage.watch(WATCH);
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 11 1 agrees
    0.01 over
    ");
}

#[test]
fn a_ghost_among_many_is_found_by_who_waits_for_each_to_be_looked_up() {
    let mut stage = waited_for(40);
    let (_, held) = stage.current();
    stage.delete("p030");
    let version = stage.write_elsewhere();
    stage.bookmark(version);
    stage.cache = Some((version, held));
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 52 40 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.33 shop/pods list one exact at 52 1 differs
    0.33 p030 ghost held 41 listed - raised likely
    0.34 shop/pods list one exact at 52 1 differs
    0.34 p030 ghost held 41 listed - confirmed definite
    0.44 shop/pods get each at 52 40 differs
    0.44 over
    ");
}

#[test]
fn the_servers_budget_holds_however_many_are_to_be_looked_up_and_a_watch_that_stops_says_how_far_it_came()
 {
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
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 310 300 agrees: the list may be the watch cache's, and so show what only the cache believes
    118.00 shop/pods get each at 310 238 cannot-tell: the watch was stopped when 238 of 300 objects had been looked up in etcd and found to be so
    118.00 over
    ");
    let mut stage = waited_for(300);
    stage.after_s(180);
    assert!(stage.told().contains("get each at 310 300 agrees"));
}

#[test]
fn what_changes_while_each_is_looked_up_is_the_streams_to_tell_and_there_is_an_end_to_it() {
    let mut stage = waited_for(20);
    let gone = stage.delete("p005");
    let written = stage.write("p006", 1);
    let added = stage.write("p020", 1);
    let late = stage.write("p007", 1);
    let told = |change, name: &str, version: u64| -> Event {
        changed(WATCH, change, Origin::Live, object(name, 1), version.into()).into()
    };
    stage.meanwhile = BTreeMap::from([
        (1, told(ChangeType::Deleted, "p005", gone)),
        (2, told(ChangeType::Modified, "p006", written)),
        (3, told(ChangeType::Added, "p020", added)),
        // It is read where the watch stands, which is told of it meanwhile.
        (8, told(ChangeType::Modified, "p007", late)),
    ]);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.21 shop/pods get each at 30 18 agrees: 2 changed meanwhile: the stream tells of them
    0.21 over
    ");
    // Each is written again whenever anything is read.
    let mut stage = waited_for(20);
    for n in 0..200 {
        let name = format!("p{:03}", n * 7 % 20);
        let version = stage.write(&name, 1);
        let event = told(ChangeType::Modified, &name, version);
        stage.meanwhile.insert(n, event);
    }
    stage.after_s(60);
    let told = stage.told();
    assert!(
        told.contains("get each at 30 ") && told.contains("over"),
        "{told}"
    );
    assert!(stage.reads.len() <= 60, "{told}");
}

#[test]
fn a_stream_that_is_replaced_while_each_is_looked_up_makes_no_difference_and_one_that_is_not_ends_it()
 {
    let mut stage = waited_for(20);
    stage.meanwhile.insert(5, ended());
    stage.after_s(2);
    stage.open(WATCH);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    4.21 shop/pods get each at 30 20 agrees
    4.21 over
    ");
    let mut stage = waited_for(20);
    stage.meanwhile.insert(5, ended());
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    4.06 shop/pods get each at 30 5 cannot-tell: the watch ceased to stream when 5 of 20 objects had been looked up in etcd and found to be so
    4.06 over
    ");
    // What it holds after another list need not be etcd's.
    let mut stage = waited_for(20);
    stage.meanwhile.insert(5, ended());
    stage.after_s(1);
    stage.list(WATCH);
    stage.open(WATCH);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    4.06 shop/pods get each at 30 5 cannot-tell: the watch was listed anew when 5 of 20 objects had been looked up in etcd and found to be so
    4.06 over
    ");
}

#[test]
fn looks_that_come_to_nothing_are_told_of_and_soon_given_up() {
    let mut stage = waited_for(20);
    stage.answers.insert(3, refused(500));
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.04 shop/pods get 0 cannot-tell: the server answered 500
    0.21 shop/pods get each at 30 19 cannot-tell: 1 of 20 objects could not be looked up in etcd
    0.21 over
    ");
    let mut stage = waited_for(40);
    stage.answers = (1..40).map(|n| (n, refused(500))).collect();
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 50 40 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.02 shop/pods get 0 cannot-tell: the server answered 500
    0.09 shop/pods get each at 50 0 cannot-tell: 40 of 40 objects could not be looked up in etcd
    0.09 over
    ");
    assert!(stage.reads.len() < 10);
    // By their names they may be listed.
    let mut stage = waited_for(20);
    stage.refuses_get = true;
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.22 shop/pods get each at 30 20 agrees: looking objects up by their paths is not allowed; they were listed by their names
    0.22 over
    ");
    // Nothing may be read any more.
    let mut stage = waited_for(20);
    stage.refuses_get = true;
    stage.answers.insert(2, refused(403));
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 30 20 agrees: the list may be the watch cache's, and so show what only the cache believes
    0.03 shop/pods list one exact 0 cannot-tell: the server answered 403
    0.03 shop/pods get each at 30 0 cannot-tell: 20 of 20 objects could not be looked up in etcd
    0.03 over
    ");
}

#[test]
fn who_looks_at_the_page_is_told_soon_of_a_few() {
    let mut stage = Stage::new(35, Level::Off);
    for n in 0..40 {
        stage.write(&format!("p{n:03}"), 1);
    }
    stage.watch(WATCH);
    stage.ask(None);
    stage.after_s(60);
    assert_snapshot!(stage.told(), @r"
    0.01 shop/pods list exact at 50 40 agrees: the list may be the watch cache's, and so show what only the cache believes
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
fn a_person_who_asks_of_a_watch_that_does_not_stream_is_told_so_each_time() {
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
        let told = stage.told();
        assert!(
            told.contains("cannot-tell: the watch is not streaming"),
            "{told}"
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
fn a_person_who_asks_of_a_ghost_that_is_known_is_told_that_it_is_still_one() {
    let mut stage = with_ghost(30, Level::Light);
    stage.after_s(20);
    stage.told();
    stage
        .auditor
        .ask(Some(&WATCH.into()), Some(&object("a", 1)), stage.now);
    stage.after_s(1);
    assert_snapshot!(stage.told(), @"20.01 shop/pods get at 14 1 differs");
}
