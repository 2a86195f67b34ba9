//! `check`: what must hold in the source before any test runs.
//!
//! Every rule runs even when one before it failed, so one run names all there is to repair.

mod boundaries;
mod licences;
mod mentions;
mod versions;

use std::fmt;

use anyhow::{Result, bail};

use crate::project::Project;
use crate::setup::{Installs, wasm};
use crate::shell;

const APP: &str = "watchscope-app";

/// A broken rule of the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The file, crate or package at fault.
    pub(crate) place: String,
    /// What is wrong there.
    pub(crate) problem: String,
    /// What to do about it.
    pub(crate) remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.problem, self.remedy)
    }
}

/// Runs all rules.
pub(crate) fn check(project: &Project, installs: Installs) -> Result<()> {
    wasm::ensure_target(project, installs)?;
    let mut broken = Vec::new();
    let mut rule = |name: &str, work: &mut dyn FnMut() -> Result<()>| {
        if let Err(error) = shell::step(name, work) {
            eprintln!("  {error:#}");
            broken.push(name.to_owned());
        }
    };
    rule("formatting", &mut || {
        shell::run(project.cargo("fmt").args(["--all", "--", "--check"]))
    });
    rule("versions agree", &mut || {
        report(versions::violations(project)?)
    });
    rule("boundaries", &mut || {
        report(boundaries::violations(project)?)
    });
    rule("licences", &mut || report(licences::violations(project)?));
    rule("clippy for the host", &mut || {
        shell::run(project.cargo("clippy").args([
            "--workspace",
            "--exclude",
            APP,
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ]))
    });
    rule("clippy for wasm32", &mut || {
        let mut command = project.cargo("clippy");
        command.args(["--target", wasm::TARGET, "--package", APP]);
        for package in boundaries::pure_crates(project) {
            command.args(["--package", &package]);
        }
        shell::run(command.args(["--", "--deny", "warnings"]))
    });
    rule("documentation for the host", &mut || {
        document(project, &["--workspace", "--exclude", APP])
    });
    rule("documentation for wasm32", &mut || {
        document(project, &["--package", APP, "--target", wasm::TARGET])
    });
    if shell::on_path("cargo-deny").is_some() {
        rule("cargo-deny", &mut || {
            shell::run(project.cargo("deny").arg("check"))
        });
    }
    if broken.is_empty() {
        println!("all rules hold");
        return Ok(());
    }
    bail!("broken: {}", broken.join(", "))
}

fn document(project: &Project, packages: &[&str]) -> Result<()> {
    let mut command = project.cargo("doc");
    command
        // Private items too: nobody reads this documentation without the source beside it.
        .args(["--no-deps", "--document-private-items"])
        .args(packages)
        .env("RUSTDOCFLAGS", "-D warnings");
    shell::run(&mut command)
}

fn report(violations: Vec<Violation>) -> Result<()> {
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    bail!("{}", lines.join("\n  "))
}
