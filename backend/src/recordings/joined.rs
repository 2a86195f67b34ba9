//! Several recordings read as one: the runs of one log, each of its chapters once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use watchscope_model::{Seq, Time};
use watchscope_recording::ChapterEntry;

use super::open_file::{OpenError, OpenFile};

/// What recordings are named with at their end.
const SUFFIX: &str = "wscope";

/// Why recordings cannot be read as one.
#[derive(Debug, Error)]
pub enum JoinError {
    /// One of them cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A folder has none.
    #[error("{} holds no recording; they end in .wscope", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
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
#[derive(Debug)]
pub struct Joined {
    files: Vec<OpenFile>,
    runs: Vec<Run>,
}

/// A run of the log's writer, and its chapters: by their first record, of those that several files hold the longest
/// first.
#[derive(Debug)]
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

impl Joined {
    /// Opens recordings and folders of them. A folder of folders, as a history is, is searched too. `log` picks one of
    /// several logs.
    ///
    /// The runs come in the order of their times; within a folder in that of its files, by name, since a clock may have been
    /// set back between two runs.
    ///
    /// # Errors
    /// If one of them cannot be read, or they are not of one log.
    pub fn open(paths: &[PathBuf], log: Option<&str>) -> Result<Self, JoinError> {
        let mut groups = Vec::new();
        for path in paths {
            let names = if path.is_dir() {
                recordings_in(path)?
            } else {
                vec![path.clone()]
            };
            let files: Result<Vec<OpenFile>, _> =
                names.iter().map(|name| OpenFile::open(name)).collect();
            groups.push(files?);
        }
        groups.sort_by_key(|files| files.iter().find_map(first_at));
        let files: Vec<OpenFile> = groups.into_iter().flatten().collect();
        let log = one_log(&files, log)?;
        let runs = runs(&files, &log);
        Ok(Self { files, runs })
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[OpenFile] {
        &self.files
    }

    /// The runs.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// A run's chapters.
    pub fn chapters<'a>(
        &'a self,
        run: &'a Run,
    ) -> impl Iterator<Item = (&'a OpenFile, &'a ChapterEntry)> {
        run.chapters.iter().map(|place| {
            let file = &self.files[place.file];
            (file, &file.contents().chapters[place.chapter])
        })
    }

    /// The last record of a run that the files list.
    #[must_use]
    pub fn last(&self, run: &Run) -> Seq {
        let last = self.chapters(run).map(|(_, entry)| entry.summary.last);
        last.max().unwrap_or_default()
    }
}

fn first_at(file: &OpenFile) -> Option<Time> {
    let chapters = &file.contents().chapters;
    chapters.first().map(|entry| entry.summary.first_at)
}

/// The recordings in a folder and in the folders in it, by name.
fn recordings_in(folder: &Path) -> Result<Vec<PathBuf>, JoinError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| JoinError::Folder { path, error }
    };
    let mut folders = Vec::new();
    let mut found = files_in(folder, &mut folders).map_err(unreadable(folder))?;
    folders.sort();
    for inner in &folders {
        found.extend(files_in(inner, &mut Vec::new()).map_err(unreadable(inner))?);
    }
    if found.is_empty() {
        return Err(JoinError::Empty {
            path: folder.to_owned(),
        });
    }
    Ok(found)
}

/// The recordings in a folder, by name; the folders in it are added to `folders`.
fn files_in(folder: &Path, folders: &mut Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        let is_recording = path.extension().is_some_and(|end| end == SUFFIX);
        if kind.is_dir() {
            folders.push(path);
        } else if kind.is_file() && is_recording {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The one log that the files are of.
fn one_log(files: &[OpenFile], asked: Option<&str>) -> Result<String, JoinError> {
    let of_files = files.iter().flat_map(|file| &file.contents().files);
    let mut logs: Vec<String> = of_files.map(|of| of.log.clone()).collect();
    logs.sort_unstable();
    logs.dedup();
    match (asked, &logs[..]) {
        (Some(log), _) if logs.iter().any(|of| of == log) => Ok(log.to_owned()),
        (Some(log), _) => Err(JoinError::OtherLogs {
            log: log.to_owned(),
            logs,
        }),
        (None, [_, _, ..]) => Err(JoinError::SeveralLogs { logs }),
        (None, one) => Ok(one.first().cloned().unwrap_or_default()),
    }
}

fn runs(files: &[OpenFile], log: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        let contents = file.contents();
        for (chapter, entry) in contents.chapters.iter().enumerate() {
            let of = contents.file_of(entry);
            let Some(of) = of.filter(|of| of.log == log) else {
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
            (summary.first, std::cmp::Reverse(summary.last))
        });
    }
    runs
}
