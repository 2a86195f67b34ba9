//! A watch cache: the store and the ring of history that serve the lists and watches of one resource
//! (docs/semantics/servers.md#watch-cache).

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use watchscope_model::tree::BTreeMap;

use crate::change::Change;
use crate::object::{ChangeKind, Object};
use crate::settings::ApiserverConfig;
use crate::status::{ApiError, too_old};
use crate::time::Time;
use crate::version::Version;

/// Objects by their etcd key, in key order.
pub(super) type Objects = BTreeMap<Arc<str>, Arc<Object>>;

/// The most events that a replay copies from the ring at a time (`bufferSize` of apiserver
/// `storage/cacher/watch_cache_interval.go`, 1.36). When these events are sent, the replay copies the next ones. If the
/// ring has dropped the next ones, the watch ends (docs/semantics/servers.md#overrun). A watch also pauses each time
/// after sending this number of first events, unless sending takes no time or the watch ends.
pub(super) const REPLAY_CHUNK: usize = 100;

/// The watch cache of one resource.
///
/// Bounded: the ring has at most `capacity` events; a full ring drops its oldest event. The capacity adapts within the
/// configured limits.
#[derive(Debug)]
pub(super) struct WatchCache {
    /// The revision up to which the cache believes to have all changes of its resource.
    revision: u64,
    /// The revision that the cache's history begins after: that of its last list of etcd or its last `expire`. While
    /// the cache keeps no history, the revision of its last change.
    list_revision: u64,
    /// Whether the ring dropped events since the cache's last list of etcd or its last `expire`.
    lost: bool,
    ring: VecDeque<Arc<Change>>,
    /// The number of the event at the ring's front, counted since the cache was made.
    front: u64,
    capacity: usize,
    /// Whether the ring keeps events; `false` during the fault `Expire`.
    keeps_history: bool,
    store: Objects,
    /// A counter that rises by one with every change of the cache's store.
    edits: u64,
}

/// The position of a watch's replay in the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replay {
    next: u64,
    end: u64,
}

impl Replay {
    /// Returns the number of events that the replay has not yet returned.
    pub(super) fn left(&self) -> usize {
        usize::try_from(self.end.saturating_sub(self.next)).unwrap_or(usize::MAX)
    }

    /// Skips the next event of the replay. Returns whether there was an event to skip.
    pub(super) fn skip_one(&mut self) -> bool {
        let is_there = self.next < self.end;
        self.next += u64::from(is_there);
        is_there
    }
}

/// The error of a replay whose next events the ring has dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overrun;

impl WatchCache {
    pub(super) fn new(config: &ApiserverConfig) -> WatchCache {
        WatchCache {
            revision: 0,
            list_revision: 0,
            lost: false,
            ring: VecDeque::new(),
            front: 0,
            capacity: config.history_events.0.max(1),
            keeps_history: true,
            store: Objects::new(),
            edits: 0,
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the objects of the store, and the value of `edits`, which counts the store's changes.
    pub(super) fn contents(&self) -> (&Objects, u64) {
        (&self.store, self.edits)
    }

    /// The number of events in the ring, and its present capacity.
    pub(super) fn ring_size(&self) -> (usize, usize) {
        (self.ring.len(), self.capacity)
    }

    /// Takes in a list of etcd: replaces the store and empties the history (docs/semantics/servers.md#cache-start).
    pub(super) fn replace(&mut self, store: Objects, revision: u64) {
        self.store = store;
        self.edits += 1;
        self.revision = revision;
        self.forget_history(revision);
        self.lost = false;
    }

    /// Takes in an event of etcd. Returns the event as the cache delivers it: `previous` is the object that the cache
    /// held before (docs/semantics/servers.md#cache-event).
    ///
    /// The cache believes every event, even an event that comes twice or with an older revision.
    pub(super) fn receive(
        &mut self,
        change: &Arc<Change>,
        config: &ApiserverConfig,
        version: Version,
    ) -> Arc<Change> {
        self.revision = change.revision;
        self.edits += 1;
        let held = if change.kind == ChangeKind::Deleted {
            self.store.remove(&change.key)
        } else {
            self.store
                .insert(Arc::clone(&change.key), Arc::clone(&change.object))
        };
        let is_as_held = match (&held, &change.previous) {
            (Some(held), Some(previous)) => Arc::ptr_eq(held, previous),
            (None, None) => true,
            _ => false,
        };
        let delivered = if is_as_held {
            Arc::clone(change)
        } else {
            let object = match &held {
                Some(held) if change.kind == ChangeKind::Deleted => {
                    Arc::new(held.at_revision(change.revision, ChangeKind::Deleted))
                }
                _ => Arc::clone(&change.object),
            };
            Arc::new(Change {
                revision: change.revision,
                at: change.at,
                resource: change.resource,
                key: Arc::clone(&change.key),
                kind: change.kind,
                object,
                previous: held,
            })
        };
        if self.keeps_history {
            if version.resizes_ring() {
                self.adapt_capacity(change.at, config);
            }
            while self.ring.len() >= self.capacity {
                self.ring.pop_front();
                self.front += 1;
                self.lost = true;
            }
            self.ring.push_back(Arc::clone(&delivered));
        } else {
            self.list_revision = self.list_revision.max(change.revision);
        }
        delivered
    }

    /// Takes in etcd's progress notification: etcd has sent all changes of the cache's resource up to `revision`.
    pub(super) fn progress(&mut self, revision: u64) {
        self.revision = revision;
    }

    /// Drops the history and keeps none from now on, like a cache that has just listed etcd at `revision` (F11).
    pub(super) fn expire(&mut self, revision: u64) {
        self.forget_history(revision.max(self.revision));
        self.lost = false;
        self.keeps_history = false;
    }

    pub(super) fn keep_history(&mut self) {
        self.keeps_history = true;
    }

    /// Returns the replay of a watch from resourceVersion `after`, or a 410 if some events above `after` are gone
    /// (docs/semantics/servers.md#cache-resume).
    pub(super) fn replay_after(&self, after: u64) -> Result<Replay, ApiError> {
        let oldest = self.oldest_resumable();
        if after < oldest {
            return Err(too_old(after, oldest));
        }
        let skipped = self.ring.partition_point(|c| c.revision <= after);
        Ok(Replay {
            next: self.front + number(skipped),
            end: self.front + number(self.ring.len()),
        })
    }

    /// The events in the ring above a revision.
    pub(super) fn changes_after(&self, revision: u64) -> impl Iterator<Item = &Arc<Change>> {
        let later = self.ring.partition_point(|c| c.revision <= revision);
        self.ring.range(later..)
    }

    /// Takes the next events of a replay, at most [`REPLAY_CHUNK`]; none at the replay's end. Returns [`Overrun`] if
    /// the ring has dropped the next event (docs/semantics/servers.md#overrun).
    pub(super) fn next_of(&self, replay: &mut Replay) -> Result<Vec<Arc<Change>>, Overrun> {
        if replay.next >= replay.end {
            return Ok(Vec::new());
        }
        let skipped = replay.next.checked_sub(self.front).ok_or(Overrun)?;
        let from = usize::try_from(skipped).unwrap_or(usize::MAX);
        let left = usize::try_from(replay.end - replay.next).unwrap_or(usize::MAX);
        let events = self.ring.iter().skip(from).take(left.min(REPLAY_CHUNK));
        let events: Vec<Arc<Change>> = events.cloned().collect();
        replay.next += number(events.len());
        if events.is_empty() {
            return Err(Overrun);
        }
        Ok(events)
    }

    /// The objects under `prefix` from key `start` on, in key order.
    pub(super) fn list<'a>(
        &'a self,
        prefix: &'a str,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> {
        from(&self.store, prefix, start)
    }

    /// Returns the objects under `prefix` from key `start` on as they were at `revision`; `None` if the cache has not
    /// reached `revision`, or keeps no snapshot at or below it (docs/semantics/servers.md#snapshots). Snapshots are
    /// dropped with the ring's events, and below `floor` with etcd's compaction.
    pub(super) fn list_at(
        &self,
        prefix: &str,
        start: &str,
        revision: u64,
        floor: u64,
    ) -> Option<Vec<(Arc<str>, Arc<Object>)>> {
        let is_full = self.ring.len() >= self.capacity;
        let oldest_of_ring = self.ring.front().map_or(0, |c| c.revision);
        let floor = if is_full {
            floor.max(oldest_of_ring)
        } else {
            floor
        };
        let oldest_snapshot = if self.list_revision >= floor {
            Some(self.list_revision)
        } else {
            let kept = self.ring.iter().find(|c| c.revision >= floor);
            kept.map(|c| c.revision)
        };
        if revision > self.revision || oldest_snapshot.is_none_or(|oldest| oldest > revision) {
            return None;
        }
        // The state of a key at `revision` is the one before its first later change.
        let mut before: BTreeMap<&Arc<str>, Option<&Arc<Object>>> = BTreeMap::new();
        let later = self.ring.partition_point(|c| c.revision <= revision);
        for change in self.ring.range(later..) {
            before
                .entry(&change.key)
                .or_insert(change.previous.as_ref());
        }
        let at_or_after = if start > prefix { start } else { prefix };
        let mut found: BTreeMap<Arc<str>, Arc<Object>> = self
            .list(prefix, start)
            .filter(|(key, _)| !before.contains_key(key))
            .map(|(key, object)| (Arc::clone(key), Arc::clone(object)))
            .collect();
        for (key, object) in before {
            if let Some(object) = object
                && key.starts_with(prefix)
                && &**key >= at_or_after
            {
                found.insert(Arc::clone(key), Arc::clone(object));
            }
        }
        Some(found.into_iter().collect())
    }

    pub(super) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.store.get(key)
    }

    /// Returns the number of slots of a new watch's input channel, and equally of its result channel
    /// (docs/semantics/servers.md#buffers). `indexed`: the resource has an index that selectors can use. `triggered`:
    /// the watch's selector uses the index.
    pub(super) fn buffer_slots(&self, indexed: bool, triggered: bool, version: Version) -> usize {
        if !version.sizes_buffers_by_ring() {
            return if indexed && !triggered { 1000 } else { 10 };
        }
        let most = match (indexed, triggered) {
            (true, true) => 10,
            (true, false) => 1000,
            (false, _) => 100,
        };
        self.capacity.div_ceil(75).clamp(10, most)
    }

    /// Returns the lowest revision that a watch of the cache can start from.
    pub(super) fn oldest_resumable(&self) -> u64 {
        match self.ring.front() {
            Some(oldest) if self.lost => oldest.revision.saturating_sub(1),
            _ => self.list_revision,
        }
    }

    fn forget_history(&mut self, revision: u64) {
        self.front += number(self.ring.len());
        self.ring.clear();
        self.list_revision = revision;
    }

    /// Doubles a full ring that spans less time than the window, and halves a full ring whose newest quarter spans more
    /// than the window (docs/semantics/servers.md#ring).
    fn adapt_capacity(&mut self, now: Time, config: &ApiserverConfig) {
        if self.ring.len() < self.capacity {
            return;
        }
        let (least, most) = config.history_events;
        let spans = |from: Option<&Arc<Change>>| from.map(|c| now.since(c.at));
        let newest_quarter = self
            .ring
            .len()
            .saturating_sub(self.capacity / 4)
            .min(self.ring.len() - 1);
        if spans(self.ring.front()).is_some_and(|span| span < config.history_window) {
            self.capacity = (self.capacity * 2).min(most).max(1);
        } else if spans(self.ring.get(newest_quarter))
            .is_some_and(|span| span > config.history_window)
        {
            self.capacity = (self.capacity / 2).max(least).max(1);
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn from<'a>(
    objects: &'a Objects,
    prefix: &'a str,
    start: &'a str,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> {
    let from = if start > prefix { start } else { prefix };
    objects
        .range::<str, _>((Bound::Included(from), Bound::Unbounded))
        .take_while(move |(key, _)| key.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::Etcd;
    use crate::kinds::ResourceId;
    use crate::settings::EtcdConfig;
    use serde_json::json;

    /// The prefix of the etcd keys of the cached type.
    const PREFIX: &str = "/registry/pods/";
    /// The cached type: the first built-in type.
    const PODS: ResourceId = ResourceId(0);

    struct Rig {
        etcd: Etcd,
        cache: WatchCache,
        config: ApiserverConfig,
    }

    fn rig() -> Rig {
        let etcd = Etcd::new(&EtcdConfig::default());
        let config = ApiserverConfig::default();
        let mut cache = WatchCache::new(&config);
        cache.replace(Objects::new(), etcd.revision());
        Rig {
            etcd,
            cache,
            config,
        }
    }

    impl Rig {
        fn write(&mut self, count: u64, every_secs: u64) {
            for _ in 0..count {
                let next = self.etcd.revision() + 1;
                let at = Time::from_secs(next * every_secs);
                let value = json!({"metadata": {"name": "a"}});
                self.etcd.put(PODS, "/registry/pods/shop/a", value, at);
                self.pass_on();
            }
        }

        fn pass_on(&mut self) {
            for change in self.etcd.take_committed() {
                self.cache.receive(&change, &self.config, Version::DEFAULT);
            }
        }

        fn resume(&self, after: u64) -> Result<usize, String> {
            let mut replay = self.cache.replay_after(after).map_err(|e| e.message)?;
            let mut count = 0;
            loop {
                let events = self
                    .cache
                    .next_of(&mut replay)
                    .map_err(|e| format!("{e:?}"))?;
                if events.is_empty() {
                    return Ok(count);
                }
                count += events.len();
            }
        }
    }

    #[test]
    fn a_ring_that_lost_nothing_resumes_from_the_list() {
        let mut rig = rig();
        rig.write(5, 1);
        assert_eq!(rig.resume(1), Ok(5));
        assert_eq!(rig.resume(6), Ok(0));
        assert_eq!(
            rig.resume(99),
            Ok(0),
            "the future is accepted and stays silent"
        );
        assert_eq!(
            rig.resume(0),
            Err("too old resource version: 0 (1)".to_owned())
        );
    }

    #[test]
    fn a_full_slow_ring_drops_its_oldest_and_says_where_it_begins() {
        let mut rig = rig();
        rig.write(130, 10);
        assert_eq!(rig.cache.ring.len(), 100);
        assert_eq!(rig.resume(31), Ok(100));
        assert_eq!(
            rig.resume(30),
            Err("too old resource version: 30 (31)".to_owned())
        );
    }

    #[test]
    fn a_burst_doubles_the_ring_and_quiet_halves_it() {
        let mut rig = rig();
        rig.write(401, 0);
        assert_eq!(
            rig.cache.capacity, 800,
            "the full ring of 400 was younger than 75 s"
        );
        assert_eq!(rig.resume(1), Ok(401));
        rig.write(1000, 30);
        assert_eq!(rig.cache.capacity, 100);
    }

    #[test]
    fn a_replay_that_the_ring_overruns_ends() {
        let mut rig = rig();
        rig.write(100, 10);
        let mut replay = rig.cache.replay_after(1).unwrap();
        rig.write(1, 10);
        assert_eq!(rig.cache.next_of(&mut replay).unwrap_err(), Overrun);
        let mut replay = rig.cache.replay_after(2).unwrap();
        assert_eq!(rig.cache.next_of(&mut replay).unwrap().len(), 100);
        rig.write(50, 10);
        let later = rig.cache.next_of(&mut replay);
        assert!(later.unwrap().is_empty(), "what came later is live");
    }

    #[test]
    fn an_expired_cache_keeps_no_history_until_it_may_again() {
        let mut rig = rig();
        rig.write(5, 1);
        rig.cache.expire(20);
        assert_eq!(
            rig.resume(6),
            Err("too old resource version: 6 (20)".to_owned())
        );
        rig.write(1, 1);
        rig.cache.keep_history();
        assert_eq!(rig.resume(20), Ok(0));
    }

    #[test]
    fn buffers_follow_the_selector_the_ring_and_the_version() {
        let mut cache = rig().cache;
        let version = Version::DEFAULT;
        assert_eq!(cache.buffer_slots(false, false, version), 10);
        cache.capacity = 102_400;
        assert_eq!(cache.buffer_slots(true, true, version), 10);
        assert_eq!(cache.buffer_slots(true, false, version), 1000);
        assert_eq!(cache.buffer_slots(false, false, version), 100);
        let old = Version::new(24, 0).unwrap();
        assert_eq!(cache.buffer_slots(true, false, old), 1000);
        assert_eq!(cache.buffer_slots(false, false, old), 10);
    }

    #[test]
    fn a_snapshot_is_the_store_as_it_was_while_ring_and_compaction_keep_it() {
        let mut rig = rig();
        for (name, n) in [("a", 1), ("b", 2), ("a", 3)] {
            let value = json!({"metadata": {"name": name}, "n": n});
            let key = format!("{PREFIX}shop/{name}");
            rig.etcd.put(PODS, &key, value, Time::from_secs(n));
        }
        let a = "/registry/pods/shop/a";
        rig.etcd.delete(PODS, a, json!({}), Time::from_secs(4));
        rig.pass_on();
        let at = |revision, floor| {
            let found = rig.cache.list_at(PREFIX, "", revision, floor)?;
            let entry = |(_, o): &(Arc<str>, Arc<Object>)| format!("{}@{}", o.name(), o.revision());
            Some(found.iter().map(entry).collect::<Vec<_>>().join(" "))
        };
        let listed = |revision| at(revision, 0).unwrap();
        assert_eq!(listed(1), "");
        assert_eq!(listed(2), "a@2");
        assert_eq!(listed(3), "a@2 b@3");
        assert_eq!(listed(4), "a@4 b@3");
        assert_eq!(listed(5), "b@3");
        assert_eq!(at(6, 0), None, "it has not come so far");
        assert_eq!(at(0, 0), None, "before the list");
        assert_eq!(at(3, 4), None, "the snapshots below 4 are compacted");
        assert_eq!(at(4, 4).unwrap(), "a@4 b@3");
        assert_eq!(at(5, 6), None, "a quiet type has none left");
    }

    #[test]
    fn the_cache_delivers_the_object_that_it_held_as_the_previous_one() {
        let mut rig = rig();
        rig.write(2, 1);
        let key: Arc<str> = Arc::from("/registry/pods/shop/a");
        // The deletion and the next creation never came: the ghost is still held.
        rig.etcd.delete(PODS, &key, json!({}), Time::from_secs(9));
        rig.etcd.take_committed();
        rig.etcd.put(
            PODS,
            &key,
            json!({"metadata": {"name": "a"}}),
            Time::from_secs(9),
        );
        let created = rig.etcd.take_committed().remove(0);
        assert!(created.previous.is_none());
        let delivered = rig.cache.receive(&created, &rig.config, Version::DEFAULT);
        assert_eq!(delivered.previous.as_ref().map(|o| o.revision()), Some(3));
    }
}
