//! Processes of other programs: servers that live as long as their value, and commands that run to their end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncWriteExt as _;

use crate::{eventually, lifeline, patient};

/// The most lines of a program's standard error that an error repeats; earlier lines are left out.
const LAST_LINES: usize = 20;

/// A running server. Its outputs go to files in its folder, so it never blocks on a full pipe, and they can be read at
/// any time. Dropping it kills it; so does the death of the test binary.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    ended: Option<ExitStatus>,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Process {
    /// Starts a command. `name` names its output files in the folder; a later process of the same name overwrites them.
    pub fn start(name: &str, command: Command, folder: &Path) -> Result<Self> {
        let stdout = File::create(folder.join(format!("{name}.stdout")))?;
        Self::start_into(name, command, folder, stdout.into())
    }

    /// Like [`Self::start`], with its standard output elsewhere.
    pub fn start_into(
        name: &str,
        mut command: Command,
        folder: &Path,
        into: Stdio,
    ) -> Result<Self> {
        let (stdout, stderr) = (
            folder.join(format!("{name}.stdout")),
            folder.join(format!("{name}.stderr")),
        );
        let child = command
            .stdin(Stdio::null())
            .stdout(into)
            .stderr(File::create(&stderr)?)
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        lifeline::started(child.id());
        Ok(Self {
            name: name.to_owned(),
            child,
            ended: None,
            stdout,
            stderr,
        })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        read_lossy(&self.stdout)
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        read_lossy(&self.stderr)
    }

    /// Returns how the process ended; `None` while it runs.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
            if self.ended.is_some() {
                lifeline::ended(self.child.id());
            }
        }
        Ok(self.ended)
    }

    /// Returns an error with the last lines of standard error if the process has ended.
    pub fn still_runs(&mut self) -> Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!(
                "{} ended with {status}; its last words:\n{}",
                self.name,
                last_lines(&self.stderr())
            ),
        }
    }

    /// Looks until a look succeeds, like [`eventually()`], but fails as soon as the process has ended.
    pub async fn until<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut look: impl AsyncFnMut(&Self) -> Result<T>,
    ) -> Result<T> {
        // The outer result ends the waiting; the inner one is its outcome.
        eventually(what, within, async || {
            if let Err(dead) = self.still_runs() {
                // The process may have ended right after it did what the caller looks for.
                return Ok(look(self).await.map_err(|_| dead));
            }
            look(self).await.map(Ok)
        })
        .await?
    }

    /// Sends a signal; fails if the process has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        self.still_runs()?;
        let pid = i32::try_from(self.child.id()).context("a process id fits i32")?;
        let pid = Pid::from_raw(pid).context("a process id is not 0")?;
        kill_process(pid, signal).with_context(|| format!("signalling {}", self.name))
    }

    /// Waits until the process ends by itself, at most `within`; fails after that.
    pub async fn end(&mut self, within: Duration) -> Result<ExitStatus> {
        let what = format!("{} ends", self.name);
        eventually(&what, within, async || {
            self.ended()?.context("it still runs")
        })
        .await
    }

    /// Kills the process (SIGKILL) and waits until it is gone. Does nothing if it has ended.
    pub fn kill(&mut self) -> Result<()> {
        if self.ended()?.is_none() {
            self.child.kill()?;
            self.ended = Some(self.child.wait()?);
            lifeline::ended(self.child.id());
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A command that has run to its end.
#[derive(Debug)]
pub struct Finished {
    /// The command as a person would type it.
    pub line: String,
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
}

impl Finished {
    /// Returns its standard output, or an error with the last lines of standard error if it did not end with 0.
    pub fn success(self) -> Result<String> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(anyhow!(
            "`{}` ended with {}; its last words:\n{}",
            self.line,
            self.status,
            last_lines(&self.stderr)
        ))
    }

    /// The exit code; `None` after a signal.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Runs a command to its end, with `input` on its standard input. After `within` it is killed, and that is an error.
pub async fn finish(command: Command, input: &[u8], within: Duration) -> Result<Finished> {
    let line = command_line(&command);
    let within = patient(within);
    let mut child = tokio::process::Command::from(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("starting `{line}`"))?;
    let mut stdin = child.stdin.take().context("standard input is piped")?;
    let feed = async {
        // A command that does not read its input closes it; that is no error.
        let _ = stdin.write_all(input).await;
        drop(stdin);
    };
    let both = async { tokio::join!(feed, child.wait_with_output()).1 };
    let output = tokio::time::timeout(within, both)
        .await
        .with_context(|| format!("`{line}` did not end within {within:?}"))??;
    Ok(Finished {
        line,
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words: Vec<_> = [program]
        .into_iter()
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    words.join(" ")
}

fn read_lossy(path: &Path) -> String {
    fs::read(path).map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

/// Returns the last [`LAST_LINES`] lines of a text.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
