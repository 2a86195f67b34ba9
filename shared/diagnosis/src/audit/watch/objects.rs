//! Judges single objects that were looked up.

use std::sync::Arc;

use watchscope_model::read::Seen;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};
use watchscope_model::{Object, ResourceVersion};

use super::context::StepContext;
use super::questions::is_unordered;
use super::state::WatchAudit;
use super::task::{Task, same_place};
use super::verdicts::{Judged, clear, is_confirmed, judge};
use crate::audit::compare::{Compared, Difference, compare};
use crate::audit::reasons::Reason;

impl WatchAudit {
    /// Handles the current state of an object in etcd. The version of the GET matters only if it differs from the held
    /// version.
    pub(super) fn got(
        &mut self,
        object: &Arc<Object>,
        seen: Option<&Seen>,
        step: &mut StepContext<'_>,
    ) {
        let watch = step.watch;
        if let Some(seen) = seen.filter(|_| watch.held(object).is_some()) {
            self.note_ahead(&seen.version, step);
        }
        let held = watch
            .held(object)
            .map(|held| (&held.object, &held.resource_version));
        let found = match compare(held, seen) {
            Compared::Equal => {
                if self.is_awaited(object) {
                    let at = watch.progress.clone();
                    self.publish_object(object, step, AuditMethod::Get, at, AuditOutcome::Agrees);
                } else {
                    self.count_equal(object);
                }
                return clear(object, step);
            }
            Compared::Differs(found) => Some(found),
            Compared::Unclear => None,
        };
        // Another version of a missing object may be one that the selectors do not match.
        let is_known = found
            .as_ref()
            .is_some_and(|found| is_confirmed(found, watch));
        match &watch.progress {
            // The watch has delivered no event since.
            progress if is_known => {
                self.count_wrong(object);
                if self.is_awaited(object) {
                    self.publish_object(
                        object,
                        step,
                        AuditMethod::Get,
                        progress.clone(),
                        AuditOutcome::Differs,
                    );
                }
            }
            _ if is_unordered(watch) => {
                self.publish_undecided(step, AuditMethod::Get, None, Reason::NotEqual);
            }
            Some(_) if found.is_some() && self.limits.refuses_exact => {
                self.publish_undecided(step, AuditMethod::Get, None, Reason::CannotConfirm);
            }
            Some(progress) if found.is_some() => self.look_up(object, progress.clone()),
            _ => {
                self.publish_undecided(step, AuditMethod::Get, None, Reason::Unordered);
            }
        }
    }

    /// Handles the state of an object in etcd at a resourceVersion, from a list of one name.
    pub(super) fn one(
        &mut self,
        object: &Arc<Object>,
        at: ResourceVersion,
        first: Option<Difference>,
        items: &[Seen],
        step: &mut StepContext<'_>,
    ) {
        let past = self.subject.history.at(step.watch, &at);
        if past.is_none() && self.is_awaited(object) && step.watch.progress.as_ref() == Some(&at) {
            return self.publish_undecided(step, AuditMethod::ListOne, Some(at), Reason::NoPast);
        }
        let Some(past) = past.filter(|past| past.still_holds(object)) else {
            return;
        };
        let seen = items.iter().find(|seen| same_place(&seen.object, object));
        match compare(past.get(object), seen) {
            Compared::Equal
                if (self.limits.refuses_get || self.is_sweeping(object))
                    && !self.is_awaited(object) =>
            {
                self.count_equal(object);
                clear(object, step);
            }
            Compared::Equal => {
                self.publish_object(
                    object,
                    step,
                    AuditMethod::ListOne,
                    Some(at),
                    AuditOutcome::Agrees,
                );
                clear(object, step);
            }
            Compared::Unclear if self.is_awaited(object) => {
                self.publish_undecided(
                    step,
                    AuditMethod::ListOne,
                    Some(at),
                    Reason::NotComparable(1),
                );
            }
            Compared::Unclear => {}
            Compared::Differs(found) => {
                self.publish_object(
                    object,
                    step,
                    AuditMethod::ListOne,
                    Some(at.clone()),
                    AuditOutcome::Differs,
                );
                let is_second = first.as_ref() == Some(&found);
                let judged = judge(&found, is_second, step);
                if judged != Judged::Raised {
                    self.count_wrong(object);
                }
                if judged == Judged::Confirmed {
                    self.queue_history_check([&found]);
                }
                if first.is_none() && judged == Judged::Raised {
                    self.round.tasks.push_front(Task::One {
                        object: object.clone(),
                        at,
                        first: Some(found),
                    });
                }
            }
        }
    }
}
