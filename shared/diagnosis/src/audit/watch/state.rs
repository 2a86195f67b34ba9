//! The audit of one watch: its state.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::fold::Watch;
use watchscope_model::vocabulary::AuditMethod;
use watchscope_model::{ConnectionId, Object, ResourceVersion, Seq, Text, Time};

use super::reply::PendingReply;
use super::samples::Samples;
use super::sweep::Sweep;
use super::task::Task;
use crate::audit::budget::{Minute, PER_WATCH};
use crate::audit::history::History;
use crate::audit::level::Level;
use crate::audit::reads::Scope;
use crate::audit::reasons::Reason;

/// Time in µs after which the audit repeats a list that is ahead of the watch, below its version, or unequal without an
/// order. If the watch's stream has delivered nothing, not even a bookmark, the audit then also reads a list at `0`. A
/// server whose watch cache is behind waits 3 s at most (docs/semantics/servers.md#fresh-wait). So if the watch is
/// still behind at the second read, the reason is another. The fourth second has no source. It is also the time for
/// which a sweep waits for the watch's next stream.
pub(super) const AGAIN_US: i64 = 4_000_000;
/// Most objects that are looked up at a viewer's request for a watch, if there is no sweep; further objects are not
/// looked up. With the list and the reads that confirm, these lookups are about a watch's requests of one minute
/// ([`PER_WATCH`]). By default, it is also the most objects of a watch that such a request sweeps.
pub const AT_ONCE: usize = 16;
/// Most objects that are remembered after a burst of DELETED under a selector; a further object replaces the oldest. It
/// is also the most lookups of such objects in a minute; further lookups wait. The watch's other requests are for lists
/// and samples. The number has no other source.
pub(super) const LOOKED_AFTER: usize = 8;
/// Most differing objects that are looked up one by one after one list or second watch. A comparison with the watch of
/// another server has the same limit. Only a list that etcd answers at an exact version is read again without this
/// limit, unless that version is compacted meanwhile. Further objects get no lookup. These lookups leave 12 of a
/// watch's 20 requests a minute ([`PER_WATCH`]) to lists and samples. The number has no other source.
pub(super) const FOLLOWED: usize = 8;

/// A newest list whose version was ahead of the watch's progress, and that differed from the watch.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    pub(super) version: ResourceVersion,
    /// Since when the watch has made no progress.
    pub(super) since: Time,
    pub(super) cache: CachePosition,
    /// Whether the last newest list before a publication was requested. The first list may have been ahead of an event
    /// that has come since.
    pub(super) is_last: bool,
}

/// Reads that show newer versions of objects than the stream has reached, while the stream has delivered nothing since
/// the first of these reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The record that opened the stream.
    pub(super) stream: Seq,
    /// When the first read was made that was ahead of the stream.
    pub(super) since: Time,
    /// When a newest list is requested, to see whether it is still ahead of the stream; `None` once it was requested.
    pub(super) due: Option<Time>,
    /// Whether a record of the stream's lag was published.
    pub(super) is_published: bool,
}

/// What is known of whether a stream was opened at a version that its server's watch cache has not reached (F32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachePosition {
    /// No list has shown the watch cache's version yet.
    Unasked,
    /// One list showed the watch cache behind the stream.
    BehindOnce,
    /// Two lists, at least [`AGAIN_US`] apart, showed the watch cache behind the stream.
    BehindTwice,
    /// The watch cache was not behind: the watch is behind for another reason.
    NotBehind,
}

/// The subject of the audit: what the watch reads, from which server, and what it held.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// The address of the apiserver that the watch is pinned to; `None` if it is not pinned.
    pub(super) server: Option<Text>,
    /// The watch's scope, its path and selectors; `None` until a list or watch request of the watch was seen.
    pub(super) scope: Option<Scope>,
    /// What the watch held at resourceVersions that it has passed.
    pub(super) history: History,
}

/// The current round: lists, and the lookups that follow from them.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// When the next round begins; `None` if none is due.
    pub(super) next_at: Option<Time>,
    /// When the last request of this watch's audit was made.
    pub(super) asked_at: Time,
    /// The tasks that are still to be read. The first task is read next.
    pub(super) tasks: VecDeque<Task>,
    /// The number of lists that were begun again in this round.
    pub(super) restarts: u32,
    /// The list whose version the watch has yet to reach; `None` if there is none.
    pub(super) behind: Option<Behind>,
}

/// Single lookups that are spread evenly over time.
#[derive(Clone, Debug)]
pub(super) struct Sampling {
    pub(super) samples: Samples,
    /// When the next sample, a single object, is looked up; `None` if none is due.
    pub(super) next_at: Option<Time>,
    /// The number of samples that were equal and are not published yet.
    pub(super) unpublished: u64,
}

/// The connections of the watch. A stream over another connection may come from a server with another etcd.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    /// The connection of the last watch request; `None` before the first.
    pub(super) last: Option<ConnectionId>,
    /// Whether the last watch request went over another connection than that of the previous stream.
    pub(super) is_moved: bool,
    /// When a newest list is requested because the watch has moved to another connection; `None` if none is due.
    pub(super) list_at: Option<Time>,
}

/// The state of second watches of the same objects.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    /// When the next second watch is due; `None` at a level other than `full`.
    pub(super) next_at: Option<Time>,
    /// The resourceVersion at which the next second watch begins: the watch's progress when the last one was due.
    /// `None` before the first was due.
    pub(super) compared_to: Option<ResourceVersion>,
}

/// Objects that were reported as deleted under a selector.
#[derive(Clone, Debug)]
pub(super) struct Exits {
    /// The newest [`LOOKED_AFTER`] objects, each with the version of its DELETED.
    pub(super) objects: VecDeque<(Arc<Object>, ResourceVersion)>,
    /// When these objects are looked up; `None` if no lookup is due.
    pub(super) next_at: Option<Time>,
    /// The lookups of objects that left the selector in the last minute.
    pub(super) minute: Minute,
}

/// The requests that the server refuses.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// Whether the server refuses lists at exactly a resourceVersion.
    pub(super) refuses_exact: bool,
    /// Whether the server refuses a GET of an object. A list of the object's name may be allowed.
    pub(super) refuses_get: bool,
    /// Whether the server cannot list metadata alone.
    pub(super) lists_whole: bool,
    /// The number of refusals in a row (401, or for lists 403), up to 6. Each doubles the wait before the next round.
    pub(super) forbidden: u32,
}

/// The last conclusions of the audit of the watch.
#[derive(Clone, Debug, Default)]
pub(super) struct Concluded {
    /// The resourceVersion at which the last list at an exact version showed no difference. `None` if it or a newest
    /// list showed one, or a viewer's request came since. While a newest list below the watch's progress is to be
    /// repeated, it is that progress. So the repeated read is a newest list, too.
    pub(super) agreed: Option<ResourceVersion>,
    /// Since when consistent lists are below the watch's progress, because etcd's revision went back; `None` if the
    /// last newest list was not below it.
    pub(super) went_back: Option<Time>,
    /// If versions have no order: whether the last list differed. Such a list is repeated once before anything is
    /// published.
    pub(super) has_differed: bool,
    /// The last reason why nothing could be decided. The same reason is published only once in a row. `None` if the
    /// last record was another one, or a viewer's request came since.
    pub(super) undecided: Option<(AuditMethod, Reason)>,
}

/// The first refusal of a list because the server's watch cache had not reached the list's version.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooLarge {
    /// The record that opened the stream.
    pub(super) stream: Seq,
    pub(super) at: Time,
}

/// The audit of one watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchAudit {
    pub(super) subject: Subject,
    pub(super) level: Level,
    /// The most objects of a watch for which a viewer's request makes a sweep.
    pub(super) lookup_limit: usize,
    /// The requests of this watch's audit in the last minute.
    pub(super) minute: Minute,
    pub(super) round: Round,
    pub(super) sampling: Sampling,
    pub(super) connection: Connections,
    pub(super) witness: Witness,
    pub(super) exits: Exits,
    pub(super) ahead: Option<Ahead>,
    pub(super) too_large: Option<TooLarge>,
    pub(super) limits: Limits,
    pub(super) concluded: Concluded,
    /// The reply that a viewer waits for; `None` if no viewer waits.
    pub(super) pending: Option<PendingReply>,
    /// The sweep that a viewer's request began; `None` if none is under way.
    pub(super) sweep: Option<Sweep>,
}

impl WatchAudit {
    /// Begins the audit of a watch that has just started.
    pub(crate) fn new(server: Option<Text>, level: Level, lookup_limit: usize, now: Time) -> Self {
        let at_once = (level != Level::Off).then_some(now);
        Self {
            subject: Subject {
                server,
                scope: None,
                history: History::default(),
            },
            level,
            lookup_limit,
            minute: Minute::new(PER_WATCH),
            round: Round {
                next_at: at_once,
                asked_at: Time(i64::MIN),
                tasks: VecDeque::new(),
                restarts: 0,
                behind: None,
            },
            sampling: Sampling {
                samples: Samples::default(),
                next_at: at_once,
                unpublished: 0,
            },
            connection: Connections::default(),
            witness: Witness {
                next_at: (level == Level::Full).then_some(now),
                compared_to: None,
            },
            exits: Exits {
                objects: VecDeque::new(),
                next_at: None,
                minute: Minute::new(LOOKED_AFTER),
            },
            ahead: None,
            too_large: None,
            limits: Limits::default(),
            concluded: Concluded::default(),
            pending: None,
            sweep: None,
        }
    }

    /// Begins the audit of a watch that exists already.
    pub(crate) fn since(watch: &Watch, level: Level, lookup_limit: usize, now: Time) -> Self {
        let mut audit = Self::new(watch.server.clone(), level, lookup_limit, now);
        audit.subject.history = History::since(watch);
        audit
    }

    /// Returns the address of the apiserver that the watch is pinned to.
    pub(crate) fn server(&self) -> &Option<Text> {
        &self.subject.server
    }

    /// Returns the scope that the watch reads, once it is known.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        self.subject.scope.as_ref()
    }

    /// Returns the number of steps in the watch's per-key log.
    pub(crate) fn steps(&self) -> usize {
        self.subject.history.len()
    }
}
