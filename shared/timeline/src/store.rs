//! All the page holds of a log: encoded chapters, and the traces drawn from them, epoch by epoch.
//!
//! ```text
//!   Welcome ─► ring_begins     Snapshot ─► snapshot ─┐
//!   Segment ─► segment        Chapter ──► chapter ──┴─► Epoch { chapters (bytes), trace (columns), state (fold) }
//! ```
//!
//! What is loaded, not loaded yet, expired and never known are different things, and [`Store::coverage`] tells them
//! apart. Bounded by a byte budget: when it is exceeded the oldest chapters are dropped, and their time then counts
//! as [`Coverage::Dropped`].

mod as_of;
mod catalogue;
mod coverage;
mod frames;
mod gaps;
mod marks;
mod merge;
mod names;
mod noted;
mod notes;
mod over_seam;
mod parts;
mod spans;
mod trace;

use watchscope_model::chapter::ChapterReader;
use watchscope_model::codec::{DecodeError, split_frame};
use watchscope_model::fold::Moment;
use watchscope_model::wire::CatalogueEntry;
use watchscope_model::{
    Entry, EpochId, KeptNote, Layers, LogId, Object, Record, Seq, State, Text, Time, WatchName,
};

pub use self::as_of::{AsOf, Known, Unknown};
pub use self::coverage::{Coverage, MOST_AT_ONCE, Stretch};
pub use self::gaps::GapTotals;
pub(crate) use self::marks::MarkKind;
use self::marks::make_space;
pub(crate) use self::names::Names;
use self::notes::KnownNotes;
pub(crate) use self::parts::{
    AsideMark, AsideStep, AuditMark, ConnectionSpan, Differs, Fall, GapOutcome, GapSpan, LifeSpan,
    ListMark, Occurrence, PhaseSpan, StepMark, StreamSpan, VerdictSpan, reaches,
};
pub(crate) use self::spans::Span;
pub(crate) use self::trace::{ObjectTrace, Trace, WatchTrace};
use crate::id::{LaneId, LayerId, ObjectId, RecordId, WatchId};
use crate::levels::{LayerNames, LayerTrace};

/// Bytes the page may hold of logs, unless told otherwise.
pub const DEFAULT_BUDGET_BYTES: usize = 384 << 20;

/// What an object takes in a fold that shares its names with others, in bytes.
const HELD_BYTES: usize = 160;
/// The live log is cut after at most so many encoded bytes.
const CHAPTER_BYTES: usize = 1 << 20;
/// No more is asked for once the encoded bytes in view are this part of the budget: what is drawn from them takes about as
/// much again.
const SHOWN_SHARE: usize = 3;
/// The budget is looked at each time this share of it was taken in.
const WEIGH_SHARE: usize = 128;

/// Data that the store cannot take.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The bytes are damaged or not what was announced.
    #[error("cannot read what the server sent: {0}; reload the page")]
    Decode(#[from] DecodeError),
    /// A segment came before any snapshot.
    #[error("a segment came before any snapshot; reload the page")]
    NoSnapshot,
    /// A chapter is of an epoch the store has never seen.
    #[error("a chapter of the unknown epoch {0} came; reload the page")]
    UnknownEpoch(EpochId),
}

/// A run of records held as it came.
#[derive(Debug)]
struct Chapter {
    first: Seq,
    last: Seq,
    from: Time,
    to: Time,
    /// Where a live log was cut, so that this chapter goes on from there; absent if its bytes begin with their own opening.
    cut: Option<Box<LiveCut>>,
    bytes: Vec<u8>,
}

/// Where a live log was cut into chapters: what reads on from there, and the folds of all before.
#[derive(Clone, Debug)]
struct LiveCut {
    reader: ChapterReader,
    state: State,
    layers: Layers,
}

impl LiveCut {
    /// About how many bytes it takes: each object that is held is one of a map.
    fn bytes(&self) -> usize {
        let watches = self.state.watches.values();
        watches.map(|watch| watch.objects.len() * HELD_BYTES).sum()
    }
}

/// The live end of an epoch.
#[derive(Debug)]
struct Live {
    reader: ChapterReader,
    state: State,
    /// The fold of the inside, as it came with the snapshot, until the next segment: the page's second part reads it.
    unread_layers: Option<Vec<u8>>,
}

/// One run of the log's writer.
#[derive(Debug)]
pub(crate) struct Epoch {
    log: LogId,
    id: EpochId,
    /// What [`RecordId`]s name it by; it never changes.
    number: u32,
    /// Runs are in the order of this number.
    order: u64,
    /// Chapters that the server has listed, in the order of their first records.
    catalogue: Vec<CatalogueEntry>,
    /// In the order of their seqs; what is between two of them is not loaded.
    chapters: Vec<Chapter>,
    pub(crate) trace: Trace,
    live: Option<Live>,
    /// The first record the server keeps, and its time.
    ring_first: Option<(Seq, Time)>,
    /// The last record that was dropped for want of room, and its time.
    dropped: Option<(Seq, Time)>,
    /// Records of kinds this build does not know: they took their seqs, and nothing of them is drawn.
    unknown: u64,
    /// The inside of a simulated cluster at the live head, and over time.
    layers: Layers,
    pub(crate) layer_trace: LayerTrace,
}

/// All the page holds of a log.
#[derive(Debug)]
pub struct Store {
    /// The oldest first; the last is the live one, once there is one.
    epochs: Vec<Epoch>,
    names: Names,
    layer_names: LayerNames,
    /// Notes of persons.
    notes: KnownNotes,
    budget_bytes: usize,
    /// The live log is cut after so many encoded bytes.
    chapter_bytes: usize,
    /// Bytes taken in since the budget was last looked at.
    unweighed_bytes: usize,
    /// The stretch of time that is looked at.
    looks_at: Option<(Time, Time)>,
    version: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_BUDGET_BYTES)
    }
}

impl Store {
    /// An empty store that holds at most about `budget_bytes`.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            epochs: Vec::new(),
            names: Names::default(),
            layer_names: LayerNames::default(),
            notes: KnownNotes::default(),
            budget_bytes,
            chapter_bytes: (budget_bytes / WEIGH_SHARE).min(CHAPTER_BYTES),
            unweighed_bytes: 0,
            looks_at: None,
            version: 0,
        }
    }

    /// Takes a head snapshot (the frame behind `Snapshot`): the live log goes on from here.
    ///
    /// An unknown epoch begins a new one: all that is open in the old one ends at the seam.
    ///
    /// # Errors
    /// If the frame cannot be read; the store is then as before.
    pub fn snapshot(&mut self, frame: &[u8]) -> Result<(), StoreError> {
        let (reader, opening) = ChapterReader::open(frame)?;
        self.version += 1;
        let state = opening.state;
        let known = self
            .epochs
            .iter()
            .position(|epoch| epoch.id == opening.epoch);
        let place = self.go_live(known, opening.log, opening.epoch);
        let epoch = &mut self.epochs[place];
        if epoch
            .live
            .as_ref()
            .is_none_or(|live| live.state.seq != state.seq)
        {
            epoch.end_live();
        }
        epoch.trace.go_live(&state, &mut self.names);
        epoch
            .chapters
            .retain(|chapter| chapter.first <= chapter.last);
        epoch.chapters.push(Chapter {
            first: state.seq.next(),
            last: state.seq,
            from: state.at,
            to: state.at,
            cut: None,
            bytes: frame.to_vec(),
        });
        epoch.live = Some(Live {
            reader,
            state,
            unread_layers: Some(opening.layers),
        });
        Ok(())
    }

    /// Takes the next live segment; returns how many records were in it.
    ///
    /// # Errors
    /// If there is no snapshot to go on from or the frame cannot be read; the page then connects anew.
    pub fn segment(&mut self, frame: &[u8]) -> Result<usize, StoreError> {
        let epoch = self.epochs.last_mut().ok_or(StoreError::NoSnapshot)?;
        let live = epoch.live.as_mut().ok_or(StoreError::NoSnapshot)?;
        let is_full = epoch
            .chapters
            .last()
            .is_some_and(|chapter| chapter.bytes.len() >= self.chapter_bytes);
        let reader = is_full.then(|| live.reader.clone());
        let first = live.reader.next_seq();
        if let Some(bytes) = live.unread_layers.take() {
            epoch.layers = live.reader.layers(&live.state, &bytes)?;
            let now = Moment {
                seq: live.state.seq,
                at: live.state.at,
            };
            epoch
                .layer_trace
                .seed(&epoch.layers, now, &mut self.layer_names);
        }
        let entries = live.reader.entries(frame)?;
        self.version += 1;
        if let Some(reader) = reader {
            if let Some(whole) = epoch.chapters.last_mut() {
                whole.bytes.shrink_to_fit();
            }
            // A live log goes on and on: what is held of it is cut, so that its oldest can be dropped alone.
            let at = live.state.at;
            let cut = LiveCut {
                reader,
                state: live.state.clone(),
                layers: epoch.layers.clone(),
            };
            epoch.chapters.push(Chapter {
                first,
                last: Seq(first.0 - 1),
                from: at,
                to: at,
                cut: Some(Box::new(cut)),
                bytes: Vec::new(),
            });
            epoch.trace.go_live(&live.state, &mut self.names);
        }
        let chapter = epoch.chapters.last_mut().ok_or(StoreError::NoSnapshot)?;
        for entry in entries.iter().flatten() {
            if live.state.seq == Seq(0) {
                chapter.from = entry.at();
            }
            match entry {
                Entry::Record(record) => {
                    epoch.trace.absorb(record, &mut live.state, &mut self.names);
                    self.notes.record(&epoch.log, &epoch.id, record);
                }
                Entry::Inside(record) => live.state.pass(record.seq, record.at),
            }
            epoch
                .layer_trace
                .absorb(entry, &mut epoch.layers, &mut self.layer_names);
            chapter.to = entry.at();
        }
        epoch.unknown += entries.iter().filter(|entry| entry.is_none()).count() as u64;
        chapter.last = Seq(live.reader.next_seq().0 - 1);
        live.state.seq = chapter.last;
        make_space(&mut chapter.bytes, frame.len());
        chapter.bytes.extend_from_slice(frame);
        self.compare_over_seams();
        self.make_room(frame.len());
        Ok(entries.len())
    }

    /// Takes a chapter of the past (the frames behind `Chapter`); returns how many of its records were new.
    ///
    /// Some of it may be held already: the server cuts chapters by their size, the page holds what came live between
    /// one snapshot and the next.
    ///
    /// # Errors
    /// If it cannot be read, or is of an epoch the store does not have; the store then shows the same as before, and may
    /// have numbers for names that it met.
    pub fn chapter(&mut self, bytes: &[u8]) -> Result<usize, StoreError> {
        let new = self.take_chapter(bytes)?;
        if new > 0 {
            self.compare_over_seams();
            self.make_room(bytes.len());
        }
        Ok(new)
    }

    fn take_chapter(&mut self, bytes: &[u8]) -> Result<usize, StoreError> {
        self.names.await_many();
        let taken = self.read_chapter(bytes);
        self.names.settle();
        taken
    }

    fn read_chapter(&mut self, bytes: &[u8]) -> Result<usize, StoreError> {
        let (head, mut rest) = split_frame(bytes)?;
        let (mut reader, opening) = ChapterReader::open_frame(head)?;
        let mut layers = reader.layers(&opening.state, &opening.layers)?;
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest)?;
            frames.push(frame);
            rest = after;
        }
        let last_frame = frames.last().copied();
        let end = last_frame.map_or(Ok(reader.next_seq()), ChapterReader::end_of)?;
        let epoch = self
            .epochs
            .iter_mut()
            .find(|epoch| epoch.id == opening.epoch)
            .ok_or_else(|| StoreError::UnknownEpoch(opening.epoch.clone()))?;
        let mut state = opening.state;
        let (first, last) = epoch.room_for(state.seq.next(), Seq(end.0.saturating_sub(1)));
        // What is held of it stays as it is, and is only folded.
        let held: Vec<(Seq, Seq)> = epoch
            .chapters
            .iter()
            .map(|chapter| (chapter.first, chapter.last))
            .filter(|held| first <= held.0 && held.0 <= held.1 && held.1 <= last)
            .collect();
        let held_count: u64 = held.iter().map(|held| held.1.0 + 1 - held.0.0).sum();
        let new = (last.0 + 1).saturating_sub(first.0) - held_count;
        let (mut from, mut to, mut unknown) = (None, state.at, 0);
        // Folded as it is decoded: all of a chapter at once takes 20 MB.
        let (mut runs, mut run) = (Vec::new(), None);
        // Taken in once all of it is read: what cannot be read changes nothing.
        let mut notes = Vec::new();
        let mut seq = state.seq;
        for frame in frames {
            for entry in reader.frame_entries(frame)? {
                seq = seq.next();
                let is_new = first <= seq
                    && seq <= last
                    && !held.iter().any(|held| held.0 <= seq && seq <= held.1);
                let Some(entry) = entry else {
                    unknown += u64::from(is_new);
                    continue;
                };
                if from.is_none() && seq >= first {
                    from = Some(if state.seq == Seq(0) {
                        entry.at()
                    } else {
                        state.at
                    });
                }
                if seq <= last {
                    to = entry.at();
                }
                if !is_new {
                    runs.extend(run.take());
                    layers.apply(&entry);
                    match entry {
                        Entry::Record(record) => state.apply(&record),
                        Entry::Inside(record) => state.pass(record.seq, record.at),
                    }
                    continue;
                }
                let (trace, layer_trace) = run.get_or_insert_with(|| {
                    let mut layer_trace = LayerTrace::default();
                    let now = Moment {
                        seq: state.seq,
                        at: state.at,
                    };
                    layer_trace.seed(&layers, now, &mut self.layer_names);
                    (Trace::seeded(&state, &mut self.names), layer_trace)
                });
                layer_trace.absorb(&entry, &mut layers, &mut self.layer_names);
                match entry {
                    Entry::Record(record) => {
                        notes.extend(KeptNote::of(&epoch.log, &epoch.id, &record));
                        trace.absorb(&record, &mut state, &mut self.names);
                    }
                    Entry::Inside(record) => state.pass(record.seq, record.at),
                }
            }
        }
        if new == 0 {
            return Ok(0);
        }
        self.version += 1;
        self.notes.extend(notes);
        epoch.unknown += unknown;
        runs.extend(run);
        for (mut trace, layer_trace) in runs {
            trace.freeze(to);
            epoch.merge((trace, layer_trace));
        }
        epoch
            .chapters
            .retain(|chapter| !held.contains(&(chapter.first, chapter.last)));
        let place = epoch
            .chapters
            .partition_point(|chapter| chapter.first < first);
        epoch.chapters.insert(
            place,
            Chapter {
                first,
                last,
                from: from.unwrap_or(to),
                to,
                cut: None,
                bytes: bytes.to_vec(),
            },
        );
        Ok(usize::try_from(new).unwrap_or(usize::MAX))
    }

    /// The server keeps records from `first` on, taken at `at` (of `Welcome` and `Heartbeat`). It never gets back what
    /// it dropped.
    pub fn ring_begins(&mut self, epoch: &EpochId, first: Seq, at: Time) {
        let epoch = self.epochs.iter_mut().find(|other| other.id == *epoch);
        if let Some(epoch) = epoch
            && epoch.ring_first.is_none_or(|known| known.0 <= first)
            && epoch.ring_first != Some((first, at))
        {
            epoch.ring_first = Some((first, at));
            self.version += 1;
        }
    }

    /// Changes whenever the picture may.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The fold at the head of the live log.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        self.epochs.last()?.live.as_ref().map(|live| &live.state)
    }

    /// What `Hello` tells: log, epoch and the last record of the last whole segment.
    #[must_use]
    pub fn resume_point(&self) -> Option<(LogId, EpochId, Seq)> {
        let epoch = self.epochs.last()?;
        let live = epoch.live.as_ref()?;
        Some((
            epoch.log.clone(),
            epoch.id.clone(),
            Seq(live.reader.next_seq().0 - 1),
        ))
    }

    /// A record, decoded anew from its chapter; nothing if it is not here, or of the inside.
    #[must_use]
    pub fn record(&self, id: RecordId) -> Option<Record> {
        self.entry(id)?.into_record()
    }

    /// What stands at a place of the log, decoded anew from its chapter; nothing if it is not here.
    #[must_use]
    pub fn entry(&self, id: RecordId) -> Option<Entry> {
        let epoch = self.epoch(id.epoch)?;
        let chapter = epoch
            .chapters
            .iter()
            .find(|chapter| chapter.first <= id.seq && id.seq <= chapter.last)?;
        let (mut reader, mut rest) = match &chapter.cut {
            Some(cut) => (cut.reader.clone(), chapter.bytes.as_slice()),
            None => {
                let (head, rest) = split_frame(&chapter.bytes).ok()?;
                (ChapterReader::open(head.bytes).ok()?.0, rest)
            }
        };
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest).ok()?;
            let first = reader.next_seq();
            let entries = reader.entries(frame.bytes).ok()?;
            if reader.next_seq() > id.seq {
                let place = usize::try_from(id.seq.0.checked_sub(first.0)?).ok()?;
                return entries.into_iter().nth(place)?;
            }
            rest = after;
        }
        None
    }

    /// Whether what stands at a place of the log is here.
    #[must_use]
    pub fn has(&self, id: RecordId) -> bool {
        let epoch = self.epoch(id.epoch);
        epoch.is_some_and(|epoch| epoch.has_record(id.seq))
    }

    /// The folds of all records up to one, that of the inside too; nothing if what it takes is no longer here.
    #[must_use]
    pub fn fold_at(&self, id: RecordId) -> Option<(State, Layers)> {
        let mut chapters = self.epoch(id.epoch)?.chapters.iter();
        let chapter = chapters.find(|chapter| chapter.first <= id.seq && id.seq <= chapter.last)?;
        chapter.fold_while(|entry, _| entry.seq() <= id.seq)
    }

    /// The same at the head of the live log.
    #[must_use]
    pub fn live_fold(&self) -> Option<(State, Layers)> {
        let epoch = self.epochs.last()?;
        let live = epoch.live.as_ref()?;
        Some((live.state.clone(), epoch.layers.clone()))
    }

    /// Records of kinds that this build does not know, written by a later one: they are held, but nothing of them is
    /// drawn.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.unknown).sum()
    }

    /// The epoch of a record, for requests about it.
    #[must_use]
    pub fn epoch_of(&self, id: RecordId) -> Option<&EpochId> {
        self.epoch(id.epoch).map(|epoch| &epoch.id)
    }

    /// A lane's watch and object, by name.
    #[must_use]
    pub fn lane_names(&self, lane: LaneId) -> (Option<&WatchName>, Option<&Object>) {
        let watch = lane.watch().map(|watch| self.names.watch_name(watch));
        let object = match lane {
            LaneId::Object(watch, object) => Some(&**self.names.object_at(watch, object)),
            _ => None,
        };
        (watch, object)
    }

    /// A lane's name, the same for as long as it lives: tests, links and lessons find it by it.
    #[must_use]
    pub fn lane_key(&self, lane: LaneId) -> String {
        let (watch, object) = self.lane_names(lane);
        let watch = watch.map_or("", |watch| watch.as_str());
        match (lane, object) {
            (LaneId::Findings, _) => "findings".to_owned(),
            (LaneId::Asides, _) => "own requests".to_owned(),
            (LaneId::Layer(layer), _) => match self.layer_name(layer) {
                Some(name) => name.to_string(),
                None => String::new(),
            },
            (LaneId::Connection(_), _) => match self.lane_server(lane) {
                Some(server) => format!("connection {server}"),
                None => String::new(),
            },
            (LaneId::More(_), _) => format!("{watch} more"),
            (LaneId::Quiet, _) => "quiet watches".to_owned(),
            (LaneId::Version(_), _) => format!("{watch} resourceVersion"),
            (_, Some(object)) => {
                let namespace = object.namespace.as_deref().unwrap_or("-");
                format!("{watch} {namespace}/{}", object.name)
            }
            _ => watch.to_owned(),
        }
    }

    /// A record of the newest epoch.
    #[must_use]
    pub fn newest(&self, seq: Seq) -> RecordId {
        let epoch = self.newest_epoch().unwrap_or(0);
        RecordId { epoch, seq }
    }

    /// The server that a lane of connections leads to.
    #[must_use]
    pub fn lane_server(&self, lane: LaneId) -> Option<&Text> {
        match lane {
            LaneId::Connection(server) => Some(self.names.server_name(server)),
            _ => None,
        }
    }

    /// The lane of an object of a watch, if it was ever met.
    #[must_use]
    pub fn find_lane(
        &self,
        watch: &WatchName,
        object: Option<&std::sync::Arc<Object>>,
    ) -> Option<LaneId> {
        let watch = self.names.find_watch(watch)?;
        match object {
            Some(object) => Some(LaneId::Object(
                watch,
                self.names.find_object(watch, object)?,
            )),
            None => Some(LaneId::Watch(watch)),
        }
    }

    /// The version of an object before the one a record brought: for the difference in the detail panel.
    #[must_use]
    pub fn previous_of_object(&self, lane: LaneId, id: RecordId) -> Option<RecordId> {
        let LaneId::Object(watch, object) = lane else {
            return None;
        };
        let (trace, marks) = self.object_marks(id.epoch, watch, object)?;
        let place = marks
            .partition_point(|&mark| trace.marks.seq(mark as usize) < id.seq)
            .checked_sub(1)?;
        Some(RecordId {
            epoch: id.epoch,
            seq: trace.marks.seq(marks[place] as usize),
        })
    }

    /// The record after (`forward`) or before `id` in a lane: an object's change, any mark of a watch, what opened a
    /// connection, what moved the resourceVersion.
    #[must_use]
    pub fn neighbour(&self, lane: LaneId, id: RecordId, forward: bool) -> Option<RecordId> {
        let seqs = self.lane_seqs(lane, id.epoch)?;
        let place = if forward {
            seqs.partition_point(|&seq| seq <= id.seq)
        } else {
            seqs.partition_point(|&seq| seq < id.seq).checked_sub(1)?
        };
        seqs.get(place).map(|&seq| RecordId {
            epoch: id.epoch,
            seq,
        })
    }

    /// The last record in a lane at or before a time.
    #[must_use]
    pub fn last_before(&self, lane: LaneId, at: Time) -> Option<RecordId> {
        let epochs = self.epochs.iter().rev();
        epochs.map(|epoch| epoch.number).find_map(|epoch| {
            let seqs = self.lane_seqs(lane, epoch)?;
            let place = seqs.partition_point(|&seq| {
                self.at_of(lane, epoch, seq)
                    .is_some_and(|other| other <= at)
            });
            place.checked_sub(1).map(|place| RecordId {
                epoch,
                seq: seqs[place],
            })
        })
    }

    /// The time of a mark in a lane.
    fn at_of(&self, lane: LaneId, epoch: u32, seq: Seq) -> Option<Time> {
        let of = self.epoch(epoch)?;
        let trace = &of.trace;
        if let LaneId::Layer(layer) = lane {
            let levels = of.layer_trace.levels(layer);
            let point = levels.iter().find(|point| point.moment.seq == seq)?;
            return Some(point.moment.at);
        }
        if let LaneId::Connection(_) = lane {
            return trace.connections.get(seq).map(|span| span.start.at);
        }
        match lane.watch() {
            Some(watch) => {
                let marks = &trace.watch(watch)?.marks;
                let place = marks.place_of(seq);
                (place < marks.len()).then(|| marks.at(place))
            }
            None => trace
                .raised
                .iter()
                .find(|raised| raised.seq == seq)
                .map(|raised| raised.at),
        }
    }

    fn lane_seqs(&self, lane: LaneId, epoch: u32) -> Option<Vec<Seq>> {
        let of = self.epoch(epoch)?;
        let trace = &of.trace;
        Some(match lane {
            LaneId::Findings => trace.raised.iter().map(|raised| raised.seq).collect(),
            LaneId::Asides => trace.asides.iter().map(|aside| aside.moment.seq).collect(),
            LaneId::Layer(layer) => {
                let levels = of.layer_trace.levels(layer);
                levels.iter().map(|point| point.moment.seq).collect()
            }
            LaneId::Object(watch, object) => {
                let (trace, marks) = self.object_marks(epoch, watch, object)?;
                marks
                    .iter()
                    .map(|&mark| trace.marks.seq(mark as usize))
                    .collect()
            }
            LaneId::Connection(server) => {
                let remote = self.names.server_name(server);
                let spans = trace.connections.all().iter();
                spans
                    .filter(|span| span.what.remote == *remote)
                    .map(|span| span.start.seq)
                    .collect()
            }
            LaneId::More(_) | LaneId::Quiet => Vec::new(),
            LaneId::Watch(watch) => {
                let marks = &trace.watch(watch)?.marks;
                (0..marks.len()).map(|place| marks.seq(place)).collect()
            }
            LaneId::Version(watch) => {
                let marks = &trace.watch(watch)?.marks;
                (0..marks.len())
                    .filter(|&place| marks.kind(place).moves_version())
                    .map(|place| marks.seq(place))
                    .collect()
            }
        })
    }

    fn object_marks(
        &self,
        epoch: u32,
        watch: WatchId,
        object: ObjectId,
    ) -> Option<(&WatchTrace, &[u32])> {
        let trace = self.epoch(epoch)?.trace.watch(watch)?;
        Some((trace, &trace.objects.get(object.0 as usize)?.marks))
    }

    /// How many records are loaded.
    #[must_use]
    pub fn records(&self) -> u64 {
        let chapters = self.epochs.iter().flat_map(|epoch| &epoch.chapters);
        chapters
            .map(|chapter| {
                chapter
                    .last
                    .0
                    .saturating_add(1)
                    .saturating_sub(chapter.first.0)
            })
            .sum()
    }

    /// About how many bytes are held, encoded chapters included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.epochs.iter().map(Epoch::bytes).sum()
    }

    /// The time of the last record.
    #[must_use]
    pub fn head_at(&self) -> Option<Time> {
        self.epochs
            .last()?
            .chapters
            .last()
            .map(|chapter| chapter.to)
    }

    /// The newest record there is.
    #[must_use]
    pub fn head(&self) -> Option<RecordId> {
        let epoch = self.newest_epoch()?;
        let seq = self.state()?.seq;
        Some(RecordId { epoch, seq })
    }

    /// The last line of a narrator, with its record.
    #[must_use]
    pub fn last_note(&self) -> Option<(RecordId, Time, &str)> {
        let epoch = self.epochs.last()?;
        let (moment, text) = epoch.trace.notes.last()?;
        Some((
            RecordId {
                epoch: epoch.number,
                seq: moment.seq,
            },
            moment.at,
            text,
        ))
    }

    /// When a story was over, if one was: of the last epoch, as far as it is loaded.
    #[must_use]
    pub fn story_over(&self) -> Option<Time> {
        let over = self.epochs.last()?.trace.story_over?;
        Some(over.at)
    }

    /// The end of the picture of a story that is over: the story's own end, or the last finding within 60 s after it.
    /// Some failures of a story are found only after its last deed.
    #[must_use]
    pub fn story_shown_until(&self) -> Option<Time> {
        const FOUND_LATER_US: i64 = 60_000_000;
        let over = self.story_over()?;
        let raised = self.state()?.findings.values();
        raised
            .map(|open| open.last_raised.unwrap_or(open.since).at)
            .filter(|at| at.micros_since(over) <= FOUND_LATER_US)
            .chain([over])
            .max()
    }

    /// When something last happened, as the head knows: a change that a stream delivered, a broken stream, a gap, or a
    /// finding that stands.
    #[must_use]
    pub fn last_news(&self) -> Option<Time> {
        let state = self.state()?;
        let changes = state.watches.values().filter_map(|watch| watch.last_change);
        let findings = state.findings.values().map(|open| open.since);
        changes.chain(findings).map(|moment| moment.at).max()
    }

    /// All runs, the oldest first.
    pub(crate) fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// A run by the number that [`RecordId`]s name it by.
    pub(crate) fn epoch(&self, number: u32) -> Option<&Epoch> {
        self.epochs.iter().find(|epoch| epoch.number == number)
    }

    /// The number of a run.
    #[must_use]
    pub fn number_of(&self, id: &EpochId) -> Option<u32> {
        let epoch = self.epochs.iter().find(|epoch| epoch.id == *id)?;
        Some(epoch.number)
    }

    /// The number of the newest run.
    pub(crate) fn newest_epoch(&self) -> Option<u32> {
        self.epochs.last().map(|epoch| epoch.number)
    }

    /// What each epoch has of a watch.
    pub(crate) fn watch_traces(&self, watch: WatchId) -> Vec<&WatchTrace> {
        let epochs = self.epochs.iter();
        epochs
            .filter_map(|epoch| epoch.trace.watch(watch))
            .collect()
    }

    pub(crate) fn layer_names(&self) -> &LayerNames {
        &self.layer_names
    }

    /// A layer's name, as tests and links find it.
    #[must_use]
    pub fn layer_name(&self, layer: LayerId) -> Option<&Text> {
        self.layer_names.name(layer)
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Lets go of chapters while more than the budget is held: first of those of earlier runs that are not looked at, which
    /// can be loaded again, then of the oldest. The newest stays, and so does what is looked at: with that up to a third more
    /// than the budget may be held.
    fn make_room(&mut self, taken_bytes: usize) {
        self.unweighed_bytes += taken_bytes;
        if self.unweighed_bytes < self.budget_bytes / WEIGH_SHARE {
            return;
        }
        self.unweighed_bytes = 0;
        while self.bytes() > self.budget_bytes {
            if !self.unload() && !self.drop_oldest() {
                return;
            }
        }
    }

    /// Drops the oldest chapter that may go; returns whether there was one beside the newest.
    fn drop_oldest(&mut self) -> bool {
        // What a person looks at stays, as long as it is a small part.
        let stays = self
            .looks_at
            .filter(|&(from, to)| self.shown_bytes(from, to) <= self.budget_bytes / SHOWN_SHARE);
        let can_go = |epoch: &&mut Epoch| {
            let is_newest = epoch.live.is_some() && epoch.chapters.len() == 1;
            let oldest = epoch.chapters.first().filter(|_| !is_newest);
            oldest.is_some_and(|chapter| !stays.is_some_and(|at| chapter.is_within(at)))
        };
        let Some(epoch) = self.epochs.iter_mut().find(can_go) else {
            return false;
        };
        let oldest = epoch.chapters.remove(0);
        epoch.trace.forget(oldest.last, oldest.to);
        epoch.layer_trace.forget(oldest.last);
        // What the server still has is loaded again when it is looked at.
        if !epoch.is_kept(oldest.last) {
            epoch.dropped = epoch.dropped.max(Some((oldest.last, oldest.to)));
        }
        self.let_notes_go();
        true
    }
}

impl Chapter {
    /// The folds of all records before it, and of its own as long as they are `wanted`, which gets the fold before each. Reads
    /// it up to there.
    fn fold_while(
        &self,
        mut wanted: impl FnMut(&Entry, &State) -> bool,
    ) -> Option<(State, Layers)> {
        let (mut reader, mut state, mut layers, mut rest) = match &self.cut {
            Some(cut) => {
                let LiveCut {
                    reader,
                    state,
                    layers,
                } = (**cut).clone();
                (reader, state, layers, self.bytes.as_slice())
            }
            None => {
                let (head, rest) = split_frame(&self.bytes).ok()?;
                let (reader, opening) = ChapterReader::open(head.bytes).ok()?;
                let layers = reader.layers(&opening.state, &opening.layers).ok()?;
                (reader, opening.state, layers, rest)
            }
        };
        while !rest.is_empty() {
            let (frame, after) = split_frame(rest).ok()?;
            for entry in reader.entries(frame.bytes).ok()?.iter().flatten() {
                if !wanted(entry, &state) {
                    return Some((state, layers));
                }
                layers.apply(entry);
                match entry {
                    Entry::Record(record) => state.apply(record),
                    Entry::Inside(record) => state.pass(record.seq, record.at),
                }
            }
            rest = after;
        }
        Some((state, layers))
    }

    /// About how many bytes it holds.
    fn held_bytes(&self) -> usize {
        self.bytes.capacity() + self.cut.as_ref().map_or(0, |cut| cut.bytes())
    }
}

impl Epoch {
    fn new(log: LogId, id: EpochId, number: u32, order: u64) -> Self {
        Self {
            log,
            id,
            number,
            order,
            catalogue: Vec::new(),
            chapters: Vec::new(),
            trace: Trace::default(),
            live: None,
            ring_first: None,
            dropped: None,
            unknown: 0,
            layers: Layers::default(),
            layer_trace: LayerTrace::default(),
        }
    }

    fn merge(&mut self, (trace, layers): (Trace, LayerTrace)) {
        // The first one needs no place among others.
        if self.chapters.is_empty() {
            (self.trace, self.layer_trace) = (trace, layers);
        } else {
            self.trace.merge(trace);
            self.layer_trace.merge(layers);
        }
    }

    /// The live log stops here: what is open is not known to last.
    fn end_live(&mut self) {
        if let Some(live) = self.live.take() {
            self.trace.freeze(live.state.at);
        }
    }

    /// What can be taken of a chapter from `first` to `last`: nothing that was dropped or that a chapter holds which
    /// reaches beyond it, and nothing that comes live.
    fn room_for(&self, first: Seq, last: Seq) -> (Seq, Seq) {
        let dropped = self.dropped.map_or(Seq(0), |(dropped, _)| dropped);
        let (mut from, mut to) = (first.max(dropped.next()), last);
        for (place, held) in self.chapters.iter().enumerate() {
            let is_live = self.live.is_some() && place + 1 == self.chapters.len();
            if is_live || (held.last > last && held.first <= last) {
                to = to.min(Seq(held.first.0 - 1));
            } else if held.first < first && held.last >= first {
                from = from.max(held.last.next());
            }
        }
        (from, to)
    }

    /// What [`RecordId`]s name it by.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether a record is here.
    pub(crate) fn has_record(&self, seq: Seq) -> bool {
        let mut chapters = self.chapters.iter();
        chapters.any(|chapter| chapter.first <= seq && seq <= chapter.last)
    }

    /// Whether all records from one to another are here; to the last one that is known, if `last` lies behind it.
    pub(crate) fn has_all(&self, first: Seq, last: Seq) -> bool {
        let mut reached = None;
        let chapters = self.chapters.iter().rev();
        for chapter in chapters.filter(|chapter| chapter.first <= last) {
            if reached.is_some_and(|reached| chapter.last.next() != reached) {
                return false;
            }
            if chapter.first <= first {
                return true;
            }
            reached = Some(chapter.first);
        }
        false
    }

    fn bytes(&self) -> usize {
        self.chapters.iter().map(Chapter::held_bytes).sum::<usize>()
            + self.trace.bytes()
            + self.layer_trace.bytes()
    }
}
