//! A sweep: GETs to etcd for every object of a watch. `watchscope audit` needs a sweep when lists may come from the
//! watch cache and so cannot prove that nothing is wrong.
//!
//! A sweep covers the objects that the watch held or that had a `missing` verdict when the sweep began. So it ends
//! however much is written. The watch's stream delivers later changes.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::vocabulary::AuditOutcome;
use watchscope_model::{Object, ResourceVersion, Time};

use super::task::same_place;
use crate::audit::reasons::{Cut, Reason};

/// Number of failed lookups that end the sweep; the remaining objects count as failed. So a failing server gets few
/// useless requests. The number has no source.
pub(super) const MOST_FAILED: u64 = 8;

/// An object, and the version at which the watch held it when the sweep began; `None` if it has a `missing` verdict.
type LookupTarget = (Arc<Object>, Option<ResourceVersion>);

/// The objects of a sweep, and its results so far. [`Auditor::looking_at`] sets the bound of their number.
///
/// [`Auditor::looking_at`]: crate::audit::Auditor::looking_at
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// The watch's progress when the sweep began.
    pub(super) at: ResourceVersion,
    pub(super) total: u64,
    pub(super) remaining: VecDeque<LookupTarget>,
    /// The object that is being looked up; `None` if none is.
    pub(super) current: Option<LookupTarget>,
    /// When the next object of the sweep is looked up.
    pub(crate) next_at: Time,
    /// Whether the watch had no open stream at the last attempt to look an object up.
    pub(super) is_waiting: bool,
    /// Whether the watch has listed since the sweep began. Such a list may come from a watch cache, so the sweep ends.
    pub(crate) is_listed_anew: bool,
    /// The number of objects that the watch holds at etcd's resourceVersion.
    pub(super) equal: u64,
    pub(super) wrong: u64,
    /// The number of objects that changed or were deleted before a lookup could be compared.
    pub(super) changed: u64,
    pub(super) failed: u64,
}

impl Sweep {
    /// Puts the current object back among the remaining ones, because its lookup had no result.
    pub(crate) fn put_back(&mut self) {
        self.remaining.extend(self.current.take());
    }

    /// Gives the sweep up: all remaining objects count as failed.
    pub(crate) fn give_up(&mut self) {
        self.failed += self.remaining.len() as u64;
        self.remaining.clear();
    }

    /// Removes an object from the current and remaining ones. Returns whether it was one of them.
    pub(super) fn take(&mut self, object: &Object) -> bool {
        let is_it = |(of, _): &LookupTarget| same_place(of, object);
        if self.current.take_if(|asked| is_it(asked)).is_some() {
            return true;
        }
        let place = self.remaining.iter().position(is_it);
        place
            .and_then(|place| self.remaining.remove(place))
            .is_some()
    }

    /// Returns the outcome of the sweep, and the reasons why it is limited.
    pub(super) fn outcome(&self, cut: Option<Cut>) -> (AuditOutcome, Vec<Reason>) {
        let outcome = if self.wrong > 0 {
            AuditOutcome::Differs
        } else if cut.is_some() || self.failed > 0 {
            AuditOutcome::CannotTell
        } else {
            AuditOutcome::Agrees
        };
        let (all, so, failed) = (self.total, self.equal, self.failed);
        let cut = cut.map(|by| Reason::Cut { by, so, all });
        let failed = (failed > 0).then_some(Reason::NotLookedUp { failed, all });
        let changed = (self.changed > 0).then_some(Reason::Changed(self.changed));
        (
            outcome,
            [cut, failed, changed].into_iter().flatten().collect(),
        )
    }
}
