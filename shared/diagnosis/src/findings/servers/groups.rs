//! Watches of the same objects at several servers, and the events that only some of these watches have delivered.

use watchscope_model::event::{ListComplete, StreamOpened, WatchStarted};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::BTreeMap;
use watchscope_model::{ResourceVersion, State, Text, Time, WatchName};

use super::lag::{BEHIND_US, Event, EventKey, HELD_UP_US, Member, Stream, WINDOW_US, bit};
use crate::findings::place::Place;
use crate::findings::timers::{Timer, Timers};

/// Shortest wait in µs until the members of a group are compared again: at most four times a second, however many
/// events come. The number has no source.
pub(super) const LOOK_US: i64 = 250_000;
/// Most events of a group that are remembered. A further event drops the one of the lowest resourceVersion without a
/// judgement. The limit bounds the memory. The number has no source: a server that is 3 s behind is judged at up to 340
/// events a second.
const REMEMBERED: usize = 1_024;

/// The watches of the same objects at several servers. [`REMEMBERED`] bounds the events of a group. Watches with
/// ordinals above 64 are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) members: BTreeMap<WatchName, Member>,
    pub(super) events: BTreeMap<EventKey, Event>,
    /// No event up to this version is added any more. All watches of the group delivered an event of this version, or
    /// the event was dropped. Or a server reached the version before the fold or a restore. Earlier events that were
    /// added before may still wait.
    pub(super) floor: u64,
    /// When the watches of the group are compared again; `None` if no time is set.
    pub(super) due: Option<Time>,
}

/// All groups of watches of the same objects at several servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Servers {
    pub(super) groups: BTreeMap<Text, Group>,
}

impl Servers {
    /// Returns the groups of watches in a fold. Events up to the fold are unknown.
    pub(crate) fn since(state: &State) -> Self {
        let mut servers = Self::default();
        for (watch, Watch { server, seen, .. }) in &state.watches {
            if let Some(server) = server {
                let floor = seen.as_ref().and_then(ResourceVersion::number);
                let group = servers.join(watch, server);
                group.floor = group.floor.max(floor.unwrap_or(0));
            }
        }
        servers
    }

    fn join(&mut self, watch: &WatchName, server: &Text) -> &mut Group {
        let (what, _) = watch.what_and_ordinal();
        let group = self.groups.entry(what.into()).or_default();
        let member = Member::new(server.clone(), true);
        group.members.insert(watch.clone(), member);
        group
    }

    /// Returns the group of a watch, if it belongs to one.
    pub(super) fn group(&mut self, watch: &WatchName) -> Option<&mut Group> {
        // Almost always there is no group, so this must cost an event nothing.
        if self.groups.is_empty() {
            return None;
        }
        let (what, _) = watch.what_and_ordinal();
        let group = self.groups.get_mut(what)?;
        group.members.contains_key(watch).then_some(group)
    }

    /// Adds a watch that started to its group.
    pub(crate) fn started(&mut self, event: &WatchStarted, before: &State, now: Time) {
        if event.watch.is_aside() {
            return;
        }
        let (what, _) = event.watch.what_and_ordinal();
        let Some(server) = &event.server else {
            if let Some(group) = self.groups.get_mut(what) {
                let member = Member::new(event.watch.as_str().into(), false);
                group.members.insert(event.watch.clone(), member);
            }
            return;
        };
        let is_first = !self.groups.contains_key(what);
        let group = self.join(&event.watch, server);
        let others = before.watches.iter().filter(|(name, watch)| {
            let is_same = name.what_and_ordinal().0 == what && !name.is_aside();
            is_first && watch.server.is_none() && is_same
        });
        for (name, watch) in others {
            let mut member = Member::new(name.as_str().into(), false);
            member.place = Place::of(name, before);
            member.is_open = watch.stream.is_some();
            let seen = watch.seen.as_ref().and_then(ResourceVersion::number);
            member.stream = seen.filter(|_| member.is_open).map(|seen| Stream {
                since: now,
                from: seen,
                reached: seen,
            });
            group.members.insert(name.clone(), member);
        }
    }

    /// Forgets a stopped watch.
    pub(crate) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
        let (what, _) = watch.what_and_ordinal();
        let Some(group) = self.group(watch) else {
            return;
        };
        group.members.remove(watch);
        if !group.members.values().any(|member| member.is_direct) {
            if let Some(due) = group.due {
                timers.unset(due, Timer::Behind(what.into()));
            }
            self.groups.remove(what);
        }
    }

    /// Notes that a stream was opened.
    pub(crate) fn opened(
        &mut self,
        event: &StreamOpened,
        is_initial: bool,
        before: &State,
        record: Moment,
        timers: &mut Timers,
    ) {
        let Some(group) = self.group(&event.watch) else {
            return;
        };
        let from = event.resource_version.as_ref();
        let from = from
            .filter(|version| !is_initial && version.is_position())
            .and_then(ResourceVersion::number);
        if let Some(member) = group.members.get_mut(&event.watch) {
            member.is_open = true;
            member.place = Place::of(&event.watch, before);
            member.stream = from.map(|from| Stream {
                since: record.at,
                from,
                reached: from,
            });
        }
        group.wait(event.watch.what_and_ordinal().0, record.at, timers);
    }

    /// Notes that a stream ended.
    pub(crate) fn ended(&mut self, watch: &WatchName) {
        let member = self
            .group(watch)
            .and_then(|group| group.members.get_mut(watch));
        if let Some(member) = member {
            member.is_open = false;
            member.stream = None;
        }
    }

    /// Notes a complete list, or complete initial events. A version below one that the same server reached shows that
    /// etcd was restored. After a restore, events up to the highest version that any server had reached are ignored.
    pub(crate) fn listed(&mut self, event: &ListComplete, record: Moment, timers: &mut Timers) {
        let Some(group) = self.group(&event.watch) else {
            return;
        };
        let Some(version) = event.resource_version.number() else {
            return;
        };
        let member = group.members.get(&event.watch);
        if member.is_some_and(|member| version < member.highest) {
            let all = group.members.values().map(|member| member.highest);
            group.floor = all.fold(group.floor, u64::max);
            group.events.clear();
        }
        if let Some(member) = group.members.get_mut(&event.watch)
            && member.is_open
        {
            member.stream = Some(Stream {
                since: record.at,
                from: version,
                reached: version,
            });
        }
        group.wait(event.watch.what_and_ordinal().0, record.at, timers);
    }
}

impl Group {
    /// Drops an event if all watches of the group have delivered it, and the oldest events beyond [`REMEMBERED`].
    pub(super) fn settle(&mut self, key: &EventKey) {
        let all = self.all();
        let is_settled = |event: &Event| event.had_by & all == all;
        if self.events.get(key).is_some_and(is_settled) {
            self.events.remove(key);
            self.floor = self.floor.max(key.0);
        }
        while self.events.len() > REMEMBERED {
            if let Some(((version, ..), _)) = self.events.pop_first() {
                self.floor = self.floor.max(version);
            }
        }
    }

    /// Returns the bits of the watches at single servers that have to deliver an event of this version.
    pub(super) fn direct(&self, version: u64) -> u64 {
        let has_it = |member: &Member| {
            let stream = member.stream.filter(|stream| version > stream.from);
            member.is_direct && stream.is_some()
        };
        let members = self.members.iter().filter(|(_, member)| has_it(member));
        members
            .filter_map(|(watch, _)| bit(watch))
            .fold(0, |all, bit| all | bit)
    }

    /// Sets the timer for the next time at which events become late, or lags no longer count. Watches whose stream
    /// began only after an event count from that begin.
    pub(super) fn wait(&mut self, what: &str, now: Time, timers: &mut Timers) {
        let delivered = self.events.values().map(|event| event.at);
        let by_all = self.events.values().filter_map(|event| event.by_all_at);
        let came = self.members.values().filter_map(|member| member.stream);
        let since = delivered
            .chain(by_all)
            .chain(came.map(|stream| stream.since));
        let waits = [HELD_UP_US, BEHIND_US, WINDOW_US];
        let due = since.flat_map(|since| waits.map(|wait_us| since.plus_micros(wait_us)));
        let due = due.filter(|_| !self.events.is_empty());
        let last = |member: &Member| Some(member.lags.back()?.at.plus_micros(WINDOW_US));
        let behind = self.members.values().filter(|member| member.is_behind);
        let due = due.chain(behind.filter_map(last));
        if let Some(due) = due.filter(|due| *due > now).min() {
            let soonest = now.plus_micros(LOOK_US);
            self.wait_until(what, due.max(soonest), timers);
        }
    }

    /// Sets the timer that compares the watches of the group to `due`, unless an earlier time is set.
    pub(super) fn wait_until(&mut self, what: &str, due: Time, timers: &mut Timers) {
        if self.due.is_some_and(|known| known <= due) {
            return;
        }
        if let Some(known) = self.due.replace(due) {
            timers.unset(known, Timer::Behind(what.into()));
        }
        timers.set(due, Timer::Behind(what.into()));
    }

    /// Returns the bits of all watches of the group.
    pub(super) fn all(&self) -> u64 {
        self.members
            .keys()
            .filter_map(bit)
            .fold(0, |all, bit| all | bit)
    }
}
