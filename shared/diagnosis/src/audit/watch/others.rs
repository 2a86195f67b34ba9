//! Handles reads that were made for other watches and concern this watch.

use std::sync::Arc;

use watchscope_model::Object;
use watchscope_model::event::Audit;
use watchscope_model::fold::Watch;
use watchscope_model::read::{Page, Seen};
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};

use super::context::StepContext;
use super::questions::{is_streaming, is_unordered, position};
use super::state::{FOLLOWED, WatchAudit};
use crate::audit::compare::{Comparison, Outcome};
use crate::audit::reads::Scope;
use crate::audit::reasons::{Elsewhere, Reason};

impl WatchAudit {
    /// Handles a lookup of an object of this watch that another watch made.
    pub(crate) fn overheard(
        &mut self,
        object: &Arc<Object>,
        seen: Option<&Seen>,
        step: &mut StepContext<'_>,
    ) {
        let (watch, Some(progress)) = (step.watch, position(step.watch)) else {
            return;
        };
        // A newer version will still come. A missing object counts only if the watch must hold it.
        let is_to_come = seen.is_some_and(|seen| seen.version.is_after(progress));
        let is_expected = self.subject.scope.as_ref().is_some_and(Scope::is_all);
        let is_its = watch.held(object).is_some() || (seen.is_some() && is_expected);
        if is_streaming(watch) && self.round.behind.is_none() && is_its && !is_to_come {
            self.spare(object, step);
            self.got(object, seen, step);
        }
    }

    /// Compares the watch with a list of the same scope by another server, `from`, made for that server's watch
    /// `theirs`. Two watch caches hardly ever lose the same event. Returns the objects that differ; lookups in etcd for
    /// both watches show which of the two is wrong.
    pub(crate) fn listed_elsewhere(
        &mut self,
        page: &Page,
        from: &str,
        theirs: &Watch,
        step: &mut StepContext<'_>,
    ) -> Vec<Arc<Object>> {
        let watch = step.watch;
        let is_comparable =
            is_streaming(watch) && self.round.behind.is_none() && !is_unordered(watch);
        let Some(past) = self
            .subject
            .history
            .at(watch, &page.version)
            .filter(|_| is_comparable)
        else {
            return Vec::new();
        };
        let mut comparison = Comparison::new(page.version.clone(), None);
        comparison.take(&page.items, &past);
        if comparison.unclear > 0 {
            return Vec::new();
        }
        let Outcome {
            compared,
            differences,
            ..
        } = comparison.finish(&past);
        let is_known = |object: &Object| {
            [watch, theirs]
                .iter()
                .any(|w| w.verdict_on(object).is_some())
        };
        let is_equal = differences.is_empty();
        let mut news: Vec<Arc<Object>> = differences
            .into_iter()
            .map(|found| found.object)
            .filter(|object| !is_known(object))
            .collect();
        news.truncate(FOLLOWED);
        let (outcome, holds) = match (is_equal, news.is_empty()) {
            (true, _) => (AuditOutcome::Agrees, Elsewhere::Same),
            (false, true) => (AuditOutcome::Differs, Elsewhere::Known),
            (false, false) => (AuditOutcome::CannotTell, Elsewhere::LookedUp),
        };
        let server = from.into();
        let why = [Reason::OtherServer { holds, server }];
        let record = Audit {
            resource_version: Some(page.version.clone()),
            compared,
            ..self.audit(step, AuditMethod::ListElsewhere, outcome, &why)
        };
        self.publish(step, record);
        for object in news.iter().rev() {
            self.look_up(object, page.version.clone());
        }
        news
    }

    /// Queues lookups of objects that differ between this watch and a watch of another server.
    pub(crate) fn doubt(&mut self, objects: Vec<Arc<Object>>, watch: &Watch) {
        if let Some(progress) = position(watch) {
            for object in objects.iter().take(FOLLOWED) {
                self.look_up(object, progress.clone());
            }
        }
    }
}
