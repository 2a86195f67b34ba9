//! Several recordings read as one: the runs of one log, with each chapter once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use thiserror::Error;
use watchscope_log::{FileRun, MAX_NAME_BYTES, MAX_RUNS, Recording, Ring};
use watchscope_model::codec::DecodeError;
use watchscope_model::summary::Summary;
use watchscope_model::{EpochId, Seq, Time};
use watchscope_recording::{Chapter, ChapterEntry, Contents};
use watchscope_timeline::store::MOST_AT_ONCE;

use crate::fetch::holds;

/// The latest time at which the clock of a recording starts: half of the largest time, about 146,000 years after 1970.
/// A later clock starts at this time. Because of that the clock never reaches the largest time, at which a heartbeat
/// would be due at every moment. The share has no source.
const LATEST_START: Time = Time(i64::MAX / 2);

/// A scanned file.
pub trait Recorded {
    /// Returns the file's contents.
    fn contents(&self) -> &Contents;
}

impl Recorded for Contents {
    fn contents(&self) -> &Contents {
        self
    }
}

/// Why recordings cannot be read as one.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LogError {
    /// The recordings are of several logs, and no log was chosen.
    #[error("these are recordings of several logs: {}; choose one with --log", logs.join(", "))]
    SeveralLogs {
        /// Ids of the logs, sorted, each once; at least two.
        logs: Vec<String>,
    },
    /// No recording is of the chosen log.
    #[error("there is no recording of the log {log:?} here; there is {}", logs.join(", "))]
    OtherLogs {
        /// Id of the chosen log.
        log: String,
        /// Ids of the logs that the recordings have, sorted, each once; empty if no file has a readable file block
        /// (`F`).
        logs: Vec<String>,
    },
}

/// Recordings of one log, read as one. Files of other logs may be among them; their chapters are passed over. It holds
/// all files, and the position of each chapter of the log in them. Logs and runs with a name over [`MAX_NAME_BYTES`],
/// and runs that [`JoinedFiles::start_from`] left out, have no positions.
#[derive(Clone, Debug)]
pub struct JoinedFiles<F> {
    log: String,
    files: Vec<F>,
    runs: Vec<Run>,
    /// The number of runs after `runs` that have records, but no readable record.
    unread_runs: usize,
}

/// A run of the log's writer with its chapters, sorted by their first record; at least one. If several files hold a
/// chapter, each copy is listed, and the longest copy comes first.
#[derive(Clone, Debug)]
pub struct Run {
    /// The id of the epoch, of at most [`MAX_NAME_BYTES`]; no two runs of a [`JoinedFiles`] have the same.
    pub epoch: String,
    chapters: Vec<Place>,
}

/// The position of a chapter: the index of the file, and the index in that file's chapters.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    chapter: usize,
}

/// A chapter of a run, by its position in the [`JoinedFiles`] that returned it. For another `JoinedFiles` it has no
/// meaning.
#[derive(Clone, Copy, Debug)]
pub struct ChapterPlace {
    run: usize,
    place: Place,
}

impl<F: Recorded> JoinedFiles<F> {
    /// Joins groups of files; the files of a folder are one group. `log` is the id of the chosen log; `None` chooses
    /// the only log. Without any file, or without a readable file block (`F`), the log's id is empty and there are no
    /// runs.
    ///
    /// Groups are sorted by when the first chapter of their first file with chapters begins; a group without chapters
    /// comes first. The order within a group stays, because a clock may have been set back between two runs. A log or a
    /// run with a name over [`MAX_NAME_BYTES`] is passed over, so that none of its records is served.
    ///
    /// # Errors
    /// [`LogError`] if no log is chosen and there are several logs, or if no file is of the chosen log.
    pub fn new(mut groups: Vec<Vec<F>>, log: Option<&str>) -> Result<Self, LogError> {
        groups.sort_by_key(|files| files.iter().find_map(first_at));
        let files: Vec<F> = groups.into_iter().flatten().collect();
        let log = one_log(&files, log)?;
        let runs = runs(&files, &log);
        Ok(Self {
            log,
            files,
            runs,
            unread_runs: 0,
        })
    }

    /// Returns all files, also files without a chapter of the log: by group, and within a group in the given order.
    #[must_use]
    pub fn files(&self) -> &[F] {
        &self.files
    }

    /// Returns the id of the log; empty if the files name none.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns the runs, in the order of the first file with a chapter of each; empty if no file has a chapter of the
    /// log. Runs that [`JoinedFiles::start_from`] left out are not among them.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Iterates over a run's chapters and their files, in the order of [`Run`]. A chapter that several files hold comes
    /// once for each file. The function may panic for a run of another `JoinedFiles`.
    pub fn chapters<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = (&'a F, &'a ChapterEntry)> {
        run.chapters.iter().map(|place| {
            let file = &self.files[place.file];
            (file, &file.contents().chapters[place.chapter])
        })
    }

    /// Iterates over the summaries of all chapters that have records, run by run, in the order of [`Run`]. Runs that
    /// [`JoinedFiles::start_from`] left out do not come. A chapter that several files hold comes once for each file.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        let chapters = self.runs.iter().flat_map(|run| self.chapters(run));
        let summaries = chapters.map(|(_, entry)| &entry.summary);
        summaries.filter(|summary| summary.records() > 0)
    }

    /// Returns the seq of the last record of a run according to its files' summaries. If the run has no record, it is
    /// one below the seq at which its last chapter begins: 0 if that seq is 1. The function may panic for a run of
    /// another `JoinedFiles`.
    #[must_use]
    pub fn last(&self, run: &Run) -> Seq {
        let last = self.chapters(run).map(|(_, entry)| entry.summary.last);
        last.max().unwrap_or_default()
    }

    /// Returns how many records the runs have. If several files hold a chapter, the longest copy counts.
    pub(crate) fn records(&self) -> u64 {
        let mut records: u64 = 0;
        for run in &self.runs {
            let mut chapters: Vec<_> = self.chapters(run).map(|(_, entry)| entry).collect();
            chapters.dedup_by_key(|entry| entry.summary.first);
            let each = chapters.iter().map(|entry| entry.summary.records());
            records = each.fold(records, u64::saturating_add);
        }
        records
    }

    /// Returns the chapters that have records, newest run first, and newest chapter first in each run; empty if no
    /// chapter has records. The newest chapter is the one with the highest last seq; of two chapters with the same last
    /// seq, the shorter comes first. A reader starts from the first chapter that can be read.
    #[must_use]
    pub fn newest_first(&self) -> Vec<ChapterPlace> {
        let mut newest_first = Vec::new();
        for (run, of) in self.runs.iter().enumerate().rev() {
            let places = of.chapters.iter().map(|&place| ChapterPlace { run, place });
            let mut places: Vec<_> = places
                .filter(|place| self.entry(*place).1.summary.records() > 0)
                .collect();
            places.sort_by_key(|place| {
                let summary = &self.entry(*place).1.summary;
                (summary.last, summary.first)
            });
            newest_first.extend(places.into_iter().rev());
        }
        newest_first
    }

    /// Returns a chapter's file, and the file's entry for the chapter. The function may panic for a place that another
    /// [`JoinedFiles`] returned.
    #[must_use]
    pub fn entry(&self, ChapterPlace { place, .. }: ChapterPlace) -> (&F, &ChapterEntry) {
        let file = &self.files[place.file];
        (file, &file.contents().chapters[place.chapter])
    }

    /// Starts from the newest chapter that can be read: `place` is its position, and `newest` its content. Leaves out
    /// the runs after the chapter's run. Returns a ring with the chapter and a catalogue of the remaining chapters,
    /// each once. The catalogue has the last [`MAX_RUNS`] runs, and merges old chapters as
    /// [`Catalogue`](watchscope_log::Catalogue) states.
    ///
    /// # Errors
    /// It fails if a frame of the chapter cannot be read or does not follow the frame before. It also fails if the name
    /// of the chapter's log or run is longer than [`MAX_NAME_BYTES`]. After an error no run is left out.
    ///
    /// # Panics
    /// The function panics if the run of the place was left out before. It may panic for a place that another
    /// [`JoinedFiles`] returned.
    pub fn start_from(
        &mut self,
        place: ChapterPlace,
        newest: &Chapter,
    ) -> Result<Ring, DecodeError> {
        let frames = &newest.frames;
        let mut ring = Ring::recorded(frames.head(), frames.segments())?;
        let behind = &self.runs[place.run + 1..];
        let unread = behind.iter().filter(|run| self.last(run) > Seq(0));
        self.unread_runs += unread.count();
        self.runs.truncate(place.run + 1);
        ring.catalogue_mut().set_files(&self.file_runs());
        Ok(ring)
    }

    /// Returns how many of the runs that [`JoinedFiles::start_from`] left out have records, which cannot be read. A run
    /// that only has an empty chapter after its seq 1 counts, too. Before `start_from` is called, no run is left out,
    /// so the result is 0.
    #[must_use]
    pub fn unread_runs(&self) -> usize {
        self.unread_runs
    }

    /// Returns what a viewer's welcome states about the recording; `None` if it has no record. `name` is the name for
    /// people. The stated time begins with the earliest record of the last 160 chapters with records
    /// ([`MOST_AT_ONCE`]), which a page shows at once. Each copy of a chapter counts. The stated time ends with the
    /// latest of all records. The result states that diagnosis did not run again.
    #[must_use]
    pub fn recording(&self, name: &str) -> Option<Recording> {
        let (from, to) = self.times()?;
        Some(Recording {
            name: name.into(),
            from,
            to,
            is_judged_again: false,
        })
    }

    /// Iterates over the chapters that hold a record, and their files, in the order of [`Run`]: the longest copy of a
    /// chapter first. The iterator is empty if the epoch is unknown or left out, or if no chapter spans the seq.
    pub fn holding<'a>(
        &'a self,
        epoch: &EpochId,
        seq: Seq,
    ) -> impl Iterator<Item = (&'a F, &'a ChapterEntry)> + use<'a, F> {
        let mut runs = self.runs.iter();
        let run = runs.find(|run| run.epoch == epoch.as_str());
        let chapters = run.into_iter().flat_map(|run| self.chapters(run));
        chapters.filter(move |(_, entry)| holds(entry, seq))
    }

    /// Returns the last [`MAX_RUNS`] runs for a catalogue, which lists no more runs.
    fn file_runs(&self) -> Vec<FileRun> {
        let runs = (0..).zip(&self.runs);
        runs.skip(self.runs.len().saturating_sub(MAX_RUNS))
            .map(|(order, run)| {
                let chapters = self.chapters(run).map(|(_, entry)| entry.summary.clone());
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

    /// Returns the earliest time in the last [`MOST_AT_ONCE`] chapters, which a page shows at once, and the latest time
    /// of all chapters.
    fn times(&self) -> Option<(Time, Time)> {
        let times = self.summaries();
        let times: Vec<_> = times
            .map(|summary| (summary.first_at, summary.last_at))
            .collect();
        let from = times.iter().rev().take(MOST_AT_ONCE).map(|(from, _)| *from);
        let to = times.iter().map(|(_, to)| *to).max()?;
        Some((from.min()?, to))
    }
}

/// Returns the start of a recording's clock: the time `to` of its last record. The start is at most half of the largest
/// time, about 146,000 years after 1970.
#[must_use]
pub fn clock_start(to: Time) -> Time {
    to.min(LATEST_START)
}

fn first_at(file: &impl Recorded) -> Option<Time> {
    let chapters = &file.contents().chapters;
    chapters.first().map(|entry| entry.summary.first_at)
}

/// Returns the id of the chosen log, or of the only log of the files. It fails as [`JoinedFiles::new`] does.
fn one_log(files: &[impl Recorded], asked: Option<&str>) -> Result<String, LogError> {
    let of_files = files.iter().flat_map(|file| &file.contents().files);
    let mut logs: Vec<String> = of_files.map(|of| of.log.clone()).collect();
    logs.sort_unstable();
    logs.dedup();
    match (asked, &logs[..]) {
        (Some(log), _) if logs.iter().any(|of| of == log) => Ok(log.to_owned()),
        (Some(log), _) => Err(LogError::OtherLogs {
            log: log.to_owned(),
            logs,
        }),
        (None, [_, _, ..]) => Err(LogError::SeveralLogs { logs }),
        (None, one) => Ok(one.first().cloned().unwrap_or_default()),
    }
}

fn runs(files: &[impl Recorded], log: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    if log.len() > MAX_NAME_BYTES {
        return runs;
    }
    for (number, file) in files.iter().enumerate() {
        let contents = file.contents();
        for (chapter, entry) in contents.chapters.iter().enumerate() {
            let of = contents.file_of(entry);
            let is_wanted = |of: &str, epoch: &str| of == log && epoch.len() <= MAX_NAME_BYTES;
            let Some(of) = of.filter(|of| is_wanted(&of.log, &of.epoch)) else {
                continue;
            };
            let run = *places.entry(&of.epoch).or_insert_with(|| {
                runs.push(Run {
                    epoch: of.epoch.clone(),
                    chapters: Vec::new(),
                });
                runs.len() - 1
            });
            let file = number;
            runs[run].chapters.push(Place { file, chapter });
        }
    }
    for run in &mut runs {
        run.chapters.sort_by_key(|place| {
            let summary = &files[place.file].contents().chapters[place.chapter].summary;
            (summary.first, Reverse(summary.last))
        });
    }
    runs
}
