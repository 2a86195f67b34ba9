//! How an apiserver dispatches events: it gives each event to every watch, waits a little for full watches, and ends
//! watches that stay full (docs/semantics/servers.md#slow-watch).

use std::sync::Arc;

use super::alarm::Alarm;
use super::context::Context;
use super::dispatcher::{Blocked, INCOMING};
use super::server::Apiserver;
use super::watcher::FrameContext;
use crate::change::Change;
use crate::fault::Fault;
use crate::kinds::ResourceId;
use crate::message::RequestId;
use crate::object::ChangeKind;

impl Apiserver {
    /// Takes an event into the watch cache of its resource, and dispatches the event to the watches.
    pub(super) fn take_in(
        &mut self,
        resource: ResourceId,
        change: Arc<Change>,
        ctx: &mut Context<'_>,
    ) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        if cacher.dispatcher.incoming.len() >= INCOMING {
            cacher.dispatcher.upstream.push_back(change);
            return;
        }
        let delivered = cacher.cache.receive(&change, ctx.settings, ctx.version);
        let waits = cacher.dispatcher.is_blocked();
        if waits {
            cacher.dispatcher.incoming.push_back(delivered);
            self.wake_waiting(resource, ctx);
        } else {
            self.wake_waiting(resource, ctx);
            self.dispatch_in_order(resource, delivered, ctx);
        }
    }

    /// Dispatches the events that the fault `SwapEvents` kept back.
    pub(crate) fn deliver_swapped(&mut self, ctx: &mut Context<'_>) {
        let kept: Vec<(ResourceId, Arc<Change>)> = self
            .cachers
            .iter_mut()
            .filter_map(|(id, cacher)| Some((*id, cacher.dispatcher.swapped.take()?)))
            .collect();
        for (resource, change) in kept {
            self.dispatch(resource, &change, ctx);
        }
    }

    /// Goes on dispatching once every watch that the dispatcher waited for has room or is gone.
    pub(super) fn resume_dispatch(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        let Some(blocked) = &mut cacher.dispatcher.blocked else {
            return;
        };
        let replies = &self.replies;
        blocked.full.retain(|id| {
            let watch = replies.get(id).and_then(|reply| reply.watch.as_ref());
            watch.is_some_and(|watch| watch.backlog.is_blocking())
        });
        if blocked.full.is_empty() {
            let unused = blocked.until.since(ctx.now);
            cacher.dispatcher.give_back(unused);
            self.unblock(resource, ctx);
        }
    }

    /// Ends the watches that are still full, since the dispatcher's wait has reached its timeout.
    pub(super) fn dispatch_timeout(
        &mut self,
        resource: ResourceId,
        block: u32,
        ctx: &mut Context<'_>,
    ) {
        let full = match self.cachers.get_mut(&resource) {
            Some(cacher) if cacher.dispatcher.blocks == block => {
                match &mut cacher.dispatcher.blocked {
                    Some(blocked) => std::mem::take(&mut blocked.full),
                    None => return,
                }
            }
            _ => return,
        };
        for id in full {
            self.terminate_if_blocking(id, ctx);
        }
        self.unblock(resource, ctx);
    }

    /// Dispatches an event: once, or as a fault requires, swapped with the next event, or twice.
    fn dispatch_in_order(
        &mut self,
        resource: ResourceId,
        change: Arc<Change>,
        ctx: &mut Context<'_>,
    ) {
        if ctx.is_on_for(resource, |f| matches!(f, Fault::SwapEvents { .. }))
            && let Some(cacher) = self.cachers.get_mut(&resource)
        {
            let Some(earlier) = cacher.dispatcher.swapped.take() else {
                cacher.dispatcher.swapped = Some(change);
                return;
            };
            self.dispatch(resource, &change, ctx);
            return self.dispatch(resource, &earlier, ctx);
        }
        self.dispatch(resource, &change, ctx);
        if ctx.is_on_for(resource, |f| matches!(f, Fault::RepeatEvents { .. })) {
            self.dispatch(resource, &change, ctx);
        }
    }

    /// Gives an event to every watch of the event's resource.
    fn dispatch(&mut self, resource: ResourceId, change: &Arc<Change>, ctx: &mut Context<'_>) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        if cacher.dispatcher.is_blocked() {
            cacher.dispatcher.incoming.push_front(Arc::clone(change));
            return;
        }
        let context = FrameContext {
            answers: ctx.answers,
            kind: ctx.kinds.get(resource),
            wall: ctx.wall,
            now: ctx.now,
        };
        let quirk = Quirk::of(resource, change, ctx);
        let mut full = Vec::new();
        let mut failed = Vec::new();
        for id in &cacher.dispatcher.watchers {
            let Some(reply) = self.replies.get_mut(id) else {
                continue;
            };
            let Some(watch) = reply.watch.as_mut() else {
                continue;
            };
            let Some(mut frame) = watch.watcher.live(change, context) else {
                continue;
            };
            match quirk {
                None => {}
                Some(Quirk::CannotConvert) => {
                    failed.push(*id);
                    continue;
                }
                Some(Quirk::WrongKind) => {
                    frame = watch
                        .watcher
                        .of_wrong_kind(change.kind, &change.object, context);
                }
            }
            if watch.backlog.has_slot() {
                watch.backlog.push(frame);
            } else if watch.backlog.is_blocking() {
                // This cannot happen: dispatching stands still while a watch blocks it.
                continue;
            } else {
                watch.backlog.push_pending(frame);
                full.push(*id);
            }
            if !std::mem::replace(&mut reply.is_dirty, true) {
                self.dirty.push(*id);
            }
        }
        cacher.dispatcher.processed = change.revision;
        if !full.is_empty() {
            self.wait_for(resource, full, change.revision, ctx);
        }
        for id in failed {
            self.fail_conversion(id, resource, ctx);
        }
    }

    fn wait_for(
        &mut self,
        resource: ResourceId,
        full: Vec<RequestId>,
        revision: u64,
        ctx: &mut Context<'_>,
    ) {
        let Some(cacher) = self.cachers.get_mut(&resource) else {
            return;
        };
        let dispatcher = &mut cacher.dispatcher;
        let until = ctx.now + dispatcher.take_budget(ctx.now);
        dispatcher.blocks += 1;
        let block = dispatcher.blocks;
        dispatcher.blocked = Some(Blocked {
            full,
            until,
            revision,
        });
        let alarm = Alarm::DispatchTimeout(resource, block);
        ctx.alarms.push((until, alarm));
    }

    /// Dispatches the events that waited, until a watch blocks again or no event is left.
    fn unblock(&mut self, resource: ResourceId, ctx: &mut Context<'_>) {
        if let Some(cacher) = self.cachers.get_mut(&resource)
            && let Some(blocked) = cacher.dispatcher.blocked.take()
        {
            cacher.dispatcher.processed = blocked.revision;
        }
        loop {
            let Some(cacher) = self.cachers.get_mut(&resource) else {
                return;
            };
            if cacher.dispatcher.is_blocked() {
                return;
            }
            if let Some(change) = cacher.dispatcher.incoming.pop_front() {
                self.dispatch_in_order(resource, change, ctx);
            } else if let Some(change) = cacher.dispatcher.upstream.pop_front() {
                self.take_in(resource, change, ctx);
            } else {
                let revision = cacher.cache.revision();
                return cacher.dispatcher.is_past(revision);
            }
        }
    }
}

/// A fault that changes the frame of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quirk {
    /// The object cannot be converted to the requested version (F38).
    CannotConvert,
    /// The watch gets an object of another kind than it requested (F39).
    WrongKind,
}

impl Quirk {
    fn of(resource: ResourceId, change: &Change, ctx: &Context<'_>) -> Option<Quirk> {
        if ctx.faults.is_empty() {
            return None;
        }
        let kind = ctx.kinds.get(resource);
        ctx.faults.iter().find_map(|fault| match fault {
            Fault::CannotConvert { resource, name }
                if kind.qualified() == *resource && change.object.name() == name =>
            {
                Some(Quirk::CannotConvert)
            }
            Fault::WrongKind { resource } if kind.qualified() == *resource => {
                (change.kind != ChangeKind::Deleted).then_some(Quirk::WrongKind)
            }
            _ => None,
        })
    }
}
