//! The store of redacted bodies of changes, within a budget of bytes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use watchscope_model::event::{Change, Loss};
use watchscope_model::vocabulary::{ChangeType, LossPlace};
use watchscope_model::{Event, Object, Seq, Text, WatchName};

/// Bytes that a body costs beside its content: its entry, its object's entry, and their share of the tables. The budget
/// counts them.
const BODY_COST: u64 = 160;

/// Redacted bodies by seq.
///
/// Bounded by bytes. Over the budget the oldest body goes first, but the last two versions of an object that a watch holds
/// stay while others remain. The bodies of a batch share one allocation, which is freed when the last of them goes. A body
/// that outlives its neighbours is copied out of it.
#[derive(Debug)]
pub(super) struct Bodies {
    budget: u64,
    cost: u64,
    /// In order of seq.
    recent: VecDeque<Body>,
    /// Bodies among the last two of a held object, copied out of their batch when they reached the front of `recent`.
    kept: BTreeMap<Seq, Body>,
    living: IndexMap<Holding, LastTwo, FxBuildHasher>,
    /// The highest seq of a dropped body.
    dropped_to: Seq,
    unreported: Option<Dropped>,
}

/// An object as one watch holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Holding {
    watch: Text,
    object: Arc<Object>,
}

/// The seqs of the last two bodies of an object.
#[derive(Clone, Copy, Debug)]
struct LastTwo {
    last: Seq,
    before: Option<Seq>,
}

impl LastTwo {
    fn contains(self, seq: Seq) -> bool {
        self.last == seq || self.before == Some(seq)
    }
}

#[derive(Debug)]
struct Body {
    seq: Seq,
    bytes: Bytes,
    cost: u64,
    holding: Option<Holding>,
}

impl Body {
    fn kept(&self) -> KeptBody {
        KeptBody {
            seq: self.seq,
            object: self.holding.as_ref().map(|holding| holding.object.clone()),
            bytes: self.bytes.clone(),
        }
    }
}

/// The bodies dropped since the last loss was recorded.
#[derive(Clone, Copy, Debug)]
struct Dropped {
    count: u64,
    bytes: u64,
    from: Seq,
    to: Seq,
}

/// The answer to a look-up of a record's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyLookup {
    /// The body.
    Found(Bytes),
    /// The body was dropped, or the record is older than a dropped body. The store does not keep which older records had
    /// one.
    Gone,
    /// There is no such record, or it has no body.
    Unknown,
}

/// A body in the form that a recording stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBody {
    /// The seq of its record.
    pub seq: Seq,
    /// The object it belongs to; none if the watch no longer held the object when the body arrived.
    pub object: Option<Arc<Object>>,
    /// Redacted JSON.
    pub bytes: Bytes,
}

impl Bodies {
    pub(super) fn new(budget: u64) -> Self {
        Self {
            budget,
            cost: 0,
            recent: VecDeque::new(),
            kept: BTreeMap::new(),
            living: IndexMap::default(),
            dropped_to: Seq(0),
            unreported: None,
        }
    }

    /// Takes in a record that was just written, and its body if it has one. Seqs rise from call to call. `overhead` is the
    /// number of bytes in the body's allocation that belong to no body.
    pub(super) fn record(&mut self, seq: Seq, event: &Event, body: Option<Bytes>, overhead: u64) {
        let holding = match event {
            Event::Change(change) => self.track(seq, change, body.is_some()),
            Event::WatchStopped(stopped) => {
                self.forget_watch(&stopped.watch);
                None
            }
            _ => None,
        };
        if let Some(bytes) = body {
            let cost = bytes.len() as u64 + BODY_COST + overhead;
            self.cost += cost;
            self.recent.push_back(Body {
                seq,
                bytes,
                cost,
                holding,
            });
            self.evict();
        }
    }

    /// Returns the bytes held, bookkeeping included, and the budget.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.cost, self.budget)
    }

    pub(super) fn get(&self, seq: Seq) -> BodyLookup {
        let found = self.kept.get(&seq).or_else(|| {
            let place = self.recent.binary_search_by_key(&seq, |body| body.seq);
            place.ok().and_then(|place| self.recent.get(place))
        });
        match found {
            Some(body) => BodyLookup::Found(body.bytes.clone()),
            None if seq > Seq(0) && seq <= self.dropped_to => BodyLookup::Gone,
            None => BodyLookup::Unknown,
        }
    }

    /// Returns the bodies of the records from `from` to `to` that are still held.
    pub(super) fn between(&self, from: Seq, to: Seq) -> Vec<KeptBody> {
        let begin = self.recent.partition_point(|body| body.seq < from);
        let recent = self.recent.range(begin..);
        let recent = recent.take_while(|body| body.seq <= to);
        let kept = (from <= to).then(|| self.kept.range(from..=to));
        let kept = kept.into_iter().flatten().map(|(_, body)| body);
        kept.chain(recent).map(Body::kept).collect()
    }

    /// The highest seq of a dropped body; all bodies of later records are held. 0 if none was dropped.
    pub(super) fn dropped_to(&self) -> Seq {
        self.dropped_to
    }

    /// Returns the bodies dropped since the last call as a loss event; none if none was dropped.
    pub(super) fn take_loss(&mut self) -> Option<Loss> {
        let dropped = self.unreported.take()?;
        Some(Loss {
            place: LossPlace::Body,
            count: dropped.count,
            from_seq: Some(dropped.from),
            to_seq: Some(dropped.to),
            watch: None,
            bytes: Some(dropped.bytes),
            reason: None,
            what: None,
        })
    }

    /// Updates the last two bodies of the change's object. Returns the object's key if the new body is one of them.
    fn track(&mut self, seq: Seq, change: &Change, has_body: bool) -> Option<Holding> {
        let holding = Holding {
            watch: change.watch.0.clone(),
            object: change.object.clone(),
        };
        if change.change == ChangeType::Deleted {
            if let Some(last_two) = self.living.swap_remove(&holding) {
                self.release(last_two.before);
                self.release(Some(last_two.last));
            }
            return None;
        }
        if !has_body {
            return None;
        }
        let released = match self.living.get_mut(&holding) {
            Some(last_two) => {
                let released = last_two.before.replace(last_two.last);
                last_two.last = seq;
                released
            }
            None => {
                let first = LastTwo {
                    last: seq,
                    before: None,
                };
                self.living.insert(holding.clone(), first);
                None
            }
        };
        self.release(released);
        Some(holding)
    }

    fn forget_watch(&mut self, watch: &WatchName) {
        let mut released = Vec::new();
        self.living.retain(|holding, last_two| {
            let stays = holding.watch != watch.0;
            if !stays {
                released.extend(last_two.before);
                released.push(last_two.last);
            }
            stays
        });
        released.into_iter().for_each(|seq| self.release(Some(seq)));
    }

    /// Drops a body that is no longer among an object's last two, if it was kept only for that.
    fn release(&mut self, seq: Option<Seq>) {
        if let Some(body) = seq.and_then(|seq| self.kept.remove(&seq)) {
            self.drop_body(&body);
        }
    }

    fn evict(&mut self) {
        while self.cost > self.budget {
            let Some(mut body) = self.recent.pop_front() else {
                let Some((_, body)) = self.kept.pop_first() else {
                    return;
                };
                self.drop_body(&body);
                continue;
            };
            let is_last = body.holding.as_ref().is_some_and(|holding| {
                self.living
                    .get(holding)
                    .is_some_and(|last_two| last_two.contains(body.seq))
            });
            if is_last {
                self.cost -= body.cost;
                body.bytes = Bytes::copy_from_slice(&body.bytes);
                body.cost = body.bytes.len() as u64 + BODY_COST;
                self.cost += body.cost;
                self.kept.insert(body.seq, body);
            } else {
                self.drop_body(&body);
            }
        }
    }

    fn drop_body(&mut self, body: &Body) {
        self.cost -= body.cost;
        self.dropped_to = self.dropped_to.max(body.seq);
        let dropped = self.unreported.get_or_insert(Dropped {
            count: 0,
            bytes: 0,
            from: body.seq,
            to: body.seq,
        });
        dropped.count += 1;
        dropped.bytes += body.bytes.len() as u64;
        dropped.from = dropped.from.min(body.seq);
        dropped.to = dropped.to.max(body.seq);
    }
}

#[cfg(test)]
mod tests {
    use watchscope_model::event::WatchStopped;
    use watchscope_model::vocabulary::{Origin, PhaseReason};
    use watchscope_model::{StreamId, Uid};

    use super::*;

    const BODY_BYTES: usize = 1_000;

    /// A store whose budget holds `count` bodies.
    fn bodies(count: u64) -> Bodies {
        Bodies::new(count * (BODY_BYTES as u64 + BODY_COST))
    }

    fn change(name: &str, change: ChangeType) -> Event {
        Change {
            watch: "shop/pods".into(),
            stream: Some(StreamId(1)),
            change,
            origin: Origin::Live,
            object: Arc::new(Object {
                namespace: Some("shop".into()),
                name: name.into(),
                uid: Uid::parse(name),
            }),
            resource_version: 1.into(),
            generation: None,
            manager: None,
            subresource: None,
            bytes: None,
            stray: None,
            owner: None,
        }
        .into()
    }

    fn modified(name: &str) -> Event {
        change(name, ChangeType::Modified)
    }

    fn put(bodies: &mut Bodies, seq: u64, event: &Event) {
        bodies.record(Seq(seq), event, Some(vec![seq as u8; BODY_BYTES].into()), 0);
    }

    /// One letter for each seq: `F`ound, `G`one or `U`nknown.
    fn picture(bodies: &Bodies, to: u64) -> String {
        (1..=to)
            .map(|seq| match bodies.get(Seq(seq)) {
                BodyLookup::Found(bytes) => {
                    assert!(bytes.iter().all(|&byte| byte == seq as u8));
                    'F'
                }
                BodyLookup::Gone => 'G',
                BodyLookup::Unknown => 'U',
            })
            .collect()
    }

    #[test]
    fn the_oldest_go_first_and_each_is_counted() {
        let mut bodies = bodies(3);
        for seq in 1..=6 {
            put(&mut bodies, seq, &modified("a"));
        }
        assert_eq!(picture(&bodies, 7), "GGGFFFU");
        let loss = bodies.take_loss().unwrap();
        assert_eq!(
            (loss.count, loss.from_seq, loss.to_seq, loss.bytes),
            (3, Some(Seq(1)), Some(Seq(3)), Some(3_000))
        );
        assert_eq!(bodies.take_loss(), None);
    }

    #[test]
    fn the_last_two_versions_of_a_living_object_stay_while_others_remain() {
        let mut bodies = bodies(4);
        for seq in 1..=3 {
            put(&mut bodies, seq, &modified("quiet"));
        }
        for seq in 4..=9 {
            put(&mut bodies, seq, &modified("busy"));
        }
        assert_eq!(picture(&bodies, 9), "GFFGGGGFF");
        // A third version takes the place of the one before the last.
        put(&mut bodies, 10, &modified("quiet"));
        assert_eq!(picture(&bodies, 10), "GGFGGGGFFF");
    }

    #[test]
    fn bodies_of_deleted_objects_and_stopped_watches_are_no_longer_spared() {
        let mut bodies = bodies(4);
        put(&mut bodies, 1, &modified("gone"));
        put(&mut bodies, 2, &modified("stays"));
        for seq in 3..=6 {
            put(&mut bodies, seq, &modified("busy"));
        }
        assert_eq!(picture(&bodies, 6), "FFGGFF");
        bodies.record(Seq(7), &change("gone", ChangeType::Deleted), None, 0);
        assert_eq!(picture(&bodies, 6), "GFGGFF");
        let stopped = WatchStopped {
            watch: "shop/pods".into(),
            reason: PhaseReason::StopRequested,
        };
        bodies.record(Seq(8), &stopped.into(), None, 0);
        assert_eq!(picture(&bodies, 6), "GGGGFF");
    }

    #[test]
    fn when_nothing_but_last_versions_is_left_the_oldest_of_them_go() {
        let mut bodies = bodies(3);
        for seq in 1..=5 {
            put(&mut bodies, seq, &modified(&format!("object-{seq}")));
        }
        assert_eq!(picture(&bodies, 5), "GGFFF");
    }

    #[test]
    fn a_record_without_a_body_is_unknown_until_newer_bodies_were_dropped() {
        let mut bodies = bodies(2);
        bodies.record(Seq(1), &change("a", ChangeType::Deleted), None, 0);
        put(&mut bodies, 2, &modified("a"));
        assert_eq!(picture(&bodies, 2), "UF");
        assert_eq!(bodies.get(Seq(0)), BodyLookup::Unknown);
    }
}
