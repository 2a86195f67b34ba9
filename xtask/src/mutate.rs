//! `mutate`: plants bugs one at a time, and checks that each makes a test fail.
//!
//! tests/mutants.toml lists the bugs. A bug is planted in a copy of the checkout, target/mutants/tree, never in the
//! checkout itself. There the tests of the bug's own crate run. If they all pass, the tests of the scenarios run, which
//! use every crate that a bug may be in.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use walkdir::WalkDir;

use crate::project::{Project, cargo};
use crate::shell;
use crate::test_programs::{self, TestProgram};
use crate::violation::Violation;

/// The path of the list.
const LIST: &str = "tests/mutants.toml";
/// The package whose tests run the other crates together.
const SCENARIOS: &str = "watchscope-scenarios";
/// The longest that a program's tests may run; after it they are killed, and the bug counts as caught. They take half a
/// minute.
const LIMIT: Duration = Duration::from_secs(20 * 60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A bug to plant.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Its id: CRATE-NUMBER.
    pub(crate) id: String,
    /// The file to plant it in, from the workspace's root.
    file: PathBuf,
    /// The mistake, and its harm to a user.
    what: String,
    /// The text to replace; it occurs once in the file.
    find: String,
    /// The text that replaces it.
    replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutant: Vec<Mutant>,
}

/// How many planted bugs a test caught, and how many survived.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) caught: usize,
    pub(crate) survived: usize,
}

/// Reads all bugs of the list.
pub(crate) fn list(project: &Project) -> Result<Vec<Mutant>> {
    let path = project.root.join(LIST);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let list: List = toml::from_str(&text).with_context(|| format!("reading {LIST}"))?;
    Ok(list.mutant)
}

/// Returns a violation for each bug that cannot be planted as it is written.
pub(crate) fn violations(project: &Project) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for mutant in list(project)? {
        if let Err(error) = mutant.planted(&project.root) {
            violations.push(Violation {
                place: format!("{LIST}, {}", mutant.id),
                problem: format!("{error:#}"),
                remedy: "let it follow the code, as the same mistake".to_owned(),
            });
        }
    }
    Ok(violations)
}

/// Plants the bugs with these ids, or all if there are none; a bug that survives is an error.
pub(crate) fn mutate(project: &Project, ids: &[String]) -> Result<()> {
    let mut mutants = list(project)?;
    for id in ids {
        let is_known = mutants.iter().any(|mutant| mutant.id == *id);
        ensure!(is_known, "{LIST} has no {id}");
    }
    mutants.retain(|mutant| ids.is_empty() || ids.contains(&mutant.id));
    let outcome = run(project, &mutants)?;
    println!("{} caught, {} survived", outcome.caught, outcome.survived);
    ensure!(outcome.survived == 0, "a bug that survives wants a test");
    Ok(())
}

/// Plants bugs one after the other and prints which test caught each.
pub(crate) fn run(project: &Project, mutants: &[Mutant]) -> Result<Outcome> {
    let folder = project.target().join("mutants");
    let tree = folder.join("tree");
    shell::step("copying the checkout to plant bugs in", || {
        copy(project, &tree)
    })?;
    let bench = Bench {
        tree,
        // This folder holds the dependencies of the tests, already built.
        target: project.target().to_owned(),
        logs: folder,
    };
    let packages: Result<BTreeSet<String>> = mutants.iter().map(Mutant::package).collect();
    for package in packages? {
        let what = format!("the tests of {package} without a bug");
        if let Some(by) = shell::step(&what, || {
            bench.failure(&package, &bench.logs.join("sound.log"))
        })? {
            bail!("{by} fails without a bug, so it catches none");
        }
    }
    let mut outcome = Outcome::default();
    for mutant in mutants {
        let what = format!("planting {}", mutant.id);
        match shell::step(&what, || bench.catch(mutant))? {
            Some(by) => {
                println!("mutant {}: caught by {by}", mutant.id);
                outcome.caught += 1;
            }
            None => {
                println!("mutant {}: SURVIVED. {}", mutant.id, mutant.what);
                outcome.survived += 1;
            }
        }
    }
    Ok(outcome)
}

/// The folders that bugs are planted and tested in.
struct Bench {
    tree: PathBuf,
    target: PathBuf,
    /// The folder of the tests' outputs, a file for each bug.
    logs: PathBuf,
}

impl Bench {
    /// Plants a bug, runs the tests, and restores the file. Returns the first test that failed.
    fn catch(&self, mutant: &Mutant) -> Result<Option<String>> {
        let path = self.tree.join(&mutant.file);
        let sound = fs::read_to_string(&path)?;
        fs::write(&path, mutant.planted(&self.tree)?)?;
        let caught = self.test(mutant);
        fs::write(&path, sound)?;
        caught
    }

    fn test(&self, mutant: &Mutant) -> Result<Option<String>> {
        let log = self.logs.join(format!("{}.log", mutant.id));
        for package in [mutant.package()?.as_str(), SCENARIOS] {
            if let Some(by) = self.failure(package, &log)? {
                return Ok(Some(by));
            }
        }
        Ok(None)
    }

    /// Builds and runs a package's tests. Returns the first test that failed.
    fn failure(&self, package: &str, log: &Path) -> Result<Option<String>> {
        for program in self.programs(package)? {
            if let Some(by) = program.failure(log)? {
                return Ok(Some(by));
            }
        }
        Ok(None)
    }

    /// Builds a package's tests.
    fn programs(&self, package: &str) -> Result<Vec<TestProgram>> {
        let mut command = cargo(&self.tree, "test");
        command
            .args(["--package", package, "--target-dir"])
            .arg(&self.target)
            // Incremental, since each bug rebuilds one crate.
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "false");
        test_programs::build(&mut command)
    }
}

impl TestProgram {
    /// Runs the program to its end or to [`LIMIT`]. Returns the first test that failed.
    fn failure(&self, log: &Path) -> Result<Option<String>> {
        let output = File::create(log).with_context(|| format!("making {}", log.display()))?;
        let mut child = Command::new(&self.executable)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            // A run with a planted bug must leave nothing behind.
            .env("PROPTEST_FAILURE_PERSISTENCE", "off")
            .env("INSTA_UPDATE", "no")
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting {}", self.executable.display()))?;
        let Some(status) = ended(&mut child)? else {
            child.kill()?;
            child.wait()?;
            return Ok(Some(format!(
                "tests that did not end, see {}",
                log.display()
            )));
        };
        if status.success() {
            return Ok(None);
        }
        let said = fs::read(log)?;
        let said = String::from_utf8_lossy(&said);
        Ok(Some(
            first_failed(&said).unwrap_or_else(|| format!("{status}")),
        ))
    }
}

fn ended(child: &mut Child) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(None)
}

/// Returns the first test that libtest reports as failed.
fn first_failed(said: &str) -> Option<String> {
    said.lines().find_map(|line| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(name.to_owned())
    })
}

impl Mutant {
    /// Returns the text of the bug's file below `root`, with the bug in it.
    fn planted(&self, root: &Path) -> Result<String> {
        let path = root.join(&self.file);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("reading {}", self.file.display()))?;
        self.planted_in(&text)
    }

    fn planted_in(&self, text: &str) -> Result<String> {
        let file = self.file.display();
        match text.matches(&self.find).count() {
            1 if self.find == self.replace => bail!("it changes nothing"),
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            0 => bail!("its text is not in {file}"),
            often => bail!("its text is {often} times in {file}"),
        }
    }

    /// Returns the package that the bug is planted in.
    fn package(&self) -> Result<String> {
        let folder = self.file.components().nth(1).context("shared/CRATE/…")?;
        Ok(format!("watchscope-{}", folder.as_os_str().display()))
    }
}

/// Copies the checkout's tracked files, as they are now, into `tree`, and removes all other files there. Equal files
/// are not written, so cargo does not build them again.
fn copy(project: &Project, tree: &Path) -> Result<()> {
    let mut git = Command::new("git");
    let tracked = shell::read(git.arg("ls-files").current_dir(&project.root))?;
    let wanted: BTreeSet<PathBuf> = tracked.lines().map(PathBuf::from).collect();
    for file in &wanted {
        let Ok(text) = fs::read(project.root.join(file)) else {
            continue;
        };
        let path = tree.join(file);
        if fs::read(&path).is_ok_and(|there| there == text) {
            continue;
        }
        let folder = path.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    for entry in WalkDir::new(tree) {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type().is_file() && !wanted.contains(path.strip_prefix(tree)?) {
            fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(id: &str) -> Mutant {
        Mutant {
            id: id.to_owned(),
            file: "shared/probe/src/lib.rs".into(),
            what: String::new(),
            find: "a < b".to_owned(),
            replace: "a <= b".to_owned(),
        }
    }

    #[test]
    fn a_bug_is_planted_only_where_its_text_occurs_once() {
        let planted = |text: &str| mutant("probe-01").planted_in(text);
        assert_eq!(planted("if a < b {").unwrap(), "if a <= b {");
        insta::assert_snapshot!(planted("if b < a {").unwrap_err(), @"its text is not in shared/probe/src/lib.rs");
        insta::assert_snapshot!(planted("a < b || a < b").unwrap_err(), @"its text is 2 times in shared/probe/src/lib.rs");
    }

    #[test]
    fn the_first_test_that_failed_is_named() {
        let said = "test a::b ... ok\ntest a::c ... FAILED\ntest a::d ... FAILED\n";
        assert_eq!(first_failed(said).as_deref(), Some("a::c"));
        assert_eq!(first_failed("memory allocation failed"), None);
    }
}
