//! The disk on which recordings lie, as a trait. Tests replace it with one that is full, slow, or loses what was not synced.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// The mode of every file: only its owner can read and write it.
const MODE: u32 = 0o600;

/// A disk. Its calls may block for as long as the disk does.
pub trait Disk: Debug + Send + Sync {
    /// Creates a file that only its owner can read. It overwrites no file and follows no link.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken, or the disk's error.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file for reading; with `append`, also for writing at its end. It follows no link.
    ///
    /// # Errors
    /// The disk's error.
    fn open(&self, path: &Path, append: bool) -> io::Result<Box<dyn DiskFile>>;

    /// Renames a file and syncs the new name. It replaces a file that had the name.
    ///
    /// # Errors
    /// The disk's error.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The disk's error.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns the names and sizes in bytes of the regular files in a folder, without links.
    ///
    /// # Errors
    /// The disk's error.
    fn list(&self, folder: &Path) -> io::Result<Vec<(String, u64)>>;

    /// Whether `path` is still the name of `file`.
    ///
    /// # Errors
    /// The disk's error.
    fn is_there(&self, path: &Path, file: &dyn DiskFile) -> io::Result<bool>;
}

/// An open file of a [`Disk`].
pub trait DiskFile: Debug + Send + Sync {
    /// Writes at the end of the file.
    ///
    /// # Errors
    /// The disk's error. A part may have been written then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `into` with the bytes from `offset` on. Returns how many there were.
    ///
    /// # Errors
    /// The disk's error.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The size of the file, in bytes.
    ///
    /// # Errors
    /// The disk's error.
    fn bytes(&self) -> io::Result<u64>;

    /// Cuts the file to `bytes`.
    ///
    /// # Errors
    /// The disk's error.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// Returns once everything written is safe on the disk.
    ///
    /// # Errors
    /// The disk's error. What was written since the last sync may be lost then.
    fn sync(&self) -> io::Result<()>;

    /// The file's device and inode, which identify it while it is open.
    fn identity(&self) -> Option<(u64, u64)>;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostDisk;

impl Disk for HostDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(MODE);
        let file = options.open(path)?;
        sync_folder_of(path)?;
        Ok(Box::new(HostFile(file)))
    }

    fn open(&self, path: &Path, append: bool) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).append(append);
        // `NONBLOCK` keeps the open from waiting if a FIFO is in the file's place.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
        let file = options.open(path)?;
        if append && file.metadata()?.mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(MODE))?;
        }
        Ok(Box::new(HostFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        sync_folder_of(to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // The entry may be gone by now. For a link this is the metadata of the link itself.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
                files.push((name, metadata.len()));
            }
        }
        Ok(files)
    }

    fn is_there(&self, path: &Path, file: &dyn DiskFile) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(file.identity() == Some((metadata.dev(), metadata.ino()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Syncs the folder of a file, so that the file's name is safe on the disk.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let opened = File::open(folder.unwrap_or(Path::new(".")))?;
    match opened.sync_all() {
        // Not every file system can sync a folder.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

#[derive(Debug)]
struct HostFile(File);

impl DiskFile for HostFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read_at(&mut into[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn identity(&self) -> Option<(u64, u64)> {
        let metadata = self.0.metadata().ok()?;
        Some((metadata.dev(), metadata.ino()))
    }
}
