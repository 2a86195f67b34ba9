//! The source of chapters, bodies and notes that are no longer in memory.

use std::path::Path;
use std::{fmt, io};

use bytes::Bytes;
use watchscope_log::Fetched;
use watchscope_model::{EpochId, LogId, Notes, Seq};
use watchscope_recording::ChapterEntry;
use watchscope_replay::{FetchBody, FetchChapter, FetchNotes, holding};

use super::open_file::{OpenError, OpenFile};

/// The files of a log, for readers of the past. A call may block on the disk.
pub trait Past: fmt::Debug + Send + Sync {
    /// Reads the chapter that holds a record.
    fn chapter(&self, epoch: &EpochId, seq: Seq) -> Fetched;

    /// Reads the redacted body of a record, if a file has it.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    fn body(&self, epoch: &EpochId, seq: Seq) -> Result<Option<Bytes>, String>;

    /// Looks at the redacted bodies of the chapter that holds a record, and returns the records for whose bodies `is_wanted`
    /// is true. `None` if no file has the chapter.
    ///
    /// # Errors
    /// A sentence that says why they cannot be read.
    fn bodies_matching(
        &self,
        epoch: &EpochId,
        seq: Seq,
        is_wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<MatchingBodies>, String>;

    /// Reads the notes of persons, of all runs; none if the log itself has them. Unreadable notes are left out.
    fn notes(&self) -> Notes {
        Notes::default()
    }
}

/// The bodies of a chapter that match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchingBodies {
    /// The last record of the chapter.
    pub last: Seq,
    /// The records whose bodies match, sorted.
    pub seqs: Vec<Seq>,
    /// The bytes that were inflated.
    pub inflated_bytes: u64,
    /// Whether the file keeps bodies of the chapter.
    pub are_kept: bool,
}

/// Looks at the bodies of a chapter in an open file.
pub(crate) fn bodies_matching_in(
    file: &OpenFile,
    entry: &ChapterEntry,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<MatchingBodies, String> {
    let mut matching = MatchingBodies {
        last: entry.summary.last,
        are_kept: !entry.bodies.is_empty(),
        ..MatchingBodies::default()
    };
    for place in &entry.bodies {
        let bodies = file.bodies(*place).map_err(|error| unread(&error))?;
        let bodies = bodies.map_err(|damage| format!("{}, {damage}", name_of(file.path())))?;
        matching.inflated_bytes += u64::from(place.header.raw_bytes);
        let wanted = bodies.iter().filter(|(_, body)| is_wanted(body));
        matching.seqs.extend(wanted.map(|(seq, _)| seq));
    }
    matching.seqs.sort_unstable();
    Ok(matching)
}

/// Like [`bodies_matching_in`], for a file that was opened for this. A file that is gone has no chapter.
pub(crate) fn fetched_bodies_matching(
    file: Result<OpenFile, OpenError>,
    epoch: &EpochId,
    seq: Seq,
    is_wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<MatchingBodies>, String> {
    let file = match file {
        Ok(file) => file,
        Err(error) if is_gone(&error) => return Ok(None),
        Err(error) => return Err(unread(&error)),
    };
    let entry = holding(file.contents(), epoch, seq);
    let matching = entry.map(|entry| bodies_matching_in(&file, entry, is_wanted));
    matching.transpose()
}

/// Reads the body of a record from an open file, if the file has it.
pub(crate) fn body_in(
    file: &OpenFile,
    entry: &ChapterEntry,
    seq: Seq,
) -> Result<Option<Bytes>, String> {
    let mut machine = FetchBody::new(&name_of(file.path()), [entry], seq);
    let read = file.run(|input| machine.step(input));
    read.unwrap_or_else(|error| Err(unread(&error)))
}

/// Reads the notes of persons that belong to `log` from a file. Unreadable notes are left out.
pub(crate) fn notes_in(file: &OpenFile, log: LogId) -> Notes {
    let mut machine = FetchNotes::new(log, file.contents());
    let read = file.run(|input| machine.step(input));
    read.unwrap_or_else(|error| {
        unread(&error);
        Notes::default()
    })
}

/// Like [`body_in`], for a file that was opened for this. A file that is gone has no body.
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
    match holding(file.contents(), epoch, seq) {
        Some(entry) => body_in(&file, entry, seq),
        None => Ok(None),
    }
}

/// Logs the error of a file that cannot be read. Returns what viewers may know: the file's name, without its folder.
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

/// Reads the chapter that holds a record from a file that was opened for this.
pub(crate) fn fetched(file: Result<OpenFile, OpenError>, epoch: &EpochId, seq: Seq) -> Fetched {
    match file {
        Ok(file) => match holding(file.contents(), epoch, seq) {
            Some(entry) => chapter_in(&file, entry),
            None => Fetched::Gone,
        },
        Err(error) => not_fetched(&error),
    }
}

/// Reads a chapter from an open file.
pub(crate) fn chapter_in(file: &OpenFile, entry: &ChapterEntry) -> Fetched {
    let mut machine = FetchChapter::new(&name_of(file.path()), [entry]);
    let read = file.run(|input| machine.step(input));
    read.unwrap_or_else(|error| not_fetched(&error))
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
