//! Writes a log into a file while the log goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};
use watchscope_model::{EpochId, LogId, Seq, State};
use watchscope_recording::{FileBlock, Piece, WriteError, Writer, compact};

use super::disk::{deflated, range};
use crate::log::{FrameRead, FrameReader};

/// The longest that a sealed segment waits to be written.
const WAIT: Duration = Duration::from_secs(1);
/// Version of the rules by which bodies are redacted.
const REDACTION: u32 = 1;
/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Why a recording stopped.
#[derive(Debug, Error)]
pub enum RecordError {
    /// There is a file of that name, and no file is written over.
    #[error("{} exists; name another file, or remove it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be made.
    #[error("cannot make {}: {error}", path.display())]
    NotMade {
        /// The file.
        path: PathBuf,
        /// Why.
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
        /// Where.
        at: u64,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The log's frames do not fit in the format.
    #[error("cannot record into {}: {error}", path.display())]
    NotRecorded {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: WriteError,
    },
}

/// A file that a log is written into. At every moment it is a valid recording.
///
/// Bounded as [`Writer`]: it holds the open chapter's frames.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    file: File,
    of: FileBlock,
    writer: Writer,
    /// Bytes of the file that were written.
    written: u64,
    /// Since when a segment waits.
    waits_since: Option<Instant>,
    lost: Vec<(Seq, Seq)>,
}

impl Recorder {
    /// Makes the file, which only its owner can read. No file is written over, and no link followed.
    ///
    /// # Errors
    /// If there is such a file, or it cannot be made or written.
    pub fn create(path: &Path, log: &LogId, epoch: &EpochId) -> Result<Self, RecordError> {
        let of = FileBlock {
            watchscope: env!("CARGO_PKG_VERSION").to_owned(),
            redaction: REDACTION,
            ..FileBlock::new(log, epoch)
        };
        let (writer, bytes) = Writer::begin(&of).map_err(|error| RecordError::NotRecorded {
            path: path.to_owned(),
            error,
        })?;
        let file = new_file(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists {
                path: path.to_owned(),
            },
            _ => RecordError::NotMade {
                path: path.to_owned(),
                error,
            },
        })?;
        let mut recorder = Self {
            path: path.to_owned(),
            file,
            of,
            writer,
            written: 0,
            waits_since: None,
            lost: Vec::new(),
        };
        recorder.append(&bytes)?;
        Ok(recorder)
    }

    /// Runs of records that left the ring before they were written.
    #[must_use]
    pub fn lost(&self) -> &[(Seq, Seq)] {
        &self.lost
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.written
    }

    /// Takes in the log's next frame.
    pub(super) fn take(&mut self, read: &FrameRead) -> Result<(), RecordError> {
        match read {
            FrameRead::Opening(head) => {
                self.close_chapter()?;
                let bytes = self.writer.open_chapter(head);
                self.put(bytes)
            }
            FrameRead::Segment(frame) => {
                let bytes = self.writer.segment(frame);
                self.put(bytes)?;
                self.waits_since.get_or_insert_with(Instant::now);
                Ok(())
            }
            FrameRead::Loss { from, to } => {
                self.lost.push((*from, *to));
                self.close_chapter()
            }
        }
    }

    /// Writes the segments that wait.
    fn flush(&mut self) -> Result<(), RecordError> {
        self.waits_since = None;
        let bytes = self.writer.flush();
        self.put(bytes)
    }

    /// Closes the chapter that is open, and has it on the disk.
    fn close_chapter(&mut self) -> Result<(), RecordError> {
        self.waits_since = None;
        if self.writer.open_first().is_none() {
            return Ok(());
        }
        let closing = self.writer.close_chapter();
        let closing = closing.map_err(|error| self.not_recorded(error))?;
        self.append(&closing.append)?;
        if let Some(packing) = closing.packing {
            let bytes = self.writer.packed(&packing, &deflated(packing.raw()));
            self.put(bytes)?;
        }
        let synced = self.file.sync_data();
        synced.map_err(|error| self.not_written(error))
    }

    /// Ends the file: closes the last chapter, and writes the whole anew without what closed chapters have superseded, with
    /// what is known of cluster and watches by now. If there is no room for that, the file stays as it is, with an index.
    ///
    /// # Errors
    /// If the last chapter or the index cannot be written.
    pub fn finish(mut self, state: &State) -> Result<u64, RecordError> {
        self.close_chapter()?;
        match self.compacted(state) {
            Ok(bytes) => Ok(bytes),
            Err(error) => {
                tracing::warn!(
                    "{} stays larger than it has to be: {error}",
                    self.path.display()
                );
                let Self {
                    path,
                    mut file,
                    writer,
                    written,
                    ..
                } = self;
                let not_written = |error| RecordError::NotWritten {
                    path: path.clone(),
                    at: written,
                    error,
                };
                let bytes = writer.finish().map_err(|error| RecordError::NotRecorded {
                    path: path.clone(),
                    error,
                })?;
                file.write_all(&bytes)
                    .and_then(|()| file.sync_all())
                    .map_err(not_written)?;
                Ok(written + bytes.len() as u64)
            }
        }
    }

    /// Writes the file anew beside itself, and gives it its name; returns its bytes.
    fn compacted(&self, state: &State) -> io::Result<u64> {
        let of = self.of.clone().with_state(state);
        let pieces = compact(&self.writer.contents(), &[of]).map_err(io::Error::other)?;
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".unfinished");
        let beside = self.path.with_file_name(name);
        let written = new_file(&beside).and_then(|mut file| {
            let mut bytes = 0;
            for piece in &pieces {
                bytes += self.copy(piece, &mut file)?;
            }
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)?;
            Ok(bytes)
        });
        if written.is_err() {
            // Where it could not be made there is nothing to remove.
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    fn copy(&self, piece: &Piece, to: &mut File) -> io::Result<u64> {
        match piece {
            Piece::Bytes(bytes) => {
                to.write_all(bytes)?;
                Ok(bytes.len() as u64)
            }
            Piece::Copy { offset, len, .. } => {
                let mut done = 0;
                while done < *len {
                    let wanted = (len - done).min(COPY_BYTES) as usize;
                    let bytes = range(&self.file, offset + done, wanted)?;
                    if bytes.len() < wanted {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    to.write_all(&bytes)?;
                    done += wanted as u64;
                }
                Ok(*len)
            }
        }
    }

    fn put(&mut self, bytes: Result<Vec<u8>, WriteError>) -> Result<(), RecordError> {
        let bytes = bytes.map_err(|error| self.not_recorded(error))?;
        self.append(&bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        let written = self.file.write_all(bytes);
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

/// A new file that only its owner can read.
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Writes a log into the file until the log is closed. No record waits longer than 1 s after it was sealed.
///
/// # Errors
/// If the file cannot be written; the log goes on.
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

/// Writes on a thread that may wait for the disk.
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
