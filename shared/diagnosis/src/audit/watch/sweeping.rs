//! The steps of a sweep.

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
    /// Begins a sweep, unless the watch has more objects than the limit. Returns whether it does.
    pub(crate) fn look_at_each(
        &mut self,
        progress: &ResourceVersion,
        step: &StepContext<'_>,
    ) -> bool {
        let watch = step.watch;
        let Some(all) = self.samples.all(watch, self.looks) else {
            return false;
        };
        let asked = |object: Arc<Object>| {
            let held = watch.held(&object);
            let version = held.map(|held| held.resource_version.clone());
            (object, version)
        };
        self.each = Some(Sweep {
            at: progress.clone(),
            all: all.len() as u64,
            left: all.into_iter().map(asked).collect(),
            looking: None,
            due: step.now,
            is_waiting: false,
            is_listed_anew: false,
            so: 0,
            wrong: 0,
            changed: 0,
            failed: 0,
        });
        true
    }

    /// Looks up the next object of the sweep. A stream that ends now and then has [`AGAIN_US`] for the next one to
    /// begin.
    pub(crate) fn next_of_each(&mut self, is_streaming: bool, step: &mut StepContext<'_>) {
        let (watch, now) = (step.watch, step.now);
        let Some(each) = self.each.as_mut().filter(|each| each.due <= now) else {
            return;
        };
        // Its lookup was lost, or another watch's lookup came to nothing.
        each.put_back();
        if each.is_listed_anew {
            self.end_each(Some(Cut::ListedAnew), step);
            return self.settle(step);
        }
        let Some(progress) = position(watch).filter(|_| is_streaming) else {
            if std::mem::replace(&mut each.is_waiting, true) {
                self.end_each(Some(Cut::NotStreaming), step);
                return self.settle(step);
            }
            each.due = now.plus_micros(AGAIN_US);
            return;
        };
        each.is_waiting = false;
        while let Some((object, version)) = each.left.pop_front() {
            let held = watch.held(&object).map(|held| held.object.clone());
            if held.is_none() && version.is_some() {
                // The stream reported that it is gone.
                each.changed += 1;
                continue;
            }
            each.looking = Some((object.clone(), version));
            let object = held.unwrap_or(object);
            self.samples.looked_up(&object, now);
            self.tasks.push_back(self.look(object, progress));
            return;
        }
        self.end_each(None, step);
        self.settle(step);
    }

    /// A lookup shows that an object is held as etcd has it. Outside a sweep it counts as a sample.
    pub(crate) fn is_so(&mut self, object: &Object) {
        if let Some(each) = &mut self.each
            && each.take(object)
        {
            each.so += 1;
        } else {
            self.sampled += 1;
        }
    }

    /// A verdict on an object is confirmed.
    pub(crate) fn is_wrong(&mut self, object: &Object) {
        if let Some(each) = &mut self.each
            && each.take(object)
        {
            each.wrong += 1;
        }
    }

    /// Returns whether the sweep is looking up this object.
    pub(crate) fn is_looking_at(&self, object: &Object) -> bool {
        let looking = self.each.as_ref().and_then(|each| each.looking.as_ref());
        looking.is_some_and(|(of, _)| same_place(of, object))
    }

    /// No more reads follow for the object that the sweep looked up.
    pub(crate) fn looked(&mut self, step: &mut StepContext<'_>) {
        let Some(each) = &mut self.each else {
            return;
        };
        if let Some((object, version)) = each.looking.take() {
            let held = step.watch.held(&object).map(|held| &held.resource_version);
            if held == version.as_ref() {
                each.failed += 1;
            } else {
                each.changed += 1;
            }
        }
        if each.failed >= MOST_FAILED {
            each.give_up();
        }
        if each.left.is_empty() {
            self.end_each(None, step);
        }
    }

    /// The watch was stopped. Publishes how far the sweep came.
    pub(crate) fn stop(&mut self, step: &mut StepContext<'_>) {
        self.end_each(Some(Cut::Stopped), step);
    }

    /// Ends the sweep, if there is one, and publishes its outcome.
    fn end_each(&mut self, cut: Option<Cut>, step: &mut StepContext<'_>) {
        let Some(each) = self.each.take() else {
            return;
        };
        let (outcome, mut reasons) = each.outcome(cut);
        if self.refuses_get && each.so > 0 {
            reasons.push(Reason::RefusesGet);
        }
        let told = Audit {
            resource_version: Some(each.at),
            compared: each.so + each.wrong,
            ..self.audit(step, AuditMethod::GetEach, outcome, &reasons)
        };
        self.tell(step, told);
    }
}
