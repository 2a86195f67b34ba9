//! Writes the log's frames into files, one file after another. All of it runs on a thread that may block on the disk.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use tokio::time::Instant;
use watchscope_model::chapter::ChapterReader;
use watchscope_model::notes::push_note;
use watchscope_model::vocabulary::DiskTrouble;
use watchscope_model::{KeptNote, NoteKey, Seq, Time};
use watchscope_recording::FileBlock;

use super::HistoryConfig;
use super::archive::Archive;
use super::file_set::{FileSet, holds_record, times};
use super::place::{Place, PlaceError};
use super::state::{HistoryState, trouble_of};
use crate::log::{FrameRead, LogHandle};
use crate::recordings::{Disk, RecordError, Recorder, file_block};

/// The longest time between two syncs. With the wait before a write, a record is safe on the disk after 5 s.
const SYNC: Duration = Duration::from_secs(4);
/// The interval at which files that are too old are dropped.
const LOOK: Duration = Duration::from_secs(60);
/// The number of blocks at which a file is ended. With one block a second that is after a day.
const MAX_FILE_BLOCKS: usize = 100_000;
/// The part of the budget that notes carried on from dropped files may take: one eighth.
const NOTES_IN_BUDGET: u64 = 8;

/// Why the history cannot continue for now.
#[derive(Debug, Error)]
pub(super) enum HistoryError {
    /// The file cannot be created or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder cannot be created again.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The folder cannot be read, or a file in it cannot be removed.
    #[error("cannot use {}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The disk's error.
        #[source]
        error: io::Error,
    },
    /// Somebody removed the file that was being written.
    #[error("{} was removed", path.display())]
    Removed {
        /// The file.
        path: PathBuf,
    },
}

impl HistoryError {
    /// Whether records may be lost that were in a file before.
    fn may_have_lost(&self) -> bool {
        matches!(
            self,
            Self::Removed { .. } | Self::Record(RecordError::NotSynced { .. })
        )
    }

    /// The kind of trouble that the page and `/metrics` show for this error.
    pub(super) fn trouble(&self) -> DiskTrouble {
        match self {
            Self::Record(error) => error.disk_error().map_or(DiskTrouble::Failing, trouble_of),
            Self::Place(
                PlaceError::NotMade { error, .. } | PlaceError::NotUsable { error, .. },
            )
            | Self::Folder { error, .. } => trouble_of(error),
            Self::Place(_) => DiskTrouble::Failing,
            Self::Removed { .. } => DiskTrouble::Gone,
        }
    }
}

/// The file that is being written.
#[derive(Debug)]
struct OpenFile {
    number: u64,
    /// The first record of its first chapter.
    first: Option<Seq>,
    /// The time of its first record.
    first_at: Option<Time>,
    /// The notes that were written beside its chapters.
    noted: BTreeSet<NoteKey>,
    recorder: Recorder,
}

/// The writer of a log's run into files.
#[derive(Debug)]
pub(super) struct FileWriter {
    config: HistoryConfig,
    disk: Arc<dyn Disk>,
    place: Place,
    files: FileSet,
    log: LogHandle,
    archive: Archive,
    /// The description of the log's run.
    of: FileBlock,
    open: Option<OpenFile>,
    /// The first record that a failure may lose: the first of the oldest chapter that is not both closed and synced.
    unsafe_from: Seq,
    kept_to: Seq,
    /// The open file holds all records from here to `kept_to`.
    whole_from: Seq,
    lost: u64,
    synced_at: Instant,
    /// Bytes of the open file that are safe on the disk.
    synced_bytes: u64,
    looked_at: Instant,
}

impl FileWriter {
    pub(super) fn new(
        config: HistoryConfig,
        disk: Arc<dyn Disk>,
        place: Place,
        log: LogHandle,
        archive: Archive,
        first: Seq,
    ) -> Self {
        let now = Instant::now();
        let files = FileSet::new(disk.clone(), place.folder(), &config);
        log.keep_notes();
        Self {
            config,
            disk,
            place,
            files,
            of: file_block(log.log(), log.epoch()),
            log,
            archive,
            open: None,
            unsafe_from: first,
            kept_to: Seq(0),
            whole_from: first,
            lost: 0,
            synced_at: now,
            synced_bytes: 0,
            looked_at: now,
        }
    }

    /// Writes the frames that were read. `next` is the seq after them, and `at` the log's time.
    pub(super) fn write(
        &mut self,
        reads: &[FrameRead],
        next: Seq,
        at: Time,
    ) -> Result<(), HistoryError> {
        for read in reads {
            match read {
                FrameRead::Opening(head) => self.open_chapter(head, read, at)?,
                FrameRead::Segment(_) => {
                    if let Some(open) = &mut self.open {
                        open.recorder.take(read)?;
                    }
                }
                FrameRead::Loss { from, to } => {
                    if let Some(open) = &mut self.open {
                        open.recorder.take(read)?;
                    }
                    (self.unsafe_from, self.whole_from) = (to.next(), to.next());
                    // A write that failed may have left a part of these records in a file.
                    let epoch = self.of.epoch.as_str().into();
                    self.lost += self.files.missing(&epoch, *from, *to);
                }
            }
        }
        let now = Instant::now();
        if let Some(open) = &mut self.open {
            open.recorder.flush()?;
            if now >= self.synced_at + SYNC {
                if open.recorder.bytes() != self.synced_bytes {
                    open.recorder.sync()?;
                }
                (self.synced_at, self.synced_bytes) = (now, open.recorder.bytes());
                self.look_for_the_file()?;
            }
        }
        if !reads.is_empty() {
            self.kept_to = Seq(next.0.saturating_sub(1));
            self.list_kept();
        }
        if now >= self.looked_at + LOOK {
            self.drop_over_budget(at)?;
        }
        Ok(())
    }

    /// Opens the next chapter. It begins a new file if none is open or the open one is full.
    fn open_chapter(
        &mut self,
        head: &Bytes,
        read: &FrameRead,
        at: Time,
    ) -> Result<(), HistoryError> {
        let is_full = self.open.as_ref().is_some_and(|open| {
            let bytes = open.recorder.bytes();
            bytes >= self.files.file_bytes() || open.recorder.block_count() >= MAX_FILE_BLOCKS
        });
        if is_full {
            self.end_file()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                self.place.renew()?;
                let (number, path) = self.files.next_name(at);
                let state = ChapterReader::open(head).map(|(_, opening)| opening.state);
                let of = self.of.clone().with_state(&state.unwrap_or_default());
                let mut recorder = Recorder::create(self.disk.clone(), &path, of)?;
                if self.config.bodies_bytes.is_some() {
                    recorder = recorder.with_bodies(self.log.clone());
                }
                self.open.insert(OpenFile {
                    number,
                    first: None,
                    first_at: None,
                    noted: BTreeSet::new(),
                    recorder,
                })
            }
        };
        open.recorder.take(read)?;
        if let Some(first) = open.recorder.open_first() {
            self.unsafe_from = first;
            if open.first.is_none() {
                open.first = Some(first);
                self.whole_from = first;
                open.recorder.sync()?;
                self.files.set_changed();
            }
        }
        (self.synced_at, self.synced_bytes) = (Instant::now(), open.recorder.bytes());
        self.drop_over_budget(at)
    }

    /// The time by which written bytes must be synced; `None` if all are.
    pub(super) fn sync_due(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        (open.recorder.bytes() != self.synced_bytes).then(|| self.synced_at + SYNC)
    }

    /// Ends the open file, if there is one.
    fn end_file(&mut self) -> Result<(), HistoryError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let OpenFile {
            number, recorder, ..
        } = open;
        let (path, bytes) = (recorder.path().to_owned(), recorder.bytes());
        match recorder.finish() {
            Ok(finished) => {
                self.files.put(number, path, finished);
                Ok(())
            }
            Err(error) => {
                self.files.put_broken(number, path, bytes);
                Err(error.into())
            }
        }
    }

    fn drop_over_budget(&mut self, at: Time) -> Result<(), HistoryError> {
        self.looked_at = Instant::now();
        let bodies = self.open.as_ref();
        let bodies = bodies.map_or(0, |open| open.recorder.bodies_bytes());
        let open_bytes = self.open_bytes() - bodies;
        let over = self.files.over_budget(open_bytes, &self.config, at);
        let over = self.carry_notes(over)?;
        let files = &mut self.files;
        let dropped = match self.config.bodies_bytes {
            Some(bodies_bytes) => files.drop_bodies(bodies, bodies_bytes),
            None => Ok(()),
        };
        let dropped = dropped.and_then(|()| files.drop_files(&over));
        if files.take_changed() {
            self.list_files();
        }
        dropped.map_err(|error| self.folder_error(error))
    }

    /// Writes the notes that no file would hold without the files `leaving` into the open file. Returns the files that
    /// may be dropped. If no file is open, files with such notes stay until one is.
    ///
    /// The notes carried on take at most an eighth of the budget. Further ones, the oldest first, are gone for good.
    fn carry_notes(&mut self, mut leaving: Vec<u64>) -> Result<Vec<u64>, HistoryError> {
        let mut keys: Vec<NoteKey> = self.log.with_notes(|notes| {
            let newest_first = notes.records().rev();
            newest_first.map(|note| note.key.clone()).collect()
        });
        self.only_lost(&mut keys, &leaving);
        if keys.is_empty() {
            return Ok(leaving);
        }
        let mut lost: Vec<KeptNote> = self.log.with_notes(|notes| {
            let lost = keys.iter().filter_map(|key| notes.get(key));
            lost.cloned().collect()
        });
        let Some(open) = &mut self.open else {
            leaving.retain(|&number| !self.files.holds_any(number, &lost));
            return Ok(leaving);
        };
        let most = self.config.size_bytes / NOTES_IN_BUDGET;
        let mut bytes = Vec::new();
        let kept = lost.iter().take_while(|note| {
            push_note(note, &mut bytes);
            bytes.len() as u64 <= most
        });
        let over = lost.split_off(kept.count());
        if !over.is_empty() {
            tracing::warn!(
                "the history: {} notes do not fit in an eighth of --history-size and are gone",
                over.len()
            );
            let keys: Vec<NoteKey> = over.into_iter().map(|note| note.key).collect();
            self.log.forget_notes(&keys);
        }
        lost.reverse();
        open.recorder.put_notes(&lost)?;
        open.noted.extend(lost.into_iter().map(|note| note.key));
        Ok(leaving)
    }

    /// Removes from `keys` the notes that another file holds or will hold, so that the lost ones remain: their records are
    /// not written again.
    fn only_lost(&self, keys: &mut Vec<NoteKey>, leaving: &[u64]) {
        // All records of this run from here on are in the open file, or will be.
        let whole_from = match self.open {
            Some(_) => self.whole_from.min(self.unsafe_from),
            None => self.unsafe_from,
        };
        keys.retain(|key| {
            let is_own = self.of.epoch == key.epoch.as_str();
            let open = self.open.as_ref();
            let is_noted = open.is_some_and(|open| open.noted.contains(key));
            !(is_noted || is_own && key.seq >= whole_from || self.files.is_held(key, leaving))
        });
        if let Some(open) = &self.open
            && !keys.is_empty()
        {
            let contents = open.recorder.contents();
            keys.retain(|key| !holds_record(&contents, key));
        }
    }

    fn look_for_the_file(&mut self) -> Result<(), HistoryError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        if open.recorder.is_there()? {
            return Ok(());
        }
        let path = open.recorder.path().to_owned();
        // All records in the file are gone.
        self.unsafe_from = open.first.unwrap_or(self.unsafe_from);
        self.open = None;
        Err(HistoryError::Removed { path })
    }

    /// Puts the open file away after a failure. Returns the record from which writing starts again. What was written before
    /// a failed write is still in the file; what was not synced may be gone.
    pub(super) fn fail(&mut self, error: &HistoryError) -> Seq {
        if let Some(OpenFile {
            number, recorder, ..
        }) = self.open.take()
        {
            let (path, bytes) = (recorder.path().to_owned(), recorder.bytes());
            self.files.put_broken(number, path, bytes);
        }
        if error.may_have_lost() {
            let before = Seq(self.unsafe_from.0.saturating_sub(1));
            self.kept_to = self.kept_to.min(before);
        }
        self.unsafe_from
    }

    /// Looks for the files in the folder, at the start and after a failure. Ends those whose writer is gone.
    pub(super) fn find_files(&mut self, at: Time) -> Result<(), HistoryError> {
        self.place.renew()?;
        let found = self.files.find();
        found.map_err(|error| self.folder_error(error))?;
        let (notes, watches) = self.files.read_notes(self.log.log());
        self.log.learn_notes(notes.records().cloned(), watches);
        self.drop_over_budget(at)
    }

    /// Ends the file when the log ends.
    pub(super) fn finish(&mut self, at: Time) -> Result<(), HistoryError> {
        self.end_file()?;
        self.drop_over_budget(at)
    }

    /// Returns the present state of the history.
    pub(super) fn state(&mut self) -> HistoryState {
        let of_open = self.open.as_mut().and_then(|open| {
            let contents = || times(&open.recorder.contents()).map(|(first_at, _)| first_at);
            open.first_at = open.first_at.or_else(contents);
            open.first_at
        });
        HistoryState {
            bytes: self.files.bytes() + self.open_bytes(),
            size_bytes: self.config.size_bytes + self.config.bodies_bytes.unwrap_or(0),
            since: self.files.since().into_iter().chain(of_open).min(),
            kept_to: self.kept_to,
            waits_since: None,
            trouble: None,
            lost: self.lost,
        }
    }

    /// Publishes to the log's readers which records the files hold.
    fn list_files(&self) {
        let contents = self.open.as_ref().map(|open| open.recorder.contents());
        let open = self.open.as_ref().zip(contents.as_ref());
        let open = open.map(|(open, contents)| (open.number, open.recorder.path(), contents));
        let (runs, mut files) = self.files.listed(open);
        // The open file will get further records, so its run has no last one yet.
        if self.open.is_some()
            && let Some(file) = files.last_mut()
        {
            let epoch = self.of.epoch.as_str();
            let of_run = file.runs.iter_mut().filter(|(of, ..)| of.as_str() == epoch);
            of_run.for_each(|(_, _, last)| *last = Seq(u64::MAX));
        }
        self.archive.set(files);
        self.log.change_catalogue(|catalogue| {
            catalogue.set_files(&runs);
            true
        });
    }

    /// Publishes how far the open file reaches.
    fn list_kept(&self) {
        if self.open.is_some() {
            let (first, last) = (self.whole_from, self.kept_to);
            self.log
                .change_catalogue(|catalogue| catalogue.keep(first, last));
        }
    }

    fn open_bytes(&self) -> u64 {
        let open = self.open.as_ref();
        open.map_or(0, |open| open.recorder.bytes())
    }

    fn folder_error(&self, error: io::Error) -> HistoryError {
        HistoryError::Folder {
            path: self.place.folder().to_owned(),
            error,
        }
    }
}
