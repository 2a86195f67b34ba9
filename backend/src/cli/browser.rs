//! Opens a link in the browser of the person at the terminal.

use std::io::IsTerminal as _;

/// Whether a browser is opened: standard output is a terminal, and `--no-open` is not set.
pub(super) fn is_wanted(no_open: bool) -> bool {
    !no_open && std::io::stdout().is_terminal()
}

/// Opens the link in the browser. If none can be started, the log says so.
pub(super) fn show(link: &str) {
    if let Err(error) = open::that_detached(link) {
        tracing::info!("no browser was opened ({error}); open the link above");
    }
}
