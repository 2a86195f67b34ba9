//! Judges lists at exactly a resourceVersion.

use watchscope_model::ResourceVersion;
use watchscope_model::event::Audit;
use watchscope_model::read::Page;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};

use super::context::StepContext;
use super::questions::position;
use super::state::{FOLLOWED, WatchAudit};
use super::task::{Task, same_place};
use super::verdicts::{Judged, cleared, is_confirmed, judge};
use crate::audit::compare::{Comparison, Difference, Outcome};
use crate::audit::reads::{Scope, exact_lists_are_etcds};
use crate::audit::reasons::Reason;

/// Most restarts of a list in one round because the list's version was compacted or the watch has passed it. A
/// restarted list is one at the watch's progress, or the newest list. A further restart ends the comparison as
/// undecided. The number has no source.
const MAX_RESTARTS: u32 = 2;

impl WatchAudit {
    /// Handles a page of a list at exactly a resourceVersion.
    pub(super) fn exact(
        &mut self,
        mut comparison: Comparison,
        page: Page,
        step: &mut StepContext<'_>,
    ) {
        let method = match comparison.first {
            Some(_) => AuditMethod::ListExactAgain,
            None => AuditMethod::ListExact,
        };
        let is_one = self.subject.scope.as_ref().is_some_and(Scope::is_one_name);
        let is_of_it =
            page.version == comparison.at || (is_one && step.is_one_at(&page, &comparison.at));
        if !is_of_it || page.unreadable > 0 {
            // The list went on at another version (`rv=-1`), or is not at the one asked for. So there is no state to
            // compare with.
            let why = if page.unreadable > 0 {
                Reason::Unreadable(page.unreadable)
            } else {
                Reason::OtherVersion {
                    asked: comparison.at.clone(),
                    listed: page.version,
                }
            };
            return self.publish_undecided(step, method, Some(comparison.at), why);
        }
        let Some(past) = self.subject.history.at(step.watch, &comparison.at) else {
            return self.restart(comparison.at, step);
        };
        comparison.take(&page.items, &past);
        if let Some(token) = page.token {
            comparison.token = Some(token);
            self.round.tasks.push_front(Task::Exact(comparison));
            return;
        }
        let (at, first, unclear) = (
            comparison.at.clone(),
            comparison.first.clone(),
            comparison.unclear,
        );
        let outcome = comparison.finish(&past);
        if unclear > 0 {
            return self.publish_undecided(step, method, Some(at), Reason::NotComparable(unclear));
        }
        if exact_lists_are_etcds(step.server) {
            self.conclude(method, at, outcome, first, step);
        } else {
            self.follow(method, at, &outcome, step);
        }
    }

    /// Concludes from a complete comparison with etcd at a version.
    pub(super) fn conclude(
        &mut self,
        method: AuditMethod,
        at: ResourceVersion,
        outcome: Outcome,
        first: Option<Vec<Difference>>,
        step: &mut StepContext<'_>,
    ) {
        let Outcome {
            compared,
            differences,
            is_all,
            pages,
        } = outcome;
        let outcome = if differences.is_empty() {
            AuditOutcome::Agrees
        } else {
            AuditOutcome::Differs
        };
        let is_newest = method == AuditMethod::ListNewest;
        let why = is_newest.then_some(Reason::RefusesExact);
        let record = Audit {
            resource_version: Some(at.clone()),
            compared,
            ..self.audit(step, method, outcome, why.as_slice())
        };
        self.publish(step, record);
        // Only a limited number of differences is kept. Others may be among the rest.
        for open in step.watch.verdicts.values().filter(|_| is_all) {
            let standing = &open.verdict;
            let differs = differences
                .iter()
                .any(|found| same_place(&found.object, &standing.object));
            if !differs {
                step.out.push(cleared(standing).into());
            }
        }
        if differences.is_empty() {
            self.concluded.agreed = Some(at);
            return;
        }
        self.concluded.agreed = None;
        let (mut raised, mut news) = (Vec::new(), Vec::new());
        for found in &differences {
            let is_second = first.as_ref().is_some_and(|first| first.contains(found));
            match judge(found, is_second, step) {
                Judged::Raised => raised.push(found),
                Judged::Confirmed => news.push(found),
                Judged::Known => {}
            }
        }
        self.queue_history_check(news);
        if first.is_some() || raised.is_empty() {
            return;
        }
        if raised.len() < pages {
            // Single lookups take fewer reads than all pages, whose version may be compacted before the last page.
            for found in raised.into_iter().rev() {
                self.round.tasks.push_front(Task::One {
                    object: found.object.clone(),
                    at: at.clone(),
                    first: Some(found.clone()),
                });
            }
        } else {
            self.round
                .tasks
                .push_front(Task::Exact(Comparison::new(at, Some(differences))));
        }
    }

    /// Handles a complete comparison with a list that may come from a watch cache. Queues lookups of the differences in
    /// etcd, one by one.
    fn follow(
        &mut self,
        method: AuditMethod,
        at: ResourceVersion,
        outcome: &Outcome,
        step: &mut StepContext<'_>,
    ) {
        let differences = &outcome.differences;
        self.concluded.agreed = differences.is_empty().then(|| at.clone());
        let is_news = |found: &&Difference| !is_confirmed(found, step.watch);
        let news: Vec<&Difference> = differences.iter().filter(is_news).take(FOLLOWED).collect();
        let (result, why) = match (differences.is_empty(), news.is_empty()) {
            (true, _) => (AuditOutcome::Agrees, Reason::MayBeACaches),
            (false, true) => (AuditOutcome::Differs, Reason::KnownDifference),
            (false, false) => (AuditOutcome::CannotTell, Reason::LookedUp),
        };
        let record = Audit {
            resource_version: Some(at.clone()),
            compared: outcome.compared,
            ..self.audit(step, method, result, &[why])
        };
        self.publish(step, record);
        for found in news.iter().rev() {
            self.look_up(&found.object, at.clone());
        }
    }

    pub(super) fn exact_refused(
        &mut self,
        comparison: Comparison,
        status: u16,
        step: &mut StepContext<'_>,
    ) {
        match status {
            410 => match (&comparison.first, position(step.watch)) {
                // The second list took too long, so the first of its differences are looked up at the watch's
                // progress.
                (Some(first), Some(progress)) => {
                    let is_news = |found: &&Difference| !is_confirmed(found, step.watch);
                    let news: Vec<_> = first.iter().filter(is_news).take(FOLLOWED).collect();
                    for found in news.into_iter().rev() {
                        self.look_up(&found.object, progress.clone());
                    }
                }
                _ => self.restart(comparison.at, step),
            },
            // The server has not come so far (504, or 500 where etcd says so). The newest list shows how far it is.
            500.. => self.round.tasks.push_front(Task::Newest),
            400 | 422 => {
                self.limits.refuses_exact = true;
                self.round.tasks.push_front(Task::Newest);
            }
            status => {
                let (at, why) = (Some(comparison.at), Reason::Refused(status));
                self.publish_undecided(step, AuditMethod::ListExact, at, why);
            }
        }
    }

    /// Restarts a comparison that cannot be finished at its version, at the watch's progress, or makes the newest
    /// list.
    fn restart(&mut self, at: ResourceVersion, step: &mut StepContext<'_>) {
        self.round.restarts += 1;
        match &step.watch.progress {
            Some(progress) if self.round.restarts <= MAX_RESTARTS && progress.is_after(&at) => {
                let comparison = Comparison::new(progress.clone(), None);
                self.round.tasks.push_front(Task::Exact(comparison));
            }
            _ if self.round.restarts <= MAX_RESTARTS => self.round.tasks.push_front(Task::Newest),
            _ => self.publish_undecided(step, AuditMethod::ListExact, Some(at), Reason::Compacted),
        }
    }
}
