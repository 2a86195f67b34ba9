//! watchscope as its users run it: a process with arguments, two outputs and an exit code.

use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeReader, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use tempfile::TempDir;

use crate::{Finished, Missing, Process, finish, patient};

/// How long a server may take to print its link; after it [`Launch::serve`] fails.
const START: Duration = Duration::from_secs(20);

/// The program under test.
#[derive(Clone, Debug)]
pub struct WatchscopeBinary {
    path: PathBuf,
}

impl WatchscopeBinary {
    /// Finds `WATCHSCOPE_TEST_BINARY`, or the program that cargo built beside this test.
    pub fn find() -> Result<Self, Missing> {
        let set = std::env::var_os("WATCHSCOPE_TEST_BINARY").map(PathBuf::from);
        let beside = || {
            let program = std::env::current_exe().ok()?;
            let name = format!("watchscope{}", std::env::consts::EXE_SUFFIX);
            let mut folders = program.ancestors().skip(1).take(2);
            folders.find_map(|folder| Some(folder.join(&name)).filter(|path| path.is_file()))
        };
        set.or_else(beside)
            .filter(|path| path.is_file())
            .map(|path| Self { path })
            .ok_or_else(|| Missing {
                what: "watchscope".to_owned(),
                install: "it with `cargo build --package watchscope`, or run `cargo xtask test`"
                    .to_owned(),
            })
    }

    /// The program at a path of the caller's choice.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// The path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Prepares a run with these arguments. Unless they turn it on, no watch is audited: stories count requests and
    /// connections, and those of an audit would come at their own times.
    #[must_use]
    pub fn with(&self, arguments: &[&str]) -> Launch {
        Launch {
            program: self.path.clone(),
            arguments: arguments.iter().map(OsString::from).collect(),
            environment: vec![("WATCHSCOPE_AUDIT".into(), "off".into())],
        }
    }
}

/// A run of watchscope before it starts. It sees none of this machine's own configuration: no kubeconfig, no
/// `WATCHSCOPE_…`, and a home folder of its own.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Launch {
    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets `KUBECONFIG` to this kubeconfig.
    #[must_use]
    pub fn kubeconfig(self, path: &Path) -> Self {
        self.env("KUBECONFIG", path)
    }

    /// Runs it to its end; after `within` it is killed, and that is an error.
    pub async fn run(self, within: Duration) -> Result<Finished> {
        let home = tempfile::tempdir()?;
        finish(self.command(home.path()), b"", within).await
    }

    /// Runs it to its end with a terminal as its standard output, and returns the text that the terminal got.
    pub async fn run_on_terminal(self, within: Duration) -> Result<String> {
        let home = tempfile::tempdir()?;
        let (ours, theirs) = terminal()?;
        let mut command = self.command(home.path());
        command.stdout(theirs).stdin(Stdio::null());
        let mut process = tokio::process::Command::from(command);
        let mut child = process.kill_on_drop(true).spawn()?;
        // Closes the command's copy of the terminal. Once the program's own copy is closed too, reading ends with an
        // error.
        drop(process);
        let reading = tokio::task::spawn_blocking(move || {
            let mut text = Vec::new();
            let _ = (&ours).read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        tokio::time::timeout(patient(within), child.wait())
            .await
            .context("it did not end in time")??;
        Ok(reading.await?)
    }

    /// Starts it on a terminal: its standard input is what a test types there, and both outputs go there.
    pub fn start_on_terminal(self) -> Result<Terminal> {
        let home = tempfile::tempdir()?;
        let (ours, theirs) = terminal()?;
        let mut command = self.command(home.path());
        command
            .stdin(theirs.try_clone()?)
            .stdout(theirs.try_clone()?)
            .stderr(theirs);
        let child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, kept) = (ours.try_clone()?, Arc::clone(&said));
        // Reading ends with an error once the program and its copies of the terminal are gone.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&bytes[..count]);
            }
        });
        Ok(Terminal {
            keyboard: ours,
            said,
            _child: child,
            _home: home,
        })
    }

    /// Starts it without waiting for its end: `watch` runs on.
    pub fn start(self) -> Result<Watchscope> {
        let home = tempfile::tempdir()?;
        let process = Process::start("watchscope", self.command(home.path()), home.path())?;
        Ok(Watchscope { process, home })
    }

    /// Starts it with a pipe as its standard output whose reader has gone.
    pub fn start_into_closed_pipe(self) -> Result<Watchscope> {
        let home = tempfile::tempdir()?;
        let (reader, writer) = std::io::pipe()?;
        drop(reader);
        let command = self.command(home.path());
        let process = Process::start_into("watchscope", command, home.path(), writer.into())?;
        Ok(Watchscope { process, home })
    }

    /// Starts it with a pipe as its standard output, and returns the end to read from.
    pub fn start_into_pipe(self) -> Result<(Watchscope, PipeReader)> {
        let home = tempfile::tempdir()?;
        let (reader, writer) = std::io::pipe()?;
        let command = self.command(home.path());
        let process = Process::start_into("watchscope", command, home.path(), writer.into())?;
        Ok((Watchscope { process, home }, reader))
    }

    /// Starts it as a server and waits for the line with its link. The server listens on a port of its choice, unless
    /// the test has set `WATCHSCOPE_LISTEN` or the arguments contain `--listen`.
    pub async fn serve(mut self) -> Result<(Watchscope, Link)> {
        self.environment
            .insert(0, ("WATCHSCOPE_LISTEN".into(), "127.0.0.1:0".into()));
        let mut watchscope = self.start()?;
        let link = watchscope
            .process
            .until("watchscope prints its link", START, async |process| {
                let stdout = process.stdout();
                let (link, _) = stdout
                    .split_once('\n')
                    .with_context(|| format!("standard output is {stdout:?}"))?;
                Ok(Link(link.to_owned()))
            })
            .await?;
        ensure!(
            link.0.starts_with("http://") || link.0.starts_with("https://"),
            "the first line of standard output is the link, not {:?}",
            link.0
        );
        Ok((watchscope, link))
    }

    fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(home);
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            let ours = name_text.starts_with("WATCHSCOPE_");
            let cluster = name_text.starts_with("KUBERNETES_") || name_text == "KUBECONFIG";
            if ours || cluster {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home)
            .env("XDG_CONFIG_HOME", home)
            .env("XDG_CACHE_HOME", home)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Opens a terminal and returns its two sides: the test's, and the program's.
fn terminal() -> Result<(File, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let path = PathBuf::from(OsString::from_vec(ptsname(&ours, Vec::new())?.into_bytes()));
    let theirs = File::options().read(true).write(true).open(path)?;
    Ok((File::from(ours), theirs))
}

/// A watchscope on a terminal; it is killed when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    keyboard: File,
    said: Arc<Mutex<Vec<u8>>>,
    // Declared first: the program ends before its folder is deleted.
    _child: tokio::process::Child,
    _home: TempDir,
}

impl Terminal {
    /// The text on the screen so far, including what was typed.
    #[must_use]
    pub fn screen(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Types keys.
    pub fn types(&mut self, keys: &str) -> Result<()> {
        Ok(self.keyboard.write_all(keys.as_bytes())?)
    }
}

/// The line that a server prints: a person opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// The whole line.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Scheme, host and port: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn origin(&self) -> &str {
        let after_scheme = self.0.find("//").map_or(0, |at| at + 2);
        let length = self.0[after_scheme..].find(['/', '#', '?']);
        length.map_or(&self.0, |length| &self.0[..after_scheme + length])
    }

    /// The secret, good for one exchange. `None` if there is none: with in-cluster configuration the server prints no
    /// secret.
    #[must_use]
    pub fn secret(&self) -> Option<&str> {
        self.0.split_once("#t=").map(|(_, secret)| secret)
    }
}

/// A running watchscope; it is killed when this is dropped.
#[derive(Debug)]
pub struct Watchscope {
    // Declared first: the program ends before its folder is deleted.
    process: Process,
    home: TempDir,
}

impl Watchscope {
    /// The folder that is its home, working folder and `XDG_RUNTIME_DIR`.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it has written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.process.stdout()
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// The records of `-o jsonl` so far; an unfinished last line is left out.
    pub fn records(&self) -> Result<Vec<Value>> {
        json_lines(&self.stdout())
    }

    /// Looks until a look succeeds, like [`eventually()`](crate::eventually()), but fails as soon as watchscope has
    /// ended.
    pub async fn until<T>(
        &mut self,
        what: &str,
        within: Duration,
        look: impl AsyncFnMut(&Process) -> Result<T>,
    ) -> Result<T> {
        self.process.until(what, within, look).await
    }

    /// Returns an error with the last lines of standard error if watchscope has ended.
    pub fn still_runs(&mut self) -> Result<()> {
        self.process.still_runs()
    }

    /// Sends SIGTERM and waits until watchscope ends, at most `within`; fails after that.
    pub async fn terminate(&mut self, within: Duration) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.process.end(within).await
    }

    /// Sends a signal.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        self.process.signal(signal)
    }

    /// Waits until watchscope ends by itself, at most `within`; fails after that.
    pub async fn end(&mut self, within: Duration) -> Result<ExitStatus> {
        self.process.end(within).await
    }

    /// Kills it (SIGKILL), which leaves it no time to clean up, as a crash does.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill().context("killing watchscope")
    }
}

/// Parses each whole line as JSON.
fn json_lines(text: &str) -> Result<Vec<Value>> {
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}")))
        .collect()
}
