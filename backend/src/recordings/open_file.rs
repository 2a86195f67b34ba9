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
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is no recording that can be read.
    #[error("{}, {error}", path.display())]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: ReadError,
    },
}

/// A recording that is open. It holds what the file lists, and reads chapters as they are asked for.
#[derive(Debug)]
pub struct OpenFile {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    contents: Contents,
}

impl OpenFile {
    /// Opens a recording of this machine's disk. It may go on being written: what it holds then is read.
    ///
    /// # Errors
    /// If the file cannot be read, or is no recording of a version that is known.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::Unreadable {
            path: path.to_owned(),
            error,
        };
        // A person may name a link; the disk follows none.
        let target = fs::canonicalize(path).map_err(unreadable)?;
        Ok(Self {
            path: path.to_owned(),
            ..Self::open_on(&HostDisk, &target)?
        })
    }

    /// The same on a disk. No link is followed.
    ///
    /// # Errors
    /// If the file cannot be read, or is no recording of a version that is known.
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

    /// What a file holds.
    pub(super) fn scanned(file: &dyn DiskFile) -> io::Result<Result<Contents, ReadError>> {
        let mut scan = Scan::new(file.bytes()?);
        drive(file, |input| scan.step(input))
    }

    /// What it holds.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Its name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// The bodies of a block that a chapter lists.
    ///
    /// # Errors
    /// If the disk fails, or (within) if the block is damaged.
    pub fn bodies(&self, place: BlockPlace) -> Result<Result<Bodies, Damage>, OpenError> {
        let mut machine = ReadBodies::new(place);
        self.drive(|input| machine.step(input))
    }

    /// A chapter's frames.
    ///
    /// # Errors
    /// If the disk fails, or (within) if nothing of the chapter can be read.
    pub fn chapter(&self, entry: &ChapterEntry) -> Result<Result<Chapter, Damage>, OpenError> {
        let mut machine = ReadChapter::new(entry);
        self.drive(|input| machine.step(input))
    }

    /// What a machine gives that reads this file and does not fail.
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
