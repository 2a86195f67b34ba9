//! Copies the built page from `dist/` to `$OUT_DIR/ui`, where it is embedded. If there is none, a release build ends with the
//! way to build it. Any other build gets a stub that says so (cfg `ui_stub`): tests and checks need no page.
//!
//! It also passes the commit on to the program: git's, else that of the file which cargo writes into a package, else none.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const STUB: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>watchscope</title>\
    <link rel=\"icon\" href=\"data:,\"></head>\n<body>\n<p>This watchscope was built without its page. \
    Build it with <code>cargo xtask build</code>.</p>\n</body>\n</html>\n";

const NO_PAGE: &str = "dist/ holds no page: build it and install the program with `cargo xtask install`, \
    or `cargo xtask build --release`";

fn main() -> io::Result<()> {
    println!("cargo::rustc-check-cfg=cfg(ui_stub)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../dist");
    if let Some(commit) = commit_of_git().or_else(commit_of_package) {
        println!("cargo::rustc-env=WATCHSCOPE_COMMIT={commit}");
    }
    let dist = Path::new("../dist");
    let ui = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?).join("ui");
    if ui.exists() {
        fs::remove_dir_all(&ui)?;
    }
    fs::create_dir_all(&ui)?;
    if dist.join("index.html").is_file() {
        copy_folder(dist, &ui)
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
