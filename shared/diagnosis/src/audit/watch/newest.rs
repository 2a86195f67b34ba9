//! Compares a watch with its newest list (a list without a resourceVersion), and judges what the list can prove.

use watchscope_model::ResourceVersion;
use watchscope_model::event::Audit;
use watchscope_model::fold::Watch;
use watchscope_model::read::Page;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};

use super::context::StepContext;
use super::questions::{is_long, is_unordered};
use super::reply::PendingReply;
use super::state::{Behind, CachePosition, FOLLOWED, WatchAudit};
use super::verdicts::is_confirmed;
use crate::audit::compare::{Comparison, Difference};
use crate::audit::reads::newest_lists_are_etcds;
use crate::audit::reasons::Reason;

impl WatchAudit {
    /// Handles the first page of the newest list, which shows whether the watch has reached the list's version.
    pub(super) fn newest(&mut self, page: &Page, step: &mut StepContext<'_>) {
        let (watch, server) = (step.watch, step.server);
        let Some(progress) = &watch.progress else {
            return;
        };
        if is_unordered(watch) {
            return self.newest_unordered(page, progress, step);
        }
        if progress.is_after(&page.version) {
            return self.note_lower_revision(page, progress, step);
        }
        self.concluded.went_back = None;
        let versions = page.items.iter().map(|seen| &seen.version);
        match versions.max_by_key(|version| version.number()) {
            Some(newest) if newest.is_after(progress) => self.note_ahead(newest, step),
            // The newer object is gone by now, or no longer matches.
            _ if page.token.is_none() => self.ahead = None,
            _ => {}
        }
        let Some(past) = self.subject.history.at(watch, progress) else {
            return self.answer_unknown_past(step);
        };
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        let unclear = comparison.unclear;
        let is_whole = page.token.is_none() && page.unreadable == 0 && unclear == 0;
        let has_found = comparison.has_found();
        let outcome = comparison.finish(&past);
        let is_equal = outcome.differences.is_empty();
        let differs = if is_whole { !is_equal } else { has_found };
        if page.version == *progress && self.limits.refuses_exact && is_whole {
            // The next best to a list at an exact version: the newest list happens to be at the watch's progress. It
            // cannot be made again at that version.
            if newest_lists_are_etcds(server) {
                let at = page.version.clone();
                self.conclude(AuditMethod::ListNewest, at, outcome, Some(Vec::new()), step);
            } else {
                self.publish_both_refused(page, outcome.compared, is_equal, step);
            }
            return;
        }
        if differs {
            self.concluded.agreed = None;
            self.follow_where_refused(&outcome.differences, progress, watch);
            let behind = Behind {
                version: page.version.clone(),
                since: step.now,
                cache: CachePosition::Unasked,
                is_last: false,
            };
            self.round.behind.get_or_insert(behind);
            self.look_again(step.now);
            return;
        }
        self.round.behind = None;
        if is_whole {
            let why = (!newest_lists_are_etcds(server)).then_some(Reason::MayBeACaches);
            self.newest_agrees(page, outcome.compared, why, step);
        } else if let Some(why) = self.why_not_whole(page, unclear, watch) {
            let at = Some(page.version.clone());
            self.publish_undecided(step, AuditMethod::ListNewest, at, why);
        }
    }

    /// Looks up differences of the newest list, if a list at the watch's progress was refused because the server's
    /// watch cache has not reached it. Leaves out versions above the watch's progress, which the stream may still
    /// deliver.
    fn follow_where_refused(
        &mut self,
        differences: &[Difference],
        progress: &ResourceVersion,
        watch: &Watch,
    ) {
        let stream = watch.stream.as_ref().map(|stream| stream.since.seq);
        let is_refused = self
            .too_large
            .is_some_and(|first| Some(first.stream) == stream);
        let is_of_then = |found: &&Difference| {
            let listed = found.listed.as_ref();
            listed.is_none_or(|listed| !listed.is_after(progress)) && !is_confirmed(found, watch)
        };
        let news = differences.iter().filter(is_of_then);
        for found in news.filter(|_| is_refused).take(FOLLOWED) {
            self.look_up(&found.object, progress.clone());
        }
    }

    /// Returns why the newest list does not cover the whole watch, if nothing has differed so far; `None` if no reason
    /// has to be published.
    fn why_not_whole(&self, page: &Page, unclear: u64, watch: &Watch) -> Option<Reason> {
        let is_asked = matches!(self.pending, Some(PendingReply::All { .. }));
        if page.unreadable > 0 {
            Some(Reason::Unreadable(page.unreadable))
        } else if unclear > 0 {
            Some(Reason::NotComparable(unclear))
        } else if is_long(watch) {
            // Each round publishes the single lookups.
            is_asked.then_some(Reason::TooLong)
        } else if self.limits.refuses_exact {
            Some(Reason::FirstPageOnly)
        } else {
            is_asked.then_some(Reason::Compacted)
        }
    }

    /// Answers a pending request that the watch's state at its progress is unknown.
    fn answer_unknown_past(&mut self, step: &mut StepContext<'_>) {
        if matches!(self.pending, Some(PendingReply::All { .. })) {
            let at = step.watch.progress.clone();
            self.publish_undecided(step, AuditMethod::ListNewest, at, Reason::NoPast);
        }
    }

    /// Handles a newest list that agrees with the watch, as far as a cached list can prove it.
    fn newest_agrees(
        &mut self,
        page: &Page,
        compared: u64,
        why: Option<Reason>,
        step: &mut StepContext<'_>,
    ) {
        let record = Audit {
            resource_version: Some(page.version.clone()),
            compared,
            ..self.audit(
                step,
                AuditMethod::ListNewest,
                AuditOutcome::Agrees,
                why.as_slice(),
            )
        };
        self.publish(step, record);
    }

    /// Handles the newest list of another apiserver. The versions of such a server have no order, so its list can only
    /// prove that all objects are equal.
    fn newest_unordered(
        &mut self,
        page: &Page,
        progress: &ResourceVersion,
        step: &mut StepContext<'_>,
    ) {
        let Some(past) = self.subject.history.at(step.watch, progress) else {
            return self.answer_unknown_past(step);
        };
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        let is_first_of_several = page.token.is_some();
        let (has_found, unclear) = (comparison.has_found(), comparison.unclear);
        let outcome = comparison.finish(&past);
        let differs = if is_first_of_several {
            has_found
        } else {
            !outcome.differences.is_empty()
        };
        if page.unreadable > 0 {
            let (at, why) = (
                Some(page.version.clone()),
                Reason::Unreadable(page.unreadable),
            );
            return self.publish_undecided(step, AuditMethod::ListNewest, at, why);
        }
        if unclear > 0 || differs {
            // Newer events may still be on their way to the watch.
            self.concluded.has_differed = !self.concluded.has_differed;
            if self.concluded.has_differed {
                return self.look_again(step.now);
            }
            let at = Some(page.version.clone());
            return self.publish_undecided(step, AuditMethod::ListNewest, at, Reason::NotEqual);
        }
        self.concluded.has_differed = false;
        if is_first_of_several {
            let (at, why) = (Some(page.version.clone()), Reason::PagesUnordered);
            return self.publish_undecided(step, AuditMethod::ListNewest, at, why);
        }
        self.newest_agrees(page, outcome.compared, Some(Reason::OnlyEqual), step);
    }

    /// Publishes a comparison with a list that may come from a watch cache, if the server refuses lists at an exact
    /// version.
    fn publish_both_refused(
        &mut self,
        page: &Page,
        compared: u64,
        is_equal: bool,
        step: &mut StepContext<'_>,
    ) {
        if is_equal {
            self.newest_agrees(page, compared, Some(Reason::RefusesBoth), step);
        } else {
            let at = Some(page.version.clone());
            self.publish_undecided(step, AuditMethod::ListNewest, at, Reason::RefusesBoth);
        }
    }
}
