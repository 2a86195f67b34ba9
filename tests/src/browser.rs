//! Chromium as a visitor of the page, driven through chromedriver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use thirtyfour::{
    ChromiumLikeCapabilities as _, DesiredCapabilities, LoggingPrefsLogLevel, WebDriver,
};

use crate::{Missing, Process, lifeline};

/// How often chromedriver is started before its ports are given up.
const DRIVER_ATTEMPTS: u32 = 5;
/// How long chromedriver may take to listen.
const START: Duration = Duration::from_secs(20);

/// How often, and after which pause, the folder of a killed Chromium is removed again.
const REMOVALS: usize = 50;
const BETWEEN_REMOVALS: Duration = Duration::from_millis(20);

/// Headless, and quiet on the network. As root Chromium refuses without `--no-sandbox`; without
/// `--disable-gpu` a machine that has none draws several times slower.
pub(crate) const FLAGS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1000",
];

/// A browser that can be driven.
#[derive(Clone, Debug)]
pub struct BrowserTools {
    chrome: PathBuf,
    chromedriver: PathBuf,
}

impl BrowserTools {
    /// `CHROME` and `CHROMEDRIVER`, or what is on `PATH`.
    pub fn find() -> Result<Self, Missing> {
        let chrome = program("CHROME", &["chromium", "chromium-browser", "google-chrome"]);
        let chromedriver = program("CHROMEDRIVER", &["chromedriver"]);
        match (chrome, chromedriver) {
            (Some(chrome), Some(chromedriver)) => Ok(Self {
                chrome,
                chromedriver,
            }),
            _ => Err(Missing {
                what: "Chromium with chromedriver".to_owned(),
                install: "chromium and chromium-driver, or set CHROME and CHROMEDRIVER".to_owned(),
            }),
        }
    }
}

pub(crate) fn program(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(PathBuf::from(path)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    names.iter().find_map(|name| {
        std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|program| program.is_file())
    })
}

/// A browser with a profile of its own; it closes when this is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: WebDriver,
    chrome_pid: u32,
    chromedriver: Process,
    folder: TempDir,
}

impl Browser {
    /// Starts chromedriver on a free port, and Chromium with an empty window of 1600 by 857 pixels.
    pub async fn start(tools: &BrowserTools) -> Result<Self> {
        Self::start_with(tools, &[]).await
    }

    /// The same with further flags for Chromium; `--window-size=…` wins over the harness's own.
    pub async fn start_with(tools: &BrowserTools, flags: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir().context("making the browser's folder")?;
        let (chromedriver, port) = start_driver(tools, folder.path()).await?;

        let mut capabilities = DesiredCapabilities::chrome();
        let chrome = tools.chrome.to_str().context("Chromium's path is UTF-8")?;
        capabilities.set_binary(chrome)?;
        let profile = folder.path().join("profile");
        capabilities.add_arg(&format!("--user-data-dir={}", profile.display()))?;
        for flag in FLAGS.iter().chain(flags) {
            capabilities.add_arg(flag)?;
        }
        capabilities.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        let downloads = folder.path().join("downloads");
        std::fs::create_dir(&downloads)?;
        capabilities.add_experimental_option(
            "prefs",
            serde_json::json!({"download.default_directory": downloads}),
        )?;
        let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities)
            .await
            .context("starting Chromium")?;
        let chrome_pid = driver
            .handle()
            .capabilities()
            .get("goog:processID")
            .and_then(serde_json::Value::as_u64)
            .and_then(|pid| u32::try_from(pid).ok())
            .context("chromedriver does not say which process Chromium is")?;
        lifeline::started(chrome_pid);
        Ok(Self {
            driver,
            chrome_pid,
            chromedriver,
            folder,
        })
    }

    /// The WebDriver session, for everything a visitor does.
    #[must_use]
    pub fn driver(&self) -> &WebDriver {
        &self.driver
    }

    /// What the console has got since the last call, from all tabs: `SEVERE: URL LINE:COLUMN TEXT`.
    pub async fn console(&self) -> Result<Vec<String>> {
        let entries = self.driver.get_log("browser").await?;
        Ok(entries
            .into_iter()
            .map(|entry| format!("{}: {}", entry.level, entry.message))
            .collect())
    }

    /// An error if the console has got a warning or an error since the last look at it.
    pub async fn console_is_quiet(&self) -> Result<()> {
        let mut lines = self.console().await?;
        lines.retain(|line| line.starts_with("SEVERE: ") || line.starts_with("WARNING: "));
        if !lines.is_empty() {
            bail!("the browser's console says:\n{}", lines.join("\n"));
        }
        Ok(())
    }

    /// Keeps a picture of the window as `test-pictures/NAME.png` in cargo's target folder.
    pub async fn picture(&self, name: &str) -> Result<PathBuf> {
        let folder = target_folder()?.join("test-pictures");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{name}.png"));
        self.driver.screenshot(&path).await?;
        Ok(path)
    }

    /// Where what the page saves is put.
    #[must_use]
    pub fn downloads(&self) -> PathBuf {
        self.folder.path().join("downloads")
    }
}

impl Drop for Browser {
    /// Kills both instead of asking: an orderly end waits for Chromium, which may wait for the page.
    fn drop(&mut self) {
        // Without this the session's own drop would ask the dead chromedriver to close it.
        let _ = self.driver.clone().leak();
        let _ = self.chromedriver.kill();
        if let Some(pid) = i32::try_from(self.chrome_pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        lifeline::ended(self.chrome_pid);
        // Chromium's other processes notice its death by themselves, and may still be writing.
        for _ in 0..REMOVALS {
            if std::fs::remove_dir_all(self.folder.path()).is_ok() {
                break;
            }
            std::thread::sleep(BETWEEN_REMOVALS);
        }
    }
}

/// Starts chromedriver; also the port it listens on.
///
/// It takes a free port of IPv6 and then the same of IPv4, which another program may have: it ends then, and is started
/// again.
async fn start_driver(tools: &BrowserTools, folder: &Path) -> Result<(Process, u16)> {
    for _ in 0..DRIVER_ATTEMPTS {
        let mut command = Command::new(&tools.chromedriver);
        command
            .arg("--port=0")
            .env("HOME", folder)
            .env("TMPDIR", folder);
        let mut chromedriver = Process::start("chromedriver", command, folder)?;
        let listens = chromedriver
            .until("chromedriver listens", START, async |chromedriver| {
                listening_port(&chromedriver.stdout()).context("it has not said its port")
            })
            .await;
        match listens {
            Ok(port) => return Ok((chromedriver, port)),
            Err(error) if format!("{error:#}").contains("Address already in use") => {}
            Err(error) => return Err(error),
        }
    }
    bail!("chromedriver found no free port {DRIVER_ATTEMPTS} times")
}

/// `ChromeDriver was started successfully on port 34567.`
fn listening_port(stdout: &str) -> Option<u16> {
    let (_, after) = stdout.split_once("started successfully on port ")?;
    after.split_once('.')?.0.parse().ok()
}

/// Cargo marks its target folder; this program lies below it.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
        .map(Path::to_owned)
        .context("this program lies in no target folder of cargo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_once_the_line_is_whole() {
        let line =
            "Starting ChromeDriver 156\nChromeDriver was started successfully on port 34567.\n";
        assert_eq!(listening_port(line), Some(34567));
        assert_eq!(listening_port(&line[..line.len() - 4]), None);
    }
}
