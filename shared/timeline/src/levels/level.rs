//! What a layer of a simulated cluster is like at one time, told from the fold of the inside.

use std::sync::Arc;

use watchscope_model::belief::{Belief, Held};
use watchscope_model::fold::Moment;
use watchscope_model::inside::{InsideConnection, InsideWatcher};
use watchscope_model::options::read_get;
use watchscope_model::vocabulary::{CachePhase, ClientPhase, Way};
use watchscope_model::{Layers, Object, Text};

use super::layer::Layer;
use crate::format::count as counted;

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
    /// What waits for the slowest of the watches it feeds.
    pub(crate) waiting: Waiting,
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

/// What waits in a buffer; the more waits, the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiting {
    /// Events that wait.
    pub(crate) events: u64,
    /// How many may.
    pub(crate) slots: u64,
}

impl Waiting {
    fn of(told: &InsideWatcher) -> Self {
        Self {
            events: told.waiting,
            slots: told.slots,
        }
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

/// What a layer is like now; nothing if it is not there.
pub(super) fn level(layer: &Layer, layers: &Layers) -> Option<Level> {
    let base = Level {
        tone: Tone::Open,
        phase: "".into(),
        client: None,
        is_gone: false,
        revision: 0,
        keeps_none: false,
        from: 0,
        objects: 0,
        waiting: Waiting::default(),
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
                    let caches = counted(count as u64, "cache");
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
                waiting: slowest(&fed).map_or(Waiting::default(), Waiting::of),
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
                waiting: Waiting::of(slowest),
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
pub(super) fn owner(told: &InsideConnection) -> Option<Text> {
    Some(plain(told.client.as_ref()?).into())
}

/// The name of a client without a version.
fn plain(client: &str) -> &str {
    client.split_once('/').map_or(client, |(name, _)| name)
}

/// What a watch is a part of.
pub(super) fn stream_of(told: &InsideWatcher) -> Layer {
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

/// How a client does, by what it does.
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
