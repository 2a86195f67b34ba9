//! What the layers of a simulated cluster were like over time: one list of levels for each, as far as it is loaded.
//!
//! A level holds from its moment until the next. A chapter begins with the levels its opening tells, so what is known
//! of the layers adds up in any order, as traces do.

use std::sync::Arc;

use watchscope_model::belief::{Belief, Held};
use watchscope_model::fold::Moment;
use watchscope_model::inside::{InsideConnection, InsideWatcher};
use watchscope_model::options::read_get;
use watchscope_model::tree;
use watchscope_model::vocabulary::{CachePhase, ChangeType, ClientPhase, Way};
use watchscope_model::{Entry, Event, Inside, Layers, Object, Seq, Text, Time};

use crate::id::LayerId;

/// A layer, by what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// All of them.
    All,
    /// etcd.
    Etcd,
    /// An apiserver: all its caches together.
    Server(u64),
    /// The watch cache of a resource in an apiserver, and the watches it feeds.
    Cache(u64, Text),
    /// What such a cache feeds a client: the buffers of its watches, and the connections they go over.
    Stream(u64, Text, Text),
    /// What etcd feeds a client through an apiserver, past the watch cache of the resource.
    Direct(u64, Text, Text),
    /// Client programs whose names differ in a number only, by what stands before it.
    Crowd(Text),
    /// A client program.
    Client(Text),
    /// The connections of a client, which need not be a program of the world's.
    Connections(Text),
}

impl Layer {
    /// Its name, the same for as long as it lives: tests and links find its lane by it.
    pub(crate) fn name(&self) -> Text {
        match self {
            Self::All => "inside".into(),
            Self::Etcd => "etcd".into(),
            Self::Server(server) => format!("apiserver {server}").into(),
            Self::Cache(server, resource) => format!("apiserver {server} {resource}").into(),
            Self::Stream(server, resource, client) => {
                format!("stream apiserver {server} {resource} {client}").into()
            }
            Self::Direct(server, resource, client) => {
                format!("stream etcd {server} {resource} {client}").into()
            }
            Self::Crowd(name) => format!("clients {name}").into(),
            Self::Client(client) => format!("client {client}").into(),
            Self::Connections(client) => format!("connections {client}").into(),
        }
    }
}

/// All layers met, with their names; a layer's number is the same in all epochs.
#[derive(Debug, Default)]
pub(crate) struct LayerNames {
    all: Vec<(Layer, Text)>,
    /// The crowds among them.
    crowds: Vec<(Text, LayerId)>,
}

impl LayerNames {
    /// A layer's name.
    pub(crate) fn name(&self, id: LayerId) -> Option<&Text> {
        self.all.get(id.0 as usize).map(|(_, name)| name)
    }

    /// A layer, by its number.
    pub(crate) fn layer(&self, id: LayerId) -> Option<&Layer> {
        self.all.get(id.0 as usize).map(|(layer, _)| layer)
    }

    /// A layer's number, if it was met.
    pub(crate) fn find(&self, layer: &Layer) -> Option<LayerId> {
        let place = self.all.iter().position(|(known, _)| known == layer)?;
        Some(LayerId(place as u32))
    }

    /// The connections of a client program, if any were met.
    pub(crate) fn connections_of(&self, client: &Text) -> Option<LayerId> {
        self.find(&Layer::Connections(client.clone()))
    }

    /// How many client programs were met that are in no crowd.
    pub(crate) fn clients(&self) -> usize {
        let alone = |layer: &Layer| match layer {
            Layer::Client(name) => self.crowd(name).is_none(),
            _ => false,
        };
        self.all.iter().filter(|(layer, _)| alone(layer)).count()
    }

    /// The crowd a client program is in.
    pub(crate) fn crowd(&self, client: &str) -> Option<LayerId> {
        let (crowd, _) = crowd_of(client)?;
        let found = self.crowds.iter().find(|(known, _)| **known == *crowd)?;
        Some(found.1)
    }

    fn numbered(&self) -> impl Iterator<Item = (&Layer, LayerId)> {
        let layers = self.all.iter().map(|(layer, _)| layer);
        layers.zip((0..).map(LayerId))
    }

    /// The streams that a watch cache feeds, with their clients.
    pub(crate) fn streams_from(&self, server: u64, resource: &Text) -> Vec<(&Text, LayerId)> {
        let streams = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Stream(from, of, client) if *from == server && of == resource => {
                Some((client, id))
            }
            _ => None,
        });
        streams.collect()
    }

    /// The streams that etcd feeds through a server past its watch caches, each with its resource and client.
    pub(crate) fn streams_past(&self, server: u64) -> Vec<(&Text, &Text, LayerId)> {
        let streams = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Direct(from, of, client) if *from == server => Some((of, client, id)),
            _ => None,
        });
        streams.collect()
    }

    /// The streams of a resource to a client, with the servers they come from.
    pub(crate) fn streams_of(&self, resource: &Text, client: &Text) -> Vec<(u64, LayerId)> {
        let streams = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Stream(server, of, to) | Layer::Direct(server, of, to)
                if of == resource && to == client =>
            {
                Some((*server, id))
            }
            _ => None,
        });
        streams.collect()
    }

    /// Whether a stream comes from etcd, past the watch cache.
    pub(crate) fn is_past_cache(&self, stream: LayerId) -> bool {
        matches!(self.layer(stream), Some(Layer::Direct(..)))
    }

    /// The client programs of a crowd in the order of their numbers.
    pub(crate) fn members(&self, crowd: &str) -> Vec<(&Text, LayerId)> {
        let members = self.numbered().filter_map(|(layer, id)| match layer {
            Layer::Client(name) => match crowd_of(name) {
                Some((of, number)) if of == crowd => Some((number, (name, id))),
                _ => None,
            },
            _ => None,
        });
        let mut members: Vec<_> = members.collect();
        tree::sort_by_key(&mut members, |&(number, _)| number);
        members.into_iter().map(|(_, member)| member).collect()
    }

    /// All layers with their numbers, from the top of the picture to its bottom.
    pub(crate) fn sorted(&self) -> Vec<(&Layer, LayerId)> {
        let mut all: Vec<_> = self.numbered().collect();
        tree::sort(&mut all);
        all
    }

    fn number(&mut self, layer: &Layer) -> LayerId {
        if let Some(known) = self.find(layer) {
            return known;
        }
        self.all.push((layer.clone(), layer.name()));
        let number = LayerId(self.all.len() as u32 - 1);
        if let Layer::Client(name) = layer
            && let Some((crowd, _)) = crowd_of(name)
            && self.members(crowd).len() >= CROWD_LEAST
        {
            let crowd = Text::from(crowd);
            let id = self.number(&Layer::Crowd(crowd.clone()));
            if self.crowds.iter().all(|(known, _)| *known != crowd) {
                self.crowds.push((crowd, id));
            }
        }
        number
    }
}

/// So many client programs whose names differ in a number only are a crowd.
const CROWD_LEAST: usize = 8;

/// The number at the end of a client's name, if it is of a crowd.
pub(crate) fn number_of(client: &str) -> Option<u32> {
    Some(crowd_of(client)?.1)
}

/// Of `crowd-12` what stands before the number, and the number.
fn crowd_of(client: &str) -> Option<(&str, u32)> {
    let (crowd, number) = client.rsplit_once('-')?;
    Some((crowd, number.parse().ok()?))
}

/// What a layer was like from a moment on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    /// How it does.
    pub(crate) tone: Tone,
    /// What it does, in a word.
    pub(crate) phase: Text,
    /// The same of a client; none of other layers.
    pub(crate) client: Option<ClientPhase>,
    /// Whether it is a watch cache that is there no more.
    pub(crate) is_gone: bool,
    /// Up to which revision it knows; 0 if it does not say. For a client that keeps none, the newest it holds.
    pub(crate) revision: u64,
    /// Whether it is a client that keeps no revision.
    pub(crate) keeps_none: bool,
    /// From which revision on it has history.
    pub(crate) from: u64,
    /// How many objects it holds.
    pub(crate) objects: u64,
    /// Events that wait for the slowest of the watches it feeds, of how many that may.
    pub(crate) waiting: (u64, u64),
    /// How many watches it feeds.
    pub(crate) feeds: u64,
    /// For a client in a loop that never waits: how often that turned since the client started.
    pub(crate) turns: u64,
    /// Objects it holds that are not in etcd.
    pub(crate) ghosts: u64,
    /// Connections that are cut, of which one end may not know yet.
    pub(crate) cut: u64,
    /// For a client: the resource it looks at, and in which namespace; empty: in all.
    pub(crate) looks_at: (Text, Text),
    /// Whether it is a client that looks at all objects of one kind there and names each that it holds.
    pub(crate) names_all: bool,
}

impl Level {
    /// Whether it is a client whose process has ended: it holds nothing any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.client.is_some_and(ClientPhase::has_ended)
    }
}

/// How a layer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It follows.
    Open,
    /// It reads or asks, to follow.
    Asking,
    /// It waits, or sleeps.
    Resting,
    /// It does not follow, and will not by itself soon.
    Failed,
}

/// A level from its moment on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LevelPoint {
    pub(crate) moment: Moment,
    pub(crate) level: Level,
}

/// A write to etcd.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteMark {
    pub(crate) moment: Moment,
    pub(crate) change: ChangeType,
    pub(crate) resource: Text,
    pub(crate) object: Arc<Object>,
    pub(crate) revision: u64,
    /// Of a deletion: the servers whose watch caches held the object.
    pub(crate) held_by: Vec<u64>,
}

/// An object came into a watch cache or into what a client holds, changed there, or went.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldMark {
    pub(crate) moment: Moment,
    pub(crate) object: Arc<Object>,
    /// The revision it is held at; absent if it went.
    pub(crate) revision: Option<u64>,
}

impl WriteMark {
    /// Whether it is of the object in this place, whatever its uid.
    pub(crate) fn is_of(&self, object: &Object) -> bool {
        object.name == self.object.name && object.namespace == self.object.namespace
    }
}

/// The levels of all layers in an epoch, by their numbers, what watch caches and clients took in, and the writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerTrace {
    levels: Vec<Vec<LevelPoint>>,
    held: Vec<Vec<HeldMark>>,
    pub(crate) writes: Vec<WriteMark>,
}

impl LayerTrace {
    /// A layer's levels.
    pub(crate) fn levels(&self, layer: LayerId) -> &[LevelPoint] {
        self.levels.get(layer.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The level of a layer at a time, and the place of its point.
    pub(crate) fn level_at(&self, layer: LayerId, at: Time) -> Option<(usize, &Level)> {
        let levels = self.levels(layer);
        let place = levels
            .partition_point(|point| point.moment.at <= at)
            .checked_sub(1)?;
        Some((place, &levels[place].level))
    }

    /// When a layer came to a write's revision.
    pub(crate) fn reached(&self, layer: LayerId, write: &WriteMark) -> Option<Time> {
        let points = self.levels(layer);
        let after = points.partition_point(|point| point.moment.at < write.moment.at);
        let mut later = points[after.saturating_sub(1)..].iter();
        let point = later.find(|point| point.level.revision >= write.revision)?;
        Some(point.moment.at.max(write.moment.at))
    }

    /// What a layer took in.
    pub(crate) fn held(&self, layer: LayerId) -> &[HeldMark] {
        self.held.get(layer.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// What a layer took in before a write, and since.
    pub(crate) fn held_around(
        &self,
        layer: LayerId,
        write: &WriteMark,
    ) -> (&[HeldMark], &[HeldMark]) {
        let held = self.held(layer);
        held.split_at(held.partition_point(|mark| mark.moment.seq < write.moment.seq))
    }

    /// When the watch cache of a server took a write in: it may come to later ones without.
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
            // One that was made anew reads what there is; what it does not find there it need not be told.
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

    /// Takes in what an opening tells.
    pub(crate) fn seed(&mut self, layers: &Layers, now: Moment, names: &mut LayerNames) {
        if layers.is_empty() {
            return;
        }
        let mut all = vec![Layer::All];
        all.extend(layers.etcd.as_ref().map(|_| Layer::Etcd));
        for (&server, told) in &layers.servers {
            all.push(Layer::Server(server));
            let caches = told.caches.keys().cloned();
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

    /// Folds the next entry into `layers` and takes in what it changed.
    pub(crate) fn absorb(&mut self, entry: &Entry, layers: &mut Layers, names: &mut LayerNames) {
        let now = Moment {
            seq: entry.seq(),
            at: entry.at(),
        };
        // Of a watch that is over it is not told what it watched.
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
        // Nor of a connection that is gone whose it was.
        let lost = match entry {
            Entry::Inside(record) => match &record.inside {
                Inside::InsideConnection(told) => layers
                    .connections
                    .get(&told.connection)
                    .and_then(|known| owner(&known.told)),
                _ => None,
            },
            Entry::Record(_) => None,
        };
        // Nor of a client what it held before.
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
                // What is a ghost changes with the truth.
                for client in layers.clients.keys() {
                    self.note(&Layer::Client(client.clone()), layers, now, names);
                }
            }
            Inside::InsideServer(told) => {
                self.note(&Layer::Server(told.server), layers, now, names);
            }
            Inside::InsideCache(told) => {
                let cache = Layer::Cache(told.server, told.resource.clone());
                self.note(&cache, layers, now, names);
                self.note(&Layer::Server(told.server), layers, now, names);
            }
            Inside::InsideWatcher(told) => self.note_watcher(told, layers, now, names),
            Inside::InsideWatcherEnded(_) => {
                if let Some(told) = ended {
                    self.note_watcher(&told, layers, now, names);
                }
            }
            Inside::InsideHeld(told) => {
                let cache = Layer::Cache(told.server, told.resource.clone());
                self.note(&cache, layers, now, names);
                let mark = HeldMark {
                    moment: now,
                    object: told.object.clone(),
                    revision: told.revision,
                };
                self.hold(names.number(&cache), mark);
            }
            Inside::InsideConnection(told) => {
                let watchers = layers.watchers.values().map(|watcher| &watcher.told);
                for watcher in watchers.filter(|watcher| watcher.connection == told.connection) {
                    self.note(&stream_of(watcher), layers, now, names);
                }
                if let Some(client) = owner(told).or(lost) {
                    self.note(&Layer::Connections(client), layers, now, names);
                }
            }
        }
    }

    fn note_watcher(
        &mut self,
        told: &InsideWatcher,
        layers: &Layers,
        now: Moment,
        names: &mut LayerNames,
    ) {
        // A watch of what is not cached has no cache to be told of.
        let caches = layers
            .servers
            .get(&told.server)
            .map(|server| &server.caches);
        if caches.is_some_and(|caches| caches.contains_key(&told.resource)) {
            let cache = Layer::Cache(told.server, told.resource.clone());
            self.note(&cache, layers, now, names);
        }
        self.note(&stream_of(told), layers, now, names);
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

    /// Notes what a client holds of single objects, as far as that differs from what it held before. Of one that does not
    /// look at one whole kind, nothing: what it does not hold says nothing.
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

    /// Notes a layer's level, unless it is as it was.
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

    /// Adds what another chapter of the epoch tells; no record is in both.
    pub(crate) fn merge(&mut self, other: Self) {
        let most = self.levels.len().max(other.levels.len());
        self.levels.resize_with(most, Vec::new);
        for (known, other) in self.levels.iter_mut().zip(other.levels) {
            super::merge::merge_sorted(known, other, |point| point.moment.seq);
        }
        let most = self.held.len().max(other.held.len());
        self.held.resize_with(most, Vec::new);
        for (known, other) in self.held.iter_mut().zip(other.held) {
            super::merge::merge_sorted(known, other, |mark| mark.moment.seq);
        }
        super::merge::merge_sorted(&mut self.writes, other.writes, |write| write.moment.seq);
    }

    /// Forgets all records up to `last`; what was so then stays known.
    pub(crate) fn forget(&mut self, last: Seq) {
        for points in &mut self.levels {
            let gone = points.partition_point(|point| point.moment.seq <= last);
            points.drain(..gone.saturating_sub(1));
        }
        for held in &mut self.held {
            let later = held.partition_point(|mark| mark.moment.seq <= last);
            let mut gone: Vec<HeldMark> = held.drain(..later).collect();
            let place = |mark: &HeldMark| (mark.object.namespace.clone(), mark.object.name.clone());
            tree::sort_by_key(&mut gone, |mark| (place(mark), mark.moment.seq));
            let mut known: Vec<HeldMark> = Vec::new();
            for mark in gone {
                if known.last().is_some_and(|last| place(last) == place(&mark)) {
                    known.pop();
                }
                known.push(mark);
            }
            known.retain(|mark| mark.revision.is_some());
            tree::sort_by_key(&mut known, |mark| mark.moment.seq);
            held.splice(..0, known);
        }
        self.writes.retain(|write| write.moment.seq > last);
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let levels = self.levels.iter().map(Vec::capacity).sum::<usize>();
        let held = self.held.iter().map(Vec::capacity).sum::<usize>();
        levels * size_of::<LevelPoint>()
            + held * size_of::<HeldMark>()
            + self.writes.capacity() * size_of::<WriteMark>()
    }
}

/// What a layer is like now; nothing if it is not there.
fn level(layer: &Layer, layers: &Layers) -> Option<Level> {
    let base = Level {
        tone: Tone::Open,
        phase: "".into(),
        client: None,
        is_gone: false,
        revision: 0,
        keeps_none: false,
        from: 0,
        objects: 0,
        waiting: (0, 0),
        feeds: 0,
        turns: 0,
        ghosts: 0,
        cut: 0,
        looks_at: ("".into(), "".into()),
        names_all: false,
    };
    Some(match layer {
        // What a crowd does is what its members do: it has no level of its own.
        Layer::All | Layer::Crowd(_) => base,
        Layer::Etcd => {
            let etcd = layers.etcd.as_ref()?;
            let tone = if etcd.has_leader {
                Tone::Open
            } else {
                Tone::Failed
            };
            Level {
                tone,
                phase: if etcd.has_leader { "" } else { "no leader" }.into(),
                revision: etcd.revision,
                from: etcd.compacted,
                objects: etcd.objects.values().map(|stock| stock.count()).sum(),
                ..base
            }
        }
        Layer::Server(server) => {
            let told = layers.servers.get(server)?;
            let not_ready = told.caches.values();
            let not_ready = not_ready.filter(|cache| cache.phase != CachePhase::Ready);
            let (tone, phase) = match (told.is_serving, not_ready.count()) {
                (false, _) => (Tone::Failed, "refuses connections".into()),
                (true, 0) => (Tone::Open, Text::from("")),
                (true, count) => {
                    let caches = crate::format::count(count as u64, "cache");
                    (Tone::Asking, format!("{caches} not ready").into())
                }
            };
            Level {
                tone,
                phase,
                objects: told.caches.len() as u64,
                ..base
            }
        }
        Layer::Cache(server, resource) => {
            let Some(cache) = layers.servers.get(server)?.caches.get(resource) else {
                return Some(Level {
                    tone: Tone::Failed,
                    phase: "gone".into(),
                    is_gone: true,
                    ..base
                });
            };
            let fed: Vec<_> = fed(layers, *server, resource, false).collect();
            let (tone, phase) = match cache.phase {
                CachePhase::Ready => (Tone::Open, ""),
                CachePhase::Listing => (Tone::Asking, "initializing"),
                CachePhase::Failed | CachePhase::Unknown => (Tone::Failed, "lost etcd"),
            };
            let held = cache.objects.iter();
            let ghosts = held.filter(|(object, _)| !is_in_etcd(layers, resource, object));
            Level {
                tone,
                phase: phase.into(),
                revision: cache.revision,
                from: cache.oldest,
                objects: cache.objects.count(),
                waiting: slowest(&fed).map_or((0, 0), |told| (told.waiting, told.slots)),
                feeds: fed.len() as u64,
                ghosts: ghosts.count() as u64,
                ..base
            }
        }
        Layer::Stream(server, resource, client) | Layer::Direct(server, resource, client) => {
            let is_direct = matches!(layer, Layer::Direct(..));
            let fed = fed(layers, *server, resource, is_direct);
            let fed: Vec<_> = fed
                .filter(|told| plain(&told.client) == &**client)
                .collect();
            let Some(slowest) = slowest(&fed) else {
                return Some(Level {
                    tone: Tone::Resting,
                    ..base
                });
            };
            let connection = layers.connections.get(&slowest.connection);
            let (tone, phase) = match connection.map_or(Way::Open, |known| known.told.way) {
                Way::Stalled => (Tone::Failed, "stalled"),
                Way::Cut => (Tone::Failed, "cut"),
                Way::Open | Way::Closed | Way::Unknown => (Tone::Open, ""),
            };
            let phase = if slowest.is_blocking {
                "full: the server waits for it, and then ends it"
            } else {
                phase
            };
            Level {
                tone,
                phase: phase.into(),
                waiting: (slowest.waiting, slowest.slots),
                feeds: fed.len() as u64,
                ..base
            }
        }
        Layer::Client(name) => {
            let client = layers.clients.get(name)?;
            let beliefs = client.belief.as_deref().map(Belief::read);
            let beliefs = beliefs.unwrap_or_default();
            let ghosts = |belief: &Belief| {
                let held = belief.held.iter();
                let gone = held.filter(|held| !is_in_etcd(layers, &belief.resource, &held.object));
                gone.count() as u64
            };
            let revisions = beliefs.iter().filter_map(|belief| belief.revision);
            let kept = revisions.min();
            let versions = beliefs.iter().flat_map(|belief| &belief.held);
            let newest = versions.filter_map(Held::revision).max();
            let does = ClientPhase::of(&client.phase);
            let has_ended = does.has_ended();
            let request = client.request.as_deref().unwrap_or_default();
            Level {
                tone: tone_of(does),
                client: Some(does),
                phase: client.phase.clone(),
                revision: kept.or(newest).unwrap_or(0),
                keeps_none: kept.is_none(),
                objects: if has_ended {
                    0
                } else {
                    beliefs.iter().map(|belief| belief.objects).sum()
                },
                turns: if does == ClientPhase::Spinning {
                    client.iterations
                } else {
                    0
                },
                ghosts: if has_ended {
                    0
                } else {
                    beliefs.iter().map(ghosts).max().unwrap_or(0)
                },
                looks_at: (
                    beliefs
                        .first()
                        .map_or("".into(), |belief| belief.resource.clone()),
                    namespace_of(request).into(),
                ),
                names_all: !selects(request) && matches!(&beliefs[..], [only] if only.names_all()),
                ..base
            }
        }
        Layer::Connections(client) => {
            let all = layers.connections.values().map(|known| &known.told);
            let all = all.filter(|told| owner(told).as_ref() == Some(client));
            let (mut ways, mut streams, mut only) = ([0_u64; 3], 0, None);
            for told in all {
                let way = match told.way {
                    Way::Open | Way::Closed | Way::Unknown => 0,
                    Way::Stalled => 1,
                    Way::Cut => 2,
                };
                ways[way] += 1;
                streams += told.streams;
                only = Some(told);
            }
            let [open, stalled, cut] = ways;
            let count = open + stalled + cut;
            let of_many = if count > 1 {
                format!(" of {count}")
            } else {
                String::new()
            };
            let (tone, phase) = match only {
                None => (Tone::Resting, String::new()),
                Some(_) if stalled > 0 && count == 1 => (Tone::Failed, STALLED.to_owned()),
                Some(_) if stalled > 0 => (Tone::Failed, format!("{stalled}{of_many} {STALLED}")),
                Some(_) if cut > 0 && count == 1 => (Tone::Failed, "cut".to_owned()),
                Some(_) if cut > 0 => (Tone::Failed, format!("{cut}{of_many} cut")),
                Some(_) if streams == 0 && count > 1 => {
                    (Tone::Resting, format!("{count} connections: {IDLE}"))
                }
                Some(told) if streams == 0 => {
                    (Tone::Resting, format!("conn {}: {IDLE}", told.connection))
                }
                Some(_) if count > 1 => (Tone::Open, format!("{count} connections")),
                Some(told) => {
                    let (connection, server) = (told.connection, told.server);
                    (
                        Tone::Open,
                        format!("conn {connection} → apiserver {server}"),
                    )
                }
            };
            Level {
                tone,
                phase: phase.into(),
                cut,
                ..base
            }
        }
    })
}

/// What is said of a connection on which nothing passes.
const STALLED: &str = "stalled: what is sent is held, and neither side knows";

/// What is said of a connection over which no response comes.
const IDLE: &str = "no stream";

/// Who opened a connection, without a version.
fn owner(told: &InsideConnection) -> Option<Text> {
    Some(plain(told.client.as_ref()?).into())
}

/// The name of a client without a version.
fn plain(client: &str) -> &str {
    client.split_once('/').map_or(client, |(name, _)| name)
}

/// What a watch is a part of.
fn stream_of(told: &InsideWatcher) -> Layer {
    let client = plain(&told.client).into();
    let (server, resource) = (told.server, told.resource.clone());
    if is_direct(told) {
        Layer::Direct(server, resource, client)
    } else {
        Layer::Stream(server, resource, client)
    }
}

/// Whether etcd serves a watch, past the watch cache.
fn is_direct(told: &InsideWatcher) -> bool {
    told.from_etcd == Some(true)
}

/// The watches of a resource in a server: those that its watch cache serves, or those that etcd does.
fn fed<'a>(
    layers: &'a Layers,
    server: u64,
    resource: &'a Text,
    are_direct: bool,
) -> impl Iterator<Item = &'a InsideWatcher> {
    let watchers = layers.watchers.values().map(|watcher| &watcher.told);
    watchers.filter(move |told| {
        told.server == server && told.resource == *resource && is_direct(told) == are_direct
    })
}

/// The one of some watches for which the most waits.
fn slowest<'a>(fed: &[&'a InsideWatcher]) -> Option<&'a InsideWatcher> {
    fed.iter()
        .copied()
        .max_by_key(|told| (told.is_blocking, told.waiting))
}

/// The servers whose watch caches hold an object.
fn holders(layers: &Layers, resource: &Text, object: &Arc<Object>) -> Vec<u64> {
    let servers = layers.servers.iter().filter(|(_, server)| {
        let cache = server.caches.get(resource);
        cache.is_some_and(|cache| cache.objects.get(object).is_some())
    });
    servers.map(|(&server, _)| server).collect()
}

/// How a client does, by the word for what it does.
/// Whether a client's request asks for the objects that a selector matches only.
pub(crate) fn selects(request: &str) -> bool {
    read_get(request).is_some_and(|(_, options)| options.selects())
}

/// The namespace of a client's request, as `VERB PATH?QUERY`; empty if it is about all.
pub(crate) fn namespace_of(request: &str) -> &str {
    let path = request.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces");
    parts.nth(1).unwrap_or_default()
}

fn tone_of(phase: ClientPhase) -> Tone {
    match phase {
        ClientPhase::Watching | ClientPhase::Syncing => Tone::Open,
        ClientPhase::Connecting | ClientPhase::Listing => Tone::Asking,
        ClientPhase::Returned | ClientPhase::Failed | ClientPhase::Spinning => Tone::Failed,
        ClientPhase::Backoff | ClientPhase::Sleeping | ClientPhase::Done | ClientPhase::Unknown => {
            Tone::Resting
        }
    }
}

/// Whether etcd holds an object; of what is not known there, it is taken for so.
fn is_in_etcd(layers: &Layers, resource: &Text, object: &Arc<Object>) -> bool {
    let stock = layers
        .etcd
        .as_ref()
        .and_then(|etcd| etcd.objects.get(resource));
    // Of what etcd only counts nothing is known.
    stock.is_none_or(|stock| {
        stock.unnamed() > 0
            || stock
                .get(object)
                .is_some_and(|(there, _)| there.uid == object.uid)
    })
}
