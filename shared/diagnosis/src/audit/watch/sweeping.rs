//! The steps of a sweep: it begins, looks up one object after the other, and ends.

use std::sync::Arc;

use watchscope_model::event::Audit;
use watchscope_model::vocabulary::AuditMethod;
use watchscope_model::{Object, ResourceVersion};

use super::context::StepContext;
use super::questions::position;
use super::state::{AGAIN_US, WatchAudit};
use super::sweep::{MOST_FAILED, Sweep};
use super::task::same_place;
use crate::audit::reasons::{Cut, Reason};

impl WatchAudit {
    /// Begins a sweep, unless the watch has more objects than `lookup_limit`. Returns whether a sweep began.
    pub(crate) fn begin_sweep(
        &mut self,
        progress: &ResourceVersion,
        step: &StepContext<'_>,
    ) -> bool {
        let watch = step.watch;
        let Some(all) = self.sampling.samples.all(watch, self.lookup_limit) else {
            return false;
        };
        let asked = |object: Arc<Object>| {
            let held = watch.held(&object);
            let version = held.map(|held| held.resource_version.clone());
            (object, version)
        };
        self.sweep = Some(Sweep {
            at: progress.clone(),
            total: all.len() as u64,
            remaining: all.into_iter().map(asked).collect(),
            current: None,
            next_at: step.now,
            is_waiting: false,
            is_listed_anew: false,
            equal: 0,
            wrong: 0,
            changed: 0,
            failed: 0,
        });
        true
    }

    /// Queues the lookup of the sweep's next object. If the watch has no open stream, the sweep waits [`AGAIN_US`] once
    /// for the next stream.
    pub(crate) fn next_of_sweep(&mut self, is_streaming: bool, step: &mut StepContext<'_>) {
        let (watch, now) = (step.watch, step.now);
        let Some(sweep) = self.sweep.as_mut().filter(|sweep| sweep.next_at <= now) else {
            return;
        };
        // Its lookup was lost, or another watch's lookup had no result.
        sweep.put_back();
        if sweep.is_listed_anew {
            self.end_sweep(Some(Cut::ListedAnew), step);
            return self.settle(step);
        }
        let Some(progress) = position(watch).filter(|_| is_streaming) else {
            if std::mem::replace(&mut sweep.is_waiting, true) {
                self.end_sweep(Some(Cut::NotStreaming), step);
                return self.settle(step);
            }
            sweep.next_at = now.plus_micros(AGAIN_US);
            return;
        };
        sweep.is_waiting = false;
        while let Some((object, version)) = sweep.remaining.pop_front() {
            let held = watch.held(&object).map(|held| held.object.clone());
            if held.is_none() && version.is_some() {
                // The stream reported its deletion.
                sweep.changed += 1;
                continue;
            }
            sweep.current = Some((object.clone(), version));
            let object = held.unwrap_or(object);
            self.sampling.samples.looked_up(&object, now);
            self.round.tasks.push_back(self.look(object, progress));
            return;
        }
        self.end_sweep(None, step);
        self.settle(step);
    }

    /// Counts an object that the watch holds at etcd's resourceVersion. An object that no sweep looks up counts as a
    /// sample.
    pub(crate) fn count_equal(&mut self, object: &Object) {
        if let Some(sweep) = &mut self.sweep
            && sweep.take(object)
        {
            sweep.equal += 1;
        } else {
            self.sampling.unpublished += 1;
        }
    }

    /// Counts an object with a confirmed verdict as wrong, if the sweep looks it up.
    pub(crate) fn count_wrong(&mut self, object: &Object) {
        if let Some(sweep) = &mut self.sweep
            && sweep.take(object)
        {
            sweep.wrong += 1;
        }
    }

    /// Returns whether the sweep is looking up this object.
    pub(crate) fn is_sweeping(&self, object: &Object) -> bool {
        let looking = self.sweep.as_ref().and_then(|sweep| sweep.current.as_ref());
        looking.is_some_and(|(of, _)| same_place(of, object))
    }

    /// Notes that no more reads follow for the object that the sweep looked up.
    pub(crate) fn lookup_ended(&mut self, step: &mut StepContext<'_>) {
        let Some(sweep) = &mut self.sweep else {
            return;
        };
        if let Some((object, version)) = sweep.current.take() {
            let held = step.watch.held(&object).map(|held| &held.resource_version);
            if held == version.as_ref() {
                sweep.failed += 1;
            } else {
                sweep.changed += 1;
            }
        }
        if sweep.failed >= MOST_FAILED {
            sweep.give_up();
        }
        if sweep.remaining.is_empty() {
            self.end_sweep(None, step);
        }
    }

    /// Publishes the results of the sweep so far, because the watch was stopped.
    pub(crate) fn stop(&mut self, step: &mut StepContext<'_>) {
        self.end_sweep(Some(Cut::Stopped), step);
    }

    /// Ends the sweep, if there is one, and publishes its outcome.
    fn end_sweep(&mut self, cut: Option<Cut>, step: &mut StepContext<'_>) {
        let Some(sweep) = self.sweep.take() else {
            return;
        };
        let (outcome, mut reasons) = sweep.outcome(cut);
        if self.limits.refuses_get && sweep.equal > 0 {
            reasons.push(Reason::RefusesGet);
        }
        let record = Audit {
            resource_version: Some(sweep.at),
            compared: sweep.equal + sweep.wrong,
            ..self.audit(step, AuditMethod::GetEach, outcome, &reasons)
        };
        self.publish(step, record);
    }
}
