//! `check`: the rules that the source must keep before any test runs.
//!
//! Every rule runs even if an earlier one failed, so one run reports all violations.

mod boundaries;
mod citations;
mod decisions;
mod licences;
mod mentions;
mod rooms;
mod sentences;
mod text_matching;
mod texts;
mod versions;
mod words;

use std::process::Command;

use anyhow::{Result, bail};

use self::sentences::Count;
use crate::project::{Project, TASKS};
use crate::setup::{Installs, targets};
use crate::violation::Violation;
use crate::{bench, mutate, shell};

/// Runs all rules.
pub(crate) fn check(project: &Project, installs: Installs) -> Result<()> {
    targets::ensure(project, installs, targets::WASM)?;
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
    rule("rooms", &mut || report(rooms::violations(project)?));
    rule("decisions rest on types", &mut || {
        report(text_matching::violations(project)?)
    });
    rule("words", &mut || {
        let mut violations = words::violations(project)?;
        violations.extend(Count::of(project)?.violations());
        report(violations)
    });
    rule("citations lead somewhere", &mut || {
        report(citations::violations(project)?)
    });
    rule("the table of decisions is true", &mut || {
        report(decisions::violations(project)?)
    });
    rule("licences", &mut || report(licences::violations(project)?));
    rule("planted bugs follow the code", &mut || {
        report(mutate::violations(project)?)
    });
    rule("clippy for the host", &mut || {
        let mut command = for_host(project, "clippy");
        command.args(["--features", bench::FEATURE]);
        shell::run(command.args(["--keep-going", "--all-targets", "--", "--deny", "warnings"]))
    });
    rule("clippy for wasm32", &mut || {
        let mut command = for_wasm(project, "clippy");
        for package in boundaries::pure_packages(project) {
            command.args(["--package", package]);
        }
        shell::run(command.args(["--keep-going", "--", "--deny", "warnings"]))
    });
    rule("documentation for the host", &mut || {
        document(&mut for_host(project, "doc"))
    });
    rule("documentation for wasm32", &mut || {
        document(&mut for_wasm(project, "doc"))
    });
    if shell::on_path("cargo-deny").is_some() {
        let deny = |arguments: &[&str]| shell::run(project.cargo("deny").args(arguments));
        rule("bans, licences and sources by cargo-deny", &mut || {
            deny(&[
                "--log-level",
                "error",
                "check",
                "bans",
                "licenses",
                "sources",
            ])
        });
        match deny(&["fetch", "db"]) {
            Ok(()) => rule("advisories by cargo-deny", &mut || {
                deny(&["--offline", "check", "advisories"])
            }),
            Err(error) => eprintln!("  advisories are not checked: {error:#}"),
        }
    }
    if broken.is_empty() {
        println!("all rules hold");
        return Ok(());
    }
    bail!("broken: {}", broken.join(", "))
}

/// Returns a cargo command for all packages that are built for the host. Lints and documentation select the same
/// packages: with other packages cargo would compile dependencies again, with other features.
fn for_host(project: &Project, subcommand: &str) -> Command {
    let packages = project.host_packages().into_iter();
    project.cargo_on(subcommand, packages.chain([TASKS]))
}

/// Returns a cargo command for the packages that are built only for wasm32.
fn for_wasm(project: &Project, subcommand: &str) -> Command {
    let mut command = project.cargo_on(subcommand, project.wasm_packages());
    command.args(["--target", targets::WASM]);
    command
}

fn document(command: &mut Command) -> Result<()> {
    // Private items are documented too. Every reader of this documentation has the source, so a link from a public item
    // to a private one is useful.
    command
        .args(["--no-deps", "--document-private-items", "--keep-going"])
        .env(
            "RUSTDOCFLAGS",
            "-D warnings -A rustdoc::private_intra_doc_links",
        );
    shell::run(command)
}

/// Lists idioms that make sentences hard to read, and long sentences.
pub(crate) fn words(project: &Project) -> Result<()> {
    print!("{}{}", words::list(project)?, Count::of(project)?.list());
    Ok(())
}

fn report(violations: Vec<Violation>) -> Result<()> {
    if violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    bail!("{}", lines.join("\n  "))
}
