//! What the tasks need on a machine: found, installed where that is allowed, or named as missing.

mod apt;
pub(crate) mod browser;
pub(crate) mod kube;
pub(crate) mod perfetto;
pub(crate) mod targets;

/// Whether a task may install what is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Installs {
    /// Yes, with a line that says so.
    Allowed,
    /// No (`--no-install`).
    Forbidden,
}
