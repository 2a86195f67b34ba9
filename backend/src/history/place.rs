//! The folder of one log, `DIR/NAME-xxxxxxxx`, which only one process uses at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use watchscope_model::Time;

/// The mode of a log's folder.
const FOLDER_MODE: u32 = 0o700;
/// The name of the lock file in a log's folder.
const LOCK: &str = "lock";
/// The most bytes that are read from a lock file.
const MAX_HOLDER_BYTES: u64 = 1_024;
/// The most characters of a log's name that go into its folder's name.
const MAX_NAME_BYTES: usize = 64;

/// Why the folder of a history cannot be used.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// The folder cannot be created.
    #[error("cannot make {} for the history: {error}", path.display())]
    NotMade {
        /// The folder.
        path: PathBuf,
        /// The disk's error.
        #[source]
        error: io::Error,
    },
    /// It is a file, a link, or another user's folder.
    #[error(
        "{} is not a folder of this user, so no history is kept there; remove it, or name another --history",
        path.display()
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// The folder cannot be read or written.
    #[error("cannot use {} for the history: {error}", path.display())]
    NotUsable {
        /// The folder, or a file in it.
        path: PathBuf,
        /// The disk's error.
        #[source]
        error: io::Error,
    },
    /// Another process keeps a history there.
    #[error(
        "the history in {} is in use by {holder}; end that watchscope, or name another --history",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The host, process and start of the other one.
        holder: String,
    },
}

/// The folder of a log, locked for this process. The lock ends when this is dropped, or with the process.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    started_at: Time,
    lock: File,
}

/// The name of a log's folder: the log's name, and a hash of its cluster's `identity`. Clusters of one name have different ones.
pub(super) fn folder_name(log: &str, identity: &[u8]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = log.chars().take(MAX_NAME_BYTES).map(plain).collect();
    let hash = Sha256::digest(identity);
    let digits: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}-{digits}")
}

impl Place {
    /// Creates the folder `name` below `root` if it is missing, and locks it. It also creates `root` if that is missing, and
    /// changes nothing else about it.
    pub(super) fn take(root: &Path, name: &str, started_at: Time) -> Result<Self, PlaceError> {
        let folder = root.join(name);
        make(root).and_then(|()| make(&folder))?;
        own(&folder)?;
        let lock = locked(&folder, started_at)?;
        Ok(Self {
            folder,
            started_at,
            lock,
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates the folder and the lock again if somebody removed them.
    pub(super) fn renew(&mut self) -> Result<(), PlaceError> {
        let path = self.folder.join(LOCK);
        let is_there = fs::symlink_metadata(&path).is_ok_and(|there| {
            let held = self.lock.metadata();
            held.is_ok_and(|held| (held.dev(), held.ino()) == (there.dev(), there.ino()))
        });
        if is_there {
            return Ok(());
        }
        make(&self.folder)?;
        own(&self.folder)?;
        self.lock = locked(&self.folder, self.started_at)?;
        Ok(())
    }
}

fn make(path: &Path) -> Result<(), PlaceError> {
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(PlaceError::NotMade {
            path: path.to_owned(),
            error,
        }),
        _ => Ok(()),
    }
}

/// Checks that the folder is this user's, and takes away the rights of others. A volume's group may have been given some.
fn own(folder: &Path) -> Result<(), PlaceError> {
    let path = || folder.to_owned();
    let not_usable = |error| PlaceError::NotUsable {
        path: path(),
        error,
    };
    let metadata = fs::symlink_metadata(folder).map_err(not_usable)?;
    let user = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || metadata.uid() != user {
        return Err(PlaceError::NotOurs { path: path() });
    }
    if metadata.mode() & 0o077 != 0 {
        let mode = fs::Permissions::from_mode(FOLDER_MODE);
        fs::set_permissions(folder, mode).map_err(not_usable)?;
    }
    Ok(())
}

/// Locks the folder, and writes into the lock file who holds it.
fn locked(folder: &Path, started_at: Time) -> Result<File, PlaceError> {
    let path = folder.join(LOCK);
    let not_usable = |error| PlaceError::NotUsable {
        path: path.clone(),
        error,
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.custom_flags(flags.bits().cast_signed());
    let mut lock = options.open(&path).map_err(not_usable)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // An unreadable lock file names no holder.
            let _ = lock.take(MAX_HOLDER_BYTES).read_to_string(&mut holder);
            return Err(PlaceError::InUse {
                path: folder.to_owned(),
                holder: named(&holder),
            });
        }
        Err(TryLockError::Error(error)) => return Err(not_usable(error)),
    }
    // On a full disk the lock still works, but the file names no holder.
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let process = std::process::id();
    let holder = format!("process {process} on {host}, which started at {started_at}");
    let _ = lock
        .set_len(0)
        .and_then(|()| lock.write_all(holder.as_bytes()));
    Ok(lock)
}

/// Returns a lock file's words about its holder, on one line and without control characters.
fn named(holder: &str) -> String {
    let is_plain = |c: char| !c.is_control();
    let plain: String = holder.chars().filter(|&c| is_plain(c)).collect();
    if plain.is_empty() {
        "another process".to_owned()
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const AT: Time = Time(1_763_715_600_000_000);

    #[test]
    fn a_folder_has_the_logs_name_and_a_hash_of_its_clusters_identity() {
        assert_eq!(folder_name("prod", b"a CA"), "prod-7b30aa35");
        assert_ne!(
            folder_name("prod", b"a CA"),
            folder_name("prod", b"another")
        );
        let odd = folder_name("../../etc/\u{202e}x", b"");
        assert!(odd.starts_with("------etc--x-"), "{odd}");
        assert!(folder_name(&"x".repeat(500), b"").len() < 80);
    }

    #[test]
    fn a_second_process_is_refused_with_host_process_and_start_of_the_first() {
        let root = tempfile::tempdir().unwrap();
        let first = Place::take(root.path(), "a-1", AT).unwrap();
        let refused = Place::take(root.path(), "a-1", AT).unwrap_err().to_string();
        let holder = format!("in use by process {} on ", std::process::id());
        assert!(refused.contains(&holder), "{refused}");
        assert!(
            refused.ends_with(
                ", which started at 2025-11-21T09:00:00.000000Z; end that watchscope, or name another --history"
            ),
            "{refused}"
        );
        assert!(Place::take(root.path(), "b-2", AT).is_ok());
        drop(first);
        assert!(Place::take(root.path(), "a-1", AT).is_ok());
    }

    #[test]
    fn only_this_user_can_enter_the_folder_and_the_one_above_stays_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let place = Place::take(root.path(), "a-1", AT).unwrap();
        let folder = place.folder().to_owned();
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(root.path()), 0o755);
        assert_eq!(mode(&folder.join(LOCK)), 0o600);
        drop(place);
        // The volume's group was given rights.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        Place::take(root.path(), "a-1", AT).unwrap();
        assert_eq!(mode(&folder), 0o700);
    }

    #[test]
    fn a_link_or_a_file_in_the_folders_place_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.path().join("link-1")).unwrap();
        fs::write(root.path().join("file-1"), "mine").unwrap();
        for name in ["link-1", "file-1"] {
            let refused = Place::take(root.path(), name, AT).unwrap_err();
            assert!(matches!(refused, PlaceError::NotOurs { .. }), "{refused}");
        }
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_was_removed_is_created_and_locked_again() {
        let root = tempfile::tempdir().unwrap();
        let mut place = Place::take(root.path(), "a-1", AT).unwrap();
        place.renew().unwrap();
        fs::remove_dir_all(place.folder()).unwrap();
        place.renew().unwrap();
        let refused = Place::take(root.path(), "a-1", AT).unwrap_err();
        assert!(matches!(refused, PlaceError::InUse { .. }));
    }
}
