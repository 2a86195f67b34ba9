//! The lines of an answer beside its hits: a chapter that cannot be read, and the last line.

use serde::ser::{Serialize, SerializeMap, Serializer};
use watchscope_model::{EpochId, Seq, Time};

use crate::hub::api::Place;

/// A chapter that cannot be read, so it was not searched.
#[derive(Clone, Debug)]
pub(super) struct NotRead {
    pub(super) epoch: EpochId,
    pub(super) first: Seq,
    pub(super) last: Seq,
    pub(super) reason: String,
}

impl Serialize for NotRead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "notRead")?;
        map.serialize_entry("epoch", &self.epoch)?;
        map.serialize_entry("first", &self.first)?;
        map.serialize_entry("last", &self.last)?;
        map.serialize_entry("reason", &self.reason)?;
        map.end()
    }
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All that is kept before the position was searched.
    All,
    /// It has as many hits as an answer may have.
    Hits,
    /// It inflated as many bytes as an answer may.
    Inflated,
    /// It took as much processor time as an answer may.
    Processor,
    /// Another search of the session has begun.
    Replaced,
}

impl Ended {
    fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Hits => "hits",
            Self::Inflated => "inflated",
            Self::Processor => "processor",
            Self::Replaced => "replaced",
        }
    }
}

/// The last line of an answer.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) ended: Ended,
    /// Where to go on; `None` if there is nothing more.
    pub(super) next: Option<(EpochId, Seq)>,
    /// The number of hits in this answer.
    pub(super) hits: u64,
    /// The number of held hits that were left out.
    pub(super) held_more: u64,
    /// The first record that is kept; `None` if there is no record.
    pub(super) kept_from: Option<Place>,
    /// The time from which on bodies were searched; `None` if all of this answer's records were searched with theirs.
    pub(super) bodies_since: Option<Time>,
}

impl Serialize for End {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "end")?;
        map.serialize_entry("ended", self.ended.word())?;
        if let Some((epoch, seq)) = &self.next {
            map.serialize_entry("next", &format!("{epoch}.{seq}"))?;
        }
        map.serialize_entry("hits", &self.hits)?;
        if self.held_more > 0 {
            map.serialize_entry("heldMore", &self.held_more)?;
        }
        if let Some(from) = &self.kept_from {
            map.serialize_entry("keptFrom", from)?;
        }
        if let Some(since) = &self.bodies_since {
            map.serialize_entry("bodiesSince", since)?;
        }
        map.end()
    }
}
