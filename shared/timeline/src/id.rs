//! Ids of the page: records across epochs, and lanes.

use watchscope_model::Seq;

/// A record, whichever epoch it is of. Ordered by time: epochs are numbered in the order the page met them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// The epoch's number in the store, from 0.
    pub epoch: u32,
    /// The record's place in it.
    pub seq: Seq,
}

/// A watch, by name, whichever epoch it is of: its number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(
    /// The number.
    pub u32,
);

/// An object's place (namespace and name) in a watch: its number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(
    /// The number.
    pub u32,
);

/// An address that connections lead to, whichever epoch they are of: its number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(
    /// The number.
    pub u32,
);

/// A layer of a simulated cluster, whichever epoch it is of: its number in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerId(
    /// The number.
    pub u32,
);

/// A row of the picture. Lanes of a new epoch join those of the old by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneId {
    /// All findings.
    Findings,
    /// A layer of a simulated cluster.
    Layer(LayerId),
    /// A watch.
    Watch(WatchId),
    /// The connections to a server.
    Connection(ServerId),
    /// The resourceVersion trace of a watch.
    Version(WatchId),
    /// An object of a watch.
    Object(WatchId, ObjectId),
    /// The objects of a watch that have no rows of their own.
    More(WatchId),
    /// The quiet watches that have no rows of their own.
    Quiet,
    /// What watchscope asks beside its watches.
    OwnRequests,
}

impl LaneId {
    /// The watch the lane hangs under.
    #[must_use]
    pub fn watch(self) -> Option<WatchId> {
        match self {
            Self::Findings
            | Self::Layer(_)
            | Self::Connection(_)
            | Self::Quiet
            | Self::OwnRequests => None,
            Self::Watch(watch)
            | Self::Version(watch)
            | Self::More(watch)
            | Self::Object(watch, _) => Some(watch),
        }
    }

    /// The object it is the lane of.
    #[must_use]
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Self::Object(_, object) => Some(object),
            _ => None,
        }
    }
}
