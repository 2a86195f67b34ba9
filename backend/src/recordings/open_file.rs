//! A recording that is open for reading.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;
use watchscope_recording::{
    BlockPlace, Bodies, Chapter, ChapterEntry, Contents, Damage, Input, ReadBodies, ReadChapter,
    ReadError, Scan, Step,
};

use super::disk::{Disk, DiskFile, HostDisk};
use super::machines::drive;

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The file is no recording that can be read.
    #[error("{}, {error}", path.display())]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        error: ReadError,
    },
}

impl OpenError {
    /// Whether a later watchscope wrote the file.
    pub(super) fn is_newer(&self) -> bool {
        matches!(
            self,
            Self::NotReadable {
                error: ReadError::Newer { .. },
                ..
            }
        )
    }
}

/// A recording that is open. It holds the file's index, and reads chapters on request.
#[derive(Debug)]
pub struct OpenFile {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    contents: Contents,
}

impl OpenFile {
    /// Opens a recording on this machine's disk. If it is still being written, what it holds now is read.
    ///
    /// # Errors
    /// If the file cannot be read, or is no recording of a known version.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::Unreadable {
            path: path.to_owned(),
            error,
        };
        // A person may name a link, but the disk follows none.
        let target = fs::canonicalize(path).map_err(unreadable)?;
        Ok(Self {
            path: path.to_owned(),
            ..Self::open_on(&HostDisk, &target)?
        })
    }

    /// Opens a recording on a disk. It follows no link.
    ///
    /// # Errors
    /// If the file cannot be read, or is no recording of a known version.
    pub fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::Unreadable {
            path: path.to_owned(),
            error,
        };
        let file = disk.open(path, false).map_err(unreadable)?;
        let contents = Self::scanned(&*file).map_err(unreadable)?;
        let contents = contents.map_err(|error| OpenError::NotReadable {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            contents,
        })
    }

    /// Scans a file for its contents.
    pub(super) fn scanned(file: &dyn DiskFile) -> io::Result<Result<Contents, ReadError>> {
        let mut scan = Scan::new(file.bytes()?);
        drive(file, |input| scan.step(input))
    }

    /// The contents of the file.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The path by which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Reads the bodies of a block that a chapter lists.
    ///
    /// # Errors
    /// If the disk fails. The inner error means that the block is damaged.
    pub fn bodies(&self, place: BlockPlace) -> Result<Result<Bodies, Damage>, OpenError> {
        let mut machine = ReadBodies::new(place);
        self.drive(|input| machine.step(input))
    }

    /// Reads the frames of a chapter.
    ///
    /// # Errors
    /// If the disk fails. The inner error means that nothing of the chapter can be read.
    pub fn chapter(&self, entry: &ChapterEntry) -> Result<Result<Chapter, Damage>, OpenError> {
        let mut machine = ReadChapter::new(entry);
        self.drive(|input| machine.step(input))
    }

    /// Runs a machine over this file that itself cannot fail.
    pub(super) fn run<T>(&self, mut step: impl FnMut(Input) -> Step<T>) -> Result<T, OpenError> {
        let Ok(result) = self.drive(|input| Ok::<_, Infallible>(step(input)))?;
        Ok(result)
    }

    fn drive<T, E>(
        &self,
        step: impl FnMut(Input) -> Result<Step<T>, E>,
    ) -> Result<Result<T, E>, OpenError> {
        drive(&*self.file, step).map_err(|error| OpenError::Unreadable {
            path: self.path.clone(),
            error,
        })
    }
}
