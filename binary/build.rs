//! Copies the built page to `$OUT_DIR/ui`, where it is embedded: from `ui/`, which a package has, else from `../dist/`. If
//! there is none, a release build ends with the way to build it. Any other build gets a stub that says so (cfg `ui_stub`):
//! tests and checks need no page.
//!
//! It copies the compressed form of each file alone, so the program holds the page once.
//!
//! It also passes the commit on to the program: git's, else that of the file which cargo writes into a package, else none.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The folders where a page may lie, the first one before the others.
const PAGES: [&str; 2] = ["ui", "../dist"];

const STUB: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>watchscope</title>\
    <link rel=\"icon\" href=\"data:,\"></head>\n<body>\n<p>This watchscope was built without its page. \
    Build it with <code>cargo xtask build</code>.</p>\n</body>\n</html>\n";

const NO_PAGE: &str = "dist/ holds no page: build it and install the program with `cargo xtask install`, \
    or `cargo xtask build --release`";

fn main() -> io::Result<()> {
    println!("cargo::rustc-check-cfg=cfg(ui_stub)");
    println!("cargo::rerun-if-changed=build.rs");
    // A path that does not exist would run this script at each build. Git keeps both folders; a package has the first alone.
    for folder in PAGES {
        if Path::new(folder).is_dir() {
            println!("cargo::rerun-if-changed={folder}");
        }
    }
    if let Some(commit) = commit_of_git().or_else(commit_of_package) {
        println!("cargo::rustc-env=WATCHSCOPE_COMMIT={commit}");
    }
    let ui = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?).join("ui");
    if ui.exists() {
        fs::remove_dir_all(&ui)?;
    }
    fs::create_dir_all(&ui)?;
    if let Some(page) = PAGES
        .map(Path::new)
        .into_iter()
        .find(|folder| is_page(folder))
    {
        copy_folder(page, &ui)
    } else {
        if env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
            // cargo prints the line, and ends the build.
            println!("cargo::error={NO_PAGE}");
            return Ok(());
        }
        println!("cargo::rustc-cfg=ui_stub");
        fs::write(ui.join("index.html"), STUB)
    }
}

/// Whether a folder has the file with which a browser starts.
fn is_page(folder: &Path) -> bool {
    let has = |name| folder.join(name).is_file();
    has("index.html.gz") || has("index.html")
}

/// Returns the commit of the checkout. `None` without git, or if a repository holds this folder but not this file: then it is
/// another project's repository, such as that of a home folder.
fn commit_of_git() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log of HEAD grows with each commit and each checkout. Git may keep none; then HEAD shows at least the latter.
    for name in ["logs/HEAD", "HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).is_file() {
            println!("cargo::rerun-if-changed={path}");
            break;
        }
    }
    git(&["rev-parse", "HEAD"]).filter(|text| is_commit(text))
}

/// Returns the commit that cargo noted as it made the package: `{"git": {"sha1": "…"}, …}`.
fn commit_of_package() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    is_commit(commit).then(|| commit.to_owned())
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let mut compressed = name.clone();
        compressed.push(".gz");
        if from.join(compressed).is_file() {
            continue;
        }
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
