//! Several recordings as one: the runs of one log, each of its chapters once.

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

/// The latest time at which the clock of a recording starts: so it never comes to the end of all times, where each
/// moment would be one for a heartbeat.
const LATEST_START: Time = Time(i64::MAX / 2);

/// A file that was scanned.
pub trait Recorded {
    /// What it holds.
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
    /// They are of several logs.
    #[error("these are recordings of several logs: {}; choose one with --log", logs.join(", "))]
    SeveralLogs {
        /// The logs.
        logs: Vec<String>,
    },
    /// They are of other logs than the one that was asked for.
    #[error("there is no recording of the log {log:?} here; there is {}", logs.join(", "))]
    OtherLogs {
        /// The log that was asked for.
        log: String,
        /// The logs there are.
        logs: Vec<String>,
    },
}

/// Recordings of one log, as one.
#[derive(Clone, Debug)]
pub struct JoinedFiles<F> {
    log: String,
    files: Vec<F>,
    runs: Vec<Run>,
    /// How many runs behind them have records and cannot be read.
    unread_runs: usize,
}

/// A run of the log's writer, and its chapters: by their first record, of those that several files hold the longest
/// first.
#[derive(Clone, Debug)]
pub struct Run {
    /// The epoch.
    pub epoch: String,
    chapters: Vec<Place>,
}

/// Where a chapter is.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    chapter: usize,
}

/// A chapter of a run.
#[derive(Clone, Copy, Debug)]
pub struct ChapterPlace {
    run: usize,
    place: Place,
}

impl<F: Recorded> JoinedFiles<F> {
    /// Joins files that are named in groups, as a folder's files are one. `log` picks one of several logs.
    ///
    /// The groups come in the order of their times; within a group its order stays, since a clock may have been set back
    /// between two runs. A log or a run whose name is longer than [`MAX_NAME_BYTES`] is passed over.
    ///
    /// # Errors
    /// If they are not of one log.
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

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[F] {
        &self.files
    }

    /// The log that they are of.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// The runs.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// A run's chapters.
    pub fn chapters<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = (&'a F, &'a ChapterEntry)> {
        run.chapters.iter().map(|place| {
            let file = &self.files[place.file];
            (file, &file.contents().chapters[place.chapter])
        })
    }

    /// What the files list of all chapters that have records, run by run.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        let chapters = self.runs.iter().flat_map(|run| self.chapters(run));
        let summaries = chapters.map(|(_, entry)| &entry.summary);
        summaries.filter(|summary| summary.records() > 0)
    }

    /// The last record of a run that the files list.
    #[must_use]
    pub fn last(&self, run: &Run) -> Seq {
        let last = self.chapters(run).map(|(_, entry)| entry.summary.last);
        last.max().unwrap_or_default()
    }

    /// How many records the runs have. Of a chapter that several files hold, the longest counts.
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

    /// The chapters that have records: those of the newest run first, and of each run the newest first. A reader starts
    /// from the first that can be read.
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

    /// A chapter's file, and what that lists of it.
    #[must_use]
    pub fn entry(&self, ChapterPlace { place, .. }: ChapterPlace) -> (&F, &ChapterEntry) {
        let file = &self.files[place.file];
        (file, &file.contents().chapters[place.chapter])
    }

    /// Starts from the newest chapter that can be read: leaves out the runs behind its run, and returns a ring with the
    /// chapter, whose catalogue lists all that is left.
    ///
    /// # Errors
    /// If a frame of the chapter cannot be read or does not follow the one before. Nothing is left out then.
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

    /// How many runs were left out that have records and cannot be read.
    #[must_use]
    pub fn unread_runs(&self) -> usize {
        self.unread_runs
    }

    /// What a viewer's welcome says of the files; `None` if they hold no record. `name` is for people.
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

    /// The chapters that hold a record, and their files.
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

    /// What the files hold, run by run. A catalogue lists no more than the last [`MAX_RUNS`] runs.
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

    /// The time of the first record that is shown at once, and of the last.
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

/// When the clock of a recording starts, whose last record is of the time `to`.
#[must_use]
pub fn clock_start(to: Time) -> Time {
    to.min(LATEST_START)
}

fn first_at(file: &impl Recorded) -> Option<Time> {
    let chapters = &file.contents().chapters;
    chapters.first().map(|entry| entry.summary.first_at)
}

/// The one log that the files are of.
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
