//! `build`, `install` and `demo`: build the page, then the binary that carries it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::page::{self, PageProfile};
use crate::project::Project;
use crate::setup::{Installs, targets};
use crate::shell;

/// The option of `cargo install` that takes the versions of Cargo.lock.
const LOCKED: &str = "--locked";
/// The folder of the program's package.
const PROGRAM: &str = "binary";

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
    build_page(project, installs, PageProfile::Release, release, target)?;
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
    build_page(project, installs, profile, false, None)?;
    let binary = binary(project, false, None)?;
    become_command(Command::new(binary).arg("demo").args(arguments))
}

/// Builds the page, and installs the program with it where `cargo install` puts programs.
pub(crate) fn install(project: &Project, installs: Installs, arguments: &[String]) -> Result<()> {
    build_page(project, installs, PageProfile::Release, true, None)?;
    let mut command = project.cargo("install");
    command.args(install_arguments(arguments));
    shell::step("installing watchscope", || shell::run(&mut command))
}

/// Returns the arguments of `cargo install`: our package, with the versions of Cargo.lock, then those of the person. cargo
/// refuses `--locked` twice.
fn install_arguments(persons: &[String]) -> Vec<&str> {
    let persons = persons.iter().map(String::as_str);
    let persons = persons.filter(|argument| *argument != LOCKED);
    ["--path", PROGRAM, LOCKED]
        .into_iter()
        .chain(persons)
        .collect()
}

/// Builds the page, and beside it what the program needs of crates. The last steps of the page use one core, so a first
/// `cargo xtask demo` on two cores ends sooner.
///
/// Errors of the crates are not shown here: the build of the program, which must follow, shows them.
fn build_page(
    project: &Project,
    installs: Installs,
    profile: PageProfile,
    release: bool,
    target: Option<&str>,
) -> Result<()> {
    let mut crates = project.cargo("build");
    crates.args(["--quiet", "--package", "watchscope", "--lib"]);
    crates.args(release.then_some("--release"));
    if let Some(target) = target {
        crates.args(["--target", target]);
    }
    crates.stdout(Stdio::null()).stderr(Stdio::null());
    let line = shell::command_line(&crates);
    let mut crates = crates
        .spawn()
        .with_context(|| format!("starting `{line}`"))?;
    let page = page::build(project, installs, profile);
    if page.is_err() {
        let _ = crates.kill();
    }
    crates
        .wait()
        .with_context(|| format!("waiting for `{line}`"))?;
    page
}

/// Returns the folder in which a package carries the page. `binary/build.rs` looks for the page there first.
pub(crate) fn carried_page(project: &Project) -> PathBuf {
    project.root.join(PROGRAM).join("ui")
}

/// Removes the page from a folder. The file stays through which Git keeps the folder.
pub(crate) fn clear(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name != page::KEPT) {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Builds the binary with the page that lies in dist/. Returns its path.
pub(crate) fn binary(project: &Project, release: bool, target: Option<&str>) -> Result<PathBuf> {
    clear(&carried_page(project))?;
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
    clear(&carried_page(project))?;
    let mut command = project.cargo_on("build", project.host_packages());
    command.args(["--tests", "--bin", "watchscope"]);
    shell::step("building watchscope", || shell::run(&mut command))?;
    Ok(program_in(project.target().join("debug")))
}

/// Returns the program's path in a folder of cargo's output.
pub(crate) fn program_in(folder: PathBuf) -> PathBuf {
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

#[cfg(test)]
mod tests {
    use std::process::Output;

    use super::*;

    fn root() -> &'static Path {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        root.expect("xtask lies in a folder of the workspace")
    }

    #[test]
    fn what_is_installed_is_the_program_of_this_workspace() {
        let manifest = fs::read_to_string(root().join(PROGRAM).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        assert_eq!(manifest["bin"][0]["name"].as_str(), Some("watchscope"));
        assert!(root().join("Cargo.lock").is_file());
    }

    #[test]
    fn cargo_gets_an_option_once_that_the_person_gives_too() {
        let persons = ["--root", "/opt", "--locked"].map(str::to_owned);
        assert_eq!(
            install_arguments(&persons),
            ["--path", "binary", "--locked", "--root", "/opt"]
        );
    }

    /// Compiles the build script of the program as cargo does, without cargo.
    fn build_script(folder: &Path) -> PathBuf {
        let script = folder.join("build-script");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut command = Command::new(rustc);
        command
            .args(["--edition", "2024", "--crate-name", "build_script", "-o"])
            .arg(&script)
            .arg(root().join("binary/build.rs"));
        shell::run(&mut command).unwrap();
        script
    }

    /// Runs the build script in `folder/package`, so that `folder/dist` is the page.
    fn run(script: &Path, folder: &Path, profile: &str) -> Output {
        let package = folder.join("package");
        fs::create_dir_all(&package).unwrap();
        let mut command = Command::new(script);
        command.current_dir(package).env("PROFILE", profile);
        command.env("OUT_DIR", folder).output().unwrap()
    }

    #[test]
    fn without_a_page_only_a_debug_build_gets_a_stub() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let script = build_script(folder);
        let embedded = folder.join("ui/index.html");
        let is_stub = |output: &Output| {
            let said = String::from_utf8_lossy(&output.stdout);
            said.lines().any(|line| line == "cargo::rustc-cfg=ui_stub")
        };

        let debug = run(&script, folder, "debug");
        assert!(debug.status.success() && is_stub(&debug), "{debug:?}");
        assert!(embedded.is_file());

        let release = run(&script, folder, "release");
        let said = String::from_utf8_lossy(&release.stdout);
        assert!(!is_stub(&release) && !embedded.exists(), "{said}");
        let line = said.lines().find(|line| line.starts_with("cargo::error="));
        insta::assert_snapshot!(line.unwrap(), @"cargo::error=dist/ holds no page: build it and install the program with `cargo xtask install`, or `cargo xtask build --release`");

        fs::create_dir(folder.join("dist")).unwrap();
        fs::write(folder.join("dist/index.html"), "the page").unwrap();
        let release = run(&script, folder, "release");
        assert!(
            release.status.success() && !is_stub(&release),
            "{release:?}"
        );
        assert_eq!(fs::read_to_string(embedded).unwrap(), "the page");
    }

    #[test]
    fn the_page_of_a_package_goes_before_that_of_dist_and_each_file_is_embedded_once() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let script = build_script(folder);
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (name, text) in [
            ("dist/index.html", "plain"),
            ("dist/index.html.gz", "compressed"),
            ("dist/.gitignore", "*"),
            ("package/ui/.gitignore", "*"),
        ] {
            write(name, text);
        }
        let embedded = |profile| {
            assert!(run(&script, folder, profile).status.success());
            let entries = fs::read_dir(folder.join("ui")).unwrap();
            let read = |path: PathBuf| fs::read_to_string(path).unwrap();
            let entries = entries.map(|entry| entry.unwrap());
            let entries = entries.map(|entry| (entry.file_name(), read(entry.path())));
            entries.collect::<Vec<_>>()
        };
        let one = |text: &str| vec![("index.html.gz".into(), text.to_owned())];
        assert_eq!(embedded("release"), one("compressed"));
        write("package/ui/index.html.gz", "of the package");
        assert_eq!(embedded("release"), one("of the package"));
    }
}
