//! Watches of the same by several apiservers, held against each other: who is behind (F31), and who has kept an event to
//! itself (C9: a second watch is the best witness, and needs no read of etcd).
//!
//! resourceVersions of one etcd can be compared (semantics 4.7). That one server is at another version than the next is
//! normal; that it tells of an event seconds later is not, nor that it goes beyond an event without telling of it.

use watchscope_model::event::{Bookmark, Change, ListComplete, StreamOpened, WatchStarted};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::BTreeMap;
use watchscope_model::vocabulary::{Certainty, ChangeType, Origin};
use watchscope_model::{Object, ResourceVersion, Seq, State, Text, Time, WatchName};

use super::book::{Book, Found, Subject};
use super::streams::SILENT_LOSS;
use super::words::{self, place};
use super::{Timer, Timers};
use crate::WHOLE;

/// How much later than another a server may tell of an event, in microseconds (F31).
const BEHIND_US: i64 = 3_000_000;
/// Events that are remembered of what is watched by several servers; of more the oldest are forgotten unjudged.
const REMEMBERED: usize = 1_024;

/// A version of an object, as its event said.
type Told = (u64, Option<Text>, Text);

/// An event that some server told.
#[derive(Clone, Debug)]
struct Event {
    change: ChangeType,
    first: Text,
    seq: Seq,
    at: Time,
    /// The watches that had it, a bit each by their ordinals.
    had_by: u64,
}

/// A watch by one server.
#[derive(Clone, Debug)]
struct Member {
    server: Text,
    /// Its open stream, once it is known what that has to tell.
    stream: Option<Stream>,
    /// A stream that begins with initial events has something to tell only after them.
    is_open: bool,
    /// The highest version it told of, on any stream.
    highest: u64,
    /// It is behind another, and that was found.
    is_behind: bool,
}

impl Member {
    fn comes_to(&mut self, version: u64) {
        self.highest = self.highest.max(version);
        if let Some(stream) = &mut self.stream {
            stream.reached = stream.reached.max(version);
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Since when it has something to tell.
    since: Time,
    /// Every event beyond this has to come.
    from: u64,
    /// It came to this.
    reached: u64,
}

/// What is watched by several servers. Bounded by [`REMEMBERED`] events that some have told and some have not, and the
/// watches there are; those with ordinals beyond 64 are left out.
#[derive(Clone, Debug, Default)]
struct Group {
    members: BTreeMap<WatchName, Member>,
    events: BTreeMap<Told, Event>,
    /// Nothing is said of events up to this: all have told them, or they are forgotten.
    floor: u64,
    /// When somebody may have fallen behind.
    due: Option<Time>,
}

/// All that is watched by several servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Servers {
    groups: BTreeMap<Text, Group>,
}

impl Servers {
    /// Goes on from a fold: what was told before is not known.
    pub(super) fn since(state: &State) -> Self {
        let mut servers = Self::default();
        for (watch, Watch { server, seen, .. }) in &state.watches {
            if let Some(server) = server
                && WHOLE
            {
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
        let member = Member {
            server: server.clone(),
            stream: None,
            is_open: false,
            highest: 0,
            is_behind: false,
        };
        group.members.insert(watch.clone(), member);
        group
    }

    /// The group of a watch, if it is by a server of its own.
    fn group(&mut self, watch: &WatchName) -> Option<&mut Group> {
        // Nearly always: it must cost an event nothing.
        if !WHOLE || self.groups.is_empty() {
            return None;
        }
        let (what, _) = watch.what_and_ordinal();
        let group = self.groups.get_mut(what)?;
        group.members.contains_key(watch).then_some(group)
    }

    pub(super) fn started(&mut self, event: &WatchStarted) {
        if let Some(server) = &event.server
            && WHOLE
        {
            self.join(&event.watch, server);
        }
    }

    pub(super) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
        let (what, _) = watch.what_and_ordinal();
        let Some(group) = self.group(watch) else {
            return;
        };
        group.members.remove(watch);
        if group.members.is_empty() {
            if let Some(due) = group.due {
                timers.unset(due, Timer::Behind(what.into()));
            }
            self.groups.remove(what);
        }
    }

    pub(super) fn opened(
        &mut self,
        event: &StreamOpened,
        is_initial: bool,
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
            member.stream = from.map(|from| Stream {
                since: record.at,
                from,
                reached: from,
            });
        }
        group.wait(event.watch.what_and_ordinal().0, record.at, timers);
    }

    pub(super) fn ended(&mut self, watch: &WatchName) {
        let member = self
            .group(watch)
            .and_then(|group| group.members.get_mut(watch));
        if let Some(member) = member {
            member.is_open = false;
            member.stream = None;
        }
    }

    /// A list, or the initial events of a stream, are whole. A version below what the same server told before is of an
    /// etcd that was restored: nothing is held against anybody until all are beyond what was told.
    pub(super) fn listed(&mut self, event: &ListComplete, record: Moment, timers: &mut Timers) {
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

    pub(super) fn changed(
        &mut self,
        event: &Change,
        before: &State,
        record: Moment,
        book: &mut Book,
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
        if version > group.floor && group.members.len() > 1 {
            let Object {
                namespace, name, ..
            } = &*event.object;
            let told = (version, namespace.clone(), name.clone());
            if let Some(known) = group.events.get_mut(&told) {
                known.had_by |= bit;
            } else {
                let known = Event {
                    change: event.change,
                    first: server,
                    seq: record.seq,
                    at: record.at,
                    had_by: bit,
                };
                group.events.insert(told.clone(), known);
                // Who came beyond it before anybody told of it has kept it to itself.
                let others = group.members.iter().filter(|(watch, member)| {
                    let beyond = member.stream.filter(|stream| stream.reached > version);
                    beyond.is_some() && **watch != event.watch
                });
                let others: Vec<WatchName> = others.map(|(watch, _)| watch.clone()).collect();
                for watch in others {
                    group.kept(&told, &watch, before, record, book);
                }
                group.wait(what, record.at, timers);
            }
            group.settle(&told);
        }
        group.passed(&event.watch, version, before, record, book);
        group.caught_up(&event.watch, record, book);
    }

    pub(super) fn bookmarked(
        &mut self,
        event: &Bookmark,
        before: &State,
        record: Moment,
        book: &mut Book,
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
        // All up to it has been told, says the server.
        group.passed(
            &event.watch,
            version.saturating_add(1),
            before,
            record,
            book,
        );
        group.caught_up(&event.watch, record, book);
    }

    /// Somebody may have fallen behind.
    pub(super) fn behind(&mut self, what: &Text, now: Time, book: &mut Book, timers: &mut Timers) {
        let Some(group) = self.groups.get_mut(what).filter(|_| WHOLE) else {
            return;
        };
        group.due = None;
        for (watch, member) in &mut group.members {
            if member.is_behind {
                continue;
            }
            let late: Vec<_> = late(&group.events, watch, member, now).collect();
            let Some((((version, namespace, object), event), rest)) = late.split_first() else {
                continue;
            };
            let summary = format!(
                "{} told of {} {} at {version} {} s ago, and {} has not yet{}: who moves from the one to the other goes \
                 back in time.",
                event.first,
                event.change,
                place(namespace.as_ref(), object),
                now.millis_since(event.at) / 1_000,
                member.server,
                match rest.len() {
                    0 => String::new(),
                    more => format!(", nor of {more} more"),
                },
            );
            let found = Found::of(
                "F31",
                Certainty::Likely,
                Subject::Watch(watch.clone()),
                vec![event.seq],
                event.at,
                summary,
            );
            member.is_behind = true;
            book.raise(found.alike(&["F04", "F44"]).until_cleared(), now);
        }
        group.wait(what, now, timers);
    }
}

/// The events that others told long ago, and this watch has yet to tell.
fn late<'a>(
    events: &'a BTreeMap<Told, Event>,
    watch: &WatchName,
    member: &Member,
    now: Time,
) -> impl Iterator<Item = (&'a Told, &'a Event)> {
    let bit = bit(watch);
    let stream = member.stream;
    events.iter().filter(move |((version, ..), event)| {
        let (Some(stream), Some(bit)) = (stream, bit) else {
            return false;
        };
        // One that has come back needs its time to catch up.
        let is_late = event.at.max(stream.since).plus_micros(BEHIND_US) <= now;
        is_late && *version > stream.reached && event.had_by & bit == 0
    })
}

impl Group {
    /// A watch has told all that it has to tell below `version`.
    fn passed(
        &mut self,
        watch: &WatchName,
        version: u64,
        before: &State,
        record: Moment,
        book: &mut Book,
    ) {
        let stream = self.members.get(watch).and_then(|member| member.stream);
        let (Some(stream), Some(bit)) = (stream, bit(watch)) else {
            return;
        };
        let first = (stream.from.saturating_add(1), None, Text::default());
        let kept: Vec<Told> = self
            .events
            .range(first..)
            .take_while(|((told, ..), _)| *told < version)
            .filter(|(_, event)| event.had_by & bit == 0)
            .map(|(told, _)| told.clone())
            .collect();
        for told in kept {
            self.kept(&told, watch, before, record, book);
        }
    }

    /// A server has gone beyond an event without telling of it, which is told once.
    fn kept(
        &mut self,
        told: &Told,
        watch: &WatchName,
        before: &State,
        record: Moment,
        book: &mut Book,
    ) {
        let (Some(event), Some(member)) = (self.events.get_mut(told), self.members.get(watch))
        else {
            return;
        };
        let (version, namespace, object) = told;
        let Some(stream) = member.stream.filter(|stream| *version > stream.from) else {
            return;
        };
        event.had_by |= bit(watch).unwrap_or(0);
        let (certainty, why) = words::unless_unread(before.watches.get(watch), Certainty::Definite);
        let summary = format!(
            "{} told of {} {} at {version}; {} came to {} without it.{why}",
            event.first,
            event.change,
            place(namespace.as_ref(), object),
            member.server,
            stream.reached,
        );
        let mut evidence = vec![event.seq, record.seq];
        evidence.dedup();
        let found = Found::of(
            "F24",
            certainty,
            Subject::Watch(watch.clone()),
            evidence,
            event.at,
            summary,
        );
        book.raise(found.alike(SILENT_LOSS), record.at);
        self.settle(told);
    }

    /// Forgets an event that all have told, and the oldest of too many.
    fn settle(&mut self, told: &Told) {
        let all = self.all();
        let is_settled = |event: &Event| event.had_by & all == all;
        if self.events.get(told).is_some_and(is_settled) {
            self.events.remove(told);
            self.floor = self.floor.max(told.0);
        }
        while self.events.len() > REMEMBERED {
            if let Some(((version, ..), _)) = self.events.pop_first() {
                self.floor = self.floor.max(version);
            }
        }
    }

    /// Clears what was found of a watch that is behind no longer.
    fn caught_up(&mut self, watch: &WatchName, record: Moment, book: &mut Book) {
        let Some(member) = self.members.get_mut(watch) else {
            return;
        };
        let is_over = member.is_behind
            && late(&self.events, watch, member, record.at)
                .next()
                .is_none();
        if is_over {
            member.is_behind = false;
            let subject = Subject::Watch(watch.clone());
            book.clear("F31", subject, record.seq, "It has caught up.");
        }
    }

    /// Waits until the next event that not all have told of is late, by those who were there or have come back since.
    fn wait(&mut self, what: &str, now: Time, timers: &mut Timers) {
        if self.due.is_some() || self.events.is_empty() {
            return;
        }
        let told = self.events.values().map(|event| event.at);
        let came = self.members.values().filter_map(|member| member.stream);
        let since = told.chain(came.map(|stream| stream.since));
        let due = since.map(|since| since.plus_micros(BEHIND_US));
        if let Some(due) = due.filter(|due| *due > now).min() {
            self.due = Some(due);
            timers.set(due, Timer::Behind(what.into()));
        }
    }

    /// The bits of all its watches.
    fn all(&self) -> u64 {
        self.members
            .keys()
            .filter_map(bit)
            .fold(0, |all, bit| all | bit)
    }
}

/// A watch's bit, by its ordinal.
fn bit(watch: &WatchName) -> Option<u64> {
    let (_, ordinal) = watch.what_and_ordinal();
    1_u64.checked_shl(ordinal.checked_sub(1)?)
}
