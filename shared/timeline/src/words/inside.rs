//! What happened inside a simulated cluster, in words.

use watchscope_model::inside::{Entry, Inside};
use watchscope_model::vocabulary::{CachePhase, ChangeType, Way};
use watchscope_model::{Object, Time};

use crate::format::{count, number};
use crate::id::LayerId;
use crate::store::{Layer, Store, Tone};

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
pub(super) fn layer_words(store: &Store, id: LayerId, now: Time) -> String {
    let names = store.layer_names();
    let (Some(layer), Some(level)) = (names.layer(id), crate::lanes::level_at(store, id, now))
    else {
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
        Layer::Cache(..) if level.tone == Tone::Open => format!(
            "At revision {}, {} held, window from {}.{ghosts}",
            number(level.revision),
            count(level.objects, "object"),
            number(level.from)
        ),
        Layer::Connections(_) if level.phase.is_empty() => "No connection.".to_owned(),
        Layer::Cache(..) | Layer::Connections(_) => format!("{}.", level.phase),
        Layer::Client(_) => format!(
            "{}, {} held.{ghosts}",
            level.phase,
            count(level.objects, "object")
        ),
    }
}

/// The particulars of a record of the inside.
pub(super) fn fields(entry: &Entry) -> Vec<(&'static str, String)> {
    let Entry::Inside(record) = entry else {
        return Vec::new();
    };
    match &record.inside {
        Inside::InsideWrite(write) => vec![
            ("resource", write.resource.to_string()),
            ("object", object_words(&write.object)),
            ("revision", number(write.revision)),
        ],
        Inside::InsideCache(told) => vec![
            ("resource", told.resource.to_string()),
            ("revision", number(told.revision)),
            ("window from", number(told.oldest)),
            (
                "events in it",
                format!("{} of {}", number(told.events), number(told.capacity)),
            ),
        ],
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

/// `shop/web-0`, or the name alone.
pub(crate) fn object_words(object: &Object) -> String {
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    }
}
