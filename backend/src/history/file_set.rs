//! The set of files in a log's folder. It finds them at the start, merges many small ones, and drops files over the budget.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use watchscope_log::FileRun;
use watchscope_model::{EpochId, KeptNote, LogId, NoteKey, Notes, Seq, Time, WatchName};
use watchscope_recording::{BlockPlace, Contents, FILE_HEADER_BYTES, has_notes};

use super::HistoryConfig;
use super::archive::ArchivedFile;
use super::budget::{self, Readable, Weighed};
use crate::recordings::{
    Disk, Finished, OpenFile, UNFINISHED, ended, merged, notes_in, without_bodies,
};

/// The suffix of the files of a history.
const SUFFIX: &str = ".wscope";

/// A file that is not written any more.
#[derive(Debug)]
pub(super) struct KeptFile {
    path: PathBuf,
    bytes: u64,
    /// Its contents; `None` if they cannot be read, or if a failure left the file behind and nobody has read it yet.
    contents: Option<Contents>,
    /// Bytes in the file that belong to bodies.
    bodies_bytes: u64,
    /// The times of its first and last record.
    times: Option<(Time, Time)>,
    /// The notes that it holds beside its chapters.
    noted: BTreeSet<NoteKey>,
    /// Whether the log has the file's notes.
    is_known: bool,
}

impl KeptFile {
    fn new(path: PathBuf, bytes: u64, mut contents: Option<Contents>) -> Self {
        // The log holds the texts of the notes, so they are not held twice.
        let noted = contents
            .as_mut()
            .map(|contents| std::mem::take(&mut contents.notes));
        let chapters = contents.iter().flat_map(|contents| &contents.chapters);
        let bodies = chapters.flat_map(|entry| &entry.bodies);
        Self {
            bodies_bytes: bodies.map(BlockPlace::len).sum(),
            times: contents.as_ref().and_then(times),
            noted: noted.into_iter().flatten().map(|note| note.key).collect(),
            is_known: false,
            path,
            bytes,
            contents,
        }
    }

    fn ended(path: PathBuf, finished: Finished) -> Self {
        Self::new(path, finished.bytes, Some(finished.contents))
    }

    /// Whether the file holds a note, in a chapter or beside the chapters.
    fn holds(&self, key: &NoteKey) -> bool {
        let contents = self.contents.as_ref();
        self.noted.contains(key) || contents.is_some_and(|contents| holds_record(contents, key))
    }

    /// Whether the file may hold notes of persons.
    fn may_have_notes(&self) -> bool {
        let mut chapters = self.contents.iter().flat_map(|contents| &contents.chapters);
        !self.noted.is_empty() || chapters.any(|entry| has_notes(&entry.summary))
    }

    fn weighed(&self, counts_bodies: bool) -> Weighed {
        let bodies_bytes = if counts_bodies { 0 } else { self.bodies_bytes };
        Weighed {
            bytes: self.bytes.saturating_sub(bodies_bytes),
            last_at: self.times.map(|(_, last_at)| last_at),
        }
    }
}

/// The files in a folder by number, which is the order in which they were begun.
///
/// Bounded by the budget: it holds the indices of the files, a few hundred bytes for each chapter.
#[derive(Debug)]
pub(super) struct FileSet {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    files: BTreeMap<u64, KeptFile>,
    next_number: u64,
    file_bytes: u64,
    /// Whether the files have changed since [`FileSet::take_changed`] was last called.
    is_changed: bool,
}

impl FileSet {
    /// Makes the empty set of a folder's files; [`FileSet::find`] looks for them.
    pub(super) fn new(disk: Arc<dyn Disk>, folder: &Path, config: &HistoryConfig) -> Self {
        Self {
            folder: folder.to_owned(),
            files: BTreeMap::new(),
            next_number: 1,
            file_bytes: budget::file_bytes(config.size_bytes),
            is_changed: false,
            disk,
        }
    }

    /// Looks for the files in the folder. It completes what a killed process left: files are ended, and many small ones
    /// become one. A file that cannot be read stays, counts, and is named in a warning.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn find(&mut self) -> io::Result<()> {
        let mut found = BTreeMap::new();
        for (name, bytes) in self.disk.list(&self.folder)? {
            let path = self.folder.join(&name);
            if name.ends_with(UNFINISHED) {
                // The file that it was to replace is still there.
                let _ = self.disk.remove(&path);
                continue;
            }
            let Some(number) = number_of(&name) else {
                continue;
            };
            if bytes < FILE_HEADER_BYTES as u64 {
                // The machine stopped before any of its bytes were on the disk.
                let _ = self.disk.remove(&path);
                continue;
            }
            self.next_number = self.next_number.max(number.saturating_add(1));
            let known = self.files.remove(&number);
            let file = known.unwrap_or_else(|| {
                let contents = self.read(&path);
                KeptFile::new(path, bytes, contents)
            });
            found.insert(number, file);
        }
        self.files = found;
        self.is_changed = true;
        self.tidy();
        Ok(())
    }

    /// Returns the number and path of the next file, which is begun at `now`.
    pub(super) fn next_name(&mut self, now: Time) -> (u64, PathBuf) {
        let number = self.next_number;
        self.next_number += 1;
        let time = now.civil();
        let name = format!(
            "{number:06}-{:04}-{:02}-{:02}T{:02}-{:02}-{:02}Z{SUFFIX}",
            time.year, time.month, time.day, time.hour, time.minute, time.second
        );
        (number, self.folder.join(name))
    }

    /// Adds a file that was ended.
    pub(super) fn put(&mut self, number: u64, path: PathBuf, finished: Finished) {
        let file = KeptFile {
            is_known: true,
            ..KeptFile::ended(path, finished)
        };
        self.files.insert(number, file);
        self.is_changed = true;
    }

    /// Returns whether the files, or which one is open, have changed since the last call.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Notes that another file is open now.
    pub(super) fn set_changed(&mut self) {
        self.is_changed = true;
    }

    /// Adds a file as a failure left it. [`FileSet::find`] ends it later.
    pub(super) fn put_broken(&mut self, number: u64, path: PathBuf, bytes: u64) {
        self.files.insert(number, KeptFile::new(path, bytes, None));
    }

    /// Ends files whose writer is gone, and merges small ones. What fails is tried again the next time.
    fn tidy(&mut self) {
        let numbers: Vec<u64> = self.files.keys().copied().collect();
        for number in numbers {
            self.end(number);
        }
        let numbers: Vec<u64> = self.files.keys().copied().collect();
        let readable = self.files.values().map(|file| {
            let version = file.contents.as_ref()?.version;
            let bytes = file.bytes;
            Some(Readable { bytes, version })
        });
        let readable: Vec<Option<Readable>> = readable.collect();
        for run in budget::merged(&readable, self.file_bytes) {
            self.merge(&numbers[run]);
        }
    }

    /// Drops the bodies of the oldest files until the rest fits beside `open_bytes` of bodies.
    pub(super) fn drop_bodies(&mut self, open_bytes: u64, size_bytes: u64) -> io::Result<()> {
        let mut total = open_bytes;
        let mut over = Vec::new();
        for (number, file) in self.files.iter().rev() {
            let bytes = file.bodies_bytes;
            total = total.saturating_add(bytes);
            if total > size_bytes && bytes > 0 {
                over.push(*number);
            }
        }
        for number in over {
            if let Some(file) = self.files.get_mut(&number) {
                let finished = without_bodies(&*self.disk, &file.path)?;
                *file = KeptFile::ended(file.path.clone(), finished);
            }
        }
        Ok(())
    }

    /// Reads the notes of persons in the files that were not read before, and the names of the watches in them.
    pub(super) fn read_notes(&mut self, log: &LogId) -> (Notes, BTreeSet<WatchName>) {
        let (mut notes, mut watches) = (Notes::default(), BTreeSet::new());
        for file in self.files.values_mut().filter(|file| !file.is_known) {
            let Some(contents) = &file.contents else {
                continue;
            };
            let named = contents.files.iter().flat_map(|of| &of.watches);
            watches.extend(named.map(|watch| WatchName::from(&*watch.watch)));
            if file.may_have_notes() {
                match OpenFile::open_on(&*self.disk, &file.path) {
                    Ok(open) => {
                        let read = notes_in(&open, log.clone());
                        read.records().for_each(|note| {
                            notes.insert(note.clone());
                        });
                    }
                    Err(error) => {
                        tracing::warn!("the history: {error}");
                        continue;
                    }
                }
            }
            file.is_known = true;
        }
        (notes, watches)
    }

    /// Whether a file that is not in `leaving` holds a note.
    pub(super) fn is_held(&self, key: &NoteKey, leaving: &[u64]) -> bool {
        let mut staying = self.files.iter();
        staying.any(|(number, file)| !leaving.contains(number) && file.holds(key))
    }

    /// Whether a file holds one of these notes.
    pub(super) fn holds_any(&self, number: u64, notes: &[KeptNote]) -> bool {
        let file = self.files.get(&number);
        file.is_some_and(|file| notes.iter().any(|note| file.holds(&note.key)))
    }

    /// Returns the files that are too old, and the oldest ones that do not fit beside `open_bytes`. Bodies do not count if
    /// they have a budget of their own.
    pub(super) fn over_budget(
        &self,
        open_bytes: u64,
        config: &HistoryConfig,
        now: Time,
    ) -> Vec<u64> {
        let numbers: Vec<u64> = self.files.keys().copied().collect();
        let counts_bodies = config.bodies_bytes.is_none();
        let files = self.files.values();
        let weighed: Vec<Weighed> = files.map(|file| file.weighed(counts_bodies)).collect();
        let size_bytes = config.size_bytes;
        let dropped = budget::dropped(&weighed, open_bytes, size_bytes, config.age, now);
        dropped.into_iter().map(|place| numbers[place]).collect()
    }

    /// Removes files from the disk and from this set.
    pub(super) fn drop_files(&mut self, numbers: &[u64]) -> io::Result<()> {
        for &number in numbers {
            match self.disk.remove(&self.files[&number].path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {
                    self.files.remove(&number);
                    self.is_changed = true;
                }
            }
        }
        Ok(())
    }

    /// Returns how many records of a run, from `from` to `to`, are in no file.
    pub(super) fn missing(&self, epoch: &EpochId, from: Seq, to: Seq) -> u64 {
        let mut runs: Vec<(Seq, Seq)> = Vec::new();
        for contents in self
            .files
            .values()
            .filter_map(|file| file.contents.as_ref())
        {
            let of_epoch = contents.chapters.iter().filter(|entry| {
                let file = contents.file_of(entry);
                file.is_some_and(|file| file.epoch == epoch.as_str())
            });
            runs.extend(of_epoch.map(|entry| (entry.summary.first, entry.summary.last)));
        }
        runs.sort_unstable();
        let (mut next, mut missing) = (from, 0);
        for (first, last) in runs {
            missing += first.min(to.next()).0.saturating_sub(next.0);
            next = next.max(last.next());
        }
        missing + to.next().0.saturating_sub(next.0)
    }

    /// Returns what the files hold, including the open one: the chapters of each run, and which file has which.
    pub(super) fn listed(
        &self,
        open: Option<(u64, &Path, &Contents)>,
    ) -> (Vec<FileRun>, Vec<ArchivedFile>) {
        let kept = self.files.iter().filter_map(|(number, file)| {
            let contents = file.contents.as_ref()?;
            Some((*number, &*file.path, contents))
        });
        let (mut runs, mut files) = (Vec::new(), Vec::new());
        for (number, path, contents) in kept.chain(open) {
            let mut stretches: Vec<(EpochId, Seq, Seq)> = Vec::new();
            for entry in &contents.chapters {
                let of = contents.file_of(entry);
                let Some(of) = of else { continue };
                let epoch = EpochId::from(of.epoch.as_str());
                let (first, last) = (entry.summary.first, entry.summary.last);
                match stretches.iter_mut().find(|(of, ..)| *of == epoch) {
                    Some((_, from, to)) => (*from, *to) = (first.min(*from), last.max(*to)),
                    None => stretches.push((epoch.clone(), first, last)),
                }
                let place = runs.iter().position(|run: &FileRun| run.epoch == epoch);
                let place = place.unwrap_or_else(|| {
                    // A merged file holds several runs, so a number alone does not order them.
                    let behind = runs.last().map_or(0, |last: &FileRun| last.order + 1);
                    runs.push(FileRun {
                        epoch,
                        order: behind.max(number << 16),
                        chapters: Vec::new(),
                    });
                    runs.len() - 1
                });
                runs[place].chapters.push(entry.summary.clone());
            }
            files.push(ArchivedFile {
                path: path.to_owned(),
                runs: stretches,
            });
        }
        for run in &mut runs {
            run.chapters
                .sort_by_key(|summary| (summary.first, std::cmp::Reverse(summary.last)));
            run.chapters.dedup_by_key(|summary| summary.first);
        }
        (runs, files)
    }

    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }

    /// The time of the first record in all files.
    pub(super) fn since(&self) -> Option<Time> {
        let files = self.files.values();
        files
            .filter_map(|file| file.times)
            .map(|(first_at, _)| first_at)
            .min()
    }

    /// The size in bytes at which a file is ended.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Reads the contents of a file; none, with a warning, if that fails.
    fn read(&self, path: &Path) -> Option<Contents> {
        match OpenFile::open_on(&*self.disk, path) {
            Ok(open) => Some(open.contents().clone()),
            Err(error) => {
                tracing::warn!("the history: {error}");
                None
            }
        }
    }

    fn end(&mut self, number: u64) {
        let Some(file) = self.files.get(&number) else {
            return;
        };
        if file.contents.as_ref().is_some_and(Contents::is_ended) {
            return;
        }
        let path = file.path.clone();
        let ended = ended(&*self.disk, &path);
        let file = match ended {
            Ok(Some(finished)) => KeptFile::ended(path, finished),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(
                    "the history: {} stays as it was left: {error}",
                    path.display()
                );
                let contents = self.read(&path);
                KeptFile::new(path, file.bytes, contents)
            }
        };
        self.files.insert(number, file);
    }

    /// Merges several files into one, which replaces the last of them.
    fn merge(&mut self, numbers: &[u64]) {
        let Some((last, others)) = numbers.split_last() else {
            return;
        };
        let open: Result<Vec<OpenFile>, _> = numbers
            .iter()
            .map(|number| OpenFile::open_on(&*self.disk, &self.files[number].path))
            .collect();
        let merged = open
            .map_err(io::Error::other)
            .and_then(|open| merged(&*self.disk, &open));
        let finished = match merged {
            Ok(finished) => finished,
            Err(error) => {
                tracing::warn!("the history: small files stay apart: {error}");
                return;
            }
        };
        // The merged file has the records of the others. If the removal of one fails, its records are still read only once.
        for number in others {
            if let Some(file) = self.files.remove(number) {
                let _ = self.disk.remove(&file.path);
            }
        }
        if let Some(file) = self.files.get_mut(last) {
            *file = KeptFile::ended(file.path.clone(), finished);
        }
    }
}

/// Whether a file's chapters hold the record of a note.
pub(super) fn holds_record(contents: &Contents, key: &NoteKey) -> bool {
    contents.chapters.iter().any(|entry| {
        let of = contents.file_of(entry);
        of.is_some_and(|of| of.epoch == key.epoch.as_str() && of.log == key.log.as_str())
            && (entry.summary.first..=entry.summary.last).contains(&key.seq)
    })
}

/// Returns the times of the first and the last record of a file.
pub(super) fn times(contents: &Contents) -> Option<(Time, Time)> {
    let chapters = contents.chapters.iter();
    let with_records = chapters.filter(|entry| entry.summary.records() > 0);
    let times = with_records.map(|entry| (entry.summary.first_at, entry.summary.last_at));
    times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Returns the number in the name of a history's file.
fn number_of(name: &str) -> Option<u64> {
    let (number, _) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let is_number = number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok())?
}
