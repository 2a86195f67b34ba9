//! A controller: an informer whose handlers put keys in a workqueue, and a worker that reads the lister.

use std::time::Duration;

use super::belief::{Belief, Key};
use super::go::ClientGo;
use super::go::informer::{Informer, Notification};
use super::go::rest::Rest;
use super::go::workqueue::WorkQueue;
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use crate::scope::Scope;
use crate::time::Time;

/// A controller over an informer (docs/semantics/clients.md#informer): the version of client-go and the choices of the
/// controller's author. The default is the newest client-go, no resync, a worker that needs 1 ms and never fails, and
/// skipping equal resourceVersions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller {
    /// The version of client-go.
    pub version: ClientGo,
    /// Time between two resyncs, in which the handlers get all objects again; `None`: no resync. The time must be at
    /// least 1 µs, or virtual time never passes.
    pub resync: Option<Duration>,
    /// Whether the update handler skips updates between equal resourceVersions (F46): the handler counts such updates,
    /// and queues no key.
    pub skips_equal_versions: bool,
    /// Time that the worker needs for a key; the worker works on one key at a time.
    pub work: Duration,
    /// The number of times that the worker fails at a key before it succeeds. After each failure the key waits in the
    /// rate limiter, unless an event queues it earlier; after a success the count begins at 0 again.
    pub failures: u32,
}

impl Default for Controller {
    fn default() -> Controller {
        Controller {
            version: ClientGo::LATEST,
            resync: None,
            skips_equal_versions: true,
            work: Duration::from_millis(1),
            failures: 0,
        }
    }
}

/// The controller's program.
#[derive(Debug)]
pub(super) struct ControllerProgram {
    how: Controller,
    rest: Rest,
    informer: Informer,
    queue: WorkQueue,
    /// The key that the worker works on, and the time until which it works; `None` while it works on no key.
    working: Option<(Key, Time)>,
    worked: u64,
    handled: u64,
}

impl ControllerProgram {
    pub(super) fn new(how: Controller, scope: Scope) -> ControllerProgram {
        ControllerProgram {
            how,
            rest: Rest::new(how.version),
            informer: Informer::new(how.version, scope, how.resync),
            queue: WorkQueue::default(),
            working: None,
            worked: 0,
            handled: 0,
        }
    }

    /// Runs a handler. The handler counts the call, and queues the key unless it knows that nothing changed.
    fn handle(&mut self, notification: &Notification) {
        self.handled += 1;
        if !(self.how.skips_equal_versions && notification.is_resync()) {
            self.queue.add(notification.key());
        }
    }

    /// Runs the worker, which starts once the informer has synced.
    fn work(&mut self, now: Time) {
        self.queue.wake(now);
        if let Some((key, until)) = self.working.take() {
            if until > now {
                self.working = Some((key, until));
                return;
            }
            if self.queue.failures(&key) < self.how.failures {
                self.queue.add_rate_limited(key.clone(), now);
            } else {
                self.queue.forget(&key);
            }
            self.queue.done(&key);
        }
        if self.informer.has_synced()
            && let Some(key) = self.queue.get()
        {
            self.worked += 1;
            self.working = Some((key, now + self.how.work));
        }
    }
}

impl Machine for ControllerProgram {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        if matches!(input, Input::Start) {
            self.informer.start(&mut self.rest, ctx);
        }
        for (call, answer) in self.rest.take(input, ctx) {
            self.informer.take(call, answer, &mut self.rest, ctx);
        }
        for notification in self.informer.wake(&mut self.rest, ctx) {
            self.handle(&notification);
        }
        self.work(ctx.now);
    }

    fn wake_at(&self) -> Option<Time> {
        let work = self.working.as_ref().map(|(_, until)| *until);
        let own = earlier(work, self.queue.wake_at());
        let pipeline = earlier(self.informer.wake_at(), self.rest.wake_at());
        earlier(own, pipeline)
    }

    fn phase(&self) -> ClientPhase {
        self.informer.phase()
    }

    /// Returns the number of keys that the worker has finished.
    fn iterations(&self, _now: Time) -> u64 {
        self.worked
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![self.informer.belief()]
    }
}
