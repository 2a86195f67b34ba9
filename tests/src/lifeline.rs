//! A shell that outlives the tests by a moment and kills what they left behind.
//!
//! Dropping a [`Process`](crate::Process) ends it; but a test binary that is itself killed drops
//! nothing. The shell reads the numbers of living processes from a pipe whose other end only this
//! process holds, so the pipe's end is the news of our death, whatever the cause.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Keeps `alive` as ` 12 34 `, so that ` 12 ` is found and cut out whole.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
alive=' '
while read -r what pid; do
  case $what in
    started) alive="$alive$pid " ;;
    ended) alive="${alive%% $pid *} ${alive#* $pid }" ;;
  esac
done
for pid in $alive; do kill -9 "$pid"; done
"#;

static SHELL: LazyLock<Mutex<Option<Child>>> = LazyLock::new(|| {
    let shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Mutex::new(shell.ok())
});

/// Kill this process should we die before [`ended`].
pub(crate) fn started(pid: u32) {
    tell("started", pid);
}

/// The process is gone; its number may soon be another's.
pub(crate) fn ended(pid: u32) {
    tell("ended", pid);
}

/// Best effort: without a shell the tests run all the same.
fn tell(what: &str, pid: u32) {
    let mut shell = SHELL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = shell.as_mut().and_then(|shell| shell.stdin.as_mut()) {
        let _ = writeln!(pipe, "{what} {pid}");
    }
}
