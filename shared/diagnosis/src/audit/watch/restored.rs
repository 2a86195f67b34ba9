//! An etcd that was restored: its revision went back, or its history is another one (F33).

use std::sync::Arc;

use watchscope_model::read::Page;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};
use watchscope_model::{Object, ResourceVersion};

use super::context::StepContext;
use super::state::{AGAIN_US, WatchAudit};
use super::task::Task;
use super::verdicts::cleared;
use crate::audit::compare::Difference;
use crate::audit::reasons::Reason;

impl WatchAudit {
    /// Queues a read of one of the objects that were just confirmed to be wrong: that with the newest held version, at
    /// exactly this version. In the watch's history etcd has the object at that version, even if later events were
    /// lost. The newest version is compacted last, and is the likeliest to belong to a history that etcd no longer has.
    pub(super) fn queue_history_check<'a>(
        &mut self,
        confirmed: impl IntoIterator<Item = &'a Difference>,
    ) {
        let held = confirmed.into_iter().filter_map(|found| {
            let held = found.held.as_ref()?;
            Some((held.number()?, held, &found.object))
        });
        if let Some((_, at, object)) = held.max_by_key(|(number, ..)| *number)
            && !self.limits.refuses_exact
        {
            self.round.tasks.push_back(Task::HistoryCheck {
                object: object.clone(),
                at: at.clone(),
                is_second: false,
            });
        }
    }

    /// Handles that etcd does not have an object at the version that the watch holds. A revision means one state while
    /// its history lasts. So etcd was restored to another history, and its revision has passed that version since
    /// (F33). A single such answer may be an error in transit, so the read is repeated.
    pub(super) fn note_never_existed(
        &mut self,
        object: Arc<Object>,
        at: ResourceVersion,
        is_second: bool,
        step: &mut StepContext<'_>,
    ) {
        let standing = step.watch.verdict_on(&object).map(|open| &open.verdict);
        let is_open = standing.is_some_and(|standing| {
            standing.object == object && standing.held.as_ref() == Some(&at)
        });
        if !is_open {
            return;
        }
        if is_second {
            self.publish_object(
                &object,
                step,
                AuditMethod::ListOneTwice,
                Some(at),
                AuditOutcome::Differs,
            );
        } else {
            self.round.tasks.push_front(Task::HistoryCheck {
                object,
                at,
                is_second: true,
            });
        }
    }

    /// Handles a consistent list below the watch's version: etcd's revision went back (F33). A single such list may be
    /// an error in transit. A second such list after [`AGAIN_US`] proves it: the result is published, and all verdicts
    /// are cleared.
    pub(super) fn note_lower_revision(
        &mut self,
        page: &Page,
        progress: &ResourceVersion,
        step: &mut StepContext<'_>,
    ) {
        let since = *self.concluded.went_back.get_or_insert(step.now);
        if step.now.micros_since(since) < AGAIN_US {
            self.concluded.agreed = Some(progress.clone());
            return self.look_again(step.now);
        }
        let why = Reason::WentBack {
            listed: page.version.clone(),
            seen: progress.clone(),
        };
        self.publish_undecided(
            step,
            AuditMethod::ListNewestTwice,
            Some(page.version.clone()),
            why,
        );
        for open in step.watch.verdicts.values() {
            step.out.push(cleared(&open.verdict).into());
        }
    }
}
