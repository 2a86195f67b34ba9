//! The handle to a log: it appends, sends requests to the writer, and opens readers.

use std::fmt;
use std::sync::{Arc, Mutex};

use thiserror::Error;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use watchscope_diagnosis::audit::{Auditor, Read as AuditRead, Reply};
use watchscope_journal::CompareRequest;
use watchscope_log::{Catalogue, Ring, SealPace, Sealer};
use watchscope_model::event::Note;
use watchscope_model::vocabulary::NoteRefusal;
use watchscope_model::{
    EpochId, Inside, KeptNote, Layers, LogId, NoteKey, Notes, Seq, State, Time, WatchName,
};

use super::batch::Batch;
use super::bodies::{Bodies, BodyLookup, KeptBody};
use super::clock::{Clock, SystemClock};
use super::frames::FrameReader;
use super::ids::Ids;
use super::reader::{LogReader, Since};
use super::shared::{Progress, RingProgress, Shared, lock};
use super::writer::{Input, Writer};
use crate::metrics::{Exposition, families as f};

/// Default size of the ring, in bytes.
pub const RING_BYTES: u64 = 64 << 20;
/// Default size of the store of bodies, in bytes.
pub const BODY_BYTES: u64 = 160 << 20;
/// Most inputs in the writer's queue. If it is full, a caller that appends waits.
pub(super) const QUEUED_BATCHES: usize = 64;

/// The settings of a log.
pub struct LogConfig {
    /// The log's name; it has no dot.
    pub log: LogId,
    /// Size of the ring, in bytes.
    pub ring_bytes: u64,
    /// Size of the store of bodies, in bytes.
    pub body_bytes: u64,
    /// The time between two seals of segments.
    pub pace: SealPace,
    /// The log's clock.
    pub clock: Arc<dyn Clock>,
}

impl LogConfig {
    /// A log of the default sizes, on the machine's clock.
    #[must_use]
    pub fn new(log: LogId) -> Self {
        Self {
            log,
            ring_bytes: RING_BYTES,
            body_bytes: BODY_BYTES,
            pace: SealPace::FOR_VIEWERS,
            clock: Arc::new(SystemClock::start()),
        }
    }
}

/// Error: the log is closed, and nothing more can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the log is closed")]
pub struct LogClosed;

/// Error: the operating system has no random bytes for the name of the epoch.
#[derive(Debug, Error)]
#[error("the operating system gives no random bytes to name this run with")]
pub struct NoEpoch(#[source] getrandom::Error);

/// A handle to the log; cheap to clone. The writer ends when [`LogHandle::close`] is called or the last handle is dropped.
#[derive(Clone)]
pub struct LogHandle {
    shared: Arc<Shared>,
    inputs: mpsc::Sender<Input>,
}

impl fmt::Debug for LogHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut handle = f.debug_struct("LogHandle");
        handle.field("log", &self.shared.log);
        handle
            .field("epoch", &self.shared.epoch)
            .finish_non_exhaustive()
    }
}

impl LogHandle {
    /// Begins an epoch and starts its writer. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`NoEpoch`] if the operating system gives no random bytes.
    pub fn open(config: LogConfig) -> Result<Self, NoEpoch> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(NoEpoch)?;
        let epoch = format!("{:016x}", u64::from_be_bytes(random));
        Ok(Self::open_epoch(config, epoch.as_str().into()))
    }

    pub(super) fn open_epoch(config: LogConfig, epoch: EpochId) -> Self {
        let LogConfig {
            log,
            ring_bytes,
            body_bytes,
            pace,
            clock,
        } = config;
        let now = clock.now();
        let (sealer, first) = Sealer::new(log.clone(), epoch.clone(), now);
        let ring = Ring::new(log.clone(), epoch.clone(), ring_bytes, first);
        let (inputs, queue) = mpsc::channel(QUEUED_BATCHES);
        let shared = Arc::new(Shared {
            log,
            epoch,
            clock,
            ids: Ids::default(),
            ring: Mutex::new(ring),
            bodies: Mutex::new(Bodies::new(body_bytes)),
            notes: Mutex::default(),
            progress: watch::Sender::default(),
            snapshot_wanted: Notify::new(),
            restored: watch::Sender::default(),
        });
        let sealer = sealer.with_pace(pace);
        tokio::spawn(Writer::new(shared.clone(), sealer, now).run(queue));
        Self { shared, inputs }
    }

    /// Makes a closed log: nothing can be written, and readers read what the ring holds.
    #[must_use]
    pub fn recorded(ring: Ring, clock: Arc<dyn Clock>) -> Self {
        let shared = Arc::new(Shared {
            log: ring.log().clone(),
            epoch: ring.epoch().clone(),
            clock,
            ids: Ids::default(),
            ring: Mutex::new(ring),
            bodies: Mutex::new(Bodies::new(0)),
            notes: Mutex::default(),
            progress: watch::Sender::new(Progress {
                version: 0,
                is_closed: true,
            }),
            snapshot_wanted: Notify::new(),
            restored: watch::Sender::default(),
        });
        // The receiver is dropped at once, so every write returns `LogClosed`.
        let (inputs, _) = mpsc::channel(1);
        Self { shared, inputs }
    }

    /// A counter that rises each time the cluster is found to have gone back to an older history (F33). What a watch holds
    /// may then never have existed, and only a list without a resourceVersion shows the present state.
    pub(crate) fn restored(&self) -> watch::Receiver<u64> {
        self.shared.restored.subscribe()
    }

    /// Appends events. Waits while the writer's queue is full.
    ///
    /// # Errors
    /// [`LogClosed`] after [`LogHandle::close`].
    pub async fn append(&self, batch: impl Into<Batch>) -> Result<(), LogClosed> {
        self.put(Input::Batch(batch.into())).await
    }

    /// Appends events from inside a simulated cluster. Waits while the writer's queue is full.
    ///
    /// # Errors
    /// [`LogClosed`] after [`LogHandle::close`].
    pub async fn append_inside(&self, inside: Vec<Inside>) -> Result<(), LogClosed> {
        self.put(Input::Inside(inside)).await
    }

    /// Audits all records from now on. The returned channel delivers the audit's reads, at most one at a time for each
    /// server; the caller answers each with [`LogHandle::answer_audit`]. The channel holds `capacity` reads. One more is
    /// lost, and its server is not asked again.
    ///
    /// # Errors
    /// [`LogClosed`] after [`LogHandle::close`].
    pub async fn audit(
        &self,
        auditor: Auditor,
        capacity: usize,
    ) -> Result<mpsc::Receiver<AuditRead>, LogClosed> {
        let (asks, reads) = mpsc::channel(capacity);
        self.put(Input::Audit(Box::new(auditor), asks)).await?;
        Ok(reads)
    }

    /// Passes the answer to a read on to the audit.
    ///
    /// # Errors
    /// [`LogClosed`] after [`LogHandle::close`].
    pub async fn answer_audit(&self, read: AuditRead, reply: Reply) -> Result<(), LogClosed> {
        self.put(Input::Reply(read, reply)).await
    }

    /// Requests a comparison of a watch, of one of its objects, or of all watches, with etcd now. Returns whether there is
    /// such a watch.
    ///
    /// # Errors
    /// [`LogClosed`] after [`LogHandle::close`].
    pub async fn ask_audit(&self, asked: CompareRequest) -> Result<bool, LogClosed> {
        let (reply, is_there) = oneshot::channel();
        self.put(Input::Compare(asked, reply)).await?;
        is_there.await.map_err(|_| LogClosed)
    }

    /// Waits until the comparison that `asked` names is over. Returns the last record by then; everything that the
    /// comparison wrote is at or before it.
    ///
    /// # Errors
    /// [`LogClosed`] after [`LogHandle::close`].
    pub async fn audited(&self, asked: CompareRequest) -> Result<Seq, LogClosed> {
        let (done, over) = oneshot::channel();
        self.put(Input::WhenCompared(asked, done)).await?;
        over.await.map_err(|_| LogClosed)
    }

    /// Writes a person's note. Returns the seq of its record.
    ///
    /// # Errors
    /// The reason why the log refuses the note; [`NoteRefusal::NotKept`] after [`LogHandle::close`].
    pub async fn write_note(&self, note: Note) -> Result<Seq, NoteRefusal> {
        let (reply, written) = oneshot::channel();
        let asked = self.put(Input::Note(Box::new(note), reply)).await;
        asked.map_err(|_| NoteRefusal::NotKept)?;
        written.await.unwrap_or(Err(NoteRefusal::NotKept))
    }

    /// Calls `look` with the notes of persons that can be read, of all runs that are kept.
    pub(crate) fn with_notes<T>(&self, look: impl FnOnce(&Notes) -> T) -> T {
        let first = lock(&self.shared.ring).first();
        look(lock(&self.shared.notes).notes(&self.shared.epoch, first))
    }

    /// States that a history keeps the log from now on, so notes stay readable after the ring drops their records.
    pub(crate) fn keep_notes(&self) {
        lock(&self.shared.notes).set_kept();
    }

    /// Adds the notes of persons and the names of watches that the files of a history hold.
    pub(crate) fn learn_notes(
        &self,
        notes: impl IntoIterator<Item = KeptNote>,
        watches: impl IntoIterator<Item = WatchName>,
    ) {
        lock(&self.shared.notes).learn(notes, watches);
    }

    /// Removes notes that no file holds any more.
    pub(crate) fn forget_notes(&self, keys: &[NoteKey]) {
        lock(&self.shared.notes).forget(keys);
    }

    /// Returns the writer's counts and the current state as metrics; `None` after [`LogHandle::close`].
    pub(crate) async fn measure(&self) -> Option<Exposition> {
        let (reply, measured) = oneshot::channel();
        self.put(Input::Measure(reply)).await.ok()?;
        measured.await.ok()
    }

    /// Adds the metrics of ring, bodies and queue: bytes held, capacities, records dropped and inputs queued.
    pub(crate) fn expose(&self, out: &mut Exposition) {
        let cluster = || (&self.shared.log.0).into();
        let (first, held, capacity) =
            self.with_ring(|ring| (ring.first(), ring.held_bytes(), ring.capacity_bytes()));
        out.add(&f::LOG_DROPPED, [cluster()], first.0.saturating_sub(1));
        out.add(&f::RING_BYTES, [cluster()], held);
        out.add(&f::RING_CAPACITY, [cluster()], capacity);
        let (held, capacity) = lock(&self.shared.bodies).bytes();
        out.add(&f::BODY_BYTES, [cluster()], held);
        out.add(&f::BODY_CAPACITY, [cluster()], capacity);
        let queued = self.inputs.max_capacity() - self.inputs.capacity();
        out.add(&f::QUEUED, [cluster()], queued);
    }

    async fn put(&self, input: Input) -> Result<(), LogClosed> {
        self.inputs.send(input).await.map_err(|_| LogClosed)
    }

    /// Writes and seals what is queued, then ends the writer. Readers end after the last record.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.put(Input::Close(done)).await.is_ok() {
            // An error means that another handle closed the writer meanwhile.
            let _ = closed.await;
        }
    }

    /// The log's name.
    #[must_use]
    pub fn log(&self) -> &LogId {
        &self.shared.log
    }

    /// The id of this run of the writer.
    #[must_use]
    pub fn epoch(&self) -> &EpochId {
        &self.shared.epoch
    }

    /// The log's time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.shared.clock.now()
    }

    /// The source of ids for connections, requests and streams.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.shared.ids
    }

    /// Opens a reader that starts at `since`.
    #[must_use]
    pub fn reader(&self, since: Since) -> LogReader {
        LogReader::new(self.shared.clone(), since)
    }

    /// Opens a reader of frames that starts at the first chapter in the ring.
    #[must_use]
    pub fn frames(&self) -> FrameReader {
        FrameReader::new(self.shared.clone())
    }

    /// Returns the fold at the head, and a reader that continues from there.
    pub async fn head(&self) -> (State, LogReader) {
        let (state, _, reader) = self.head_with_layers().await;
        (state, reader)
    }

    /// Like [`LogHandle::head`], with the fold of the simulated cluster's inside.
    pub async fn head_with_layers(&self) -> (State, Layers, LogReader) {
        LogReader::at_head(self.shared.clone()).await
    }

    /// Looks up the redacted body of a record.
    #[must_use]
    pub fn body(&self, epoch: &str, seq: Seq) -> BodyLookup {
        if epoch == self.shared.epoch.as_str() {
            lock(&self.shared.bodies).get(seq)
        } else {
            BodyLookup::Unknown
        }
    }

    /// Returns the redacted bodies of the records from `from` to `to` that are still in memory.
    #[must_use]
    pub fn bodies(&self, from: Seq, to: Seq) -> Vec<KeptBody> {
        lock(&self.shared.bodies).between(from, to)
    }

    /// Returns the highest seq of a body that was dropped to make room; 0 if none was dropped.
    pub(crate) fn bodies_dropped_to(&self) -> Seq {
        lock(&self.shared.bodies).dropped_to()
    }

    /// Calls `look` with the ring, under its lock.
    pub(crate) fn with_ring<T>(&self, look: impl FnOnce(&Ring) -> T) -> T {
        look(&lock(&self.shared.ring))
    }

    /// Changes the catalogue of chapters in files. Wakes readers if `change` returns true, which means that there is news.
    pub(crate) fn change_catalogue(&self, change: impl FnOnce(&mut Catalogue) -> bool) {
        let is_news = change(lock(&self.shared.ring).catalogue_mut());
        if is_news {
            self.shared
                .progress
                .send_modify(|progress| progress.version += 1);
        }
    }

    /// Waits for changes of the ring.
    pub(crate) fn progress(&self) -> RingProgress {
        RingProgress::of(&self.shared)
    }

    /// Asks the writer to put a snapshot of the head into the ring.
    pub(crate) fn want_snapshot(&self) {
        self.shared.snapshot_wanted.notify_one();
    }
}
