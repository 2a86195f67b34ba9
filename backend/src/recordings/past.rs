//! Where chapters that are no longer in memory are read from.

use std::fmt;

use watchscope_log::Fetched;
use watchscope_model::{EpochId, Seq};

use super::open_file::{OpenError, OpenFile};

/// Files of a log, for readers who want a chapter of the past. A call may wait for the disk.
pub trait Past: fmt::Debug + Send + Sync {
    /// The chapter that holds a record.
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched;
}

/// The chapter of a file that holds a record; of several, the first that does.
pub(crate) fn fetched(file: Result<OpenFile, OpenError>, epoch: &EpochId, seq: Seq) -> Fetched {
    let read = file.and_then(|file| {
        let contents = file.contents();
        let mut entries = contents.chapters.iter();
        let entry = entries.find(|entry| {
            let of = entry.file.and_then(|of| contents.files.get(of));
            let is_of_run = of.is_some_and(|of| of.epoch == epoch.as_str());
            is_of_run && (entry.summary.first..=entry.summary.last).contains(&seq)
        });
        let Some(entry) = entry else {
            return Ok(Fetched::Gone);
        };
        Ok(match file.chapter(entry)? {
            Ok(chapter) => Fetched::Chapter {
                first: entry.summary.first,
                last: entry.summary.last,
                frames: chapter.frames.bytes().to_vec().into(),
            },
            Err(damage) => Fetched::NotRead {
                reason: format!("{}, {damage}", file.path().display()),
            },
        })
    });
    read.unwrap_or_else(|error| match &error {
        OpenError::Unreadable { error: cause, .. }
            if cause.kind() == std::io::ErrorKind::NotFound =>
        {
            Fetched::Gone
        }
        _ => Fetched::NotRead {
            reason: error.to_string(),
        },
    })
}
