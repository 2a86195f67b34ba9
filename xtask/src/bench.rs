//! `bench`: programs that measure, and the page of docs that keeps their figures.
//!
//! A benchmark is a binary target named `bench-NAME` in any package of the workspace, behind that package's feature
//! `benchmarks`. The first line of its file says what it measures. It runs optimised, in a process of its own.
//! On standard output it writes only rows of the table, `| figure | bar | measured | met or missed |`. All else goes to
//! standard error.

mod report;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use time::OffsetDateTime;

use crate::page::PageProfile;
use crate::project::Project;
use crate::setup::{Installs, browser, kube};
use crate::{build, page, shell};

const PREFIX: &str = "bench-";
/// The feature that builds benchmarks. Tests are built without it, so they need not link the benchmarks.
pub(crate) const FEATURE: &str = "benchmarks";

struct Benchmark {
    name: String,
    package: String,
    about: String,
}

/// Prints the name of each benchmark and what it measures.
pub(crate) fn list(project: &Project) -> Result<()> {
    for benchmark in all(project)? {
        println!("{:<16} {}", benchmark.name, benchmark.about);
    }
    Ok(())
}

/// Runs one benchmark, or all, and prints their tables. `write` also puts the tables into docs/benchmarks.md. A figure
/// that misses its bar, or a benchmark that fails, is an error after all have run.
pub(crate) fn run(
    project: &Project,
    installs: Installs,
    name: Option<&str>,
    write: bool,
) -> Result<()> {
    let mut benchmarks = all(project)?;
    if let Some(name) = name {
        let known: Vec<String> = benchmarks.iter().map(|known| known.name.clone()).collect();
        benchmarks.retain(|known| known.name == name);
        ensure!(
            !benchmarks.is_empty(),
            "there is no benchmark {name:?}; there are: {}",
            known.join(", ")
        );
    }
    page::build(project, installs, PageProfile::Release)?;
    let binary = build::binary(project, true, None)?;
    let machine = machine(project)?;
    let (mut failed, mut missed) = (Vec::new(), Vec::new());
    for benchmark in benchmarks {
        let mut command = project.cargo("run");
        command
            .args(["--quiet", "--release", "--package", &benchmark.package])
            .args(["--features", FEATURE])
            .args(["--bin", &format!("{PREFIX}{}", benchmark.name)])
            .env("WATCHSCOPE_TEST_BINARY", &binary)
            .stderr(Stdio::inherit());
        if let Ok(folder) = kube::ensure_assets(project)? {
            command.env("KUBEBUILDER_ASSETS", folder);
        }
        if let Some(browser) = browser::ensure(installs)? {
            command
                .env("CHROME", browser.chrome)
                .env("CHROMEDRIVER", browser.chromedriver);
        }
        let measured = shell::step(&format!("measuring {}", benchmark.name), || {
            report::rows(&shell::read(&mut command)?)
        });
        match measured {
            Ok(rows) => {
                let section = report::Section {
                    name: benchmark.name,
                    about: benchmark.about,
                    machine: machine.clone(),
                    rows,
                };
                println!("{section}");
                if section.misses_a_bar() {
                    missed.push(section.name.clone());
                }
                if write {
                    keep(project, &section)?;
                }
            }
            Err(error) => {
                eprintln!("  {error:#}");
                failed.push(benchmark.name);
            }
        }
    }
    let mut bad = Vec::new();
    for (what, names) in [("without figures", failed), ("bars missed by", missed)] {
        if !names.is_empty() {
            bad.push(format!("{what}: {}", names.join(", ")));
        }
    }
    ensure!(bad.is_empty(), "{}", bad.join("; "));
    Ok(())
}

/// Returns the machine, the compiler, the day and the commit as one sentence.
pub(crate) fn machine(project: &Project) -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let proc = |file: &str, key: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor =
        proc("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".into());
    let memory = proc("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or("unknown memory".to_owned(), |kib| {
            format!("{} GiB", kib >> 20)
        });
    let system = shell::read(Command::new("uname").arg("-sr"))?;
    let rustc = shell::read(
        Command::new("rustc")
            .arg("--version")
            .current_dir(&project.root),
    )?;
    let commit = commit(project).unwrap_or_else(|_| "unknown commit".to_owned());
    let day = OffsetDateTime::now_utc().date();
    Ok(format!(
        "{cores} cores of {processor}, {memory}, {system}, {rustc}, {day}, commit {commit}."
    ))
}

/// Returns the commit; with `-dirty` if a file differs from it. The page of figures does not count: a benchmark before
/// this one may have written it.
fn commit(project: &Project) -> Result<String> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        shell::read(command.args(arguments).current_dir(&project.root))
    };
    let commit = git(&["describe", "--always"])?;
    let elsewhere = ":(exclude)docs/benchmarks.md";
    let changes = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        elsewhere,
    ])?;
    let dirty = if changes.is_empty() { "" } else { "-dirty" };
    Ok(format!("{commit}{dirty}"))
}

fn all(project: &Project) -> Result<Vec<Benchmark>> {
    let mut benchmarks = Vec::new();
    for package in project.metadata.workspace_packages() {
        for target in package.targets.iter().filter(|target| target.is_bin()) {
            if let Some(name) = target.name.strip_prefix(PREFIX) {
                benchmarks.push(Benchmark {
                    name: name.to_owned(),
                    package: package.name.to_string(),
                    about: first_doc_line(&target.src_path.clone().into_std_path_buf())?,
                });
            }
        }
    }
    benchmarks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(benchmarks)
}

fn first_doc_line(file: &PathBuf) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("//! "));
    Ok(line
        .with_context(|| {
            format!(
                "{} does not begin by saying what it measures",
                file.display()
            )
        })?
        .to_owned())
}

fn keep(project: &Project, section: &report::Section) -> Result<()> {
    let folder = project.root.join("docs");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join("benchmarks.md");
    let page = match fs::read_to_string(&path) {
        Ok(page) => page,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => report::EMPTY_PAGE.to_owned(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    fs::write(&path, report::with_section(&page, section))
        .with_context(|| format!("writing {}", path.display()))
}
