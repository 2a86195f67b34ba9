//! The layers of a simulated cluster over time: one list of levels for each layer, as far as its records are loaded.
//!
//! A level holds from its moment until the layer's next level. A chapter begins with the levels of its opening
//! snapshot, so the levels of chapters may be merged in any order.

use std::sync::Arc;

use watchscope_model::belief::{Belief, Held};
use watchscope_model::fold::Moment;
use watchscope_model::inside::InsideWatcher;
use watchscope_model::tree;
use watchscope_model::vocabulary::ChangeType;
use watchscope_model::{Entry, Event, Inside, Layers, Object, Text, Time};

use super::layer::{Layer, LayerNames};
use super::level::{Level, LevelPoint, Tone, level, owner, stream_of};
use crate::id::LayerId;
use crate::record_run::RecordRun;
use crate::sorted::merge_sorted;

/// A write to etcd.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteMark {
    pub(crate) moment: Moment,
    pub(crate) change: ChangeType,
    pub(crate) resource: Text,
    pub(crate) object: Arc<Object>,
    pub(crate) revision: u64,
    /// For a deletion: the servers whose watch caches held the object.
    pub(crate) held_by: Vec<u64>,
}

/// An object that entered a watch cache or a client's store, changed there, or left it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldMark {
    pub(crate) moment: Moment,
    pub(crate) object: Arc<Object>,
    /// The revision at which the object is held; `None` if the object left.
    pub(crate) revision: Option<u64>,
}

impl WriteMark {
    /// Whether the write is to the object of this name and namespace, whatever its uid.
    pub(crate) fn is_of(&self, object: &Object) -> bool {
        object.name == self.object.name && object.namespace == self.object.namespace
    }
}

/// The levels of an epoch's layers by their numbers, the objects that watch caches and clients held, and the writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerTrace {
    levels: Vec<Vec<LevelPoint>>,
    held: Vec<Vec<HeldMark>>,
    pub(crate) writes: Vec<WriteMark>,
}

impl LayerTrace {
    /// Returns a layer's loaded levels by rising seq; empty if none is loaded.
    pub(crate) fn levels(&self, layer: LayerId) -> &[LevelPoint] {
        self.levels.get(layer.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the level of a layer at a time, with the index of that level; `None` before the layer's first level.
    pub(crate) fn level_at(&self, layer: LayerId, at: Time) -> Option<(usize, &Level)> {
        let levels = self.levels(layer);
        let place = levels
            .partition_point(|point| point.moment.at <= at)
            .checked_sub(1)?;
        Some((place, &levels[place].level))
    }

    /// Returns when a layer reached a write's revision; `None` if no loaded level that holds at the write or later
    /// reaches that revision.
    pub(crate) fn reached(&self, layer: LayerId, write: &WriteMark) -> Option<Time> {
        let points = self.levels(layer);
        let after = points.partition_point(|point| point.moment.at < write.moment.at);
        let mut later = points[after.saturating_sub(1)..].iter();
        let point = later.find(|point| point.level.revision >= write.revision)?;
        Some(point.moment.at.max(write.moment.at))
    }

    /// Returns the marks of objects that entered a layer, changed in it, or left it, by rising seq; may be empty.
    pub(crate) fn held(&self, layer: LayerId) -> &[HeldMark] {
        self.held.get(layer.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns a layer's marks before a write's record, and its marks since that record.
    pub(crate) fn held_around(
        &self,
        layer: LayerId,
        write: &WriteMark,
    ) -> (&[HeldMark], &[HeldMark]) {
        let held = self.held(layer);
        held.split_at(held.partition_point(|mark| mark.moment.seq < write.moment.seq))
    }

    /// Returns when the watch cache of a server received a write; `None` if it did not. A cache may reach later
    /// revisions without the write.
    pub(crate) fn taken_in(&self, cache: LayerId, server: u64, write: &WriteMark) -> Option<Time> {
        if write.change == ChangeType::Deleted && !write.held_by.contains(&server) {
            return self.reached(cache, write);
        }
        let (_, held) = self.held_around(cache, write);
        let mark = held.iter().find(|mark| {
            write.is_of(&mark.object)
                && mark
                    .revision
                    .is_none_or(|revision| revision >= write.revision)
        });
        mark.map(|mark| mark.moment.at).or_else(|| {
            // A cache that was built anew reads the current objects. It needs no event for an object that is already
            // gone.
            let levels = self.levels(cache);
            let from = levels.partition_point(|point| point.moment.seq < write.moment.seq);
            let mut later = levels[from..].iter();
            later.find(|point| point.level.is_gone)?;
            let anew = later.find(|point| {
                point.level.tone == Tone::Open && point.level.revision >= write.revision
            })?;
            Some(anew.moment.at)
        })
    }

    /// Reads the levels of a chapter's opening.
    pub(crate) fn seed(&mut self, layers: &Layers, now: Moment, names: &mut LayerNames) {
        if layers.is_empty() {
            return;
        }
        let mut all = vec![Layer::All];
        all.extend(layers.etcd.as_ref().map(|_| Layer::Etcd));
        for (&server, report) in &layers.servers {
            all.push(Layer::Server(server));
            let caches = report.caches.keys().cloned();
            all.extend(caches.map(|resource| Layer::Cache(server, resource)));
        }
        let watchers = layers.watchers.values();
        all.extend(watchers.map(|watcher| stream_of(&watcher.told)));
        all.extend(layers.clients.keys().cloned().map(Layer::Client));
        let connections = layers.connections.values();
        let owners = connections.filter_map(|connection| owner(&connection.told));
        all.extend(owners.map(Layer::Connections));
        for layer in all {
            self.note(&layer, layers, now, names);
        }
        for (name, client) in &layers.clients {
            self.note_belief(name, None, client.belief.as_deref(), now, names);
        }
    }

    /// Folds the next entry into `layers`, and notes which levels and held objects changed.
    pub(crate) fn absorb(&mut self, entry: &Entry, layers: &mut Layers, names: &mut LayerNames) {
        let now = Moment {
            seq: entry.seq(),
            at: entry.at(),
        };
        // A record of an ended watch does not repeat its resource and client, so they are read before the fold.
        let ended = match entry {
            Entry::Inside(record) => match &record.inside {
                Inside::InsideWatcherEnded(ended) => layers
                    .watchers
                    .get(&ended.watcher)
                    .map(|known| known.told.clone()),
                _ => None,
            },
            Entry::Record(_) => None,
        };
        // A record of a lost connection does not repeat its client.
        let lost = match entry {
            Entry::Inside(record) => match &record.inside {
                Inside::InsideConnection(report) => layers
                    .connections
                    .get(&report.connection)
                    .and_then(|known| owner(&known.told)),
                _ => None,
            },
            Entry::Record(_) => None,
        };
        // A client's report does not repeat the client's earlier objects.
        let reported = match entry {
            Entry::Record(record) => match &record.event {
                Event::ClientReport(report) if report.belief.is_some() => layers
                    .clients
                    .get(&report.client)
                    .map(|client| (report, client.belief.clone())),
                _ => None,
            },
            Entry::Inside(_) => None,
        };
        layers.apply(entry);
        let inside = match entry {
            Entry::Record(record) => {
                self.note_client(&record.event, layers, now, names);
                if let Some((report, before)) = reported {
                    let belief = report.belief.as_deref();
                    self.note_belief(&report.client, before.as_deref(), belief, now, names);
                }
                return;
            }
            Entry::Inside(record) => &record.inside,
        };
        match inside {
            Inside::InsideEtcd(_) => self.note(&Layer::Etcd, layers, now, names),
            Inside::InsideWrite(write) => {
                self.note(&Layer::All, layers, now, names);
                self.note(&Layer::Etcd, layers, now, names);
                let held_by = match write.change {
                    ChangeType::Deleted => holders(layers, &write.resource, &write.object),
                    _ => Vec::new(),
                };
                self.writes.push(WriteMark {
                    moment: now,
                    change: write.change,
                    resource: write.resource.clone(),
                    object: write.object.clone(),
                    revision: write.revision,
                    held_by,
                });
                // A write changes which held objects are ghosts.
                for client in layers.clients.keys() {
                    self.note(&Layer::Client(client.clone()), layers, now, names);
                }
            }
            Inside::InsideServer(report) => {
                self.note(&Layer::Server(report.server), layers, now, names);
            }
            Inside::InsideCache(report) => {
                let cache = Layer::Cache(report.server, report.resource.clone());
                self.note(&cache, layers, now, names);
                self.note(&Layer::Server(report.server), layers, now, names);
            }
            Inside::InsideWatcher(report) => self.note_watcher(report, layers, now, names),
            Inside::InsideWatcherEnded(_) => {
                if let Some(report) = ended {
                    self.note_watcher(&report, layers, now, names);
                }
            }
            Inside::InsideHeld(report) => {
                let cache = Layer::Cache(report.server, report.resource.clone());
                self.note(&cache, layers, now, names);
                let mark = HeldMark {
                    moment: now,
                    object: report.object.clone(),
                    revision: report.revision,
                };
                self.hold(names.number(&cache), mark);
            }
            Inside::InsideConnection(report) => {
                let watchers = layers.watchers.values().map(|watcher| &watcher.told);
                for watcher in watchers.filter(|watcher| watcher.connection == report.connection) {
                    self.note(&stream_of(watcher), layers, now, names);
                }
                if let Some(client) = owner(report).or(lost) {
                    self.note(&Layer::Connections(client), layers, now, names);
                }
            }
        }
    }

    fn note_watcher(
        &mut self,
        report: &InsideWatcher,
        layers: &Layers,
        now: Moment,
        names: &mut LayerNames,
    ) {
        // A resource that is not cached has no cache to note.
        let caches = layers
            .servers
            .get(&report.server)
            .map(|server| &server.caches);
        if caches.is_some_and(|caches| caches.contains_key(&report.resource)) {
            let cache = Layer::Cache(report.server, report.resource.clone());
            self.note(&cache, layers, now, names);
        }
        self.note(&stream_of(report), layers, now, names);
    }

    fn note_client(&mut self, event: &Event, layers: &Layers, now: Moment, names: &mut LayerNames) {
        let client = match event {
            Event::ClientStarted(started) => &started.client,
            Event::ClientRequest(sent) => &sent.client,
            Event::ClientReport(report) => &report.client,
            _ => return,
        };
        self.note(&Layer::All, layers, now, names);
        self.note(&Layer::Client(client.clone()), layers, now, names);
    }

    /// Notes each object that a client holds differently than before. Skips a client whose report is not about one
    /// whole kind: an object's absence from such a report proves nothing.
    fn note_belief(
        &mut self,
        client: &Text,
        before: Option<&str>,
        belief: Option<&str>,
        now: Moment,
        names: &mut LayerNames,
    ) {
        let held = |belief: Option<&str>| match &mut belief.map(Belief::read).unwrap_or_default()[..]
        {
            [only] => std::mem::take(&mut only.held),
            _ => Vec::new(),
        };
        let (before, after) = (held(before), held(belief));
        let layer = names.number(&Layer::Client(client.clone()));
        let mark = |held: &Held, revision| HeldMark {
            moment: now,
            object: held.object.clone(),
            revision,
        };
        let is_there =
            |known: &[Held], held: &Held| known.iter().any(|other| other.is_in_place_of(held));
        for gone in before.iter().filter(|held| !is_there(&after, held)) {
            self.hold(layer, mark(gone, None));
        }
        for held in after.iter().filter(|held| !before.contains(held)) {
            if let Some(revision) = held.revision() {
                self.hold(layer, mark(held, Some(revision)));
            }
        }
    }

    fn hold(&mut self, layer: LayerId, mark: HeldMark) {
        let place = layer.0 as usize;
        if self.held.len() <= place {
            self.held.resize_with(place + 1, Vec::new);
        }
        self.held[place].push(mark);
    }

    /// Notes a layer's level, unless it is unchanged.
    fn note(&mut self, layer: &Layer, layers: &Layers, now: Moment, names: &mut LayerNames) {
        let Some(level) = level(layer, layers) else {
            return;
        };
        let place = names.number(layer).0 as usize;
        if self.levels.len() <= place {
            self.levels.resize_with(place + 1, Vec::new);
        }
        let points = &mut self.levels[place];
        if points.last().is_none_or(|last| last.level != level) {
            points.push(LevelPoint { moment: now, level });
        }
    }

    /// Adds the trace of another chapter of the same epoch; no record may be in both traces.
    pub(crate) fn merge(&mut self, other: Self) {
        let most = self.levels.len().max(other.levels.len());
        self.levels.resize_with(most, Vec::new);
        for (known, other) in self.levels.iter_mut().zip(other.levels) {
            merge_sorted(known, other, |point| point.moment.seq);
        }
        let most = self.held.len().max(other.held.len());
        self.held.resize_with(most, Vec::new);
        for (known, other) in self.held.iter_mut().zip(other.held) {
            merge_sorted(known, other, |mark| mark.moment.seq);
        }
        merge_sorted(&mut self.writes, other.writes, |write| write.moment.seq);
    }

    /// Forgets a run of records. The levels at the run's last record, and the objects held at that record, stay known.
    pub(crate) fn forget(&mut self, run: RecordRun) {
        for points in &mut self.levels {
            let from = points.partition_point(|point| point.moment.seq < run.first);
            let behind = points.partition_point(|point| point.moment.seq <= run.last);
            points.drain(from..behind.saturating_sub(1).max(from));
        }
        for held in &mut self.held {
            let from = held.partition_point(|mark| mark.moment.seq < run.first);
            let behind = held.partition_point(|mark| mark.moment.seq <= run.last);
            let mut gone: Vec<HeldMark> = held.drain(from..behind).collect();
            let place = |mark: &HeldMark| (mark.object.namespace.clone(), mark.object.name.clone());
            tree::sort_by_key(&mut gone, |mark| (place(mark), mark.moment.seq));
            let mut known: Vec<HeldMark> = Vec::new();
            for mark in gone {
                if known.last().is_some_and(|last| place(last) == place(&mark)) {
                    known.pop();
                }
                known.push(mark);
            }
            // Without earlier marks, an object that left is as one that never came.
            known.retain(|mark| from > 0 || mark.revision.is_some());
            tree::sort_by_key(&mut known, |mark| mark.moment.seq);
            held.splice(from..from, known);
        }
        self.writes.retain(|write| !run.holds(write.moment.seq));
    }

    /// Estimates the trace's size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let levels = self.levels.iter().map(Vec::capacity).sum::<usize>();
        let held = self.held.iter().map(Vec::capacity).sum::<usize>();
        levels * size_of::<LevelPoint>()
            + held * size_of::<HeldMark>()
            + self.writes.capacity() * size_of::<WriteMark>()
    }
}

/// Returns the servers whose watch caches hold an object.
fn holders(layers: &Layers, resource: &Text, object: &Arc<Object>) -> Vec<u64> {
    let servers = layers.servers.iter().filter(|(_, server)| {
        let cache = server.caches.get(resource);
        cache.is_some_and(|cache| cache.objects.get(object).is_some())
    });
    servers.map(|(&server, _)| server).collect()
}
