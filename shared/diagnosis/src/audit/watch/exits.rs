//! Objects that a watch with a selector reported as deleted: they may only have left the selector.

use std::sync::Arc;

use watchscope_model::event::{Audit, Change};
use watchscope_model::fold::Watch;
use watchscope_model::read::Seen;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, ChangeType, Origin};
use watchscope_model::{Object, ResourceVersion, Time};

use super::context::StepContext;
use super::state::{LOOKED_AFTER, WatchAudit};
use super::task::{Task, same_place};
use crate::audit::level::Level;
use crate::audit::reasons::Reason;

/// An object is looked up this much after its DELETED, in microseconds, so that a burst is over.
pub(super) const LEFT_US: i64 = 1_000_000;

impl WatchAudit {
    /// Remembers an object of a DELETED under a selector, and forgets one that an ADDED brings back.
    pub(super) fn remember_left(&mut self, before: &Watch, change: &Change, now: Time) {
        let is_selecting = before.label_selector.is_some() || before.field_selector.is_some();
        let uid = &change.object.uid;
        if !is_selecting || uid.is_empty() {
            return;
        }
        self.left.retain(|(object, _)| object.uid != *uid);
        if change.change == ChangeType::Deleted && change.origin == Origin::Live {
            if self.left.len() == LOOKED_AFTER {
                self.left.pop_front();
            }
            let version = change.resource_version.clone();
            self.left.push_back((change.object.clone(), version));
            if self.level != Level::Off && !self.refuses_get {
                self.left_at.get_or_insert(now.plus_micros(LEFT_US));
            }
        }
    }

    /// Looks up the newest of those objects, at most [`LOOKED_AFTER`] in a minute.
    pub(super) fn look_after_left(&mut self, now: Time) {
        self.left_at = None;
        while let Some((object, version)) = self.left.pop_back() {
            if self.left_minute.free_at() > now {
                self.left_at = Some(self.left_minute.free_at());
                self.left.push_back((object, version));
                return;
            }
            self.left_minute.spend(now);
            self.tasks.push_back(Task::SelectorExit { object, version });
        }
    }

    /// An object was looked up for another reason. It may be one that left the selector.
    pub(super) fn is_among_left(
        &mut self,
        object: &Object,
        seen: &Seen,
        step: &mut StepContext<'_>,
    ) {
        let place = self
            .left
            .iter()
            .position(|(left, _)| same_place(left, object));
        if let Some((left, version)) = place.and_then(|place| self.left.remove(place)) {
            self.is_left(&left, &version, seen, step);
        }
    }

    /// etcd has an object that was reported as deleted under a selector. With the same uid it only left the selector.
    /// Another uid belongs to a new object of the same name, and an older version to an older state.
    pub(super) fn is_left(
        &mut self,
        object: &Arc<Object>,
        version: &ResourceVersion,
        seen: &Seen,
        step: &mut StepContext<'_>,
    ) {
        if seen.object.uid != object.uid || version.is_after(&seen.version) {
            return;
        }
        let (method, outcome) = (AuditMethod::GetLeft, AuditOutcome::Agrees);
        let told = Audit {
            resource_version: Some(seen.version.clone()),
            compared: 1,
            object: Some(object.clone()),
            ..self.audit(step, method, outcome, &[Reason::OnlyLeft])
        };
        self.tell(step, told);
    }
}
