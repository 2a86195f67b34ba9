//! Open streams, and the memory of each watch from stream to stream.

use std::collections::VecDeque;

use watchscope_model::fold::Watch;
use watchscope_model::tree::BTreeMap;
use watchscope_model::{ResourceVersion, Seq, State, StreamId, Time, Uid, WatchName};

/// Most versions of a watch that are remembered, to distinguish repeated events (F29) from late events (F30). A further
/// one replaces the oldest, and a repetition of that counts as late. It bounds the memory of each watch. The number has
/// no source.
pub(super) const REMEMBERED: usize = 256;
/// Most streams of a watch whose starts are remembered (F45). A further one replaces the oldest, whose loss is then
/// F24. It bounds the memory of each watch. The number has no source: streams of 5 min make it over an hour.
pub(super) const STARTS: usize = 16;
/// Most objects of a watch that are remembered because they left its view (F43) or ended with an old version (F23). A
/// further one replaces the oldest. It bounds the memory of each watch. The number has no source.
pub(super) const GONE: usize = 64;

/// An open stream.
#[derive(Clone, Debug)]
pub(super) struct StreamState {
    pub(super) watch: WatchName,
    pub(super) since: Time,
    pub(super) opened: Seq,
    /// The version at which it began; 0 if that has no order.
    pub(super) from: u64,
    /// The highest version of its events.
    pub(super) highest: u64,
    /// Its last bookmark.
    pub(super) bookmark: Option<LastBookmark>,
    /// When a bookmark is due.
    pub(super) bookmark_due: Option<Time>,
    /// Whether its own events can prove that a bookmark is due.
    pub(super) can_prove: bool,
    /// When its first and its last live event came.
    pub(super) moved: Option<Span>,
    /// Whether a finding says that it lacks a bookmark, and nothing came since. It may be dead (F04).
    pub(super) may_be_dead: bool,
    /// Its initial events, until a bookmark ends them.
    pub(super) initial: Option<InitialEvents>,
    /// Whether it began with initial events and they are over.
    pub(super) is_initial: bool,
}

/// The last bookmark of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastBookmark {
    pub(super) version: u64,
    pub(super) seq: Seq,
    pub(super) at: Time,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) first: Time,
    pub(super) last: Time,
}

/// Initial events that are not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct InitialEvents {
    /// When the last of them came, or the stream was opened.
    pub(super) last: Time,
    /// When they are judged next.
    pub(super) due: Time,
}

/// An event that a stream delivered.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) version: u64,
    pub(super) uid: Uid,
    pub(super) at: Time,
}

/// The start of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// The version at which it began.
    pub(crate) from: u64,
    /// The first version that it delivered; it delivered nothing below that.
    pub(crate) until: u64,
}

/// The memory of a watch from stream to stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// The last events that its streams delivered.
    pub(super) recent: VecDeque<Delivered>,
    /// Objects whose DELETED carried an old version.
    pub(super) deleted_old: VecDeque<Uid>,
    /// Objects that left its view.
    pub(super) left: VecDeque<Uid>,
    /// When a bookmark last moved it on.
    pub(super) bookmarked_at: Option<Time>,
    /// The starts of its last streams.
    pub(super) starts: VecDeque<Start>,
}

/// Open streams, and the memory of each watch: at most [`REMEMBERED`] versions, twice [`GONE`] objects and [`STARTS`]
/// streams. A further one replaces the oldest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub(super) streams: BTreeMap<StreamId, StreamState>,
    pub(super) memories: BTreeMap<WatchName, Memory>,
}

impl Streams {
    /// Starts from a fold.
    pub(crate) fn since(state: &State) -> Self {
        let streams = |(name, watch): (&WatchName, &Watch)| {
            let stream = watch.stream.as_ref()?;
            let from = stream
                .resource_version
                .as_ref()
                .and_then(ResourceVersion::number);
            let seen = watch.seen.as_ref().and_then(ResourceVersion::number);
            let open = StreamState {
                watch: name.clone(),
                since: stream.since.at,
                opened: stream.since.seq,
                from: from.unwrap_or(0),
                highest: seen.unwrap_or(0),
                bookmark: None,
                bookmark_due: None,
                can_prove: false,
                moved: None,
                may_be_dead: false,
                initial: None,
                is_initial: false,
            };
            Some((stream.stream, open))
        };
        Self {
            streams: state.watches.iter().filter_map(streams).collect(),
            memories: BTreeMap::new(),
        }
    }

    /// Returns a version above `version` that a watch had reached before a moment.
    pub(crate) fn was_beyond(&self, watch: &WatchName, version: u64, before: Time) -> Option<u64> {
        let recent = self.memories.get(watch)?.recent.iter().rev();
        let mut beyond = recent.filter(|seen| seen.version > version && seen.at < before);
        beyond.next().map(|seen| seen.version)
    }

    /// Returns the start of the stream that should have delivered the event of a version first.
    pub(crate) fn start_around(&self, watch: &WatchName, version: u64) -> Option<Start> {
        let mut starts = self.memories.get(watch)?.starts.iter().copied();
        starts.find(|start| (start.from + 1..start.until).contains(&version))
    }
}

impl StreamState {
    /// Returns where it began, if it has delivered nothing since.
    pub(super) fn start(&self) -> Option<u64> {
        let last = self.bookmark.map(|last| last.version);
        match (self.highest, last) {
            (0, None) if self.initial.is_none() => Some(self.from),
            // The bookmark that ends initial events is their version, like that of a list.
            (0, last) if self.is_initial => last,
            _ => None,
        }
    }
}

pub(super) fn memory<'a>(
    memories: &'a mut BTreeMap<WatchName, Memory>,
    watch: &WatchName,
) -> &'a mut Memory {
    if !memories.contains_key(watch) {
        memories.insert(watch.clone(), Memory::default());
    }
    memories.get_mut(watch).expect("it was just put there")
}

pub(super) fn remember<T>(list: &mut VecDeque<T>, thing: T, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(thing);
}
