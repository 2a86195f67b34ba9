//! Gets and lists: the revision of a read, the store or cache that serves it, and the pages of a list
//! (docs/semantics/lists-and-watches.md#list).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::alarm::Alarm;
use super::answer::{Answer, Outcome, deprecation};
use super::body::{list_chunks, list_opening, object_body, readable, whole_list};
use super::context::Context;
use super::continue_token::{decode_continue, encode_continue};
use super::negotiate::Representation;
use super::options::{ListOptions, Query, parse_revision};
use super::pending::{ListRead, PendingRead, Until, Waiting};
use super::route::Target;
use super::server::Apiserver;
use crate::fault::{Fault, Throttle};
use crate::json::encode;
use crate::kinds::ResourceId;
use crate::kubectl::scale;
use crate::kubectl::table::Rows;
use crate::message::RequestId;
use crate::object::Object;
use crate::selector::Selector;
use crate::status::{
    self, ApiError, bad_request, continue_compacted, list_compacted, not_found, server_error,
    too_large, too_large_for_etcd,
};

/// Time from when a read begins to wait for its watch cache until the server requests progress from etcd, unless a
/// request is already due. It is also the time between two requests while reads wait
/// (docs/semantics/lists-and-watches.md#consistent-list). Servers that read consistent lists from etcd request no
/// progress.
const PROGRESS_PERIOD: Duration = Duration::from_millis(100);

/// The longest time that a request waits for its watch cache to be ready, on servers before 1.31. After this time the
/// server refuses the request with 504. This is the timeout of a request that is not a watch
/// (docs/semantics/servers.md#request-timeout).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What served a page of a list. Continue tokens of a watch cache or its snapshots begin with a slash; continue tokens
/// of etcd do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServedBy {
    Cache,
    Etcd,
}

/// The revision that a list requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Exactly(u64),
    AtLeast(u64),
    /// The latest revision, at the time of the request.
    Latest,
}

/// The objects of a page, and the metadata of its list.
struct Page {
    objects: Vec<Arc<Object>>,
    revision: u64,
    continue_token: Option<String>,
    remaining: Option<u64>,
}

impl Apiserver {
    /// Answers with one object: from etcd, or from the watch cache once the cache is as fresh as requested. Without
    /// such an object the refusal is 404.
    pub(super) fn get(
        &mut self,
        id: RequestId,
        query: &Query,
        target: Target,
        form: Representation,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let revision =
            parse_revision(query.get("resourceVersion").unwrap_or("")).map_err(server_error)?;
        let resource = target.resource;
        let cacher = self.cachers.get(&resource).filter(|_| !direct);
        let (Some(wanted), Some(cacher)) = (revision, cacher) else {
            return match revision {
                Some(wanted) if wanted > ctx.etcd.revision() => {
                    Err(too_large_for_etcd(wanted, ctx.etcd.revision()))
                }
                _ => self.get_from_etcd(&target, form, direct, ctx),
            };
        };
        if !cacher.is_ready() {
            if ctx.version.refuses_while_initializing() || wanted == 0 {
                return self.get_from_etcd(&target, form, direct, ctx);
            }
            let read = PendingRead::Get(target, form);
            self.wait(id, resource, Until::Ready, read, ctx);
            return Ok(Outcome::Open);
        }
        if cacher.cache.revision() < wanted {
            let until = Until::Revision(wanted);
            self.wait(id, resource, until, PendingRead::Get(target, form), ctx);
            return Ok(Outcome::Open);
        }
        self.get_from_cache(&target, form, ctx)
    }

    fn get_from_etcd(
        &self,
        target: &Target,
        form: Representation,
        direct: bool,
        ctx: &Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let kind = ctx.kinds.get(target.resource);
        let key = kind.key(&target.namespace, &target.name);
        let object = if direct {
            ctx.etcd.get(&key)
        } else {
            ctx.etcd.get_of_member(ctx.server, &key)
        };
        one_object(object, target, form, ctx)
    }

    fn get_from_cache(
        &self,
        target: &Target,
        form: Representation,
        ctx: &Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let kind = ctx.kinds.get(target.resource);
        let key = kind.key(&target.namespace, &target.name);
        let cacher = self.cachers.get(&target.resource);
        let object = cacher.and_then(|c| c.cache.get(&key));
        one_object(object, target, form, ctx)
    }

    pub(super) fn list(
        &mut self,
        id: RequestId,
        query: &Query,
        target: Target,
        form: Representation,
        direct: bool,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let options = ListOptions::parse(query, ctx.version)?;
        let kind = ctx.kinds.get(target.resource);
        let selector = Selector::parse(&options.label_selector, &options.field_selector, kind)?;
        let prefix = kind.scope_prefix(&target.namespace);
        let resource = target.resource;
        let mut read = ListRead {
            target,
            form,
            selector,
            prefix,
            start: String::new(),
            limit: options.limit,
            fresh_at: 0,
            is_exact: false,
            says_newest: false,
            is_consistent: false,
        };
        let revision = options.revision()?;
        let cached = self.cachers.contains_key(&resource) && !direct;
        let continued = !options.continue_token.is_empty();
        let revision_is_zero = revision == Some(0);
        // One name is one key, which is read alone and needs no pages.
        let one_scope = !read.target.namespace.is_empty() || !kind.namespaced;
        let is_one = one_scope && read.selector.one_name().is_some();
        if is_one {
            read.limit = 0;
            read.says_newest = ctx.version.lists_one_name_as_newest();
        }
        let wanted = if continued {
            if revision.is_some_and(|r| r != 0) {
                return Err(bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let (start, revision) = decode_continue(&options.continue_token, &read.prefix)?;
            read.start = start;
            if revision_is_zero && cached {
                read.limit = 0;
            }
            revision.map_or(Wanted::Latest, Wanted::Exactly)
        } else {
            match (revision, options.resource_version_match.as_str()) {
                (None, _) => Wanted::Latest,
                (Some(r), "Exact") => Wanted::Exactly(r),
                (Some(0), _) => {
                    // A cache returns everything that it has; etcd keeps to the limit.
                    read.limit = if cached { 0 } else { read.limit };
                    Wanted::AtLeast(0)
                }
                (Some(r), "") if options.limit > 0 => Wanted::Exactly(r),
                (Some(r), _) => Wanted::AtLeast(r),
            }
        };
        let current = ctx.etcd.revision();
        if !cached {
            let at = match wanted {
                Wanted::Exactly(r) => r,
                Wanted::AtLeast(r) if r > current => return Err(too_large_for_etcd(r, current)),
                Wanted::Latest | Wanted::AtLeast(_) => current,
            };
            return self.list_from_etcd(&read, at, continued, direct, ctx);
        }
        match wanted {
            // Snapshots serve only whole scopes, so one name is read from etcd.
            Wanted::Exactly(r) if is_one => {
                return self.list_from_etcd(&read, r, continued, direct, ctx);
            }
            // The read waits for a cache that keeps snapshots (cacher/delegator.go, shouldDelegateExactRV).
            Wanted::Exactly(r) if self.is_ahead_of_snapshots(resource, r, ctx) => {
                read.fresh_at = r;
                read.is_exact = true;
            }
            // A snapshot of the cache serves it, if there is one.
            Wanted::Exactly(r) => {
                if let Some(answer) = self.list_from_snapshot(&read, r, ctx) {
                    return Ok(Outcome::Now(answer?));
                }
                return self.list_from_etcd(&read, r, continued, direct, ctx);
            }
            Wanted::Latest => {
                let from_cache = ctx.version.lists_consistently_from_cache()
                    && ctx.etcd.is_trusted()
                    && (!continued || ctx.version.has_snapshots());
                if !from_cache {
                    return self.list_from_etcd(&read, current, continued, direct, ctx);
                }
                read.fresh_at = current;
                read.is_consistent = true;
            }
            Wanted::AtLeast(r) => read.fresh_at = r,
        }
        self.list_from_cache(id, read, ctx)
    }

    /// Lists the watch cache now if the cache is ready and fresh enough, else once it is both. If the cache is not
    /// ready, before 1.31 etcd serves a list that any revision satisfies, and any other list waits. Since 1.31 etcd
    /// then serves a list with a limit and without selectors, and any other list is refused with 429.
    fn list_from_cache(
        &mut self,
        id: RequestId,
        read: ListRead,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let resource = read.target.resource;
        if let Some(refusal) = self.not_ready(resource, ctx) {
            let current = ctx.etcd.revision();
            if ctx.version.refuses_while_initializing() {
                return if read.limit > 0 && read.selector.is_empty() {
                    // The only list that reads no whole scope from etcd (KEP-4568).
                    self.list_from_etcd(&read, current, false, false, ctx)
                } else {
                    Err(refusal)
                };
            }
            if read.fresh_at == 0 {
                return self.list_from_etcd(&read, current, false, false, ctx);
            }
            self.wait(id, resource, Until::Ready, PendingRead::List(read), ctx);
            return Ok(Outcome::Open);
        }
        let Some(cacher) = self.cachers.get(&resource) else {
            let kind = ctx.kinds.get(resource);
            return Err(not_found(&kind.group, &kind.plural, ""));
        };
        if cacher.cache.revision() < read.fresh_at {
            let until = Until::Revision(read.fresh_at);
            self.wait(id, resource, until, PendingRead::List(read), ctx);
            return Ok(Outcome::Open);
        }
        if read.is_exact {
            let answer = self.list_from_snapshot(&read, read.fresh_at, ctx);
            return match answer {
                Some(answer) => Ok(Outcome::Now(answer?)),
                None => self.list_from_etcd(&read, read.fresh_at, false, false, ctx),
            };
        }
        let found = cacher.cache.list(&read.prefix, &read.start);
        let page = read.page(found, cacher.cache.revision(), ServedBy::Cache);
        readable(page.objects.iter(), resource, ctx)?;
        Ok(Outcome::Now(read.answer(&page, ctx)))
    }

    /// Returns whether a list at exactly this revision waits for the watch cache. The list waits if the cache keeps
    /// snapshots, is ready, can request progress from etcd, and has not reached the revision.
    fn is_ahead_of_snapshots(
        &self,
        resource: ResourceId,
        revision: u64,
        ctx: &Context<'_>,
    ) -> bool {
        let asks_progress = ctx.version.lists_consistently_from_cache() && ctx.etcd.is_trusted();
        let cacher = self.cachers.get(&resource).filter(|c| c.is_ready());
        ctx.version.has_snapshots()
            && asks_progress
            && cacher.is_some_and(|c| c.cache.revision() < revision)
    }

    /// Lists the watch cache as it was at a revision; `None` if the cache has no snapshot for that revision
    /// (docs/semantics/servers.md#snapshots).
    fn list_from_snapshot(
        &self,
        read: &ListRead,
        revision: u64,
        ctx: &Context<'_>,
    ) -> Option<Result<Answer, ApiError>> {
        let cacher = self.cachers.get(&read.target.resource)?;
        if !ctx.version.has_snapshots() || !cacher.is_ready() {
            return None;
        }
        let floor = self.known_compaction(ctx.now);
        let found = cacher
            .cache
            .list_at(&read.prefix, &read.start, revision, floor)?;
        let page = read.page(found.iter().map(|(k, o)| (k, o)), revision, ServedBy::Cache);
        let readable = readable(page.objects.iter(), read.target.resource, ctx);
        Some(readable.map(|()| read.answer(&page, ctx)))
    }

    /// Keeps a read until its watch cache is ready or fresh, or until the read's timeout.
    pub(super) fn wait(
        &mut self,
        id: RequestId,
        resource: ResourceId,
        until: Until,
        read: PendingRead,
        ctx: &mut Context<'_>,
    ) {
        let span = match until {
            Until::Ready => REQUEST_TIMEOUT,
            Until::Revision(_) => ctx.settings.fresh_wait,
        };
        self.waiting.insert(
            id,
            Waiting {
                resource,
                until,
                read,
            },
        );
        ctx.alarms.push((ctx.now + span, Alarm::WaitedEnough(id)));
        self.want_progress(resource, ctx);
    }

    /// Requests progress from etcd every 100 ms while reads wait for it
    /// (docs/semantics/lists-and-watches.md#consistent-list). Servers of versions that read consistent lists from etcd
    /// do not request progress.
    fn want_progress(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let asks = ctx.version.lists_consistently_from_cache() && ctx.etcd.is_trusted();
        if asks && self.progress_asked.insert(resource) {
            ctx.alarms
                .push((ctx.now + PROGRESS_PERIOD, Alarm::AskProgress(resource)));
        }
    }

    pub(super) fn ask_progress(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        self.progress_asked.remove(&resource);
        if !self.waiting.values().any(|w| w.resource == resource) {
            return;
        }
        if let Some(stream) = self.cacher_stream(resource) {
            ctx.etcd.request_progress(stream, ctx.now);
        }
        self.want_progress(resource, ctx);
    }

    /// Serves the waiting reads whose revision the watch cache has reached.
    pub(super) fn wake_waiting(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let cacher = self.cachers.get(&resource).filter(|c| c.is_ready());
        let Some(at) = cacher.map(|c| c.cache.revision()) else {
            return;
        };
        let there = |w: &Waiting| match w.until {
            Until::Ready => true,
            Until::Revision(revision) => revision <= at,
        };
        let ids: Vec<RequestId> = self
            .waiting
            .iter()
            .filter(|(_, w)| w.resource == resource && there(w))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(waiting) = self.waiting.remove(&id) {
                let outcome = self.go_on(id, waiting.read, ctx);
                self.finish(id, outcome, ctx);
            }
        }
    }

    fn go_on(
        &mut self,
        id: RequestId,
        read: PendingRead,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        match read {
            PendingRead::List(read) => self.list_from_cache(id, read, ctx),
            PendingRead::Watch(watch) => {
                let resource = watch.resource();
                self.begin_when_fresh(id, resource, watch, ctx)
            }
            PendingRead::Get(target, form) => self.get_from_cache(&target, form, ctx),
        }
    }

    /// Answers a read whose watch cache was not ready or fresh in time. A consistent list falls back to etcd, or gets
    /// 429 under [`Throttle::StaleCache`]. Any other get or list gets 504. A watch gets 504 if the cache was not ready,
    /// else an ERROR 504 (docs/semantics/requests.md#too-large).
    pub(super) fn waited_enough(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        let Some(waiting) = self.waiting.remove(&id) else {
            return;
        };
        let cacher = self.cachers.get(&waiting.resource);
        let current = cacher.map_or(0, |c| c.cache.revision());
        let error = match waiting.until {
            Until::Ready => status::timed_out(),
            Until::Revision(revision) => too_large(revision, current),
        };
        match waiting.read {
            PendingRead::List(read) if read.is_consistent => {
                let refuses = ctx.is_on(|fault| {
                    matches!(
                        fault,
                        Fault::TooManyRequests {
                            throttle: Throttle::StaleCache,
                            ..
                        }
                    )
                });
                let outcome = if refuses {
                    Err(status::stale_cache(&error))
                } else {
                    self.list_from_etcd(&read, ctx.etcd.revision(), false, false, ctx)
                };
                self.finish(id, outcome, ctx);
            }
            PendingRead::List(_) | PendingRead::Get(..) => self.finish(id, Err(error), ctx),
            PendingRead::Watch(_) if waiting.until == Until::Ready => {
                self.finish(id, Err(error), ctx);
            }
            PendingRead::Watch(_) => self.fail_watch(id, &error, ctx),
        }
    }

    fn list_from_etcd(
        &self,
        read: &ListRead,
        revision: u64,
        continued: bool,
        direct: bool,
        ctx: &Context<'_>,
    ) -> Result<Outcome, ApiError> {
        if revision > ctx.etcd.revision() {
            return Err(too_large_for_etcd(revision, ctx.etcd.revision()));
        }
        let says = if read.says_newest {
            ctx.etcd.revision()
        } else {
            revision
        };
        let page = if direct {
            let found = ctx.etcd.range(&read.prefix, &read.start, revision);
            found.map(|found| read.page(found, says, ServedBy::Etcd))
        } else {
            let member = ctx.server;
            let found = ctx
                .etcd
                .range_of_member(member, &read.prefix, &read.start, revision);
            found.map(|found| read.page(found, says, ServedBy::Etcd))
        };
        match page {
            Ok(page) => {
                readable(page.objects.iter(), read.target.resource, ctx)?;
                Ok(Outcome::Now(read.answer(&page, ctx)))
            }
            Err(_) if continued => {
                let start = read.start.strip_prefix(&read.prefix).unwrap_or("");
                Err(continue_compacted(encode_continue(start, -1)))
            }
            Err(_) if read.says_newest => Err(status::internal_error(
                "etcdserver: mvcc: required revision has been compacted",
            )),
            Err(_) => Err(list_compacted()),
        }
    }
}

impl ListRead {
    fn page<'a>(
        &self,
        found: impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>,
        revision: u64,
        by: ServedBy,
    ) -> Page {
        let limit = match usize::try_from(self.limit) {
            Ok(0) | Err(_) => usize::MAX,
            Ok(limit) => limit,
        };
        let mut objects = Vec::new();
        let mut last_key: Option<&Arc<str>> = None;
        let mut left = 0u64;
        for (key, object) in found {
            if objects.len() >= limit {
                left += 1;
                if !self.selector.is_empty() {
                    break;
                }
                continue;
            }
            if self.selector.matches(object) {
                objects.push(Arc::clone(object));
            }
            last_key = Some(key);
        }
        let continue_token = last_key.filter(|_| left > 0).map(|key| {
            let start = key.strip_prefix(self.prefix.as_str()).unwrap_or(key);
            let slash = match by {
                ServedBy::Cache => "/",
                ServedBy::Etcd => "",
            };
            encode_continue(
                &format!("{slash}{start}\0"),
                i64::try_from(revision).unwrap_or(i64::MAX),
            )
        });
        Page {
            objects,
            revision,
            remaining: (continue_token.is_some() && self.selector.is_empty()).then_some(left),
            continue_token,
        }
    }

    fn answer(&self, page: &Page, ctx: &Context<'_>) -> Answer {
        let kind = ctx.kinds.get(self.target.resource);
        let mut metadata = json!({"resourceVersion": page.revision.to_string()});
        if let Some(token) = &page.continue_token {
            metadata["continue"] = json!(token);
        }
        if let Some(remaining) = page.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        let body = match self.form {
            Representation::Table(include) => {
                let rows = Rows {
                    objects: &page.objects,
                    kind,
                    include,
                    with_columns: true,
                    wall: ctx.wall,
                    now: ctx.now,
                };
                match ctx.answers.rows(rows, metadata.clone()) {
                    Some(table) => vec![encode(&table), Bytes::from_static(b"\n")],
                    None => whole_list(kind, metadata, &page.objects),
                }
            }
            Representation::Metadata => {
                let items = page.objects.iter().map(|o| ("", o.metadata_json()));
                let opening =
                    list_opening("PartialObjectMetadataList", "meta.k8s.io/v1", &metadata);
                list_chunks(opening, items, "")
            }
            Representation::Whole => whole_list(kind, metadata, &page.objects),
        };
        let mut answer = Answer::chunks(200, body);
        answer.headers.extend(deprecation(kind));
        answer
    }
}

fn one_object(
    found: Option<&Arc<Object>>,
    target: &Target,
    form: Representation,
    ctx: &Context<'_>,
) -> Result<Outcome, ApiError> {
    let kind = ctx.kinds.get(target.resource);
    let object = found.ok_or_else(|| not_found(&kind.group, &kind.plural, &target.name))?;
    readable(std::iter::once(object), target.resource, ctx)?;
    let body = match target.subresource.as_str() {
        "scale" => encode(&scale::of(object)),
        _ => object_body(object, form, target, ctx),
    };
    let mut answer = Answer::bytes(200, "application/json", body);
    answer.headers.extend(deprecation(kind));
    Ok(Outcome::Now(answer))
}
