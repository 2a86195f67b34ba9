//! The controllers and the scheduler of a real cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{KubeCluster, pki, tools};
use crate::{Missing, Process};

/// The name of the controllers' program and process.
const MANAGER: &str = "kube-controller-manager";
/// The name of the scheduler's program and process.
const SCHEDULER: &str = "kube-scheduler";

/// A folder that holds kube-controller-manager and kube-scheduler.
#[derive(Clone, Debug)]
pub struct ControllerTools {
    folder: PathBuf,
}

impl ControllerTools {
    /// Looks into `WATCHSCOPE_TEST_CONTROLLERS` and `KUBEBUILDER_ASSETS`, then where `cargo xtask test --long` builds
    /// both.
    pub fn find() -> Result<Self, Missing> {
        let set = ["WATCHSCOPE_TEST_CONTROLLERS", "KUBEBUILDER_ASSETS"];
        let set = set.into_iter().filter_map(std::env::var_os);
        Self::among(set.map(PathBuf::from).chain(tools::built()))
    }

    fn among(folders: impl IntoIterator<Item = PathBuf>) -> Result<Self, Missing> {
        let holds = |folder: &PathBuf, program: &str| folder.join(program).is_file();
        folders
            .into_iter()
            .find(|folder| holds(folder, MANAGER) && holds(folder, SCHEDULER))
            .map(|folder| Self { folder })
            .ok_or_else(|| Missing {
                what: MANAGER.to_owned(),
                install: "Go 1.26 or newer and run `cargo xtask test --long`, or set WATCHSCOPE_TEST_CONTROLLERS to a folder with kube-controller-manager and kube-scheduler".to_owned(),
            })
    }
}

/// Both programs while they run; they end when this is dropped.
///
/// They survive a restart of their apiserver: without leader election they connect again.
#[derive(Debug)]
pub struct Controllers {
    manager: Process,
    scheduler: Process,
}

impl Controllers {
    /// Starts both with the rights of the cluster's administrator.
    pub fn start(programs: &ControllerTools, cluster: &KubeCluster) -> Result<Self> {
        let folder = cluster.folder.path();
        let command = |program: &str, kubeconfig: &Path| {
            let mut command = Command::new(programs.folder.join(program));
            command
                .arg("--kubeconfig")
                .arg(kubeconfig)
                // They serve no port, and no other instance can lead.
                .args(["--leader-elect=false", "--secure-port=0"]);
            command
        };
        let mut manager = command(MANAGER, cluster.kubeconfig());
        manager
            .arg("--service-account-private-key-file")
            .arg(folder.join(pki::ACCOUNT_KEY))
            .arg("--root-ca-file")
            .arg(folder.join(pki::AUTHORITY));
        let scheduler = command(SCHEDULER, cluster.kubeconfig());
        Ok(Self {
            manager: Process::start(MANAGER, manager, folder)?,
            scheduler: Process::start(SCHEDULER, scheduler, folder)?,
        })
    }

    /// Returns an error with the last lines of standard error if one of them has ended.
    pub fn still_run(&mut self) -> Result<()> {
        self.manager.still_runs()?;
        self.scheduler.still_runs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_skips_a_folder_with_one_program_for_one_with_both() {
        let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let paths = || folders.iter().map(|folder| folder.path().to_owned());
        assert_eq!(ControllerTools::among(paths()).unwrap_err().what, MANAGER);
        std::fs::write(folders[1].path().join(MANAGER), "").unwrap();
        assert!(ControllerTools::among(paths()).is_err());
        for program in [MANAGER, SCHEDULER] {
            std::fs::write(folders[2].path().join(program), "").unwrap();
        }
        let found = ControllerTools::among(paths()).unwrap();
        assert_eq!(found.folder, folders[2].path());
    }
}
