//! Signals: the first Ctrl-C or SIGTERM stops in order, the second at once. A limit of file size becomes an error.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Makes a write beyond the process's limit of file size fail like one on a full disk. Otherwise the system would end the
/// process.
///
/// # Errors
/// If the handler cannot be installed.
pub(super) fn limits_are_errors() -> std::io::Result<()> {
    // The handler stays installed. The signal itself is ignored, since the write fails as well.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Returns a flag that turns true at the first SIGINT or SIGTERM. At the second the process exits with 130 or 143.
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
