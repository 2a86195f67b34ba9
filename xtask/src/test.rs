//! `test`: builds the page and the binary, runs every test, and sums up the counts of all runners. Under `--long` it
//! plants bugs too.
//!
//! The tests find what they need through the environment: `WATCHSCOPE_TEST_BINARY`, `WATCHSCOPE_TEST_ONE_HIGHER`,
//! `WATCHSCOPE_TEST_FILES`, `WATCHSCOPE_TEST_PACKAGED`, `WATCHSCOPE_TEST_DIGESTS`, `KUBEBUILDER_ASSETS`,
//! `WATCHSCOPE_TEST_HELM`, `WATCHSCOPE_TEST_CONTROLLERS`, `WATCHSCOPE_TEST_PERFETTO`, `WATCHSCOPE_TEST_AXE`, `CHROME`,
//! `CHROMEDRIVER`, `FIREFOX`.
//! A test that lacks something prints `skipped: NAME, install WHAT` on standard error, past libtest's capture, and
//! passes.

mod counts;
mod side_by_side;

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context as _, Result, anyhow, bail};

use self::counts::Counts;
use crate::page::PageProfile;
use crate::project::Project;
use crate::setup::{Installs, axe, browser, kube, perfetto, shells};
use crate::{bench, build, dist, mutate, package, page, shell};

/// The program with the versions of protocol and files raised by one, and the feature of the tests that raises them.
const LATER: &str = "one-higher";
/// Random cases of each property under `--long`. Otherwise each test sets its own number.
const LONG_CASES: &str = "10000";

/// Runs all tests. The last line of output is `N passed, N failed, N skipped`, also when tests fail.
pub(crate) fn test(project: &Project, installs: Installs, long: bool) -> Result<ExitCode> {
    let start = Instant::now();
    // The page is built beside the tests: it uses one core for most of the time, and no test needs it to be compiled.
    let (programs, digests, later) = thread::scope(|scope| {
        let programs = scope.spawn(|| programs(project, installs, long));
        let page = scope.spawn(|| page_and_digests(project, installs, long));
        let tests = shell::step("building the tests", || {
            let mut command = project.cargo_on("build", project.host_packages());
            shell::run(command.arg("--tests"))
        });
        let later = tests.and_then(|()| later_program(project));
        (programs.join(), page.join(), later)
    });
    let programs = programs.map_err(|_| anyhow!("building the programs panicked"))??;
    let digests = digests.map_err(|_| anyhow!("building the page panicked"))??;
    let later = later?;
    let binary = build::binary_of_tests(project)?;
    let files = dist::of_tests(project, &binary)?;
    // Every dependency is compiled again, so only the long tests include it.
    let packaged = long
        .then(|| package::install_elsewhere(project))
        .transpose()?;
    let browser = browser::ensure(installs)?;
    if browser.is_none() {
        eprintln!("  no Chromium with chromedriver; the tests of the page are skipped");
    }
    let firefox = browser::ensure_firefox(installs)?;
    if firefox.is_none() {
        eprintln!("  no Firefox; the test of a page in one file is skipped there");
    }
    let shells = shells::missing(installs);
    if !shells.is_empty() {
        eprintln!("  no {}; their completion is not tested", shells.join(", "));
    }
    let mut variables: Vec<(&str, OsString)> = vec![
        ("WATCHSCOPE_TEST_BINARY", binary.into()),
        ("WATCHSCOPE_TEST_ONE_HIGHER", later.into()),
    ];
    variables.extend(files.map(|folder| ("WATCHSCOPE_TEST_FILES", folder.into())));
    variables.extend(packaged.map(|program| ("WATCHSCOPE_TEST_PACKAGED", program.into())));
    variables.extend(digests.map(|folder| ("WATCHSCOPE_TEST_DIGESTS", folder.into())));
    variables.extend(programs);
    if let Some(browser) = browser {
        variables.push(("CHROME", browser.chrome.into()));
        variables.push(("CHROMEDRIVER", browser.chromedriver.into()));
    }
    variables.extend(firefox.map(|firefox| ("FIREFOX", firefox.into())));
    if shell::on_ci() && std::env::var_os("WATCHSCOPE_TEST_PATIENCE").is_none() {
        // Such machines are shared and slow. Patience costs time only where a test fails.
        variables.push(("WATCHSCOPE_TEST_PATIENCE", "4".into()));
    }
    if long {
        variables.push(("PROPTEST_CASES", LONG_CASES.into()));
    }
    eprintln!("» running the tests");
    let mut counts = side_by_side::run(project, &variables, long)?;
    let mut examples = project.cargo("test");
    examples.arg("--doc").envs(variables);
    counts.add(counted(&mut examples)?);
    let mut counts = counts.settled();
    if long {
        let planted = mutate::run(project, &mutate::list(project)?)?;
        counts.passed += planted.caught;
        counts.failed += planted.survived;
    }

    let seconds = start.elapsed().as_secs();
    eprintln!(
        "  tests: done in {} min {:02} s, builds included",
        seconds / 60,
        seconds % 60
    );
    if counts.long > 0 {
        eprintln!("  {} long tests were not asked for (--long)", counts.long);
    }
    if long {
        write_report(project, &counts, seconds)?;
    }
    let skips_fail = shell::on_ci() && counts.skipped > 0;
    if skips_fail {
        eprintln!("error: with CI=true no test may be skipped");
    }
    println!("{counts}");
    std::io::stdout().flush()?;
    Ok(if counts.failed > 0 || skips_fail {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns the programs built from Go modules and the packages of Python and npm, each with the variable by which tests find
/// it. A missing one is named and left out. Only long tests use the controllers, which take longest to build.
fn programs(
    project: &Project,
    installs: Installs,
    long: bool,
) -> Result<Vec<(&'static str, OsString)>> {
    let mut programs = vec![
        (
            "KUBEBUILDER_ASSETS",
            "kube-apiserver; its tests are",
            kube::ensure_assets(project)?,
        ),
        (
            "WATCHSCOPE_TEST_INFORMER",
            "informer of client-go; its test is",
            kube::ensure_informer(project)?,
        ),
        (
            "WATCHSCOPE_TEST_HELM",
            "helm; the tests of the chart are",
            kube::ensure_helm(project)?,
        ),
        (
            "WATCHSCOPE_TEST_PERFETTO",
            "package perfetto of Python; its test is",
            perfetto::ensure(project, installs)?,
        ),
        (
            "WATCHSCOPE_TEST_AXE",
            "axe-core; its test is",
            axe::ensure(project, installs)?,
        ),
    ];
    if long {
        programs.push((
            "WATCHSCOPE_TEST_CONTROLLERS",
            "kube-controller-manager; its test is",
            kube::ensure_controllers(project)?,
        ));
    }
    let mut found = Vec::new();
    for (variable, what, program) in programs {
        match program {
            Ok(path) => found.push((variable, path.into())),
            Err(wanted) => eprintln!("  no {what} skipped unless you install {wanted}"),
        }
    }
    Ok(found)
}

/// Builds the program that stands for a later watchscope, and returns its path. It selects the packages of the tests, as
/// [`build::binary_of_tests`] does, so that only our own crates are compiled a second time.
fn later_program(project: &Project) -> Result<PathBuf> {
    let mut command = project.cargo_on("build", project.host_packages());
    command.args(["--bin", LATER, "--features"]);
    command.arg(format!("watchscope-tests/{LATER}"));
    shell::step("building a later watchscope", || shell::run(&mut command))?;
    let name = format!("{LATER}{}", std::env::consts::EXE_SUFFIX);
    Ok(project.target().join("debug").join(name))
}

/// Builds the page. Under `--long` it also builds the module with which a browser digests all stories, and returns its
/// folder.
fn page_and_digests(project: &Project, installs: Installs, long: bool) -> Result<Option<PathBuf>> {
    if long {
        // Nothing else builds the page with this profile, and the cut into parts depends on how the page is compiled.
        page::build(project, installs, PageProfile::Dev)?;
    }
    page::build(project, installs, PageProfile::Release)?;
    if long {
        return Ok(Some(page::build_digests(project, installs)?));
    }
    Ok(None)
}

/// Runs a command of tests, passes its output on, and returns the counts.
fn counted(command: &mut Command) -> Result<Counts> {
    let line = shell::command_line(command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting `{line}`"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = stdout.zip(stderr).context("both outputs are piped")?;
    let from_stderr = thread::Builder::new()
        .name("standard error".to_owned())
        .spawn(move || pass_on(stderr, std::io::stderr()))?;
    let mut counts = pass_on(stdout, std::io::stdout())?;
    match from_stderr.join() {
        Ok(counted) => counts.add(counted?),
        Err(_) => bail!("reading what `{line}` wrote failed"),
    }
    Ok(counts.ended(child.wait()?))
}

/// Copies line by line and counts the results in the lines.
fn pass_on(from: impl Read, mut to: impl Write) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        counts.read_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    to.flush()?;
    Ok(counts)
}

/// Writes the record of a long run, to be committed.
fn write_report(project: &Project, counts: &Counts, seconds: u64) -> Result<()> {
    let folder = project.root.join("docs");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join("long-test.md");
    let text = format!(
        "# The long tests\n\nWritten by `cargo xtask test --long`: each property with {LONG_CASES} random cases, and the tests that take virtual days.\n\n{}\n\n{counts}, in {} min {:02} s, builds included.\n",
        bench::machine(project)?,
        seconds / 60,
        seconds % 60,
    );
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    eprintln!("  report written to {}", path.display());
    Ok(())
}
