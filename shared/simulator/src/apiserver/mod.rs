//! The apiserver: takes requests in, keeps a watch cache per resource, and fills replies that the network carries away.
//!
//! ```text
//!  request ─► route ─► read / write ─► Reply (head, body, end) ─► network
//!  etcd ─► WatchCache ─► each Watcher of the resource ─► Reply ─► network
//! ```
//!
//! Its clocks are [`Alarm`]s that the world hands back when they are due.

mod cache;
mod defaults;
mod discovery;
mod go;
pub(crate) mod managed_fields;
mod names;
mod negotiate;
mod options;
mod patch;
mod read;
pub(crate) mod registry;
mod reply;
mod route;
mod scale;
pub(crate) mod schema;
mod selector;
pub(crate) mod status;
mod strategic;
mod table;
mod watch;
mod watcher;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::config::Config;
use crate::etcd::{Change, Etcd};
use crate::fault::Throttle;
use crate::kinds::{Kinds, ResourceId};
use crate::message::{Request, RequestId};
use crate::object::encode;
use crate::random::Random;
use crate::time::{Time, Wall, micros};
use cache::WatchCache;
use negotiate::{Representation, aggregated_discovery, representation};
use options::Query;
use read::Waiting;
pub(crate) use reply::{Part, Reply};
use route::{Route, Target};
pub(crate) use selector::Selector;
use status::ApiError;

/// What the parts of the world the apiserver talks to look like from it.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) wall: Wall,
    pub(crate) config: &'a Config,
    pub(crate) etcd: &'a mut Etcd,
    pub(crate) kinds: &'a mut Kinds,
    pub(crate) random: &'a mut Random,
    pub(crate) alarms: &'a mut Vec<(Time, Alarm)>,
}

/// Something the apiserver wants to be woken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A write's commit is through: its answer may go.
    Committed(RequestId),
    /// A read has waited long enough for the cache to be fresh.
    WaitedEnough(RequestId),
    /// Time to ask etcd for its progress on behalf of waiting reads.
    AskProgress(ResourceId),
    /// etcd's answer to that.
    Progress(ResourceId, u64),
    /// A watch may be due for a bookmark.
    Bookmark(RequestId),
    /// A watch has lived as long as it was asked to.
    Deadline(RequestId),
    /// A watch with a full buffer has used up its grace.
    Unblock(RequestId),
    /// Compact the revision noted one interval ago.
    Compact(u64),
}

/// A throttle that is switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActiveThrottle {
    pub(crate) resource: Option<String>,
    pub(crate) throttle: Throttle,
    pub(crate) retry_after_secs: u32,
}

/// The apiserver.
#[derive(Debug, Default)]
pub(crate) struct Apiserver {
    caches: BTreeMap<ResourceId, WatchCache>,
    replies: BTreeMap<RequestId, Reply>,
    /// The open watches of each resource.
    watching: BTreeMap<ResourceId, BTreeSet<RequestId>>,
    /// Reads that wait for their cache to be fresh.
    waiting: BTreeMap<RequestId, Waiting>,
    /// Resources whose progress was asked of etcd.
    progress_asked: BTreeSet<ResourceId>,
    /// Replies with something new for the network.
    dirty: BTreeSet<RequestId>,
    pub(crate) throttles: Vec<ActiveThrottle>,
    /// What is left of the time dispatching may block on full watchers (1.9 rule 5), and since when.
    block_budget: (Duration, Time),
}

/// A whole answer.
struct Answer {
    status: u16,
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
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: vec![body],
        }
    }

    fn refusal(error: &ApiError) -> Answer {
        let mut answer = Answer::json(error.code, &error.status());
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
    pub(crate) fn new() -> Apiserver {
        Apiserver {
            block_budget: (BLOCK_BUDGET_MOST, Time::ZERO),
            ..Apiserver::default()
        }
    }

    /// Makes the watch cache of a resource that is newly served.
    pub(crate) fn serve(&mut self, resource: ResourceId, ctx: &Context<'_>) {
        let kind = ctx.kinds.get(resource);
        let cache = WatchCache::new(
            resource,
            kind.cached,
            &kind.prefix,
            ctx.etcd,
            &ctx.config.apiserver,
        );
        self.caches.insert(resource, cache);
    }

    /// Takes a request; its reply is under `id` from then on, until it is sent.
    pub(crate) fn handle(&mut self, id: RequestId, request: &Request, ctx: &mut Context<'_>) {
        self.replies.insert(id, Reply::default());
        let outcome = self.dispatch(id, request, false, ctx);
        match outcome.unwrap_or_else(|error| Outcome::Now(Answer::refusal(&error))) {
            Outcome::Now(answer) => self.answer(id, answer, ctx),
            Outcome::Committed(answer) => {
                self.answer(id, answer, ctx);
                let (least, most) = ctx.config.etcd.commit_latency;
                let at = ctx.now + ctx.random.span(least, most);
                if let Some(reply) = self.replies.get_mut(&id) {
                    reply.hold();
                }
                ctx.alarms.push((at, Alarm::Committed(id)));
            }
            Outcome::Open => {}
        }
    }

    /// Answers a request at once, reading from etcd: for those inside the world. Watches are refused.
    pub(crate) fn call(
        &mut self,
        id: RequestId,
        request: &Request,
        ctx: &mut Context<'_>,
    ) -> (u16, Vec<(String, String)>, Bytes) {
        let outcome = self.dispatch(id, request, true, ctx);
        let answer = match outcome {
            Ok(Outcome::Now(answer) | Outcome::Committed(answer)) => answer,
            Ok(Outcome::Open) => {
                let error = status::bad_request("a watch needs a connection");
                Answer::refusal(&error)
            }
            Err(error) => Answer::refusal(&error),
        };
        (
            answer.status,
            answer.headers,
            Bytes::from(answer.body.concat()),
        )
    }

    pub(crate) fn reply(&mut self, id: RequestId) -> Option<&mut Reply> {
        self.replies.get_mut(&id)
    }

    /// Forgets a reply that was sent or whose client is gone.
    pub(crate) fn drop_reply(&mut self, id: RequestId) {
        self.replies.remove(&id);
        self.waiting.remove(&id);
        for watches in self.watching.values_mut() {
            watches.remove(&id);
        }
    }

    /// The replies with something new for the network.
    pub(crate) fn take_dirty(&mut self) -> BTreeSet<RequestId> {
        std::mem::take(&mut self.dirty)
    }

    /// The open watches of a resource.
    pub(crate) fn watches_of(&self, resource: ResourceId) -> impl Iterator<Item = RequestId> {
        self.watching.get(&resource).into_iter().flatten().copied()
    }

    /// All open watches.
    pub(crate) fn watches(&self) -> impl Iterator<Item = RequestId> {
        self.watching.values().flatten().copied()
    }

    pub(crate) fn alarm(&mut self, alarm: Alarm, ctx: &mut Context<'_>) {
        match alarm {
            Alarm::Committed(id) => {
                if let Some(reply) = self.replies.get_mut(&id) {
                    reply.release();
                    self.dirty.insert(id);
                }
            }
            Alarm::WaitedEnough(id) => self.waited_enough(id, ctx),
            Alarm::AskProgress(resource) => self.ask_progress(resource, ctx),
            Alarm::Progress(resource, revision) => {
                if let Some(cache) = self.caches.get_mut(&resource) {
                    cache.progress(revision);
                }
                self.progress_asked.remove(&resource);
                self.wake_waiting(resource, ctx);
            }
            Alarm::Bookmark(id) => self.bookmark(id, ctx),
            Alarm::Deadline(id) => self.end_watch(id),
            Alarm::Unblock(id) => self.unblock(id, ctx.now),
            Alarm::Compact(revision) => {
                ctx.etcd.compact(revision);
                let next = Alarm::Compact(ctx.etcd.revision());
                ctx.alarms
                    .push((ctx.now + ctx.config.etcd.compaction_interval, next));
            }
        }
    }

    /// An event from etcd reaches the watch cache of its resource, and its watches.
    pub(crate) fn receive(&mut self, change: &Arc<Change>, ctx: &mut Context<'_>) {
        let Some(cache) = self.caches.get_mut(&change.resource) else {
            return;
        };
        cache.receive(change, &ctx.config.apiserver);
        self.wake_waiting(change.resource, ctx);
        self.send_to_watches(change, ctx);
    }

    /// Empties the histories of caches and keeps them empty; etcd's for those without a cache (fault `Expire`).
    pub(crate) fn expire(&mut self, resource: Option<&str>, ctx: &mut Context<'_>) {
        let revision = ctx.etcd.revision();
        let mut etcd_too = false;
        for (id, cache) in &mut self.caches {
            if resource.is_none_or(|wanted| ctx.kinds.get(*id).qualified() == wanted) {
                cache.expire(revision);
                etcd_too |= !cache.cached;
            }
        }
        if etcd_too {
            ctx.etcd.compact(revision);
        }
    }

    /// Lets the caches keep history again.
    pub(crate) fn keep_history(&mut self, resource: Option<&str>, kinds: &Kinds) {
        for (id, cache) in &mut self.caches {
            if resource.is_none_or(|wanted| kinds.get(*id).qualified() == wanted) {
                cache.keep_history();
            }
        }
    }

    fn dispatch(
        &mut self,
        id: RequestId,
        request: &Request,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let mut query = Query::parse(&request.query);
        let mut route = Route::parse(&request.path, ctx.kinds);
        if let Route::Watch(target) = route {
            route = Route::Resource(query.as_watch_of(target));
        }
        if !direct && let Some(answer) = self.throttled(&route, &query, ctx) {
            return Ok(Outcome::Now(answer));
        }
        match route {
            Route::Resource(target) => self.resource(id, request, &query, target, direct, ctx),
            Route::UnknownResource => Err(status::unknown_resource()),
            // A group is known even where one of its versions is not.
            Route::GroupVersion(group, version)
                if discovery::resources(ctx.kinds, &group, &version).is_none()
                    && ctx.kinds.has_built_in(&group) =>
            {
                Err(status::unknown_resource())
            }
            other => {
                let reads = matches!(request.method.as_str(), "GET" | "HEAD");
                match other {
                    Route::GroupVersion(..) | Route::Version if !reads => {
                        Err(status::method_not_allowed())
                    }
                    // Its handler does not look at the method.
                    Route::Group(_) => Ok(Outcome::Now(about_itself(&other, request, ctx))),
                    _ if reads => Ok(Outcome::Now(about_itself(&other, request, ctx))),
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
        let in_scope = !target.namespace.is_empty() || !ctx.kinds.get(target.resource).namespaced;
        match request.method.as_str() {
            "POST" if target.subresource == "binding" => write::bind(request, query, &target, ctx),
            _ if target.subresource == "binding" => Err(status::method_not_allowed()),
            "GET" if collection && query.flag("watch").unwrap_or(false) => {
                if direct {
                    return Ok(Outcome::Open);
                }
                self.open_watch(id, query, &target, form, ctx)
            }
            "GET" if collection => self.list(id, query, target, form, direct, ctx),
            "GET" => self.get(id, query, target, form, ctx),
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

    /// The 429 of a throttle that is on and meant for this request.
    fn throttled(&self, route: &Route, query: &Query, ctx: &Context<'_>) -> Option<Answer> {
        let (kind, collection) = match route {
            Route::Resource(target) => {
                (Some(ctx.kinds.get(target.resource)), target.name.is_empty())
            }
            _ => (None, false),
        };
        let watch = query.flag("watch").unwrap_or(false);
        let active = self.throttles.iter().find(|active| {
            let meant = match (&active.resource, kind) {
                (None, _) => true,
                (Some(wanted), Some(kind)) => &kind.qualified() == wanted,
                (Some(_), None) => false,
            };
            meant
                && match active.throttle {
                    Throttle::MaxInFlight => !watch,
                    Throttle::PriorityAndFairness | Throttle::Shutdown => true,
                    Throttle::CacheNotReady => collection && kind.is_some_and(|k| k.cached),
                }
        })?;
        let text = |body: &'static str, secs: u32| {
            let mut answer = Answer::bytes(
                429,
                "text/plain; charset=utf-8",
                Bytes::from_static(body.as_bytes()),
            );
            answer
                .headers
                .push(("retry-after".to_owned(), secs.to_string()));
            answer
        };
        Some(match active.throttle {
            Throttle::MaxInFlight => text("Too many requests, please try again later.\n", 1),
            Throttle::PriorityAndFairness => text(
                "Too many requests, please try again later.\n",
                active.retry_after_secs,
            ),
            Throttle::CacheNotReady => {
                Answer::refusal(&status::initializing(active.retry_after_secs))
            }
            Throttle::Shutdown => {
                let mut answer = text(
                    "The apiserver is shutting down, please try again later.\n",
                    5,
                );
                answer
                    .headers
                    .push(("connection".to_owned(), "close".to_owned()));
                answer
            }
        })
    }

    /// Puts a whole answer into a reply.
    fn answer(&mut self, id: RequestId, answer: Answer, ctx: &mut Context<'_>) {
        let length: usize = answer.body.iter().map(Bytes::len).sum();
        let mut headers = common_headers(ctx);
        headers.extend(answer.headers);
        headers.push(("content-length".to_owned(), length.to_string()));
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.set_head(answer.status, headers);
            reply.extend(answer.body.into_iter().filter(|chunk| !chunk.is_empty()));
            reply.end();
            self.dirty.insert(id);
        }
    }

    /// Lets the cache know what etcd's periodic progress notifications said by now.
    ///
    /// They tick too often to be events of their own, so the last one is looked up when it matters.
    fn observe_progress(&mut self, resource: ResourceId, ctx: &Context<'_>) {
        let interval = micros(ctx.config.etcd.progress_notify_interval);
        if interval == 0 {
            return;
        }
        let arrived = ctx.now - ctx.config.etcd.watch_latency.1;
        let last_tick = Time::from_micros(arrived.as_micros() / interval * interval);
        if last_tick == Time::ZERO {
            return;
        }
        let revision = ctx.etcd.revision_at(last_tick);
        if let Some(cache) = self.caches.get_mut(&resource) {
            cache.progress(revision);
        }
    }
}

/// The most the time for blocked watchers can add up to (1.9 rule 5).
const BLOCK_BUDGET_MOST: Duration = Duration::from_millis(100);

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

/// Answers about the apiserver itself: discovery, versions, health.
fn about_itself(route: &Route, request: &Request, ctx: &Context<'_>) -> Answer {
    let found = match route {
        Route::Version => Some(discovery::version(&ctx.config.git_version)),
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
            discovery::openapi(ctx.kinds, group, version, &ctx.config.git_version)
        }
        Route::Resource(_) | Route::Watch(_) | Route::UnknownResource | Route::Unknown => None,
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
    let mut answer = Answer::bytes(
        status,
        "text/plain; charset=utf-8",
        Bytes::from_static(text),
    );
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
            let kind = ctx.kinds.get(target.resource);
            let row = std::slice::from_ref(object);
            encode(&table::watch_event(
                row, kind, include, true, ctx.wall, ctx.now,
            ))
        }
    }
}
