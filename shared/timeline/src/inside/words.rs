//! What happened inside a simulated cluster, in words.

use watchscope_model::inside::{Inside, InsideRecord};
use watchscope_model::time::MILLISECOND_US;
use watchscope_model::tree;
use watchscope_model::vocabulary::{CachePhase, ChangeType, Way};
use watchscope_model::{Text, Time};

use super::rows::level_at;
use crate::format::{count, duration, number};
use crate::id::{LayerId, RecordId};
use crate::levels::{End, Follower, Layer, Propagation, Tone, Waiting, WriteMark};
use crate::phrases::object_words;
use crate::store::Store;

/// Streams of a watch cache that are named; those beyond are counted.
const STREAMS_MOST: usize = 8;
/// Clients to which a write's way is told; those beyond are counted.
const WAYS_MOST: usize = 8;

/// A record of the inside in a sentence.
#[must_use]
pub fn inside_words(inside: &Inside) -> String {
    match inside {
        Inside::InsideEtcd(told) if !told.has_leader => {
            "etcd has no leader: nothing can be written.".to_owned()
        }
        Inside::InsideEtcd(told) if told.compacted > 0 => format!(
            "etcd is at revision {}; history below {} is compacted.",
            number(told.revision),
            number(told.compacted)
        ),
        Inside::InsideEtcd(told) => format!("etcd is at revision {}.", number(told.revision)),
        Inside::InsideWrite(write) => {
            let did = match write.change {
                ChangeType::Added => "was created",
                ChangeType::Deleted => "was deleted",
                ChangeType::Modified | ChangeType::Unknown => "was changed",
            };
            format!(
                "{} {} {did} at revision {}.",
                write.resource,
                object_words(&write.object),
                number(write.revision)
            )
        }
        Inside::InsideServer(told) if told.is_serving => {
            format!("apiserver {} ({}) serves.", told.server, told.version)
        }
        Inside::InsideServer(told) => {
            format!("apiserver {} refuses connections.", told.server)
        }
        Inside::InsideCache(told) => match told.phase {
            CachePhase::Ready if told.oldest < told.revision => format!(
                "The watch cache of {} is at revision {}; a watch may resume from {} on.",
                told.resource,
                number(told.revision),
                number(told.oldest)
            ),
            CachePhase::Ready => format!(
                "The watch cache of {} is at revision {} and has no history: no watch may resume from before.",
                told.resource,
                number(told.revision)
            ),
            CachePhase::Listing => format!(
                "The watch cache of {} reads all there is; until then reads wait or are refused.",
                told.resource
            ),
            CachePhase::Failed | CachePhase::Unknown => {
                format!("The watch cache of {} has lost etcd.", told.resource)
            }
        },
        Inside::InsideHeld(told) => match told.revision {
            Some(revision) => format!(
                "The watch cache of {} holds {} at revision {}.",
                told.resource,
                object_words(&told.object),
                number(revision)
            ),
            None => format!(
                "The watch cache of {} no longer holds {}.",
                told.resource,
                object_words(&told.object)
            ),
        },
        Inside::InsideWatcher(told) => {
            let waiting = count(told.waiting, "event");
            let full = if told.is_blocking {
                "; it is full, and the server is about to end it"
            } else {
                ""
            };
            format!(
                "For the watch of {} by {} {waiting} of {} wait{full}.",
                told.resource, told.client, told.slots
            )
        }
        Inside::InsideWatcherEnded(told) => {
            format!("Watch {} is over for its apiserver.", told.watcher)
        }
        Inside::InsideConnection(told) => {
            let client = told.client.as_deref().unwrap_or("a client");
            let is = match told.way {
                Way::Open => "is open",
                Way::Stalled => "is stalled: what is sent is held, and neither side knows",
                Way::Cut => "is cut on the server's side",
                Way::Closed | Way::Unknown => "is gone",
            };
            format!("Connection {} of {client} {is}.", told.connection)
        }
    }
}

/// What a layer is like now, for a screen reader.
pub(crate) fn layer_words(store: &Store, id: LayerId, now: Time) -> String {
    let names = store.layer_names();
    let (Some(layer), Some(level)) = (names.layer(id), level_at(store, id, now)) else {
        return "Nothing is known of it here.".to_owned();
    };
    let ghosts = match level.ghosts {
        0 => String::new(),
        ghosts => format!(" {} of them no longer in etcd.", number(ghosts)),
    };
    match layer {
        Layer::All => {
            "What no client can see: etcd, the watch caches, the client programs.".to_owned()
        }
        Layer::Etcd if level.tone == Tone::Failed => "It has no leader.".to_owned(),
        Layer::Etcd => format!(
            "At revision {}, {}; history below {} is compacted.",
            number(level.revision),
            count(level.objects, "object"),
            number(level.from)
        ),
        Layer::Server(_) if level.tone == Tone::Open => {
            format!("Serves, {} ready.", count(level.objects, "watch cache"))
        }
        Layer::Server(_) => format!("{}.", level.phase),
        Layer::Cache(server, resource) if level.tone == Tone::Open => {
            let streams = streams_words(store, (*server, resource), now);
            let feeds = match streams.as_slice() {
                [] => String::new(),
                _ => format!(
                    " It feeds {}: {}.",
                    count(level.feeds, "watch"),
                    streams.join(", ")
                ),
            };
            format!(
                "At revision {}, {} held, window from revision {}.{ghosts}{feeds}",
                number(level.revision),
                count(level.objects, "object"),
                number(level.from)
            )
        }
        Layer::Stream(..) | Layer::Direct(..) if level.tone == Tone::Resting => {
            "No watch.".to_owned()
        }
        Layer::Stream(..) | Layer::Direct(..) => {
            let Waiting { events, slots } = level.waiting;
            let does = if level.phase.is_empty() {
                String::new()
            } else {
                format!(" It is {}.", level.phase)
            };
            format!(
                "{}: {} of {} wait.{does}",
                count(level.feeds, "watch"),
                number(events),
                number(slots)
            )
        }
        Layer::Connections(_) if level.phase.is_empty() => "No connection.".to_owned(),
        // It has no level of its own.
        Layer::Crowd(_) => "Clients that differ in a number only.".to_owned(),
        Layer::Cache(..) | Layer::Connections(_) => format!("{}.", level.phase),
        Layer::Client(_) => format!(
            "{}, {} held.{ghosts}",
            level.phase,
            count(level.objects, "object")
        ),
    }
}

/// The streams of a watch cache and what waits in their buffers, those for which the most waits first.
fn streams_words(store: &Store, (server, resource): (u64, &Text), at: Time) -> Vec<String> {
    let streams = store.layer_names().streams_from(server, resource);
    let streams = streams.into_iter().filter_map(|(client, id)| {
        let level = level_at(store, id, at)?;
        (level.tone != Tone::Resting).then_some((level.waiting, client))
    });
    let mut streams: Vec<_> = streams.collect();
    tree::sort_by(&mut streams, |one, other| {
        (other.0, one.1).cmp(&(one.0, other.1))
    });
    let more = streams.len().saturating_sub(STREAMS_MOST);
    let words = |(waiting, client): &(Waiting, &Text)| {
        let Waiting { events, slots } = *waiting;
        format!("{client} {} of {}", number(events), number(slots))
    };
    let mut told: Vec<String> = streams.iter().take(STREAMS_MOST).map(words).collect();
    if more > 0 {
        told.push(format!("{} more", number(more as u64)));
    }
    told
}

/// The ways of a write to the clients that follow what was written, each in words: when it was where, and where it
/// stopped.
fn ways_words(store: &Store, id: RecordId) -> Vec<String> {
    let names = store.layer_names();
    let Some(epoch) = store.epoch(id.epoch) else {
        return Vec::new();
    };
    let trace = &epoch.layer_trace;
    let place = trace
        .writes
        .partition_point(|write| write.moment.seq < id.seq);
    let write = trace.writes.get(place);
    let (Some(write), Some(end)) = (
        write.filter(|write| write.moment.seq == id.seq),
        epoch.ends(),
    ) else {
        return Vec::new();
    };
    let clients = names.sorted().into_iter();
    let mut told: Vec<String> = clients
        .filter_map(|(layer, id)| match layer {
            Layer::Client(name) => Some((name, Follower::of(names, trace, id, end)?)),
            _ => None,
        })
        .filter(|(_, follower)| follower.follows(write))
        .map(|(name, follower)| way_words(store, name, write, follower.propagation(write)))
        .collect();
    let more = told.len().saturating_sub(WAYS_MOST);
    if more > 0 {
        told.truncate(WAYS_MOST);
        told.push(format!("{} more", number(more as u64)));
    }
    told
}

fn way_words(store: &Store, client: &Text, write: &WriteMark, way: Propagation) -> String {
    // What takes less than a millisecond is at once.
    let after = |at: Time| match at.micros_since(write.moment.at) {
        ..MILLISECOND_US => "at once".to_owned(),
        took_us => format!("after {}", duration(took_us)),
    };
    let mut stops = Vec::new();
    if let Some((cache, at)) = way.cache.and_then(|stop| Some((stop.layer, stop.at?)))
        && let Some(Layer::Cache(server, _)) = store.layer_names().layer(cache)
    {
        stops.push(format!("cache of apiserver {server} {}", after(at)));
    }
    if let Some(at) = way.stream.and_then(|stop| stop.at) {
        stops.push(format!("stream {}", after(at)));
    }
    stops.extend(way.client.map(|at| format!("client {}", after(at))));
    stops.extend(way.end.map(|end| match end {
        End::Cache => "the watch cache never took it in".to_owned(),
        End::NoStream => "the client had no stream then".to_owned(),
        End::Client => "the client never had it".to_owned(),
        End::Stalled | End::Ended | End::Buffer => format!("it {}", end.words()[0]),
    }));
    if stops.is_empty() {
        stops.push("on its way, or not told".to_owned());
    }
    format!("{client}: {}", stops.join(", "))
}

/// The particulars of a record of the inside.
pub(crate) fn fields(
    store: &Store,
    id: RecordId,
    record: &InsideRecord,
) -> Vec<(&'static str, String)> {
    match &record.inside {
        Inside::InsideWrite(write) => {
            let mut fields = vec![
                ("resource", write.resource.to_string()),
                ("object", object_words(&write.object)),
                ("revision", number(write.revision)),
            ];
            let ways = ways_words(store, id);
            fields.extend(ways.into_iter().map(|way| ("way to", way)));
            fields
        }
        Inside::InsideCache(told) => {
            let mut fields = vec![
                ("resource", told.resource.to_string()),
                ("revision", number(told.revision)),
                ("window from revision", number(told.oldest)),
                (
                    "events in it",
                    format!("{} of {}", number(told.events), number(told.capacity)),
                ),
            ];
            let streams = streams_words(store, (told.server, &told.resource), record.at);
            fields.extend(streams.into_iter().map(|stream| ("waits for", stream)));
            fields
        }
        Inside::InsideWatcher(told) => vec![
            ("client", told.client.to_string()),
            ("waiting", format!("{} of {}", told.waiting, told.slots)),
            ("connection", told.connection.to_string()),
        ],
        Inside::InsideConnection(told) if told.way != Way::Closed => vec![
            ("connection", told.connection.to_string()),
            ("to", format!("apiserver {}", told.server)),
            ("open responses", number(told.streams)),
        ],
        _ => Vec::new(),
    }
}
