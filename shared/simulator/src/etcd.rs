//! etcd, the store behind the apiservers: one revision per write, its history until compaction, and watches over
//! streams.
//!
//! ```text
//!  put, delete ─► store ─► watches ─► stream (128 slots) ─► Sent ─► the world carries it to an apiserver
//! ```
//!
//! All members share one store; [`member`] has the differences between members. etcd asks to be woken with an
//! [`EtcdAlarm`], which the world hands back when the alarm is due.

mod alarm;
mod member;
mod store;
mod stream;
#[cfg(test)]
mod tests;
mod watch;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use watchscope_model::tree::BTreeSet;

pub(crate) use self::alarm::EtcdAlarm;
use self::member::Members;
pub(crate) use self::store::Compacted;
use self::store::{Missed, Store, Write};
pub(crate) use self::stream::{
    Addressee, Content, Purpose, Response, Sent, StreamKey, WatchedChange, WatcherId,
};
use self::watch::{Around, Watches};
pub(crate) use self::watcher::WatchRequest;
use crate::change::Change;
use crate::defect::Defect;
use crate::fault::Fault;
use crate::kinds::ResourceId;
use crate::message::ServerId;
use crate::object::{ChangeKind, Object};
use crate::settings::EtcdConfig;
use crate::time::Time;

/// The number of election timeouts without a leader after which etcd cancels the watches that require a leader
/// (docs/semantics/servers.md#leader-loss).
const ELECTIONS_BEFORE_CANCEL: u32 = 3;

/// Time for which etcd's client repeats the read of a direct watch's initial state while the member has no leader.
/// These are 100 attempts, 25 ms apart (etcd `client/v3/options.go`, 3.6). The time counts from the read, or from one
/// election timeout after the loss if that is later. After this time the watch ends with an ERROR.
const ATTEMPTS_WITHOUT_LEADER: Duration = Duration::from_millis(2500);

/// etcd, with all its members, their one store and their watch streams.
#[derive(Debug)]
pub(crate) struct Etcd {
    config: EtcdConfig,
    store: Store,
    watches: Watches,
    members: Members,
    defects: BTreeSet<Defect>,
    /// When the leader was lost; `None` while etcd has a leader.
    leaderless: Option<Time>,
    snapshot: Option<Store>,
    /// How many times etcd was restored, from a snapshot or to its initial state.
    restores: u32,
    committed: Vec<Arc<Change>>,
    journal: Option<Vec<Arc<Change>>>,
}

impl Etcd {
    pub(crate) fn new(config: &EtcdConfig) -> Etcd {
        Etcd {
            config: config.clone(),
            store: Store::new(),
            watches: Watches::default(),
            members: Members::default(),
            defects: BTreeSet::new(),
            leaderless: None,
            snapshot: None,
            restores: 0,
            committed: Vec::new(),
            journal: config.keep_journal.then(Vec::new),
        }
    }

    /// Returns etcd's revision: that of the last write, unless a restore or a crash has set another.
    pub(crate) fn revision(&self) -> u64 {
        self.store.revision()
    }

    /// Returns the compacted revision, below which history is gone.
    pub(crate) fn compacted(&self) -> u64 {
        self.store.compacted()
    }

    pub(crate) fn restores(&self) -> u32 {
        self.restores
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.store.get(key, &Missed::new())
    }

    /// Returns the keys under `prefix` from `start` on, with their objects as they were at `revision`, in key order.
    /// Returns [`Compacted`] if `revision` is below the compacted revision.
    pub(crate) fn range<'a>(
        &'a self,
        prefix: &'a str,
        start: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>, Compacted> {
        /// The empty set of missed writes of a member that has applied all writes.
        static NOTHING: Missed = Missed::new();
        self.store.range(prefix, start, revision, &NOTHING)
    }

    /// Returns the same as [`Etcd::range`], or the same error, as the member of a server has it; the member may have
    /// missed writes.
    pub(crate) fn range_of_member<'a>(
        &'a self,
        server: ServerId,
        prefix: &'a str,
        start: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)>, Compacted> {
        let missed = self.members.missed(server);
        self.store.range(prefix, start, revision, missed)
    }

    /// Returns a key's present state at the member of a server; `None` if the key does not exist there.
    pub(crate) fn get_of_member(&self, server: ServerId, key: &str) -> Option<&Arc<Object>> {
        self.store.get(key, self.members.missed(server))
    }

    /// Writes `value` at `key` and sets the object's resourceVersion to the new revision.
    pub(crate) fn put(
        &mut self,
        resource: ResourceId,
        key: &str,
        value: Value,
        at: Time,
    ) -> Arc<Object> {
        let change = self.commit(Write {
            resource,
            key,
            value: Some(value),
            at,
        });
        Arc::clone(&change.object)
    }

    /// Deletes `key`. Watches get the key's last stored state at the deletion's revision; the caller gets `last` at the
    /// same revision.
    pub(crate) fn delete(
        &mut self,
        resource: ResourceId,
        key: &str,
        last: Value,
        at: Time,
    ) -> Arc<Object> {
        let change = self.commit(Write {
            resource,
            key,
            value: None,
            at,
        });
        let (_, last) = store::stored(last, change.revision, ChangeKind::Deleted);
        if last.json() == change.object.json() {
            Arc::clone(&change.object)
        } else {
            Arc::new(last)
        }
    }

    /// Drops the history before `revision`, or before etcd's revision if that is lower. Does nothing if this history is
    /// already compacted. Each key keeps its newest version at or below `revision` that no member misses, and all later
    /// versions.
    pub(crate) fn compact(&mut self, revision: u64) {
        let keeps_tombstone = !self.has(Defect::DeleteLostByCompactionAtIt);
        let members = &self.members;
        self.store
            .compact(revision, keeps_tombstone, |revision| members.have(revision));
    }

    /// Returns whether the member of a server can reach a leader. Without a leader the member makes no writes and no
    /// consistent reads.
    pub(crate) fn has_leader(&self, server: ServerId) -> bool {
        self.leaderless.is_none() && !self.members.is_partitioned(server)
    }

    /// Returns when a request that needs a leader is given up if it reaches the member of a server now; `None` if the
    /// member has a leader.
    pub(crate) fn leader_is_given_up_at(&self, server: ServerId, now: Time) -> Option<Time> {
        let member = self.members.partitioned_since(server);
        let since = self.leaderless.or(member)?;
        let known = now.max(since + self.config.election_timeout);
        Some(known + ATTEMPTS_WITHOUT_LEADER)
    }

    /// Returns whether the whole etcd cluster has no leader.
    pub(crate) fn is_leaderless(&self) -> bool {
        self.leaderless.is_some()
    }

    pub(crate) fn lose_leader(&mut self, now: Time) {
        if self.leaderless.is_none() {
            self.leaderless = Some(now);
            self.await_leader(None, now);
        }
    }

    pub(crate) fn elect_leader(&mut self) {
        self.leaderless = None;
    }

    /// Cuts the member of a server off from the other members.
    pub(crate) fn partition(&mut self, server: ServerId, now: Time) {
        if !self.members.is_partitioned(server) {
            let revision = self.store.revision();
            self.members.partition(server, now, revision);
            self.await_leader(Some(server), now);
        }
    }

    /// Ends the partition of a server's member, which then gets the leader's snapshot.
    pub(crate) fn heal(&mut self, server: ServerId, now: Time) {
        if self.members.heal(server) {
            let (watches, around) = self.parts(now);
            watches.restore(server, around);
        }
    }

    /// Makes the member of a server miss writes from now on (`true`), or apply further writes again (`false`).
    pub(crate) fn miss_writes(&mut self, server: ServerId, on: bool) {
        self.members.miss_writes(server, on);
    }

    pub(crate) fn switch(&mut self, defect: Defect, on: bool) {
        if on {
            self.defects.insert(defect);
        } else {
            self.defects.remove(&defect);
        }
    }

    /// Returns whether apiservers trust etcd's progress notifications
    /// (docs/semantics/lists-and-watches.md#consistent-list).
    pub(crate) fn is_trusted(&self) -> bool {
        match self.config.version {
            Some(version) => version.is_trusted(),
            None => !self.defects.iter().any(|d| d.is_of_untrusted_etcd()),
        }
    }

    /// Returns whether the configured release of etcd can have a fault.
    pub(crate) fn can_have(&self, fault: &Fault) -> bool {
        let version = self.config.version;
        version.is_none_or(|version| version.check(fault).is_ok())
    }

    /// Makes each response on the watch streams of a server and resource take `per_response`; `None` removes this
    /// delay. A server or resource of `None` means all.
    pub(crate) fn slow_streams(
        &mut self,
        server: Option<ServerId>,
        resource: Option<ResourceId>,
        per_response: Option<Duration>,
    ) {
        match per_response {
            Some(span) => self.watches.slow.insert((server, resource), span),
            None => self.watches.slow.remove(&(server, resource)),
        };
    }

    /// Saves etcd's state for a later restore.
    pub(crate) fn take_snapshot(&mut self) {
        self.snapshot = Some(self.store.clone());
    }

    /// Restores the snapshot, or the initial state if there is none. With `bump` the revision is raised by this number,
    /// and all history before the raised revision is marked as compacted.
    pub(crate) fn restore(&mut self, bump: Option<u64>, now: Time) {
        self.store = self.snapshot.clone().unwrap_or_else(Store::new);
        if let Some(by) = bump {
            self.store.bump(by);
        }
        let revision = self.store.revision();
        if let Some(journal) = &mut self.journal {
            journal.retain(|change| change.revision <= revision);
        }
        self.restores += 1;
        self.break_streams(now);
    }

    /// Crashes etcd and starts it again. With `during_compaction` etcd crashes while it compacts all its history.
    pub(crate) fn restart(&mut self, during_compaction: bool, now: Time) {
        if during_compaction {
            self.compact(self.store.revision());
            if self.has(Defect::RevisionDecreasesAfterCrash) {
                self.store.recount_revision();
            }
        }
        if self.has(Defect::DeleteLostByRestartAfterCompaction) {
            self.store.drop_tombstone_at_compaction();
        }
        self.break_streams(now);
    }

    /// Opens a watch of etcd and returns its id. A watch that requires a leader is refused by a response if it needs a
    /// new stream and the loss of the leader is known.
    pub(crate) fn watch(&mut self, request: WatchRequest, now: Time) -> WatcherId {
        let server = request.stream.server;
        let since = self
            .leaderless
            .or_else(|| self.members.partitioned_since(server));
        // An existing stream is given up late. A new one is refused at once, when the loss of the leader is known.
        let given_up = request.requires_leader
            && !self.watches.has_stream(request.stream)
            && since.is_some_and(|since| now.since(since) >= self.config.election_timeout);
        let (watches, around) = self.parts(now);
        if given_up {
            watches.refuse(request.stream, around)
        } else {
            watches.create(request, around)
        }
    }

    pub(crate) fn cancel(&mut self, watcher: WatcherId, now: Time) {
        self.watches.cancel(watcher, now);
    }

    pub(crate) fn request_progress(&mut self, stream: StreamKey, now: Time) {
        let (watches, around) = self.parts(now);
        watches.request_progress(stream, around);
    }

    pub(crate) fn alarm(&mut self, alarm: &EtcdAlarm, now: Time) {
        if let EtcdAlarm::NoLeader { member, since } = alarm {
            let still = match member {
                None => self.leaderless == Some(*since),
                Some(server) => self.members.partitioned_since(*server) == Some(*since),
            };
            if still {
                let member = *member;
                let (watches, around) = self.parts(now);
                let which = |key: &StreamKey| member.is_none_or(|server| key.server == server);
                watches.cancel_leaderless(which, around);
            }
            return;
        }
        let (watches, around) = self.parts(now);
        watches.alarm(alarm, around);
    }

    /// Takes the responses that etcd sent since the last call, for the world to carry to the apiservers.
    pub(crate) fn take_sent(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.watches.sent)
    }

    pub(crate) fn take_alarms(&mut self) -> Vec<(Time, EtcdAlarm)> {
        std::mem::take(&mut self.watches.alarms)
    }

    /// Takes the changes that etcd committed since the last call.
    pub(crate) fn take_committed(&mut self) -> Vec<Arc<Change>> {
        std::mem::take(&mut self.committed)
    }

    /// Iterates over etcd's watch streams: key, number of responses that wait in the stream's channel, and whether all
    /// the stream's watchers are synced.
    #[cfg(test)]
    pub(crate) fn streams(&self) -> impl Iterator<Item = (StreamKey, usize, bool)> {
        self.watches.streams()
    }

    /// Returns all changes that etcd keeps, oldest first: with a journal all since the world was made, else those from
    /// the compacted revision on. A restore drops changes above its revision.
    pub(crate) fn kept_changes(&self) -> Vec<Arc<Change>> {
        match &self.journal {
            Some(journal) => journal.clone(),
            None => self.store.history().cloned().collect(),
        }
    }

    fn commit(&mut self, write: Write<'_>) -> Arc<Change> {
        let now = write.at;
        let change = self.store.write(write);
        self.members.committed(change.revision);
        if let Some(journal) = &mut self.journal {
            journal.push(Arc::clone(&change));
        }
        let (watches, around) = self.parts(now);
        watches.notify(&change, around);
        self.committed.push(Arc::clone(&change));
        change
    }

    fn break_streams(&mut self, now: Time) {
        let (watches, around) = self.parts(now);
        watches.break_streams(|_| true, around);
    }

    fn await_leader(&mut self, member: Option<ServerId>, since: Time) {
        let alarm = EtcdAlarm::NoLeader { member, since };
        self.watches.alarms.push((since + self.patience(), alarm));
    }

    fn patience(&self) -> Duration {
        self.config.election_timeout * ELECTIONS_BEFORE_CANCEL
    }

    fn has(&self, defect: Defect) -> bool {
        self.defects.contains(&defect)
    }

    fn parts(&mut self, now: Time) -> (&mut Watches, Around<'_>) {
        let around = Around {
            now,
            store: &self.store,
            members: &self.members,
            defects: &self.defects,
            config: &self.config,
        };
        (&mut self.watches, around)
    }
}
