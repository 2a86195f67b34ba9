//! The cacher of a resource: its own reflector over etcd keeps the watch cache, and everything read from it waits or is
//! refused until it is ready (docs/semantics/servers.md#cache-start).
//!
//! ```text
//!           ┌────────────── 1 s later: its watches end ───────────────┐
//!           ▼                                                          │
//!        listing ──► ready: watching etcd ── error ──► not ready ──────┘
//!                       ▲          │ InternalError, 1.25+, up to 30 s
//!                       └──────────┘ resumes, and trusts what it has (F24)
//! ```

use std::sync::Arc;
use std::time::Duration;

use super::cache::{Objects, WatchCache};
use super::dispatch::Dispatcher;
use super::reply::Source;
use super::upstream::Owner;
use super::{Alarm, Apiserver, Context};
use crate::etcd::{Content, Purpose, Response, WatchedChange, WatcherId};
use crate::fault::Fault;
use crate::inside::{CacheLook, CacheState, WatcherLook};
use crate::kinds::ResourceId;
use crate::message::RequestId;
use crate::object::ChangeKind;
use crate::settings::ApiserverConfig;
use crate::status::{self, ApiError};
use crate::time::Time;

/// From a failure to the next attempt (`wait.Until`).
const RETRY_PERIOD: Duration = Duration::from_secs(1);
/// How long a reflector resumes after internal errors (`MaxInternalErrorRetryDuration`).
const INTERNAL_ERROR_RETRY: Duration = Duration::from_secs(30);
/// A streak of internal errors is over after so long without one.
const INTERNAL_ERROR_STREAK: Duration = Duration::from_secs(60);
/// Between two attempts to resume. The real loop has no wait but the answer's; this bounds its work here.
const RESUME_PERIOD: Duration = Duration::from_millis(100);

/// A cacher.
#[derive(Debug)]
pub(super) struct Cacher {
    pub(super) cache: WatchCache,
    pub(super) dispatcher: Dispatcher,
    phase: Phase,
    /// When it became ready, or ceased to be.
    since: Time,
    /// Counts the attempts, so that an alarm of an earlier one is known.
    attempt: u32,
    watch: Option<WatcherId>,
    /// The last revision its reflector saw.
    last_seen: u64,
    /// The first and the last internal error of a streak.
    streak: Option<(Time, Time)>,
}

/// How far a cacher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It failed, and its watches are still open.
    Failed,
    /// It reads all there is.
    Listing,
    Ready,
}

/// A step of a cacher that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Begin again.
    Start,
    /// The list of this revision is through.
    Listed(u64),
    /// Watch on from what was seen last.
    Resume,
}

impl Cacher {
    fn new(now: Time, attempt: u32, config: &ApiserverConfig) -> Cacher {
        Cacher {
            cache: WatchCache::new(config),
            dispatcher: Dispatcher::new(now),
            phase: Phase::Listing,
            since: now,
            attempt,
            watch: None,
            last_seen: 0,
            streak: None,
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Its watch of etcd was opened anew.
    pub(super) fn moved(&mut self, watch: WatcherId) {
        self.watch = Some(watch);
    }

    /// How it is, told of its inside.
    fn look(&self) -> CacheLook {
        let (events, capacity) = self.cache.ring_size();
        CacheLook {
            state: match self.phase {
                Phase::Failed => CacheState::Failed,
                Phase::Listing => CacheState::Listing,
                Phase::Ready => CacheState::Ready,
            },
            revision: self.cache.revision(),
            oldest: self.cache.oldest_resumable(),
            events,
            capacity,
        }
    }

    /// How long it has not been ready.
    pub(super) fn downtime(&self, now: Time) -> Duration {
        now.since(self.since)
    }
}

/// What it tells of its inside.
impl Apiserver {
    /// The resources that have a watch cache.
    pub(crate) fn cached(&self) -> impl Iterator<Item = ResourceId> {
        self.cachers.keys().copied()
    }

    /// A watch cache: how it is, how often its objects changed, and the objects.
    pub(crate) fn cache_look(&self, resource: ResourceId) -> Option<(CacheLook, u64, &Objects)> {
        let cacher = self.cachers.get(&resource)?;
        let (objects, edits) = cacher.cache.contents();
        Some((cacher.look(), edits, objects))
    }

    /// The watches that run: each with its resource and what waits for it.
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
    /// Makes the cacher of a resource that is newly served; it begins to list.
    pub(super) fn make_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let cacher = Cacher::new(ctx.now, self.attempts, &ctx.config.apiserver);
        self.cachers.insert(resource, cacher);
        self.start_cacher(resource, ctx);
    }

    /// The same, ready at once: for a cluster that begins.
    pub(super) fn make_ready_cacher(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let cacher = Cacher::new(ctx.now, self.attempts, &ctx.config.apiserver);
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

    /// The cacher's reflector failed, for whatever reason.
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

    /// A response on the cacher's own watch of etcd.
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

    /// Whether a read of the cache has to wait or be refused, since it is not ready.
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
        let (least, most) = ctx.config.etcd.commit_latency;
        let span = ctx.random.span(least, most)
            + ctx
                .config
                .apiserver
                .list_latency_per_object
                .saturating_mul(count);
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
            // What was under way when the watch failed.
            return;
        }
        let lacks_previous = event.change.kind != ChangeKind::Added && !event.has_previous;
        if lacks_previous && ctx.version.refuses_missing_previous() {
            return self.internal_error(resource, ctx);
        }
        if lacks_previous && event.change.kind == ChangeKind::Deleted {
            // The object of the event is nil: not the type that is expected, so the reflector skips it (F26).
            return;
        }
        if is_poisoned(&event, ctx) {
            return self.internal_error(resource, ctx);
        }
        cacher.last_seen = event.change.revision;
        self.take_in(resource, event.change, ctx);
    }

    /// The watch of etcd ended with an error that the reflector takes for an internal one.
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

    fn set_step(&mut self, resource: ResourceId, step: Step, at: Time, ctx: &mut Context<'_>) {
        if let Some(cacher) = self.cachers.get_mut(&resource) {
            cacher.attempt += 1;
            let alarm = Alarm::Cacher(resource, cacher.attempt, step);
            ctx.alarms.push((at, alarm));
        }
    }
}

/// Whether a fault makes an object unreadable for the apiserver that reads it from etcd.
fn is_poisoned(event: &WatchedChange, ctx: &Context<'_>) -> bool {
    ctx.is_on(|fault| match fault {
        Fault::CorruptObject { resource, name } => {
            ctx.kinds.get(event.change.resource).qualified() == *resource
                && event.change.object.name() == name
        }
        _ => false,
    })
}

/// `clamp(e^(0.06·s), 1, 30)` in whole seconds, from the seconds at which it reaches each
/// (docs/semantics/requests.md#not-ready).
fn retry_after_secs(downtime: Duration) -> u32 {
    /// Milliseconds of downtime from which the answer is 2, 3, … 30: ln(n) / 0.06.
    const FROM_MS: [u64; 29] = [
        11_553, 18_311, 23_105, 26_824, 29_863, 32_432, 34_658, 36_621, 38_377, 39_965, 41_416,
        42_750, 43_985, 45_135, 46_210, 47_221, 48_173, 49_074, 49_929, 50_743, 51_518, 52_259,
        52_968, 53_648, 54_302, 54_931, 55_537, 56_122, 56_687,
    ];
    let millis = u64::try_from(downtime.as_millis()).unwrap_or(u64::MAX);
    let reached = FROM_MS.partition_point(|from| *from <= millis);
    1 + u32::try_from(reached).unwrap_or(29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_cache_grows_with_its_downtime() {
        let at = |secs| retry_after_secs(Duration::from_secs(secs));
        assert_eq!(
            [0, 11, 12, 30, 40, 50, 56, 57, 3600].map(at),
            [1, 1, 2, 6, 11, 20, 28, 30, 30]
        );
    }
}
