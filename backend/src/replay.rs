//! Recordings served like a log: the newest chapter from memory, all others from their files.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;
use watchscope_log::{Fetched, FileRun, Recording, Ring};
use watchscope_model::{EpochId, Seq, Time};
use watchscope_recording::ChapterEntry;
use watchscope_timeline::store::MOST_AT_ONCE;

use crate::log::{LogHandle, SystemClock};
use crate::recordings::{
    Joined, OpenError, OpenFile, Past, Run, body_in, chapter_in, first_body, first_chapter,
    name_of as file_name,
};

/// Why recordings cannot be served.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// They hold no record.
    #[error("there is no record in it")]
    Empty,
    /// A file cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The newest run has no chapter that can be read.
    #[error("no chapter of the last run can be read: {reason}")]
    NotRead {
        /// What is wrong with the last one that was tried.
        reason: String,
    },
}

/// Recordings that are served.
pub struct Replay {
    /// The log that is over, with the newest chapter.
    pub log: LogHandle,
    /// The files.
    pub past: Arc<dyn Past>,
    /// What its welcome says.
    pub recording: Recording,
}

impl Replay {
    /// Of recordings of one log; `name` is what people know them by. Must not be called where nothing may wait for the
    /// disk.
    ///
    /// # Errors
    /// If nothing of the last run can be read.
    pub fn open(joined: Joined, name: &str) -> Result<Self, ReplayError> {
        let run = joined.runs().last().ok_or(ReplayError::Empty)?;
        let mut ring = newest_chapter(&joined, run)?;
        ring.catalogue_mut().set_files(&file_runs(&joined));
        let (from, to) = times(&joined).ok_or(ReplayError::Empty)?;
        let clock = Arc::new(SystemClock::start_at(to));
        Ok(Self {
            log: LogHandle::recorded(ring, clock),
            past: Arc::new(joined),
            recording: Recording {
                name: name.into(),
                from,
                to,
            },
        })
    }
}

/// A ring with the newest chapter of a run that can be read.
fn newest_chapter(joined: &Joined, run: &Run) -> Result<Ring, ReplayError> {
    let mut chapters: Vec<_> = joined
        .chapters(run)
        .filter(|(_, entry)| entry.summary.records() > 0)
        .collect();
    chapters.sort_by_key(|(_, entry)| (entry.summary.last, entry.summary.first));
    let mut reason = None;
    while let Some((file, entry)) = chapters.pop() {
        let read = file.chapter(entry)?.map_err(|damage| damage.to_string());
        let ring = read.and_then(|chapter| {
            let frames = &chapter.frames;
            Ring::recorded(frames.head(), frames.segments()).map_err(|error| error.to_string())
        });
        match ring {
            Ok(ring) => return Ok(ring),
            Err(why) => {
                let path = file.path().display();
                reason = Some(format!("{path}, {why}"));
            }
        }
    }
    match reason {
        Some(reason) => Err(ReplayError::NotRead { reason }),
        None => Err(ReplayError::Empty),
    }
}

/// What the files hold, run by run.
fn file_runs(joined: &Joined) -> Vec<FileRun> {
    let runs = (0..).zip(joined.runs());
    runs.map(|(order, run)| {
        let chapters = joined.chapters(run).map(|(_, entry)| entry.summary.clone());
        let mut chapters: Vec<_> = chapters.collect();
        chapters.dedup_by_key(|summary| summary.first);
        FileRun {
            epoch: run.epoch.as_str().into(),
            order,
            chapters,
        }
    })
    .collect()
}

/// The time of the first record that is shown at once, and of the last.
fn times(joined: &Joined) -> Option<(Time, Time)> {
    let mut times = Vec::new();
    for run in joined.runs() {
        let chapters = joined.chapters(run).map(|(_, entry)| &entry.summary);
        let with_records = chapters.filter(|summary| summary.records() > 0);
        times.extend(with_records.map(|summary| (summary.first_at, summary.last_at)));
    }
    let from = times.iter().rev().take(MOST_AT_ONCE).map(|(from, _)| *from);
    let to = times.iter().map(|(_, to)| *to).max()?;
    Some((from.min()?, to))
}

/// The name of recordings for people: that of the file or folder, and how many there are beside it.
#[must_use]
pub fn name_of(paths: &[impl AsRef<Path>]) -> String {
    let first = paths.first().map(AsRef::as_ref);
    let name = first.map_or_else(String::new, file_name);
    match paths.len() {
        0 | 1 => name,
        more => format!("{name} and {} more", more - 1),
    }
}

/// The chapters that hold a record, and their files.
fn holding<'a>(
    joined: &'a Joined,
    epoch: &EpochId,
    seq: Seq,
) -> impl Iterator<Item = (&'a OpenFile, &'a ChapterEntry)> {
    let mut runs = joined.runs().iter();
    let run = runs.find(|run| run.epoch == epoch.as_str());
    let chapters = run.into_iter().flat_map(|run| joined.chapters(run));
    chapters.filter(move |(_, entry)| (entry.summary.first..=entry.summary.last).contains(&seq))
}

impl Past for Joined {
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched {
        first_chapter(holding(self, epoch, seq).map(|(file, entry)| chapter_in(file, entry)))
    }

    fn body(&self, epoch: &EpochId, seq: Seq) -> Result<Option<Bytes>, String> {
        first_body(holding(self, epoch, seq).map(|(file, entry)| body_in(file, entry, seq)))
    }
}
