//! The way of a write from etcd to a client program: through which watch cache and which stream, when it was where, and
//! where it stopped.
//!
//! A server tells a client what its stream brings, and each server has a cache of its own; so a way is looked for
//! through the server that the client's stream belonged to when the write came to the client, or else when it was
//! written.
//!
//! A write has come to a client once the client holds the object as the write left it. A later resourceVersion alone
//! proves nothing: a client that watched again without one hears of later writes and never of the deletion before them.

use watchscope_model::vocabulary::{ChangeType, ClientPhase};
use watchscope_model::{Text, Time};

use super::layer::{Layer, LayerNames};
use super::level::{Level, LevelPoint, Tone};
use super::trace::{LayerTrace, WriteMark};
use crate::format::number;
use crate::id::LayerId;

/// What has not come after this long is no longer on its way, in microseconds.
const UNDER_WAY_US: i64 = 2_000_000;
/// Where the client has had no stream for this long since a write came to its cache, none carries the write, in
/// microseconds.
const NO_STREAM_US: i64 = 500_000;
/// An informer comes to a revision before its store does: so much earlier at most, in microseconds. What a client holds
/// is reported every 100 ms.
const STORED_US: i64 = 1_000_000;
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
    /// Whether what it reports names each object that it holds of one whole kind.
    names_all: bool,
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
pub(crate) struct Propagation {
    /// The watch cache it goes through; absent if the client asks etcd, or what it looks at is not cached.
    pub(crate) cache: Option<Stop>,
    /// The stream from there to the client; absent if none is known.
    pub(crate) stream: Option<Stop>,
    /// When the client had it.
    pub(crate) client: Option<Time>,
    /// Where and why it goes no further; absent if it came to the client, is on its way, or the client does not say.
    pub(crate) end: Option<End>,
    /// Whether it may still come to the client.
    pub(crate) is_under_way: bool,
}

/// Whether a client has a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// From this time on, by an event.
    Told(Time),
    /// From this time on, by a list: no event told it.
    Listed(Time),
    /// It does not have it.
    Not,
    /// It does not say: what it reports names only a part of what it holds, or it never held the object.
    Unknown,
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
            names_all: now.names_all,
            come_to: come_to.unwrap_or(0),
            tells_deletions: !now.keeps_none || now.ghosts > 0,
            streams: names.streams_of(&resource, name),
            resource,
            namespace,
            end,
        })
    }

    /// Whether a write is of what the client looks at, from its start to its end.
    pub(crate) fn follows(&self, write: &WriteMark) -> bool {
        let namespace = write.object.namespace.as_deref();
        let at = write.moment.at;
        write.resource == self.resource
            && (self.namespace.is_empty() || namespace == Some(&*self.namespace))
            && at >= self.begun
            && self
                .trace
                .level_at(self.client, at)
                .is_some_and(|(_, level)| !level.has_ended())
    }

    /// The way of a write that it follows.
    pub(crate) fn propagation(&self, write: &WriteMark) -> Propagation {
        let heard = self.heard(write);
        let reached = match heard {
            Heard::Told(at) | Heard::Listed(at) => Some(at),
            Heard::Not | Heard::Unknown => None,
        };
        let is_old = self.end.micros_since(write.moment.at) > UNDER_WAY_US;
        let lacks = is_old && heard == Heard::Not;
        let mut way = Propagation {
            cache: None,
            stream: None,
            client: reached,
            end: None,
            is_under_way: !is_old && heard == Heard::Not,
        };
        let Some((server, stream)) = self.fed_by(reached.unwrap_or(write.moment.at)) else {
            way.end = lacks.then_some(End::Client);
            return way;
        };
        let cache = Layer::Cache(server, self.resource.clone());
        let mut begins = Some(write.moment.at);
        let is_past_cache = self.names.is_past_cache(stream);
        if let Some(layer) = self.names.find(&cache).filter(|_| !is_past_cache) {
            begins = self.trace.taken_in(layer, server, write);
            way.cache = Some(Stop { layer, at: begins });
        }
        let Some(begins) = begins else {
            // Later writes came through the cache, this one did not: a client that has it read it from etcd, and a later
            // revision does not show that.
            if self.names_all && reached.is_some() {
                way.cache = None;
            } else {
                let layer = stream;
                way.client = None;
                way.stream = Some(Stop { layer, at: None });
                way.end = is_old.then_some(End::Cache);
                way.is_under_way = !is_old;
            }
            return way;
        };
        // A list that came after the gap shows what is. The event itself stopped where no stream took it up.
        let is_missed = match heard {
            Heard::Listed(at) => begins < at && self.is_in_gap(begins),
            Heard::Not => {
                let waited_us = self.end.micros_since(begins);
                let mut streams = self.streams.iter();
                waited_us >= NO_STREAM_US
                    && streams.all(|&(_, stream)| self.open_from(stream, begins).is_none())
            }
            Heard::Told(_) | Heard::Unknown => false,
        };
        if is_missed && self.has_followed(begins) {
            way.client = None;
            way.stream = Some(Stop {
                layer: stream,
                at: None,
            });
            way.end = Some(End::NoStream);
            way.is_under_way = false;
            return way;
        }
        let begins = reached.map_or(begins, |at| at.min(begins));
        let open = self.open_from(stream, begins);
        // A stream that begins later tells it only to a client that has it then.
        let at = match (open, reached) {
            (Some(at), Some(reached)) => Some(at.min(reached)),
            (Some(at), None) if at == begins => Some(at),
            (_, reached) => reached,
        };
        way.stream = Some(Stop { layer: stream, at });
        if lacks {
            way.end = Some(self.lost_at(stream, begins));
        }
        way
    }

    /// Whether the client has a write, and since when.
    fn heard(&self, write: &WriteMark) -> Heard {
        let by_revision = self.trace.reached(self.client, write);
        if !self.names_all {
            let tells = self.tells_deletions || write.change != ChangeType::Deleted;
            return match by_revision {
                Some(at) => Heard::Told(at),
                None if tells && write.revision > self.come_to => Heard::Not,
                None => Heard::Unknown,
            };
        }
        let (before, since) = self.trace.held_around(self.client, write);
        let mut marks = since.iter().filter(|mark| write.is_of(&mark.object));
        let uid = &write.object.uid;
        let held = before.iter().rfind(|mark| write.is_of(&mark.object));
        let held = held.filter(|held| held.revision.is_some());
        let is_deletion = write.change == ChangeType::Deleted;
        let has = if is_deletion {
            if held.is_none_or(|held| held.object.uid != *uid) {
                return Heard::Unknown;
            }
            marks.find(|mark| mark.revision.is_none() || mark.object.uid != *uid)
        } else {
            marks.find(|mark| {
                mark.revision
                    .is_none_or(|revision| revision >= write.revision)
            })
        };
        let Some(mark) = has else {
            return if !is_deletion && held.is_none() && self.is_gone_soon(write) {
                Heard::Unknown
            } else {
                Heard::Not
            };
        };
        let at = mark.moment.at;
        // Another object was put over it, or it went: a report tells of several events, if a stream was open all the
        // while; else the client has the later ones alone.
        let is_direct =
            mark.revision.is_none() == is_deletion && (is_deletion || mark.object.uid == *uid);
        if !is_direct && !self.is_open_between(write.moment.at, at) {
            return Heard::Not;
        }
        let at = by_revision
            .filter(|&came| came <= at && at.micros_since(came) <= STORED_US)
            .unwrap_or(at);
        if self.is_listed(at) {
            Heard::Listed(at)
        } else {
            Heard::Told(at)
        }
    }

    /// Whether the object was deleted before the client would have reported this write.
    fn is_gone_soon(&self, write: &WriteMark) -> bool {
        let writes = &self.trace.writes;
        let later = writes.partition_point(|other| other.moment.seq <= write.moment.seq);
        let mut later = writes[later..]
            .iter()
            .take_while(|other| other.moment.at.micros_since(write.moment.at) <= STORED_US);
        later.any(|other| {
            other.change == ChangeType::Deleted
                && other.resource == write.resource
                && other.is_of(&write.object)
        })
    }

    /// Whether what the client came to hold at a time it has from a list.
    fn is_listed(&self, at: Time) -> bool {
        let levels = self.trace.levels(self.client);
        let later = levels.partition_point(|point| point.moment.at < at);
        let before = later.checked_sub(1).map(|place| &levels[place].level);
        let reads_all = [Some(ClientPhase::Listing), Some(ClientPhase::Syncing)];
        before.is_some_and(|level| reads_all.contains(&level.client))
    }

    /// Whether none of its streams is open at a time.
    fn is_in_gap(&self, at: Time) -> bool {
        self.streams.iter().all(|&(_, stream)| {
            let level = self.trace.level_at(stream, at);
            level.is_none_or(|(_, level)| !is_open(level))
        })
    }

    /// Whether the client had a stream before a time: what came before its first it need not be told.
    fn has_followed(&self, at: Time) -> bool {
        self.streams.iter().any(|&(_, stream)| {
            let mut points = self.trace.levels(stream).iter();
            points.any(|point| point.moment.at < at && is_open(&point.level))
        })
    }

    /// Whether one of its streams is open from a time to a later one, or none of it is known.
    fn is_open_between(&self, from: Time, to: Time) -> bool {
        let mut streams = self.streams.iter();
        self.streams.is_empty()
            || streams.any(|&(_, stream)| {
                let points = self.from(stream, from);
                let is_there = points.first().is_some_and(|point| point.moment.at <= from);
                let mut meanwhile = points.iter().take_while(|point| point.moment.at <= to);
                is_there && meanwhile.all(|point| is_open(&point.level))
            })
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
        if points.iter().all(|point| point.level.waiting.events > 0) {
            return End::Buffer;
        }
        End::Client
    }
}

/// Whether a stream is there, however it does.
fn is_open(level: &Level) -> bool {
    level.tone != Tone::Resting
}
