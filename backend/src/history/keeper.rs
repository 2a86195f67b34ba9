//! The task that brings the log's frames to the desk, and tries again when the disk fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use watchscope_model::Time;
use watchscope_model::vocabulary::DiskTrouble;

use super::HistoryConfig;
use super::archive::Archive;
use super::desk::{Desk, DeskError};
use super::place::{Place, PlaceError, folder_name};
use super::state::{HistoryState, Trouble};
use crate::log::{FrameRead, FrameReader, LogHandle};
use crate::recordings::Disk;

/// How long the first frame that comes waits for others: a record is in the file 1 s after it was sealed.
const WAIT: Duration = Duration::from_millis(500);
/// How often the disk is looked at when nothing comes.
const IDLE: Duration = Duration::from_secs(5);
/// Bytes of frames that are written at once.
const BATCH_BYTES: usize = 8 << 20;
/// A disk is slow if one turn of work takes longer than this.
const SLOW: Duration = Duration::from_secs(5);
/// How long a disk that fails is left alone: at first, and at the most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A history that is kept. It ends with the log.
#[derive(Debug)]
pub struct History {
    task: JoinHandle<()>,
}

impl History {
    /// Begins to keep a log: locks its folder. `identity` tells its cluster from others of the same name; `archive` learns
    /// which files there are, and `told` says how it fares.
    ///
    /// # Errors
    /// If the folder cannot be used, or another process uses it.
    pub async fn begin(
        config: HistoryConfig,
        disk: Arc<dyn Disk>,
        identity: Vec<u8>,
        log: &LogHandle,
        archive: Archive,
        told: watch::Sender<Option<HistoryState>>,
    ) -> Result<Self, PlaceError> {
        let name = folder_name(log.log().as_str(), &identity);
        let (root, now) = (config.folder.clone(), log.now());
        let taken = spawn_blocking(move || Place::take(&root, &name, now)).await;
        let place = taken.unwrap_or_else(panicked)?;
        let frames = log.frames();
        let size_bytes = config.size_bytes + config.bodies_bytes.unwrap_or(0);
        let desk = Desk::new(config, disk, place, log.clone(), archive, frames.next_seq());
        told.send_replace(Some(HistoryState {
            size_bytes,
            ..HistoryState::default()
        }));
        let keeper = Keeper {
            desk: Some(desk),
            frames,
            log: log.clone(),
            state: HistoryState::default(),
            told,
            is_ready: false,
            retry: None,
        };
        Ok(Self {
            task: tokio::spawn(keeper.keep()),
        })
    }

    /// Ends it in the middle of its work, as the end of the process would.
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

/// Goes on with the panic of a thread.
fn panicked<T>(error: JoinError) -> T {
    std::panic::resume_unwind(error.into_panic())
}

struct Keeper {
    /// It is away while it works.
    desk: Option<Desk>,
    frames: FrameReader,
    log: LogHandle,
    /// The state that was sent last.
    state: HistoryState,
    told: watch::Sender<Option<HistoryState>>,
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
                    let finished = self.work(Desk::finish).await;
                    if let Err(error) = finished {
                        tracing::warn!("the history: {error}");
                    }
                    let state = self.desk().state();
                    self.tell(state);
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
        let waits_since = self.state.waits_since.unwrap_or_else(|| self.log.now());
        self.tell(HistoryState {
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

    /// Has the desk do something on a thread that may wait for the disk. If that takes long, the state says so.
    async fn work<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Desk, Time) -> T + Send + 'static,
    ) -> T {
        let mut desk = self.desk.take().expect("it is back after each work");
        let began_at = self.log.now();
        let mut working = spawn_blocking(move || {
            let done = work(&mut desk, began_at);
            (desk, done)
        });
        let done = tokio::select! {
            done = &mut working => done,
            () = sleep(SLOW) => {
                self.tell_slow(began_at);
                working.await
            }
        };
        let (desk, done) = done.unwrap_or_else(panicked);
        self.desk = Some(desk);
        done
    }

    fn tell_slow(&mut self, since: Time) {
        let slow = Trouble {
            kind: DiskTrouble::Slow,
            since,
        };
        self.tell(HistoryState {
            trouble: self.state.trouble.clone().or(Some(slow)),
            ..self.state.clone()
        });
    }

    fn succeeded(&mut self) {
        self.retry = None;
        let state = self.desk().state();
        let was = self.state.trouble.as_ref();
        if let Some(was) = was.filter(|was| was.kind != DiskTrouble::Slow) {
            tracing::info!(
                "the history goes on; since {} {} records could not be written",
                was.since,
                state.lost - self.state.lost
            );
        }
        self.tell(state);
    }

    fn failed(&mut self, error: &DeskError) {
        let first = self.desk().fail(error);
        self.frames.back_to(first);
        self.is_ready = false;
        let now = self.log.now();
        let is_failing = |trouble: &Trouble| trouble.kind != DiskTrouble::Slow;
        if !self.state.trouble.as_ref().is_some_and(is_failing) {
            tracing::warn!("the history stops, and is tried again: {error}");
        }
        let since = self.state.trouble.as_ref().map_or(now, |was| was.since);
        let state = HistoryState {
            trouble: Some(Trouble {
                kind: error.trouble(),
                since,
            }),
            waits_since: self.state.waits_since.or(Some(now)),
            // Told once it goes on, with all that were lost meanwhile.
            lost: self.state.lost,
            ..self.desk().state()
        };
        self.tell(state);
    }

    fn tell(&mut self, state: HistoryState) {
        if state != self.state {
            self.state = state;
            self.told.send_replace(Some(self.state.clone()));
        }
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

/// How a turn ended.
enum Turn {
    /// All that came is written.
    Written,
    /// The log is closed, and all of it is written.
    Over,
}
