//! A bare client-go reflector that fills a store: what `cache.NewReflector` with a `cache.Store` does.

use std::time::Duration;

use super::belief::Belief;
use super::go::ClientGo;
use super::go::reflector::{Reflector, StoreOp};
use super::go::rest::Rest;
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use crate::scope::Scope;
use crate::time::Time;

/// The program of a bare reflector.
#[derive(Debug)]
pub(super) struct ReflectorProgram {
    rest: Rest,
    reflector: Reflector,
    store: Belief,
    handled: u64,
}

impl ReflectorProgram {
    pub(super) fn new(version: ClientGo, scope: Scope, resync: Option<Duration>) -> Self {
        ReflectorProgram {
            rest: Rest::new(version),
            reflector: Reflector::new(version, scope.clone(), resync),
            store: Belief::new(scope),
            handled: 0,
        }
    }

    fn apply(&mut self, op: StoreOp) {
        self.handled += 1;
        match op {
            StoreOp::Added(object) | StoreOp::Updated(object) => {
                self.store.hold(object.key(), object.held());
            }
            StoreOp::Deleted(object) => {
                self.store.drop(&object.key());
            }
            StoreOp::Replaced(objects, _) => {
                let objects = objects.iter().map(|o| (o.key(), o.held()));
                self.store.replace(objects.collect());
            }
            // A store has no handlers to notify.
            StoreOp::Bookmark(_) | StoreOp::Resync => self.handled -= 1,
        }
    }
}

impl Machine for ReflectorProgram {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        let mut ops = Vec::new();
        match input {
            Input::Start => self.reflector.start(&mut self.rest, ctx),
            Input::Wake => self.reflector.wake(&mut self.rest, ctx, &mut ops),
            _ => {}
        }
        for (call, answer) in self.rest.take(input, ctx) {
            self.reflector
                .take(call, answer, &mut self.rest, ctx, &mut ops);
        }
        for op in ops {
            self.apply(op);
        }
        self.store.know_until(self.reflector.last());
    }

    fn wake_at(&self) -> Option<Time> {
        earlier(self.rest.wake_at(), self.reflector.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        self.reflector.phase()
    }

    fn iterations(&self, _now: Time) -> u64 {
        self.reflector.iterations()
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![&self.store]
    }
}
