//! The paths of this checkout, and cargo's metadata about it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::{Metadata, MetadataCommand};

/// The package of this program. It is no default member: built together with others, its dependencies would be compiled
/// a second time, with the features that the others want.
pub(crate) const TASKS: &str = "xtask";
/// The package of the page.
pub(crate) const PAGE: &str = "watchscope-app";

/// The checkout that the tasks work on.
pub(crate) struct Project {
    /// The workspace's root folder.
    pub(crate) root: PathBuf,
    /// Cargo's metadata of all packages, with the resolved dependency graph of every platform.
    pub(crate) metadata: Metadata,
}

impl Project {
    /// Opens the checkout that this program was built from.
    pub(crate) fn open() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in a folder of the workspace")?
            .to_path_buf();
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .exec()
            .context("reading the workspace with `cargo metadata`")?;
        Ok(Self { root, metadata })
    }

    /// Cargo's output folder, wherever the user has put it.
    pub(crate) fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// The folder of the finished page, which the backend's build embeds.
    pub(crate) fn dist(&self) -> PathBuf {
        self.root.join("dist")
    }

    /// Returns the packages built for wasm32: those that are neither default members of the workspace nor this program.
    pub(crate) fn wasm_packages(&self) -> Vec<&str> {
        let host = self.metadata.workspace_default_packages();
        self.metadata
            .workspace_packages()
            .iter()
            .filter(|package| !host.contains(package))
            .map(|package| package.name.as_str())
            .filter(|name| *name != TASKS)
            .collect()
    }

    /// Returns the packages that are tested on the host: the default members, and the page, whose core needs no
    /// browser.
    pub(crate) fn host_packages(&self) -> Vec<&str> {
        let host = self.metadata.workspace_default_packages();
        let names = host.iter().map(|package| package.name.as_str());
        names.chain([PAGE]).collect()
    }

    /// Returns a cargo command that runs in the workspace's root.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        cargo(&self.root, subcommand)
    }

    /// Returns a cargo command that runs in the workspace's root, for these packages.
    pub(crate) fn cargo_on<'a>(
        &self,
        subcommand: &str,
        packages: impl IntoIterator<Item = &'a str>,
    ) -> Command {
        let mut command = self.cargo(subcommand);
        for package in packages {
            command.args(["--package", package]);
        }
        command
    }
}

/// Returns a cargo command that runs in a folder.
pub(crate) fn cargo(folder: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).current_dir(folder);
    command
}
