//! Candidates that the program itself knows: stories, lessons, findings, faults and shells.

use watchscope_model::Row;
use watchscope_scenarios::{faults, lessons};

use super::super::completion::SHELLS;
use super::answer::Candidate;

/// The stories of simulated clusters.
pub(super) fn stories() -> Vec<Candidate> {
    let all = watchscope_scenarios::titles();
    all.map(|(name, title)| Candidate::new(name, title))
        .collect()
}

/// The lessons.
pub(super) fn lessons() -> Vec<Candidate> {
    // Completion offers nothing rather than an error.
    let lines = lessons::english_lines().unwrap_or_default().into_iter();
    lines
        .map(|line| Candidate::new(line.name, line.title))
        .collect()
}

/// The failures of the catalogue, by their codes.
pub(super) fn findings() -> Vec<Candidate> {
    let all = Row::ALL.iter();
    all.map(|row| Candidate::new(row.code(), row.name()))
        .collect()
}

/// The faults, each with the default of its parameter.
pub(super) fn faults() -> Vec<Candidate> {
    faults::names()
        .map(|(name, what)| Candidate::new(name, what))
        .collect()
}

/// The shells that have a script.
pub(super) fn shells() -> Vec<Candidate> {
    let all = SHELLS.iter();
    all.map(|shell| Candidate::new(shell.name, shell.what))
        .collect()
}
