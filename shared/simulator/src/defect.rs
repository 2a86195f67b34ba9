//! Known defects of etcd, each switched on by itself (docs/semantics/servers.md#etcd-defects; etcd's robustness track
//! record and changelogs).

/// A known defect of etcd, switched on with [`Fault::EtcdDefect`](crate::Fault::EtcdDefect).
///
/// By default etcd has no defect. Each variant's documentation says what else has to happen for the defect to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// etcd#15220, fixed in 3.4.25 and 3.5.8: a progress notification that is requested overtakes events that wait in
    /// the stream's channel. The defect shows while a stream has a backlog
    /// ([`Fault::SlowEtcdStreams`](crate::Fault::SlowEtcdStreams)). No client can see it: apiservers do not trust an
    /// etcd with this defect, and begin no requests of progress.
    ProgressAheadOfEvents,
    /// etcd#15271, fixed in 3.4.25 and 3.5.8: a watch goes back in time when a partitioned member downloads a snapshot.
    /// The member's watchers start again from the revision at which each last became synced. The defect shows when
    /// [`Fault::PartitionMember`](crate::Fault::PartitionMember) is lifted.
    BackInTimeAfterPartition,
    /// PR 15274, fixed in 3.4.24 and 3.5.8: a watcher that catches up gets the events of the last 100 ms twice. The
    /// defect shows when a watch starts at or below the current revision just after a write.
    DuplicateEvents,
    /// etcd#17529, fixed in 3.4.31 and 3.5.13: a watcher's start is compacted, and the notice finds the stream's
    /// channel full. The watcher is then moved to the next revision and never learns what it missed. The defect shows
    /// with a starved stream and a compaction (docs/semantics/servers.md#ghost-step-by-step).
    GapUnderStarvation,
    /// PR 17566, fixed in 3.4.31 and 3.5.13: progress is requested while a watcher of the stream is not synced. Then
    /// etcd sends no requested progress until it sends a response while all watchers of the stream are synced. No
    /// client can see it, as with [`Defect::ProgressAheadOfEvents`].
    NoProgressForIdleWatch,
    /// etcd#18089, fixed in 3.4.34 and 3.5.16: a compaction exactly at the revision of a deletion drops the deletion. A
    /// watch that starts at that revision misses the deletion.
    DeleteLostByCompactionAtIt,
    /// etcd#19179, fixed in 3.4.36 and 3.5.18: a restart forgets a deletion at the compacted revision. A real etcd does
    /// so if compaction left nothing else of the key, the simulated one always. A watch that starts at the compacted
    /// revision misses the deletion. The defect shows after [`Fault::RestartEtcd`](crate::Fault::RestartEtcd).
    DeleteLostByRestartAfterCompaction,
    /// etcd#20221, fixed in 3.4.38, 3.5.22 and 3.6.2: a watch on a future revision gets older events once its member
    /// was restored from a snapshot. The defect shows once [`Fault::PartitionMember`](crate::Fault::PartitionMember) is
    /// lifted.
    OldEventsOnFutureWatch,
    /// etcd#17780, fixed in 3.4.32 and 3.5.14: the revision goes down when etcd crashes while it compacts the newest
    /// deletion. The defect shows after [`Fault::RestartEtcd`](crate::Fault::RestartEtcd) during compaction.
    RevisionDecreasesAfterCrash,
}

impl Defect {
    /// All defects, in the order of the variants.
    pub const ALL: [Defect; 9] = [
        Defect::ProgressAheadOfEvents,
        Defect::BackInTimeAfterPartition,
        Defect::DuplicateEvents,
        Defect::GapUnderStarvation,
        Defect::NoProgressForIdleWatch,
        Defect::DeleteLostByCompactionAtIt,
        Defect::DeleteLostByRestartAfterCompaction,
        Defect::OldEventsOnFutureWatch,
        Defect::RevisionDecreasesAfterCrash,
    ];

    /// Returns whether every etcd with this defect is too old for an apiserver to trust its progress notifications.
    /// With etcd below 3.4.31 and 3.5.13, apiservers of every version send consistent reads to etcd
    /// (docs/semantics/lists-and-watches.md#consistent-list).
    pub(crate) fn is_of_untrusted_etcd(self) -> bool {
        matches!(
            self,
            Defect::ProgressAheadOfEvents
                | Defect::BackInTimeAfterPartition
                | Defect::DuplicateEvents
                | Defect::GapUnderStarvation
                | Defect::NoProgressForIdleWatch
        )
    }
}
