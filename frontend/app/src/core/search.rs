//! The search as plain data: the text, its hits so far, and what was searched.

use watchscope_model::{EpochId, Seq, Time};
use watchscope_timeline::draw::FoundMark;
use watchscope_timeline::{LaneId, RecordId, Store};

/// The most hits that the page holds. The search ends there, and says so.
pub const HITS_MOST: usize = 5_000;

/// A search that is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchState {
    /// The text as typed.
    pub text: String,
    /// The number of the search so far. By it, a late answer is not taken for a newer search.
    pub number: u64,
    /// The hits so far, the newest first; at most [`HITS_MOST`].
    pub hits: Vec<SearchHit>,
    /// The place of the current hit among them.
    pub current: Option<usize>,
    /// How far the search is.
    pub progress: Progress,
    /// What was searched, as far as answers said so.
    pub searched: Searched,
    /// The lanes of the hits, for their ticks.
    pub ticks: SearchTicks,
}

/// The lanes of hits, found by their keys. It has at most [`HITS_MOST`] marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchTicks {
    /// The lane of each hit; `None` while the store does not know it.
    pub lanes: Vec<Option<LaneId>>,
    /// The number of lanes that the store knew when the marks were made.
    pub known: usize,
    /// The keys of the lanes that were hidden then.
    pub hidden: Vec<String>,
    /// The marks of the hits whose lanes are known and not hidden.
    pub marks: Vec<FoundMark>,
}

/// How far a search is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// No text was typed.
    #[default]
    Idle,
    /// Answers are coming.
    Looking,
    /// All that is kept was searched.
    Done,
    /// The search ended at [`HITS_MOST`] hits.
    Full,
    /// The search failed, with a sentence for the person.
    Failed(String),
}

/// Where a search looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Where {
    /// In the server's memory.
    #[default]
    Memory,
    /// In the server's memory and the files of its history.
    History,
    /// In the recording that is shown.
    Recording,
    /// In what this page has loaded, because no server has more.
    Loaded,
}

/// What a search has searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Where it looks.
    pub place: Where,
    /// The time of the first record that is kept.
    pub kept_from: Option<Time>,
    /// The time from which on bodies were searched; `None` if all were.
    pub bodies_since: Option<Time>,
    /// Whether bodies were not searched at all, because there are none.
    pub no_bodies: bool,
    /// The number of stretches that could not be read.
    pub not_read: u64,
}

/// A record that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// The run of the log's writer.
    pub epoch: EpochId,
    /// The record. If the hit is held: the last record before the opening snapshot.
    pub seq: Seq,
    /// The time of the record, or of the snapshot.
    pub at: Time,
    /// The key of the lane: `findings`, a watch, or a watch with an object.
    pub lane: String,
    /// What matches: `name`, `uid`.
    pub matched: String,
    /// Whether only an opening snapshot holds the object, so that no record is the hit.
    pub is_held: bool,
}

impl SearchHit {
    /// Returns the record of the hit, loaded or not; `None` if no record is the hit, or if the store does not know its
    /// epoch.
    #[must_use]
    pub fn record(&self, store: &Store) -> Option<RecordId> {
        let epoch = store.number_of(&self.epoch).filter(|_| !self.is_held)?;
        Some(RecordId {
            epoch,
            seq: self.seq,
        })
    }
}

/// An action of a person on the search, or an answer to it.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchDeed {
    /// Open the search, or give its field the focus.
    Open,
    /// The text is now this.
    Typed(Box<str>),
    /// Go to the next hit, towards the past.
    Next,
    /// Go to the hit before it.
    Previous,
    /// Close the search.
    Close,
    /// Lines of an answer came.
    Lines {
        /// The number of the search.
        number: u64,
        /// Whole lines.
        lines: Box<str>,
    },
    /// There is no server: the page searches what it holds.
    NoServer {
        /// The number of the search.
        number: u64,
    },
    /// The answer failed.
    Failed {
        /// The number of the search.
        number: u64,
        /// Why, as a sentence.
        why: Box<str>,
    },
    /// Search the next chapter that the page holds, because there is no server.
    Step {
        /// The number of the search.
        number: u64,
    },
}

/// The search as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchShown {
    /// The text as typed.
    pub text: String,
    /// `7 of 41`, `7 of 41, more`, or that there is no hit and what was searched.
    pub count: String,
    /// Lane, time and what matches of the current hit.
    pub current: String,
    /// What was not searched: bodies, damaged stretches.
    pub left_out: String,
    /// Whether there is a hit to go to.
    pub has_hits: bool,
}
