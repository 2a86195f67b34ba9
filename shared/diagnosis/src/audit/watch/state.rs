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

/// Time in µs after a read that was ahead of the watch at which the audit reads again. A cache that is behind waits 3 s
/// at most (docs/semantics/servers.md#fresh-wait), so a watch that is still behind then has another reason.
pub(super) const AGAIN_US: i64 = 4_000_000;
/// Most objects that are looked up at a viewer's request for a watch, if there is no sweep; the others are not. With
/// the list and the reads to confirm they are about a watch's requests of a minute ([`PER_WATCH`]). By default, it is
/// also the most objects of a watch that such a request sweeps.
pub const AT_ONCE: usize = 16;
/// Most objects that are remembered after a burst of DELETED under a selector; a further one replaces the oldest. It is
/// also the most such lookups in a minute; beyond it they wait. The watch's other requests are for lists and samples.
/// The number has no other source.
pub(super) const LOOKED_AFTER: usize = 8;
/// Most objects that one comparison with a possible cache looks up; further differences wait for the next list. They
/// leave 12 of a watch's 20 requests a minute ([`PER_WATCH`]) to lists and samples. The number has no other source.
pub(super) const FOLLOWED: usize = 8;

/// A list that was ahead of the watch, and differed.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    pub(super) version: ResourceVersion,
    /// Since when the watch has made no progress.
    pub(super) since: Time,
    pub(super) cache: CachePosition,
    /// Whether the last list was requested. The first one may have been ahead of an event that has come by now.
    pub(super) is_last: bool,
}

/// Reads that show newer versions of objects than the stream has reached, while it has delivered nothing since the
/// first such read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The first record of the stream.
    pub(super) stream: Seq,
    /// When the first such read was made.
    pub(super) since: Time,
    /// When the newest list is requested to see whether it is still ahead; `None` once it was requested.
    pub(super) due: Option<Time>,
    /// Whether the lag is published.
    pub(super) is_published: bool,
}

/// Whether a stream was opened beyond the version of its server's cache (F32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CachePosition {
    /// The cache was not asked yet.
    Unasked,
    /// The cache was behind once.
    BehindOnce,
    /// The cache was behind twice, [`AGAIN_US`] apart.
    BehindTwice,
    /// The cache was not behind: the watch is behind for another reason.
    NotBehind,
}

/// The subject of the audit.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// The address of the apiserver that the watch is pinned to.
    pub(super) server: Option<Text>,
    /// The scope that the watch reads, once it is known.
    pub(super) scope: Option<Scope>,
    /// The states that the watch held at versions that it has passed.
    pub(super) history: History,
}

/// The current round: lists, and the lookups that follow from them.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// When the next round begins; `None` if none is due.
    pub(super) next_at: Option<Time>,
    /// When the last request was made.
    pub(super) asked_at: Time,
    /// The tasks that are still to be read. The first one is next.
    pub(super) tasks: VecDeque<Task>,
    /// The number of lists that were begun again in this round.
    pub(super) restarts: u32,
    /// The list whose version the watch has yet to reach.
    pub(super) behind: Option<Behind>,
}

/// Single lookups that are spread evenly over time.
#[derive(Clone, Debug)]
pub(super) struct Sampling {
    pub(super) samples: Samples,
    /// When the next object is looked up.
    pub(super) next_at: Option<Time>,
    /// The number of equal samples that are not published yet.
    pub(super) unpublished: u64,
}

/// The connections of the watch. A stream over another connection may come from a server with another etcd.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections {
    /// The connection of the last watch request.
    pub(super) last: Option<ConnectionId>,
    /// Whether that is another connection than that of the stream before.
    pub(super) is_moved: bool,
    /// When the newest list is made because the watch has moved to another connection.
    pub(super) list_at: Option<Time>,
}

/// The state of second watches of the same objects.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    /// When the next second watch is made.
    pub(super) next_at: Option<Time>,
    /// The version up to which the last one was compared.
    pub(super) compared_to: Option<ResourceVersion>,
}

/// Objects that were reported as deleted under a selector.
#[derive(Clone, Debug)]
pub(super) struct Exits {
    /// The newest [`LOOKED_AFTER`] objects, each with the version of its DELETED.
    pub(super) objects: VecDeque<(Arc<Object>, ResourceVersion)>,
    /// When they are looked up.
    pub(super) next_at: Option<Time>,
    /// The lookups of such objects in the last minute.
    pub(super) minute: Minute,
}

/// The requests that the server refuses.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// Whether it refuses lists at exactly a version.
    pub(super) refuses_exact: bool,
    /// Whether it refuses a GET of an object. A list of its name may be allowed.
    pub(super) refuses_get: bool,
    /// Whether it cannot list metadata alone.
    pub(super) lists_whole: bool,
    /// The number of refusals in a row (401, 403). Each one doubles the wait before the next round.
    pub(super) forbidden: u32,
}

/// The last conclusions.
#[derive(Clone, Debug, Default)]
pub(super) struct Concluded {
    /// The version at which all objects were equal.
    pub(super) agreed: Option<ResourceVersion>,
    /// Since when consistent lists are below progress, because the revision went back.
    pub(super) went_back: Option<Time>,
    /// Whether the last list differed, if versions have no order. It is repeated once before anything is published.
    pub(super) has_differed: bool,
    /// The last reason why nothing could be decided. It is published only once.
    pub(super) undecided: Option<(AuditMethod, Reason)>,
}

/// The first refusal of a list because the server's cache had not come to its version.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooLarge {
    /// The first record of the stream.
    pub(super) stream: Seq,
    pub(super) at: Time,
}

/// The audit of one watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchAudit {
    pub(super) subject: Subject,
    pub(super) level: Level,
    /// The number of objects up to which a viewer's request makes a sweep.
    pub(super) lookup_limit: usize,
    /// The requests of the last minute.
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
    /// The reply that a viewer waits for.
    pub(super) pending: Option<PendingReply>,
    /// The sweep that a viewer asked for.
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

    /// Begins the audit of a watch that has been there before.
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

    /// Returns the number of steps in the per-key log.
    pub(crate) fn steps(&self) -> usize {
        self.subject.history.len()
    }
}
