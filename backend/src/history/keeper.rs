//! The task that passes the log's frames to the writer of files, and tries again after the disk failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use watchscope_model::Time;
use watchscope_model::vocabulary::DiskTrouble;

use super::HistoryConfig;
use super::archive::Archive;
use super::file_writer::{FileWriter, HistoryError};
use super::place::{Place, PlaceError, folder_name};
use super::state::{HistoryState, Trouble};
use crate::log::{FrameRead, FrameReader, LogHandle};
use crate::recordings::Disk;

/// How long the first frame waits for others to be written with it. A record is in the file 1 s after it was sealed.
const WAIT: Duration = Duration::from_millis(500);
/// The interval at which the disk is checked while no frame arrives.
const IDLE: Duration = Duration::from_secs(5);
/// The bytes of frames that are written at once.
const BATCH_BYTES: usize = 8 << 20;
/// The time of one piece of work above which the disk counts as slow.
const SLOW: Duration = Duration::from_secs(5);
/// The first and the longest wait after a failure of the disk; the wait doubles in between.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A history that is being kept. It ends with the log.
#[derive(Debug)]
pub struct History {
    task: JoinHandle<()>,
}

impl History {
    /// Locks the log's folder and begins to keep the log. `identity` distinguishes its cluster from others of the same name.
    /// `archive` gets the list of files, and `states` the state of the history.
    ///
    /// # Errors
    /// If the folder cannot be used, or another process uses it.
    pub async fn begin(
        config: HistoryConfig,
        disk: Arc<dyn Disk>,
        identity: Vec<u8>,
        log: &LogHandle,
        archive: Archive,
        states: watch::Sender<Option<HistoryState>>,
    ) -> Result<Self, PlaceError> {
        let name = folder_name(log.log().as_str(), &identity);
        let (root, now) = (config.folder.clone(), log.now());
        let taken = spawn_blocking(move || Place::take(&root, &name, now)).await;
        let place = taken.unwrap_or_else(panicked)?;
        let frames = log.frames();
        let size_bytes = config.size_bytes + config.bodies_bytes.unwrap_or(0);
        let writer = FileWriter::new(config, disk, place, log.clone(), archive, frames.next_seq());
        states.send_replace(Some(HistoryState {
            size_bytes,
            ..HistoryState::default()
        }));
        let keeper = Keeper {
            writer: Some(writer),
            frames,
            log: log.clone(),
            state: HistoryState::default(),
            states,
            is_ready: false,
            retry: None,
        };
        Ok(Self {
            task: tokio::spawn(keeper.keep()),
        })
    }

    /// Kills the history in the middle of its work, as the end of the process would.
    #[cfg(test)]
    pub(super) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Waits until everything is written. Call it once the log is closed.
    pub async fn finished(self) {
        if let Err(panicked) = self.task.await {
            tracing::error!("the history ended early: {panicked}");
        }
    }
}

/// Continues the panic of a blocking thread.
fn panicked<T>(error: JoinError) -> T {
    std::panic::resume_unwind(error.into_panic())
}

struct Keeper {
    /// None while it works on its thread.
    writer: Option<FileWriter>,
    frames: FrameReader,
    log: LogHandle,
    /// The state that was sent last.
    state: HistoryState,
    states: watch::Sender<Option<HistoryState>>,
    /// Whether the files in the folder are known.
    is_ready: bool,
    /// The wait after the next failure.
    retry: Option<Duration>,
}

impl Keeper {
    async fn keep(mut self) {
        loop {
            let done = self.iterate().await;
            match done {
                Ok(Iteration::Written) => self.succeeded(),
                Ok(Iteration::Over) => {
                    let finished = self.work(FileWriter::finish).await;
                    if let Err(error) = finished {
                        tracing::warn!("the history: {error}");
                    }
                    let state = self.writer().state();
                    self.publish(state);
                    return;
                }
                Err(error) => {
                    self.failed(&error);
                    let wait = self.retry.unwrap_or(RETRY.0);
                    self.retry = Some((wait * 2).min(RETRY.1));
                    if timeout(wait, self.frames.closed()).await.is_ok() && !self.last_try().await {
                        return;
                    }
                }
            }
        }
    }

    /// Writes the next frames.
    async fn iterate(&mut self) -> Result<Iteration, HistoryError> {
        if !self.is_ready {
            self.work(FileWriter::find_files).await?;
            self.is_ready = true;
        }
        let Some(reads) = self.gather().await else {
            return Ok(Iteration::Over);
        };
        let next = self.frames.next_seq();
        self.work(move |writer, at| writer.write(&reads, next, at))
            .await?;
        Ok(Iteration::Written)
    }

    /// Collects the frames that arrive within [`WAIT`] of the first one. It is empty if none arrives in time, and `None`
    /// after the last one.
    async fn gather(&mut self) -> Option<Vec<FrameRead>> {
        let idle = Instant::now() + IDLE;
        let due = self.writer().sync_due().map_or(idle, |due| due.min(idle));
        let first = tokio::select! {
            first = self.frames.next() => first?,
            () = sleep_until(due) => return Some(Vec::new()),
        };
        let waits_since = self.state.waits_since.unwrap_or_else(|| self.log.now());
        self.publish(HistoryState {
            waits_since: Some(waits_since),
            ..self.state.clone()
        });
        let _ = timeout(WAIT, self.frames.closed()).await;
        let (mut reads, mut bytes) = (vec![first], 0);
        while bytes < BATCH_BYTES
            && let Some(read) = self.frames.try_next()
        {
            if let FrameRead::Opening(frame) | FrameRead::Segment(frame) = &read {
                bytes += frame.len();
            }
            reads.push(read);
        }
        Some(reads)
    }

    /// Runs `work` on a thread that may block on the disk. If it takes longer than [`SLOW`], the state reports that.
    async fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut FileWriter, Time) -> T + Send + 'static,
    ) -> T {
        let mut writer = self.writer.take().expect("it is back after each work");
        let began_at = self.log.now();
        let mut working = spawn_blocking(move || {
            let done = work(&mut writer, began_at);
            (writer, done)
        });
        let done = tokio::select! {
            done = &mut working => done,
            () = sleep(SLOW) => {
                self.publish_slow(began_at);
                working.await
            }
        };
        let (writer, done) = done.unwrap_or_else(panicked);
        self.writer = Some(writer);
        done
    }

    fn publish_slow(&mut self, since: Time) {
        let slow = Trouble {
            kind: DiskTrouble::Slow,
            since,
        };
        self.publish(HistoryState {
            trouble: self.state.trouble.clone().or(Some(slow)),
            ..self.state.clone()
        });
    }

    fn succeeded(&mut self) {
        self.retry = None;
        let state = self.writer().state();
        let was = self.state.trouble.as_ref();
        if let Some(was) = was.filter(|was| was.kind != DiskTrouble::Slow) {
            tracing::info!(
                "the history continues; {} records since {} could not be written",
                state.lost - self.state.lost,
                was.since
            );
        }
        self.publish(state);
    }

    fn failed(&mut self, error: &HistoryError) {
        let first = self.writer().fail(error);
        self.frames.back_to(first);
        self.is_ready = false;
        let now = self.log.now();
        let is_failing = |trouble: &Trouble| trouble.kind != DiskTrouble::Slow;
        if !self.state.trouble.as_ref().is_some_and(is_failing) {
            tracing::warn!("the history stopped, and tries again: {error}");
        }
        let since = self.state.trouble.as_ref().map_or(now, |was| was.since);
        let state = HistoryState {
            trouble: Some(Trouble {
                kind: error.trouble(),
                since,
            }),
            waits_since: self.state.waits_since.or(Some(now)),
            // The losses are reported once the history continues, with all that happen until then.
            lost: self.state.lost,
            ..self.writer().state()
        };
        self.publish(state);
    }

    fn publish(&mut self, state: HistoryState) {
        if state != self.state {
            self.state = state;
            self.states.send_replace(Some(self.state.clone()));
        }
    }

    /// Tries once more, after the log was closed while the disk failed. Returns whether that succeeded.
    async fn last_try(&mut self) -> bool {
        let done = self.iterate().await;
        let Err(error) = done else {
            return true;
        };
        self.failed(&error);
        let first = self.frames.next_seq();
        tracing::error!("the history ends: {error}\nThe records from {first} on are in no file.");
        false
    }

    fn writer(&mut self) -> &mut FileWriter {
        self.writer.as_mut().expect("it is back after each work")
    }
}

/// The result of one iteration.
enum Iteration {
    /// All frames that arrived are written.
    Written,
    /// The log is closed, and all of it is written.
    Over,
}
