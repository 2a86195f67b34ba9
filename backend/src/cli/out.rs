//! Writes texts to standard output. A reader that has closed the pipe wants no more, which is no failure.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use tokio::task::{JoinHandle, spawn_blocking};

use super::exit::Failure;

/// The most bytes that a pipe with any room takes without a wait: `PIPE_BUF` of Linux (pipe(7)). Other systems have
/// at least 512, and at most as many.
const PIECE_BYTES: usize = if cfg!(target_os = "linux") {
    4_096
} else {
    512
};

/// Writes the text to standard output, as a whole.
///
/// # Errors
/// Exit code 1 if standard output cannot be written, for example onto a full disk. A closed pipe is no error.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    unless_closed(written).map_err(Failure::failed)
}

/// Turns the error of a closed pipe into a success.
pub(super) fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Standard output for a task. A pager may not read a pipe for hours, and meanwhile the watches go on in the same thread.
///
/// It writes at once where a write does not wait. Else another thread writes, and the task waits for it. So an output
/// that is read costs no second thread. It holds the bytes since the last flush, twice while the other thread writes.
pub(super) struct Outlet {
    file: Arc<File>,
    waits: Waits,
    has_colours: bool,
    /// The bytes that no write has taken.
    unwritten: Vec<u8>,
    /// The write of the other thread.
    writing: Option<JoinHandle<io::Result<()>>>,
}

/// When a write to an output may wait.
#[derive(Clone, Copy)]
enum Waits {
    /// Never for long: a file, or a device like `/dev/null`.
    Never,
    /// If it is full: a pipe.
    IfFull,
    /// At any time: a terminal or a socket. It may have some room, and too little.
    Perhaps,
}

impl Outlet {
    /// The standard output of this process.
    ///
    /// # Errors
    /// If the process has too many files open.
    pub(super) fn stdout() -> io::Result<Self> {
        let stdout = io::stdout();
        let has_colours = AutoStream::choice(&stdout) != ColorChoice::Never;
        Self::to(stdout.as_fd().try_clone_to_owned()?, has_colours)
    }

    fn to(fd: OwnedFd, has_colours: bool) -> io::Result<Self> {
        let file = File::from(fd);
        let waits = match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::Fifo => Waits::IfFull,
            FileType::RegularFile => Waits::Never,
            FileType::CharacterDevice if !file.is_terminal() => Waits::Never,
            _ => Waits::Perhaps,
        };
        Ok(Self {
            file: Arc::new(file),
            waits,
            has_colours,
            unwritten: Vec::new(),
            writing: None,
        })
    }

    /// Takes bytes, which [`Outlet::flush`] writes.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.unwritten.extend_from_slice(bytes);
    }

    /// Takes a text with ANSI colours, and strips them if the output does not show them.
    pub(super) fn put_text(&mut self, text: &str) {
        if self.has_colours {
            self.put(text.as_bytes());
        } else {
            self.put(strip_str(text).to_string().as_bytes());
        }
    }

    /// Writes what was put. Cancel safe: the next flush goes on where this one ended.
    ///
    /// # Errors
    /// That of the write; [`io::ErrorKind::BrokenPipe`] if nobody reads any more. The rest is then lost.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        loop {
            if let Some(writing) = &mut self.writing {
                let written = writing.await;
                self.writing = None;
                written.map_err(io::Error::other)??;
            }
            if self.unwritten.is_empty() {
                return Ok(());
            }
            let bytes = std::mem::take(&mut self.unwritten);
            let mut rest = &bytes[..];
            while !rest.is_empty() && self.has_room() {
                let (piece, more) = rest.split_at(rest.len().min(PIECE_BYTES));
                (&*self.file).write_all(piece)?;
                rest = more;
            }
            if !rest.is_empty() {
                let (file, rest) = (Arc::clone(&self.file), rest.to_vec());
                self.writing = Some(spawn_blocking(move || (&*file).write_all(&rest)));
            }
        }
    }

    /// Whether the output takes [`PIECE_BYTES`] without a wait. A pipe that nobody reads any more does, with an error.
    fn has_room(&self) -> bool {
        match self.waits {
            Waits::Never => true,
            Waits::Perhaps => false,
            Waits::IfFull => {
                let mut asked = [PollFd::new(&self.file, PollFlags::OUT)];
                let now = Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                // If a signal interrupts the question, the other thread waits for the answer.
                poll(&mut asked, Some(&now)).is_ok_and(|ready| ready > 0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn only_a_closed_pipe_is_no_failure() {
        assert!(unless_closed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_closed(Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(unless_closed(Ok(())).is_ok());
    }

    #[tokio::test]
    async fn while_a_pipe_is_not_read_the_other_tasks_of_the_thread_go_on() {
        let (mut read, write) = io::pipe().unwrap();
        let mut outlet = Outlet::to(write.into(), false).unwrap();
        let text: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        outlet.put(&text);
        // A flush that is dropped loses nothing.
        assert!(outlet.flush().now_or_never().is_none());
        outlet.put(b"the end");
        let writing = tokio::spawn(async move { outlet.flush().await });
        // This task is one of the others of the thread. Without it, nobody would read.
        let reading = spawn_blocking(move || {
            let mut all = Vec::new();
            read.read_to_end(&mut all).map(|_| all)
        });
        writing.await.unwrap().unwrap();
        assert!(reading.await.unwrap().unwrap() == [&text[..], b"the end"].concat());
    }

    #[tokio::test]
    async fn a_write_to_a_pipe_that_nobody_reads_is_an_error() {
        let (read, write) = io::pipe().unwrap();
        drop(read);
        let mut outlet = Outlet::to(write.into(), false).unwrap();
        outlet.put(b"a line");
        let error = outlet.flush().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_file_gets_all_bytes_without_colours() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut outlet = Outlet::to(file.reopen().unwrap().into(), false).unwrap();
        let long = "x".repeat(3 * PIECE_BYTES);
        outlet.put_text("\u{1b}[31mred\u{1b}[0m\n");
        outlet.put_text(&long);
        outlet.flush().await.unwrap();
        assert!(std::fs::read_to_string(file.path()).unwrap() == format!("red\n{long}"));
    }
}
