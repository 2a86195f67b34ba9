//! Chromium and its driver, for the tests that look at the page.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::setup::Installs;
use crate::shell;

/// Debian's packages; the font is there so that text has the same width everywhere.
const DEBIAN_PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];

/// A browser that tests can drive.
#[derive(Debug)]
pub(crate) struct Browser {
    /// Chromium or Chrome.
    pub(crate) chrome: PathBuf,
    /// The chromedriver that fits it.
    pub(crate) chromedriver: PathBuf,
}

/// Looks for a browser (`CHROME`, `CHROMEDRIVER`, then `PATH`) and, as root on a Debian-like
/// system, installs one. None when there is none and none could be had.
pub(crate) fn ensure(installs: Installs) -> Result<Option<Browser>> {
    if let Some(browser) = find()? {
        return Ok(Some(browser));
    }
    if installs == Installs::Allowed && may_use_apt() {
        let install = || {
            let mut command = Command::new("apt-get");
            command
                .args(["install", "--yes", "--no-install-recommends"])
                .args(DEBIAN_PACKAGES)
                .env("DEBIAN_FRONTEND", "noninteractive");
            shell::run(&mut command)
        };
        let what = format!("installing {} with apt-get", DEBIAN_PACKAGES.join(", "));
        let outcome = shell::step(&what, || {
            // A machine without package lists fails at once; fetch them and try again.
            install().or_else(|_| {
                shell::run(Command::new("apt-get").arg("update"))?;
                install()
            })
        });
        if let Err(error) = outcome {
            eprintln!("  no browser: {error:#}");
        }
    }
    find()
}

fn find() -> Result<Option<Browser>> {
    let chrome = program(
        "CHROME",
        &[
            "chromium",
            "chromium-browser",
            "google-chrome",
            "google-chrome-stable",
        ],
    )?;
    let chromedriver = program("CHROMEDRIVER", &["chromedriver"])?;
    Ok(chrome
        .zip(chromedriver)
        .map(|(chrome, chromedriver)| Browser {
            chrome,
            chromedriver,
        }))
}

fn program(variable: &str, names: &[&str]) -> Result<Option<PathBuf>> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else {
        return Ok(names.iter().find_map(|name| shell::on_path(name)));
    };
    ensure!(
        shell::is_program(&path),
        "{variable} is {}, which is no program: unset it, or point it at one",
        path.display()
    );
    Ok(Some(path))
}

fn may_use_apt() -> bool {
    let debian_like = Path::new("/etc/debian_version").exists();
    let root = shell::read(Command::new("id").arg("-u")).is_ok_and(|uid| uid == "0");
    debian_like && root && shell::on_path("apt-get").is_some()
}
