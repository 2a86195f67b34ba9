//! The exit codes of the process: 0 done, 1 failed, 2 wrong usage; of `audit` also 3 diverged, 4 undecided.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use super::terminal::plain;
use crate::recordings::JoinError;

/// A failure with which the process ends.
#[derive(Debug)]
pub(super) struct Failure {
    /// The exit code.
    pub(super) code: u8,
    /// What was tried, what failed and what to do, in one or two lines.
    pub(super) message: String,
}

impl Failure {
    /// Makes a failure with this exit code.
    pub(super) fn new(code: u8, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    /// Makes a failure with exit code 1.
    pub(super) fn failed(message: impl fmt::Display) -> Self {
        Self::new(1, message)
    }

    /// Writes the failure to standard error, and returns the exit code of the process.
    pub(super) fn report(&self) -> ExitCode {
        // An unwritable standard error is ignored.
        let _ = writeln!(std::io::stderr(), "watchscope: {}", self.shown());
        ExitCode::from(self.code)
    }

    /// The message as it is written. It may have a cluster's text in it, so only its line feeds reach the terminal
    /// unescaped.
    fn shown(&self) -> String {
        let lines: Vec<String> = self.message.split('\n').map(plain).collect();
        lines.join("\n")
    }

    /// Makes a failure of wrong usage, with exit code 2.
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self::new(2, message)
    }
}

/// Not choosing one of several logs is wrong usage.
impl From<JoinError> for Failure {
    fn from(error: JoinError) -> Self {
        match error {
            JoinError::Log(_) => Self::usage(error),
            _ => Self::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 29 of the attack table.
    #[test]
    fn only_the_line_feeds_of_a_message_reach_the_terminal_unescaped() {
        let failure = Failure::failed("x\u{1b}[2J\rof a\u{202e}cluster\nwhat to do");
        assert_eq!(
            failure.shown(),
            "x\\u{1b}[2J\\rof a\\u{202e}cluster\nwhat to do"
        );
    }
}
