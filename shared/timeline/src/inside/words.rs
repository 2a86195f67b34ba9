//! The events inside a simulated cluster, in words.

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

/// Most streams of a watch cache that are named, so that the words stay short: the streams with the most waiting events
/// first. Further streams are only counted. The number has no source.
const STREAMS_MOST: usize = 8;
/// Most clients whose propagation of a write is described, so that the words stay short: the first clients by name.
/// Further clients are only counted. The number has no source.
const PROPAGATIONS_MOST: usize = 8;

/// Returns an inside record as a sentence with its full stop, never empty. Hostile: show as text.
#[must_use]
pub fn inside_words(inside: &Inside) -> String {
    match inside {
        Inside::InsideEtcd(report) if !report.has_leader => {
            "etcd has no leader: nothing can be written.".to_owned()
        }
        Inside::InsideEtcd(report) if report.compacted > 0 => format!(
            "etcd is at revision {}; history below {} is compacted.",
            number(report.revision),
            number(report.compacted)
        ),
        Inside::InsideEtcd(report) => format!("etcd is at revision {}.", number(report.revision)),
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
        Inside::InsideServer(report) if report.is_serving => {
            format!("apiserver {} ({}) serves.", report.server, report.version)
        }
        Inside::InsideServer(report) => {
            format!("apiserver {} refuses connections.", report.server)
        }
        Inside::InsideCache(report) => match report.phase {
            CachePhase::Ready if report.oldest < report.revision => format!(
                "The watch cache of {} is at revision {}; a watch may resume from {} on.",
                report.resource,
                number(report.revision),
                number(report.oldest)
            ),
            CachePhase::Ready => format!(
                "The watch cache of {} is at revision {} and has no history: no watch may resume from before.",
                report.resource,
                number(report.revision)
            ),
            CachePhase::Listing => format!(
                "The watch cache of {} reads all there is; until then reads wait or are refused.",
                report.resource
            ),
            CachePhase::Failed | CachePhase::Unknown => {
                format!("The watch cache of {} has lost etcd.", report.resource)
            }
        },
        Inside::InsideHeld(report) => match report.revision {
            Some(revision) => format!(
                "The watch cache of {} holds {} at revision {}.",
                report.resource,
                object_words(&report.object),
                number(revision)
            ),
            None => format!(
                "The watch cache of {} no longer holds {}.",
                report.resource,
                object_words(&report.object)
            ),
        },
        Inside::InsideWatcher(report) => {
            let waiting = count(report.waiting, "event");
            let full = if report.is_blocking {
                "; it is full, and the server is about to end it"
            } else {
                ""
            };
            format!(
                "For the watch of {} by {} {waiting} of {} wait{full}.",
                report.resource, report.client, report.slots
            )
        }
        Inside::InsideWatcherEnded(report) => {
            format!("Watch {} is over for its apiserver.", report.watcher)
        }
        Inside::InsideConnection(report) => {
            let client = report.client.as_deref().unwrap_or("a client");
            let is = match report.way {
                Way::Open => "is open",
                Way::Stalled => "is stalled: what is sent is held, and neither side knows",
                Way::Cut => "is cut on the server's side",
                Way::Closed | Way::Unknown => "is gone",
            };
            format!("Connection {} of {client} {is}.", report.connection)
        }
    }
}

/// Returns the current level of a layer as text for a screen reader.
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
        // A crowd has no level of its own.
        Layer::Crowd(_) => "Clients that differ in a number only.".to_owned(),
        Layer::Cache(..) | Layer::Connections(_) => format!("{}.", level.phase),
        Layer::Client(_) => format!(
            "{}, {} held.{ghosts}",
            level.phase,
            count(level.objects, "object")
        ),
    }
}

/// Returns the streams of a watch cache and the events in their buffers, those with the most waiting events first.
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
    let mut lines: Vec<String> = streams.iter().take(STREAMS_MOST).map(words).collect();
    if more > 0 {
        lines.push(format!("{} more", number(more as u64)));
    }
    lines
}

/// Returns the propagation of a write to each client that follows the object: when the write was at each layer, and
/// where it stopped.
fn propagations_words(store: &Store, id: RecordId) -> Vec<String> {
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
    let mut lines: Vec<String> = clients
        .filter_map(|(layer, id)| match layer {
            Layer::Client(name) => Some((name, Follower::of(names, trace, id, end)?)),
            _ => None,
        })
        .filter(|(_, follower)| follower.follows(write))
        .map(|(name, follower)| propagation_words(store, name, write, follower.propagation(write)))
        .collect();
    let more = lines.len().saturating_sub(PROPAGATIONS_MOST);
    if more > 0 {
        lines.truncate(PROPAGATIONS_MOST);
        lines.push(format!("{} more", number(more as u64)));
    }
    lines
}

fn propagation_words(
    store: &Store,
    client: &Text,
    write: &WriteMark,
    propagation: Propagation,
) -> String {
    // A delay of less than 1 ms reads "at once".
    let after = |at: Time| match at.micros_since(write.moment.at) {
        ..MILLISECOND_US => "at once".to_owned(),
        took_us => format!("after {}", duration(took_us)),
    };
    let mut stops = Vec::new();
    if let Some((cache, at)) = propagation
        .cache
        .and_then(|stop| Some((stop.layer, stop.at?)))
        && let Some(Layer::Cache(server, _)) = store.layer_names().layer(cache)
    {
        stops.push(format!("cache of apiserver {server} {}", after(at)));
    }
    if let Some(at) = propagation.stream.and_then(|stop| stop.at) {
        stops.push(format!("stream {}", after(at)));
    }
    stops.extend(propagation.client.map(|at| format!("client {}", after(at))));
    stops.extend(propagation.end.map(|end| match end {
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

/// Returns the fields of an inside record.
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
            let propagations = propagations_words(store, id);
            fields.extend(
                propagations
                    .into_iter()
                    .map(|propagation| ("way to", propagation)),
            );
            fields
        }
        Inside::InsideCache(report) => {
            let mut fields = vec![
                ("resource", report.resource.to_string()),
                ("revision", number(report.revision)),
                ("window from revision", number(report.oldest)),
                (
                    "events in it",
                    format!("{} of {}", number(report.events), number(report.capacity)),
                ),
            ];
            let streams = streams_words(store, (report.server, &report.resource), record.at);
            fields.extend(streams.into_iter().map(|stream| ("waits for", stream)));
            fields
        }
        Inside::InsideWatcher(report) => vec![
            ("client", report.client.to_string()),
            ("waiting", format!("{} of {}", report.waiting, report.slots)),
            ("connection", report.connection.to_string()),
        ],
        Inside::InsideConnection(report) if report.way != Way::Closed => vec![
            ("connection", report.connection.to_string()),
            ("to", format!("apiserver {}", report.server)),
            ("open responses", number(report.streams)),
        ],
        _ => Vec::new(),
    }
}
