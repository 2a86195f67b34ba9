//! Errors as the texts that the worker's script gets.

use std::fmt;

/// Returns an error as a text.
pub(super) fn text(error: impl fmt::Display) -> String {
    error.to_string()
}
