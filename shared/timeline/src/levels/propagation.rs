//! The propagation of a write from etcd to a client program: its way, the times at which it was at each layer, and
//! where it stopped.
//!
//! A client receives the events of its stream, and each server has a cache of its own. So the search begins at the
//! server whose stream the client had when it received the write. For a write that the client never received, it begins
//! at the server of the client's stream at the time of the write.
//!
//! A write has arrived once the client holds the object as the write left it. A later resourceVersion alone proves
//! nothing: a client that opens a watch again without a resourceVersion receives later writes, but never an earlier
//! deletion.

use watchscope_model::vocabulary::{ChangeType, ClientPhase};
use watchscope_model::{Text, Time};

use super::layer::{Layer, LayerNames};
use super::level::{Level, LevelPoint, Tone};
use super::trace::{LayerTrace, WriteMark};
use crate::format::number;
use crate::id::LayerId;

/// Time in µs after a write, beyond which a write that has not arrived no longer counts as travelling. A client reports
/// a change within 100 ms, a spinning client within 1 s, so 2 s leave time for the report. The number has no other
/// source.
const UNDER_WAY_US: i64 = 2_000_000;
/// Time in µs from a write's arrival in the watch cache; in etcd, if the client reads past the cache. From this time
/// on, a write that the client lacks counts as stopped, if no stream of the client was open since the arrival
/// ([`End::NoStream`]). A stream must have been open before the arrival. A client that merely connects again has a
/// stream within this time. The number has no source.
const NO_STREAM_US: i64 = 500_000;
/// Most µs from the time when an informer's revision reached a write to the time when its store had the object. If it
/// was longer, the time of the store counts. A write whose object is deleted within this time may never be reported. A
/// client may report a change of its objects 100 ms late. The number has no other source.
const STORED_US: i64 = 1_000_000;
/// Time in µs, included, after a write came to the watch cache, or to etcd if the client reads past the cache. A stream
/// that ends or stalls within this time may have lost the write. Otherwise the write counts as waiting in the buffer,
/// or as lost at the client. The number has no source.
const ALONG_US: i64 = 1_000_000;

/// A client program as the target of writes.
pub(crate) struct Follower<'a> {
    names: &'a LayerNames,
    trace: &'a LayerTrace,
    client: LayerId,
    /// The resource that the client reads. The next field has the namespace; an empty one means all.
    resource: Text,
    namespace: Text,
    /// When the client began. Writes from before that reached it otherwise, for example by its first list.
    begun: Time,
    /// Whether the client's reports name each object that it holds, and it holds one whole kind.
    names_all: bool,
    /// The client's last revision. For a client that keeps no revision, the newest revision of an object that it ever
    /// held.
    last_revision: u64,
    /// Whether the client's reports show which deletions arrived. The reports of a client that keeps no revision show
    /// it only while the client holds ghosts.
    reports_deletions: bool,
    /// The client's streams of the resource, each with the number of its server.
    streams: Vec<(u64, LayerId)>,
    end: Time,
}

/// The propagation of a write to one client: where the write was, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Propagation {
    /// The watch cache on the path; `None` if the client reads from etcd, its resource is not cached, or no stream is
    /// known.
    pub(crate) cache: Option<Stop>,
    /// The stream from the watch cache or from etcd to the client; `None` if no stream is known.
    pub(crate) stream: Option<Stop>,
    /// When the client had the write; `None` if it lacks the write, got it only from a list after a gap, or this is
    /// unknown.
    pub(crate) client: Option<Time>,
    /// Where and why the write stopped; `None` if it arrived, is travelling, or the client's reports cannot show it.
    pub(crate) end: Option<End>,
    /// Whether the write may still arrive.
    pub(crate) is_under_way: bool,
}

/// Whether and how a client received a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receipt {
    /// An event delivered the write at this time.
    Delivered(Time),
    /// A list showed the write at this time; no event delivered it.
    Listed(Time),
    /// The client did not receive the write.
    Missing,
    /// Unknown: the client's reports cannot show it, the client did not hold the deleted object, or the object was
    /// deleted within 1 s after the write.
    Unknown,
}

/// A layer on a write's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The layer.
    pub(crate) layer: LayerId,
    /// When the write reached this layer; `None` if it never did.
    pub(crate) at: Option<Time>,
}

/// The place where a propagation stopped before the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The watch cache never received the write.
    Cache,
    /// The client had no stream when the watch cache received the write, and no later stream delivered it.
    NoStream,
    /// The stream's connection is stalled.
    Stalled,
    /// The stream ended before the client had the write.
    Ended,
    /// The write waits in the apiserver's buffer for the watch.
    Buffer,
    /// Where the write stopped is unknown; only the fact is known that the client does not have it.
    Client,
}

impl End {
    /// Returns the words beside the cross where the write stopped, the longest form first.
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

    /// Returns words that say how the write ended, the longest form first.
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
    /// Returns a client as it is at `end`; `None` if it has reported nothing, or the layer is no client.
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
        let last_revision = if now.keeps_no_revision {
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
            last_revision: last_revision.unwrap_or(0),
            reports_deletions: !now.keeps_no_revision || now.ghosts > 0,
            streams: names.streams_of(&resource, name),
            resource,
            namespace,
            end,
        })
    }

    /// Whether the client reads the object of a write, and the client's process was running at the time of the write.
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

    /// Returns the propagation of a write that the client follows.
    pub(crate) fn propagation(&self, write: &WriteMark) -> Propagation {
        let receipt = self.receipt(write);
        let reached = match receipt {
            Receipt::Delivered(at) | Receipt::Listed(at) => Some(at),
            Receipt::Missing | Receipt::Unknown => None,
        };
        let is_old = self.end.micros_since(write.moment.at) > UNDER_WAY_US;
        let lacks = is_old && receipt == Receipt::Missing;
        let mut propagation = Propagation {
            cache: None,
            stream: None,
            client: reached,
            end: None,
            is_under_way: !is_old && receipt == Receipt::Missing,
        };
        let Some((server, stream)) = self.fed_by(reached.unwrap_or(write.moment.at)) else {
            propagation.end = lacks.then_some(End::Client);
            return propagation;
        };
        let cache = Layer::Cache(server, self.resource.clone());
        let mut begins = Some(write.moment.at);
        let is_past_cache = self.names.is_past_cache(stream);
        if let Some(layer) = self.names.find(&cache).filter(|_| !is_past_cache) {
            begins = self.trace.taken_in(layer, server, write);
            propagation.cache = Some(Stop { layer, at: begins });
        }
        let Some(begins) = begins else {
            // The cache has later writes but not this one. A client that has it read it from etcd; a later revision
            // alone would not show that.
            if self.names_all && reached.is_some() {
                propagation.cache = None;
            } else {
                let layer = stream;
                propagation.client = None;
                propagation.stream = Some(Stop { layer, at: None });
                propagation.end = is_old.then_some(End::Cache);
                propagation.is_under_way = !is_old;
            }
            return propagation;
        };
        // A list after the gap shows the object's state. The event itself stopped where no stream delivered it.
        let is_missed = match receipt {
            Receipt::Listed(at) => begins < at && self.is_in_gap(begins),
            Receipt::Missing => {
                let waited_us = self.end.micros_since(begins);
                let mut streams = self.streams.iter();
                waited_us >= NO_STREAM_US
                    && streams.all(|&(_, stream)| self.open_from(stream, begins).is_none())
            }
            Receipt::Delivered(_) | Receipt::Unknown => false,
        };
        if is_missed && self.has_followed(begins) {
            propagation.client = None;
            propagation.stream = Some(Stop {
                layer: stream,
                at: None,
            });
            propagation.end = Some(End::NoStream);
            propagation.is_under_way = false;
            return propagation;
        }
        let begins = reached.map_or(begins, |at| at.min(begins));
        let open = self.open_from(stream, begins);
        // A stream that begins later delivers the write only if the client has it then.
        let at = match (open, reached) {
            (Some(at), Some(reached)) => Some(at.min(reached)),
            (Some(at), None) if at == begins => Some(at),
            (_, reached) => reached,
        };
        propagation.stream = Some(Stop { layer: stream, at });
        if lacks {
            propagation.end = Some(self.lost_at(stream, begins));
        }
        propagation
    }

    /// Returns whether and how the client received a write.
    fn receipt(&self, write: &WriteMark) -> Receipt {
        let by_revision = self.trace.reached(self.client, write);
        if !self.names_all {
            let reports_it = self.reports_deletions || write.change != ChangeType::Deleted;
            return match by_revision {
                Some(at) => Receipt::Delivered(at),
                None if reports_it && write.revision > self.last_revision => Receipt::Missing,
                None => Receipt::Unknown,
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
                return Receipt::Unknown;
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
                Receipt::Unknown
            } else {
                Receipt::Missing
            };
        };
        let at = mark.moment.at;
        // The object was replaced or deleted meanwhile. If a stream was open all the time, one report covers several
        // events; if not, the client got only the later ones.
        let is_direct =
            mark.revision.is_none() == is_deletion && (is_deletion || mark.object.uid == *uid);
        if !is_direct && !self.is_open_between(write.moment.at, at) {
            return Receipt::Missing;
        }
        let at = by_revision
            .filter(|&came| came <= at && at.micros_since(came) <= STORED_US)
            .unwrap_or(at);
        if self.is_listed(at) {
            Receipt::Listed(at)
        } else {
            Receipt::Delivered(at)
        }
    }

    /// Whether the object was deleted within 1 s after this write, so that the client may never have reported it.
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

    /// Whether the client was listing just before a time, so that an object that it holds at that time comes from a
    /// list.
    fn is_listed(&self, at: Time) -> bool {
        let levels = self.trace.levels(self.client);
        let later = levels.partition_point(|point| point.moment.at < at);
        let before = later.checked_sub(1).map(|place| &levels[place].level);
        let reads_all = [Some(ClientPhase::Listing), Some(ClientPhase::Syncing)];
        before.is_some_and(|level| reads_all.contains(&level.client))
    }

    /// Whether none of the client's streams of the resource is open at a time.
    fn is_in_gap(&self, at: Time) -> bool {
        self.streams.iter().all(|&(_, stream)| {
            let level = self.trace.level_at(stream, at);
            level.is_none_or(|(_, level)| !is_open(level))
        })
    }

    /// Whether the client had a stream before a time. The client's first list shows everything before its first stream.
    fn has_followed(&self, at: Time) -> bool {
        self.streams.iter().any(|&(_, stream)| {
            let mut points = self.trace.levels(stream).iter();
            points.any(|point| point.moment.at < at && is_open(&point.level))
        })
    }

    /// Whether one of the client's streams stays open from one time to another. Also true if no stream is known.
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

    /// Returns the client's stream that is open at a time, and its server. If none is open, returns the next stream
    /// that opens, or else the last one.
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

    /// Returns the first time at or after `at` at which a stream is open.
    fn open_from(&self, stream: LayerId, at: Time) -> Option<Time> {
        let points = self.from(stream, at);
        let point = points.iter().find(|point| is_open(&point.level))?;
        Some(point.moment.at.max(at))
    }

    /// Returns the levels of a stream from the one that holds at a time on.
    fn from(&self, stream: LayerId, at: Time) -> &'a [LevelPoint] {
        let points = self.trace.levels(stream);
        let after = points.partition_point(|point| point.moment.at <= at);
        &points[after.saturating_sub(1)..]
    }

    /// Returns why a write that a watch cache received at a time did not reach the client through this stream.
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
        // Events waited all the time.
        if points.iter().all(|point| point.level.waiting.events > 0) {
            return End::Buffer;
        }
        End::Client
    }
}

/// Whether a stream's level shows it open. A stalled stream counts as open.
fn is_open(level: &Level) -> bool {
    level.tone != Tone::Resting
}
