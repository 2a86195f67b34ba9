//! The watchers of etcd. Synced watchers get each write, unsynced watchers are caught up, and victims wait for room in
//! their channel (docs/semantics/servers.md#watchers).
//!
//! ```text
//!            start > revision                     channel full
//!  create ─────────────────────► synced ─────────────────────────► victim
//!     │ start <= revision          ▲  ▲        room again, up to date │
//!     └──────────► unsynced ───────┘  └───────────────────────────────┤
//!        every 100 ms: 512 watchers,  ◄──── room again, behind ────────┘
//!        1000 revisions each
//! ```
//!
//! Modelled after etcd's `mvcc/watchable_store.go` and `v3rpc/watch.go`.

use std::sync::Arc;
use std::time::Duration;

use watchscope_model::tree::{BTreeMap, BTreeSet};

use super::alarm::EtcdAlarm;
use super::member::Members;
use super::store::Store;
use super::stream::{
    Addressee, Content, Offered, Pace, Response, Sent, Stream, StreamKey, WatchedChange, WatcherId,
};
use super::watcher::{State, WatchRequest, Watcher};
use crate::change::Change;
use crate::defect::Defect;
use crate::kinds::ResourceId;
use crate::message::ServerId;
use crate::settings::EtcdConfig;
use crate::time::{Time, micros};

/// Time between two rounds that catch up unsynced watchers (`watchResyncPeriod` of `mvcc/watchable_store.go`, 3.6.4;
/// docs/semantics/servers.md#watchers). If the last round made progress, the time is [`SYNC_AGAIN`].
const SYNC_PERIOD: Duration = Duration::from_millis(100);
/// Time to the next round after a round that left some unsynced watchers, but fewer than before. Real etcd waits for as
/// long as the last round took (`syncWatchersLoop` of `mvcc/watchable_store.go`, 3.6); a simulated round takes no time.
/// The number has no source.
const SYNC_AGAIN: Duration = Duration::from_millis(1);
/// Time between two attempts to send the events that victims hold (`syncVictimsLoop` of `mvcc/watchable_store.go`,
/// 3.6).
const VICTIM_PERIOD: Duration = Duration::from_millis(10);
/// The most watchers that one round catches up (`maxWatchersPerSync`); further watchers wait for the next round
/// (docs/semantics/servers.md#watchers).
const WATCHERS_PER_ROUND: usize = 512;
/// The most revisions in a batch (`watchBatchMaxRevs`); later rounds send further revisions
/// (docs/semantics/servers.md#watchers). In the simulator a revision is one event.
const REVISIONS_PER_BATCH: usize = 1000;
/// The age below which a read of etcd's history returns writes twice under the defect `DuplicateEvents`: etcd's commit
/// interval (`defaultBatchInterval` of `storage/backend/backend.go`, 3.6).
const UNCOMMITTED: Duration = Duration::from_millis(100);

/// The parts of etcd that its watchers read.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) now: Time,
    pub(super) store: &'a Store,
    pub(super) members: &'a Members,
    pub(super) defects: &'a BTreeSet<Defect>,
    pub(super) config: &'a EtcdConfig,
}

impl Around<'_> {
    fn has(&self, defect: Defect) -> bool {
        self.defects.contains(&defect)
    }
}

/// All watchers and watch streams of etcd.
///
/// etcd's clients bound the memory: an apiserver has one stream per resource and purpose. An apiserver has one watcher
/// per watch cache and per direct watch. A victim keeps one batch of events.
#[derive(Debug, Default)]
pub(super) struct Watches {
    watchers: BTreeMap<WatcherId, Watcher>,
    of_resource: BTreeMap<ResourceId, Vec<WatcherId>>,
    streams: BTreeMap<StreamKey, Stream>,
    unsynced: BTreeSet<WatcherId>,
    /// Victims: watchers whose last events found their channel full, in the order in which they became victims.
    victims: Vec<WatcherId>,
    last_id: u64,
    sync_is_set: bool,
    /// When the victims try again; `None` without an alarm for it.
    victims_at: Option<Time>,
    /// When the first of the present victims became one. All tries are whole periods later.
    victims_since: Time,
    /// Streams for which no periodic progress alarm is set, because nothing happened since their last one.
    quiet: Vec<StreamKey>,
    /// How long each response takes on the streams of a server and resource (fault `SlowEtcdStreams`).
    pub(super) slow: BTreeMap<(Option<ServerId>, Option<ResourceId>), Duration>,
    pub(super) sent: Vec<Sent>,
    pub(super) alarms: Vec<(Time, EtcdAlarm)>,
}

impl Watches {
    pub(super) fn create(&mut self, request: WatchRequest, around: Around<'_>) -> WatcherId {
        self.last_id += 1;
        let id = WatcherId(self.last_id);
        let key = request.stream;
        let quiet = &mut self.quiet;
        let stream = self.streams.entry(key).or_insert_with(|| {
            quiet.push(key);
            Stream::new(around.now)
        });
        stream.watchers.insert(id);
        let revision = around.members.revision(key.server, around.store);
        let synced = request.start > revision;
        self.watchers.insert(
            id,
            Watcher {
                stream: key,
                prefix: request.prefix.into(),
                start: request.start,
                min_revision: request.start,
                synced_at: request.start,
                state: if synced {
                    State::Synced
                } else {
                    State::Unsynced
                },
                progress_notify: request.progress_notify,
                requires_leader: request.requires_leader,
                due: true,
            },
        );
        self.of_resource.entry(key.resource).or_default().push(id);
        if !synced {
            self.unsynced.insert(id);
            self.set_sync(around.now);
        }
        if request.progress_notify {
            self.wake_quiet_streams(around);
        }
        id
    }

    pub(super) fn has_stream(&self, key: StreamKey) -> bool {
        self.streams.contains_key(&key)
    }

    pub(super) fn cancel(&mut self, id: WatcherId, now: Time) {
        let Some(watcher) = self.watchers.remove(&id) else {
            return;
        };
        self.unsynced.remove(&id);
        self.victims.retain(|v| *v != id);
        if let Some(ids) = self.of_resource.get_mut(&watcher.stream.resource) {
            ids.retain(|other| *other != id);
        }
        if let Some(stream) = self.streams.get_mut(&watcher.stream) {
            stream.forget(id);
            if stream.watchers.is_empty() {
                // The client closes a stream without watches.
                self.streams.remove(&watcher.stream);
                self.quiet.retain(|key| *key != watcher.stream);
            }
            if !self.victims.is_empty() {
                // The cancelled watcher's responses left the channel.
                self.await_room(watcher.stream, now);
            }
        }
    }

    /// Sends a write to the synced watchers of its key.
    pub(super) fn notify(&mut self, change: &Arc<Change>, around: Around<'_>) {
        self.wake_quiet_streams(around);
        for index in 0.. {
            // Reads the list by index: a watcher that becomes a victim leaves the list as it is.
            let ids = self.of_resource.get(&change.resource);
            let Some(id) = ids.and_then(|ids| ids.get(index)).copied() else {
                return;
            };
            let Some(watcher) = self.watchers.get_mut(&id) else {
                continue;
            };
            let interested = matches!(watcher.state, State::Synced)
                && watcher.min_revision <= change.revision
                && change.key.starts_with(&*watcher.prefix)
                && around
                    .members
                    .applies(watcher.stream.server, change.revision);
            if !interested {
                continue;
            }
            watcher.min_revision = change.revision + 1;
            let events = vec![watched(change)];
            if let Err(events) = self.send_events(id, events, change.revision, around) {
                self.become_victim(id, events, None, around.now);
            }
        }
    }

    /// Sends progress for all watches of a stream, as the stream's client requests with `RequestProgressAll`. Sends
    /// nothing if a watcher of the stream is not synced, or the channel is full.
    pub(super) fn request_progress(&mut self, key: StreamKey, around: Around<'_>) {
        let Some(stream) = self.streams.get(&key) else {
            return;
        };
        if around.has(Defect::ProgressAheadOfEvents) {
            // The response goes out as a control message, past the channel.
            let response = self.progress(key, None, around);
            return self.sent.push(Sent {
                at: around.now,
                stream: key,
                response: Some(response),
            });
        }
        if around.has(Defect::NoProgressForIdleWatch) {
            if stream.owes_progress {
                return;
            }
            if !self.is_synced(key, around) {
                if let Some(stream) = self.streams.get_mut(&key) {
                    stream.owes_progress = true;
                }
                return;
            }
        }
        if self.is_synced(key, around) {
            let response = self.progress(key, None, around);
            // If the channel is full, the progress is lost.
            self.offer(key, response, around);
        }
    }

    pub(super) fn alarm(&mut self, alarm: &EtcdAlarm, around: Around<'_>) {
        match alarm {
            EtcdAlarm::StreamFree(key) => self.stream_free(*key, around),
            EtcdAlarm::Sync => self.sync(around),
            EtcdAlarm::Victims => self.move_victims(around),
            EtcdAlarm::Progress(key) => self.tick(*key, around),
            EtcdAlarm::NoLeader { .. } => {}
        }
    }

    /// Cancels the watches that require a leader, on the streams that `which` chooses.
    pub(super) fn cancel_leaderless(
        &mut self,
        which: impl Fn(&StreamKey) -> bool,
        around: Around<'_>,
    ) {
        let struck: Vec<(WatcherId, StreamKey)> = self
            .watchers
            .iter()
            .filter(|(_, watcher)| watcher.requires_leader && which(&watcher.stream))
            .map(|(id, watcher)| (*id, watcher.stream))
            .collect();
        for (id, key) in struck {
            self.cancel(id, around.now);
            self.send_no_leader(key, id, around);
        }
    }

    /// Breaks the streams that `which` chooses. The streams' clients notice the break and open their watches again.
    pub(super) fn break_streams(&mut self, which: impl Fn(&StreamKey) -> bool, around: Around<'_>) {
        let keys: Vec<StreamKey> = self.streams.keys().copied().filter(|k| which(k)).collect();
        for key in keys {
            let watchers = match self.streams.get(&key) {
                Some(stream) => stream.watchers.clone(),
                None => continue,
            };
            for id in watchers {
                self.cancel(id, around.now);
            }
            self.sent.push(Sent {
                at: around.now,
                stream: key,
                response: None,
            });
        }
    }

    /// Refuses a watch because the member that it is opened at has no leader.
    pub(super) fn refuse(&mut self, key: StreamKey, around: Around<'_>) -> WatcherId {
        self.last_id += 1;
        let id = WatcherId(self.last_id);
        self.send_no_leader(key, id, around);
        id
    }

    /// Sets all synced watchers of a member back to unsynced, since the member has a new state from the leader's
    /// snapshot.
    pub(super) fn restore(&mut self, server: ServerId, around: Around<'_>) {
        for (id, watcher) in &mut self.watchers {
            if watcher.stream.server != server || !matches!(watcher.state, State::Synced) {
                continue;
            }
            if around.has(Defect::BackInTimeAfterPartition) {
                watcher.min_revision = watcher.synced_at;
            }
            watcher.state = State::Unsynced;
            self.unsynced.insert(*id);
        }
        self.set_sync(around.now);
    }

    /// Iterates over the streams: key, number of responses that wait in the stream's channel, and whether all the
    /// stream's watchers are synced.
    #[cfg(test)]
    pub(super) fn streams(&self) -> impl Iterator<Item = (StreamKey, usize, bool)> {
        self.streams.iter().map(|(key, stream)| {
            let synced = |id: &WatcherId| {
                let watcher = self.watchers.get(id);
                watcher.is_some_and(|w| matches!(w.state, State::Synced))
            };
            (*key, stream.waiting(), stream.watchers.iter().all(synced))
        })
    }

    fn send_no_leader(&mut self, key: StreamKey, id: WatcherId, around: Around<'_>) {
        self.sent.push(Sent {
            at: around.now,
            stream: key,
            response: Some(Response {
                to: Addressee::Watcher(id),
                revision: around.store.revision(),
                content: Content::NoLeader,
            }),
        });
    }

    /// Catches up unsynced watchers (`syncWatchers`).
    fn sync(&mut self, around: Around<'_>) {
        self.sync_is_set = false;
        let before = self.unsynced.len();
        let chosen: Vec<WatcherId> = self
            .unsynced
            .iter()
            .copied()
            .filter(|id| {
                let watcher = self.watchers.get(id);
                watcher.is_some_and(|w| !around.members.is_partitioned(w.stream.server))
            })
            .take(WATCHERS_PER_ROUND)
            .collect();
        let compacted = around.store.compacted();
        let mut from = u64::MAX;
        let mut behind = Vec::new();
        for id in chosen {
            let Some(watcher) = self.watchers.get(&id) else {
                continue;
            };
            if watcher.min_revision >= compacted {
                from = from.min(watcher.min_revision);
                behind.push(id);
                continue;
            }
            // The watcher's start is compacted. It gets the notice if the channel has room, else in the next round
            // (docs/semantics/servers.md#compacted-watcher).
            let key = watcher.stream;
            let notice = Response {
                to: Addressee::Watcher(id),
                revision: around.store.revision(),
                content: Content::Compacted,
            };
            if self.offer(key, notice, around) {
                self.retire(id);
            } else if around.has(Defect::GapUnderStarvation) {
                behind.push(id);
            }
        }
        for id in behind {
            self.catch_up(id, from, around);
        }
        if !self.unsynced.is_empty() {
            let headway = self.unsynced.len() < before;
            let wait = if headway { SYNC_AGAIN } else { SYNC_PERIOD };
            self.sync_is_set = true;
            self.alarms.push((around.now + wait, EtcdAlarm::Sync));
        }
    }

    /// Sends a watcher the changes that it missed. The present round reads the history from revision `from` on.
    fn catch_up(&mut self, id: WatcherId, from: u64, around: Around<'_>) {
        let Some(watcher) = self.watchers.get_mut(&id) else {
            return;
        };
        let current = around.store.revision();
        let begin = watcher.min_revision.max(from);
        let server = watcher.stream.server;
        let resource = watcher.stream.resource;
        let prefix = watcher.prefix.clone();
        let wanted = |c: &&Arc<Change>| {
            c.resource == resource
                && c.key.starts_with(&*prefix)
                && around.members.applies(server, c.revision)
        };
        let mut events: Vec<WatchedChange> = Vec::new();
        let mut more = None;
        for change in around.store.changes_from(begin).filter(wanted) {
            if events.len() >= REVISIONS_PER_BATCH {
                more = Some(change.revision);
                break;
            }
            events.push(watched(change));
        }
        if around.has(Defect::DuplicateEvents) && more.is_none() {
            let young = |e: &&WatchedChange| around.now.since(e.change.at) < UNCOMMITTED;
            let again: Vec<WatchedChange> = events.iter().filter(young).cloned().collect();
            events.extend(again);
        }
        watcher.min_revision = if around.has(Defect::OldEventsOnFutureWatch) {
            current + 1
        } else {
            watcher.min_revision.max(current + 1)
        };
        if events.is_empty() {
            return self.become_synced(id);
        }
        if let Some(more) = more {
            watcher.min_revision = more;
        }
        match self.send_events(id, events, current, around) {
            Err(events) => {
                self.unsynced.remove(&id);
                self.become_victim(id, events, more, around.now);
            }
            Ok(()) if more.is_none() => self.become_synced(id),
            Ok(()) => {}
        }
    }

    /// Tries to send the events that victims hold (`moveVictims`).
    fn move_victims(&mut self, around: Around<'_>) {
        if self.victims_at != Some(around.now) {
            // An earlier alarm took this one's place.
            return;
        }
        self.victims_at = None;
        for id in std::mem::take(&mut self.victims) {
            let Some(watcher) = self.watchers.get_mut(&id) else {
                continue;
            };
            let State::Victim(events, more) =
                std::mem::replace(&mut watcher.state, State::Unsynced)
            else {
                continue;
            };
            // The victim has observed the store up to, but not including, its `min_revision`.
            let revision = watcher.min_revision - 1;
            match self.send_events(id, events, revision, around) {
                Err(events) => self.become_victim(id, events, more, around.now),
                Ok(()) => {
                    let Some(watcher) = self.watchers.get_mut(&id) else {
                        continue;
                    };
                    if let Some(more) = more {
                        watcher.min_revision = more;
                    }
                    if watcher.min_revision <= around.store.revision() {
                        self.unsynced.insert(id);
                        self.set_sync(around.now);
                    } else {
                        self.become_synced(id);
                    }
                }
            }
        }
    }

    /// Sends a stream's periodic progress notifications.
    fn tick(&mut self, key: StreamKey, around: Around<'_>) {
        let revision = around.store.revision();
        let ids: Vec<WatcherId> = match self.streams.get_mut(&key) {
            Some(stream) if stream.next_tick == Some(around.now) => {
                stream.next_tick = None;
                stream.watchers.iter().copied().collect()
            }
            _ => return,
        };
        let mut skipped = false;
        for id in ids {
            let Some(watcher) = self.watchers.get_mut(&id) else {
                continue;
            };
            if !watcher.progress_notify {
                continue;
            }
            let due = std::mem::replace(&mut watcher.due, true);
            skipped |= !due;
            let synced = matches!(watcher.state, State::Synced) && watcher.start <= revision;
            if due && synced && !around.members.is_partitioned(key.server) {
                let response = self.progress(key, Some(id), around);
                self.offer(key, response, around);
            }
        }
        self.quiet.push(key);
        if skipped {
            // A watcher that got events since the last tick gets progress at the next tick, even if nothing happens
            // until then.
            self.wake_quiet_streams(around);
        }
    }

    /// Sets the next periodic progress alarm of quiet streams, since something has happened that the next progress will
    /// report.
    fn wake_quiet_streams(&mut self, around: Around<'_>) {
        let interval = micros(around.config.progress_notify_interval);
        if self.quiet.is_empty() || interval == 0 {
            return;
        }
        for key in std::mem::take(&mut self.quiet) {
            let Some(stream) = self.streams.get_mut(&key) else {
                continue;
            };
            let since = around.now.since(stream.opened_at);
            let ticks = micros(since) / interval + 1;
            let at = stream.opened_at + Duration::from_micros(ticks.saturating_mul(interval));
            stream.next_tick = Some(at);
            self.alarms.push((at, EtcdAlarm::Progress(key)));
        }
    }

    fn stream_free(&mut self, key: StreamKey, around: Around<'_>) {
        let pace = self.pace(key, around.config);
        let Some(stream) = self.streams.get_mut(&key) else {
            return;
        };
        if let Some((at, response)) = stream.wake(around.now, around.store, pace) {
            self.leave(key, at, response, around);
        }
        if let Some(at) = self.streams.get_mut(&key).and_then(Stream::next_wake) {
            self.alarms.push((at, EtcdAlarm::StreamFree(key)));
        }
    }

    /// Offers events to a watcher's stream. Returns the events as the error if the stream's channel is full.
    fn send_events(
        &mut self,
        id: WatcherId,
        events: Vec<WatchedChange>,
        revision: u64,
        around: Around<'_>,
    ) -> Result<(), Vec<WatchedChange>> {
        let Some(watcher) = self.watchers.get(&id) else {
            return Ok(());
        };
        let key = watcher.stream;
        if self.streams.get(&key).is_some_and(|s| !s.has_room()) {
            return Err(events);
        }
        let response = Response {
            to: Addressee::Watcher(id),
            revision,
            content: Content::Events(events),
        };
        self.offer(key, response, around);
        Ok(())
    }

    /// Puts a response into a stream's channel. Returns whether the channel had room for it.
    fn offer(&mut self, key: StreamKey, response: Response, around: Around<'_>) -> bool {
        let pace = self.pace(key, around.config);
        let Some(stream) = self.streams.get_mut(&key) else {
            return false;
        };
        match stream.offer(response, around.now, around.store, pace) {
            None => false,
            Some(Offered::Sent((at, response))) => {
                self.leave(key, at, response, around);
                true
            }
            Some(Offered::WakeAt(at)) => {
                self.alarms.push((at, EtcdAlarm::StreamFree(key)));
                true
            }
            Some(Offered::Waits) => true,
        }
    }

    /// Hands a response to the world, and sends a requested progress notification that the stream still has to send.
    fn leave(&mut self, key: StreamKey, at: Time, response: Response, around: Around<'_>) {
        if let (Content::Events(_), Addressee::Watcher(id)) = (&response.content, response.to)
            && let Some(watcher) = self.watchers.get_mut(&id)
        {
            watcher.due = false;
        }
        self.sent.push(Sent {
            at,
            stream: key,
            response: Some(response),
        });
        let owes = self.streams.get(&key).is_some_and(|s| s.owes_progress);
        if owes && self.is_synced(key, around) {
            if let Some(stream) = self.streams.get_mut(&key) {
                stream.owes_progress = false;
            }
            let progress = self.progress(key, None, around);
            self.offer(key, progress, around);
        }
    }

    fn progress(&self, key: StreamKey, watcher: Option<WatcherId>, around: Around<'_>) -> Response {
        Response {
            to: watcher.map_or(
                Addressee::StreamUpTo(WatcherId(self.last_id)),
                Addressee::Watcher,
            ),
            revision: around.members.revision(key.server, around.store),
            content: Content::Progress,
        }
    }

    /// Returns whether every watcher of a stream is synced and etcd has reached the watcher's start revision.
    fn is_synced(&self, key: StreamKey, around: Around<'_>) -> bool {
        let Some(stream) = self.streams.get(&key) else {
            return false;
        };
        let revision = around.store.revision();
        stream.watchers.iter().all(|id| {
            let watcher = self.watchers.get(id);
            watcher.is_some_and(|w| matches!(w.state, State::Synced) && w.start <= revision)
        })
    }

    fn become_synced(&mut self, id: WatcherId) {
        self.unsynced.remove(&id);
        if let Some(watcher) = self.watchers.get_mut(&id) {
            watcher.state = State::Synced;
            watcher.synced_at = watcher.min_revision;
        }
    }

    fn become_victim(
        &mut self,
        id: WatcherId,
        events: Vec<WatchedChange>,
        more: Option<u64>,
        now: Time,
    ) {
        if let Some(watcher) = self.watchers.get_mut(&id) {
            watcher.state = State::Victim(events, more);
            let key = watcher.stream;
            if self.victims.is_empty() && self.victims_at.is_none() {
                self.victims_since = now;
            }
            self.victims.push(id);
            self.await_room(key, now);
        }
    }

    /// Sets the alarm of the victims to the first of their tries that can find room in a stream's channel, unless the
    /// alarm is set to an earlier one. Real etcd tries every [`VICTIM_PERIOD`]; the tries before find the channel full.
    fn await_room(&mut self, key: StreamKey, now: Time) {
        let stream = self.streams.get(&key);
        let room_at = stream.map_or(now, |stream| stream.room_at(now));
        let period = micros(VICTIM_PERIOD);
        let least = room_at.as_micros().max(now.as_micros() + 1);
        let since = self.victims_since.as_micros();
        let turns = (least.saturating_sub(since)).div_ceil(period);
        let at = Time::from_micros(since + turns * period);
        if self.victims_at.is_none_or(|set| at < set) {
            self.victims_at = Some(at);
            self.alarms.push((at, EtcdAlarm::Victims));
        }
    }

    /// Removes a watcher whose start revision is compacted. The watcher's stream still carries the notice of its
    /// cancellation.
    fn retire(&mut self, id: WatcherId) {
        self.unsynced.remove(&id);
        let Some(watcher) = self.watchers.remove(&id) else {
            return;
        };
        if let Some(ids) = self.of_resource.get_mut(&watcher.stream.resource) {
            ids.retain(|other| *other != id);
        }
        if let Some(stream) = self.streams.get_mut(&watcher.stream) {
            stream.watchers.remove(&id);
        }
    }

    /// Sets the next round of catching up to a whole multiple of [`SYNC_PERIOD`]: etcd's loop has its own clock.
    fn set_sync(&mut self, now: Time) {
        if std::mem::replace(&mut self.sync_is_set, true) {
            return;
        }
        let period = micros(SYNC_PERIOD);
        let next = Time::from_micros((now.as_micros() / period + 1) * period);
        self.alarms.push((next, EtcdAlarm::Sync));
    }

    fn pace(&self, key: StreamKey, config: &EtcdConfig) -> Pace {
        let slow = |server, resource| self.slow.get(&(server, resource)).copied();
        let extra = if self.slow.is_empty() {
            None
        } else {
            slow(Some(key.server), Some(key.resource))
                .or_else(|| slow(Some(key.server), None))
                .or_else(|| slow(None, Some(key.resource)))
                .or_else(|| slow(None, None))
        };
        Pace {
            per_response: extra.unwrap_or(config.send_latency),
            bytes_per_second: config.stream_bytes_per_second,
        }
    }
}

fn watched(change: &Arc<Change>) -> WatchedChange {
    WatchedChange {
        change: Arc::clone(change),
        has_previous: true,
    }
}
