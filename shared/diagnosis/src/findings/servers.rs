//! Watches of the same by several apiservers, held against each other: who is behind (F31), and who has kept an event to
//! itself (a second watch is the best witness, and needs no read of etcd: docs/semantics/checks.md#witness). With them
//! goes the watch of the same by the configured address: what it tells late though each server has told it directly is
//! held up on its way (F44).
//!
//! resourceVersions of one etcd can be compared (docs/semantics/checks.md#servers). That one server is at another
//! version than the next is normal, and so is that now and then an event comes late; that one event in twenty comes
//! seconds later is not, nor that a server goes beyond an event without telling of it.

use std::collections::VecDeque;

use watchscope_model::event::{Bookmark, Change, ListComplete, StreamOpened, WatchStarted};
use watchscope_model::fold::{Moment, Watch};
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::{Certainty, ChangeType, Origin};
use watchscope_model::{Object, ResourceVersion, Row, Seq, State, Text, Time, WatchName};

use super::draft::{BEHIND_LONG_US, FindingDraft, Shared, Subject};
use super::place::Place;
use super::registry::FindingRegistry;
use super::streams::SILENT_LOSS;
use super::timers::{Timer, Timers};
use crate::text::{count, place, seconds};

/// How much later than another a server may tell of events, in microseconds (F31): 19 of 20 have to come sooner.
const BEHIND_US: i64 = 3_000_000;
/// How much later than by all servers directly events may come by the configured address, in microseconds (F44): as many.
const HELD_UP_US: i64 = 2_000_000;
/// So many have to come so late by the configured address: a buffer does it again and again.
const HELD_UP: usize = 5;
/// How soon it is looked again who is behind, at the soonest, in microseconds.
const LOOK_US: i64 = 250_000;
/// Lags count for so long, in microseconds.
const WINDOW_US: i64 = 60_000_000;
/// Most lags of a watch that count; of more the oldest are forgotten.
const LAGS: usize = 256;
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
    /// When the last of the servers told it directly.
    by_all_at: Option<Time>,
}

/// A watch by one server, or by the configured address.
#[derive(Clone, Debug)]
struct Member {
    /// The server, or the watch's own name.
    server: Text,
    /// Whether it is by a server directly.
    is_direct: bool,
    /// Where its stream's requests go.
    place: Option<Place>,
    /// Its open stream, once it is known what that has to tell.
    stream: Option<Stream>,
    /// A stream that begins with initial events has something to tell only after them.
    is_open: bool,
    /// The highest version it told of, on any stream.
    highest: u64,
    /// It is behind another, and that was found.
    is_behind: bool,
    /// When it told of events, and how much later than it should have, in microseconds; the last [`LAGS`].
    lags: VecDeque<(Time, i64)>,
    /// The last record that it told of an event.
    told: Seq,
}

impl Member {
    fn new(server: Text, is_direct: bool) -> Self {
        Self {
            server,
            is_direct,
            place: None,
            stream: None,
            is_open: false,
            highest: 0,
            is_behind: false,
            lags: VecDeque::new(),
            told: Seq(0),
        }
    }

    /// How much later than others it may tell of events, in microseconds.
    fn may_lag_us(&self) -> i64 {
        if self.is_direct {
            BEHIND_US
        } else {
            HELD_UP_US
        }
    }

    /// When it should have had an event, if it is told when at all.
    fn expected_at(&self, event: &Event, stream: &Stream) -> Option<Time> {
        let told = if self.is_direct {
            Some(event.at)
        } else {
            event.by_all_at
        };
        // One that has come back needs its time to catch up.
        told.map(|told| told.max(stream.since))
    }

    /// It told of an event.
    fn lagged(&mut self, event: &Event, record: Moment) {
        self.told = record.seq;
        let stream = self.stream.as_ref();
        let expected = stream.and_then(|stream| self.expected_at(event, stream));
        let lag_us = expected.map_or(0, |expected| record.at.micros_since(expected));
        if self.lags.len() == LAGS {
            self.lags.pop_front();
        }
        self.lags.push_back((record.at, lag_us));
    }

    /// The 95th percentile of the lags of the last minute, and of what is late by now, in microseconds; and of how many.
    fn p95(&self, late: impl Iterator<Item = i64>, now: Time) -> Option<(i64, usize)> {
        let recent = self
            .lags
            .iter()
            .filter(|(at, _)| now.micros_since(*at) < WINDOW_US);
        let mut lags: Vec<i64> = recent.map(|(_, lag_us)| *lag_us).chain(late).collect();
        tree::sort(&mut lags);
        let place = (lags.len() * 19).div_ceil(20).checked_sub(1)?;
        let long = lags.iter().filter(|lag_us| **lag_us >= self.may_lag_us());
        let is_enough = self.is_direct || long.count() >= HELD_UP;
        is_enough.then(|| (lags[place], lags.len()))
    }

    /// Clears what was found of it, if it is behind no longer.
    fn caught_up(
        &mut self,
        events: &BTreeMap<Told, Event>,
        watch: &WatchName,
        now: Time,
        registry: &mut FindingRegistry,
    ) {
        let is_late = late(events, watch, self, now).next().is_some();
        let p95 = self.p95(std::iter::empty(), now);
        if is_late || p95.is_some_and(|(p95_us, _)| p95_us >= self.may_lag_us()) {
            return;
        }
        self.is_behind = false;
        let row = self.row();
        let why = match p95 {
            Some((p95_us, of)) => format!(
                "It has caught up: p95 of its lag is {}, of {} in a minute.",
                seconds(u64::try_from(p95_us / 1_000).unwrap_or(0)),
                count(of as u64, "event")
            ),
            None => "It has caught up.".to_owned(),
        };
        registry.clear(row, Subject::Watch(watch.clone()), self.told, &why);
    }

    /// What it shares with others that are behind for the same reason.
    fn shared(&self) -> Option<Shared> {
        let (subject, summary) = if self.is_direct {
            let server = &self.server;
            let summary = format!(
                "The server {server} is behind: others delivered events at least {} s before it.",
                BEHIND_US / 1_000_000
            );
            (Subject::Server(server.clone()), summary)
        } else {
            let place = self.place.as_ref()?;
            let address = place.address()?;
            let summary = format!(
                "Events come late by the configured address, {address}: all servers told directly of them at least {} s \
                 before, so something on the way holds them back.",
                HELD_UP_US / 1_000_000
            );
            (Subject::Server(address.clone()), summary)
        };
        Some(Shared {
            subject,
            summary,
            together_us: self.may_lag_us(),
            waits_until: None,
        })
    }

    /// What it is called when it is behind.
    fn row(&self) -> Row {
        if self.is_direct { Row::F31 } else { Row::F44 }
    }

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
    /// No more events up to this are remembered: all have told such, or they are forgotten.
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

    /// The group of a watch, if it is by a server of its own, or something is watched by its servers beside it.
    fn group(&mut self, watch: &WatchName) -> Option<&mut Group> {
        // Nearly always: it must cost an event nothing.
        if self.groups.is_empty() {
            return None;
        }
        let (what, _) = watch.what_and_ordinal();
        let group = self.groups.get_mut(what)?;
        group.members.contains_key(watch).then_some(group)
    }

    pub(super) fn started(&mut self, event: &WatchStarted, before: &State, now: Time) {
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

    pub(super) fn forget(&mut self, watch: &WatchName, timers: &mut Timers) {
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

    pub(super) fn opened(
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
        let told = (version, namespace.clone(), name.clone());
        // Objects that one transaction changed have one version: that one of them is settled settles no other.
        let is_awaited = version > group.floor || group.events.contains_key(&told);
        if is_awaited && group.members.len() > 1 {
            if let Some(known) = group.events.get_mut(&told) {
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
                group.events.insert(told.clone(), known);
                // Who came beyond it before anybody told of it has kept it to itself.
                let others = group.members.iter().filter(|(watch, member)| {
                    let beyond = member.stream.filter(|stream| stream.reached > version);
                    beyond.is_some() && **watch != event.watch
                });
                let others: Vec<WatchName> = others.map(|(watch, _)| watch.clone()).collect();
                for watch in others {
                    group.kept(&told, &watch, record, registry);
                }
            }
            // The shortest of what may be waited for.
            group.wait_until(what, record.at.plus_micros(HELD_UP_US), timers);
            group.settle(&told);
        }
        group.passed(&event.watch, version, record, registry);
        group.look_again(&event.watch, record, registry, timers);
    }

    pub(super) fn bookmarked(
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
        // All up to it has been told, says the server.
        group.passed(&event.watch, version.saturating_add(1), record, registry);
        group.look_again(&event.watch, record, registry, timers);
    }

    /// Somebody may have fallen behind, or caught up.
    pub(super) fn behind(
        &mut self,
        what: &Text,
        now: Time,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        let Some(group) = self.groups.get_mut(what) else {
            return;
        };
        group.due = None;
        for (watch, member) in &mut group.members {
            if member.is_behind {
                member.caught_up(&group.events, watch, now, registry);
                // Its stream may have been taken for a silent one, and that told to be over when it said something.
                if !member.is_behind || registry.stands(member.row(), Subject::Watch(watch.clone()))
                {
                    continue;
                }
            }
            let late: Vec<_> = late(&group.events, watch, member, now).collect();
            let Some((((version, namespace, object), event, _), rest)) = late.split_first() else {
                continue;
            };
            let lags = late.iter().map(|(.., lag_us)| *lag_us);
            let Some((p95_us, of)) = member.p95(lags, now) else {
                continue;
            };
            if p95_us < member.may_lag_us() {
                continue;
            }
            let more = match rest.len() {
                0 => String::new(),
                more => format!(", nor of {more} more"),
            };
            let told = format!(
                "{} at {version} {} s ago",
                place(namespace.as_ref(), object),
                now.millis_since(event.at) / 1_000
            );
            let p95 = format!(
                "p95 of its lag is {}, of {} in a minute.",
                seconds(u64::try_from(p95_us / 1_000).unwrap_or(0)),
                count(of as u64, "event")
            );
            let (row, summary): (_, String) = if member.is_direct {
                let summary = format!(
                    "{} told of {} {told}, and {} has not yet{more}: who moves from the one to the other goes back in \
                     time. {p95}",
                    event.first, event.change, member.server,
                );
                (Row::F31, summary)
            } else {
                let summary = format!(
                    "All its servers told directly of {} {told}, and it has not come to {watch} yet{more}: something on \
                     the way holds it back. {p95}",
                    event.change,
                );
                (Row::F44, summary)
            };
            let found = FindingDraft::of(
                row,
                Certainty::Likely,
                Subject::Watch(watch.clone()),
                vec![event.seq],
                event.at,
                summary,
            );
            let begins_at = event.at;
            member.is_behind = true;
            let alike: &'static [Row] = if member.is_direct {
                &[Row::F04, Row::F44]
            } else {
                &[Row::F04]
            };
            let mut found = found.note_until(begins_at.plus_micros(BEHIND_LONG_US));
            found.shared = member.shared();
            registry.raise(found.alike(alike).until_cleared(), now);
        }
        group.wait(what, now, timers);
    }
}

/// The events that this watch should have told of long ago and has yet to, and how late they are, in microseconds.
fn late<'a>(
    events: &'a BTreeMap<Told, Event>,
    watch: &WatchName,
    member: &'a Member,
    now: Time,
) -> impl Iterator<Item = (&'a Told, &'a Event, i64)> {
    let bit = bit(watch);
    events.iter().filter_map(move |(told, event)| {
        let (stream, bit) = (member.stream.as_ref()?, bit?);
        let late_us = now.micros_since(member.expected_at(event, stream)?);
        let is_to_come = told.0 > stream.reached && event.had_by & bit == 0;
        (is_to_come && late_us >= member.may_lag_us()).then_some((told, event, late_us))
    })
}

impl Group {
    /// A watch has told all that it has to tell below `version`.
    fn passed(
        &mut self,
        watch: &WatchName,
        version: u64,
        record: Moment,
        registry: &mut FindingRegistry,
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
            self.kept(&told, watch, record, registry);
        }
    }

    /// A server has gone beyond an event without telling of it, which is told once.
    fn kept(
        &mut self,
        told: &Told,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
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
        let (certainty, why) = registry.unread.unless_why(watch, Certainty::Definite);
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
        let found = FindingDraft::of(
            Row::F24,
            certainty,
            Subject::Watch(watch.clone()),
            evidence,
            event.at,
            summary,
        );
        registry.raise(found.alike(SILENT_LOSS).proven(), record.at);
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

    /// A watch told of something: whether it is behind still, if it was.
    fn caught_up(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
    ) -> bool {
        let behind = self.members.get_mut(watch);
        behind.is_some_and(|member| {
            if member.is_behind {
                member.caught_up(&self.events, watch, record.at, registry);
            }
            member.is_behind
        })
    }

    /// A watch told of something: if it is behind still, when it is looked at next.
    fn look_again(
        &mut self,
        watch: &WatchName,
        record: Moment,
        registry: &mut FindingRegistry,
        timers: &mut Timers,
    ) {
        if !self.caught_up(watch, record, registry) {
            return;
        }
        let row = self.members.get(watch).map(Member::row);
        let stands = |row| registry.stands(row, Subject::Watch(watch.clone()));
        let wait_us = if row.is_some_and(stands) {
            WINDOW_US
        } else {
            LOOK_US
        };
        let (what, _) = watch.what_and_ordinal();
        self.wait_until(what, record.at.plus_micros(wait_us), timers);
    }

    /// The bits of the watches by a server each, of those that have an event of this version to tell.
    fn direct(&self, version: u64) -> u64 {
        let has_it = |member: &Member| {
            let stream = member.stream.filter(|stream| version > stream.from);
            member.is_direct && stream.is_some()
        };
        let members = self.members.iter().filter(|(_, member)| has_it(member));
        members
            .filter_map(|(watch, _)| bit(watch))
            .fold(0, |all, bit| all | bit)
    }

    /// Waits until what is late by now, or may be later, is to be looked at: by those who were there or have come back
    /// since, and again when what came in time counts no more.
    fn wait(&mut self, what: &str, now: Time, timers: &mut Timers) {
        let told = self.events.values().map(|event| event.at);
        let by_all = self.events.values().filter_map(|event| event.by_all_at);
        let came = self.members.values().filter_map(|member| member.stream);
        let since = told.chain(by_all).chain(came.map(|stream| stream.since));
        let waits = [HELD_UP_US, BEHIND_US, WINDOW_US];
        let due = since.flat_map(|since| waits.map(|wait_us| since.plus_micros(wait_us)));
        let due = due.filter(|_| !self.events.is_empty());
        let last = |member: &Member| Some(member.lags.back()?.0.plus_micros(WINDOW_US));
        let behind = self.members.values().filter(|member| member.is_behind);
        let due = due.chain(behind.filter_map(last));
        if let Some(due) = due.filter(|due| *due > now).min() {
            let soonest = now.plus_micros(LOOK_US);
            self.wait_until(what, due.max(soonest), timers);
        }
    }

    /// Looks at who is behind at a moment, if not sooner.
    fn wait_until(&mut self, what: &str, due: Time, timers: &mut Timers) {
        if self.due.is_some_and(|known| known <= due) {
            return;
        }
        if let Some(known) = self.due.replace(due) {
            timers.unset(known, Timer::Behind(what.into()));
        }
        timers.set(due, Timer::Behind(what.into()));
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
