//! Writes texts to standard output. A reader that has closed the pipe wants no more, which is no failure.

use std::io::{self, Write as _};

use super::exit::Failure;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_pipe_is_no_failure() {
        assert!(unless_closed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_closed(Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(unless_closed(Ok(())).is_ok());
    }
}
