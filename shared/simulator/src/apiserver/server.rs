//! An apiserver's state: its caches, its replies, and the requests and watches that wait for something.

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

/// Requests that are not modelled and named until they are taken.
const UNMODELLED_NAMED_MOST: usize = 64;

/// How often a server looks up how far etcd is compacted.
const COMPACTION_POLL: Duration = Duration::from_secs(15);

/// Where an apiserver is between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Serving,
    /// It got the signal to stop, and only its readiness says so.
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
    pub(super) version: Version,
    pub(super) started_at: Time,
    /// The most attempts of a cacher that is no more: those of its successor are counted on, so that none of its alarms
    /// is taken for one of theirs.
    pub(super) attempts: u32,
    /// The cachers of resources that have a watch cache.
    pub(super) cachers: BTreeMap<ResourceId, Cacher>,
    pub(super) upstream: Upstream,
    pub(super) replies: BTreeMap<RequestId, Reply>,
    /// Open watches that no cacher knows: direct ones, and stranded ones.
    pub(super) direct: BTreeMap<ResourceId, BTreeSet<RequestId>>,
    /// Reads that wait for their cache.
    pub(super) waiting: BTreeMap<RequestId, Waiting>,
    /// Requests that wait for etcd to have a leader.
    pub(super) parked: BTreeMap<RequestId, Request>,
    /// Direct watches that are open and wait for etcd to have a leader that tells their state.
    pub(super) leaderless: BTreeMap<RequestId, PendingWatch>,
    /// Resources whose progress is to be asked of etcd.
    pub(super) progress_asked: BTreeSet<ResourceId>,
    /// Replies with something new for the network.
    pub(super) dirty: Vec<RequestId>,
    /// The last compactions of etcd, and when each happened.
    pub(super) compactions: Vec<(Time, u64)>,
    /// Watches ended since they stayed full (`apiserver_terminated_watchers_total`).
    pub(super) terminated: u64,
    pub(super) unmodelled: Unmodelled,
}

/// Requests that were answered 501.
///
/// Bounded: it names 64 until they are taken, and counts all.
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

    /// Whether a reply is a watch's.
    pub(crate) fn is_watch(&self, id: RequestId) -> bool {
        self.replies.get(&id).is_some_and(Reply::is_watch)
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

    /// etcd was compacted; the server learns of it by polling (docs/semantics/servers.md#snapshots).
    pub(crate) fn compacted(&mut self, revision: u64, now: Time) {
        let known = self.known_compaction(now);
        self.compactions.retain(|(_, at)| *at >= known);
        self.compactions.push((now, revision));
    }

    /// The compacted revision it knows of.
    pub(super) fn known_compaction(&self, now: Time) -> u64 {
        let poll = |at: Time| micros(at.since(self.started_at)) / micros(COMPACTION_POLL);
        let known = self
            .compactions
            .iter()
            .filter(|(at, _)| poll(*at) < poll(now));
        known.map(|(_, revision)| *revision).max().unwrap_or(0)
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
