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

/// The latest time at which the clock of a recording starts, about 146,000 years after 1970; a later one starts here.
/// So the clock never reaches the largest time, at which every moment would be due for a heartbeat.
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
    /// The recordings are of several logs, and none was chosen.
    #[error("these are recordings of several logs: {}; choose one with --log", logs.join(", "))]
    SeveralLogs {
        /// Ids of these logs, sorted, each once; at least two.
        logs: Vec<String>,
    },
    /// No recording is of the chosen log.
    #[error("there is no recording of the log {log:?} here; there is {}", logs.join(", "))]
    OtherLogs {
        /// Id of the chosen log.
        log: String,
        /// Ids of the logs that there are, sorted, each once; empty if no file has a readable `F`.
        logs: Vec<String>,
    },
}

/// Recordings of one log, read as one. It holds the files' contents, and a place for each chapter of the log in them.
#[derive(Clone, Debug)]
pub struct JoinedFiles<F> {
    log: String,
    files: Vec<F>,
    runs: Vec<Run>,
    /// The number of runs behind these that have records, but no readable one.
    unread_runs: usize,
}

/// A run of the log's writer with its chapters, sorted by their first record; at least one. If several files hold a
/// chapter, each copy is there, and the longest comes first.
#[derive(Clone, Debug)]
pub struct Run {
    /// The id of the epoch, of at most [`MAX_NAME_BYTES`]; no two runs of a [`JoinedFiles`] share one.
    pub epoch: String,
    chapters: Vec<Place>,
}

/// The place of a chapter: index of the file, and index in its chapters.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    chapter: usize,
}

/// A chapter of a run, by its place in the [`JoinedFiles`] that returned it. It means nothing to another one.
#[derive(Clone, Copy, Debug)]
pub struct ChapterPlace {
    run: usize,
    place: Place,
}

impl<F: Recorded> JoinedFiles<F> {
    /// Joins groups of files; the files of a folder are one group. `log` is the id of the chosen log; `None`: the only
    /// one. Without any file, or without a readable `F` in them, the log's id is empty and there are no runs.
    ///
    /// Groups are sorted by the time at which the first chapter of their first file with one begins; a group without a
    /// chapter comes first. The order within a group stays, because a clock may have been set back between two runs. A
    /// log or a run with a name over [`MAX_NAME_BYTES`] is passed over, so it has no records here.
    ///
    /// # Errors
    /// [`LogError`] if no log is chosen and there are several, or if no file is of the chosen log.
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

    /// Returns all files, also those without a chapter of the log: by group, and in a group as they were given.
    #[must_use]
    pub fn files(&self) -> &[F] {
        &self.files
    }

    /// Returns the id of the log; empty if the files name none.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns the runs, in the order of the files that first have a chapter of them; empty if no file has one. Those
    /// that [`JoinedFiles::start_from`] left out are not among them.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Iterates over a run's chapters and their files, in the order of [`Run`]. A chapter that several files hold comes
    /// once for each. It may panic at a run of other files.
    pub fn chapters<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = (&'a F, &'a ChapterEntry)> {
        run.chapters.iter().map(|place| {
            let file = &self.files[place.file];
            (file, &file.contents().chapters[place.chapter])
        })
    }

    /// Iterates over the summaries of all chapters that have records, run by run, in the order of [`Run`]. A chapter
    /// that several files hold comes once for each.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        let chapters = self.runs.iter().flat_map(|run| self.chapters(run));
        let summaries = chapters.map(|(_, entry)| &entry.summary);
        summaries.filter(|summary| summary.records() > 0)
    }

    /// Returns the seq of the last record of a run according to its files' summaries. If it has none, the seq before
    /// the one that its last chapter begins with: 0 for a run from its first record on. It may panic at a run of other
    /// files.
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

    /// Returns the chapters that have records, newest run first, and newest chapter first in each run; empty if none
    /// has any. The newest chapter has the highest last record; of two with the same one, the shorter comes first. A
    /// reader starts from the first that can be read.
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

    /// Returns a chapter's file, and the file's entry of it. It may panic at a place that other [`JoinedFiles`]
    /// returned.
    #[must_use]
    pub fn entry(&self, ChapterPlace { place, .. }: ChapterPlace) -> (&F, &ChapterEntry) {
        let file = &self.files[place.file];
        (file, &file.contents().chapters[place.chapter])
    }

    /// Starts from the newest chapter that can be read: `place` says where it is, and `newest` is it. Leaves out the
    /// runs behind its run. Returns a ring with the chapter and a catalogue of the remaining chapters, each once. The
    /// catalogue has the last [`MAX_RUNS`] runs, and merges old chapters as [`Catalogue`](watchscope_log::Catalogue)
    /// states.
    ///
    /// # Errors
    /// If a frame of the chapter cannot be read or does not follow the one before. If the name of its log or run is
    /// longer than [`MAX_NAME_BYTES`]. Then no run is left out.
    ///
    /// # Panics
    /// If the run of the place was left out before. It may panic at a place that other [`JoinedFiles`] returned.
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
    /// that only has an empty chapter behind its seq 1 counts, too. Before it is called, 0.
    #[must_use]
    pub fn unread_runs(&self) -> usize {
        self.unread_runs
    }

    /// Returns what a viewer's welcome says about the recording; `None` if it has no record. `name` is for people. It
    /// begins with the earliest record of the last 160 chapters with records ([`MOST_AT_ONCE`]), which a page shows at
    /// once; each copy of a chapter counts. It ends with the latest record of all. It says that diagnosis did not run
    /// again.
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
    /// chapter first. There is none if the epoch is unknown or left out, or if no chapter spans the seq.
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

    /// Returns the last [`MAX_RUNS`] runs for a catalogue, which lists no more.
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

    /// Returns the times of the first and the last record that a page shows at once: the last [`MOST_AT_ONCE`]
    /// chapters.
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

/// Returns the start of a recording's clock: the time `to` of its last record. It is clamped to half of the largest
/// time, about 146,000 years after 1970.
#[must_use]
pub fn clock_start(to: Time) -> Time {
    to.min(LATEST_START)
}

fn first_at(file: &impl Recorded) -> Option<Time> {
    let chapters = &file.contents().chapters;
    chapters.first().map(|entry| entry.summary.first_at)
}

/// Returns the one log of the files.
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
