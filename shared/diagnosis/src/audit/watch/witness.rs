//! A second watch of the same objects, as a witness (docs/semantics/checks.md#witness).

use std::sync::Arc;

use watchscope_model::event::Audit;
use watchscope_model::fold::Watch;
use watchscope_model::id::Place;
use watchscope_model::read::{Seen, Told};
use watchscope_model::tree::BTreeSet;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome, Standing, Verb};
use watchscope_model::{Aside, Object, ResourceVersion, Time, WatchName};

use super::context::StepContext;
use super::questions::{is_streaming, position};
use super::state::{FOLLOWED, WatchAudit};
use crate::audit::read::Read;
use crate::audit::reasons::{Reason, SecondWatch};

/// Time in ms from one second watch of the same objects to the next. If the watch has made no progress by then, the
/// next is due after the same time. So for each watch, second watches take one of the server's 120 requests a minute
/// (docs/audit.md#how-much-is-read). The number has no other source.
const WITNESS_MS: u64 = 60_000;

impl WatchAudit {
    /// Returns when the next second watch is due; `None` at a level other than `full`.
    pub(crate) fn witness_at(&self) -> Option<Time> {
        self.witness.next_at
    }

    /// Returns the request of the next second watch and the resourceVersion at which it starts, if one is due and the
    /// watch's progress has moved since the last one.
    pub(crate) fn ask_witness(
        &mut self,
        name: &WatchName,
        watch: &Watch,
        now: Time,
    ) -> Option<(ResourceVersion, Read)> {
        if self.witness.next_at.is_none_or(|at| at > now) {
            return None;
        }
        self.witness.next_at = Some(now.plus_millis(WITNESS_MS));
        let progress = position(watch).filter(|_| is_streaming(watch))?;
        let from = self.witness.compared_to.replace(progress.clone())?;
        let is_known = self
            .subject
            .history
            .delivered(watch, &from, progress)
            .is_some();
        if !is_known || !progress.is_after(&from) {
            return None;
        }
        let (path, query) = self.subject.scope.as_ref()?.since(&from);
        let read = Read {
            watch: name.clone(),
            lane: name.aside(Aside::Witness),
            server: self.subject.server.clone(),
            verb: Verb::Watch,
            path,
            query: Some(query),
        };
        Some((from, read))
    }

    /// Compares the watch with a second watch of the same objects (docs/semantics/checks.md#witness). Both must have
    /// delivered the same events above `from`, up to the lower of their two versions. Looks up the objects of events
    /// that the watch lost.
    pub(crate) fn witnessed(
        &mut self,
        from: &ResourceVersion,
        second: &Told,
        step: &mut StepContext<'_>,
    ) {
        let (Some(progress), Some(reached)) = (position(step.watch), &second.reached) else {
            return;
        };
        let to = if reached.is_after(progress) {
            progress
        } else {
            reached
        };
        let Some(ours) = self.subject.history.delivered(step.watch, from, to) else {
            return;
        };
        let mut ours: BTreeSet<(Place, Option<u64>)> = ours
            .map(|(place, version)| (place.clone(), version.number()))
            .collect();
        let compared = ours.len() as u64;
        let is_between = |seen: &&Seen| seen.version.is_after(from) && !seen.version.is_after(to);
        // A server may deliver one event twice.
        let mut theirs = BTreeSet::new();
        let lost: Vec<Arc<Object>> = second
            .events
            .iter()
            .filter(is_between)
            .filter(|seen| {
                let event = (Place(seen.object.clone()), seen.version.number());
                let was_delivered = ours.remove(&event);
                theirs.insert(event) && !was_delivered
            })
            .map(|seen| seen.object.clone())
            .collect();
        let (outcome, of) = match (lost.len() as u64, ours.len() as u64) {
            (0, 0) => (AuditOutcome::Agrees, SecondWatch::Same),
            (0, more) => (AuditOutcome::CannotTell, SecondWatch::Lacks(more)),
            (lost, _) => (AuditOutcome::Differs, SecondWatch::HasMore(lost)),
        };
        let why = [Reason::Second {
            of,
            from: from.clone(),
            to: to.clone(),
        }];
        let record = Audit {
            resource_version: Some(to.clone()),
            compared,
            ..self.audit(step, AuditMethod::SecondWatch, outcome, &why)
        };
        self.publish(step, record);
        let is_known = |object: &Arc<Object>| {
            let open = step.watch.verdict_on(object);
            open.is_some_and(|open| open.verdict.state == Standing::Confirmed)
        };
        let news = lost.iter().filter(|object| !is_known(object));
        for object in news.take(FOLLOWED) {
            self.look_up(object, progress.clone());
        }
    }
}
