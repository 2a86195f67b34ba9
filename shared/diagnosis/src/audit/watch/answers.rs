//! Hands the result of a read to the file that judges it.

use watchscope_model::read::{Page, Seen};
use watchscope_model::vocabulary::AuditMethod;

use super::context::StepContext;
use super::questions::{is_unordered, position};
use super::state::WatchAudit;
use super::task::Task;
use crate::audit::read::Reply;
use crate::audit::reasons::Reason;

impl WatchAudit {
    /// Handles the result of a task.
    pub(crate) fn answered(&mut self, task: Task, reply: Reply, step: &mut StepContext<'_>) {
        match (&task, &reply) {
            (_, Reply::Page(page)) => {
                self.limits.forbidden = 0;
                self.limits.lists_whole = page.is_whole;
                self.sampling
                    .samples
                    .listed(&page.items, |owner| step.gone.is_gone(owner, step.now));
            }
            (_, Reply::One(_)) => self.limits.forbidden = 0,
            (
                Task::Get(_) | Task::SelectorExit { .. },
                Reply::Refused {
                    status: 403 | 405, ..
                },
            ) => {
                self.limits.refuses_get = true;
                self.exits.next_at = None;
            }
            (
                _,
                Reply::Refused {
                    status: 401 | 403, ..
                },
            ) => self.rest(step),
            (
                Task::One { .. },
                Reply::Refused {
                    status: 400 | 422, ..
                },
            ) => {
                self.limits.refuses_exact = true;
            }
            _ => {}
        }
        match (task, reply) {
            (
                Task::Get(object),
                Reply::Refused {
                    status: 403 | 405, ..
                },
            ) if !is_unordered(step.watch) => {
                if let Some(progress) = position(step.watch) {
                    self.look_up(&object, progress.clone());
                }
            }
            (Task::Exact(comparison), Reply::Page(page)) => self.exact(comparison, page, step),
            (Task::Newest, Reply::Page(page)) => self.newest(&page, step),
            (Task::Any, Reply::Page(page)) => self.any(page.version, step),
            (Task::SelectorExit { object, version }, Reply::One(seen)) => {
                self.publish_exit(&object, &version, &seen, step);
            }
            // The object is gone, or may not be read.
            (
                Task::SelectorExit { .. },
                Reply::Refused {
                    status: 403..=405, ..
                },
            ) => {}
            (Task::Get(object), Reply::One(seen)) => {
                self.take_exit(&object, &seen, step);
                self.got(&object, Some(&seen), step);
            }
            (Task::Get(object), Reply::Refused { status: 404, .. }) => {
                self.got(&object, None, step);
            }
            (Task::One { object, at, first }, Reply::Page(page @ Page { unreadable: 0, .. }))
                if step.is_one_at(&page, &at) =>
            {
                self.one(&object, at, first, &page.items, step);
            }
            (
                Task::HistoryCheck {
                    object,
                    at,
                    is_second,
                },
                Reply::Page(
                    page @ Page {
                        token: None,
                        unreadable: 0,
                        ..
                    },
                ),
            ) if step.is_one_at(&page, &at) => {
                let was = |seen: &Seen| seen.object.uid == object.uid && seen.version == at;
                if !page.items.iter().any(was) {
                    self.note_never_existed(object, at, is_second, step);
                }
            }
            // etcd has compacted that version, or refuses the request. The verdict stays as it is.
            (Task::HistoryCheck { .. }, _) => {}
            (
                Task::Exact(comparison),
                Reply::Refused {
                    status, current, ..
                },
            ) => {
                if let Some(current) = current.filter(|_| status == 504) {
                    self.publish_too_large(&comparison.at, current, step);
                }
                self.exact_refused(comparison, status, step);
            }
            (Task::One { object, at, .. }, Reply::Refused { status, .. })
                if status == 410 || (status == 500 && step.one_name_says_newest) =>
            {
                // The version is compacted. The watch may have come further meanwhile.
                let progress = step.watch.progress.as_ref();
                match progress.filter(|progress| progress.is_after(&at)) {
                    Some(progress) => self.look_up(&object, progress.clone()),
                    None => {
                        self.publish_undecided(step, AuditMethod::Get, Some(at), Reason::Compacted)
                    }
                }
            }
            (task, Reply::Refused { status, .. }) => {
                self.publish_undecided(step, task.method(), None, Reason::Refused(status));
            }
            (task, Reply::Unreached) => {
                self.publish_undecided(step, task.method(), None, Reason::Unreached);
            }
            (task, _) => {
                self.publish_undecided(step, task.method(), None, Reason::NoAnswer);
            }
        }
        // Lookups for a viewer are published when all are back, others in the next round.
        let is_asked = self.pending.is_some() || self.round.next_at.is_none();
        if is_asked && self.round.tasks.is_empty() {
            self.publish_samples(step);
        }
        if self.round.tasks.is_empty() {
            self.lookup_ended(step);
        }
        self.settle(step);
    }
}
