//! The folders of token sockets. A folder is used only if no other user can enter it.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The folders that may hold this user's sockets, in the order in which they are tried.
#[derive(Clone, Debug)]
pub struct Folders {
    candidates: Vec<PathBuf>,
    user: u32,
}

impl Folders {
    /// `$XDG_RUNTIME_DIR/watchscope`, then `/tmp/watchscope-UID`.
    #[must_use]
    pub fn of_this_user() -> Self {
        let runtime = env::var_os("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute());
        Self::under(runtime.as_deref(), Path::new("/tmp"))
    }

    /// The same folders below other parents.
    #[must_use]
    pub fn under(runtime: Option<&Path>, temporary: &Path) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let in_runtime = runtime.map(|folder| folder.join("watchscope"));
        let in_temporary = temporary.join(format!("watchscope-{user}"));
        Self {
            candidates: in_runtime.into_iter().chain([in_temporary]).collect(),
            user,
        }
    }

    /// Returns the first folder that exists or can be made, and that only this user can enter.
    pub(super) fn for_a_socket(&self) -> Result<PathBuf, FolderError> {
        let mut last = None;
        for folder in &self.candidates {
            // The folder is made with its final mode. If it exists already, it must pass the check.
            let made = fs::DirBuilder::new().mode(0o700).create(folder);
            let made = made.or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(FolderError::Make {
                    folder: folder.clone(),
                    source: error,
                }),
            });
            match made.and_then(|()| self.check(folder)) {
                Ok(()) => return Ok(folder.clone()),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("there is always the temporary folder"))
    }

    /// Returns the folders that exist. One that others can enter is an error, since its content may be a trap.
    pub(super) fn existing(&self) -> Result<Vec<PathBuf>, FolderError> {
        let mut existing = Vec::new();
        for folder in &self.candidates {
            match self.check(folder) {
                Ok(()) => existing.push(folder.clone()),
                Err(FolderError::Read { source, .. })
                    if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(existing)
    }

    fn check(&self, folder: &Path) -> Result<(), FolderError> {
        let folder = || folder.to_owned();
        let metadata = fs::symlink_metadata(folder()).map_err(|source| FolderError::Read {
            folder: folder(),
            source,
        })?;
        if !metadata.is_dir() || metadata.uid() != self.user || metadata.mode() & 0o077 != 0 {
            return Err(FolderError::NotOurs { folder: folder() });
        }
        Ok(())
    }
}

/// Why a folder cannot hold token sockets.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder could not be made.
    #[error("cannot make {}: {source}", folder.display())]
    Make {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder could not be examined.
    #[error("cannot look at {}: {source}", folder.display())]
    Read {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a symbolic link, another user's folder, or open to others.
    #[error("{} must be a folder of this user with mode 0700; remove it, or set XDG_RUNTIME_DIR", folder.display())]
    NotOurs {
        /// The folder.
        folder: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_runtime_folder_is_preferred_to_the_temporary_one() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::under(Some(root.path()), root.path());
        assert_eq!(
            folders.for_a_socket().unwrap(),
            root.path().join("watchscope")
        );
        let without = Folders::under(Some(Path::new("/nonexistent/runtime")), root.path());
        let stand_in = without.for_a_socket().unwrap();
        assert_eq!(
            stand_in,
            root.path().join(format!("watchscope-{}", without.user))
        );
        assert_eq!(fs::metadata(&stand_in).unwrap().mode() & 0o777, 0o700);
        assert_eq!(without.existing().unwrap(), [stand_in]);
    }

    #[test]
    fn a_folder_that_others_can_enter_a_link_and_a_strangers_folder_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let mut folders = Folders::under(None, root.path());
        let folder = folders.for_a_socket().unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(matches!(
            folders.for_a_socket(),
            Err(FolderError::NotOurs { .. })
        ));
        assert!(matches!(
            folders.existing(),
            Err(FolderError::NotOurs { .. })
        ));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(folders.for_a_socket().is_ok());

        let elsewhere = root.path().join("elsewhere");
        fs::rename(&folder, &elsewhere).unwrap();
        symlink(&elsewhere, &folder).unwrap();
        assert!(matches!(
            folders.for_a_socket(),
            Err(FolderError::NotOurs { .. })
        ));
        fs::remove_file(&folder).unwrap();
        fs::rename(&elsewhere, &folder).unwrap();

        folders.user += 1;
        assert!(matches!(
            folders.for_a_socket(),
            Err(FolderError::NotOurs { .. })
        ));
    }
}
