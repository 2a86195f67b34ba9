//! Signals: of Ctrl-C and SIGTERM the first stops in order, the second at once; a limit of file size is an error.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Has a write beyond the process's limit of file size fail like one on a full disk. Else the system ends the process.
///
/// # Errors
/// If the handler cannot be installed.
pub(super) fn limits_are_errors() -> std::io::Result<()> {
    // What is installed stays; that the signal came is of no interest, since the write says so too.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// A flag that turns true at the first SIGINT or SIGTERM; at the second the process exits with 130 or 143.
///
/// # Errors
/// If the handlers cannot be installed.
pub(super) fn stop_flag() -> std::io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        loop {
            let code = tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            };
            if sender.send_replace(true) {
                std::process::exit(code);
            }
        }
    });
    Ok(receiver)
}
