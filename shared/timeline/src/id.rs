//! Ids of the page: records across epochs, and lanes.

use watchscope_model::Seq;

/// The id of a record of any epoch. Ids sort by epoch, then by seq; epochs are numbered in the order in which the page
/// met them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// The epoch's number in the store, from 0.
    pub epoch: u32,
    /// The record's seq in its epoch.
    pub seq: Seq,
}

/// The store's number for a watch's name. A name has the same number in all epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(
    /// The number: watches count from 0, in the order in which the store met them.
    pub u32,
);

/// The store's number for an object's namespace and name within a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(
    /// The number: objects of the watch count from 0, in the order in which the store met them.
    pub u32,
);

/// The store's number for the address of a server. An address has the same number in all epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(
    /// The number: servers count from 0, in the order in which the store met them.
    pub u32,
);

/// The store's number for a layer of a simulated cluster. A layer has the same number in all epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerId(
    /// The number: layers count from 0, in the order in which the store met them.
    pub u32,
);

/// The id of a lane, a row of the picture. A new epoch's watches and objects get the lanes of earlier epochs with the
/// same names.
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
    /// The objects of a watch that have no rows of their own, or had none until the viewer opened them. Gone objects
    /// are not among them.
    More(WatchId),
    /// The gone objects of a watch, as [`RowKind::Gone`](crate::lanes::RowKind::Gone) says.
    Gone(WatchId),
    /// The quiet watches that have no rows of their own, or had none until the viewer opened them.
    Quiet,
    /// The requests that watchscope sends beside its watches.
    OwnRequests,
}

impl LaneId {
    /// Returns the watch that the lane belongs to; `None` for findings, layers, connections, quiet watches and own
    /// requests.
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
            | Self::Gone(watch)
            | Self::Object(watch, _) => Some(watch),
        }
    }

    /// Returns the number of the object whose lane this is; `None` for a lane of any other kind.
    #[must_use]
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Self::Object(_, object) => Some(object),
            _ => None,
        }
    }
}
