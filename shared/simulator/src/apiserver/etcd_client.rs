//! An apiserver's client of etcd. The client gives each response to the watch that it is for, and opens watches again
//! when a stream breaks.
//!
//! Like etcd's real client, it has a stream per resource, which all watches with equal context metadata share. The
//! client buffers responses without a limit of its own (docs/semantics/servers.md#watch-stream).

use super::context::Context;
use super::server::Apiserver;
use super::upstream::{Owner, Watch};
use crate::etcd::{Addressee, Content, Purpose, Response, StreamKey, WatchRequest, WatcherId};
use crate::kinds::ResourceId;

impl Apiserver {
    pub(super) fn open_upstream(
        &mut self,
        resource: ResourceId,
        purpose: Purpose,
        prefix: String,
        start: u64,
        owner: Owner,
        ctx: &mut Context<'_>,
    ) -> WatcherId {
        let purpose = if ctx.version.separates_cache_stream() {
            purpose
        } else {
            Purpose::Cache
        };
        let request = WatchRequest {
            stream: StreamKey {
                server: ctx.server,
                resource,
                purpose,
            },
            prefix,
            start,
            progress_notify: matches!(owner, Owner::Cacher(_)),
            requires_leader: ctx.version.requires_leader(),
        };
        let id = ctx.etcd.watch(request.clone(), ctx.now);
        self.upstream.0.insert(id, Watch { owner, request });
        id
    }

    pub(super) fn close_upstream(&mut self, watch: WatcherId, ctx: &mut Context<'_>) {
        if self.upstream.0.remove(&watch).is_some() {
            ctx.etcd.cancel(watch, ctx.now);
        }
    }

    /// Returns the stream of a cacher's own watch, over which the server requests progress. `None` while the cacher has
    /// no watch.
    pub(super) fn cacher_stream(&self, resource: ResourceId) -> Option<StreamKey> {
        let own = self
            .upstream
            .0
            .values()
            .find(|watch| watch.owner == Owner::Cacher(resource));
        own.map(|watch| watch.request.stream)
    }

    /// Gives a response of etcd to the cacher or direct watch that the response is for.
    pub(crate) fn receive(&mut self, stream: StreamKey, response: Response, ctx: &mut Context<'_>) {
        let id = match response.to {
            Addressee::Watcher(id) => id,
            Addressee::StreamUpTo(last) => {
                let all = self.upstream.0.iter();
                let owners: Vec<Owner> = all
                    .filter(|(id, watch)| **id <= last && watch.request.stream == stream)
                    .map(|(_, watch)| watch.owner)
                    .collect();
                for owner in owners {
                    self.hand_on(owner, response.clone(), ctx);
                }
                return;
            }
        };
        let Some(watch) = self.upstream.0.get_mut(&id) else {
            // Its watch was cancelled meanwhile.
            return;
        };
        let owner = watch.owner;
        let last = match &response.content {
            Content::Events(events) => events.last().map(|e| e.change.revision),
            _ => None,
        };
        watch.request.start = last.unwrap_or(response.revision) + 1;
        if matches!(response.content, Content::Compacted | Content::NoLeader) {
            self.upstream.0.remove(&id);
        }
        self.hand_on(owner, response, ctx);
    }

    /// Opens the watches of a broken stream again at the revisions that they had reached, so that no client notices.
    pub(crate) fn stream_broke(&mut self, stream: StreamKey, ctx: &mut Context<'_>) {
        let ids: Vec<WatcherId> = self
            .upstream
            .0
            .iter()
            .filter(|(_, watch)| watch.request.stream == stream)
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            let Some(watch) = self.upstream.0.remove(&id) else {
                continue;
            };
            let anew = ctx.etcd.watch(watch.request.clone(), ctx.now);
            self.move_upstream(watch.owner, anew);
            self.upstream.0.insert(anew, watch);
        }
    }

    fn hand_on(&mut self, owner: Owner, response: Response, ctx: &mut Context<'_>) {
        match owner {
            Owner::Cacher(resource) => self.cacher_receives(resource, response, ctx),
            Owner::Client(request) => self.direct_watch_receives(request, response, ctx),
        }
    }
}
