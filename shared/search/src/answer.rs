//! The lines of an answer beside its hits: one for each chapter that cannot be read, and the last line. The last line
//! also says from which time on bodies were searched.

use serde::ser::{Serialize, SerializeMap, Serializer};
use watchscope_model::{EpochId, Seq, Time};

/// A chapter that could not be searched as a whole, or several chapters that a catalogue lists as one. Its records
/// before the damage may have been searched. If only bodies are damaged, all records before the position were searched,
/// some without their bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRead {
    /// The epoch of the records.
    pub epoch: EpochId,
    /// The first seq of the chapter, or of the chapters.
    pub first: Seq,
    /// The last seq of the chapter, or of the chapters.
    pub last: Seq,
    /// What cannot be read, in words. Hostile: show as text.
    pub reason: String,
}

/// In JSON, `type` is `notRead`.
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

/// The most hits of one answer, without held hits. At this number the answer ends with [`Ended::Hits`], and the next
/// answer continues after these hits. The number has no source.
pub const HITS_MOST: usize = 1_000;

/// Why an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All kept records before the position were searched, except those that cannot be read ([`NotRead`]).
    All,
    /// The answer has as many hits as an answer may have ([`HITS_MOST`] by default).
    Hits,
    /// The search decompressed at least as many bytes as it may for one answer (docs/search.md#limits).
    Inflated,
    /// The search took at least as much processor time as it may for one answer (docs/search.md#limits).
    Processor,
    /// Another search of the same session has begun.
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
    /// The epoch of the record.
    pub epoch: EpochId,
    /// The seq of the record.
    pub seq: Seq,
    /// The time of the record.
    pub at: Time,
}

/// The last line of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Why the answer ends.
    pub ended: Ended,
    /// The record before which the next answer continues; `None` after [`Ended::All`].
    pub next: Option<(EpochId, Seq)>,
    /// The number of hits in this answer, without held hits.
    pub hits: u64,
    /// The number of held hits that were left out.
    pub held_more: u64,
    /// The first record that is kept; `None` if no record is kept.
    pub kept_from: Option<KeptFrom>,
    /// The time after which the bodies of all records were searched; of earlier records, some or no bodies were. At a
    /// server's live log the time may be too early by the length of one segment of the log. `None` if no body was left
    /// out.
    pub bodies_since: Option<Time>,
    /// Whether the recordings of the answer have no bodies at all. Then `bodies_since` means nothing. Answers of a
    /// server have `false` here, also for recordings.
    pub has_no_bodies: bool,
}

/// In JSON, `type` is `end`; absent values have no entry.
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

/// Which bodies of a chapter were searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Searched {
    /// No body was left out.
    #[default]
    All,
    /// The bodies of the chapter's records from this time on were searched.
    Since(Time),
    /// Bodies may have been left out, and no time is known from which on all were searched.
    Part,
}

/// The time after which no body was left out, computed over the chapters of an answer. The caller adds all chapters,
/// from the newest to the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodiesSince {
    /// The time of the first record of the chapters so far, whose bodies were all searched; `None` before the first.
    whole_from: Option<Time>,
    /// The time from which on bodies were searched, set by the first chapter whose bodies were not all searched; `None`
    /// before that.
    since: Option<Time>,
}

impl BodiesSince {
    /// Adds the next older chapter: the times of its first and its last record, and which bodies were searched.
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

    /// Returns the time after which no body was left out; `None` if none was left out in the chapters so far. If bodies
    /// of the newest chapter were left out at times that are not known, this is the time of its last record.
    #[must_use]
    pub fn since(self) -> Option<Time> {
        self.since
    }
}
