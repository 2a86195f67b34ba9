//! Findings about the objects that clients hold: ghosts (F19), and comparisons of different scopes (F42).

use watchscope_model::belief::Belief;
use watchscope_model::event::{Change, RequestAnswered, RequestSent};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::{Certainty, ChangeType, ClientPhase, Origin, Severity, Verb};
use watchscope_model::{Row, Seq, State, Text, Time};

use super::line::{RequestLine, read_path};
use super::state::{CROWD, Client, Clients, Compared, GHOST_US, NAMED, Named, found, remember};
use crate::findings::draft::Subject;
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::{Timer, Timers};
use crate::text::count;

impl Clients {
    /// Notes a DELETED. A watch with a selector gets a DELETED also for objects that still exist, so it proves nothing.
    pub(crate) fn deleted(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        let is_live = event.origin == Origin::Live && event.change == ChangeType::Deleted;
        if !is_live || self.clients.is_empty() || event.object.uid.is_empty() {
            return;
        }
        let Some(watch) = before.watches.get(&event.watch) else {
            return;
        };
        if watch.label_selector.is_some() || watch.field_selector.is_some() {
            return;
        }
        let uid = &event.object.uid;
        remember(&mut self.gone.deleted, (uid.clone(), record));
        self.look_again(|named| named.uid == *uid, record, timers);
    }

    /// Notes that the audit sent a GET of an object.
    pub(crate) fn reads(&mut self, event: &RequestSent) {
        let is_read =
            event.verb() == Verb::Get && event.watch.is_aside() && !self.clients.is_empty();
        if let Some((resource, key)) = read_path(&event.path).filter(|_| is_read) {
            remember(&mut self.gone.asked, (event.request, resource, key));
        }
    }

    /// Notes the answer to a GET of the audit.
    pub(crate) fn read(&mut self, event: &RequestAnswered, record: Moment, timers: &mut Timers) {
        let asked = &mut self.gone.asked;
        let place = asked
            .iter()
            .position(|(request, ..)| *request == event.request);
        let Some((_, resource, key)) = place.and_then(|place| asked.remove(place)) else {
            return;
        };
        if event.status == Some(404) {
            let is_it = |named: &Named| named.resource == resource && named.key == key;
            self.look_again(is_it, record, timers);
            remember(&mut self.gone.missing, (resource, key, record));
        }
    }

    /// Sets the timers at which clients that hold a deleted object are judged.
    fn look_again(&self, is_it: impl Fn(&Named) -> bool, record: Moment, timers: &mut Timers) {
        let holds = |client: &Client| client.may_hold_ghosts && client.named.iter().any(&is_it);
        for (name, _) in self.clients.iter().filter(|(_, client)| holds(client)) {
            let due = record.at.plus_micros(GHOST_US + 1);
            timers.set(due, Timer::Ghost(name.clone()));
        }
    }

    /// Makes F19 a divergence: a client that watched again without a resourceVersion holds an object that is proven to
    /// be deleted.
    pub(crate) fn ghost(&mut self, name: &Text, now: Time, registry: &mut FindingRegistry) {
        let Self { clients, gone } = self;
        let Some(client) = clients.get_mut(name) else {
            return;
        };
        let asks_no_more = client.does() == ClientPhase::Returned || client.does().has_ended();
        if !client.may_hold_ghosts || asks_no_more {
            return;
        }
        let mut named = client.named.iter();
        let Some((key, proof)) =
            named.find_map(|named| Some((named.key.clone(), gone.proves(named, now)?)))
        else {
            return;
        };
        client.may_hold_ghosts = false;
        registry.amend(Row::F19, Subject::Client(name.clone()), |found| {
            found.severity = Severity::Divergence;
            found.summary += &format!(" It holds {key}, which is gone.");
            found.evidence.push(proof);
        });
    }
}

impl Client {
    /// Notes the scope that a client watches, or its list of another scope.
    pub(super) fn compares(&mut self, line: &RequestLine<'_>, seq: Seq) {
        let (resource, scope) = (line.resource(), line.scope());
        let watched = self.scopes.get(&resource);
        if line.options.watch {
            if watched.is_some() || self.scopes.len() < CROWD {
                self.scopes.insert(resource, scope);
            }
            return;
        }
        let other = watched.filter(|watched| **watched != scope);
        self.compared = other.map(|watched| Compared {
            seq,
            watched: watched.clone(),
            listed: scope,
        });
    }

    /// Raises F42: the client handled differences although its watch delivered no change, right after it had listed
    /// another scope.
    pub(super) fn found_differences(
        &mut self,
        handled: u64,
        name: &Text,
        record: Moment,
        registry: &mut FindingRegistry,
    ) {
        let Some(compared) = self.compared.take() else {
            return;
        };
        let summary = format!(
            "{name} watches {} and listed {}. Nothing that it watches changed, but it handled {}: it compares \
             different scopes.",
            compared.watched,
            compared.listed,
            count(handled, "difference")
        );
        let subject = Subject::Client(name.clone());
        let evidence = vec![compared.seq, record.seq];
        let found = found(
            Row::F42,
            &[],
            Certainty::Likely,
            &subject,
            evidence,
            record.at,
            summary,
        );
        registry.raise(found, record.at);
    }
}

/// Returns the first [`NAMED`] objects that a client reports to hold. An object that was named in the report before
/// keeps its time.
pub(super) fn read_named(beliefs: &[Belief], before: &[Named], now: Time) -> Vec<Named> {
    let of_part = |belief: &Belief| -> Vec<Named> {
        let held = belief.held.iter().map(|held| &held.object);
        let with_uid = held.filter(|object| !object.uid.is_empty());
        let named = with_uid.map(|object| {
            let key = match &object.namespace {
                Some(namespace) => format!("{namespace}/{}", object.name),
                None => object.name.to_string(),
            };
            let is_it = |old: &&Named| {
                old.uid == object.uid && old.key == key && *old.resource == *belief.resource
            };
            let since = before.iter().find(is_it).map_or(now, |old| old.since);
            Named {
                resource: belief.resource.to_string(),
                key,
                uid: object.uid.clone(),
                since,
            }
        });
        named.take(NAMED).collect()
    };
    let mut named: Vec<Named> = beliefs.iter().flat_map(of_part).collect();
    named.truncate(NAMED);
    named
}
