//! Handles the events and bookmarks of watches by several servers.

use watchscope_model::event::{Bookmark, Change};
use watchscope_model::fold::Moment;
use watchscope_model::vocabulary::Origin;
use watchscope_model::{Object, WatchName};

use super::groups::Servers;
use super::lag::{Event, HELD_UP_US, bit};
use crate::findings::registry::FindingRegistry;
use crate::findings::timers::Timers;

impl Servers {
    /// Handles an event of a watch.
    pub(crate) fn changed(
        &mut self,
        event: &Change,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        if event.origin != Origin::Live {
            return;
        }
        let Some(version) = event.resource_version.number() else {
            return;
        };
        let Some(group) = self.group(&event.watch) else {
            return;
        };
        let (what, _) = event.watch.what_and_ordinal();
        let Some(bit) = bit(&event.watch) else {
            return;
        };
        let Some(member) = group.members.get_mut(&event.watch) else {
            return;
        };
        let server = member.server.clone();
        member.comes_to(version);
        let by_all = group.direct(version);
        let Object {
            namespace, name, ..
        } = &*event.object;
        let key = (version, namespace.clone(), name.clone());
        // Objects that one transaction changed have the same version. Each of them is settled on its own.
        let is_awaited = version > group.floor || group.events.contains_key(&key);
        if is_awaited && group.members.len() > 1 {
            if let Some(known) = group.events.get_mut(&key) {
                if known.had_by & bit == 0
                    && let Some(member) = group.members.get_mut(&event.watch)
                {
                    member.lagged(known, record);
                }
                known.had_by |= bit;
                if known.had_by & by_all == by_all {
                    known.by_all_at.get_or_insert(record.at);
                }
            } else {
                let known = Event {
                    change: event.change,
                    first: server,
                    seq: record.seq,
                    at: record.at,
                    had_by: bit,
                    by_all_at: (bit & by_all == by_all).then_some(record.at),
                };
                if let Some(member) = group.members.get_mut(&event.watch) {
                    member.lagged(&known, record);
                }
                group.events.insert(key.clone(), known);
                // A member that had reached a higher version before has lost the event.
                let others = group.members.iter().filter(|(watch, member)| {
                    let beyond = member.stream.filter(|stream| stream.reached > version);
                    beyond.is_some() && **watch != event.watch
                });
                let others: Vec<WatchName> = others.map(|(watch, _)| watch.clone()).collect();
                for watch in others {
                    group.kept(&key, &watch, record, registry);
                }
            }
            // The shorter of the two waits counts.
            group.wait_until(what, record.at.plus_micros(HELD_UP_US), timers);
            group.settle(&key);
        }
        group.passed(&event.watch, version, record, registry);
        group.look_again(&event.watch, record, registry, timers);
    }

    /// Handles a bookmark of a watch.
    pub(crate) fn bookmarked(
        &mut self,
        event: &Bookmark,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(group) = self.group(&event.watch) else {
            return;
        };
        let Some(version) = event.resource_version.number() else {
            return;
        };
        if let Some(member) = group.members.get_mut(&event.watch) {
            member.comes_to(version);
        }
        // A bookmark says that the server has delivered everything up to it.
        group.passed(&event.watch, version.saturating_add(1), record, registry);
        group.look_again(&event.watch, record, registry, timers);
    }
}
