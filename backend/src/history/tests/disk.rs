//! A disk in memory that can be full, read-only or slow, or lose what was not synced.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::recordings::{Disk, DiskFile};

/// A disk in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct TestDisk {
    state: Arc<(Mutex<State>, Condvar)>,
    /// The process that uses it. After a process was killed, its actions have no effect.
    process: u64,
}

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<PathBuf, u64>,
    files: BTreeMap<u64, Data>,
    next_file: u64,
    process: u64,
    fault: Fault,
    /// A write that is held waits here until it is released.
    is_held: bool,
    waiting: u64,
}

/// The content of a file.
#[derive(Debug, Default)]
struct Data {
    bytes: Vec<u8>,
    /// The offset at which each unsynced write begins.
    unsynced: Vec<usize>,
    /// The content that was synced.
    synced: usize,
}

/// A fault of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    /// There is none.
    #[default]
    None,
    /// All files together may have at most this number of bytes.
    Full(u64),
    /// Nothing can be written, created or removed.
    ReadOnly,
    /// Syncing fails.
    Sync,
}

/// What a crash of the machine does to bytes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    /// They are gone.
    Dropped,
    /// Half of them are gone.
    Shortened,
    /// The last write is there, and the writes before it are zeros.
    Reordered,
}

impl TestDisk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap()
    }

    pub(super) fn set(&self, fault: Fault) {
        self.lock().fault = fault;
    }

    pub(super) fn fault(&self) -> Fault {
        self.lock().fault
    }

    /// Ends the process, whose later actions have no effect. Returns the disk for the next process.
    pub(super) fn next_process(&self, crash: Option<Crash>) -> Self {
        let mut state = self.lock();
        state.process += 1;
        if let Some(crash) = crash {
            state.files.values_mut().for_each(|file| file.crash(crash));
        }
        state.fault = Fault::None;
        state.is_held = false;
        self.state.1.notify_all();
        Self {
            state: self.state.clone(),
            process: state.process,
        }
    }

    /// Holds all writes.
    pub(super) fn hold(&self) {
        self.lock().is_held = true;
    }

    /// Releases the writes that are held.
    pub(super) fn let_go(&self) {
        self.lock().is_held = false;
        self.state.1.notify_all();
    }

    /// Whether a write is held.
    pub(super) fn is_waiting(&self) -> bool {
        self.lock().waiting > 0
    }

    /// The names of all files.
    pub(super) fn names(&self) -> Vec<PathBuf> {
        self.lock().names.keys().cloned().collect()
    }

    /// Changes a byte of a file.
    pub(super) fn damage(&self, path: &Path, offset: u64) {
        let mut state = self.lock();
        let number = state.names[path];
        let data = state.files.get_mut(&number).unwrap();
        data.bytes[offset as usize] ^= 0xff;
    }

    /// The bytes of all files that have a name.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes()
    }

    /// Removes all files, as if somebody removed the folder.
    pub(super) fn clear(&self) {
        self.lock().names.clear();
    }

    /// Adds a file.
    pub(super) fn put(&self, path: &Path, bytes: &[u8]) {
        let number = self.lock().make(path);
        let mut state = self.lock();
        let file = state.files.get_mut(&number).unwrap();
        file.bytes = bytes.to_vec();
        file.synced = bytes.len();
    }
}

impl State {
    fn bytes(&self) -> u64 {
        let named = self.names.values().map(|number| &self.files[number]);
        named.map(|file| file.bytes.len() as u64).sum()
    }

    fn make(&mut self, path: &Path) -> u64 {
        let number = self.next_file;
        self.next_file += 1;
        self.names.insert(path.to_owned(), number);
        self.files.insert(number, Data::default());
        number
    }

    /// Returns an error if that process may not change the disk in this way.
    fn judge(&self, process: u64, more_bytes: u64) -> io::Result<()> {
        if process != self.process {
            return Err(io::Error::other("the process was killed"));
        }
        match self.fault {
            Fault::ReadOnly => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            Fault::Full(most) if self.bytes() + more_bytes > most => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }
}

impl Data {
    fn crash(&mut self, crash: Crash) {
        let end = self.bytes.len();
        match crash {
            Crash::Dropped => self.bytes.truncate(self.synced),
            Crash::Shortened => self.bytes.truncate(self.synced + (end - self.synced) / 2),
            Crash::Reordered => {
                if let Some(last) = self.unsynced.last().copied() {
                    self.bytes[self.synced.min(last)..last].fill(0);
                }
            }
        }
        self.unsynced.clear();
        self.synced = self.bytes.len();
    }
}

impl Disk for TestDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.lock();
        state.judge(self.process, 0)?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.make(path);
        Ok(Box::new(TestFile {
            disk: self.clone(),
            number,
        }))
    }

    fn open(&self, path: &Path, _: bool) -> io::Result<Box<dyn DiskFile>> {
        let state = self.lock();
        let number = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(TestFile {
            disk: self.clone(),
            number: *number,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.judge(self.process, 0)?;
        let number = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), number);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        if state.fault == Fault::ReadOnly || state.process != self.process {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        state.names.remove(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(())
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(String, u64)>> {
        let state = self.lock();
        let files = state.names.iter().filter_map(|(path, number)| {
            let name = path.strip_prefix(folder).ok()?.to_str()?;
            Some((name.to_owned(), state.files[number].bytes.len() as u64))
        });
        Ok(files.collect())
    }

    fn is_there(&self, path: &Path, file: &dyn DiskFile) -> io::Result<bool> {
        let number = self.lock().names.get(path).copied();
        Ok(number.is_some_and(|number| file.identity() == Some((0, number))))
    }
}

#[derive(Debug)]
struct TestFile {
    disk: TestDisk,
    number: u64,
}

impl DiskFile for TestFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.waiting += 1;
        while state.is_held && state.process == self.disk.process {
            state = self.disk.state.1.wait(state).unwrap();
        }
        state.waiting -= 1;
        let may = state.judge(self.disk.process, bytes.len() as u64);
        let is_full = matches!(state.fault, Fault::Full(_));
        let is_there = state.process == self.disk.process;
        let file = state.files.get_mut(&self.number).unwrap();
        let written = match may {
            Ok(()) => bytes,
            // A real disk also writes as much as there is room for.
            Err(_) if is_full && is_there => &bytes[..bytes.len() / 2],
            Err(error) => return Err(error),
        };
        let end = file.bytes.len();
        file.unsynced.push(end);
        file.bytes.extend_from_slice(written);
        may
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let bytes = &state.files[&self.number].bytes;
        let from = bytes.len().min(offset as usize);
        let filled = into.len().min(bytes.len() - from);
        into[..filled].copy_from_slice(&bytes[from..from + filled]);
        Ok(filled)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.disk.lock().files[&self.number].bytes.len() as u64)
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.judge(self.disk.process, 0)?;
        let file = state.files.get_mut(&self.number).unwrap();
        file.bytes.truncate(bytes as usize);
        file.synced = file.synced.min(bytes as usize);
        file.unsynced.retain(|&at| at < bytes as usize);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.judge(self.disk.process, 0)?;
        if state.fault == Fault::Sync {
            return Err(io::Error::other("the disk failed"));
        }
        let file = state.files.get_mut(&self.number).unwrap();
        file.unsynced.clear();
        file.synced = file.bytes.len();
        Ok(())
    }

    fn identity(&self) -> Option<(u64, u64)> {
        Some((0, self.number))
    }
}
