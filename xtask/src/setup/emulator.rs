//! qemu-user, which runs programs for other processors.

use std::path::PathBuf;

use crate::setup::{Installs, apt};
use crate::shell;

/// Returns the emulator of a processor by its GNU name, after an install if it is missing; `None` if it is missing still.
pub(crate) fn ensure(installs: Installs, processor: &str) -> Option<PathBuf> {
    let program = format!("qemu-{processor}");
    let find = || shell::on_path(&program);
    if find().is_none() {
        apt::install(installs, &["qemu-user"]);
    }
    find()
}
