//! A client that lists at intervals and never watches. Each list returns the whole state: always late, and always at
//! the cost of a full list.

use std::time::Duration;

use watchscope_model::tree::BTreeMap;

use super::belief::Belief;
use super::machine::{Context, Input, Machine, earlier};
use super::record::ClientPhase;
use super::transport::{Got, Style, Transport};
use super::wire::List;
use crate::message::RequestId;
use crate::scope::Scope;
use crate::time::Time;

/// The poller's program.
#[derive(Debug)]
pub(super) struct Poller {
    every: Duration,
    transport: Transport,
    belief: Belief,
    asked: Option<RequestId>,
    status: u16,
    body: Vec<u8>,
    wake_at: Option<Time>,
    polls: u64,
    /// The number of polls that returned a list.
    lists: u64,
    handled: u64,
}

impl Poller {
    pub(super) fn new(scope: Scope, every: Duration) -> Poller {
        Poller {
            every,
            transport: Transport::new(Style::PingedHttp2),
            belief: Belief::new(scope),
            asked: None,
            status: 0,
            body: Vec::new(),
            wake_at: None,
            polls: 0,
            lists: 0,
            handled: 0,
        }
    }

    pub(super) fn lists(&self) -> u64 {
        self.lists
    }

    fn poll(&mut self, ctx: &mut Context<'_>) {
        self.wake_at = None;
        self.polls += 1;
        self.status = 0;
        self.body.clear();
        let request = self.belief.scope.get(&[]);
        self.asked = Some(self.transport.send(request, ctx));
    }

    fn take(&mut self, got: Got<'_>, now: Time) {
        match got {
            Got::Head { status, .. } => self.status = status,
            Got::Body(bytes) => self.body.extend_from_slice(bytes),
            Got::End => {
                if self.status == 200
                    && let Ok(list) = List::parse(&self.body)
                {
                    self.learn(list);
                }
                self.rest(now);
            }
            Got::Failed(_) => self.rest(now),
        }
    }

    /// Takes in a list. The handler gets each difference from the previous list.
    fn learn(&mut self, list: List) {
        self.lists += 1;
        let items = list.items.unwrap_or_default();
        let found: BTreeMap<_, _> = items.iter().map(|o| (o.key(), o.held())).collect();
        let held = &self.belief.objects;
        let new = found
            .iter()
            .filter(|(key, item)| held.get(*key) != Some(*item));
        let gone = held.keys().filter(|key| !found.contains_key(*key));
        let differences = new.count() + gone.count();
        self.handled += u64::try_from(differences).unwrap_or(u64::MAX);
        if differences > 0 {
            self.belief.replace(found);
        }
        self.belief.know_until(&list.metadata.resource_version);
    }

    fn rest(&mut self, now: Time) {
        self.asked = None;
        self.wake_at = Some(now + self.every);
    }
}

impl Machine for Poller {
    fn step(&mut self, input: Input<'_>, ctx: &mut Context<'_>) {
        let is_due = self.wake_at.is_some_and(|at| at <= ctx.now);
        if matches!(input, Input::Start) || is_due {
            self.poll(ctx);
        }
        for (request, got) in self.transport.take(input, ctx) {
            if self.asked == Some(request) {
                self.take(got, ctx.now);
            }
        }
    }

    fn wake_at(&self) -> Option<Time> {
        earlier(self.wake_at, self.transport.wake_at())
    }

    fn phase(&self) -> ClientPhase {
        if self.asked.is_some() {
            ClientPhase::Listing
        } else {
            ClientPhase::Sleeping
        }
    }

    fn iterations(&self, _now: Time) -> u64 {
        self.polls
    }

    fn handled(&self, _now: Time) -> u64 {
        self.handled
    }

    fn beliefs(&self) -> Vec<&Belief> {
        vec![&self.belief]
    }
}
