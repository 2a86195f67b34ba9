//! The task that brings the log's frames to the desk, and tries again when the disk fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout};
use watchscope_model::Time;

use super::HistoryConfig;
use super::desk::{Desk, DeskError};
use super::place::{Place, PlaceError, folder_name};
use super::state::{DiskTrouble, HistoryState};
use crate::log::{FrameRead, FrameReader, LogHandle};
use crate::recordings::{Disk, file_block};

/// How long the first frame that comes waits for others: a record is in the file 1 s after it was sealed.
const WAIT: Duration = Duration::from_millis(500);
/// How often the disk is looked at when nothing comes.
const IDLE: Duration = Duration::from_secs(5);
/// Bytes of frames that are written at once.
const BATCH_BYTES: usize = 8 << 20;
/// How long a disk that fails is left alone: at first, and at the most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A history that is kept. It ends with the log.
#[derive(Debug)]
pub struct History {
    state: watch::Receiver<HistoryState>,
    task: JoinHandle<()>,
}

impl History {
    /// Begins to keep a log: locks its folder. `identity` tells its cluster from others of the same name.
    ///
    /// # Errors
    /// If the folder cannot be used, or another process uses it.
    pub async fn begin(
        config: HistoryConfig,
        disk: Arc<dyn Disk>,
        identity: Vec<u8>,
        log: &LogHandle,
    ) -> Result<Self, PlaceError> {
        let name = folder_name(log.log().as_str(), &identity);
        let (root, now) = (config.folder.clone(), log.now());
        let place = on_disk(move || Place::take(&root, &name, now)).await?;
        let frames = log.frames();
        let of = file_block(log.log(), log.epoch());
        let desk = Desk::new(config.clone(), disk, place, of, frames.next_seq());
        let (told, state) = watch::channel(HistoryState {
            size_bytes: config.size_bytes,
            ..HistoryState::default()
        });
        let keeper = Keeper {
            desk: Some(desk),
            frames,
            log: log.clone(),
            told,
            is_ready: false,
            retry: None,
        };
        Ok(Self {
            state,
            task: tokio::spawn(keeper.keep()),
        })
    }

    /// How it fares, as that changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<HistoryState> {
        self.state.clone()
    }

    /// Ends it in the middle of what it does, as the end of the process would.
    #[cfg(test)]
    pub(super) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// Returns when all is written; call it once the log is closed.
    pub async fn finished(self) {
        if let Err(panicked) = self.task.await {
            tracing::error!("the history ended early: {panicked}");
        }
    }
}

/// Works on a thread that may wait for the disk.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

struct Keeper {
    /// It is away while it works.
    desk: Option<Desk>,
    frames: FrameReader,
    log: LogHandle,
    told: watch::Sender<HistoryState>,
    /// Whether the desk knows which files there are.
    is_ready: bool,
    /// How long to wait after the next failure.
    retry: Option<Duration>,
}

impl Keeper {
    async fn keep(mut self) {
        loop {
            let done = self.turn().await;
            match done {
                Ok(Turn::Written) => self.succeeded(),
                Ok(Turn::Over) => {
                    let finished = self.work(|desk, _| desk.finish()).await;
                    if let Err(error) = finished {
                        tracing::warn!("the history: {error}");
                    }
                    self.publish();
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

    /// Writes what comes next.
    async fn turn(&mut self) -> Result<Turn, DeskError> {
        if !self.is_ready {
            self.work(Desk::find_files).await?;
            self.is_ready = true;
        }
        let Some(reads) = self.gather().await else {
            return Ok(Turn::Over);
        };
        let next = self.frames.next_seq();
        self.work(move |desk, at| desk.write(&reads, next, at))
            .await?;
        Ok(Turn::Written)
    }

    /// The frames that come within a while of the first; none if none comes, `None` behind the last one.
    async fn gather(&mut self) -> Option<Vec<FrameRead>> {
        let idle = Instant::now() + IDLE;
        let due = self.desk().sync_due().map_or(idle, |due| due.min(idle));
        let first = tokio::select! {
            first = self.frames.next() => first?,
            () = sleep_until(due) => return Some(Vec::new()),
        };
        let waits_since = self.log.now();
        self.told
            .send_modify(|told| told.waits_since = told.waits_since.or(Some(waits_since)));
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

    /// Has the desk do something on a thread that may wait for the disk.
    async fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Desk, Time) -> T + Send + 'static,
    ) -> T {
        let mut desk = self.desk.take().expect("it is back after each work");
        let at = self.log.now();
        let (desk, done) = on_disk(move || {
            let done = work(&mut desk, at);
            (desk, done)
        })
        .await;
        self.desk = Some(desk);
        done
    }

    fn succeeded(&mut self) {
        self.retry = None;
        let was = self.told.borrow().trouble.clone();
        if let Some(trouble) = was {
            let (lost, before) = (self.desk().state().lost, self.told.borrow().lost);
            tracing::info!(
                "the history goes on; since {} {} records could not be written",
                trouble.since,
                lost - before
            );
        }
        self.publish();
    }

    fn publish(&mut self) {
        let state = self.desk().state();
        self.told.send_replace(state);
    }

    fn failed(&mut self, error: &DeskError) {
        let first = self.desk().fail();
        self.frames.back_to(first);
        self.is_ready = false;
        let now = self.log.now();
        let text = error.to_string();
        let told = self.told.borrow().clone();
        let since = told.trouble.map(|was| was.since);
        if since.is_none() {
            tracing::warn!("the history stops, and is tried again: {text}");
        }
        let state = HistoryState {
            trouble: Some(DiskTrouble {
                kind: error.kind(),
                since: since.unwrap_or(now),
                text: text.into(),
            }),
            waits_since: told.waits_since.or(Some(now)),
            // Told once it goes on, with all that were lost meanwhile.
            lost: told.lost,
            ..self.desk().state()
        };
        self.told.send_replace(state);
    }

    /// The log is closed while the disk fails: tries once more. Whether that helped.
    async fn last_try(&mut self) -> bool {
        let done = self.turn().await;
        let Err(error) = done else {
            return true;
        };
        self.failed(&error);
        let first = self.frames.next_seq();
        tracing::error!("the history ends: {error}\nThe records from {first} on are in no file.");
        false
    }

    fn desk(&mut self) -> &mut Desk {
        self.desk.as_mut().expect("it is back after each work")
    }
}

/// What came of a turn.
enum Turn {
    /// All that came is written.
    Written,
    /// The log is closed, and all of it is written.
    Over,
}
