//! The tracks of a trace, each described before its first event.

use std::collections::BTreeMap;

use watchscope_model::id::Place;
use watchscope_model::{Object, Text, WatchName};

use super::packets::{Packets, TrackId};
use super::proto::{
    BY_NAME, BY_RANK, CounterDescriptor, MERGE_BY_KEY, MERGE_NONE, TrackDescriptor,
};

/// The most objects with a track of their own, because each track is a row in the viewer. The objects that come first
/// in the trace get a track; events of further objects share one track. An object counts once for each of its watches.
/// The number has no source.
pub(super) const MOST_OBJECTS: usize = 10_000;

/// The kind of a track among the children of its parent.
///
/// Tracks of instants and values continue over all runs of the log's writer. A track of slices belongs to one run
/// (`run` counts from 1). The times of two runs may overlap after a wall clock was set back, but slices of one track
/// must not overlap. The viewer shows the slice tracks of all runs in one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A cluster, with events that concern the whole cluster. This is the only kind of track without a parent.
    Cluster(Text),
    /// Findings; `slot` differs between findings that are open at the same time.
    Findings {
        run: u32,
        slot: usize,
    },
    /// A watch, with the watch's requests and their results.
    Watch(WatchName),
    Streams {
        run: u32,
    },
    Gaps {
        run: u32,
    },
    Lists {
        run: u32,
    },
    /// The resourceVersions that a watch received.
    Version,
    /// All objects of a watch.
    Objects,
    Object(Place),
    OtherObjects,
    /// Connections; `slot` differs between connections that are open at the same time.
    Connections {
        run: u32,
        slot: usize,
    },
    /// Client programs of a simulated cluster.
    Clients,
    /// Inside records of a simulated cluster.
    Inside,
}

/// How the viewer shows a kind of track.
struct Look<'a> {
    name: &'a str,
    /// The track's rank among its sibling tracks.
    rank: i32,
    description: &'a str,
}

/// The tracks that the trace has described so far.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    known: BTreeMap<(TrackId, Kind), TrackId>,
    objects: usize,
    most_objects: usize,
}

impl Tracks {
    pub(super) fn new(most_objects: usize) -> Self {
        Self {
            most_objects,
            ..Self::default()
        }
    }

    /// Returns the track of a kind under a parent, and describes the track if it is new. A cluster's parent is 0.
    pub(super) fn of(&mut self, out: &mut Packets, parent: TrackId, kind: Kind) -> TrackId {
        if let Some(known) = self.known.get(&(parent, kind.clone())) {
            return *known;
        }
        let track = self.known.len() as TrackId + 1;
        out.describe(descriptor(track, parent, &kind));
        self.known.insert((parent, kind), track);
        track
    }

    /// Returns the track of an object of a watch; `None` if the object has no track and [`MOST_OBJECTS`] objects have
    /// one.
    pub(super) fn of_object(
        &mut self,
        out: &mut Packets,
        watch: TrackId,
        object: &Place,
    ) -> Option<TrackId> {
        let parent = self.known.get(&(watch, Kind::Objects)).copied();
        let kind = Kind::Object(object.clone());
        let known = parent.and_then(|parent| self.known.get(&(parent, kind.clone())));
        if let Some(known) = known {
            return Some(*known);
        }
        if self.objects >= self.most_objects {
            return None;
        }
        self.objects += 1;
        let parent = self.of(out, watch, Kind::Objects);
        Some(self.of(out, parent, kind))
    }
}

fn descriptor(track: TrackId, parent: TrackId, kind: &Kind) -> TrackDescriptor {
    let name;
    let look = |name, rank, description| Look {
        name,
        rank,
        description,
    };
    let Look {
        name,
        rank,
        description,
    } = match kind {
        Kind::Cluster(cluster) => look(cluster, 0, "Notes, losses and what concerns no one watch."),
        Kind::Findings { .. } => look("findings", 1, "Failures, from raised to over."),
        Kind::Watch(watch) => {
            let rank = if watch.as_aside().is_some() { 7 } else { 2 };
            look(watch.as_str(), rank, "What the watch asked and learned.")
        }
        Kind::Streams { .. } => look("streams", 2, "Watch streams, from opened to ended."),
        Kind::Gaps { .. } => look(
            "gaps",
            3,
            "Stretches in which the watch may have missed events.",
        ),
        Kind::Lists { .. } => look("lists", 4, "Lists, from the first request to complete."),
        Kind::Version => look(
            "resourceVersion",
            5,
            "What live changes, bookmarks and complete lists say.",
        ),
        Kind::Objects => look("objects", 6, "Changes of each object."),
        Kind::Object(Place(object)) => {
            name = object_name(object);
            look(&name, 0, "")
        }
        Kind::OtherObjects => look("other objects", 3, "Changes of objects without a track."),
        Kind::Connections { .. } => look("connections", 4, "From opened to closed."),
        Kind::Clients => look("clients", 5, "What client programs say of themselves."),
        Kind::Inside => look(
            "inside",
            6,
            "What the simulated cluster says of its inside.",
        ),
    };
    let merged = match kind {
        Kind::Findings { .. }
        | Kind::Streams { .. }
        | Kind::Gaps { .. }
        | Kind::Lists { .. }
        | Kind::Connections { .. } => Some(name.to_owned()),
        _ => None,
    };
    TrackDescriptor {
        uuid: Some(track),
        parent_uuid: (parent != 0).then_some(parent),
        name: Some(name.to_owned()),
        counter: (*kind == Kind::Version).then_some(CounterDescriptor {}),
        child_ordering: match kind {
            Kind::Cluster(_) | Kind::Watch(_) => Some(BY_RANK),
            Kind::Objects => Some(BY_NAME),
            _ => None,
        },
        sibling_order_rank: Some(rank),
        description: (!description.is_empty()).then(|| description.to_owned()),
        // By default Perfetto merges tracks of the same name. Two watches or objects may have the same name once it is
        // cut.
        sibling_merge_behavior: Some(match merged {
            Some(_) => MERGE_BY_KEY,
            None => MERGE_NONE,
        }),
        sibling_merge_key: merged,
    }
}

/// Returns an object's namespace and name (`shop/cart-0`), or the name alone of a cluster-scoped object.
pub(super) fn object_name(object: &Object) -> String {
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    }
}
