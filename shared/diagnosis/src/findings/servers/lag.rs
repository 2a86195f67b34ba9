//! A watch at one server, and how much later than other servers this watch delivers events.

use std::collections::VecDeque;

use watchscope_model::fold::Moment;
use watchscope_model::tree::{self, BTreeMap};
use watchscope_model::vocabulary::ChangeType;
use watchscope_model::{Row, Seq, Text, Time, WatchName};

use crate::findings::draft::{Shared, Subject};
use crate::findings::place::Place;
use crate::findings::registry::FindingRegistry;
use crate::text::{count, seconds};

/// Time in µs by which a server may deliver events later than another server (F31). 19 of 20 events must come with less
/// delay. Watches of a server that fall behind within this time may be one finding. The time is as long as a read waits
/// for its server's watch cache (docs/semantics/servers.md#fresh-wait).
pub(super) const BEHIND_US: i64 = 3_000_000;
/// Time in µs by which events over the configured address may come later than from all servers directly (F44). 19 of 20
/// events must come with less delay. Watches over this address that fall behind within this time may be one finding.
/// The number has no source. A proxy that delays events by less is not found.
pub(super) const HELD_UP_US: i64 = 2_000_000;
/// Least number of events in a minute over the configured address that must be at least [`HELD_UP_US`] late for F44. A
/// buffer on the way delays events again and again. Fewer events may be late by chance. The number has no source.
const HELD_UP: usize = 5;
/// Time in µs for which lags count; lags of this age or older are ignored. A watch that is behind, and whose finding
/// stands, is compared again after this time at the latest. The number has no source.
pub(super) const WINDOW_US: i64 = 60_000_000;
/// Most lags of a watch that count. A further lag replaces the oldest. The limit bounds the memory, and the lags that
/// each judgement sorts. The number has no source: at four events a second, 256 lags fill about [`WINDOW_US`].
const LAGS: usize = 256;

/// The version, namespace and name of an object in an event.
pub(super) type EventKey = (u64, Option<Text>, Text);

/// An event that at least one server delivered.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) change: ChangeType,
    pub(super) first: Text,
    pub(super) seq: Seq,
    pub(super) at: Time,
    /// The watches that delivered the event: one bit each, by the watch's ordinal.
    pub(super) had_by: u64,
    /// When the last of the servers delivered the event directly; `None` before that.
    pub(super) by_all_at: Option<Time>,
}

/// The delay of one delivered event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lag {
    /// When the watch delivered the event.
    pub(super) at: Time,
    pub(super) lag_us: i64,
}

/// A watch at one server, or over the configured address.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The server's address; for a watch over the configured address, the watch's own name.
    pub(super) server: Text,
    /// Whether the watch is at a server directly.
    pub(super) is_direct: bool,
    /// Where the watch's requests go; `None` if that is unknown.
    pub(super) place: Option<Place>,
    /// The watch's open stream, once it is known which events the stream has to deliver. A stream that begins with
    /// initial events has to deliver events only after these. `None` before that, and without a stream.
    pub(super) stream: Option<Stream>,
    /// Whether the watch has an open stream.
    pub(super) is_open: bool,
    /// The highest version that any stream of the watch has reached.
    pub(super) highest: u64,
    /// Whether an open finding says that the watch is behind.
    pub(super) is_behind: bool,
    /// The watch's last lags, at most [`LAGS`].
    pub(super) lags: VecDeque<Lag>,
    /// The record of the last event that the watch delivered.
    pub(super) last_event: Seq,
}

impl Member {
    pub(super) fn new(server: Text, is_direct: bool) -> Self {
        Self {
            server,
            is_direct,
            place: None,
            stream: None,
            is_open: false,
            highest: 0,
            is_behind: false,
            lags: VecDeque::new(),
            last_event: Seq(0),
        }
    }

    /// Returns how much later than others the watch may deliver events, in microseconds.
    pub(super) fn may_lag_us(&self) -> i64 {
        if self.is_direct {
            BEHIND_US
        } else {
            HELD_UP_US
        }
    }

    /// Returns when the watch should have delivered an event; `None` if no other delivery shows it.
    fn expected_at(&self, event: &Event, stream: &Stream) -> Option<Time> {
        let delivered_at = if self.is_direct {
            Some(event.at)
        } else {
            event.by_all_at
        };
        // A stream that has just begun needs time to catch up.
        delivered_at.map(|delivered_at| delivered_at.max(stream.since))
    }

    /// Notes that the watch delivered an event, and how late.
    pub(super) fn lagged(&mut self, event: &Event, record: Moment) {
        self.last_event = record.seq;
        let stream = self.stream.as_ref();
        let expected = stream.and_then(|stream| self.expected_at(event, stream));
        let lag_us = expected.map_or(0, |expected| record.at.micros_since(expected));
        if self.lags.len() == LAGS {
            self.lags.pop_front();
        }
        self.lags.push_back(Lag {
            at: record.at,
            lag_us,
        });
    }

    /// Returns the p95 of the last minute's lags in µs, and the number of samples. Events in `late`, which are still
    /// overdue, count too. `None` without samples, and for the configured address with fewer than [`HELD_UP`] long
    /// lags.
    pub(super) fn p95(&self, late: impl Iterator<Item = i64>, now: Time) -> Option<(i64, usize)> {
        let recent = self
            .lags
            .iter()
            .filter(|lag| now.micros_since(lag.at) < WINDOW_US);
        let mut lags: Vec<i64> = recent.map(|lag| lag.lag_us).chain(late).collect();
        tree::sort(&mut lags);
        let place = (lags.len() * 19).div_ceil(20).checked_sub(1)?;
        let long = lags.iter().filter(|lag_us| **lag_us >= self.may_lag_us());
        let is_enough = self.is_direct || long.count() >= HELD_UP;
        is_enough.then(|| (lags[place], lags.len()))
    }

    /// Clears the finding of the watch, if the watch is no longer behind.
    pub(super) fn caught_up(
        &mut self,
        events: &BTreeMap<EventKey, Event>,
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
                "It has caught up: p95 of its lag is {}, over {} in a minute.",
                seconds(u64::try_from(p95_us / 1_000).unwrap_or(0)),
                count(of as u64, "event")
            ),
            None => "It has caught up.".to_owned(),
        };
        registry.clear(row, Subject::Watch(watch.clone()), self.last_event, &why);
    }

    /// Returns what the watch shares with other watches that are behind for the same reason; `None` if that is unknown.
    pub(super) fn shared(&self) -> Option<Shared> {
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
                "Events come late over the configured address, {address}: all servers delivered them directly at \
                 least {} s earlier, so something on the way holds them back.",
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

    /// Returns the row of the finding that the watch gets when it is behind.
    pub(super) fn row(&self) -> Row {
        if self.is_direct { Row::F31 } else { Row::F44 }
    }

    pub(super) fn comes_to(&mut self, version: u64) {
        self.highest = self.highest.max(version);
        if let Some(stream) = &mut self.stream {
            stream.reached = stream.reached.max(version);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// When the stream began to deliver events.
    pub(super) since: Time,
    /// The stream has to deliver every event above this version.
    pub(super) from: u64,
    /// The version that the stream has reached.
    pub(super) reached: u64,
}

/// Returns the events that a watch should have delivered and has not, each with its delay in µs, if the delay is at
/// least [`Member::may_lag_us`].
pub(super) fn late<'a>(
    events: &'a BTreeMap<EventKey, Event>,
    watch: &WatchName,
    member: &'a Member,
    now: Time,
) -> impl Iterator<Item = (&'a EventKey, &'a Event, i64)> {
    let bit = bit(watch);
    events.iter().filter_map(move |(key, event)| {
        let (stream, bit) = (member.stream.as_ref()?, bit?);
        let late_us = now.micros_since(member.expected_at(event, stream)?);
        let is_to_come = key.0 > stream.reached && event.had_by & bit == 0;
        (is_to_come && late_us >= member.may_lag_us()).then_some((key, event, late_us))
    })
}

/// Returns the bit that stands for a watch, by its ordinal; `None` for ordinals above 64.
pub(super) fn bit(watch: &WatchName) -> Option<u64> {
    let (_, ordinal) = watch.what_and_ordinal();
    1_u64.checked_shl(ordinal.checked_sub(1)?)
}
