//! How the process ends: 0 done, 1 failed, 2 wrong usage.

use std::fmt;

/// A failure the process ends with.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What was tried, what came back and what to do, in one or two lines.
    pub message: String,
}

impl Failure {
    /// A failure with its exit code.
    pub fn new(code: u8, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    /// Something failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(1, message)
    }

    /// Something was asked wrongly.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(2, message)
    }
}
