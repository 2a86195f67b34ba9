//! The recorder: it writes a log into a file while the log runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use watchscope_model::{EpochId, KeptNote, LogId, Seq};
use watchscope_probe::REDACTION_VERSION;
use watchscope_recording::{Contents, FileBlock, WriteError, Writer};

use super::bodies::BodyCollector;
use super::disk::{Disk, DiskFile};
use super::machines::deflated;
use super::rewrite::{Finished, compacted};
use crate::log::{FrameRead, FrameReader, LogHandle};

/// The longest time that a sealed segment waits to be written.
const WAIT: Duration = Duration::from_secs(1);
/// The most runs of lost records that are listed; later ones are counted.
const MAX_LOST_RUNS: usize = 100;

/// Runs of records that left the ring before they were written. At most 100 are listed; later ones are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The first runs: the first and the last record of each.
    pub runs: Vec<(Seq, Seq)>,
    /// How many runs came after them.
    pub more_runs: u64,
    /// How many records those later runs had.
    pub more_records: u64,
}

impl Lost {
    pub(super) fn add(&mut self, from: Seq, to: Seq) {
        if self.runs.len() < MAX_LOST_RUNS {
            self.runs.push((from, to));
        } else {
            self.more_runs += 1;
            self.more_records += to.0 - from.0 + 1;
        }
    }
}

/// Why a recording stopped.
#[derive(Debug, Error)]
pub enum RecordError {
    /// There is a file of that name, and no file is overwritten.
    #[error("{} exists; name another file, or remove it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be created.
    #[error("cannot make {}: {error}", path.display())]
    NotMade {
        /// The file.
        path: PathBuf,
        /// The disk's error.
        #[source]
        error: io::Error,
    },
    /// The file cannot be written.
    #[error(
        "cannot write {} at byte {at}: {error}\nWhat was recorded before can be read.",
        path.display()
    )]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// The offset in the file, in bytes.
        at: u64,
        /// The disk's error.
        #[source]
        error: io::Error,
    },
    /// The file cannot be synced. What was written since the last sync may be lost.
    #[error("cannot sync {}: {error}", path.display())]
    NotSynced {
        /// The file.
        path: PathBuf,
        /// The disk's error.
        #[source]
        error: io::Error,
    },
    /// The log's frames do not fit in the file's format.
    #[error("cannot record into {}: {error}", path.display())]
    NotRecorded {
        /// The file.
        path: PathBuf,
        /// The format's error.
        #[source]
        error: WriteError,
    },
}

impl RecordError {
    fn not_made(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            _ => Self::NotMade { path, error },
        }
    }

    /// The disk's error, if the disk was the reason.
    #[must_use]
    pub fn disk_error(&self) -> Option<&io::Error> {
        match self {
            Self::NotMade { error, .. }
            | Self::NotWritten { error, .. }
            | Self::NotSynced { error, .. } => Some(error),
            Self::Exists { .. } | Self::NotRecorded { .. } => None,
        }
    }
}

/// A file into which a log is written. It is a valid recording at every moment.
///
/// Bounded as [`Writer`] is: it holds the open chapter's frames. After an error it cannot be used any more, but what was
/// written before can be read.
#[derive(Debug)]
pub struct Recorder {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    of: FileBlock,
    writer: Writer,
    /// Bytes written into the file.
    written: u64,
    /// When the oldest waiting segment was taken in.
    waits_since: Option<Instant>,
    lost: Lost,
    /// The collector of bodies, if bodies are recorded.
    bodies: Option<BodyCollector>,
    /// Bytes in the file that belong to bodies.
    bodies_bytes: u64,
}

/// The block that describes a run of a log, before anything is known about the cluster.
#[must_use]
pub fn file_block(log: &LogId, epoch: &EpochId) -> FileBlock {
    FileBlock {
        watchscope: env!("CARGO_PKG_VERSION").to_owned(),
        redaction: REDACTION_VERSION,
        ..FileBlock::new(log, epoch)
    }
}

impl Recorder {
    /// Creates the file, which only its owner can read. It overwrites no file and follows no link. `of` describes the log.
    ///
    /// # Errors
    /// If the name is taken, or the file cannot be created or written.
    pub fn create(disk: Arc<dyn Disk>, path: &Path, of: FileBlock) -> Result<Self, RecordError> {
        let (writer, bytes) = Writer::begin(&of).map_err(|error| RecordError::NotRecorded {
            path: path.to_owned(),
            error,
        })?;
        let file = disk
            .create(path)
            .map_err(|error| RecordError::not_made(path, error))?;
        let mut recorder = Self {
            disk,
            path: path.to_owned(),
            file,
            of,
            writer,
            written: 0,
            waits_since: None,
            lost: Lost::default(),
            bodies: None,
            bodies_bytes: 0,
        };
        let begun = recorder.append(&bytes);
        if begun.is_err() {
            // The file is empty. The error already says that it could not be written.
            let _ = recorder.disk.remove(path);
        }
        begun.map(|()| recorder)
    }

    /// Also records the redacted bodies of the log's records.
    #[must_use]
    pub fn with_bodies(self, log: LogHandle) -> Self {
        Self {
            bodies: Some(BodyCollector::new(log)),
            ..self
        }
    }

    /// The records that left the ring before they were written.
    #[must_use]
    pub fn lost(&self) -> &Lost {
        &self.lost
    }

    /// The size of the file, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// Bytes in the file that belong to bodies.
    #[must_use]
    pub fn bodies_bytes(&self) -> u64 {
        self.bodies_bytes
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of blocks in the file.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.writer.block_count()
    }

    /// The first record of the open chapter.
    #[must_use]
    pub fn open_first(&self) -> Option<Seq> {
        self.writer.open_first()
    }

    /// The contents of the file once waiting segments are flushed.
    #[must_use]
    pub fn contents(&self) -> Contents {
        self.writer.contents()
    }

    /// Takes in the next frame of the log.
    pub(crate) fn take(&mut self, read: &FrameRead) -> Result<(), RecordError> {
        match read {
            FrameRead::Opening(head) => {
                self.close_chapter()?;
                let bytes = self.writer.open_chapter(head);
                self.put(bytes)?;
                if let (Some(bodies), Some(first)) = (&mut self.bodies, self.writer.open_first()) {
                    bodies.begin(first);
                }
                Ok(())
            }
            FrameRead::Segment(frame) => {
                let bytes = self.writer.segment(frame);
                self.put(bytes)?;
                self.waits_since.get_or_insert_with(Instant::now);
                Ok(())
            }
            FrameRead::Loss { from, to } => {
                self.lost.add(*from, *to);
                self.close_chapter()
            }
        }
    }

    /// Writes the segments that wait.
    pub(crate) fn flush(&mut self) -> Result<(), RecordError> {
        self.waits_since = None;
        let bytes = self.writer.flush();
        self.put(bytes)?;
        self.collect_bodies(false)
    }

    /// Collects the bodies of the records that were taken in. Writes them if they fill a block, or if `all` is set.
    fn collect_bodies(&mut self, all: bool) -> Result<(), RecordError> {
        let (Some(bodies), Some(first)) = (&mut self.bodies, self.writer.open_first()) else {
            return Ok(());
        };
        let to = self.writer.open_state().map_or(Seq(0), |state| state.seq);
        if !bodies.collect(to) && !all {
            return Ok(());
        }
        let blocks = bodies.blocks(first);
        for packing in blocks.map_err(|error| self.not_recorded(error))? {
            let before = self.written;
            let bytes = self.writer.packed(&packing, &deflated(packing.raw()));
            self.put(bytes)?;
            self.bodies_bytes += self.written - before;
        }
        Ok(())
    }

    /// Writes notes of persons whose records are not in the file, and syncs them.
    pub(crate) fn put_notes(&mut self, notes: &[KeptNote]) -> Result<(), RecordError> {
        let bytes = self.writer.notes(notes);
        self.put(bytes)?;
        self.sync()
    }

    /// Returns once everything written is safe on the disk.
    pub(crate) fn sync(&self) -> Result<(), RecordError> {
        self.file.sync().map_err(|error| RecordError::NotSynced {
            path: self.path.clone(),
            error,
        })
    }

    /// Closes the open chapter, and syncs the file.
    pub(crate) fn close_chapter(&mut self) -> Result<(), RecordError> {
        self.waits_since = None;
        let Some(state) = self.writer.open_state() else {
            return Ok(());
        };
        self.of = self.of.clone().with_state(state);
        self.collect_bodies(true)?;
        let closing = self.writer.close_chapter();
        let closing = closing.map_err(|error| self.not_recorded(error))?;
        self.append(&closing.append)?;
        if let Some(packing) = closing.packing {
            let bytes = self.writer.packed(&packing, &deflated(packing.raw()));
            self.put(bytes)?;
        }
        self.sync()
    }

    /// Whether the file still has its name. Somebody may have removed it, or the folder.
    pub(crate) fn is_there(&self) -> Result<bool, RecordError> {
        let is_there = self.disk.is_there(&self.path, &*self.file);
        is_there.map_err(|error| self.not_written(error))
    }

    /// Ends the file. It closes the last chapter, then writes the whole file again without the parts that closed chapters
    /// superseded. The new file also describes the cluster and watches as its records state them. If there is no room for
    /// it, the file stays as it is and gets an index.
    ///
    /// # Errors
    /// If the last chapter or the index cannot be written.
    pub fn finish(mut self) -> Result<Finished, RecordError> {
        self.close_chapter()?;
        let (contents, of) = (self.contents(), std::slice::from_ref(&self.of));
        match compacted(&*self.disk, &self.path, &*self.file, &contents, of) {
            Ok(finished) => Ok(finished),
            Err(error) => {
                tracing::warn!(
                    "{} stays larger than it has to be: {error}",
                    self.path.display()
                );
                let bytes = self.writer.finish();
                self.put(bytes)?;
                self.sync()?;
                Ok(Finished {
                    bytes: self.written,
                    contents: self.contents(),
                })
            }
        }
    }

    fn put(&mut self, bytes: Result<Vec<u8>, WriteError>) -> Result<(), RecordError> {
        let bytes = bytes.map_err(|error| self.not_recorded(error))?;
        self.append(&bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.file.append(bytes);
        written.map_err(|error| self.not_written(error))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn not_recorded(&self, error: WriteError) -> RecordError {
        RecordError::NotRecorded {
            path: self.path.clone(),
            error,
        }
    }

    fn not_written(&self, error: io::Error) -> RecordError {
        RecordError::NotWritten {
            path: self.path.clone(),
            at: self.written,
            error,
        }
    }
}

/// Writes a log into the file until the log is closed. A sealed record waits at most 1 s.
///
/// # Errors
/// If the file cannot be written; the log itself continues.
pub async fn record(
    mut frames: FrameReader,
    mut recorder: Recorder,
) -> Result<Recorder, RecordError> {
    loop {
        let due = recorder.waits_since.map(|since| since + WAIT);
        let flush = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let read = tokio::select! {
            biased;
            () = flush => None,
            read = frames.next() => match read {
                Some(read) => Some(read),
                None => return Ok(recorder),
            },
        };
        recorder = on_disk(recorder, read).await?;
    }
}

/// Writes on a thread that may block on the disk.
async fn on_disk(mut recorder: Recorder, read: Option<FrameRead>) -> Result<Recorder, RecordError> {
    let done = spawn_blocking(move || {
        match &read {
            Some(read) => recorder.take(read)?,
            None => recorder.flush()?,
        }
        Ok(recorder)
    });
    done.await
        .unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
