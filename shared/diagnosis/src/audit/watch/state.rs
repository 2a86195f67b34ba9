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

/// The audit reads again this much after a read that was ahead of the watch, in microseconds. A cache that is behind
/// waits 3 s at most, so a watch that is still behind then is so for another reason.
pub(super) const AGAIN_US: i64 = 4_000_000;
/// The number of objects that are looked up for a viewer who asks to compare a watch, where no sweep is made.
pub const AT_ONCE: usize = 16;
/// The number of objects that are looked up after a burst of DELETED under a selector, the newest ones, and the number
/// of such lookups in a minute. The watch's other requests are for lists and samples.
pub(super) const LOOKED_AFTER: usize = 8;
/// The number of objects that are looked up because a list that may be a cache's differs in them.
pub(super) const FOLLOWED: usize = 8;

/// A list that was ahead of the watch, and different.
#[derive(Clone, Debug)]
pub(super) struct Behind {
    pub(super) version: ResourceVersion,
    /// Since when the watch has stood still.
    pub(super) since: Time,
    pub(super) future: Future,
    /// Whether the last list was made: the first one may have been ahead of an event that has come by now.
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
    /// When the newest list is made to see whether it is still so; absent once it was.
    pub(super) due: Option<Time>,
    /// Whether the lag is published.
    pub(super) is_told: bool,
}

/// Whether a stream was opened beyond the version of its server's cache (F32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Future {
    /// The cache was not asked yet.
    Unasked,
    /// The cache was behind once.
    Once,
    /// The cache was behind twice, [`AGAIN_US`] apart.
    Sure,
    /// The cache was not behind: the watch is behind for another reason.
    No,
}

/// The audit of one watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchAudit {
    /// The address of the apiserver that the watch is pinned to.
    pub(super) server: Option<Text>,
    pub(super) history: History,
    pub(super) scope: Option<Scope>,
    pub(super) minute: Minute,
    pub(super) level: Level,
    /// The number of objects up to which a viewer's request makes a sweep.
    pub(super) looks: usize,
    /// When the next round begins; absent if no round is due.
    pub(super) due: Option<Time>,
    pub(super) asked_at: Time,
    pub(super) tasks: VecDeque<Task>,
    pub(super) restarts: u32,
    pub(super) samples: Samples,
    /// The connection of its last watch request.
    pub(super) connection: Option<ConnectionId>,
    /// Whether that is another connection than that of the stream before.
    pub(super) is_moved: bool,
    /// When the newest list is made because the watch has moved to another connection.
    pub(super) moved_at: Option<Time>,
    /// When the next object is looked up.
    pub(super) sample_at: Option<Time>,
    /// When a second watch is made.
    pub(super) witness_at: Option<Time>,
    /// The version up to which a second watch was compared.
    pub(super) witnessed: Option<ResourceVersion>,
    /// The number of equal samples that are not published yet.
    pub(super) sampled: u64,
    /// The version at which all was found equal.
    pub(super) agreed: Option<ResourceVersion>,
    pub(super) behind: Option<Behind>,
    pub(super) ahead: Option<Ahead>,
    /// Objects that were reported as deleted under a selector, with the version: the newest [`LOOKED_AFTER`].
    pub(super) left: VecDeque<(Arc<Object>, ResourceVersion)>,
    /// When they are looked up.
    pub(super) left_at: Option<Time>,
    /// The lookups of such objects in the last minute.
    pub(super) left_minute: Minute,
    /// The first refusal of a list because the server had not come so far: the stream's first record, and when.
    pub(super) too_large: Option<(Seq, Time)>,
    /// Since when consistent lists are below progress, because the revision went back.
    pub(super) went_back: Option<Time>,
    /// Whether the last list differed, where versions have no order. It is made once more before anything is published.
    pub(super) has_differed: bool,
    pub(super) refuses_exact: bool,
    /// Whether the server refuses a GET of an object. A list of its name may be allowed.
    pub(super) refuses_get: bool,
    /// Whether the server cannot list metadata alone.
    pub(super) lists_whole: bool,
    /// The number of refusals in a row (401, 403). Each one doubles the wait before the next round.
    pub(super) forbidden: u32,
    /// The last reason why nothing could be decided. It is not published twice.
    pub(super) untold: Option<(AuditMethod, Reason)>,
    /// The reply that a viewer waits for.
    pub(super) owed: Option<PendingReply>,
    /// The sweep that a viewer asked for.
    pub(super) each: Option<Sweep>,
}

impl WatchAudit {
    pub(crate) fn new(server: Option<Text>, level: Level, looks: usize, now: Time) -> Self {
        Self {
            server,
            history: History::default(),
            scope: None,
            minute: Minute::new(PER_WATCH),
            level,
            looks,
            due: (level != Level::Off).then_some(now),
            sample_at: (level != Level::Off).then_some(now),
            asked_at: Time(i64::MIN),
            tasks: VecDeque::new(),
            restarts: 0,
            connection: None,
            is_moved: false,
            moved_at: None,
            witness_at: (level == Level::Full).then_some(now),
            witnessed: None,
            samples: Samples::default(),
            sampled: 0,
            agreed: None,
            behind: None,
            ahead: None,
            left: VecDeque::new(),
            left_at: None,
            left_minute: Minute::new(LOOKED_AFTER),
            too_large: None,
            went_back: None,
            has_differed: false,
            refuses_exact: false,
            refuses_get: false,
            lists_whole: false,
            forbidden: 0,
            untold: None,
            owed: None,
            each: None,
        }
    }

    pub(crate) fn since(watch: &Watch, level: Level, looks: usize, now: Time) -> Self {
        Self {
            history: History::since(watch),
            ..Self::new(watch.server.clone(), level, looks, now)
        }
    }

    /// The address of the apiserver that the watch is pinned to.
    pub(crate) fn server(&self) -> &Option<Text> {
        &self.server
    }

    /// What it is of, once that is known.
    pub(crate) fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    pub(crate) fn steps(&self) -> usize {
        self.history.len()
    }
}
