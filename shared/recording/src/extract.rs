//! An extract: a stretch of a log, or the records of some watches and clients in it, encoded anew after a snapshot of
//! its own.
//!
//! Records keep their seqs, because other records refer to them. A `loss` record (with the place `withheld`) replaces
//! each record that is left out. The first of consecutive `loss` records with the same reason states the number of
//! left-out records and their first and last seq. The further `loss` records have count 0. All of these have the time
//! of the first left-out record.
//!
//! Names are hidden here, once for all uses of the extract: in the opening snapshot, and in each record.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use watchscope_hiding::Hide;
use watchscope_model::chapter::{ChapterReader, ChapterWriter, Fold, Opening};
use watchscope_model::codec::DecodeError;
use watchscope_model::event::{Finding, Loss};
use watchscope_model::vocabulary::LossPlace;
use watchscope_model::{
    Entry, EpochId, Event, Layers, LogId, Record, Seq, State, Text, Time, WatchName,
};

use crate::chapter::Frames;
use crate::error::ExtractError;

/// The number of records at which a segment is sealed; the record that reaches this number is the segment's last. The
/// number is the log's own (`SEAL_RECORDS` in shared/log/src/sealer.rs), and has no other source.
const SEAL_RECORDS: u64 = 256;
/// The bytes of records and definitions at which a segment is sealed; the record that reaches this number is the
/// segment's last. The number is the log's own (`SEAL_BYTES` in shared/log/src/sealer.rs), with which most segments fit
/// in one wire message.
const SEAL_BYTES: usize = 60 << 10;
/// A chapter closes when its segments have more bytes than this number and than its opening. The number is the log's
/// own (`CHAPTER_BYTES` in shared/log/src/sealer.rs), and has no other source. The snapshot of a full chapter therefore
/// takes less than half of it; the last chapter of an extract may be smaller than its snapshot.
const CHAPTER_BYTES: usize = 1 << 20;

/// A stretch of the log: from one record to another, or from one time to another. A stretch is empty if its end lies
/// before its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// All records from one seq to another. Each run of the log's writer has its own seqs, and the bounds hold in every
    /// run.
    Seqs {
        /// Seq of the first record.
        first: Seq,
        /// Seq of the last record, which is included.
        last: Seq,
    },
    /// All records from one time to another.
    Times {
        /// The start of the stretch, which is included.
        from: Time,
        /// The end of the stretch, which is included.
        to: Time,
    },
}

impl Stretch {
    /// Returns whether a record lies before the stretch (`Less`), in it (`Equal`), or after it (`Greater`).
    fn place(self, seq: Seq, at: Time) -> Ordering {
        let (is_before, is_behind) = match self {
            Self::Seqs { first, last } => (seq < first, seq > last),
            Self::Times { from, to } => (at < from, at > to),
        };
        match (is_before, is_behind) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// The watches and client programs whose records are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// All records whose kinds this build knows, inside records included; records of other kinds are left out.
    All,
    /// The records about these watches and clients, and those about no watch and no client, such as cluster,
    /// connections, clock, and notes without a watch. A finding without a single watch and without a client is kept if
    /// its `names` are empty or have one of these watches. Inside records of a simulated cluster are left out.
    Only {
        /// Names of watches; may be empty. Records of watchscope's own requests about one of these watches are kept,
        /// too.
        watches: BTreeSet<WatchName>,
        /// Names of client programs; may be empty.
        clients: BTreeSet<Text>,
    },
}

impl Lanes {
    fn keeps_watch(&self, name: &WatchName) -> bool {
        match self {
            Self::All => true,
            Self::Only { watches, .. } => {
                watches.contains(name) || name.about().is_some_and(|about| watches.contains(&about))
            }
        }
    }

    fn keeps_client(&self, name: &Text) -> bool {
        match self {
            Self::All => true,
            Self::Only { clients, .. } => clients.contains(name),
        }
    }

    fn keeps_finding(&self, finding: &Finding) -> bool {
        if let Some(watch) = &finding.watch {
            return self.keeps_watch(watch);
        }
        if let Some(client) = &finding.client {
            return self.keeps_client(client);
        }
        finding.names.is_empty() || finding.names.iter().any(|name| self.keeps_watch(name))
    }

    /// Returns whether a record of this event is kept. Inside records are not decided here; only [`Lanes::All`] keeps
    /// them.
    #[must_use]
    pub fn keeps(&self, event: &Event) -> bool {
        match event {
            Event::Finding(finding) => self.keeps_finding(finding),
            Event::ClientStarted(event) => self.keeps_client(&event.client),
            Event::ClientRequest(event) => self.keeps_client(&event.client),
            Event::ClientReport(event) => self.keeps_client(&event.client),
            event => event.watch().is_none_or(|watch| self.keeps_watch(watch)),
        }
    }

    /// Narrows a fold to these watches, and to the findings that are kept. Connections and the cluster stay.
    fn narrow(&self, state: State) -> State {
        if *self == Self::All {
            return state;
        }
        let watches = state.watches.iter();
        let findings = state.findings.iter();
        State {
            watches: watches
                .filter(|(name, _)| self.keeps_watch(name))
                .map(|(name, watch)| (name.clone(), watch.clone()))
                .collect(),
            findings: findings
                .filter(|(_, open)| self.keeps_finding(&open.finding))
                .map(|(key, open)| (key.clone(), open.clone()))
                .collect(),
            ..state
        }
    }
}

/// A chapter of an extract, to be passed to [`Writer::whole_chapter`](crate::Writer::whole_chapter).
///
/// A chapter closes after the segment with which its segments exceed both 1 MiB and the size of its head frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Out {
    /// The chapter's head frame: the snapshot before its first record, with names hidden. The snapshot keeps only the
    /// chosen watches, and the findings that [`Lanes::Only`] keeps; connections and the cluster stay.
    pub head: Vec<u8>,
    /// The chapter's segment frames, in order; at least one if an [`Extract`] made the chapter.
    pub segments: Vec<Vec<u8>>,
    /// The kept records of the log, as pairs of first and last seq, both included. The pairs rise and are not adjacent.
    /// Empty if the chapter has only `loss` records that replace others. Bodies of kept records may be written with the
    /// chapter; all other records of the log are left out.
    pub kept: Vec<(Seq, Seq)>,
}

impl Out {
    fn opening(head: Vec<u8>) -> Self {
        Self {
            head,
            ..Self::default()
        }
    }

    fn keep(&mut self, seq: Seq) {
        match self.kept.last_mut() {
            Some((_, last)) if last.next() == seq => *last = seq,
            _ => self.kept.push((seq, seq)),
        }
    }

    /// Returns whether the log's record with this seq is kept.
    #[must_use]
    pub fn keeps(&self, seq: Seq) -> bool {
        let place = self.kept.partition_point(|(_, last)| *last < seq);
        self.kept.get(place).is_some_and(|(first, _)| *first <= seq)
    }
}

/// The machine that makes an extract from chapters of one log, normally of one run of its writer.
///
/// The machine holds the fold and the chapter being made. After a hole between two chapters, it opens a chapter with a
/// snapshot of its own. For a chapter of another log or run, it opens one, too. Where two chapters overlap, it takes
/// each record from the chapter that came first.
#[derive(Debug)]
pub struct Extract {
    stretch: Stretch,
    lanes: Lanes,
    hider: Option<Box<dyn Hide>>,
    run: Option<Run>,
    is_over: bool,
    is_empty: bool,
}

impl Extract {
    /// Makes a machine for a stretch and the watches and clients of `lanes`. It hides no names.
    #[must_use]
    pub fn new(stretch: Stretch, lanes: Lanes) -> Self {
        Self {
            stretch,
            lanes,
            hider: None,
            run: None,
            is_over: false,
            is_empty: true,
        }
    }

    /// Hides parts of the result with `hider`; `None` hides nothing. Call this before the first chapter: it does not
    /// change chapters that were taken in.
    #[must_use]
    pub fn hiding(self, hider: Option<Box<dyn Hide>>) -> Self {
        Self { hider, ..self }
    }

    /// Returns whether a record after the stretch came. Later chapters are then not needed, and no record of them is
    /// taken in. After the last record of the stretch it is still `false`.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes in the next chapter; returns the chapters of the extract that are complete, which may be none. The first
    /// chapter must hold the first record of the stretch, or an earlier record. If it begins later, the extract begins
    /// with that chapter.
    ///
    /// # Errors
    /// [`ExtractError::Frame`] if a frame cannot be read or does not follow. The records before that frame stay taken
    /// in. Chapters of the extract that this call completed after a hole, or of another run, are lost.
    pub fn chapter(&mut self, frames: &Frames) -> Result<Vec<Out>, ExtractError> {
        let opened = ChapterReader::open(frames.head());
        let opened = opened.map_err(|error| ExtractError::Frame {
            first: Seq(0),
            error,
        })?;
        let first = opened.0.next_seq();
        let done = self.opened(opened, frames);
        done.map_err(|error| ExtractError::Frame { first, error })
    }

    /// Like [`Self::chapter`], for a chapter whose head frame was already read. The error is the decoder's.
    pub(crate) fn opened(
        &mut self,
        (mut reader, opening): (ChapterReader, Opening),
        frames: &Frames,
    ) -> Result<Vec<Out>, DecodeError> {
        let mut done = Vec::new();
        let mut next = reader.next_seq();
        let follows = self.run.as_ref().is_some_and(|run| {
            next <= run.next() && run.log == opening.log && run.epoch == opening.epoch
        });
        if !follows {
            if let Some(run) = self.run.take() {
                done.extend(run.finish());
            }
            let layers = reader.layers(&opening.state, &opening.layers)?;
            self.run = Some(Run {
                log: opening.log,
                epoch: opening.epoch,
                state: opening.state,
                layers,
                pending: None,
                making: None,
                done: Vec::new(),
            });
        }
        let Some(run) = &mut self.run else {
            return Ok(done);
        };
        for segment in frames.segments() {
            if self.is_over {
                break;
            }
            for entry in reader.entries(segment)? {
                let seq = next;
                next = seq.next();
                if seq < run.next() {
                    continue;
                }
                let at = match &entry {
                    Some(Entry::Record(record)) => record.at,
                    Some(Entry::Inside(record)) => record.at,
                    None => run.at(),
                };
                match self.stretch.place(seq, at) {
                    Ordering::Less => run.fold(entry.as_ref(), seq, at),
                    Ordering::Equal => {
                        self.is_empty = false;
                        run.take(entry, seq, at, &self.lanes, self.hider.as_deref_mut());
                    }
                    Ordering::Greater => {
                        self.is_over = true;
                        break;
                    }
                }
            }
        }
        done.append(&mut run.done);
        Ok(done)
    }

    /// Returns the fold after the last record taken from the stretch, narrowed to the kept watches and findings; `None`
    /// before the first record.
    pub(crate) fn state(&self) -> Option<&State> {
        let run = self.run.as_ref()?;
        run.making.as_ref().map(|_| &run.state)
    }

    /// Ends the extract; returns the remaining chapters, in order. The result is empty if [`Extract::chapter`] already
    /// returned all chapters.
    ///
    /// # Errors
    /// [`ExtractError::Empty`] if no record was in the stretch. Records in the stretch that were left out count as
    /// records.
    pub fn finish(self) -> Result<Vec<Out>, ExtractError> {
        if self.is_empty {
            return Err(ExtractError::Empty);
        }
        Ok(self.run.map_or(Vec::new(), Run::finish))
    }
}

/// Consecutive records without a hole.
#[derive(Debug)]
struct Run {
    log: LogId,
    epoch: EpochId,
    /// Before the stretch, it is the fold of all records; within the stretch, the fold of the kept records.
    state: State,
    layers: Layers,
    /// Records that are left out and whose `loss` records are not yet written.
    pending: Option<Pending>,
    /// The chapter being made; `None` before the first record of the stretch.
    making: Option<Making>,
    done: Vec<Out>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    first: Seq,
    count: u64,
    at: Time,
    /// Whether the records are left out because this version does not know their kinds.
    is_unknown: bool,
}

#[derive(Debug)]
struct Making {
    writer: ChapterWriter,
    out: Out,
    segment_bytes: usize,
}

impl Run {
    /// Returns the seq of the next record.
    fn next(&self) -> Seq {
        let pending = self.pending.map_or(0, |pending| pending.count);
        Seq(self.state.seq.0.saturating_add(pending).saturating_add(1))
    }

    /// Returns the time of the last record.
    fn at(&self) -> Time {
        self.pending.map_or(self.state.at, |pending| pending.at)
    }

    /// Takes in a record before the stretch.
    fn fold(&mut self, entry: Option<&Entry>, seq: Seq, at: Time) {
        match entry {
            Some(Entry::Record(record)) => self.state.apply(record),
            _ => self.state.pass(seq, at),
        }
        if let Some(entry) = entry {
            self.layers.apply(entry);
        }
    }

    /// Takes in a record of the stretch.
    fn take(
        &mut self,
        entry: Option<Entry>,
        seq: Seq,
        at: Time,
        lanes: &Lanes,
        mut hider: Option<&mut (dyn Hide + 'static)>,
    ) {
        self.begin(lanes, hider.as_deref_mut());
        let is_unknown = entry.is_none();
        let kept = entry.filter(|entry| match entry {
            Entry::Record(record) => lanes.keeps(&record.event),
            Entry::Inside(_) => *lanes == Lanes::All,
        });
        let Some(mut entry) = kept else {
            self.leave_out(seq, at, is_unknown);
            return;
        };
        self.write_pending();
        if let Some(making) = &mut self.making {
            making.out.keep(seq);
        }
        if let Some(hider) = hider {
            hider.entry(&mut entry);
        }
        self.push(&entry, lanes);
    }

    /// Opens the first chapter with the fold, narrowed to the watches and findings of `lanes`, unless a chapter is
    /// open.
    fn begin(&mut self, lanes: &Lanes, hider: Option<&mut (dyn Hide + 'static)>) {
        if self.making.is_some() {
            return;
        }
        self.state = lanes.narrow(std::mem::take(&mut self.state));
        if *lanes != Lanes::All {
            self.layers = Layers::default();
        }
        let mut log = self.log.clone();
        if let Some(hider) = hider {
            hider.opening(&mut self.state, &mut self.layers);
            hider.log(&mut log);
        }
        let fold = Fold::new(&self.state, &self.layers);
        let (writer, head) = ChapterWriter::open(log, self.epoch.clone(), fold);
        self.making = Some(Making {
            writer,
            out: Out::opening(head),
            segment_bytes: 0,
        });
    }

    fn leave_out(&mut self, seq: Seq, at: Time, is_unknown: bool) {
        if let Some(pending) = &mut self.pending
            && pending.is_unknown == is_unknown
        {
            pending.count += 1;
            return;
        }
        self.write_pending();
        self.pending = Some(Pending {
            first: seq,
            count: 1,
            at,
            is_unknown,
        });
    }

    fn write_pending(&mut self) {
        let Some(pending) = self.pending.take() else {
            return;
        };
        let Pending {
            first,
            count,
            at,
            is_unknown,
        } = pending;
        for place in 0..count {
            let is_first = place == 0;
            let reason = (is_first && is_unknown)
                .then(|| "They are of a later version of watchscope.".to_owned());
            let loss = Loss {
                place: LossPlace::Withheld,
                count: if is_first { count } else { 0 },
                from_seq: is_first.then_some(first),
                to_seq: is_first.then(|| Seq(first.0.saturating_add(count - 1))),
                watch: None,
                bytes: None,
                reason,
                what: None,
            };
            let record = Record {
                seq: Seq(first.0.saturating_add(place)),
                at,
                event: loss.into(),
            };
            self.push(&Entry::Record(record), &Lanes::All);
        }
    }

    fn push(&mut self, entry: &Entry, lanes: &Lanes) {
        let Some(making) = &mut self.making else {
            return;
        };
        match entry {
            Entry::Record(record) => {
                making.writer.push(record);
                self.state.apply(record);
            }
            Entry::Inside(record) => {
                making.writer.push_inside(record);
                self.state.pass(record.seq, record.at);
            }
        }
        if *lanes == Lanes::All {
            self.layers.apply(entry);
        }
        let is_full =
            making.writer.open_count() >= SEAL_RECORDS || making.writer.open_bytes() >= SEAL_BYTES;
        if !is_full {
            return;
        }
        making.seal();
        if making.segment_bytes > CHAPTER_BYTES.max(making.out.head.len()) {
            let fold = Fold::new(&self.state, &self.layers);
            let head = making.writer.open_next(fold);
            let next = Out::opening(head);
            self.done.push(std::mem::replace(&mut making.out, next));
            making.segment_bytes = 0;
        }
    }

    fn finish(mut self) -> Vec<Out> {
        self.write_pending();
        if let Some(mut making) = self.making.take() {
            making.seal();
            if !making.out.segments.is_empty() {
                self.done.push(making.out);
            }
        }
        self.done
    }
}

impl Making {
    fn seal(&mut self) {
        if let Some(segment) = self.writer.seal() {
            self.segment_bytes += segment.len();
            self.out.segments.push(segment);
        }
    }
}
