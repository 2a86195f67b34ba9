//! The level of a layer of a simulated cluster at one time, from the fold of the inside.

use std::sync::Arc;

use watchscope_model::belief::{Belief, Held};
use watchscope_model::fold::Moment;
use watchscope_model::inside::{InsideConnection, InsideWatcher};
use watchscope_model::options::read_get;
use watchscope_model::vocabulary::{CachePhase, ClientPhase, Way};
use watchscope_model::{Layers, Object, Text};

use super::layer::Layer;
use crate::format::count as counted;

/// The state of a layer from one moment until its next level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Level {
    /// The layer's condition.
    pub(crate) tone: Tone,
    /// What the layer does, in a word or a few.
    pub(crate) phase: Text,
    /// The phase of a client; `None` for other layers.
    pub(crate) client: Option<ClientPhase>,
    /// Whether the layer is a watch cache that no longer exists.
    pub(crate) is_gone: bool,
    /// The etcd revision that the layer has reached; 0 if the layer reports none. For a client with several beliefs,
    /// this is the least of their revisions. For a client that keeps no revision, it is the newest revision of an
    /// object that the client holds.
    pub(crate) revision: u64,
    /// Whether the layer is a client that keeps no revision.
    pub(crate) keeps_no_revision: bool,
    /// The first revision of the layer's history.
    pub(crate) from: u64,
    /// The number of objects that the layer holds; for an apiserver, the number of its watch caches.
    pub(crate) objects: u64,
    /// The buffer of the slowest of the watches that the layer feeds.
    pub(crate) waiting: Waiting,
    /// The number of watches that the layer feeds.
    pub(crate) feeds: u64,
    /// For a client in a loop without waits: the iterations since the client started.
    pub(crate) iterations: u64,
    /// How many of the layer's objects are not in etcd; for a client with several beliefs, the greatest of their
    /// numbers.
    pub(crate) ghosts: u64,
    /// How many of the layer's connections are cut; one end may not know it yet.
    pub(crate) cut: u64,
    /// For a client: the resource that it reads, and the namespace. An empty namespace means all.
    pub(crate) looks_at: (Text, Text),
    /// Whether the layer is a client that reads all objects of one kind in its namespace, and reports each object that
    /// it holds.
    pub(crate) names_all: bool,
}

impl Level {
    /// Whether the layer is a client whose process has ended, so that it holds nothing.
    pub(crate) fn has_ended(&self) -> bool {
        self.client.is_some_and(ClientPhase::has_ended)
    }
}

/// The fill of a buffer. More waiting events compare as greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Waiting {
    /// The number of events that wait in the buffer.
    pub(crate) events: u64,
    /// How many events the buffer can hold.
    pub(crate) slots: u64,
}

impl Waiting {
    fn of(report: &InsideWatcher) -> Self {
        Self {
            events: report.waiting,
            slots: report.slots,
        }
    }
}

/// The condition of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The layer follows etcd.
    Open,
    /// The layer prepares to follow etcd. It is a client that connects or lists, a watch cache that initializes, or an
    /// apiserver with a watch cache that is not ready.
    Asking,
    /// The layer waits, sleeps, has ended, or has no stream.
    Resting,
    /// The layer does not follow etcd, and will not recover by itself soon.
    Failed,
}

/// A level and the moment from which it holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LevelPoint {
    pub(crate) moment: Moment,
    pub(crate) level: Level,
}

/// Returns the level of a layer now; `None` if the layer does not exist.
pub(super) fn level(layer: &Layer, layers: &Layers) -> Option<Level> {
    let base = Level {
        tone: Tone::Open,
        phase: "".into(),
        client: None,
        is_gone: false,
        revision: 0,
        keeps_no_revision: false,
        from: 0,
        objects: 0,
        waiting: Waiting::default(),
        feeds: 0,
        iterations: 0,
        ghosts: 0,
        cut: 0,
        looks_at: ("".into(), "".into()),
        names_all: false,
    };
    Some(match layer {
        // The members of a crowd have levels; the crowd itself has none.
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
            let report = layers.servers.get(server)?;
            let not_ready = report.caches.values();
            let not_ready = not_ready.filter(|cache| cache.phase != CachePhase::Ready);
            let (tone, phase) = match (report.is_serving, not_ready.count()) {
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
                objects: report.caches.len() as u64,
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
                .filter(|report| plain(&report.client) == &**client)
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
                keeps_no_revision: kept.is_none(),
                objects: if has_ended {
                    0
                } else {
                    beliefs.iter().map(|belief| belief.objects).sum()
                },
                iterations: if does == ClientPhase::Spinning {
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
            let all = all.filter(|report| owner(report).as_ref() == Some(client));
            let (mut by_state, mut streams, mut only) = ([0_u64; 3], 0, None);
            for report in all {
                let state = match report.way {
                    Way::Open | Way::Closed | Way::Unknown => 0,
                    Way::Stalled => 1,
                    Way::Cut => 2,
                };
                by_state[state] += 1;
                streams += report.streams;
                only = Some(report);
            }
            let [open, stalled, cut] = by_state;
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
                Some(report) if streams == 0 => {
                    (Tone::Resting, format!("conn {}: {IDLE}", report.connection))
                }
                Some(_) if count > 1 => (Tone::Open, format!("{count} connections")),
                Some(report) => {
                    let (connection, server) = (report.connection, report.server);
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

/// Words for a stalled connection, on which sent bytes are held back in at least one direction.
const STALLED: &str = "stalled: what is sent is held, and neither side knows";

/// Words for a connection that carries no watch response.
const IDLE: &str = "no stream";

/// Returns the client of a connection, without its version.
pub(super) fn owner(report: &InsideConnection) -> Option<Text> {
    Some(plain(report.client.as_ref()?).into())
}

/// Returns the name of a client without its version.
fn plain(client: &str) -> &str {
    client.split_once('/').map_or(client, |(name, _)| name)
}

/// Returns the stream layer that a watch belongs to.
pub(super) fn stream_of(report: &InsideWatcher) -> Layer {
    let client = plain(&report.client).into();
    let (server, resource) = (report.server, report.resource.clone());
    if is_direct(report) {
        Layer::Direct(server, resource, client)
    } else {
        Layer::Stream(server, resource, client)
    }
}

/// Whether etcd serves a watch and bypasses the watch cache.
fn is_direct(report: &InsideWatcher) -> bool {
    report.from_etcd == Some(true)
}

/// Returns the watches of a resource in a server: those that its watch cache serves, or those that etcd serves.
fn fed<'a>(
    layers: &'a Layers,
    server: u64,
    resource: &'a Text,
    are_direct: bool,
) -> impl Iterator<Item = &'a InsideWatcher> {
    let watchers = layers.watchers.values().map(|watcher| &watcher.told);
    watchers.filter(move |report| {
        report.server == server && report.resource == *resource && is_direct(report) == are_direct
    })
}

/// Returns the slowest watch: a blocking watch before others, then the one for which the most events wait.
fn slowest<'a>(fed: &[&'a InsideWatcher]) -> Option<&'a InsideWatcher> {
    fed.iter()
        .copied()
        .max_by_key(|report| (report.is_blocking, report.waiting))
}

/// Whether a client's request has a selector.
pub(crate) fn selects(request: &str) -> bool {
    read_get(request).is_some_and(|(_, options)| options.selects())
}

/// Returns the namespace of a client's request `VERB PATH?QUERY`; empty if the request covers all namespaces.
pub(crate) fn namespace_of(request: &str) -> &str {
    let path = request.split('?').next().unwrap_or_default();
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces");
    parts.nth(1).unwrap_or_default()
}

/// Returns how well a client works, from its phase.
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

/// Whether etcd holds an object. An object that etcd's report does not cover counts as held.
fn is_in_etcd(layers: &Layers, resource: &Text, object: &Arc<Object>) -> bool {
    let stock = layers
        .etcd
        .as_ref()
        .and_then(|etcd| etcd.objects.get(resource));
    // etcd may report only a count of objects, without their names.
    stock.is_none_or(|stock| {
        stock.unnamed() > 0
            || stock
                .get(object)
                .is_some_and(|(there, _)| there.uid == object.uid)
    })
}
