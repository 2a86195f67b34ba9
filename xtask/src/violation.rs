//! A broken rule of the project, as every check reports it.

use std::fmt;

/// A broken rule of the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The file, crate or package at fault.
    pub(crate) place: String,
    /// The fault.
    pub(crate) problem: String,
    /// Advice on how to mend it.
    pub(crate) remedy: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.problem, self.remedy)
    }
}
