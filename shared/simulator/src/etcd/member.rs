//! The members of etcd, as their apiservers meet them: one per server. A member can be partitioned or miss writes.

use watchscope_model::tree::BTreeMap;

use super::store::{Missed, Store};
use crate::message::ServerId;
use crate::time::Time;

/// The most writes that a member can miss. If it misses more, the oldest count as applied. It bounds the memory of a
/// member. The number has no source.
const MISSED_MOST: usize = 100_000;

/// What distinguishes the members from each other. A sound member has no entry.
///
/// Bounded: one entry per server, with at most 100,000 missed writes each.
#[derive(Debug, Default)]
pub(super) struct Members(BTreeMap<ServerId, Member>);

#[derive(Debug, Default)]
struct Member {
    /// Its partition from the others; `None` while it reaches them.
    partitioned: Option<Partition>,
    misses_writes: bool,
    missed: Missed,
}

/// A member's partition from the others.
#[derive(Clone, Copy, Debug)]
struct Partition {
    since: Time,
    /// The revision that the member had then, and keeps.
    revision: u64,
}

/// What a sound member missed: nothing.
static NOTHING: Missed = Missed::new();

impl Members {
    pub(super) fn partition(&mut self, server: ServerId, now: Time, revision: u64) {
        self.0.entry(server).or_default().partitioned = Some(Partition {
            since: now,
            revision,
        });
    }

    /// Ends a partition. Returns whether there was one.
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

    /// The revision of a server's member.
    pub(super) fn revision(&self, server: ServerId, store: &Store) -> u64 {
        let partitioned = self.0.get(&server).and_then(|m| m.partitioned);
        partitioned.map_or(store.revision(), |partition| partition.revision)
    }

    pub(super) fn miss_writes(&mut self, server: ServerId, on: bool) {
        self.0.entry(server).or_default().misses_writes = on;
    }

    /// Notes a committed write for the members that miss it.
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

    /// Whether a member applies a revision now, and sends it to its watchers.
    pub(super) fn applies(&self, server: ServerId, revision: u64) -> bool {
        if self.0.is_empty() {
            return true;
        }
        self.0
            .get(&server)
            .is_none_or(|m| m.partitioned.is_none() && !m.missed.contains(&revision))
    }

    /// Whether all members applied a revision.
    pub(super) fn have(&self, revision: u64) -> bool {
        !self.0.values().any(|m| m.missed.contains(&revision))
    }

    pub(super) fn missed(&self, server: ServerId) -> &Missed {
        self.0.get(&server).map_or(&NOTHING, |m| &m.missed)
    }
}
