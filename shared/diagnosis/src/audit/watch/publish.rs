//! Publishes the records of the audit of a watch.

use std::sync::Arc;

use watchscope_model::event::Audit;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, Authority};
use watchscope_model::{Object, ResourceVersion};

use super::context::StepContext;
use super::reply::PendingReply;
use super::state::WatchAudit;
use super::task::same_place;
use crate::audit::reasons::{Reason, sentence};

impl WatchAudit {
    /// Publishes how many samples were equal since this was last published.
    pub(crate) fn publish_samples(&mut self, step: &mut StepContext<'_>) {
        if self.sampling.unpublished > 0 {
            let sampled = std::mem::take(&mut self.sampling.unpublished);
            let method = if self.limits.refuses_get {
                AuditMethod::ListOne
            } else {
                AuditMethod::Get
            };
            let why = self.limits.refuses_get.then_some(Reason::RefusesGet);
            let record = Audit {
                resource_version: step.watch.progress.clone(),
                compared: sampled,
                ..self.audit(step, method, AuditOutcome::Agrees, why.as_slice())
            };
            self.publish(step, record);
        }
    }

    /// Publishes why nothing can be decided, unless the last record said the same.
    pub(crate) fn publish_undecided(
        &mut self,
        step: &mut StepContext<'_>,
        method: AuditMethod,
        at: Option<ResourceVersion>,
        why: Reason,
    ) {
        let undecided = (method, why);
        if self.concluded.undecided.as_ref() != Some(&undecided) {
            let outcome = AuditOutcome::CannotTell;
            let record = Audit {
                resource_version: at,
                ..self.audit(step, method, outcome, std::slice::from_ref(&undecided.1))
            };
            self.publish(step, record);
            self.concluded.undecided = Some(undecided);
        }
    }

    /// Publishes the comparison of one object, which the record names.
    pub(super) fn publish_object(
        &mut self,
        object: &Arc<Object>,
        step: &mut StepContext<'_>,
        method: AuditMethod,
        at: Option<ResourceVersion>,
        outcome: AuditOutcome,
    ) {
        let record = Audit {
            resource_version: at,
            compared: 1,
            object: Some(object.clone()),
            ..self.audit(step, method, outcome, &[])
        };
        self.publish(step, record);
    }

    /// Returns an audit record of the watch with these reasons, with nothing compared yet.
    pub(crate) fn audit(
        &self,
        step: &StepContext<'_>,
        method: AuditMethod,
        outcome: AuditOutcome,
        reasons: &[Reason],
    ) -> Audit {
        let lists_whole =
            (self.limits.lists_whole && is_list(method)).then_some(Reason::ListsWhole);
        let reasons = reasons.iter().chain(&lists_whole);
        let first = reasons.clone().next();
        Audit {
            watch: step.name.clone(),
            resource_version: None,
            method: method.word().into(),
            compared: 0,
            outcome: outcome.word().into(),
            object: None,
            authority: first.and_then(Reason::authority),
            whole: None,
            why: first.map(Reason::kind),
            reason: sentence(reasons),
        }
    }

    /// Publishes a record. If a viewer waits for it, the record is the reply.
    pub(crate) fn publish(&mut self, step: &mut StepContext<'_>, mut record: Audit) {
        self.concluded.undecided = None;
        if is_whole(&record) {
            record.whole = Some(true);
            record.authority.get_or_insert(Authority::Etcd);
        }
        let is_answer = match (&self.pending, &record.object) {
            (Some(PendingReply::One(owed)), Some(object)) => same_place(owed, object),
            (Some(PendingReply::One(_)), None) => record.outcome() == AuditOutcome::CannotTell,
            // A sweep and a selector exit do not reply: the list is still to come, or nothing came of it.
            (Some(PendingReply::All { .. }), _) => {
                !matches!(record.method(), AuditMethod::GetEach | AuditMethod::GetLeft)
            }
            _ => true,
        };
        if is_answer {
            self.pending = None;
        }
        step.out.push(record.into());
    }

    /// Returns whether a viewer waits for a reply about this object.
    pub(crate) fn is_awaited(&self, object: &Object) -> bool {
        matches!(&self.pending, Some(PendingReply::One(owed)) if same_place(owed, object))
    }

    /// Publishes that there is no result, as the reply to a viewer's request, if no more reads follow for the request.
    pub(crate) fn settle(&mut self, step: &mut StepContext<'_>) {
        let is_seen_to = match &self.pending {
            None => true,
            Some(PendingReply::All { .. }) => {
                let is_due = self.round.next_at.is_some_and(|due| due <= step.now);
                let is_read = !self.round.tasks.is_empty() || self.sweep.is_some();
                is_due || self.round.behind.is_some() || self.concluded.has_differed || is_read
            }
            Some(PendingReply::One(owed)) => self.round.tasks.iter().any(|task| task.is_of(owed)),
        };
        if !is_seen_to {
            self.publish_undecided(step, AuditMethod::Get, None, Reason::MovedOn);
        }
    }
}

/// Returns whether a method is a list.
fn is_list(method: AuditMethod) -> bool {
    !matches!(
        method,
        AuditMethod::AheadTwice
            | AuditMethod::Get
            | AuditMethod::GetLeft
            | AuditMethod::GetEach
            | AuditMethod::SecondWatch
            | AuditMethod::Unknown
    )
}

/// Returns whether an audit record says that all objects were compared that the watch held at the record's version.
pub(super) fn is_whole(record: &Audit) -> bool {
    let is_of_all = match record.method() {
        AuditMethod::ListExact
        | AuditMethod::ListExactAgain
        | AuditMethod::ListNewest
        | AuditMethod::ListElsewhere => true,
        // A sweep may have a reason: some objects changed before they were looked up.
        AuditMethod::GetEach => record.why.is_none(),
        _ => false,
    };
    record.object.is_none() && is_of_all && record.outcome() != AuditOutcome::CannotTell
}
