//! An apiserver: takes requests in, keeps a watch cache per resource, and fills replies that the network carries away.
//!
//! ```text
//!  request ─► life, access, throttle ─► route ─► read / write ─► Reply (head, body, end) ─► network
//!  etcd ─► upstream ─► cacher: cache, dispatcher ─► each watch's backlog ─► Reply ─► network
//! ```
//!
//! Its clocks are [`Alarm`]s that the world hands back when they are due.

mod access;
pub(crate) mod answers;
mod backlog;
mod cache;
mod cacher;
mod discovery;
mod dispatch;
mod negotiate;
mod options;
mod patience;
mod read;
mod reply;
mod route;
mod stopping;
mod throttle;
mod upstream;
mod watch;
mod watcher;
mod write;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use watchscope_model::tree::{BTreeMap, BTreeSet};

use crate::config::Config;
use crate::etcd::Etcd;
use crate::fault::Fault;
use crate::json::encode;
use crate::kinds::{Kinds, ResourceId};
use crate::kubectl::table::Rows;
use crate::message::{Request, RequestId, ServerId};
use crate::random::Random;
use crate::status::{self, ApiError};
use crate::time::{Time, Wall, micros};
use crate::version::{UnsetWatch, Version};
pub(crate) use access::Denial;
use cacher::Cacher;
pub(crate) use cacher::Step;
use negotiate::{Representation, aggregated_discovery, representation};
use options::Query;
use read::Waiting;
pub(crate) use reply::{Part, Reply};
use route::{Route, Target};
use upstream::Upstream;
use watch::PendingWatch;
pub(crate) use watch::Sending;

/// What the parts of the world an apiserver talks to look like from it.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) wall: Wall,
    /// Which server it is, and its version.
    pub(crate) server: ServerId,
    pub(crate) version: Version,
    pub(crate) config: &'a Config,
    pub(crate) faults: &'a BTreeSet<Fault>,
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a mut Kinds,
    pub(crate) random: &'a mut Random,
    pub(crate) alarms: &'a mut Vec<(Time, Alarm)>,
}

impl Context<'_> {
    /// Whether a fault that `is` describes is on.
    fn is_on(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(is)
    }

    /// Whether such a fault is on for this server and a resource.
    fn is_on_for(&self, resource: ResourceId, is: impl Fn(&Fault) -> bool) -> bool {
        if self.faults.is_empty() {
            return false;
        }
        let name = self.kinds.get(resource).qualified();
        let meant = |fault: &Fault| fault.concerns(self.server, &name);
        self.is_on(|fault| is(fault) && meant(fault))
    }
}

/// Something an apiserver wants to be woken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A write's commit is through: its answer may go.
    Committed(RequestId),
    /// A read has waited long enough for its cache.
    WaitedEnough(RequestId),
    /// Time to ask etcd for its progress on behalf of waiting reads.
    AskProgress(ResourceId),
    /// A watch may be due for a bookmark.
    Bookmark(RequestId),
    /// A watch has lived as long as it was asked to.
    Deadline(RequestId),
    /// A reply that paused may go on.
    GoOn(RequestId),
    /// The dispatcher has waited long enough for full watches; which of its waits it is.
    DispatchTimeout(ResourceId, u32),
    /// A watch the dispatcher waited for has room.
    ResumeDispatch(ResourceId),
    /// A cacher's next step, of which of its attempts.
    Cacher(ResourceId, u32, Step),
    /// A request that needs etcd's leader has waited long enough for it.
    NoLeader(RequestId),
    /// A read has waited as long as its client does.
    OutOfTime(RequestId),
}

/// Where an apiserver is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Serving,
    /// It was told to stop, and only its readiness says so.
    Unready,
    /// It takes no new requests.
    Refusing {
        /// With 429 (`--shutdown-send-retry-after`), not with 503.
        sends_retry_after: bool,
        /// Watches too.
        watches: bool,
    },
    /// Its process is no more.
    Gone,
}

/// An apiserver.
#[derive(Debug)]
pub(crate) struct Apiserver {
    pub(crate) id: ServerId,
    pub(crate) life: Life,
    version: Version,
    started_at: Time,
    /// The most attempts of a cacher that is no more: those of its successor are counted on, so that none of its alarms
    /// is taken for one of theirs.
    attempts: u32,
    /// Of resources that have a watch cache.
    cachers: BTreeMap<ResourceId, Cacher>,
    upstream: Upstream,
    replies: BTreeMap<RequestId, Reply>,
    /// Open watches that no cacher knows: direct ones, and stranded ones.
    direct: BTreeMap<ResourceId, BTreeSet<RequestId>>,
    /// Reads that wait for their cache.
    waiting: BTreeMap<RequestId, Waiting>,
    /// Requests that wait for etcd to have a leader.
    parked: BTreeMap<RequestId, Request>,
    /// Direct watches that are open and wait for etcd to have a leader that tells their state.
    leaderless: BTreeMap<RequestId, PendingWatch>,
    /// Resources whose progress is to be asked of etcd.
    progress_asked: BTreeSet<ResourceId>,
    /// Replies with something new for the network.
    dirty: Vec<RequestId>,
    /// The last compactions it was told of, and when.
    compactions: Vec<(Time, u64)>,
    /// Watches ended since they stayed full (`apiserver_terminated_watchers_total`).
    terminated: u64,
    unmodelled: Unmodelled,
}

/// Requests that were answered 501.
///
/// Bounded: it names 64 until they are taken, and counts all.
#[derive(Debug, Default)]
struct Unmodelled {
    named: Vec<String>,
    count: u64,
}

impl Unmodelled {
    fn note(&mut self, request: &Request, why: &str) {
        self.count += 1;
        if self.named.len() < UNMODELLED_NAMED_MOST {
            let Request { method, path, .. } = request;
            self.named.push(format!("{method} {path}: {why}"));
        }
    }
}

/// A whole answer.
struct Answer {
    status: u16,
    /// Given before the filter that forbids to keep answers.
    is_early: bool,
    headers: Vec<(String, String)>,
    body: Vec<Bytes>,
}

impl Answer {
    fn json(status: u16, value: &Value) -> Answer {
        Answer::bytes(status, "application/json", encode(value))
    }

    fn chunks(status: u16, body: Vec<Bytes>) -> Answer {
        Answer {
            status,
            is_early: false,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body,
        }
    }

    fn bytes(status: u16, content_type: &str, body: Bytes) -> Answer {
        let is_json = content_type.starts_with("application/json");
        // The encoder ends every document with a line end.
        let body = if is_json {
            Bytes::from([&body[..], b"\n"].concat())
        } else {
            body
        };
        Answer {
            status,
            is_early: false,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: vec![body],
        }
    }

    fn refusal(error: &ApiError, version: Version) -> Answer {
        let mut answer = Answer::json(error.code, &error.status_of(version));
        if let Some(secs) = error.retry_after_secs {
            answer
                .headers
                .push(("retry-after".to_owned(), secs.to_string()));
        }
        answer
    }
}

/// What handling a request came to.
enum Outcome {
    /// An answer to send now.
    Now(Answer),
    /// An answer to send when its commit is through.
    Committed(Answer),
    /// The reply is open: a watch runs, or a read waits.
    Open,
}

impl Apiserver {
    pub(crate) fn new(id: ServerId, version: Version, now: Time) -> Apiserver {
        Apiserver {
            id,
            life: Life::Serving,
            version,
            started_at: now,
            attempts: 0,
            cachers: BTreeMap::new(),
            upstream: Upstream::default(),
            replies: BTreeMap::new(),
            direct: BTreeMap::new(),
            waiting: BTreeMap::new(),
            parked: BTreeMap::new(),
            leaderless: BTreeMap::new(),
            progress_asked: BTreeSet::new(),
            dirty: Vec::new(),
            compactions: Vec::new(),
            terminated: 0,
            unmodelled: Unmodelled::default(),
        }
    }

    /// The requests answered 501 since this was asked last, by method and path, each with why.
    pub(crate) fn take_unmodelled(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unmodelled.named)
    }

    /// How many requests were answered 501.
    pub(crate) fn unmodelled(&self) -> u64 {
        self.unmodelled.count
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Begins to serve a resource. A cluster that begins has its caches ready `at_once`.
    pub(crate) fn serve(&mut self, resource: ResourceId, at_once: bool, ctx: &mut Context<'_>) {
        if !ctx.kinds.get(resource).cached {
            return;
        }
        if at_once {
            self.make_ready_cacher(resource, ctx);
        } else {
            self.make_cacher(resource, ctx);
        }
    }

    /// Takes a request; its reply is under `id` from then on, until it is sent.
    pub(crate) fn handle(&mut self, id: RequestId, request: Request, ctx: &mut Context<'_>) {
        self.replies.insert(id, Reply::default());
        if !ctx.etcd.has_leader(ctx.server) && needs_leader(&request, ctx) {
            // etcd keeps it waiting, and so does the apiserver.
            if let Some(patience) = leader_patience(&request) {
                ctx.alarms.push((ctx.now + patience, Alarm::NoLeader(id)));
            }
            self.parked.insert(id, request);
            return;
        }
        let outcome = self.answer_to(id, &request, false, ctx);
        match outcome {
            Ok(Outcome::Committed(answer)) => {
                self.answer(id, answer, ctx);
                let (least, most) = ctx.config.etcd.commit_latency;
                let at = ctx.now + ctx.random.span(least, most);
                if let Some(reply) = self.replies.get_mut(&id) {
                    reply.hold();
                }
                ctx.alarms.push((at, Alarm::Committed(id)));
            }
            outcome => self.finish(id, outcome, ctx),
        }
    }

    /// Answers a request at once, reading from etcd: for those inside the world. Watches are refused.
    pub(crate) fn call(
        &mut self,
        id: RequestId,
        request: &Request,
        ctx: &mut Context<'_>,
    ) -> (u16, Vec<(String, String)>, Bytes) {
        let outcome = if ctx.etcd.is_leaderless() {
            Err(status::etcd_timed_out())
        } else {
            self.answer_to(id, request, true, ctx)
        };
        let answer = match outcome {
            Ok(Outcome::Now(answer) | Outcome::Committed(answer)) => answer,
            Ok(Outcome::Open) => {
                let error = status::bad_request("a watch needs a connection");
                Answer::refusal(&error, ctx.version)
            }
            Err(error) => Answer::refusal(&error, ctx.version),
        };
        (
            answer.status,
            answer.headers,
            Bytes::from(answer.body.concat()),
        )
    }

    /// Whether a reply is a watch's.
    pub(crate) fn is_watch(&self, id: RequestId) -> bool {
        self.replies.get(&id).is_some_and(Reply::is_watch)
    }

    /// Forgets a reply that was sent or whose client is gone.
    pub(crate) fn drop_reply(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        self.waiting.remove(&id);
        self.parked.remove(&id);
        self.leaderless.remove(&id);
        let Some(mut reply) = self.replies.remove(&id) else {
            return;
        };
        if let Some(watch) = reply.end_watch() {
            self.unregister(id, watch.watcher.resource(), watch.source, ctx);
        }
    }

    /// The replies with something new for the network.
    pub(crate) fn take_dirty(&mut self) -> Vec<RequestId> {
        let dirty = std::mem::take(&mut self.dirty);
        for id in &dirty {
            if let Some(reply) = self.replies.get_mut(id) {
                reply.is_dirty = false;
            }
        }
        dirty
    }

    /// The open watches of a resource.
    pub(crate) fn watches_of(&self, resource: ResourceId) -> impl Iterator<Item = RequestId> {
        let cached = self.cachers.get(&resource);
        let cached = cached.map_or(&[][..], |c| c.dispatcher.watchers());
        let direct = self.direct.get(&resource).into_iter().flatten();
        cached.iter().chain(direct).copied()
    }

    /// All open watches.
    pub(crate) fn watches(&self) -> impl Iterator<Item = RequestId> {
        let cached = self.cachers.values().flat_map(|c| c.dispatcher.watchers());
        cached.chain(self.direct.values().flatten()).copied()
    }

    pub(crate) fn alarm(&mut self, alarm: Alarm, ctx: &mut Context<'_>) {
        match alarm {
            Alarm::Committed(id) => {
                if let Some(reply) = self.replies.get_mut(&id) {
                    reply.release();
                    self.soil(id);
                }
            }
            Alarm::WaitedEnough(id) => self.waited_enough(id, ctx),
            Alarm::AskProgress(resource) => self.ask_progress(resource, ctx),
            Alarm::Bookmark(id) => self.bookmark(id, ctx),
            Alarm::Deadline(id) => self.end_watch(id, ctx),
            Alarm::GoOn(id) => self.soil(id),
            Alarm::DispatchTimeout(resource, block) => self.dispatch_timeout(resource, block, ctx),
            Alarm::ResumeDispatch(resource) => self.resume_dispatch(resource, ctx),
            Alarm::Cacher(resource, attempt, step) => {
                self.cacher_step(resource, attempt, step, ctx);
            }
            Alarm::NoLeader(id) => match self.parked.remove(&id) {
                Some(request) if request.method == "GET" => {
                    self.finish(id, Ok(Outcome::Now(allotted_time_is_over())), ctx);
                }
                Some(_) => self.finish(id, Err(status::timed_out()), ctx),
                None => self.give_up_leader(id, ctx),
            },
            Alarm::OutOfTime(id) => {
                if self.waiting.remove(&id).is_some() {
                    self.finish(id, Ok(Outcome::Now(allotted_time_is_over())), ctx);
                }
            }
        }
    }

    /// etcd has a leader again: what waited for it goes on.
    pub(crate) fn unpark(&mut self, ctx: &mut Context<'_>) {
        for (id, request) in std::mem::take(&mut self.parked) {
            self.handle(id, request, ctx);
        }
        if ctx.etcd.has_leader(ctx.server) {
            self.begin_leaderless_watches(ctx);
        }
    }

    /// etcd was compacted; the server learns of it by polling (docs/semantics/servers.md#snapshots).
    pub(crate) fn compacted(&mut self, revision: u64, now: Time) {
        let known = self.known_compaction(now);
        self.compactions.retain(|(_, at)| *at >= known);
        self.compactions.push((now, revision));
    }

    /// The compacted revision it knows of.
    fn known_compaction(&self, now: Time) -> u64 {
        let poll = |at: Time| micros(at.since(self.started_at)) / micros(COMPACTION_POLL);
        let known = self
            .compactions
            .iter()
            .filter(|(at, _)| poll(*at) < poll(now));
        known.map(|(_, revision)| *revision).max().unwrap_or(0)
    }

    /// Empties the histories of caches and keeps them empty; etcd's for those without a cache (fault `Expire`).
    pub(crate) fn expire(&mut self, resource: Option<&str>, ctx: &mut Context<'_>) {
        let revision = ctx.etcd.revision();
        let struck =
            |id: ResourceId| resource.is_none_or(|wanted| ctx.kinds.get(id).qualified() == wanted);
        for (id, cacher) in &mut self.cachers {
            if struck(*id) {
                cacher.cache.expire(revision);
            }
        }
        let uncached = ctx
            .kinds
            .served()
            .any(|(id, kind)| !kind.cached && struck(id));
        if uncached {
            ctx.etcd.compact(revision);
        }
    }

    /// Lets the caches keep history again.
    pub(crate) fn keep_history(&mut self, resource: Option<&str>, kinds: &Kinds) {
        for (id, cacher) in &mut self.cachers {
            if resource.is_none_or(|wanted| kinds.get(*id).qualified() == wanted) {
                cacher.cache.keep_history();
            }
        }
    }

    /// Lets the reflectors of caches fail (F16).
    pub(crate) fn reinitialise(&mut self, resource: Option<&str>, ctx: &mut Context<'_>) {
        let struck: Vec<ResourceId> = self
            .cachers
            .keys()
            .copied()
            .filter(|id| resource.is_none_or(|wanted| ctx.kinds.get(*id).qualified() == wanted))
            .collect();
        for resource in struck {
            self.fail_cacher(resource, ctx);
        }
    }

    /// Answers, and notes what it does not model.
    fn answer_to(
        &mut self,
        id: RequestId,
        request: &Request,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let outcome = self.modelled_answer_to(id, request, direct, ctx);
        if let Err(error) = &outcome
            && error.code == status::NOT_MODELLED
        {
            self.unmodelled.note(request, &error.message);
        }
        outcome
    }

    fn modelled_answer_to(
        &mut self,
        id: RequestId,
        request: &Request,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let (route, query) = routed(request, ctx.kinds);
        if !direct {
            if let Some(answer) = self.refusal_of_stopping(request, &query) {
                return Ok(Outcome::Now(answer));
            }
            if let Some(answer) = throttle::throttled(&route, &query, ctx) {
                return Ok(Outcome::Now(answer));
            }
            // Long-running requests have another clock.
            if !query.flag("watch").unwrap_or(false) {
                match patience::patience(&query)? {
                    Some(patience) if patience < LEAST_TIME => {
                        return Ok(Outcome::Now(allotted_time_is_over()));
                    }
                    Some(patience) => {
                        ctx.alarms.push((ctx.now + patience, Alarm::OutOfTime(id)));
                    }
                    None => {}
                }
            }
        }
        match route {
            Route::Resource(target) => self.resource(id, request, &query, target, direct, ctx),
            Route::NotModelled(what) => Err(status::not_modelled(&what)),
            Route::UnknownResource => Err(status::unknown_resource()),
            Route::Health if query.get("verbose").is_some() => {
                Err(status::not_modelled("checks of its health one by one"))
            }
            // A group is known even where one of its versions is not.
            Route::GroupVersion(group, version)
                if discovery::resources(ctx.kinds, &group, &version).is_none()
                    && route::is_group(&group) =>
            {
                Err(status::unknown_resource())
            }
            other => {
                let reads = matches!(request.method.as_str(), "GET" | "HEAD");
                if matches!(
                    other,
                    Route::Core | Route::Groups | Route::Group(_) | Route::GroupVersion(..)
                ) {
                    negotiate::json_answer(request)?;
                }
                match other {
                    Route::GroupVersion(..) | Route::Version if !reads => {
                        Err(status::method_not_allowed())
                    }
                    // Its handler does not look at the method.
                    Route::Group(_) => Ok(Outcome::Now(about(&other, request, ctx))),
                    _ if reads => Ok(Outcome::Now(about(&other, request, ctx))),
                    _ => Ok(Outcome::Now(nothing_here())),
                }
            }
        }
    }

    fn resource(
        &mut self,
        id: RequestId,
        request: &Request,
        query: &Query,
        target: Target,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let collection = target.name.is_empty();
        let watch = query.flag("watch").unwrap_or(false);
        let kind = ctx.kinds.get(target.resource);
        let form = representation(request, query, kind, collection, watch)?;
        if watch && collection && request.header_value("upgrade").is_some() {
            return Err(status::not_modelled("watches over WebSocket"));
        }
        let in_scope = !target.namespace.is_empty() || !ctx.kinds.get(target.resource).namespaced;
        match request.method.as_str() {
            "POST" if target.subresource == "binding" => write::bind(request, query, &target, ctx),
            _ if target.subresource == "binding" => Err(status::method_not_allowed()),
            "GET" if collection && watch => {
                if direct {
                    return Ok(Outcome::Open);
                }
                self.open_watch(id, query, &target, form, ctx)
            }
            "GET" if collection => self.list(id, query, target, form, direct, ctx),
            "GET" => self.get(id, query, target, form, direct, ctx),
            "POST" if collection && in_scope => write::create(request, query, &target, form, ctx),
            "PUT" if !collection => write::replace(request, query, &target, form, ctx),
            "PATCH" if !collection => write::patch(request, query, &target, form, ctx),
            "DELETE" if !collection && target.subresource.is_empty() => {
                write::delete(request, query, &target, form, ctx)
            }
            "DELETE" if collection && ctx.kinds.get(target.resource).kind != "Namespace" => {
                write::delete_collection(request, query, &target, ctx)
            }
            _ => Err(status::method_not_allowed()),
        }
    }

    /// Puts a whole answer into a reply.
    fn answer(&mut self, id: RequestId, answer: Answer, ctx: &mut Context<'_>) {
        let length: usize = answer.body.iter().map(Bytes::len).sum();
        let mut headers = common_headers(ctx);
        if answer.is_early {
            headers.retain(|(name, _)| name != "cache-control");
        }
        headers.extend(answer.headers);
        headers.push(("content-length".to_owned(), length.to_string()));
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.set_head(answer.status, headers);
            reply.extend(answer.body.into_iter().filter(|chunk| !chunk.is_empty()));
            reply.end();
            self.soil(id);
        }
    }

    fn refuse(&mut self, id: RequestId, error: &ApiError, ctx: &mut Context<'_>) {
        let answer = Answer::refusal(error, ctx.version);
        self.answer(id, answer, ctx);
    }
}

/// How long a write may take (`requestTimeoutUpperBound`).
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);
/// How long a read may take (`--request-timeout`; docs/semantics/servers.md#request-timeout).
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// In less no request is answered.
const LEAST_TIME: Duration = Duration::from_micros(100);

/// Requests that are not modelled and named until they are taken.
const UNMODELLED_NAMED_MOST: usize = 64;

/// How often a server looks up how far etcd is compacted.
const COMPACTION_POLL: Duration = Duration::from_secs(15);

/// Where a request goes, and with which parameters.
fn routed(request: &Request, kinds: &Kinds) -> (Route, Query) {
    let mut query = Query::parse(&request.query);
    let route = match Route::parse(&request.path, kinds) {
        Route::Watch(target) => Route::Resource(query.as_watch_of(target)),
        route => route,
    };
    (route, query)
}

/// How long a request waits for etcd to have a leader; a watch that has to know etcd's revision waits on.
///
/// What waits and what goes on is as seen at 1.36.3 over three members of etcd of which two were killed.
fn leader_patience(request: &Request) -> Option<Duration> {
    let query = Query::parse(&request.query);
    let most = match request.method.as_str() {
        "GET" if query.flag("watch").unwrap_or(false) => return None,
        "GET" => READ_TIMEOUT,
        _ => WRITE_TIMEOUT,
    };
    let clients = patience::patience(&query).ok().flatten();
    Some(clients.map_or(most, |patience| most.min(patience)))
}

/// Whether a request waits for etcd's leader: writes, and reads that etcd itself has to answer. Watches of etcd do not:
/// they are open at once, and told in band.
fn needs_leader(request: &Request, ctx: &Context<'_>) -> bool {
    let (Route::Resource(target), query) = routed(request, ctx.kinds) else {
        return false;
    };
    if request.method != "GET" {
        return true;
    }
    let text = |name: &str| query.get(name).unwrap_or("");
    let revision = text("resourceVersion");
    let cached = ctx.kinds.get(target.resource).cached;
    let from_etcd = !ctx.version.has_snapshots();
    if query.flag("watch").unwrap_or(false) {
        if cached {
            return revision.is_empty() && ctx.version.unset_watch() == UnsetWatch::WatchList;
        }
        return !ctx.version.requires_leader() && matches!(revision, "" | "0");
    }
    if !cached {
        return true;
    }
    if !text("continue").is_empty() {
        return from_etcd;
    }
    if revision.is_empty() {
        return true;
    }
    let is_exact = match text("resourceVersionMatch") {
        "" => revision != "0" && !matches!(text("limit"), "" | "0"),
        matching => matching == "Exact",
    };
    target.name.is_empty() && is_exact && from_etcd
}

/// The answer of the filter that ends a request whose time is over, whatever it waits for.
fn allotted_time_is_over() -> Answer {
    let text = concat!(
        r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","#,
        r#""reason":"Timeout","details":{},"code":504}"#,
        "\n"
    );
    let body = Bytes::from_static(text.as_bytes());
    Answer::bytes(504, "text/plain; charset=utf-8", body)
}

fn common_headers(ctx: &mut Context<'_>) -> Vec<(String, String)> {
    vec![
        ("audit-id".to_owned(), ctx.random.uuid()),
        ("cache-control".to_owned(), "no-cache, private".to_owned()),
    ]
}

/// The header that every answer about a kind that is on its way out warns with.
fn deprecation(kind: &crate::kinds::ResourceType) -> Option<(String, String)> {
    let text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    (kind.kind == "Endpoints").then(|| warning(text))
}

/// A warning header.
fn warning(text: &str) -> (String, String) {
    ("warning".to_owned(), format!("299 - {text:?}"))
}

/// Answers about the apiserver itself where it is configured to.
fn about(route: &Route, request: &Request, ctx: &Context<'_>) -> Answer {
    let answers = ctx.config.answers;
    let told = answers.about_itself(route, request, ctx);
    told.unwrap_or_else(nothing_here)
}

/// Answers about the apiserver itself: discovery, versions, health.
fn about_itself(route: &Route, request: &Request, ctx: &Context<'_>) -> Answer {
    let found = match route {
        Route::Version => Some(discovery::version(&ctx.version.to_string())),
        Route::Health => {
            return plain_text(200, b"ok");
        }
        Route::Core | Route::Groups => {
            let core = *route == Route::Core;
            if let Some(version) = aggregated_discovery(request) {
                let list = discovery::aggregated(ctx.kinds, core, version);
                let content_type = format!(
                    "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                );
                return Answer::bytes(200, &content_type, encode(&list));
            }
            Some(if core {
                discovery::core_versions()
            } else {
                discovery::groups(ctx.kinds)
            })
        }
        Route::Group(group) => discovery::group(ctx.kinds, group),
        Route::GroupVersion(group, version) => discovery::resources(ctx.kinds, group, version),
        Route::OpenApi => Some(discovery::openapi_index(ctx.kinds)),
        Route::OpenApiOf(group, version) => {
            discovery::openapi(ctx.kinds, group, version, &ctx.version.to_string())
        }
        Route::Resource(_)
        | Route::Watch(_)
        | Route::NotModelled(_)
        | Route::UnknownResource
        | Route::Unknown => None,
    };
    match found {
        Some(value) => Answer::json(200, &value),
        None => nothing_here(),
    }
}

/// What the apiserver's mux says to a path it does not know.
fn nothing_here() -> Answer {
    plain_text(404, b"404 page not found\n")
}

/// Text that is not to be taken for anything else.
fn plain_text(status: u16, text: &'static [u8]) -> Answer {
    unsniffed(Answer::bytes(
        status,
        "text/plain; charset=utf-8",
        Bytes::from_static(text),
    ))
}

/// An answer whose type a browser is not to guess at.
fn unsniffed(mut answer: Answer) -> Answer {
    answer
        .headers
        .push(("x-content-type-options".to_owned(), "nosniff".to_owned()));
    answer
}

/// Bytes of one object in a representation.
fn object_body(
    object: &Arc<crate::object::Object>,
    form: Representation,
    target: &Target,
    ctx: &Context<'_>,
) -> Bytes {
    match form {
        Representation::Whole => object.json(),
        Representation::Metadata => object.metadata_json(),
        Representation::Table(include) => {
            let rows = Rows {
                objects: std::slice::from_ref(object),
                kind: ctx.kinds.get(target.resource),
                include,
                with_columns: true,
                wall: ctx.wall,
                now: ctx.now,
            };
            let table = ctx.config.answers.watch_event(rows);
            table.map_or_else(|| object.json(), |table| encode(&table))
        }
    }
}
