//! Runs test programs side by side, one on each core. cargo would run one after the other, and a core would idle during
//! the last test of each.
//!
//! The output of a program goes to a file in target/test-logs/, which can be read while the program runs. It is passed
//! on when the program ends. Programs whose tests wait by the clock run last, alone; each of their lines is passed on
//! at once.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::counts::Counts;
use super::{counted, pass_on};
use crate::project::{Project, TASKS};
use crate::test_programs::{self, TestProgram};

/// The programs that take longest, in order, so that none of them runs alone at the end. Others follow in cargo's
/// order.
const LONGEST_FIRST: &[&str] = &["suite", "world", "codec", "clients", "schedules"];
/// The packages whose tests use sockets, servers and browsers, and wait for them by the clock. They run when all others
/// have ended.
const BY_THE_CLOCK: [&str; 2] = ["watchscope", "watchscope-tests"];
/// The tests of such a package that run at once on each core. They wait most of the time.
const WAITING_PER_CORE: usize = 2;

/// An executable of tests.
struct Program {
    /// Its package, the kind of its target, and the target's name.
    name: String,
    /// Its place in [`LONGEST_FIRST`]; the list's length if it is not there.
    turn: usize,
    by_the_clock: bool,
    /// The folder of its package, in which cargo would run it.
    folder: PathBuf,
    executable: PathBuf,
}

/// Builds all test programs and runs their tests with these variables; with `long` also the long tests.
pub(super) fn run(project: &Project, variables: &[(&str, OsString)], long: bool) -> Result<Counts> {
    let mut programs = programs(project, variables)?;
    programs.sort_by_key(|program| program.turn);
    let (last, first): (Vec<_>, Vec<_>) = programs
        .into_iter()
        .partition(|program| program.by_the_clock);
    let logs = project.target().join("test-logs");
    fs::create_dir_all(&logs).with_context(|| format!("making {}", logs.display()))?;
    let job = Job {
        variables,
        long,
        logs: &logs,
        counts: Mutex::default(),
    };
    let cores = thread::available_parallelism()?.get();
    job.run_all(first, cores)?;
    for program in last {
        job.run_aloud(&program, cores * WAITING_PER_CORE)?;
    }
    Ok(job
        .counts
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner))
}

/// The settings of the programs, and their counts so far.
struct Job<'a> {
    variables: &'a [(&'a str, OsString)],
    long: bool,
    logs: &'a Path,
    counts: Mutex<Counts>,
}

impl Job<'_> {
    /// Runs programs in their order, at most `at_a_time` at once.
    fn run_all(&self, programs: Vec<Program>, at_a_time: usize) -> Result<()> {
        let waiting = Mutex::new(VecDeque::from(programs));
        let next = || {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.pop_front()
        };
        let work = || -> Result<()> {
            while let Some(program) = next() {
                self.run_one(&program)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        })
    }

    /// Runs a program, and passes its output on when it has ended.
    fn run_one(&self, program: &Program) -> Result<()> {
        let name = &program.name;
        eprintln!("  {name}: begun");
        let start = Instant::now();
        let path = self
            .logs
            .join(format!("{}.log", name.replace(['/', ' '], "-")));
        let log = File::create(&path).with_context(|| format!("making {}", path.display()))?;
        let status = self
            .command(program)
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()
            .with_context(|| format!("starting {}", program.executable.display()))?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        // Printed under the lock, so that outputs of programs do not mix.
        say_that_it_ran(name, start);
        counts.add(pass_on(File::open(&path)?, io::stdout())?.ended(status));
        Ok(())
    }

    /// Runs a program, `at_once` of its tests at a time, and passes on each line when it is written.
    fn run_aloud(&self, program: &Program, at_once: usize) -> Result<()> {
        let start = Instant::now();
        let mut command = self.command(program);
        let counted = counted(command.arg(format!("--test-threads={at_once}")))?;
        say_that_it_ran(&program.name, start);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.add(counted);
        Ok(())
    }

    fn command(&self, program: &Program) -> Command {
        let mut command = Command::new(&program.executable);
        if self.long {
            command.arg("--include-ignored");
        }
        command
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .current_dir(&program.folder)
            .stdin(Stdio::null());
        command
    }
}

fn say_that_it_ran(name: &str, start: Instant) {
    let seconds = start.elapsed().as_secs();
    println!(
        "\n     Ran {name} in {} min {:02} s",
        seconds / 60,
        seconds % 60
    );
}

/// Builds all test programs: those of the host's packages, and this package's, which are built apart.
fn programs(project: &Project, variables: &[(&str, OsString)]) -> Result<Vec<Program>> {
    let mut all = Vec::new();
    for packages in [project.host_packages(), vec![TASKS]] {
        let mut command = project.cargo_on("test", packages);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let built = test_programs::build(&mut command)?;
        all.extend(built.into_iter().map(|built| program(project, built)));
    }
    Ok(all)
}

fn program(project: &Project, built: TestProgram) -> Program {
    let package = &project.metadata[&built.artifact.package_id];
    let target = built.artifact.target;
    let kind = target.kind.first().map(ToString::to_string);
    // The kind is part of the name: a package's library and its program may have one name.
    let kind = kind.unwrap_or_default();
    Program {
        turn: LONGEST_FIRST
            .iter()
            .position(|slow| *slow == target.name)
            .unwrap_or(LONGEST_FIRST.len()),
        by_the_clock: BY_THE_CLOCK.contains(&package.name.as_str()),
        folder: built.folder,
        executable: built.executable,
        name: format!("{}/{kind} {}", package.name, target.name),
    }
}
