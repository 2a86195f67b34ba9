//! Writes the log's frames into files, one after the other. All of it runs on a thread that may wait for the disk.

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
use super::place::{Place, PlaceError};
use super::shelf::{Shelf, holds_record, times};
use super::state::{HistoryState, trouble_of};
use crate::log::{FrameRead, LogHandle};
use crate::recordings::{Disk, RecordError, Recorder, file_block};

/// How long written bytes may wait to be on the disk: with what they waited before, a record is there after 5 s.
const SYNC: Duration = Duration::from_secs(4);
/// How often files are dropped that have become too old.
const LOOK: Duration = Duration::from_secs(60);
/// A file with this number of blocks is ended. With one block a second that is after a day.
const MAX_FILE_BLOCKS: usize = 100_000;
/// Notes that are carried on from dropped files take at most this part of the budget.
const NOTES_IN_BUDGET: u64 = 8;

/// Why the history cannot go on for now.
#[derive(Debug, Error)]
pub(super) enum DeskError {
    /// The file cannot be made or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder cannot be made again.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The folder cannot be read, or a file not removed.
    #[error("cannot use {}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Somebody has removed the file that was being written.
    #[error("{} was removed", path.display())]
    Removed {
        /// The file.
        path: PathBuf,
    },
}

impl DeskError {
    /// Whether records may be lost that were in a file before.
    fn may_have_lost(&self) -> bool {
        matches!(
            self,
            Self::Removed { .. } | Self::Record(RecordError::NotSynced { .. })
        )
    }

    /// What it means.
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
    /// The notes in it beside its chapters.
    noted: BTreeSet<NoteKey>,
    recorder: Recorder,
}

/// Writes a run of a log into files.
#[derive(Debug)]
pub(super) struct Desk {
    config: HistoryConfig,
    disk: Arc<dyn Disk>,
    place: Place,
    shelf: Shelf,
    log: LogHandle,
    archive: Archive,
    /// What the log's run is of.
    of: FileBlock,
    open: Option<OpenFile>,
    /// The first record that a failure may take: that of the first chapter that is not closed and on the disk.
    unsafe_from: Seq,
    kept_to: Seq,
    /// From here to `kept_to` the open file has all.
    whole_from: Seq,
    lost: u64,
    synced_at: Instant,
    /// Bytes of the open file that are on the disk.
    synced_bytes: u64,
    looked_at: Instant,
}

impl Desk {
    pub(super) fn new(
        config: HistoryConfig,
        disk: Arc<dyn Disk>,
        place: Place,
        log: LogHandle,
        archive: Archive,
        first: Seq,
    ) -> Self {
        let now = Instant::now();
        let shelf = Shelf::new(disk.clone(), place.folder(), &config);
        log.keep_notes();
        Self {
            config,
            disk,
            place,
            shelf,
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

    /// Writes what was read; `next` is the record behind it, and `at` the log's time.
    pub(super) fn write(
        &mut self,
        reads: &[FrameRead],
        next: Seq,
        at: Time,
    ) -> Result<(), DeskError> {
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
                    // A failure may have left a part of them in a file.
                    let epoch = self.of.epoch.as_str().into();
                    self.lost += self.shelf.missing(&epoch, *from, *to);
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

    /// Opens the next chapter, in a new file if there is none or it is large.
    fn open_chapter(&mut self, head: &Bytes, read: &FrameRead, at: Time) -> Result<(), DeskError> {
        let is_full = self.open.as_ref().is_some_and(|open| {
            let bytes = open.recorder.bytes();
            bytes >= self.shelf.file_bytes() || open.recorder.block_count() >= MAX_FILE_BLOCKS
        });
        if is_full {
            self.end_file()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                self.place.renew()?;
                let (number, path) = self.shelf.next_name(at);
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
                self.shelf.set_changed();
            }
        }
        (self.synced_at, self.synced_bytes) = (Instant::now(), open.recorder.bytes());
        self.drop_over_budget(at)
    }

    /// When what was written has to be on the disk; `None` if it is.
    pub(super) fn sync_due(&self) -> Option<Instant> {
        let open = self.open.as_ref()?;
        (open.recorder.bytes() != self.synced_bytes).then(|| self.synced_at + SYNC)
    }

    /// Ends the file that is open.
    fn end_file(&mut self) -> Result<(), DeskError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let OpenFile {
            number, recorder, ..
        } = open;
        let (path, bytes) = (recorder.path().to_owned(), recorder.bytes());
        match recorder.finish() {
            Ok(finished) => {
                self.shelf.put(number, path, finished);
                Ok(())
            }
            Err(error) => {
                self.shelf.put_broken(number, path, bytes);
                Err(error.into())
            }
        }
    }

    fn drop_over_budget(&mut self, at: Time) -> Result<(), DeskError> {
        self.looked_at = Instant::now();
        let bodies = self.open.as_ref();
        let bodies = bodies.map_or(0, |open| open.recorder.bodies_bytes());
        let open_bytes = self.open_bytes() - bodies;
        let over = self.shelf.over_budget(open_bytes, &self.config, at);
        let over = self.carry_notes(over)?;
        let shelf = &mut self.shelf;
        let dropped = match self.config.bodies_bytes {
            Some(bodies_bytes) => shelf.drop_bodies(bodies, bodies_bytes),
            None => Ok(()),
        };
        let dropped = dropped.and_then(|()| shelf.drop_files(&over));
        if shelf.take_changed() {
            self.list_files();
        }
        dropped.map_err(|error| self.folder_error(error))
    }

    /// Writes the notes that would be in no file any more, were the files `leaving` dropped, into the one that is open.
    /// Returns which files may go: where none is open, those with such notes stay until one is.
    ///
    /// What is carried on takes at most an eighth of the budget; notes over that, the oldest first, go for good.
    fn carry_notes(&mut self, mut leaving: Vec<u64>) -> Result<Vec<u64>, DeskError> {
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
            leaving.retain(|&number| !self.shelf.holds_any(number, &lost));
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

    /// Leaves the notes that are in no file which stays, and will be in none: their records are not to be written any more.
    fn only_lost(&self, keys: &mut Vec<NoteKey>, leaving: &[u64]) {
        // From here on all records of this run are in the open file, or will be.
        let whole_from = match self.open {
            Some(_) => self.whole_from.min(self.unsafe_from),
            None => self.unsafe_from,
        };
        keys.retain(|key| {
            let is_own = self.of.epoch == key.epoch.as_str();
            let open = self.open.as_ref();
            let is_noted = open.is_some_and(|open| open.noted.contains(key));
            !(is_noted || is_own && key.seq >= whole_from || self.shelf.is_held(key, leaving))
        });
        if let Some(open) = &self.open
            && !keys.is_empty()
        {
            let contents = open.recorder.contents();
            keys.retain(|key| !holds_record(&contents, key));
        }
    }

    fn look_for_the_file(&mut self) -> Result<(), DeskError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        if open.recorder.is_there()? {
            return Ok(());
        }
        let path = open.recorder.path().to_owned();
        // All that was in it is gone.
        self.unsafe_from = open.first.unwrap_or(self.unsafe_from);
        self.open = None;
        Err(DeskError::Removed { path })
    }

    /// Puts away what a failure left. Returns the record from which all is to be written again: what was written before a
    /// write failed is still in the file, and what was not synced may not be.
    pub(super) fn fail(&mut self, error: &DeskError) -> Seq {
        if let Some(OpenFile {
            number, recorder, ..
        }) = self.open.take()
        {
            let (path, bytes) = (recorder.path().to_owned(), recorder.bytes());
            self.shelf.put_broken(number, path, bytes);
        }
        if error.may_have_lost() {
            let before = Seq(self.unsafe_from.0.saturating_sub(1));
            self.kept_to = self.kept_to.min(before);
        }
        self.unsafe_from
    }

    /// At the start and after a failure: looks which files there are, and ends those whose writer is gone.
    pub(super) fn find_files(&mut self, at: Time) -> Result<(), DeskError> {
        self.place.renew()?;
        let found = self.shelf.find();
        found.map_err(|error| self.folder_error(error))?;
        let (notes, watches) = self.shelf.read_notes(self.log.log());
        self.log.learn_notes(notes.records().cloned(), watches);
        self.drop_over_budget(at)
    }

    /// Ends the file at the end of the log.
    pub(super) fn finish(&mut self, at: Time) -> Result<(), DeskError> {
        self.end_file()?;
        self.drop_over_budget(at)
    }

    /// How it fares.
    pub(super) fn state(&mut self) -> HistoryState {
        let of_open = self.open.as_mut().and_then(|open| {
            let contents = || times(&open.recorder.contents()).map(|(first_at, _)| first_at);
            open.first_at = open.first_at.or_else(contents);
            open.first_at
        });
        HistoryState {
            bytes: self.shelf.bytes() + self.open_bytes(),
            size_bytes: self.config.size_bytes + self.config.bodies_bytes.unwrap_or(0),
            since: self.shelf.since().into_iter().chain(of_open).min(),
            kept_to: self.kept_to,
            waits_since: None,
            trouble: None,
            lost: self.lost,
        }
    }

    /// Tells the log's readers what the files hold.
    fn list_files(&self) {
        let contents = self.open.as_ref().map(|open| open.recorder.contents());
        let open = self.open.as_ref().zip(contents.as_ref());
        let open = open.map(|(open, contents)| (open.number, open.recorder.path(), contents));
        let (runs, mut files) = self.shelf.listed(open);
        // The file that is open goes on.
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

    /// Tells them how far the file that is open has come.
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

    fn folder_error(&self, error: io::Error) -> DeskError {
        DeskError::Folder {
            path: self.place.folder().to_owned(),
            error,
        }
    }
}
