//! Chromium and its driver, for the tests that look at the page, and Firefox, for the tests of a page in one file.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::setup::{Installs, apt};
use crate::shell;

/// Debian's packages; the font gives text the same width on every machine.
const DEBIAN_PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];

/// A browser that tests can drive.
#[derive(Debug)]
pub(crate) struct Browser {
    /// The path of Chromium or Chrome.
    pub(crate) chrome: PathBuf,
    /// The path of the chromedriver that fits it.
    pub(crate) chromedriver: PathBuf,
}

/// Finds a browser (`CHROME`, `CHROMEDRIVER`, then `PATH`). If there is none, installs one as root on a Debian-like
/// system.
/// `None` if that fails too.
pub(crate) fn ensure(installs: Installs) -> Result<Option<Browser>> {
    if let Some(browser) = find()? {
        return Ok(Some(browser));
    }
    apt::install(installs, &DEBIAN_PACKAGES);
    find()
}

/// Finds Firefox (`FIREFOX`, then `PATH`), or installs it as [`ensure()`] does Chromium. It needs no driver.
pub(crate) fn ensure_firefox(installs: Installs) -> Result<Option<PathBuf>> {
    let find = || program("FIREFOX", &["firefox-esr", "firefox"]);
    if let Some(firefox) = find()? {
        return Ok(Some(firefox));
    }
    apt::install(installs, &["firefox-esr"]);
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
