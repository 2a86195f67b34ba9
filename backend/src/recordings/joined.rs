//! Recordings, and folders of them, that are read as one.

use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use thiserror::Error;
use watchscope_recording::Contents;
use watchscope_replay::{JoinedFiles, LogError, Recorded};

use super::open_file::{OpenError, OpenFile};

/// The ending of a recording's name.
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
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A folder holds no recording.
    #[error("{} holds no recording; they end in .wscope", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// They belong to several logs.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Recordings of one log, read as one.
#[derive(Debug)]
pub struct Joined {
    files: JoinedFiles<OpenFile>,
    newer: Vec<OpenError>,
}

impl Deref for Joined {
    type Target = JoinedFiles<OpenFile>;

    fn deref(&self) -> &Self::Target {
        &self.files
    }
}

impl DerefMut for Joined {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.files
    }
}

impl Recorded for OpenFile {
    fn contents(&self) -> &Contents {
        self.contents()
    }
}

impl Joined {
    /// Opens recordings and folders of them. A folder is searched with the folders in it, as a history has them. `log` picks
    /// one of several logs.
    ///
    /// The runs are in the order of their times. The runs in one folder are in the order of its files' names, since a clock
    /// may have been set back between two runs.
    ///
    /// A folder may hold files of a later watchscope that was replaced by this one. They are left out, and [`Joined::newer`]
    /// names them.
    ///
    /// # Errors
    /// If one of them cannot be read, if a folder holds only files of a later watchscope, or if they belong to several logs
    /// and `log` picks none.
    pub fn open(paths: &[PathBuf], log: Option<&str>) -> Result<Self, JoinError> {
        let (mut groups, mut newer) = (Vec::new(), Vec::new());
        for path in paths {
            if !path.is_dir() {
                groups.push(vec![OpenFile::open(path)?]);
                continue;
            }
            let (mut files, mut left_out) = (Vec::new(), Vec::new());
            for name in recordings_in(path)? {
                match OpenFile::open(&name) {
                    Err(error) if error.is_newer() => left_out.push(error),
                    file => files.push(file?),
                }
            }
            if files.is_empty()
                && let Some(error) = left_out.pop()
            {
                return Err(error.into());
            }
            newer.extend(left_out);
            groups.push(files);
        }
        let files = JoinedFiles::new(groups, log)?;
        Ok(Self { files, newer })
    }

    /// Returns why files in folders were left out: a later watchscope wrote them. The errors name the files.
    #[must_use]
    pub fn newer(&self) -> &[OpenError] {
        &self.newer
    }
}

/// Returns the recordings in a folder and in the folders in it, by name.
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

/// Returns the recordings in a folder, by name. Adds the folders in it to `folders`.
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
