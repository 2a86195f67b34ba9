//! A shell that outlives the tests by a moment and kills the processes that they left behind.
//!
//! Dropping a [`Process`](crate::Process) ends it, but a test binary that is killed drops nothing. The shell reads the
//! ids of living processes from a pipe. Only this process holds the other end, so the pipe ends when this process dies,
//! whatever the cause.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

/// `alive` holds ids as ` 12 34 `, so that ` 12 ` can be found and cut out whole.
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

/// Lets the shell kill that process if this one dies before [`ended`] is called.
pub(crate) fn started(pid: u32) {
    tell("started", pid);
}

/// Takes a process off the list; its id may soon belong to another one.
pub(crate) fn ended(pid: u32) {
    tell("ended", pid);
}

/// Writes a line to the shell. Without a shell the tests run all the same, so errors are ignored.
fn tell(what: &str, pid: u32) {
    let mut shell = SHELL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pipe) = shell.as_mut().and_then(|shell| shell.stdin.as_mut()) {
        let _ = writeln!(pipe, "{what} {pid}");
    }
}
