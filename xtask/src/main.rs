//! The project's tasks: `cargo xtask demo|build|install|package|dist|check|test|mutate|bench`.
//!
//! Each task sets up what it needs first, so a clean checkout with a Rust toolchain is enough. Progress goes to
//! standard error; standard output carries only the task's result.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task runner talks to the terminal"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "steps are timed by the process clock; nothing here is replayed"
)]

mod bench;
mod build;
mod check;
mod dist;
mod mutate;
mod package;
mod page;
mod project;
mod setup;
mod shell;
mod source_paths;
mod test;
mod test_programs;
mod violation;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::project::Project;
use crate::setup::Installs;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Build, show, install, check, test and measure watchscope"
)]
struct Arguments {
    /// Install nothing: what is missing is skipped by name, or an error where nothing works without it.
    #[arg(long, global = true)]
    no_install: bool,
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the page and the binary, start the demo on a simulated cluster and print its link.
    Demo {
        /// Build the page without optimising it: quicker to rebuild, larger to load.
        #[arg(long)]
        dev: bool,
        /// Passed on to `watchscope demo`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build the page and the self-contained binary.
    Build {
        /// Optimise, into target/release/watchscope.
        #[arg(long)]
        release: bool,
        /// Build the binary for this target, into target/TARGET/; x86_64-unknown-linux-musl makes it static.
        #[arg(long)]
        target: Option<String>,
    },
    /// Build the page, and install the program with it into ~/.cargo/bin.
    Install {
        /// Passed on to `cargo install`, such as --root FOLDER.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build the page, and pack it with the program's crates into target/package/. Nothing is uploaded.
    Package {
        /// Passed on to `cargo package`, such as --allow-dirty.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build static programs for Linux, and make archives and an image of them in target/files/.
    Dist {
        /// Fill this folder instead, which must be empty or of an earlier run.
        #[arg(long, value_name = "FOLDER")]
        output: Option<PathBuf>,
        /// The address under which the archives will be, for krew's manifest.
        #[arg(long)]
        url: Option<String>,
        /// Build nothing; check the files in this folder.
        #[arg(long, value_name = "FOLDER", conflicts_with_all = ["output", "url"])]
        check: Option<PathBuf>,
    },
    /// Formatting, clippy for host and wasm32, boundaries, rooms, words, citations, decisions, licences, documentation.
    Check {
        /// Only list where sentences are hard to read, and what to write instead.
        only: Option<Listed>,
    },
    /// Build everything and run every test.
    Test {
        /// Also run the tests that take hours, and write docs/long-test.md.
        #[arg(long)]
        long: bool,
    },
    /// Plant the bugs of tests/mutants.toml one at a time; each must make a test fail.
    Mutate {
        /// Only these, such as probe-03.
        ids: Vec<String>,
    },
    /// Run the benchmark programs, or the one named.
    Bench {
        /// A benchmark of `--list`.
        name: Option<String>,
        /// Only say which benchmarks there are.
        #[arg(long, conflicts_with_all = ["name", "write"])]
        list: bool,
        /// Put the figures into docs/benchmarks.md.
        #[arg(long)]
        write: bool,
    },
}

/// The part of `check` that runs alone.
#[derive(Clone, Copy, ValueEnum)]
enum Listed {
    Words,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let installs = if arguments.no_install {
        Installs::Forbidden
    } else {
        Installs::Allowed
    };
    match run(arguments.task, installs) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task, installs: Installs) -> anyhow::Result<ExitCode> {
    let project = Project::open()?;
    match task {
        Task::Demo { dev, arguments } => build::demo(&project, installs, dev, &arguments)?,
        Task::Build { release, target } => {
            build::build(&project, installs, release, target.as_deref())?;
        }
        Task::Install { arguments } => build::install(&project, installs, &arguments)?,
        Task::Package { arguments } => package::package(&project, installs, &arguments)?,
        Task::Dist {
            check: Some(folder),
            ..
        } => dist::check(&folder)?,
        Task::Dist { output, url, .. } => {
            dist::dist(&project, installs, &dist::Wanted { output, url })?;
        }
        Task::Check { only: None } => check::check(&project, installs)?,
        Task::Check {
            only: Some(Listed::Words),
        } => check::words(&project)?,
        Task::Test { long } => return test::test(&project, installs, long),
        Task::Mutate { ids } => mutate::mutate(&project, &ids)?,
        Task::Bench { list: true, .. } => bench::list(&project)?,
        Task::Bench { name, write, .. } => {
            bench::run(&project, installs, name.as_deref(), write)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
