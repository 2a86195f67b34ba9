//! A watch cache: the store and history of one resource that lists and watches are served from (semantics 1.9).
//!
//! A resource without a cache (events) has the same object with etcd behind it: reads go to etcd, and its history
//! is etcd's since the last compaction.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::status::{ApiError, too_old, watch_compacted};
use crate::config::ApiserverConfig;
use crate::etcd::{Change, ChangeKind, Etcd};
use crate::kinds::ResourceId;
use crate::object::Object;
use crate::time::Time;

/// The watch cache of one resource.
///
/// Bounded: the ring by `capacity`, which adapts between the configured ends; a full ring drops its oldest event.
#[derive(Debug)]
pub(crate) struct WatchCache {
    pub(crate) resource: ResourceId,
    /// False for resources that etcd serves.
    pub(crate) cached: bool,
    /// The revision up to which the cache knows everything about its resource.
    revision: u64,
    /// The revision of the last (re)initialisation.
    list_revision: u64,
    /// Whether the ring lost anything since then.
    lost: bool,
    ring: VecDeque<Arc<Change>>,
    capacity: usize,
    /// While false nothing enters the ring (fault `Expire`).
    keeps_history: bool,
    store: BTreeMap<Arc<str>, Arc<Object>>,
}

impl WatchCache {
    /// A cache initialised from etcd's present state, as its reflector does (1.9 rule 1).
    pub(crate) fn new(
        resource: ResourceId,
        cached: bool,
        prefix: &str,
        etcd: &Etcd,
        config: &ApiserverConfig,
    ) -> WatchCache {
        let revision = etcd.revision();
        let mut store = BTreeMap::new();
        if cached && let Ok(present) = etcd.range(prefix, "", revision) {
            store.extend(present.map(|(key, object)| (Arc::clone(key), Arc::clone(object))));
        }
        WatchCache {
            resource,
            cached,
            revision,
            list_revision: revision,
            lost: false,
            ring: VecDeque::new(),
            capacity: config.history_events.0.max(1),
            keeps_history: true,
            store,
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Takes in an event from etcd; events come in order and once (1.9 rule 2).
    pub(crate) fn receive(&mut self, change: &Arc<Change>, config: &ApiserverConfig) {
        if change.revision <= self.revision {
            return;
        }
        self.revision = change.revision;
        if !self.cached {
            return;
        }
        if change.kind == ChangeKind::Deleted {
            self.store.remove(&change.key);
        } else {
            self.store
                .insert(Arc::clone(&change.key), Arc::clone(&change.object));
        }
        if self.keeps_history {
            self.adapt_capacity(change.at, config);
            while self.ring.len() >= self.capacity {
                self.ring.pop_front();
                self.lost = true;
            }
            self.ring.push_back(Arc::clone(change));
        } else {
            self.list_revision = self.list_revision.max(change.revision);
        }
    }

    /// Learns from etcd that nothing of its resource happened up to `revision` that it has not got.
    pub(crate) fn progress(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// Drops the history, as a cache that listed etcd anew at `revision` has none (F11).
    pub(crate) fn expire(&mut self, revision: u64) {
        self.ring.clear();
        self.list_revision = revision.max(self.revision);
        self.lost = false;
        self.keeps_history = false;
    }

    pub(crate) fn keep_history(&mut self) {
        self.keeps_history = true;
    }

    /// The changes a watch from `after` has to be sent first, or the 410 if some are gone (1.9 rule 3).
    pub(crate) fn changes_after(
        &self,
        after: u64,
        etcd: &Etcd,
    ) -> Result<Vec<Arc<Change>>, ApiError> {
        if !self.cached {
            if after < etcd.compacted() {
                return Err(watch_compacted());
            }
            let known = self.revision;
            let ours = |c: &&Arc<Change>| c.resource == self.resource && c.revision <= known;
            return Ok(etcd.changes_after(after).filter(ours).cloned().collect());
        }
        let oldest = self.oldest_resumable();
        if after < oldest {
            return Err(too_old(after, oldest));
        }
        let from = self.ring.partition_point(|c| c.revision <= after);
        Ok(self.ring.range(from..).cloned().collect())
    }

    /// The objects under `prefix` from key `start` on, in key order, with the revision they are of.
    pub(crate) fn list<'a>(
        &'a self,
        prefix: &'a str,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> {
        let from = if start > prefix { start } else { prefix };
        self.store
            .range::<str, _>((Bound::Included(from), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.store.get(key)
    }

    /// Slots of a new watcher's input and result channels together (1.9 rule 4).
    pub(crate) fn buffer_slots(&self, indexed_selector: bool, unindexed_selector: bool) -> usize {
        if !self.cached {
            // The etcd client buffers without limit (1.4); this one at the watch cache's largest ring.
            return 102_400;
        }
        let most = match (indexed_selector, unindexed_selector) {
            (true, _) => 10,
            (false, true) => 1000,
            (false, false) => 100,
        };
        2 * self.capacity.div_ceil(75).clamp(10, most)
    }

    /// The lowest revision a watch can start from.
    fn oldest_resumable(&self) -> u64 {
        match self.ring.front() {
            Some(oldest) if self.lost => oldest.revision - 1,
            _ => self.list_revision,
        }
    }

    /// Doubles a full ring that spans less than the window, halves one whose newest quarter spans more (1.7).
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PREFIX: &str = "/registry/pods/";
    const PODS: ResourceId = ResourceId(0);

    struct Rig {
        etcd: Etcd,
        cache: WatchCache,
        config: ApiserverConfig,
    }

    fn rig() -> Rig {
        let etcd = Etcd::new(false);
        let config = ApiserverConfig::default();
        let cache = WatchCache::new(PODS, true, PREFIX, &etcd, &config);
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
                for change in self.etcd.take_committed() {
                    self.cache.receive(&change, &self.config);
                }
            }
        }

        fn resume(&self, after: u64) -> Result<usize, String> {
            let found = self.cache.changes_after(after, &self.etcd);
            found.map(|c| c.len()).map_err(|e| e.message)
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
    fn an_expired_cache_keeps_nothing_until_it_is_told_to() {
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
    fn buffers_follow_the_selector_and_the_ring() {
        let rig = rig();
        assert_eq!(rig.cache.buffer_slots(false, false), 20);
        let mut big = rig;
        big.cache.capacity = 102_400;
        assert_eq!(big.cache.buffer_slots(true, false), 20);
        assert_eq!(big.cache.buffer_slots(false, true), 2000);
        assert_eq!(big.cache.buffer_slots(false, false), 200);
    }
}
