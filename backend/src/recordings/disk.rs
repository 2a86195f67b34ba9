//! The disk that recordings lie on, behind a trait: tests put one in its place that is full, slow or loses what was not
//! synced.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// The mode of every file that is written: only its owner reads it.
const MODE: u32 = 0o600;

/// A disk. Its calls may wait for as long as the disk does.
pub trait Disk: Debug + Send + Sync {
    /// Makes a file that only its owner can read. No file is written over, and no link followed.
    ///
    /// # Errors
    /// `AlreadyExists` if there is something of that name, or what the disk says.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file to read it; with `append`, to write behind its end too. No link is followed.
    ///
    /// # Errors
    /// What the disk says.
    fn open(&self, path: &Path, append: bool) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, and syncs that. A file that had the name goes.
    ///
    /// # Errors
    /// What the disk says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the disk says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The names and bytes of the regular files in a folder; links are none.
    ///
    /// # Errors
    /// What the disk says.
    fn list(&self, folder: &Path) -> io::Result<Vec<(String, u64)>>;

    /// Whether `path` is still the name of `file`.
    ///
    /// # Errors
    /// What the disk says.
    fn is_there(&self, path: &Path, file: &dyn DiskFile) -> io::Result<bool>;
}

/// An open file of a [`Disk`].
pub trait DiskFile: Debug + Send + Sync {
    /// Writes behind the file's end.
    ///
    /// # Errors
    /// What the disk says; a part may be written then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills `into` from `offset` on; returns how many bytes there were.
    ///
    /// # Errors
    /// What the disk says.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;

    /// How many bytes it has.
    ///
    /// # Errors
    /// What the disk says.
    fn bytes(&self) -> io::Result<u64>;

    /// Cuts it to `bytes`.
    ///
    /// # Errors
    /// What the disk says.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;

    /// Has all that was written on the disk.
    ///
    /// # Errors
    /// What the disk says; what was written since the last time may be lost then.
    fn sync(&self) -> io::Result<()>;

    /// What the file is to the system, for as long as it is open.
    fn identity(&self) -> Option<(u64, u64)>;
}

/// The machine's own disk.
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
        // A FIFO in the file's place is not waited for.
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
            // It may be gone by now; that of a link is the link's own.
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

/// Has the names in a folder on the disk.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let opened = File::open(folder.unwrap_or(Path::new(".")))?;
    match opened.sync_all() {
        // Not every file system does that for folders.
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
