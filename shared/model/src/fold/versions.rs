//! How the resourceVersion of a watch moves: usual steps, jumps, reversals, and progress.

use super::state::Watch;
use crate::id::ResourceVersion;
use crate::vocabulary::Phase;

/// The number of last forward steps of a watch's resourceVersion that the fold keeps, which show what step is usual. A
/// further step drops the oldest. The timeline judges a step of the past by as many steps before it. The number is
/// small, because each snapshot has the steps of each watch. The number has no other source.
pub const STEPS_KEPT: usize = 16;
/// The largest step that is never a jump, in revisions. A jump is larger than this, and than [`JUMP_FACTOR`] times the
/// largest of the last steps. Because of this bound, a small step after still smaller steps is no jump. The number has
/// no source.
const JUMP_OVER: u64 = 100;
/// A jump is larger than this many times the largest of the last [`STEPS_KEPT`] steps, so a burst of the usual scale is
/// no jump. The number has no source.
const JUMP_FACTOR: u64 = 8;

/// How one event moves a watch's resourceVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionStep {
    /// A usual step, the first step up since the start, the same number again, or the first version.
    Usual,
    /// The resourceVersion went up by `by`, far beyond the last steps: over 100, and over 8 times the largest of the
    /// last 16.
    Jump {
        /// The step in revisions.
        by: u64,
    },
    /// The resourceVersion went down by `by`; a correct server never lets it go down after the initial events (F23,
    /// F30; docs/semantics/checks.md#order). If [`Watch::move_to`] returns it, it may also mean a restore of etcd
    /// (F33).
    Reversal {
        /// The step down in revisions, above 0.
        by: u64,
    },
    /// At least one of the two compared versions is no ordered number of at most 64 bits.
    Incomparable,
}

impl Watch {
    /// How this watch's resourceVersion moves to `version`. The first version after a stop and a start is compared with
    /// the last one before the stop. If the first version is lower, etcd was restored (F33) and the step is a reversal;
    /// otherwise the step is usual. Later versions are compared as by [`Watch::step_to`].
    #[must_use]
    pub fn move_to(&self, version: &ResourceVersion) -> VersionStep {
        if self.seen.is_some() {
            return self.step_to(version);
        }
        let left_at = self.left_at.as_ref().and_then(ResourceVersion::number);
        match left_at.zip(version.number()) {
            Some((from, to)) if to < from => VersionStep::Reversal { by: from - to },
            _ => VersionStep::Usual,
        }
    }

    /// How this watch's resourceVersion moves to `version`, compared only with the last one since the watch's start.
    /// The first version since the start is a usual step.
    #[must_use]
    pub fn step_to(&self, version: &ResourceVersion) -> VersionStep {
        let Some(seen) = &self.seen else {
            return VersionStep::Usual;
        };
        let (Some(from), Some(to)) = (seen.number(), version.number()) else {
            return VersionStep::Incomparable;
        };
        if to < from {
            return VersionStep::Reversal { by: from - to };
        }
        let by = to - from;
        let largest = self.steps.iter().copied().max();
        match largest {
            Some(largest) if by > JUMP_OVER && by > largest.saturating_mul(JUMP_FACTOR) => {
                VersionStep::Jump { by }
            }
            _ => VersionStep::Usual,
        }
    }

    /// Notes a version that a stream delivered. While the stream still delivers the initial state, the version is no
    /// progress: objects with lower versions may still come (docs/semantics/clients.md#probe-initial-events).
    pub(super) fn learn(&mut self, version: &ResourceVersion) {
        self.see(version);
        let is_reading = self
            .phase
            .as_ref()
            .is_some_and(|phase| phase.phase == Phase::Listing);
        if !is_reading {
            self.advance(version);
        }
    }

    pub(super) fn see(&mut self, version: &ResourceVersion) {
        if let (Some(from), Some(to)) = (
            self.seen.as_ref().and_then(ResourceVersion::number),
            version.number(),
        ) && to > from
        {
            if self.steps.len() == STEPS_KEPT {
                self.steps.remove(0);
            }
            self.steps.push(to - from);
        }
        self.seen = Some(version.clone());
        self.left_at = None;
    }

    /// Moves progress up to `version`, never down. A version that cannot be compared replaces progress.
    pub(super) fn advance(&mut self, version: &ResourceVersion) {
        let goes_down = self
            .progress
            .as_ref()
            .is_some_and(|progress| progress.is_after(version));
        if !goes_down {
            self.progress = Some(version.clone());
        }
    }
}
