//! client-go's informer as a pipeline: reflector, queue, indexer, notifications (docs/semantics/clients.md#informer).

use std::sync::Arc;
use std::time::Duration;

use super::super::belief::{Belief, Key};
use super::super::machine::{Context, earlier};
use super::super::record::ClientPhase;
use super::super::wire::Document;
use super::ClientGo;
use super::queue::{Delta, Indexer, Queue};
use super::reflector::{Reflector, StoreOp};
use super::rest::{Answer, CallId, Rest};
use crate::scope::Scope;
use crate::time::Time;

/// Time that one group or batch of changes needs from the queue to the handlers. This time makes a burst of changes
/// last, so that several changes can be in the queue at once. The number has no source.
const POP: Duration = Duration::from_micros(50);

/// A call of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notification {
    Add {
        new: Arc<Document>,
    },
    /// An update with equal resourceVersions comes from a resync or a relist, and is not a change (F46).
    Update {
        old: Arc<Document>,
        new: Arc<Document>,
    },
    /// A deletion, received as DELETED or inferred from a list (`DeletedFinalStateUnknown`). After an inferred deletion
    /// `old` may be stale.
    Delete {
        old: Arc<Document>,
    },
}

impl Notification {
    pub(crate) fn key(&self) -> Key {
        match self {
            Notification::Add { new } | Notification::Update { new, .. } => new.key(),
            Notification::Delete { old } => old.key(),
        }
    }

    /// Returns whether the notification is an update between equal resourceVersions, so that nothing changed.
    pub(crate) fn is_resync(&self) -> bool {
        match self {
            Notification::Update { old, new } => {
                old.metadata.resource_version == new.metadata.resource_version
            }
            _ => false,
        }
    }
}

/// An informer's pipeline.
#[derive(Debug)]
pub(crate) struct Informer {
    reflector: Reflector,
    queue: Queue,
    indexer: Indexer,
    belief: Belief,
    pop_at: Option<Time>,
}

impl Informer {
    pub(crate) fn new(version: ClientGo, scope: Scope, resync: Option<Duration>) -> Informer {
        Informer {
            reflector: Reflector::new(version, scope.clone(), resync),
            queue: Queue::new(version.queue()),
            indexer: Indexer::new(),
            belief: Belief::new(scope),
            pop_at: None,
        }
    }

    pub(crate) fn start(&mut self, rest: &mut Rest, ctx: &mut Context<'_>) {
        self.reflector.start(rest, ctx);
    }

    /// Takes the answer to the informer's present call. Does nothing if `call` is any other call.
    pub(crate) fn take(
        &mut self,
        call: CallId,
        answer: Answer,
        rest: &mut Rest,
        ctx: &mut Context<'_>,
    ) {
        let mut ops = Vec::new();
        self.reflector.take(call, answer, rest, ctx, &mut ops);
        self.put(ops, ctx.now);
    }

    /// Runs the steps of the informer that are due. Returns the notifications for the handlers.
    pub(crate) fn wake(&mut self, rest: &mut Rest, ctx: &mut Context<'_>) -> Vec<Notification> {
        let mut ops = Vec::new();
        self.reflector.wake(rest, ctx, &mut ops);
        self.put(ops, ctx.now);
        let mut notifications = Vec::new();
        if self.pop_at.is_some_and(|at| at <= ctx.now) {
            for delta in self.queue.pop() {
                self.process(delta, &mut notifications);
            }
            self.pop_at = (!self.queue.is_empty()).then(|| ctx.now + POP);
        }
        notifications
    }

    pub(crate) fn wake_at(&self) -> Option<Time> {
        earlier(self.pop_at, self.reflector.wake_at())
    }

    /// Returns whether the first list has reached the handlers.
    pub(crate) fn has_synced(&self) -> bool {
        self.queue.has_synced()
    }

    pub(crate) fn phase(&self) -> ClientPhase {
        self.reflector.phase()
    }

    /// Returns the objects that the lister finds.
    pub(crate) fn indexer(&self) -> &Indexer {
        &self.indexer
    }

    /// Returns whether a call is the present one of the informer's reflector, which has no final answer yet.
    pub(crate) fn has_call(&self, call: CallId) -> bool {
        self.reflector.has_call(call)
    }

    pub(crate) fn belief(&self) -> &Belief {
        &self.belief
    }

    fn put(&mut self, ops: Vec<StoreOp>, now: Time) {
        for op in ops {
            self.queue.put(op, &self.indexer);
        }
        self.belief.know_until(self.reflector.last());
        if !self.queue.is_empty() {
            self.pop_at.get_or_insert(now + POP);
        }
    }

    fn process(&mut self, delta: Delta, notifications: &mut Vec<Notification>) {
        match delta {
            Delta::Set(new) => notifications.push(self.set(new)),
            Delta::Deleted(tombstone) => {
                self.delete(&tombstone.object.key());
                notifications.push(Notification::Delete {
                    old: tombstone.object,
                });
            }
            Delta::ReplacedAll(objects) => {
                let listed: watchscope_model::tree::BTreeSet<Key> =
                    objects.iter().map(|object| object.key()).collect();
                let gone: Vec<Arc<Document>> = self
                    .indexer
                    .iter()
                    .filter(|(key, _)| !listed.contains(*key))
                    .map(|(_, object)| Arc::clone(object))
                    .collect();
                for old in gone {
                    self.delete(&old.key());
                    notifications.push(Notification::Delete { old });
                }
                for new in objects {
                    notifications.push(self.set(new));
                }
            }
            Delta::SyncAll => {
                let all = self.indexer.values().map(|object| Notification::Update {
                    old: Arc::clone(object),
                    new: Arc::clone(object),
                });
                notifications.extend(all);
            }
        }
    }

    fn set(&mut self, new: Arc<Document>) -> Notification {
        self.belief.hold(new.key(), new.held());
        match self.indexer.insert(new.key(), Arc::clone(&new)) {
            Some(old) => Notification::Update { old, new },
            None => Notification::Add { new },
        }
    }

    fn delete(&mut self, key: &Key) {
        self.indexer.remove(key);
        self.belief.drop(key);
    }
}
