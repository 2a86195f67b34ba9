//! Watches: where they start, what they are sent, when they end (semantics 1.4, 1.5, 1.9).

use std::sync::Arc;
use std::time::Duration;

use super::negotiate::Representation;
use super::options::{ListOptions, Query};
use super::read::PendingRead;
use super::route::Target;
use super::selector::Selector;
use super::status::{ApiError, too_large};
use super::watcher::{WatchParameters, Watcher};
use super::{Alarm, Apiserver, BLOCK_BUDGET_MOST, Context, Outcome, common_headers};
use crate::etcd::Change;
use crate::kinds::ResourceId;
use crate::message::RequestId;
use crate::object::{Object, encode, frame};
use crate::time::Time;

/// A bookmark comes this long before the deadline (1.5).
const BOOKMARK_BEFORE_DEADLINE: Duration = Duration::from_secs(2);

/// The dispatcher's bookmark timer ticks about every second, so a due bookmark is this much late at most (1.5).
const BOOKMARK_TICK: Duration = Duration::from_millis(1250);

/// How much of a second the dispatcher may spend blocked on full watchers (1.9 rule 5).
const BLOCK_BUDGET_PER_SECOND: Duration = Duration::from_millis(50);

/// A watch that is understood and not yet begun.
#[derive(Debug)]
pub(super) struct PendingWatch {
    parameters: WatchParameters,
    start: Start,
}

/// Where a watch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With the present state as initial events.
    State,
    /// After a revision.
    After(u64),
    /// At whatever the cache knows.
    Now,
}

impl Apiserver {
    pub(super) fn open_watch(
        &mut self,
        id: RequestId,
        query: &Query,
        target: &Target,
        form: Representation,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        let options = ListOptions::parse(query)?;
        let kind = ctx.kinds.get(target.resource);
        let selector = Selector::parse(&options.label_selector, &options.field_selector, kind)?;
        let revision = options.revision()?;
        let lifetime = match options.timeout_seconds {
            Some(secs) if secs > 0 => Duration::from_secs(secs),
            _ => {
                let (least, most) = ctx.config.apiserver.watch_lifetime;
                ctx.random.span(least, most)
            }
        };
        let parameters = WatchParameters {
            resource: target.resource,
            prefix: kind.scope_prefix(&target.namespace),
            selector,
            representation: form,
            bookmarks: options.allow_watch_bookmarks,
            deadline: ctx.now + lifetime,
        };
        self.observe_progress(target.resource, ctx);
        let current = ctx.etcd.revision();
        let (start, fresh_at) = match (options.send_initial_events, revision) {
            (Some(true), None) => (Start::State, current),
            (Some(true), Some(r)) => (Start::State, r),
            (Some(false), None) => (Start::After(current), 0),
            (_, None | Some(0)) => (Start::Now, 0),
            (_, Some(r)) => (Start::After(r), 0),
        };
        let cached = self.caches.get(&target.resource).is_some_and(|c| c.cached);
        let watch = PendingWatch { parameters, start };
        if !cached {
            if fresh_at > current {
                self.fail_watch(id, &too_large(fresh_at, current), ctx);
                return Ok(Outcome::Open);
            }
            self.begin_watch(id, watch, ctx);
            return Ok(Outcome::Open);
        }
        self.read_when_fresh(
            id,
            target.resource,
            fresh_at,
            PendingRead::Watch(watch),
            ctx,
        )
    }

    /// Opens the stream: head, then what the watch has to be sent first.
    pub(super) fn begin_watch(
        &mut self,
        id: RequestId,
        watch: PendingWatch,
        ctx: &mut Context<'_>,
    ) {
        let resource = watch.parameters.resource;
        let Some(cache) = self.caches.get(&resource) else {
            return;
        };
        let kind = ctx.kinds.get(resource);
        let selector = &watch.parameters.selector;
        let indexed = kind.kind == "Pod" && selector.selects_node();
        let slots = cache.buffer_slots(indexed, kind.kind == "Pod" && selector.selects_fields());
        let at = if cache.cached {
            cache.revision()
        } else {
            ctx.etcd.revision()
        };
        let after = match watch.start {
            Start::State | Start::Now => at,
            Start::After(revision) => revision,
        };
        let mut frames = Vec::new();
        let (wall, now) = (ctx.wall, ctx.now);
        let mut watcher = Watcher::new(watch.parameters, after, slots);
        if watch.start == Start::State {
            let present: Vec<(Arc<str>, Arc<Object>)> = if cache.cached {
                let found = cache.list(watcher.prefix(), "");
                found.map(|(k, o)| (Arc::clone(k), Arc::clone(o))).collect()
            } else {
                match ctx.etcd.range(watcher.prefix(), "", at) {
                    Ok(found) => found.map(|(k, o)| (Arc::clone(k), Arc::clone(o))).collect(),
                    Err(_) => Vec::new(),
                }
            };
            for (key, object) in &present {
                if watcher.selects(key, object) {
                    frames.push(watcher.initial(object, kind, wall, now));
                }
            }
            frames.extend(watcher.bookmark(at, true, kind, wall, now));
        } else {
            match cache.changes_after(after, ctx.etcd) {
                Ok(changes) => {
                    for change in changes {
                        frames.extend(watcher.event(&change, kind, wall, now));
                    }
                }
                Err(error) => return self.fail_watch(id, &error, ctx),
            }
        }
        let deadline = watcher.deadline;
        let bookmarks = watcher.bookmarks && cache.cached;
        let headers = stream_headers(ctx);
        let Some(reply) = self.replies.get_mut(&id) else {
            return;
        };
        reply.set_head(200, headers);
        reply.extend(frames);
        reply.watcher = Some(watcher);
        self.watching.entry(resource).or_default().insert(id);
        self.dirty.insert(id);
        ctx.alarms.push((deadline, Alarm::Deadline(id)));
        if bookmarks {
            schedule_bookmark(id, deadline, ctx);
        }
    }

    /// Opens the stream only to say in band why it cannot go on (1.6).
    pub(super) fn fail_watch(&mut self, id: RequestId, error: &ApiError, ctx: &mut Context<'_>) {
        let headers = stream_headers(ctx);
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.set_head(200, headers);
            reply.extend([frame("ERROR", &encode(&error.status()))]);
            reply.end();
            self.dirty.insert(id);
        }
    }

    /// Passes a change on to every watch of its resource.
    pub(super) fn send_to_watches(&mut self, change: &Change, ctx: &mut Context<'_>) {
        let Some(watches) = self.watching.get(&change.resource) else {
            return;
        };
        let kind = ctx.kinds.get(change.resource);
        let mut full = Vec::new();
        for id in watches {
            let Some(reply) = self.replies.get_mut(id) else {
                continue;
            };
            let Some(watcher) = reply.watcher.as_mut() else {
                continue;
            };
            let Some(frame) = watcher.event(change, kind, ctx.wall, ctx.now) else {
                continue;
            };
            let slots = watcher.buffer_slots;
            reply.push_live(frame);
            self.dirty.insert(*id);
            if reply.live_frames() > slots && reply.blocked_since.is_none() {
                full.push(*id);
            }
        }
        for id in full {
            self.block_on(id, ctx);
        }
    }

    /// Ends a watch in order: what waits is still sent.
    pub(crate) fn end_watch(&mut self, id: RequestId) {
        if let Some(reply) = self.replies.get_mut(&id)
            && reply.watcher.take().is_some()
        {
            reply.end();
            self.dirty.insert(id);
        }
        for watches in self.watching.values_mut() {
            watches.remove(&id);
        }
    }

    /// Stops serving a resource: its watches end and its cache goes.
    pub(crate) fn stop_serving(&mut self, resource: ResourceId) {
        let ids: Vec<RequestId> = self.watches_of(resource).collect();
        for id in ids {
            self.end_watch(id);
        }
        self.caches.remove(&resource);
    }

    /// Sends a bookmark if the watch's buffer is not full, and sets the next.
    pub(super) fn bookmark(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        let watcher = self.replies.get(&id).and_then(|r| r.watcher.as_ref());
        let Some((resource, deadline)) = watcher.map(|w| (w.resource, w.deadline)) else {
            return;
        };
        self.observe_progress(resource, ctx);
        let revision = self.caches.get(&resource).map_or(0, |c| c.revision());
        let kind = ctx.kinds.get(resource);
        if let Some(reply) = self.replies.get_mut(&id)
            && let Some(watcher) = reply.watcher.as_mut()
        {
            let slots = watcher.buffer_slots;
            if reply.live_frames() < slots
                && let Some(watcher) = reply.watcher.as_mut()
                && let Some(frame) = watcher.bookmark(revision, false, kind, ctx.wall, ctx.now)
            {
                reply.push_live(frame);
                self.dirty.insert(id);
            }
        }
        schedule_bookmark(id, deadline, ctx);
    }

    /// A watch's buffer is full: dispatching waits for it as long as its budget allows.
    ///
    /// The real dispatcher stands still meanwhile, here only this watch does, with what comes kept aside.
    fn block_on(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        let budget = self.block_budget(ctx.now);
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.blocked_since = Some(ctx.now);
        }
        ctx.alarms.push((ctx.now + budget, Alarm::Unblock(id)));
    }

    /// The grace of a full watch is over: it is ended, and what does not fit its result channel is lost to it.
    pub(super) fn unblock(&mut self, id: RequestId, now: Time) {
        let Some(reply) = self.replies.get_mut(&id) else {
            return;
        };
        let (Some(since), Some(watcher)) = (reply.blocked_since.take(), reply.watcher.as_ref())
        else {
            return;
        };
        let slots = watcher.buffer_slots;
        let full = reply.live_frames() > slots;
        if full {
            reply.truncate_live(slots / 2);
        }
        let left = self.block_budget(now).saturating_sub(now.since(since));
        self.block_budget = (left, now);
        if full {
            self.end_watch(id);
        }
    }

    fn block_budget(&self, now: Time) -> Duration {
        let (left, since) = self.block_budget;
        let whole_seconds = u32::try_from(now.since(since).as_secs()).unwrap_or(u32::MAX);
        let refilled = BLOCK_BUDGET_PER_SECOND.saturating_mul(whole_seconds);
        left.saturating_add(refilled).min(BLOCK_BUDGET_MOST)
    }
}

/// The next bookmark: one interval from now, or just before the deadline (`nextBookmarkTime`).
fn schedule_bookmark(id: RequestId, deadline: Time, ctx: &mut Context<'_>) {
    let regular = ctx.now + ctx.config.apiserver.bookmark_interval;
    let last = deadline - BOOKMARK_BEFORE_DEADLINE;
    let due = if last > ctx.now && regular > last {
        last
    } else {
        regular
    };
    if due < deadline {
        let late = ctx.random.span(Duration::ZERO, BOOKMARK_TICK);
        ctx.alarms.push((due + late, Alarm::Bookmark(id)));
    }
}

fn stream_headers(ctx: &mut Context<'_>) -> Vec<(String, String)> {
    let mut headers = common_headers(ctx);
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers
}
