//! `build` and `demo`: build the page, then the binary that carries it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::page::{self, PageProfile};
use crate::project::Project;
use crate::setup::{Installs, targets};
use crate::shell;

/// Builds page and binary, for this machine or another target, and prints the binary's path.
pub(crate) fn build(
    project: &Project,
    installs: Installs,
    release: bool,
    target: Option<&str>,
) -> Result<()> {
    if let Some(target) = target {
        targets::ensure(project, installs, target)?;
    }
    page::build(project, installs, PageProfile::Release)?;
    let binary = binary(project, release, target)?;
    let bytes = binary
        .metadata()
        .with_context(|| format!("looking at {}", binary.display()))?
        .len();
    eprintln!("  {:.1} MB", bytes as f64 / 1e6);
    println!("{}", binary.display());
    Ok(())
}

/// Builds page and binary, then replaces this process with `watchscope demo`.
pub(crate) fn demo(
    project: &Project,
    installs: Installs,
    dev: bool,
    arguments: &[String],
) -> Result<()> {
    let profile = if dev {
        PageProfile::Dev
    } else {
        PageProfile::Release
    };
    page::build(project, installs, profile)?;
    let binary = binary(project, false, None)?;
    become_command(Command::new(binary).arg("demo").args(arguments))
}

/// Builds the binary with the page that lies in dist/. Returns its path.
pub(crate) fn binary(project: &Project, release: bool, target: Option<&str>) -> Result<PathBuf> {
    let mut command = project.cargo("build");
    command.args(["--package", "watchscope-binary", "--bin", "watchscope"]);
    if release {
        command.arg("--release");
    }
    let mut folder = project.target().to_path_buf();
    if let Some(target) = target {
        command.args(["--target", target]);
        folder.push(target);
    }
    shell::step("building watchscope", || shell::run(&mut command))?;
    folder.push(if release { "release" } else { "debug" });
    Ok(program_in(folder))
}

/// Builds the binary for the tests and returns its path. It selects the packages of the tests: cargo compiles a crate
/// with the features that all selected packages want of it. With other packages it would compile crates a second time.
pub(crate) fn binary_of_tests(project: &Project) -> Result<PathBuf> {
    let mut command = project.cargo_on("build", project.host_packages());
    command.args(["--tests", "--bin", "watchscope"]);
    shell::step("building watchscope", || shell::run(&mut command))?;
    Ok(program_in(project.target().join("debug")))
}

/// Returns the program's path in a folder of cargo's output.
fn program_in(folder: PathBuf) -> PathBuf {
    folder.join(format!("watchscope{}", std::env::consts::EXE_SUFFIX))
}

/// Replaces this process by the command, so that signals and the exit code are the command's own.
#[cfg(unix)]
fn become_command(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    let line = shell::command_line(command);
    Err(command.exec()).with_context(|| format!("starting `{line}`"))
}

#[cfg(not(unix))]
fn become_command(command: &mut Command) -> Result<()> {
    shell::run(command)
}
