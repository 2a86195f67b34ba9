//! The members of etcd as their apiservers meet them: one per server, which can be cut off or miss writes.

use watchscope_model::tree::BTreeMap;

use super::store::{Missed, Store};
use crate::message::ServerId;
use crate::time::Time;

/// Writes a member can miss before the oldest of them is taken as applied.
const MISSED_MOST: usize = 100_000;

/// What distinguishes members; a sound one is not in here.
///
/// Bounded: one entry per server, with at most 100,000 missed writes each.
#[derive(Debug, Default)]
pub(super) struct Members(BTreeMap<ServerId, Member>);

#[derive(Debug, Default)]
struct Member {
    /// Cut off from the others: since when, and the revision it has.
    partitioned: Option<(Time, u64)>,
    misses_writes: bool,
    missed: Missed,
}

/// What a sound member missed.
static NOTHING: Missed = Missed::new();

impl Members {
    pub(super) fn partition(&mut self, server: ServerId, now: Time, revision: u64) {
        self.0.entry(server).or_default().partitioned = Some((now, revision));
    }

    /// Whether it was cut off.
    pub(super) fn heal(&mut self, server: ServerId) -> bool {
        let member = self.0.get_mut(&server);
        member.is_some_and(|m| m.partitioned.take().is_some())
    }

    pub(super) fn is_partitioned(&self, server: ServerId) -> bool {
        self.partitioned_since(server).is_some()
    }

    pub(super) fn partitioned_since(&self, server: ServerId) -> Option<Time> {
        let (since, _) = self.0.get(&server)?.partitioned?;
        Some(since)
    }

    /// The revision the member of a server is at.
    pub(super) fn revision(&self, server: ServerId, store: &Store) -> u64 {
        let partitioned = self.0.get(&server).and_then(|m| m.partitioned);
        partitioned.map_or(store.revision(), |(_, revision)| revision)
    }

    pub(super) fn miss_writes(&mut self, server: ServerId, on: bool) {
        self.0.entry(server).or_default().misses_writes = on;
    }

    /// A write is committed: who misses it?
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

    /// Whether a member tells its watchers of a revision now.
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
        // No lesson has a member that misses anything.
        !self.0.values().any(|m| m.missed.contains(&revision))
    }

    pub(super) fn missed(&self, server: ServerId) -> &Missed {
        self.0.get(&server).map_or(&NOTHING, |m| &m.missed)
    }
}
