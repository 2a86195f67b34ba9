//! The way of a write from etcd to a client program: through which watch cache and which stream, when it was where, and
//! where it stopped.
//!
//! A client is told by the server its stream comes from, and each server has a cache of its own; so a way is looked for
//! through the server that the client's stream belonged to when the write came to the client, or else when it was
//! written.

use watchscope_model::vocabulary::ChangeType;
use watchscope_model::{Text, Time};

use crate::format::number;
use crate::id::LayerId;
use crate::store::{Layer, LayerNames, LayerTrace, Level, LevelPoint, Tone, WriteMark};

/// What has not come after this long is no longer on its way, in microseconds.
const UNDER_WAY_US: i64 = 2_000_000;
/// A stream that ends so soon after a write came to its cache may have taken it along, in microseconds.
const ALONG_US: i64 = 1_000_000;

/// A client program as what writes go to.
pub(crate) struct Follower<'a> {
    names: &'a LayerNames,
    trace: &'a LayerTrace,
    client: LayerId,
    /// What it looks at, and in which namespace; empty: in all.
    resource: Text,
    namespace: Text,
    /// What was written before it was there came to it by other ways.
    begun: Time,
    /// The revision it came to. One that keeps none came as far as the newest it ever held.
    come_to: u64,
    /// Whether it says of deletions whether they came: one that keeps no revision only says what it still believes in.
    tells_deletions: bool,
    /// Its streams of the resource, with the servers they come from.
    streams: Vec<(u64, LayerId)>,
    end: Time,
}

/// When a write was where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The watch cache it goes through; absent if the client asks etcd, or what it looks at is not cached.
    pub(crate) cache: Option<Stop>,
    /// The stream from there to the client; absent if none is known.
    pub(crate) stream: Option<Stop>,
    /// When the client had it.
    pub(crate) client: Option<Time>,
    /// Where and why it goes no further; absent if it came to the client, is on its way, or the client does not say.
    pub(crate) end: Option<End>,
}

/// A layer on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The layer.
    pub(crate) layer: LayerId,
    /// When the write came there.
    pub(crate) at: Option<Time>,
}

/// Where a way ends that does not end at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The watch cache never took it in.
    Cache,
    /// The client had no stream when the cache took it in, and none that began later told it.
    NoStream,
    /// The stream's connection holds what is sent.
    Stalled,
    /// The stream ended before the client had it.
    Ended,
    /// It waits in the watch's buffer.
    Buffer,
    /// All that is known is that the client does not have it.
    Client,
}

impl End {
    /// What is said of a write at the place where its way ends; the longest first.
    pub(crate) fn forms(self, write: &WriteMark) -> [String; 3] {
        let [long, short] = self.words();
        let verb = match write.change {
            ChangeType::Added => "create",
            ChangeType::Deleted => "delete",
            ChangeType::Modified | ChangeType::Unknown => "update",
        };
        let (name, revision) = (&write.object.name, number(write.revision));
        [
            format!("{verb} of {name}, revision {revision}, {long}"),
            format!("revision {revision} {long}"),
            format!("revision {revision} {short}"),
        ]
    }

    /// What became of it; the longest first.
    pub(crate) fn words(self) -> [&'static str; 2] {
        match self {
            Self::Cache => ["never came to this cache", "never came"],
            Self::NoStream => ["came while no stream was open", "no stream"],
            Self::Stalled => ["is held on the way", "is held"],
            Self::Ended => ["was lost with the stream", "was lost"],
            Self::Buffer => ["waits in the buffer", "waits"],
            Self::Client => ["never came here", "never came"],
        }
    }
}

impl<'a> Follower<'a> {
    /// A client as it is at `end`; nothing if it told nothing.
    pub(crate) fn of(
        names: &'a LayerNames,
        trace: &'a LayerTrace,
        client: LayerId,
        end: Time,
    ) -> Option<Self> {
        let Some(Layer::Client(name)) = names.layer(client) else {
            return None;
        };
        let (_, now) = trace.level_at(client, end)?;
        let levels = trace.levels(client);
        let come_to = if now.keeps_none {
            levels.iter().map(|point| point.level.revision).max()
        } else {
            Some(now.revision)
        };
        let (resource, namespace) = now.looks_at.clone();
        Some(Self {
            names,
            trace,
            client,
            begun: levels.first()?.moment.at,
            come_to: come_to.unwrap_or(0),
            tells_deletions: !now.keeps_none || now.ghosts > 0,
            streams: names.streams_of(&resource, name),
            resource,
            namespace,
            end,
        })
    }

    /// Whether a write is of what the client looks at, since it began.
    pub(crate) fn follows(&self, write: &WriteMark) -> bool {
        let namespace = write.object.namespace.as_deref();
        write.resource == self.resource
            && (self.namespace.is_empty() || namespace == Some(&*self.namespace))
            && write.moment.at >= self.begun
    }

    /// The way of a write that it follows.
    pub(crate) fn way(&self, write: &WriteMark) -> Way {
        let reached = self.trace.reached(self.client, write);
        let mut way = Way {
            cache: None,
            stream: None,
            client: reached,
            end: None,
        };
        let is_old = self.end.micros_since(write.moment.at) > UNDER_WAY_US;
        let tells = self.tells_deletions || write.change != ChangeType::Deleted;
        let lacks = is_old && tells && write.revision > self.come_to;
        let Some((server, stream)) = self.fed_by(reached.unwrap_or(write.moment.at)) else {
            way.end = (reached.is_none() && lacks).then_some(End::Client);
            return way;
        };
        let cache = Layer::Cache(server, self.resource.clone());
        let mut begins = Some(write.moment.at);
        if let Some(layer) = self.names.find(&cache) {
            begins = self.trace.taken_in(layer, server, write);
            way.cache = Some(Stop { layer, at: begins });
        }
        let Some(begins) = begins else {
            // Later writes came through the cache, this one did not: unless it was read from etcd, the client has not
            // got it either.
            way.client = self.without_ghosts(write);
            if way.client.is_some() {
                way.cache = None;
            } else {
                let layer = stream;
                way.stream = Some(Stop { layer, at: None });
                way.end = is_old.then_some(End::Cache);
            }
            return way;
        };
        let begins = reached.map_or(begins, |at| at.min(begins));
        let open = self.open_from(stream, begins);
        // A stream that begins later tells it only to a client that has it then.
        let at = match (open, reached) {
            (Some(at), Some(reached)) => Some(at.min(reached)),
            (Some(at), None) if at == begins => Some(at),
            (_, reached) => reached,
        };
        way.stream = Some(Stop { layer: stream, at });
        if reached.is_none() && lacks {
            way.end = Some(self.lost_at(stream, begins));
        }
        way
    }

    /// When a client that passed over a deletion had it nevertheless: it believes in nothing that is gone.
    fn without_ghosts(&self, write: &WriteMark) -> Option<Time> {
        if write.change != ChangeType::Deleted {
            return None;
        }
        let levels = self.trace.levels(self.client);
        let from = levels.partition_point(|point| point.moment.seq < write.moment.seq);
        let mut later = levels[from..].iter();
        let point = later
            .find(|point| point.level.revision >= write.revision && point.level.ghosts == 0)?;
        Some(point.moment.at)
    }

    /// The server its stream comes from at a time, and that stream; where it has none, that of its next one, or else of
    /// its last.
    fn fed_by(&self, at: Time) -> Option<(u64, LayerId)> {
        let opened = self.streams.iter().filter_map(|&(server, stream)| {
            let open = self.open_from(stream, at)?;
            Some((open, server, stream))
        });
        let next = opened.min_by_key(|&(open, server, _)| (open, server));
        let last = || {
            let known = self.streams.iter().filter_map(|&(server, stream)| {
                let points = self.trace.levels(stream).iter();
                let mut open = points.filter(|point| is_open(&point.level));
                Some((open.next_back()?.moment.at, server, stream))
            });
            known.max_by_key(|&(open, server, _)| (open, server))
        };
        let (_, server, stream) = next.or_else(last)?;
        Some((server, stream))
    }

    /// From when on, at or after a time, a stream is open.
    fn open_from(&self, stream: LayerId, at: Time) -> Option<Time> {
        let points = self.from(stream, at);
        let point = points.iter().find(|point| is_open(&point.level))?;
        Some(point.moment.at.max(at))
    }

    /// The levels of a stream from a time on.
    fn from(&self, stream: LayerId, at: Time) -> &'a [LevelPoint] {
        let points = self.trace.levels(stream);
        let after = points.partition_point(|point| point.moment.at <= at);
        &points[after.saturating_sub(1)..]
    }

    /// Why a write that a cache took in at a time did not come through its stream.
    fn lost_at(&self, stream: LayerId, at: Time) -> End {
        let points = self.from(stream, at);
        let Some(first) = points.first().filter(|first| first.moment.at <= at) else {
            return End::NoStream;
        };
        if !is_open(&first.level) {
            return End::NoStream;
        }
        let soon = |point: &&LevelPoint| point.moment.at.micros_since(at) <= ALONG_US;
        for point in points.iter().take_while(soon) {
            match point.level.tone {
                Tone::Failed => return End::Stalled,
                Tone::Resting => return End::Ended,
                Tone::Open | Tone::Asking => {}
            }
        }
        // All the while something waits.
        if points.iter().all(|point| point.level.waiting.0 > 0) {
            return End::Buffer;
        }
        End::Client
    }
}

/// Whether a stream is there, however it does.
fn is_open(level: &Level) -> bool {
    level.tone != Tone::Resting
}
