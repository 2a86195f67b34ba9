//! Finds the programs and libraries that the tasks need, installs them where that is allowed, or names them as missing.

mod apt;
pub(crate) mod axe;
pub(crate) mod browser;
#[cfg(test)]
pub(crate) mod emulator;
pub(crate) mod kube;
pub(crate) mod perfetto;
pub(crate) mod shells;
pub(crate) mod targets;

/// Whether a task may install missing programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Installs {
    /// Yes, with a line that says so.
    Allowed,
    /// No (`--no-install`).
    Forbidden,
}
