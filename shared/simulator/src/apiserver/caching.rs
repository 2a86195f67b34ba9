//! How an apiserver keeps its watch caches: it makes caches, feeds them from etcd, and lets them fail and list again.

use std::sync::Arc;
use std::time::Duration;

use super::alarm::{Alarm, Step};
use super::cache::Objects;
use super::cacher::{Cacher, Phase, retry_after_secs};
use super::context::Context;
use super::reply::Source;
use super::server::Apiserver;
use super::upstream::Owner;
use crate::etcd::{Content, Purpose, Response, WatchedChange};
use crate::fault::Fault;
use crate::inside::{CacheLook, WatcherLook};
use crate::kinds::{Kinds, ResourceId};
use crate::message::RequestId;
use crate::object::ChangeKind;
use crate::status::{self, ApiError};
use crate::time::Time;

/// Time from a failure of a cacher's reflector to its next attempt to list etcd (`wait.Until`;
/// docs/semantics/servers.md#cache-start). While etcd has no leader an attempt fails at once, and the next one follows
/// after the same time.
const RETRY_PERIOD: Duration = Duration::from_secs(1);
/// Since 1.25: the time from the first internal error of a streak up to which a reflector resumes after each one. An
/// internal error after this time makes the reflector list again (`MaxInternalErrorRetryDuration`;
/// docs/semantics/servers.md#cache-retry).
const INTERNAL_ERROR_RETRY: Duration = Duration::from_secs(30);
/// Time without an internal error after which a streak of internal errors is over
/// (docs/semantics/servers.md#cache-retry).
const INTERNAL_ERROR_STREAK: Duration = Duration::from_secs(60);
/// Time from an internal error to the reflector's attempt to resume. The real loop waits only for etcd's answer
/// (`tools/cache/reflector.go` of client-go, 1.36); the pause bounds the simulator's work. The number has no source.
const RESUME_PERIOD: Duration = Duration::from_millis(100);

/// The functions of an apiserver that serve reports of its inside.
impl Apiserver {
    /// The resources that have a watch cache.
    pub(crate) fn cached(&self) -> impl Iterator<Item = ResourceId> {
        self.cachers.keys().copied()
    }

    /// Returns the state of a watch cache, a counter of the changes of its objects, and the objects. `None` if the
    /// resource has no watch cache.
    pub(crate) fn cache_look(&self, resource: ResourceId) -> Option<(CacheLook, u64, &Objects)> {
        let cacher = self.cachers.get(&resource)?;
        let (objects, edits) = cacher.cache.contents();
        Some((cacher.look(), edits, objects))
    }

    /// Iterates over the open watches, each with its resource and its buffers.
    pub(crate) fn watcher_looks(
        &self,
    ) -> impl Iterator<Item = (RequestId, ResourceId, WatcherLook)> {
        self.replies.iter().filter_map(|(id, reply)| {
            let watch = reply.watch.as_ref()?;
            let look = WatcherLook {
                is_from_etcd: matches!(watch.source, Source::Etcd(_)),
                ..watch.backlog.look()
            };
            Some((*id, watch.watcher.resource(), look))
        })
    }
}

impl Apiserver {
    /// Begins to serve a resource. With `at_once` the resource's cache is ready now, as when the world is made.
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

    /// Makes the cacher of a resource that is served from now on. The cacher begins to list etcd.
    pub(super) fn make_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let cacher = Cacher::new(ctx.now, self.attempts, ctx.settings);
        self.cachers.insert(resource, cacher);
        self.start_cacher(resource, ctx);
    }

    /// Makes a resource's cacher that is ready at once, as when the world is made.
    pub(super) fn make_ready_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let cacher = Cacher::new(ctx.now, self.attempts, ctx.settings);
        self.cachers.insert(resource, cacher);
        self.listed(resource, ctx.etcd.revision(), ctx);
    }

    pub(super) fn drop_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        if let Some(cacher) = self.cachers.remove(&resource) {
            self.attempts = self.attempts.max(cacher.attempt);
            if let Some(watch) = cacher.watch {
                self.close_upstream(watch, ctx);
            }
        }
    }

    pub(super) fn cacher_step(
        &mut self,
        resource: ResourceId,
        attempt: u32,
        step: Step,
        ctx: &mut Context<'_>,
    ) {
        let current = self.cachers.get(&resource).map(|c| c.attempt);
        if current != Some(attempt) {
            return;
        }
        match step {
            Step::Start => self.start_cacher(resource, ctx),
            Step::Listed(revision) => self.listed(resource, revision, ctx),
            Step::Resume => self.watch_etcd(resource, ctx),
        }
    }

    /// Makes a cacher's reflector fail. The reflector lists etcd again after 1 s.
    pub(super) fn fail_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        if cacher.is_ready() {
            cacher.since = ctx.now;
        }
        cacher.phase = Phase::Failed;
        let watch = cacher.watch.take();
        self.set_step(resource, Step::Start, ctx.now + RETRY_PERIOD, ctx);
        if let Some(watch) = watch {
            self.close_upstream(watch, ctx);
        }
    }

    /// Takes in a response on a cacher's own watch of etcd.
    pub(super) fn cacher_receives(
        &mut self,
        resource: ResourceId,
        response: Response,
        ctx: &mut Context<'_>,
    ) {
        match response.content {
            Content::Events(events) => {
                for event in events {
                    self.cacher_takes(resource, event, ctx);
                }
            }
            Content::Progress => {
                if let Some(cacher) = self.cachers.get_mut(&resource)
                    && ctx.version.has_progress()
                {
                    cacher.last_seen = response.revision;
                    cacher.cache.progress(response.revision);
                    cacher.dispatcher.is_past(response.revision);
                    self.wake_waiting(resource, ctx);
                }
            }
            Content::Compacted => self.fail_cacher(resource, ctx),
            Content::NoLeader => self.internal_error(resource, ctx),
        }
    }

    /// Returns the refusal of a read while the watch cache is not ready; `None` if the cache is ready or the resource
    /// has no cache. On servers before 1.31 the read waits instead.
    pub(super) fn not_ready(&self, resource: ResourceId, ctx: &Context<'_>) -> Option<ApiError> {
        let cacher = self.cachers.get(&resource)?;
        if cacher.is_ready() {
            return None;
        }
        let secs = if ctx.version.grows_retry_after() {
            retry_after_secs(cacher.downtime(ctx.now))
        } else {
            1
        };
        Some(status::initializing(secs))
    }

    fn start_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let watches: Vec<RequestId> = match self.cachers.get_mut(&resource) {
            Some(cacher) => {
                cacher.phase = Phase::Listing;
                cacher.dispatcher.watchers().to_vec()
            }
            None => return,
        };
        for watch in watches {
            self.end_watch(watch, ctx);
        }
        if !ctx.etcd.has_leader(ctx.server) {
            return self.fail_cacher(resource, ctx);
        }
        let revision = ctx.etcd.revision();
        let prefix = ctx.kinds.get(resource).prefix.clone();
        let found = ctx.etcd.range(&prefix, "", revision);
        let count = found.map_or(0, Iterator::count);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let (least, most) = ctx.commit_latency;
        let span = ctx.random.span(least, most)
            + ctx.settings.list_latency_per_object.saturating_mul(count);
        self.set_step(resource, Step::Listed(revision), ctx.now + span, ctx);
    }

    fn listed(&mut self, resource: ResourceId, revision: u64, ctx: &mut Context<'_>) {
        let prefix = ctx.kinds.get(resource).prefix.clone();
        let found = ctx
            .etcd
            .range_of_member(ctx.server, &prefix, "", revision)
            .map(|found| {
                let pair = |(k, o): (&Arc<_>, &Arc<_>)| (Arc::clone(k), Arc::clone(o));
                found.map(pair).collect::<Objects>()
            });
        let (Ok(objects), Some(cacher)) = (found, self.cachers.get_mut(&resource)) else {
            return self.fail_cacher(resource, ctx);
        };
        cacher.cache.replace(objects, revision);
        cacher.dispatcher.is_past(revision);
        cacher.phase = Phase::Ready;
        cacher.since = ctx.now;
        cacher.last_seen = revision;
        self.watch_etcd(resource, ctx);
        self.wake_waiting(resource, ctx);
    }

    fn watch_etcd(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let Some(cacher) = self.cachers.get(&resource) else {
            return;
        };
        let start = cacher.last_seen + 1;
        let prefix = ctx.kinds.get(resource).prefix.clone();
        let owner = Owner::Cacher(resource);
        let watch = self.open_upstream(resource, Purpose::Cache, prefix, start, owner, ctx);
        if let Some(cacher) = self.cachers.get_mut(&resource) {
            cacher.watch = Some(watch);
        }
    }

    fn cacher_takes(&mut self, resource: ResourceId, event: WatchedChange, ctx: &mut Context<'_>) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        if !cacher.is_ready() || cacher.watch.is_none() {
            // The response was under way when the watch failed.
            return;
        }
        let lacks_previous = event.change.kind != ChangeKind::Added && !event.has_previous;
        if lacks_previous && ctx.version.refuses_missing_previous() {
            return self.internal_error(resource, ctx);
        }
        if lacks_previous && event.change.kind == ChangeKind::Deleted {
            // The event's object is nil, which is not the expected type, so the reflector skips the event (F26).
            return;
        }
        if is_poisoned(&event, ctx) {
            return self.internal_error(resource, ctx);
        }
        cacher.last_seen = event.change.revision;
        self.take_in(resource, event.change, ctx);
    }

    /// Ends a cacher's watch of etcd with an error that the reflector treats as an internal error.
    fn internal_error(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        let now = ctx.now;
        let first = match cacher.streak {
            Some((first, last)) if now.since(last) < INTERNAL_ERROR_STREAK => first,
            _ => now,
        };
        cacher.streak = Some((first, now));
        let resumes =
            ctx.version.retries_internal_errors() && now.since(first) <= INTERNAL_ERROR_RETRY;
        if !resumes {
            return self.fail_cacher(resource, ctx);
        }
        let watch = cacher.watch.take();
        self.set_step(resource, Step::Resume, now + RESUME_PERIOD, ctx);
        if let Some(watch) = watch {
            self.close_upstream(watch, ctx);
        }
    }

    /// Empties the histories of watch caches and keeps them empty; for resources without a watch cache, compacts etcd
    /// (fault `Expire`).
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

    /// Lets the watch caches keep history again, from now on.
    pub(crate) fn keep_history(&mut self, resource: Option<&str>, kinds: &Kinds) {
        for (id, cacher) in &mut self.cachers {
            if resource.is_none_or(|wanted| kinds.get(*id).qualified() == wanted) {
                cacher.cache.keep_history();
            }
        }
    }

    /// Makes the reflectors of watch caches fail (F16).
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

    fn set_step(&mut self, resource: ResourceId, step: Step, at: Time, ctx: &mut Context<'_>) {
        if let Some(cacher) = self.cachers.get_mut(&resource) {
            cacher.attempt += 1;
            let alarm = Alarm::Cacher(resource, cacher.attempt, step);
            ctx.alarms.push((at, alarm));
        }
    }
}

/// Returns whether a fault makes the object of an event from etcd unreadable for the apiserver.
fn is_poisoned(event: &WatchedChange, ctx: &Context<'_>) -> bool {
    ctx.is_on(|fault| match fault {
        Fault::CorruptObject { resource, name } => {
            ctx.kinds.get(event.change.resource).qualified() == *resource
                && event.change.object.name() == name
        }
        _ => false,
    })
}
