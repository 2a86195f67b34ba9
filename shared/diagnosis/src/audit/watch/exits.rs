//! Objects for which a watch with a selector delivered a DELETED: they may only have left the selector.

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

/// Time in µs after the first DELETED of a burst at which its objects are looked up, so that the burst is over. An
/// object that comes back before that needs no lookup. While the watch has no open stream, the lookup is put off by
/// this time. The number has no source.
pub(super) const LEFT_US: i64 = 1_000_000;

impl WatchAudit {
    /// Remembers an object of a DELETED under a selector, and forgets one that an ADDED brings back.
    pub(super) fn remember_exit(&mut self, before: &Watch, change: &Change, now: Time) {
        let is_selecting = before.label_selector.is_some() || before.field_selector.is_some();
        let uid = &change.object.uid;
        if !is_selecting || uid.is_empty() {
            return;
        }
        self.exits.objects.retain(|(object, _)| object.uid != *uid);
        if change.change == ChangeType::Deleted && change.origin == Origin::Live {
            if self.exits.objects.len() == LOOKED_AFTER {
                self.exits.objects.pop_front();
            }
            let version = change.resource_version.clone();
            self.exits
                .objects
                .push_back((change.object.clone(), version));
            if self.level != Level::Off && !self.limits.refuses_get {
                self.exits.next_at.get_or_insert(now.plus_micros(LEFT_US));
            }
        }
    }

    /// Queues lookups of the remembered objects, the newest first, at most [`LOOKED_AFTER`] in a minute.
    pub(super) fn look_up_exits(&mut self, now: Time) {
        self.exits.next_at = None;
        while let Some((object, version)) = self.exits.objects.pop_back() {
            if self.exits.minute.free_at() > now {
                self.exits.next_at = Some(self.exits.minute.free_at());
                self.exits.objects.push_back((object, version));
                return;
            }
            self.exits.minute.spend(now);
            self.round
                .tasks
                .push_back(Task::SelectorExit { object, version });
        }
    }

    /// Removes an object that was looked up for another reason from the remembered exits, if it is one of them, and
    /// publishes the result.
    pub(super) fn take_exit(&mut self, object: &Object, seen: &Seen, step: &mut StepContext<'_>) {
        let place = self
            .exits
            .objects
            .iter()
            .position(|(left, _)| same_place(left, object));
        if let Some((left, version)) = place.and_then(|place| self.exits.objects.remove(place)) {
            self.publish_exit(&left, &version, seen, step);
        }
    }

    /// Publishes that an object only left the selector, if etcd has it with the uid of the DELETED. Another uid
    /// belongs to a new object of the same name, and an older version to an older state.
    pub(super) fn publish_exit(
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
        let record = Audit {
            resource_version: Some(seen.version.clone()),
            compared: 1,
            object: Some(object.clone()),
            ..self.audit(step, method, outcome, &[Reason::OnlyLeft])
        };
        self.publish(step, record);
    }
}
