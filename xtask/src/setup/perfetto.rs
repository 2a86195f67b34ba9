//! Perfetto's own message classes for Python, with which the test of traces decodes. They are installed once from the
//! packages that tests/perfetto/requirements.txt pins, into target/perfetto/.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::setup::{Installs, apt};
use crate::shell;

/// What a user could install if the packages cannot be installed here.
const WANTED: &str = "Python 3 with pip, which can reach a package index";

/// Returns the folder with the packages, installing them if needed, or what the user could install.
pub(crate) fn ensure(project: &Project, installs: Installs) -> Result<Result<PathBuf, String>> {
    let requirements = project.root.join("tests/perfetto/requirements.txt");
    let pins =
        fs::read(&requirements).with_context(|| format!("reading {}", requirements.display()))?;
    // Each set of pins has a folder of its own, so a folder that exists is whole.
    let all = project.target().join("perfetto");
    let folder = all.join(&crate::page::sha256(&pins)[..16]);
    if folder.exists() {
        return Ok(Ok(folder));
    }
    if !has_pip() {
        apt::install(installs, &["python3", "python3-pip"]);
    }
    if !has_pip() {
        return Ok(Err(WANTED.to_owned()));
    }
    fs::create_dir_all(&all).with_context(|| format!("making {}", all.display()))?;
    // Two tasks that start at once install only once.
    let lock = fs::File::create(all.join("lock"))?;
    lock.lock().context("waiting for another install")?;
    if folder.exists() {
        return Ok(Ok(folder));
    }
    let unfinished = all.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)
            .with_context(|| format!("removing {}", unfinished.display()))?;
    }
    let installed = shell::step("installing Perfetto's message classes with pip", || {
        shell::run(&mut pip_install(&requirements, &unfinished))
    });
    if let Err(error) = installed {
        eprintln!("  not installed: {error:#}");
        return Ok(Err(WANTED.to_owned()));
    }
    fs::rename(&unfinished, &folder).with_context(|| format!("naming {}", unfinished.display()))?;
    Ok(Ok(folder))
}

fn has_pip() -> bool {
    shell::read(Command::new("python3").args(["-m", "pip", "--version"])).is_ok()
}

/// Returns a command that installs into a folder of its own: the machine's packages stay as they are, and no virtual
/// environment is needed. The wheels are in plain Python: the same files, with the same hashes, on every machine.
fn pip_install(requirements: &Path, folder: &Path) -> Command {
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "install", "--quiet"])
        .args(["--disable-pip-version-check", "--root-user-action=ignore"])
        .args(["--no-deps", "--require-hashes", "--only-binary=:all:"])
        .args([
            "--platform",
            "any",
            "--implementation",
            "py",
            "--abi",
            "none",
        ])
        .arg("--target")
        .arg(folder)
        .arg("--requirement")
        .arg(requirements);
    command
}
