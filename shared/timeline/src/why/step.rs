//! The steps of a "why" as typed data, without words.

use watchscope_model::Time;
use watchscope_model::vocabulary::Severity;

use crate::evidence::Way;
use crate::id::{LaneId, RecordId};
use crate::levels::End;

/// The most steps of a thread, which bounds what is drawn. Of a longer one, the first six and the last six stay. The
/// number has no source.
pub const MOST_STEPS: usize = 12;

/// The thread of a "why".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The record that it explains. It raised a finding, is a verdict, or began or closed a gap. Or it ended a relist
    /// or an older list, or its resourceVersion jumped or went back.
    pub of: RecordId,
    /// The time of that record, on the log's clock.
    pub at: Time,
    /// The severity of the thing that it explains, for its colour.
    pub severity: Severity,
    /// Its steps by rising time, at most [`MOST_STEPS`]; never empty.
    pub steps: Vec<Step>,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The record that shows it.
    pub record: RecordId,
    /// The lane in which it is drawn.
    pub lane: LaneId,
    /// When it was. For a stretch, its begin, or the time of the change that fell into it: of its write, or when
    /// another watch received it.
    pub at: Time,
    /// The end of a stretch; `None` for a moment.
    pub until: Option<Time>,
    /// How the thread comes here from the step before. Of the first step it says nothing of use.
    pub way: Way,
    /// Its meaning.
    pub(crate) what: What,
}

/// The meaning of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// etcd committed the write.
    Written,
    /// A watch cache has the write.
    Cached,
    /// The write stopped on the way to a client program.
    StoppedAt(End),
    /// The watch learned the object's state for the last time before the end of the thread.
    LastLearned,
    /// Another watch received the change.
    ReceivedElsewhere,
    /// A stream of the watch was not open from `at` to `until`, and a known write falls into that stretch.
    NotOpen,
    /// What the watch missed from `at` to `until` is not known. The number is the count of lost events, if a record
    /// has it.
    NotKnown(Option<u64>),
    /// The watch resumed from its progress, so no event is lost.
    Resumed,
    /// The version before a jump or a reversal.
    VersionBefore,
    /// etcd was restored: its revision was this one, and is lower now.
    WentBack(u64),
    /// A record in its own words.
    Record,
}
