//! How the process ends: 0 done, 1 failed, 2 wrong usage; of `audit` also 3 diverged, 4 cannot tell.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

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
        let _ = writeln!(std::io::stderr(), "watchscope: {}", self.message);
        ExitCode::from(self.code)
    }

    /// Something was asked wrongly.
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self::new(2, message)
    }
}
