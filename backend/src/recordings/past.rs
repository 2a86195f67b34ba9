//! Where chapters that are no longer in memory are read from.

use std::path::Path;
use std::{fmt, io};

use bytes::Bytes;
use watchscope_log::Fetched;
use watchscope_model::{EpochId, Seq};
use watchscope_recording::ChapterEntry;

use super::open_file::{OpenError, OpenFile};

/// Files of a log, for readers who want a chapter of the past. A call may wait for the disk.
pub trait Past: fmt::Debug + Send + Sync {
    /// The chapter that holds a record.
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched;

    /// The redacted body of a record, if a file has it.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn body(&self, epoch: &EpochId, seq: Seq) -> Result<Option<Bytes>, String>;
}

/// What a file lists of the chapter that holds a record; of several, the first that does.
fn entry<'a>(file: &'a OpenFile, epoch: &EpochId, seq: Seq) -> Option<&'a ChapterEntry> {
    let contents = file.contents();
    let mut entries = contents.chapters.iter();
    entries.find(|entry| {
        let of = contents.file_of(entry);
        let is_of_run = of.is_some_and(|of| of.epoch == epoch.as_str());
        is_of_run && (entry.summary.first..=entry.summary.last).contains(&seq)
    })
}

/// The body of a record, if a file has it.
pub(crate) fn body_in(
    file: &OpenFile,
    entry: &ChapterEntry,
    seq: Seq,
) -> Result<Option<Bytes>, String> {
    let mut damaged = None;
    for place in &entry.bodies {
        match file.bodies(*place).map_err(|error| unread(&error))? {
            Ok(bodies) => {
                if let Some(body) = bodies.get(seq) {
                    return Ok(Some(Bytes::copy_from_slice(body)));
                }
            }
            Err(damage) => damaged = Some(format!("{}, {damage}", name_of(file.path()))),
        }
    }
    damaged.map_or(Ok(None), Err)
}

/// The same of a file that is opened for it. One that is gone has none.
pub(crate) fn fetched_body(
    file: Result<OpenFile, OpenError>,
    epoch: &EpochId,
    seq: Seq,
) -> Result<Option<Bytes>, String> {
    let file = match file {
        Ok(file) => file,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(unread(&error)),
    };
    match entry(&file, epoch, seq) {
        Some(entry) => body_in(&file, entry, seq),
        None => Ok(None),
    }
}

/// What viewers learn of a file that cannot be read: its name, and not where it lies.
fn unread(error: &OpenError) -> String {
    tracing::warn!("{error}");
    match error {
        OpenError::Unreadable { path, error } => format!("cannot read {}: {error}", name_of(path)),
        OpenError::NotReadable { path, error } => format!("{}, {error}", name_of(path)),
    }
}

/// The name of a file without its folder.
pub(crate) fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn is_gone(error: &OpenError) -> bool {
    matches!(error, OpenError::Unreadable { error, .. } if error.kind() == io::ErrorKind::NotFound)
}

/// The chapter of a file that holds a record.
pub(crate) fn fetched(file: Result<OpenFile, OpenError>, epoch: &EpochId, seq: Seq) -> Fetched {
    match file {
        Ok(file) => {
            entry(&file, epoch, seq).map_or(Fetched::Gone, |entry| chapter_in(&file, entry))
        }
        Err(error) => not_fetched(&error),
    }
}

/// A chapter of a file.
pub(crate) fn chapter_in(file: &OpenFile, entry: &ChapterEntry) -> Fetched {
    match file.chapter(entry) {
        Ok(Ok(chapter)) => Fetched::Chapter {
            first: entry.summary.first,
            last: entry.summary.last,
            frames: Bytes::copy_from_slice(chapter.frames.bytes()),
        },
        Ok(Err(damage)) => Fetched::NotRead {
            reason: format!("{}, {damage}", name_of(file.path())),
        },
        Err(error) => not_fetched(&error),
    }
}

fn not_fetched(error: &OpenError) -> Fetched {
    if is_gone(error) {
        Fetched::Gone
    } else {
        Fetched::NotRead {
            reason: unread(error),
        }
    }
}

/// The first chapter that one of several files gave; else why one of them could not be read.
pub(crate) fn first_chapter(found: impl IntoIterator<Item = Fetched>) -> Fetched {
    let mut worst = Fetched::Gone;
    for found in found {
        match found {
            Fetched::Chapter { .. } => return found,
            Fetched::Gone => {}
            Fetched::NotRead { .. } => worst = found,
        }
    }
    worst
}

/// The same of bodies.
pub(crate) fn first_body(
    found: impl IntoIterator<Item = Result<Option<Bytes>, String>>,
) -> Result<Option<Bytes>, String> {
    let mut worst = Ok(None);
    for found in found {
        match found {
            Ok(Some(_)) => return found,
            Ok(None) => {}
            Err(_) => worst = found,
        }
    }
    worst
}
