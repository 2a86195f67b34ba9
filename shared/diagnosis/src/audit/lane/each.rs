//! Each object of a watch is looked up in etcd, for one who asks whether all is so where lists may hide that it is not.
//!
//! They are those that the watch held when it was asked, so that there is an end to it however much is written: what is
//! added, changed or deleted since comes by the stream, which tells of it.

use std::collections::VecDeque;
use std::sync::Arc;

use watchscope_model::event::Audit;
use watchscope_model::vocabulary::{AuditMethod, AuditOutcome};
use watchscope_model::{Object, ResourceVersion, Time};

use super::conclude::same_place;
use super::{AGAIN_US, Lane, Turn, position};
use crate::audit::reasons::{Cut, Reason};

/// How many looks may come to nothing until no more are made.
const MOST_FAILED: u64 = 8;

/// An object, and at which version the watch held it when it was asked; `None` if it is one that is said to be missing.
type Asked = (Arc<Object>, Option<ResourceVersion>);

/// What is to be looked up, and what came of it so far. At most as many as [`Auditor::looking_at`] says.
///
/// [`Auditor::looking_at`]: crate::audit::Auditor::looking_at
#[derive(Clone, Debug)]
pub(super) struct Each {
    /// Where the watch stood when it was asked.
    at: ResourceVersion,
    all: u64,
    left: VecDeque<Asked>,
    /// Whose look is made.
    looking: Option<Asked>,
    /// When the next is made.
    pub(super) due: Time,
    /// Whether the watch did not stream the last time.
    is_waiting: bool,
    /// The watch holds what a later list says, which need not be etcd's.
    pub(super) is_listed_anew: bool,
    /// How many of the others are held as etcd has them, and how many are not.
    so: u64,
    wrong: u64,
    /// Was changed meanwhile so that no look could be compared, or is gone.
    changed: u64,
    failed: u64,
}

impl Each {
    /// A look is lost before it came to anything.
    pub(super) fn put_back(&mut self) {
        self.left.extend(self.looking.take());
    }

    /// No more looks are made.
    pub(super) fn give_up(&mut self) {
        self.failed += self.left.len() as u64;
        self.left.clear();
    }

    /// Whether an object was still to be looked up; it no longer is.
    fn take(&mut self, object: &Object) -> bool {
        let is_it = |(of, _): &Asked| same_place(of, object);
        if self.looking.take_if(|asked| is_it(asked)).is_some() {
            return true;
        }
        let place = self.left.iter().position(is_it);
        place.and_then(|place| self.left.remove(place)).is_some()
    }

    /// What came of all, and what it leaves open.
    fn outcome(&self, cut: Option<Cut>) -> (AuditOutcome, Vec<Reason>) {
        let outcome = if self.wrong > 0 {
            AuditOutcome::Differs
        } else if cut.is_some() || self.failed > 0 {
            AuditOutcome::CannotTell
        } else {
            AuditOutcome::Agrees
        };
        let (all, so, failed) = (self.all, self.so, self.failed);
        let cut = cut.map(|by| Reason::Cut { by, so, all });
        let failed = (failed > 0).then_some(Reason::NotLookedUp { failed, all });
        let changed = (self.changed > 0).then_some(Reason::Changed(self.changed));
        (
            outcome,
            [cut, failed, changed].into_iter().flatten().collect(),
        )
    }
}

impl Lane {
    /// Has each object looked up, unless they are too many; whether it does.
    pub(super) fn look_at_each(&mut self, progress: &ResourceVersion, turn: &Turn<'_>) -> bool {
        let watch = turn.watch;
        let Some(all) = self.samples.all(watch, self.looks) else {
            return false;
        };
        let asked = |object: Arc<Object>| {
            let held = watch.held(&object);
            let version = held.map(|held| held.resource_version.clone());
            (object, version)
        };
        self.each = Some(Each {
            at: progress.clone(),
            all: all.len() as u64,
            left: all.into_iter().map(asked).collect(),
            looking: None,
            due: turn.now,
            is_waiting: false,
            is_listed_anew: false,
            so: 0,
            wrong: 0,
            changed: 0,
            failed: 0,
        });
        true
    }

    /// Has the next object looked up. A stream that ends now and then has a moment for the next one to begin.
    pub(super) fn next_of_each(&mut self, is_streaming: bool, turn: &mut Turn<'_>) {
        let (watch, now) = (turn.watch, turn.now);
        let Some(each) = self.each.as_mut().filter(|each| each.due <= now) else {
            return;
        };
        // Its look was lost, or made for another watch and came to nothing.
        each.put_back();
        if each.is_listed_anew {
            self.end_each(Some(Cut::ListedAnew), turn);
            return self.settle(turn);
        }
        let Some(progress) = position(watch).filter(|_| is_streaming) else {
            if std::mem::replace(&mut each.is_waiting, true) {
                self.end_each(Some(Cut::NotStreaming), turn);
                return self.settle(turn);
            }
            each.due = now.plus_micros(AGAIN_US);
            return;
        };
        each.is_waiting = false;
        while let Some((object, version)) = each.left.pop_front() {
            let held = watch.held(&object).map(|held| held.object.clone());
            if held.is_none() && version.is_some() {
                // The stream told that it is gone.
                each.changed += 1;
                continue;
            }
            each.looking = Some((object.clone(), version));
            let object = held.unwrap_or(object);
            self.samples.looked_up(&object, now);
            self.tasks.push_back(self.look(object, progress));
            return;
        }
        self.end_each(None, turn);
        self.settle(turn);
    }

    /// A look shows that an object is held as etcd has it. Of those that are not all looked up it is a sample.
    pub(super) fn is_so(&mut self, object: &Object) {
        if let Some(each) = &mut self.each
            && each.take(object)
        {
            each.so += 1;
        } else {
            self.sampled += 1;
        }
    }

    /// What is wrong of an object is confirmed.
    pub(super) fn is_wrong(&mut self, object: &Object) {
        if let Some(each) = &mut self.each
            && each.take(object)
        {
            each.wrong += 1;
        }
    }

    /// Whether this is the object that is looked up now.
    pub(super) fn is_looking_at(&self, object: &Object) -> bool {
        let looking = self.each.as_ref().and_then(|each| each.looking.as_ref());
        looking.is_some_and(|(of, _)| same_place(of, object))
    }

    /// Nothing more is read for the object that is looked up.
    pub(super) fn looked(&mut self, turn: &mut Turn<'_>) {
        let Some(each) = &mut self.each else {
            return;
        };
        if let Some((object, version)) = each.looking.take() {
            let held = turn.watch.held(&object).map(|held| &held.resource_version);
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
            self.end_each(None, turn);
        }
    }

    /// The watch is over: who asked is told how far it came.
    pub(in crate::audit) fn stop(&mut self, turn: &mut Turn<'_>) {
        self.end_each(Some(Cut::Stopped), turn);
    }

    /// Tells what came of it, if it is not over yet.
    fn end_each(&mut self, cut: Option<Cut>, turn: &mut Turn<'_>) {
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
            ..self.audit(turn, AuditMethod::GetEach, outcome, &reasons)
        };
        self.tell(turn, told);
    }
}
