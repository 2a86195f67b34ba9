//! A hit: a record that matches a query, and what of the record matches.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use watchscope_model::{EpochId, LogId, Object, Seq, Text, Time, WatchName};

macro_rules! whats {
    ($($(#[$doc:meta])* $what:ident $word:literal,)*) => {
        /// What of a record can match a query.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum What {
            $($(#[$doc])* $what,)*
        }

        impl What {
            /// All values, in the order in which a hit names them.
            pub const ALL: &'static [Self] = &[$(Self::$what,)*];

            /// Returns the word for the value in JSON.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$what => $word,)* }
            }
        }
    };
}

whats! {
    /// The name of an object contains the query.
    Name "name",
    /// `NAMESPACE/NAME` of an object contains the query, and the query includes that slash.
    Place "namespace/name",
    /// The uid of an object begins with the query, which has at least 8 characters (as bytes of UTF-8). A uid that is
    /// not a UUID also matches if it equals a shorter query.
    Uid "uid",
    /// A resourceVersion is the query as a whole.
    ResourceVersion "resourceVersion",
    /// The code of a finding, or of the attribution of a stream's end, is the query as a whole.
    Code "code",
    /// The name of a finding contains the query.
    Finding "finding",
    /// The manager of a change contains the query.
    Manager "manager",
    /// The redacted body of a change contains the query.
    Body "body",
    /// The text of a note contains the query.
    Note "note",
}

impl Serialize for What {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// Everything of one record that matches: a set, which is empty if nothing matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matched(u16);

impl Matched {
    /// Adds one value to the set, which stays the same if it has the value already.
    pub fn add(&mut self, what: What) {
        self.0 |= 1 << what as u16;
    }

    /// Adds one value to the set if `is_match` is true.
    pub(crate) fn add_if(&mut self, is_match: bool, what: What) {
        self.0 |= u16::from(is_match) << what as u16;
    }

    /// Adds all values of `other` to the set.
    pub(crate) fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Returns whether nothing matches.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over what matches, in the order of [`What::ALL`]; nothing if the set is empty.
    pub fn iter(self) -> impl Iterator<Item = What> {
        let all = What::ALL.iter().copied();
        all.filter(move |what| self.0 & (1 << *what as u16) != 0)
    }
}

impl FromIterator<What> for Matched {
    fn from_iter<I: IntoIterator<Item = What>>(all: I) -> Self {
        let mut matched = Self::default();
        all.into_iter().for_each(|what| matched.add(what));
        matched
    }
}

impl Serialize for Matched {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// A hit: the record's position in the log, its time, the lane that it belongs to, and what of the record matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The log that holds the record.
    pub log: LogId,
    /// The epoch of the record.
    pub epoch: EpochId,
    /// The seq of the record. If the hit is held: the seq of the last record before the opening snapshot, which is not
    /// kept.
    pub seq: Seq,
    /// The time of the record. If the hit is held: the time of the last record before the opening snapshot.
    pub at: Time,
    /// The watch of the record; `None` if the record belongs to no watch, such as a finding about several watches.
    pub watch: Option<WatchName>,
    /// The object of a change, verdict, page of a list, audit or note, or the held object. `None` if such a record
    /// names no single object, and for other records.
    pub object: Option<Arc<Object>>,
    /// The code of a finding or of an attribution; `None` for other records.
    pub code: Option<Text>,
    /// What of the record matches; never empty.
    pub matched: Matched,
    /// Whether the hit is not a kept record but an object or finding in the opening snapshot of a chapter. The chapter
    /// is the first that is kept, or the first behind a hole.
    pub is_held: bool,
}

/// In JSON, `type` is `hit`; absent values have no entry.
impl Serialize for Hit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "hit")?;
        map.serialize_entry("epoch", &self.epoch)?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("at", &self.at)?;
        map.serialize_entry("log", &self.log)?;
        if let Some(watch) = &self.watch {
            map.serialize_entry("watch", watch)?;
        }
        if let Some(object) = &self.object {
            if let Some(namespace) = &object.namespace {
                map.serialize_entry("namespace", namespace)?;
            }
            map.serialize_entry("name", &object.name)?;
            if !object.uid.is_empty() {
                map.serialize_entry("uid", &object.uid)?;
            }
        }
        if let Some(code) = &self.code {
            map.serialize_entry("code", code)?;
        }
        map.serialize_entry("matched", &self.matched)?;
        if self.is_held {
            map.serialize_entry("held", &true)?;
        }
        map.end()
    }
}
