//! The members of etcd, one per apiserver, which talks only to its own member. A member can be partitioned or miss
//! writes.

use watchscope_model::tree::BTreeMap;

use super::store::{Missed, Store};
use crate::message::ServerId;
use crate::time::Time;

/// The most writes that a member can fail to apply under [`Fault::MissWrites`](crate::fault::Fault::MissWrites). If it
/// misses more, the oldest count as applied. The number bounds the memory of a member. The number has no source.
const MISSED_MOST: usize = 100_000;

/// The differences between members of etcd. A member that never was partitioned and never missed writes has no entry.
///
/// Bounded: the map has one entry per server, with at most 100,000 missed writes each.
#[derive(Debug, Default)]
pub(super) struct Members(BTreeMap<ServerId, Member>);

#[derive(Debug, Default)]
struct Member {
    /// The member's partition from the other members; `None` while it reaches them.
    partitioned: Option<Partition>,
    misses_writes: bool,
    missed: Missed,
}

/// The partition of a member from the other members.
#[derive(Clone, Copy, Debug)]
struct Partition {
    since: Time,
    /// The revision that the member had when the partition began, and keeps during the partition.
    revision: u64,
}

/// The empty set of missed writes, of a member that misses none.
static NOTHING: Missed = Missed::new();

impl Members {
    pub(super) fn partition(&mut self, server: ServerId, now: Time, revision: u64) {
        self.0.entry(server).or_default().partitioned = Some(Partition {
            since: now,
            revision,
        });
    }

    /// Ends the partition of a server's member. Returns whether the member was partitioned.
    pub(super) fn heal(&mut self, server: ServerId) -> bool {
        let member = self.0.get_mut(&server);
        member.is_some_and(|m| m.partitioned.take().is_some())
    }

    pub(super) fn is_partitioned(&self, server: ServerId) -> bool {
        self.partitioned_since(server).is_some()
    }

    pub(super) fn partitioned_since(&self, server: ServerId) -> Option<Time> {
        let partition = self.0.get(&server)?.partitioned?;
        Some(partition.since)
    }

    /// Returns the revision that the member of a server has.
    pub(super) fn revision(&self, server: ServerId, store: &Store) -> u64 {
        let partitioned = self.0.get(&server).and_then(|m| m.partitioned);
        partitioned.map_or(store.revision(), |partition| partition.revision)
    }

    pub(super) fn miss_writes(&mut self, server: ServerId, on: bool) {
        self.0.entry(server).or_default().misses_writes = on;
    }

    /// Notes a committed write for the members that miss this write.
    pub(super) fn committed(&mut self, revision: u64) {
        for member in self.0.values_mut() {
            if member.misses_writes {
                member.missed.insert(revision);
                if member.missed.len() > MISSED_MOST {
                    member.missed.pop_first();
                }
            }
        }
    }

    /// Returns whether the member of a server applies a revision now, and sends it to the member's watchers.
    pub(super) fn applies(&self, server: ServerId, revision: u64) -> bool {
        if self.0.is_empty() {
            return true;
        }
        self.0
            .get(&server)
            .is_none_or(|m| m.partitioned.is_none() && !m.missed.contains(&revision))
    }

    /// Returns whether no member misses a revision (fault `MissWrites`). A partition does not count.
    pub(super) fn have(&self, revision: u64) -> bool {
        !self.0.values().any(|m| m.missed.contains(&revision))
    }

    pub(super) fn missed(&self, server: ServerId) -> &Missed {
        self.0.get(&server).map_or(&NOTHING, |m| &m.missed)
    }
}
