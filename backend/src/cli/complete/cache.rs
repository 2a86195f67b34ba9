//! What a cluster answered to the completion of command lines, in files of this user, so that the next Tab need not wait.
//!
//! A file lives ten minutes. It is named by the server's address and authority, so that clusters are not mixed up.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::cluster::ClusterConfig;

/// How long an answer is used.
const FRESH: Duration = Duration::from_secs(600);
/// The age at which a file is removed, when another one is written. So the folder holds what one day brings.
const REMOVED: Duration = Duration::from_secs(86_400);
/// The most bytes of a file. A larger one is not read; thousands of names take about 1 MB.
const MOST_BYTES: u64 = 16 << 20;

/// The place of one answer of one cluster.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    name: String,
}

impl Kept {
    /// Returns the place in the user's cache folder: `$XDG_CACHE_HOME/watchscope/completion`, else the same below
    /// `~/.cache`. `None` without a home.
    pub(super) fn of(config: &ClusterConfig, what: &str) -> Option<Self> {
        let set = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let folder = set
            .filter(|folder| folder.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
        let folder = folder.join("watchscope").join("completion");
        let server = config.endpoint.to_string();
        Some(Self::below(folder, &server, &config.identity(), what))
    }

    fn below(folder: PathBuf, server: &str, identity: &[u8], what: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(server.as_bytes());
        hash.update([0]);
        hash.update(identity);
        let digits = hash.finalize();
        let digits: String = digits
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            folder,
            name: format!("{digits}-{what}.json"),
        }
    }

    /// Reads the answer, if it is fresh, and a file that only this user can write.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let file = fs::File::open(self.folder.join(&self.name)).ok()?;
        let metadata = file.metadata().ok()?;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !is_ours || metadata.mode() & 0o022 != 0 {
            return None;
        }
        // A time in the future has no age: the clock was set back.
        if metadata.modified().ok()?.elapsed().ok()? > FRESH {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes the answer, readable for this user alone (mode 0600), and removes files of the day before. A failure costs only
    /// the time of the next question.
    pub(super) fn write<T: Serialize>(&self, answer: &T) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.folder)?;
        remove_old(&self.folder);
        // The file is written beside its name and renamed, so that no reader sees a part of it.
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(answer)?)?;
        file.persist(self.folder.join(&self.name))?;
        Ok(())
    }
}

fn remove_old(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files {
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > REMOVED) {
            // A file that another process has just removed is no error.
            let _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn kept(folder: &Path, server: &str) -> Kept {
        Kept::below(folder.join("new"), server, b"authority", "namespaces")
    }

    #[test]
    fn an_answer_is_kept_by_server_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let ours = kept(folder.path(), "https://a:6443");
        assert_eq!(ours.read::<Vec<String>>(), None);
        ours.write(&["shop", "default"]).unwrap();
        assert_eq!(ours.read::<Vec<String>>().unwrap(), ["shop", "default"]);
        let other = kept(folder.path(), "https://b:6443");
        assert_eq!(other.read::<Vec<String>>(), None);
        let path = ours.folder.join(&ours.name);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&ours.folder).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        assert_eq!(ours.read::<Vec<String>>(), None, "others may write it");
    }

    #[test]
    fn an_old_answer_is_not_used_and_one_of_the_day_before_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let ours = kept(folder.path(), "https://a:6443");
        ours.write(&["shop"]).unwrap();
        let path = ours.folder.join(&ours.name);
        let set = |at| fs::File::open(&path).unwrap().set_modified(at).unwrap();
        let written = fs::metadata(&path).unwrap().modified().unwrap();
        set(written - FRESH - Duration::from_secs(1));
        assert_eq!(ours.read::<Vec<String>>(), None);
        set(written + FRESH);
        assert_eq!(ours.read::<Vec<String>>(), None, "its time is to come");
        set(UNIX_EPOCH);
        kept(folder.path(), "https://b:6443").write(&["b"]).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_answer_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let ours = kept(folder.path(), "https://a:6443");
        ours.write(&["shop"]).unwrap();
        fs::write(ours.folder.join(&ours.name), "[\"sho").unwrap();
        assert_eq!(ours.read::<Vec<String>>(), None);
    }
}
