//! When a command was sent that runs the lesson again, and how long it took until its picture was drawn.

use std::cell::Cell;

use crate::runtime::page::elements;

thread_local! {
    /// When the command was sent that has not been drawn yet, in ms of the page.
    static ASKED_MS: Cell<Option<f64>> = const { Cell::new(None) };
    /// How long the last command took, in ms.
    static TOOK_MS: Cell<Option<f64>> = const { Cell::new(None) };
    /// Whether the page has all records of its run up to now.
    static IS_FED: Cell<bool> = const { Cell::new(false) };
    /// Whether the page has records of the present run.
    static HAS_RUN: Cell<bool> = const { Cell::new(false) };
}

/// A command is sent that runs the lesson again.
pub(super) fn asked() {
    ASKED_MS.set(Some(elements().clock_ms()));
    IS_FED.set(false);
}

/// Another run began, and the page has no records yet.
pub(super) fn begins() {
    IS_FED.set(false);
    HAS_RUN.set(false);
}

/// The page has all records of its run up to now.
pub(super) fn fed() {
    IS_FED.set(true);
    HAS_RUN.set(true);
}

/// Whether the page has records of the present run.
pub(super) fn has_run() -> bool {
    HAS_RUN.get()
}

/// Whether the page has all records of its run up to now.
pub(super) fn is_fed() -> bool {
    IS_FED.get()
}

/// The present run is drawn.
pub(super) fn drawn() {
    if let Some(asked_ms) = ASKED_MS.take() {
        TOOK_MS.set(Some(elements().clock_ms() - asked_ms));
    }
}

/// Returns how long the last command took, in ms.
pub(super) fn took_ms() -> Option<f64> {
    TOOK_MS.get()
}
