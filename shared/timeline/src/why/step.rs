//! The steps of a "why" as typed data, without words.

use watchscope_model::Time;
use watchscope_model::vocabulary::Severity;

use crate::evidence::Way;
use crate::id::{LaneId, RecordId};
use crate::levels::End;

/// The most steps of a "why", which bounds what is drawn. Of more steps, the first six and the last six stay. The
/// number has no source.
pub const MOST_STEPS: usize = 12;

/// A "why": the chain of steps that explains a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// The record that the "why" explains. The record raised a finding, is a verdict, or began or closed a gap. Or it
    /// completed a relist or a list older than the watch's progress, or its resourceVersion jumped or went back.
    pub of: RecordId,
    /// The time of the explained record, on the log's clock.
    pub at: Time,
    /// The severity of the finding, verdict, gap, list or jump that is explained, for its colour.
    pub severity: Severity,
    /// The steps by rising time, at most [`MOST_STEPS`]; never empty.
    pub steps: Vec<Step>,
}

/// A step of a "why".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The record that shows the step.
    pub record: RecordId,
    /// The lane in which the step is drawn.
    pub lane: LaneId,
    /// When the step happened. For a stretch, this is its begin, or the time at which a change fell into it: when the
    /// change was written, or when another watch received it.
    pub at: Time,
    /// The end of a stretch; `None` for a moment.
    pub until: Option<Time>,
    /// How the step before leads to this step. For the first step the value means nothing.
    pub way: Way,
    /// The meaning of the step.
    pub(crate) what: What,
}

/// The meaning of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// etcd committed the write.
    Written,
    /// A watch cache received the write.
    Cached,
    /// The write stopped on the way to a client program.
    StoppedAt(End),
    /// The watch received an event of the object for the last time before the explained record.
    LastLearned,
    /// Another watch received the object's change.
    ReceivedElsewhere,
    /// A stream of the watch was not open from `at` to `until`, and a known write falls into that stretch.
    NotOpen,
    /// What the watch missed from `at` to `until` is not known. The number is the count of lost events, if a record
    /// has it.
    NotKnown(Option<u64>),
    /// The watch resumed from its progress, so no event is lost.
    Resumed,
    /// The resourceVersion before a jump or a reversal.
    VersionBefore,
    /// etcd was restored: its revision was this number, and is lower from this step on.
    WentBack(u64),
    /// The step shows a record in its own words.
    Record,
}
