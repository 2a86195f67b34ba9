//! The shells in which tests press Tab, beside bash.

use crate::setup::{Installs, apt};
use crate::shell;

/// Debian's packages, each with a program of the same name.
const SHELLS: [&str; 2] = ["zsh", "fish"];

/// Installs the shells that are not on the `PATH`, as root on a Debian-like system. Returns those that are still missing.
pub(crate) fn missing(installs: Installs) -> Vec<&'static str> {
    let missing = || -> Vec<&'static str> {
        let all = SHELLS.iter().copied();
        all.filter(|name| shell::on_path(name).is_none()).collect()
    };
    let wanted = missing();
    if !wanted.is_empty() {
        apt::install(installs, &wanted);
    }
    missing()
}
