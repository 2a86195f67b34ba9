//! Waiting for the flag that asks tasks to end in order.

use tokio::sync::watch;

/// Returns once the flag is true, or once its sender is dropped. Cancel safe.
pub(crate) async fn stopped(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|&stop| stop).await;
}
