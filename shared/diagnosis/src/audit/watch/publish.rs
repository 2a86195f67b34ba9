//! The records of the audit of a watch.

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
    /// Publishes how many samples were equal since the last time.
    pub(crate) fn tell_sampled(&mut self, step: &mut StepContext<'_>) {
        if self.sampled > 0 {
            let sampled = std::mem::take(&mut self.sampled);
            let method = if self.refuses_get {
                AuditMethod::ListOne
            } else {
                AuditMethod::Get
            };
            let why = self.refuses_get.then_some(Reason::RefusesGet);
            let told = Audit {
                resource_version: step.watch.progress.clone(),
                compared: sampled,
                ..self.audit(step, method, AuditOutcome::Agrees, why.as_slice())
            };
            self.tell(step, told);
        }
    }

    pub(crate) fn cannot_tell(
        &mut self,
        step: &mut StepContext<'_>,
        method: AuditMethod,
        at: Option<ResourceVersion>,
        why: Reason,
    ) {
        let untold = (method, why);
        if self.untold.as_ref() != Some(&untold) {
            let outcome = AuditOutcome::CannotTell;
            let told = Audit {
                resource_version: at,
                ..self.audit(step, method, outcome, std::slice::from_ref(&untold.1))
            };
            self.tell(step, told);
            self.untold = Some(untold);
        }
    }

    /// Publishes the comparison of one object, by name.
    pub(super) fn tell_of(
        &mut self,
        object: &Arc<Object>,
        step: &mut StepContext<'_>,
        method: AuditMethod,
        at: Option<ResourceVersion>,
        outcome: AuditOutcome,
    ) {
        let told = Audit {
            resource_version: at,
            compared: 1,
            object: Some(object.clone()),
            ..self.audit(step, method, outcome, &[])
        };
        self.tell(step, told);
    }

    /// Returns an audit of the watch for these reasons, with nothing compared yet.
    pub(crate) fn audit(
        &self,
        step: &StepContext<'_>,
        method: AuditMethod,
        outcome: AuditOutcome,
        reasons: &[Reason],
    ) -> Audit {
        let lists_whole = (self.lists_whole && is_list(method)).then_some(Reason::ListsWhole);
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

    pub(crate) fn tell(&mut self, step: &mut StepContext<'_>, mut told: Audit) {
        self.untold = None;
        if is_whole(&told) {
            told.whole = Some(true);
            told.authority.get_or_insert(Authority::Etcd);
        }
        let is_answer = match (&self.owed, &told.object) {
            (Some(PendingReply::One(owed)), Some(object)) => same_place(owed, object),
            (Some(PendingReply::One(_)), None) => told.outcome() == AuditOutcome::CannotTell,
            // A sweep and a selector exit do not reply: the list is still to come, or nothing came of it.
            (Some(PendingReply::All { .. }), _) => {
                !matches!(told.method(), AuditMethod::GetEach | AuditMethod::GetLeft)
            }
            _ => true,
        };
        if is_answer {
            self.owed = None;
        }
        step.out.push(told.into());
    }

    /// Returns whether a viewer waits for a reply about this object.
    pub(crate) fn owes(&self, object: &Object) -> bool {
        matches!(&self.owed, Some(PendingReply::One(owed)) if same_place(owed, object))
    }

    /// Replies that nothing came of a viewer's request, if nothing more is read for it.
    pub(crate) fn settle(&mut self, step: &mut StepContext<'_>) {
        let is_seen_to = match &self.owed {
            None => true,
            Some(PendingReply::All { .. }) => {
                let is_due = self.due.is_some_and(|due| due <= step.now);
                let is_read = !self.tasks.is_empty() || self.each.is_some();
                is_due || self.behind.is_some() || self.has_differed || is_read
            }
            Some(PendingReply::One(owed)) => self.tasks.iter().any(|task| task.is_of(owed)),
        };
        if !is_seen_to {
            self.cannot_tell(step, AuditMethod::Get, None, Reason::MovedOn);
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

/// Returns whether an audit compared all that the watch held at its version.
pub(super) fn is_whole(told: &Audit) -> bool {
    let is_of_all = match told.method() {
        AuditMethod::ListExact
        | AuditMethod::ListExactAgain
        | AuditMethod::ListNewest
        | AuditMethod::ListElsewhere => true,
        // A sweep may have a reason: some objects changed before they were looked up.
        AuditMethod::GetEach => told.why.is_none(),
        _ => false,
    };
    told.object.is_none() && is_of_all && told.outcome() != AuditOutcome::CannotTell
}
