//! Watches: where they start, what is sent on them, and when they end (docs/semantics/lists-and-watches.md#watch).

use std::sync::Arc;
use std::time::Duration;

use super::alarm::Alarm;
use super::answer::{Outcome, common_headers};
use super::answers::Answers;
use super::backlog::{Backlog, First, Next};
use super::body::readable;
use super::context::Context;
use super::negotiate::Representation;
use super::options::{ListOptions, Query};
use super::pending::{PendingRead, PendingWatch, Start, Until};
use super::reply::{OpenWatch, Part, Source};
use super::route::Target;
use super::server::Apiserver;
use super::upstream::Owner;
use super::watcher::{FrameContext, WatchParameters, Watcher};
use crate::etcd::{Content, Purpose, Response, WatchedChange, WatcherId};
use crate::fault::Fault;
use crate::json::encode;
use crate::kinds::{Kinds, ResourceId};
use crate::message::RequestId;
use crate::object::{ChangeKind, Object, frame};
use crate::selector::Selector;
use crate::status::{self, ApiError, too_large, watch_compacted};
use crate::time::{Time, Wall};
use crate::version::UnsetWatch;

/// Time from when the last bookmark of a watch is due to the watch's deadline
/// (docs/semantics/lists-and-watches.md#bookmark-period). The bookmark comes up to [`BOOKMARK_TICK`] after it is due. A
/// watch whose lifetime is not longer than this time has no such bookmark.
const BOOKMARK_BEFORE_DEADLINE: Duration = Duration::from_secs(2);

/// The longest delay of a due bookmark: the dispatcher's timer ticks about once a second
/// (docs/semantics/lists-and-watches.md#bookmark-period), with up to 25 % jitter (apiserver
/// `storage/cacher/cacher.go`, 1.36).
const BOOKMARK_TICK: Duration = Duration::from_millis(1250);

/// Slots of each of the two channels of a direct watch, which etcd serves; an event without a free slot ends the watch.
/// Both channels together hold as many frames as the largest ring has events (docs/semantics/servers.md#ring). etcd's
/// client has no bound (docs/semantics/lists-and-watches.md#uncached). The number has no other source.
const DIRECT_SLOTS: usize = 51_200;

/// The parts of the world that a reply needs to fill the network.
pub(crate) struct Sending<'a> {
    /// Whether the server answers about itself and in Tables.
    pub(crate) answers: Answers,
    pub(crate) now: Time,
    pub(crate) wall: Wall,
    pub(crate) kinds: &'a Kinds,
    pub(crate) per_initial_event: Duration,
    pub(crate) alarms: &'a mut Vec<(Time, Alarm)>,
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
        let options = ListOptions::parse(query, ctx.version)?;
        let kind = ctx.kinds.get(target.resource);
        let selector = Selector::parse(&options.label_selector, &options.field_selector, kind)?;
        let revision = options.revision()?;
        let lifetime = match options.timeout_seconds {
            // A negative timeout is over before the watch has begun.
            Some(secs) if secs != 0 => Duration::from_secs(u64::try_from(secs).unwrap_or(0)),
            _ => {
                let (least, most) = ctx.settings.watch_lifetime;
                ctx.random.span(least, most)
            }
        };
        let parameters = WatchParameters {
            resource: target.resource,
            prefix: kind.scope_prefix(&target.namespace),
            selector,
            representation: form,
            bookmarks: options.allow_watch_bookmarks && ctx.version.has_bookmarks(),
            deadline: ctx.now + lifetime,
            delete_keeps_old_revision: ctx.version.delete_keeps_old_revision(),
        };
        let current = ctx.etcd.revision();
        let (start, fresh_at) = match (options.send_initial_events, revision) {
            (Some(true), None) => (Start::State, current),
            (Some(true), Some(r)) => (Start::State, r),
            (Some(false), None) => (Start::After(current), 0),
            (Some(false), Some(0)) => (Start::Now, 0),
            (None, None | Some(0)) => (Start::State, 0),
            (_, Some(r)) => (Start::After(r), 0),
        };
        let to_etcd = revision.is_none()
            && options.send_initial_events.is_none()
            && ctx.version.unset_watch() == UnsetWatch::Etcd;
        let watch = PendingWatch {
            parameters,
            start,
            fresh_at,
            is_watch_list: options.send_initial_events == Some(true),
        };
        if to_etcd || !self.cachers.contains_key(&target.resource) {
            self.begin_direct_watch(id, watch, ctx);
            return Ok(Outcome::Open);
        }
        self.begin_when_fresh(id, target.resource, watch, ctx)
    }

    /// Begins a watch of the watch cache once the cache is ready and fresh enough. Since 1.31 a cache that is not ready
    /// refuses with 429.
    pub(super) fn begin_when_fresh(
        &mut self,
        id: RequestId,
        resource: ResourceId,
        watch: PendingWatch,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ApiError> {
        if let Some(refusal) = self.not_ready(resource, ctx) {
            if ctx.version.refuses_while_initializing() {
                return Err(refusal);
            }
            self.wait(id, resource, Until::Ready, PendingRead::Watch(watch), ctx);
            return Ok(Outcome::Open);
        }
        let at = self
            .cachers
            .get(&resource)
            .map_or(0, |c| c.cache.revision());
        if at < watch.fresh_at {
            let until = Until::Revision(watch.fresh_at);
            self.wait(id, resource, until, PendingRead::Watch(watch), ctx);
        } else {
            self.begin_watch(id, watch, ctx);
        }
        Ok(Outcome::Open)
    }

    /// Opens the watch's stream: sends the head, then the events that the watch gets first.
    fn begin_watch(&mut self, id: RequestId, watch: PendingWatch, ctx: &mut Context<'_>) {
        let resource = watch.parameters.resource;
        let Some(cacher) = self.cachers.get(&resource) else {
            return;
        };
        let kind = ctx.kinds.get(resource);
        let indexed = kind.kind == "Pod";
        let triggered = indexed && watch.parameters.selector.selects_node();
        let slots = cacher.cache.buffer_slots(indexed, triggered, ctx.version);
        let at = cacher.cache.revision();
        let silently_expires = ctx.is_on_for(resource, |fault| {
            matches!(fault, Fault::SilentExpiry { .. })
        });
        let (floor, first) = match watch.start {
            Start::State => {
                let prefix = &watch.parameters.prefix;
                let matches = |o: &&Arc<Object>| watch.parameters.selector.matches(o);
                let found = cacher.cache.list(prefix, "").map(|(_, o)| o);
                let mut objects: Vec<Arc<Object>> = found.filter(matches).cloned().collect();
                if !ctx.version.orders_initial_events()
                    || ctx.is_on_for(resource, |f| matches!(f, Fault::UnsortedInitial { .. }))
                {
                    ctx.random.shuffle(&mut objects);
                }
                if let Err(error) = readable(objects.iter(), resource, ctx) {
                    return self.fail_watch(id, &error, ctx);
                }
                (at, First::Objects(objects.into_iter()))
            }
            Start::Now => (at, First::Nothing),
            Start::After(revision) => match cacher.cache.replay_after(revision) {
                Ok(mut replay) => {
                    let prefix = &watch.parameters.prefix;
                    let replayed = cacher.cache.changes_after(revision);
                    let replayed =
                        replayed.filter(|change| change.key.starts_with(prefix.as_str()));
                    if let Err(error) = readable(replayed.map(|c| &c.object), resource, ctx) {
                        return self.fail_watch(id, &error, ctx);
                    }
                    let races = |f: &Fault| matches!(f, Fault::StartRace { .. });
                    let mut floor = revision;
                    if ctx.is_on_for(resource, races) && !replay.skip_one() {
                        // The first event has not reached the cache yet.
                        floor = at + 1;
                    }
                    (floor, First::Ring(replay, Default::default()))
                }
                Err(_) if silently_expires => return self.end_at_once(id, ctx),
                Err(error) => {
                    let as_status =
                        ctx.is_on_for(resource, |f| matches!(f, Fault::GoneAsStatus { .. }));
                    return if as_status {
                        self.refuse(id, &error, ctx)
                    } else {
                        self.fail_watch(id, &error, ctx)
                    };
                }
            },
        };
        let watcher = Watcher::new(watch.parameters, floor);
        let ends_initial = watch.is_watch_list
            && watcher.bookmarks()
            && !ctx.is_on_for(resource, |f| matches!(f, Fault::NoEndBookmark { .. }));
        let bookmarks = watcher.bookmarks();
        let deadline = watcher.deadline();
        let open = OpenWatch {
            backlog: Backlog::new(first, ends_initial.then_some(at), slots),
            watcher,
            source: Source::Cache,
        };
        self.open_stream(id, open, ctx);
        if let Some(cacher) = self.cachers.get_mut(&resource) {
            cacher.dispatcher.add(id);
        }
        if bookmarks {
            schedule_bookmark(id, deadline, ctx);
        }
    }

    /// Begins a direct watch, which etcd serves: its resource has no watch cache, or it has no resourceVersion and the
    /// server's version sends such watches to etcd (docs/semantics/lists-and-watches.md#watch-without-version).
    fn begin_direct_watch(&mut self, id: RequestId, watch: PendingWatch, ctx: &mut Context<'_>) {
        let current = ctx.etcd.revision();
        if watch.fresh_at > current {
            return self.fail_watch(id, &too_large(watch.fresh_at, current), ctx);
        }
        let resource = watch.parameters.resource;
        let open = match ctx.etcd.leader_is_given_up_at(ctx.server, ctx.now) {
            Some(at) if watch.start == Start::State && ctx.version.requires_leader() => {
                ctx.alarms.push((at, Alarm::NoLeader(id)));
                self.leaderless.insert(id, watch.clone());
                OpenWatch {
                    watcher: Watcher::new(watch.parameters, 0),
                    backlog: Backlog::new(First::Nothing, None, DIRECT_SLOTS),
                    source: Source::Stranded,
                }
            }
            _ => self.direct_watch(id, watch, ctx),
        };
        self.open_stream(id, open, ctx);
        self.direct.entry(resource).or_default().insert(id);
    }

    /// Opens a direct watch: makes a list and a watch of etcd for this watch alone.
    fn direct_watch(
        &mut self,
        id: RequestId,
        watch: PendingWatch,
        ctx: &mut Context<'_>,
    ) -> OpenWatch {
        let current = ctx.etcd.revision();
        let resource = watch.parameters.resource;
        let prefix = watch.parameters.prefix.clone();
        let (after, first, end) = match watch.start {
            Start::State => {
                let found = ctx.etcd.range_of_member(ctx.server, &prefix, "", current);
                let matches = |o: &&Arc<Object>| watch.parameters.selector.matches(o);
                let objects: Vec<Arc<Object>> = found.map_or_else(
                    |_| Vec::new(),
                    |found| found.map(|(_, o)| o).filter(matches).cloned().collect(),
                );
                let end = watch.is_watch_list.then_some(current);
                (current, First::Objects(objects.into_iter()), end)
            }
            Start::Now => (current, First::Nothing, None),
            Start::After(revision) => (revision, First::Nothing, None),
        };
        let owner = Owner::Client(id);
        let upstream = self.open_upstream(resource, Purpose::Direct, prefix, after + 1, owner, ctx);
        let watcher = Watcher::new(watch.parameters, after);
        OpenWatch {
            backlog: Backlog::new(first, end.filter(|_| watcher.bookmarks()), DIRECT_SLOTS),
            watcher,
            source: Source::Etcd(upstream),
        }
    }

    /// Sends the initial events on direct watches that waited for etcd's leader.
    pub(super) fn begin_leaderless_watches(&mut self, ctx: &mut Context<'_>) {
        for (id, watch) in std::mem::take(&mut self.leaderless) {
            let open = self.direct_watch(id, watch, ctx);
            if let Some(reply) = self.replies.get_mut(&id) {
                reply.begin_watch(open);
                self.soil(id);
            }
        }
    }

    /// Ends a direct watch whose initial state etcd's client has requested without success for 2.5 s.
    pub(super) fn give_up_leader(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        if self.leaderless.remove(&id).is_some() {
            self.error_watch(id, &no_leader(), ctx);
        }
    }

    fn open_stream(&mut self, id: RequestId, open: OpenWatch, ctx: &mut Context<'_>) {
        let headers = stream_headers(ctx);
        let deadline = open.watcher.deadline();
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.set_head(200, headers);
            reply.begin_watch(open);
            self.soil(id);
            ctx.alarms.push((deadline, Alarm::Deadline(id)));
        }
    }

    /// Opens the watch's stream only to send the ERROR that ends it (docs/semantics/requests.md#errors).
    pub(super) fn fail_watch(&mut self, id: RequestId, error: &ApiError, ctx: &mut Context<'_>) {
        let headers = stream_headers(ctx);
        let status = error.status_of(ctx.version);
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.set_head(200, headers);
            reply.extend([frame("ERROR", &encode(&status))]);
            reply.end();
            self.soil(id);
        }
    }

    /// Opens the watch's stream only to end it without an ERROR (F10).
    fn end_at_once(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        let headers = stream_headers(ctx);
        if let Some(reply) = self.replies.get_mut(&id) {
            reply.set_head(200, headers);
            reply.end();
            self.soil(id);
        }
    }

    /// Takes in a response of etcd for a direct watch.
    pub(super) fn direct_watch_receives(
        &mut self,
        id: RequestId,
        response: Response,
        ctx: &mut Context<'_>,
    ) {
        match response.content {
            Content::Events(events) => {
                for event in events {
                    self.direct_watch_takes(id, &event, ctx);
                }
            }
            // Only the watch cache requests progress and sends bookmarks
            // (docs/semantics/lists-and-watches.md#uncached).
            Content::Progress => {}
            Content::Compacted => self.error_watch(id, &watch_compacted(), ctx),
            Content::NoLeader => self.error_watch(id, &no_leader(), ctx),
        }
    }

    fn direct_watch_takes(&mut self, id: RequestId, event: &WatchedChange, ctx: &mut Context<'_>) {
        let change = &event.change;
        if change.kind != ChangeKind::Added && !event.has_previous {
            if ctx.version.refuses_missing_previous() {
                let kind = match change.kind {
                    ChangeKind::Deleted => "DELETE",
                    _ => "PUT",
                };
                let error = status::internal_error(&format!(
                    "etcd event received with PrevKv=nil (key={:?}, modRevision={}, type={kind})",
                    change.key, change.revision
                ));
                self.error_watch(id, &error, ctx);
            }
            return;
        }
        let Some(reply) = self.replies.get_mut(&id) else {
            return;
        };
        let Some(watch) = reply.watch.as_mut() else {
            return;
        };
        let context = FrameContext {
            answers: ctx.answers,
            kind: ctx.kinds.get(change.resource),
            wall: ctx.wall,
            now: ctx.now,
        };
        if let Some(frame) = watch.watcher.live(change, context) {
            if watch.backlog.has_slot() {
                watch.backlog.push(frame);
                self.soil(id);
            } else {
                self.end_watch(id, ctx);
            }
        }
    }

    /// Ends a watch with an ERROR after its waiting frames.
    pub(super) fn error_watch(&mut self, id: RequestId, error: &ApiError, ctx: &mut Context<'_>) {
        let status = error.status_of(ctx.version);
        let frame = frame("ERROR", &encode(&status));
        self.finish_watch(id, Some(frame.clone()), ctx);
    }

    /// Ends a watch because an event's object cannot be converted to the version that the watch requested (F38).
    pub(super) fn fail_conversion(
        &mut self,
        id: RequestId,
        resource: ResourceId,
        ctx: &mut Context<'_>,
    ) {
        let kind = ctx.kinds.get(resource);
        let error = status::cannot_convert(&kind.api_version(), &kind.kind);
        self.error_watch(id, &error, ctx);
    }

    /// Ends a watch with an orderly end of the body: its waiting frames are still sent.
    pub(crate) fn end_watch(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        self.finish_watch(id, None, ctx);
    }

    /// Ends a watch if the dispatcher still waits for room in it. The frames in the watch's result channel are still
    /// sent.
    pub(super) fn terminate_if_blocking(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        let Some(watch) = self.replies.get_mut(&id).and_then(|r| r.watch.as_mut()) else {
            return;
        };
        if watch.backlog.is_blocking() {
            watch.backlog.cut_off();
            self.terminated += 1;
            self.end_watch(id, ctx);
        }
    }

    fn finish_watch(&mut self, id: RequestId, last: Option<bytes::Bytes>, ctx: &mut Context<'_>) {
        self.leaderless.remove(&id);
        let Some(reply) = self.replies.get_mut(&id) else {
            return;
        };
        let Some(mut watch) = reply.end_watch() else {
            return;
        };
        let resource = watch.watcher.resource();
        let context = FrameContext {
            answers: ctx.answers,
            kind: ctx.kinds.get(resource),
            wall: ctx.wall,
            now: ctx.now,
        };
        let cache = self.cachers.get(&resource).map(|c| &c.cache);
        // An orderly end does not interrupt the first events.
        while let Next::Frame(frame) =
            watch
                .backlog
                .next(&mut watch.watcher, cache, Duration::ZERO, context)
        {
            reply.extend([frame]);
        }
        reply.extend(last);
        self.soil(id);
        self.unregister(id, resource, watch.source, ctx);
    }

    /// Removes a watch that is over from its cacher, or from etcd and the direct watches.
    pub(super) fn unregister(
        &mut self,
        id: RequestId,
        resource: ResourceId,
        source: Source,
        ctx: &mut Context<'_>,
    ) {
        match source {
            Source::Cache => {
                if let Some(cacher) = self.cachers.get_mut(&resource) {
                    cacher.dispatcher.remove(id);
                    if cacher.dispatcher.is_blocked() {
                        ctx.alarms.push((ctx.now, Alarm::ResumeDispatch(resource)));
                    }
                }
            }
            Source::Etcd(upstream) => {
                self.close_upstream(upstream, ctx);
                if let Some(watches) = self.direct.get_mut(&resource) {
                    watches.remove(&id);
                }
            }
            Source::Stranded => {
                if let Some(watches) = self.direct.get_mut(&resource) {
                    watches.remove(&id);
                }
            }
        }
    }

    /// Notes the watch of etcd that replaces the old one of a cacher or a direct watch.
    pub(super) fn move_upstream(&mut self, owner: Owner, anew: WatcherId) {
        match owner {
            Owner::Cacher(resource) => {
                if let Some(cacher) = self.cachers.get_mut(&resource) {
                    cacher.moved(anew);
                }
            }
            Owner::Client(request) => {
                if let Some(watch) = self
                    .replies
                    .get_mut(&request)
                    .and_then(|r| r.watch.as_mut())
                {
                    watch.source = Source::Etcd(anew);
                }
            }
        }
    }

    /// Stops serving a resource: its watches end and its cache is dropped. If the resource is `replaced`, versions
    /// before 1.15 leave the watches open without events (F17).
    pub(crate) fn stop_serving(
        &mut self,
        resource: ResourceId,
        replaced: bool,
        ctx: &mut Context<'_>,
    ) {
        let ids: Vec<RequestId> = self.watches_of(resource).collect();
        let strands = replaced && !ctx.version.ends_watches_of_edited_definitions();
        for id in ids {
            if !strands {
                self.end_watch(id, ctx);
                continue;
            }
            if let Some(watch) = self.replies.get_mut(&id).and_then(|r| r.watch.as_mut()) {
                watch.source = Source::Stranded;
                self.direct.entry(resource).or_default().insert(id);
            }
        }
        self.drop_cacher(resource, ctx);
    }

    /// Sends a bookmark on a watch of the watch cache, and schedules the watch's next bookmark. Sends none if the
    /// watch's buffer is full, the revision is not new, or a fault suppresses bookmarks.
    pub(super) fn bookmark(&mut self, id: RequestId, ctx: &mut Context<'_>) {
        let Some(reply) = self.replies.get_mut(&id) else {
            return;
        };
        let Some(watch) = reply.watch.as_mut() else {
            return;
        };
        if watch.source != Source::Cache {
            return;
        }
        let resource = watch.watcher.resource();
        let deadline = watch.watcher.deadline();
        let cacher = self.cachers.get(&resource);
        let processed = cacher.map_or(0, |c| c.dispatcher.processed());
        let context = FrameContext {
            answers: ctx.answers,
            kind: ctx.kinds.get(resource),
            wall: ctx.wall,
            now: ctx.now,
        };
        let silent = ctx.is_on_for(resource, |f| matches!(f, Fault::NoBookmarks { .. }));
        let ahead = ctx.is_on_for(resource, |f| matches!(f, Fault::BookmarksAhead { .. }));
        let processed = if ahead {
            ctx.etcd.revision()
        } else {
            processed
        };
        if !silent
            && watch.backlog.has_slot()
            && let Some(frame) = watch.watcher.bookmark(processed, false, context)
        {
            watch.backlog.push(frame);
            self.soil(id);
        }
        schedule_bookmark(id, deadline, ctx);
    }

    /// Takes the next part of a reply for the network, as far as there is `room`. `None` if no part may be sent now.
    pub(crate) fn next_part(
        &mut self,
        id: RequestId,
        room: bool,
        sending: &mut Sending<'_>,
    ) -> Option<Part> {
        let reply = self.replies.get_mut(&id)?;
        if !reply.awaits_backlog() {
            return reply.next_part(room);
        }
        if !room {
            return None;
        }
        let watch = reply.watch.as_mut()?;
        let resource = watch.watcher.resource();
        let context = FrameContext {
            answers: sending.answers,
            kind: sending.kinds.get(resource),
            wall: sending.wall,
            now: sending.now,
        };
        let cache = self.cachers.get(&resource).map(|c| &c.cache);
        let blocked = watch.backlog.is_blocking();
        let next = watch.backlog.next(
            &mut watch.watcher,
            cache,
            sending.per_initial_event,
            context,
        );
        if blocked && !watch.backlog.is_blocking() {
            let alarm = Alarm::ResumeDispatch(resource);
            sending.alarms.push((sending.now, alarm));
        }
        match next {
            Next::Frame(frame) => Some(Part::Chunk(frame)),
            Next::Nothing => None,
            Next::NotBefore(at) => {
                sending.alarms.push((at, Alarm::GoOn(id)));
                None
            }
            Next::Overrun => {
                watch.backlog.cut_off();
                sending.alarms.push((sending.now, Alarm::Deadline(id)));
                None
            }
        }
    }
}

/// Returns the error of a watch whose member of etcd has no leader.
fn no_leader() -> ApiError {
    status::internal_error("etcdserver: no leader")
}

/// Schedules a watch's next bookmark: after one interval, or just before the watch's deadline (`nextBookmarkTime`).
fn schedule_bookmark(id: RequestId, deadline: Time, ctx: &mut Context<'_>) {
    let last = deadline - BOOKMARK_BEFORE_DEADLINE;
    let regular = if ctx.version.has_periodic_bookmarks() {
        ctx.now + ctx.settings.bookmark_interval
    } else {
        deadline
    };
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
    let mut headers = common_headers(ctx.random);
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    headers
}
