//! An apiserver's state: its caches, its replies, and its requests and watches that wait.

use std::time::Duration;

use bytes::Bytes;
use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::answer::{Answer, Outcome, common_headers};
use super::cacher::Cacher;
use super::context::Context;
use super::pending::{PendingWatch, Waiting};
use super::reply::Reply;
use super::upstream::Upstream;
use crate::kinds::ResourceId;
use crate::message::{Request, RequestId, ServerId};
use crate::status::ApiError;
use crate::time::{Time, micros};
use crate::version::Version;

/// The most unmodelled requests that a server names until the driver takes them; further requests are only counted.
/// This bounds the memory of a world whose driver takes none. The number has no source.
const UNMODELLED_NAMED_MOST: usize = 64;

/// Time between two polls in which a server learns how far etcd is compacted (docs/semantics/servers.md#snapshots).
const COMPACTION_POLL: Duration = Duration::from_secs(15);

/// A compaction of etcd.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compaction {
    at: Time,
    /// The compacted revision.
    revision: u64,
}

/// The stages of an apiserver's process, from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Serving,
    /// The server got SIGTERM. It still serves requests, and only `/readyz` fails.
    Unready,
    /// The server refuses new requests, but not health probes, metrics and requests of apiservers.
    Refusing {
        /// Whether the server refuses with 429 (`--shutdown-send-retry-after`) instead of 503.
        sends_retry_after: bool,
        /// Whether the server refuses new watches, too.
        watches: bool,
    },
    /// The server's process has ended.
    Gone,
}

/// An apiserver.
#[derive(Debug)]
pub(crate) struct Apiserver {
    pub(crate) id: ServerId,
    pub(crate) life: Life,
    pub(super) version: Version,
    pub(super) started_at: Time,
    /// The highest attempt number of any cacher that is gone. A new cacher counts on from this number, so that it does
    /// not take an old cacher's alarm for its own.
    pub(super) attempts: u32,
    /// The cachers of resources that have a watch cache.
    pub(super) cachers: BTreeMap<ResourceId, Cacher>,
    pub(super) upstream: Upstream,
    pub(super) replies: BTreeMap<RequestId, Reply>,
    /// Open watches that no cacher serves: watches of etcd itself, and stranded watches, which get no more events.
    pub(super) direct: BTreeMap<ResourceId, BTreeSet<RequestId>>,
    /// Reads that wait until their cache is ready or fresh.
    pub(super) waiting: BTreeMap<RequestId, Waiting>,
    /// Requests that wait until etcd has a leader.
    pub(super) parked: BTreeMap<RequestId, Request>,
    /// Open direct watches that first need etcd's state, and wait until etcd has a leader.
    pub(super) leaderless: BTreeMap<RequestId, PendingWatch>,
    /// Resources for which the server requests progress from etcd.
    pub(super) progress_asked: BTreeSet<ResourceId>,
    /// Replies that have something new for the network.
    pub(super) dirty: Vec<RequestId>,
    /// The last compactions of etcd. The server learns of a compaction with its next poll.
    pub(super) compactions: Vec<Compaction>,
    /// The number of watches ended because their buffers stayed full (`apiserver_terminated_watchers_total`).
    pub(super) terminated: u64,
    pub(super) unmodelled: Unmodelled,
}

/// The requests that a server answered 501.
///
/// Bounded: at most 64 requests are named until the driver takes them; all are counted.
#[derive(Debug, Default)]
pub(super) struct Unmodelled {
    pub(super) named: Vec<String>,
    pub(super) count: u64,
}

impl Unmodelled {
    pub(super) fn note(&mut self, request: &Request, why: &str) {
        self.count += 1;
        if self.named.len() < UNMODELLED_NAMED_MOST {
            let Request { method, path, .. } = request;
            self.named.push(format!("{method} {path}: {why}"));
        }
    }
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

    /// Takes the requests that were answered 501 since the last call: method, path and reason.
    pub(crate) fn take_unmodelled(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unmodelled.named)
    }

    /// The number of requests that were answered 501.
    pub(crate) fn unmodelled(&self) -> u64 {
        self.unmodelled.count
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Returns whether the reply to a request is that of a watch.
    pub(crate) fn is_watch(&self, id: RequestId) -> bool {
        self.replies.get(&id).is_some_and(Reply::is_watch)
    }

    /// Takes the replies that have something new for the network.
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

    /// Notes a compaction of etcd. The server learns of the compaction with its next poll
    /// (docs/semantics/servers.md#snapshots).
    pub(crate) fn compacted(&mut self, revision: u64, now: Time) {
        let known = self.known_compaction(now);
        self.compactions
            .retain(|compaction| compaction.revision >= known);
        self.compactions.push(Compaction { at: now, revision });
    }

    /// The compacted revision that the server knows from its last poll.
    pub(super) fn known_compaction(&self, now: Time) -> u64 {
        let poll = |at: Time| micros(at.since(self.started_at)) / micros(COMPACTION_POLL);
        let known = self
            .compactions
            .iter()
            .filter(|compaction| poll(compaction.at) < poll(now));
        known
            .map(|compaction| compaction.revision)
            .max()
            .unwrap_or(0)
    }

    /// Puts a whole answer into a reply.
    pub(super) fn answer(&mut self, id: RequestId, answer: Answer, ctx: &mut Context<'_>) {
        let length: usize = answer.body.iter().map(Bytes::len).sum();
        let mut headers = common_headers(ctx.random);
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

    pub(super) fn refuse(&mut self, id: RequestId, error: &ApiError, ctx: &mut Context<'_>) {
        let answer = Answer::refusal(error, ctx.version);
        self.answer(id, answer, ctx);
    }

    pub(super) fn finish(
        &mut self,
        id: RequestId,
        outcome: Result<Outcome, ApiError>,
        ctx: &mut Context<'_>,
    ) {
        match outcome {
            Ok(Outcome::Now(answer) | Outcome::Committed(answer)) => self.answer(id, answer, ctx),
            Ok(Outcome::Open) => {}
            Err(error) => self.refuse(id, &error, ctx),
        }
    }

    /// Notes that a reply has something new for the network.
    pub(super) fn soil(&mut self, id: RequestId) {
        if let Some(reply) = self.replies.get_mut(&id)
            && !std::mem::replace(&mut reply.is_dirty, true)
        {
            self.dirty.push(id);
        }
    }
}
