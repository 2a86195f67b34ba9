//! The programs of a cluster: a folder with etcd, kube-apiserver and kubectl.

use std::path::{Path, PathBuf};

use crate::Missing;

/// The Go module that pins the versions that `cargo xtask test` builds.
const PINNED: &str = include_str!("../../cluster/go.mod");

/// The file names of the programs.
const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kubectl"];

/// A folder that holds all three programs.
#[derive(Clone, Debug)]
pub struct KubeTools {
    folder: PathBuf,
}

impl KubeTools {
    /// Looks into `KUBEBUILDER_ASSETS` if it is set, else where `cargo xtask test` builds them.
    pub fn find() -> Result<Self, Missing> {
        Self::among(
            std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from),
            built(),
        )
    }

    fn among(set: Option<PathBuf>, built: Option<PathBuf>) -> Result<Self, Missing> {
        set.or(built)
            .filter(|folder| PROGRAMS.iter().all(|program| folder.join(program).is_file()))
            .map(|folder| Self { folder })
            .ok_or_else(|| Missing {
                what: "kube-apiserver".to_owned(),
                install: "Go 1.26 or newer and run `cargo xtask test`, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl".to_owned(),
            })
    }

    /// The path of etcd.
    #[must_use]
    pub fn etcd(&self) -> PathBuf {
        self.folder.join("etcd")
    }

    /// The path of kube-apiserver.
    #[must_use]
    pub fn apiserver(&self) -> PathBuf {
        self.folder.join("kube-apiserver")
    }

    /// The path of kubectl.
    #[must_use]
    pub fn kubectl(&self) -> PathBuf {
        self.folder.join("kubectl")
    }
}

/// Returns `kube/VERSION` in cargo's target folder, which contains this program.
pub(super) fn built() -> Option<PathBuf> {
    let version = pinned_version()?;
    let program = std::env::current_exe().ok()?;
    program
        .ancestors()
        .map(|folder: &Path| folder.join("kube").join(version))
        .find(|folder| folder.is_dir())
}

fn pinned_version() -> Option<&'static str> {
    let mut words = PINNED.split_whitespace();
    while let Some(word) = words.next() {
        if word == "k8s.io/kubernetes" {
            return words.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_version_is_read_from_the_module() {
        assert!(pinned_version().is_some_and(|version| version.starts_with("v1.")));
    }

    #[test]
    fn a_folder_without_the_programs_is_refused() {
        let empty = tempfile::tempdir().unwrap();
        let found = KubeTools::among(Some(empty.path().to_owned()), None);
        assert_eq!(found.unwrap_err().what, "kube-apiserver");
        assert!(KubeTools::among(None, None).is_err());
    }
}
