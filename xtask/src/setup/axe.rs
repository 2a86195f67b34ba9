//! axe-core, with which browser tests look for barriers. npm installs it once, as tests/axe/package-lock.json pins it,
//! into target/axe/.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::setup::{Installs, apt};
use crate::shell;

/// What a user could install if the package cannot be installed here.
const WANTED: &str = "npm, which can reach a package registry";

/// Returns the path of axe-core's script, installing it if needed, or what the user could install.
pub(crate) fn ensure(project: &Project, installs: Installs) -> Result<Result<PathBuf, String>> {
    let pins = project.root.join("tests/axe");
    let lock_path = pins.join("package-lock.json");
    let lock_bytes =
        fs::read(&lock_path).with_context(|| format!("reading {}", lock_path.display()))?;
    // Each set of pins has a folder of its own.
    let all = project.target().join("axe");
    let folder = all.join(&crate::page::sha256(&lock_bytes)[..16]);
    let script = folder.join("node_modules/axe-core/axe.min.js");
    if script.exists() {
        return Ok(Ok(script));
    }
    if !has_npm() {
        apt::install(installs, &["npm"]);
    }
    if !has_npm() {
        return Ok(Err(WANTED.to_owned()));
    }
    fs::create_dir_all(&all).with_context(|| format!("making {}", all.display()))?;
    // Two tasks that start at once install only once.
    let lock = fs::File::create(all.join("lock"))?;
    lock.lock().context("waiting for another install")?;
    if script.exists() {
        return Ok(Ok(script));
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(pins.join(name), folder.join(name)).with_context(|| format!("copying {name}"))?;
    }
    let installed = shell::step("installing axe-core with npm", || {
        shell::run(&mut npm_install(&folder))
    });
    if let Err(error) = installed {
        eprintln!("  not installed: {error:#}");
        return Ok(Err(WANTED.to_owned()));
    }
    Ok(Ok(script))
}

fn has_npm() -> bool {
    shell::read(Command::new("npm").arg("--version")).is_ok()
}

/// Returns a command that installs what the lock file pins by hash. No script of a package runs.
fn npm_install(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--loglevel", "error"])
        .arg("--prefix")
        .arg(folder);
    command
}
