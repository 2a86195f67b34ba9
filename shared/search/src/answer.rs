//! The lines of an answer beside its hits: what cannot be read, and the last line. It also says from where on bodies were
//! searched.

use serde::ser::{Serialize, SerializeMap, Serializer};
use watchscope_model::{EpochId, Seq, Time};

/// A chapter that cannot be read, so it was not searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRead {
    /// The run of the log's writer.
    pub epoch: EpochId,
    /// The chapter's first record.
    pub first: Seq,
    /// Its last record.
    pub last: Seq,
    /// Why it cannot be read, in words.
    pub reason: String,
}

/// `type` is `notRead`.
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

/// The most hits of one answer, without held ones. The next answer goes on behind them. The number has no source.
pub const HITS_MOST: usize = 1_000;

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
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

/// A record's place in a log, and its time.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KeptFrom {
    /// The run of the log's writer.
    pub epoch: EpochId,
    /// The record.
    pub seq: Seq,
    /// Its time.
    pub at: Time,
}

/// The last line of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Why it ends.
    pub ended: Ended,
    /// Where to go on; `None` if there is nothing more.
    pub next: Option<(EpochId, Seq)>,
    /// The number of hits in this answer, without held ones.
    pub hits: u64,
    /// The number of held hits that were left out.
    pub held_more: u64,
    /// The first record that is kept; `None` if there is no record.
    pub kept_from: Option<KeptFrom>,
    /// The time from which on bodies were searched; `None` if all of this answer's records were searched with theirs.
    pub bodies_since: Option<Time>,
    /// Whether a recording has no bodies at all. Then `bodies_since` says nothing.
    pub has_no_bodies: bool,
}

/// `type` is `end`; absent values have no entry.
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
        if self.has_no_bodies {
            map.serialize_entry("noBodies", &true)?;
        } else if let Some(since) = &self.bodies_since {
            map.serialize_entry("bodiesSince", since)?;
        }
        map.end()
    }
}

/// How many bodies of a chapter were searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Searched {
    /// Those of all its records.
    #[default]
    All,
    /// Those of its records from this time on.
    Since(Time),
    /// Not all, and none in a row up to its last record.
    Part,
}

/// From where on the bodies of all records were searched. Chapters come from the newest back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodiesSince {
    /// The first record of the chapters so far whose bodies were all searched.
    whole_from: Option<Time>,
    /// Set by the first chapter whose bodies were not all searched.
    since: Option<Time>,
}

impl BodiesSince {
    /// Takes in the next chapter: the times of its first and its last record, and how many bodies were searched.
    pub fn take(&mut self, (first_at, last_at): (Time, Time), searched: Searched) {
        if self.since.is_some() {
            return;
        }
        match searched {
            Searched::All => self.whole_from = Some(first_at),
            Searched::Since(at) => self.since = Some(at),
            Searched::Part => self.since = Some(self.whole_from.unwrap_or(last_at)),
        }
    }

    /// Returns the time from which on bodies were searched; `None` if all were.
    #[must_use]
    pub fn since(self) -> Option<Time> {
        self.since
    }
}
