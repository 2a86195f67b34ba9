//! Open streams, and the memory of each watch from stream to stream.

use std::collections::VecDeque;

use watchscope_model::fold::Watch;
use watchscope_model::tree::BTreeMap;
use watchscope_model::{ResourceVersion, Seq, State, StreamId, Time, Uid, WatchName};

/// Most versions of a watch that are remembered, to distinguish repeated events (F29) from late events (F30). A further
/// version replaces the oldest, whose repetition from then on counts as late. A forgotten version also proves no
/// missing bookmark (F34) and no old list of a client (F22). The limit bounds the memory of each watch. The number has
/// no source.
pub(super) const REMEMBERED: usize = 256;
/// Most streams of a watch whose starts are remembered (F45). A further start replaces the oldest; an event lost at a
/// forgotten start counts as F24. The limit bounds the memory of each watch. The number has no source: 16 streams of 5
/// min last over an hour.
pub(super) const STARTS: usize = 16;
/// Most objects of a watch that are remembered because they left its selector (F43), and most because their DELETED had
/// an old version (F23). A further object replaces the oldest. The limit bounds the memory of each watch. The number
/// has no source.
pub(super) const GONE: usize = 64;

/// An open stream.
#[derive(Clone, Debug)]
pub(super) struct StreamState {
    pub(super) watch: WatchName,
    pub(super) since: Time,
    pub(super) opened: Seq,
    /// The version at which the stream began; 0 if that version has no order.
    pub(super) from: u64,
    /// The highest version of the stream's events; 0 before the first.
    pub(super) highest: u64,
    /// The stream's last bookmark; `None` before the first.
    pub(super) bookmark: Option<LastBookmark>,
    /// When a bookmark of the stream is due; `None` if none is expected.
    pub(super) bookmark_due: Option<Time>,
    /// Whether the stream's own events can prove that a bookmark is due.
    pub(super) can_prove: bool,
    /// When the stream's first and last live events came; `None` before the first.
    pub(super) moved: Option<Span>,
    /// Whether a finding says that the stream lacks a bookmark, and nothing came since. Such a stream may be dead
    /// (F04).
    pub(super) may_be_dead: bool,
    /// The stream's initial events; `None` once a bookmark has ended them, or if it has none.
    pub(super) initial: Option<InitialEvents>,
    /// Whether the stream began with initial events and these are over.
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

/// Initial events of a stream that are not over.
#[derive(Clone, Copy, Debug)]
pub(super) struct InitialEvents {
    /// When the last initial event came; before the first, when the stream was opened.
    pub(super) last: Time,
    /// When the initial events are judged next.
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
    /// The version at which the stream began.
    pub(crate) from: u64,
    /// The version of the stream's first event; if a bookmark came first, one above the bookmark's version.
    pub(crate) until: u64,
}

/// The memory of a watch from stream to stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// The last events that the watch's streams delivered, at most [`REMEMBERED`].
    pub(super) recent: VecDeque<Delivered>,
    /// Objects whose DELETED carried an old version.
    pub(super) deleted_old: VecDeque<Uid>,
    /// Objects that left the watch's selector.
    pub(super) left: VecDeque<Uid>,
    /// When a bookmark last moved the watch's progress; `None` if none did.
    pub(super) bookmarked_at: Option<Time>,
    /// The starts of the watch's last streams, as versions; at most [`STARTS`].
    pub(super) starts: VecDeque<Start>,
}

/// Open streams, and the memory of each watch: at most [`REMEMBERED`] versions, twice [`GONE`] objects and [`STARTS`]
/// streams. A further version, object or start replaces the oldest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub(super) streams: BTreeMap<StreamId, StreamState>,
    pub(super) memories: BTreeMap<WatchName, Memory>,
}

impl Streams {
    /// Returns the streams that are open in a fold.
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

    /// Returns the last remembered version above `version` that a watch had delivered before a moment; `None` if there
    /// is none.
    pub(crate) fn was_beyond(&self, watch: &WatchName, version: u64, before: Time) -> Option<u64> {
        let recent = self.memories.get(watch)?.recent.iter().rev();
        let mut beyond = recent.filter(|seen| seen.version > version && seen.at < before);
        beyond.next().map(|seen| seen.version)
    }

    /// Returns the start of the stream that should have delivered the event of a version first; `None` if no remembered
    /// start is around that version.
    pub(crate) fn start_around(&self, watch: &WatchName, version: u64) -> Option<Start> {
        let mut starts = self.memories.get(watch)?.starts.iter().copied();
        starts.find(|start| (start.from + 1..start.until).contains(&version))
    }
}

impl StreamState {
    /// Returns the version at which the stream began, if it has delivered nothing since; after initial events, that of
    /// the bookmark that ended them.
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
