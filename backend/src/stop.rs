//! The flag that tells tasks to end in order.

use tokio::sync::watch;

/// Returns once the flag is true, or nobody can set it any more. Cancel safe.
pub(crate) async fn stopped(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|&stop| stop).await;
}
