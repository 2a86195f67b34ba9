//! How the process ends: 0 done, 1 failed, 2 wrong usage; of `audit` also 3 diverged, 4 cannot tell.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use super::terminal::plain;
use crate::recordings::JoinError;

/// A failure the process ends with.
#[derive(Debug)]
pub(super) struct Failure {
    /// The exit code.
    pub(super) code: u8,
    /// What was tried, what came back and what to do, in one or two lines.
    pub(super) message: String,
}

impl Failure {
    /// A failure with its exit code.
    pub(super) fn new(code: u8, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    /// Something failed.
    pub(super) fn failed(message: impl fmt::Display) -> Self {
        Self::new(1, message)
    }

    /// Tells it on standard error; returns how the process ends.
    pub(super) fn tell(&self) -> ExitCode {
        // Nobody to read it is no failure.
        let _ = writeln!(std::io::stderr(), "watchscope: {}", self.shown());
        ExitCode::from(self.code)
    }

    /// The message as it is written: a cluster's text may be in it, so of what a terminal obeys only line feeds are left.
    fn shown(&self) -> String {
        let lines: Vec<String> = self.message.split('\n').map(plain).collect();
        lines.join("\n")
    }

    /// Something was asked wrongly.
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self::new(2, message)
    }
}

/// Which of several logs is meant is a matter of usage.
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
    fn a_message_keeps_its_lines_and_nothing_else_that_a_terminal_obeys() {
        let failure = Failure::failed("x\u{1b}[2J\rof a\u{202e}cluster\nwhat to do");
        assert_eq!(
            failure.shown(),
            "x\\u{1b}[2J\\rof a\\u{202e}cluster\nwhat to do"
        );
    }
}
