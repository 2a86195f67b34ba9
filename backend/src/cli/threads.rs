//! The threads on which a command's tasks run.

use std::io;

use tokio::runtime::{Builder, Runtime};

use super::args::Command;

/// The threads of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// One thread for all tasks. An event then passes from socket to line without waking another thread, which costs more
    /// than its line. Work that waits for a file or a full pipe still has threads of its own.
    One,
    /// A worker thread for each core, so that many viewers or clients do not delay the rest.
    EachCore,
}

impl Threads {
    /// The threads of a command: one for each core if it may have many viewers or clients, else one.
    pub(super) fn of(command: &Command) -> Self {
        match command {
            Command::Serve(_) | Command::Demo(_) | Command::Replay(_) | Command::Simulate(_) => {
                Self::EachCore
            }
            Command::Watch(_)
            | Command::Record(_)
            | Command::Export(_)
            | Command::Audit(_)
            | Command::Lessons(_)
            | Command::Open(_)
            | Command::Token(_)
            | Command::Explain(_)
            | Command::Version(_)
            | Command::Completion(_)
            | Command::Man(_) => Self::One,
        }
    }

    fn runtime(self) -> io::Result<Runtime> {
        let mut builder = match self {
            Self::One => Builder::new_current_thread(),
            Self::EachCore => Builder::new_multi_thread(),
        };
        builder.enable_all().build()
    }
}

/// Runs a future on threads of its own, and returns its output. Other tasks end with it.
///
/// # Errors
/// If the system gives no threads or timers.
pub(super) fn block_on<T>(threads: Threads, future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = threads.runtime()?;
    let output = runtime.block_on(future);
    // A read of standard input that never ends must not hold the process.
    runtime.shutdown_background();
    Ok(output)
}
