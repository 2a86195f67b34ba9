//! What a server does only after minutes; `cargo xtask test --long` runs it.

use std::time::Duration;

use anyhow::Result;

use super::dialogue::Dialogue;
use super::exchanges;

exchanges![a_watch_from_before_the_oldest_event_of_a_full_ring_is_expired];

/// The age up to which a ring's oldest event stays: a full ring grows instead of losing it
/// (docs/semantics/servers.md#ring).
const WINDOW: Duration = Duration::from_secs(75);
/// The least capacity of a ring, in events.
const RING: usize = 100;
/// The events that are written before the window passes; a full ring then loses all of them.
const OLD: usize = 10;

async fn a_watch_from_before_the_oldest_event_of_a_full_ring_is_expired(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    for n in 1..OLD {
        d.touch("a", &n.to_string()).await?;
    }
    tokio::time::sleep(WINDOW + Duration::from_secs(2)).await;
    // Each of these writes pushes out one of the old events, whatever the time between them.
    for n in 0..=RING {
        d.touch("a", &n.to_string()).await?;
    }
    let lost = format!("configmaps?watch=1&resourceVersion={version}");
    let mut watch = d.watch(d.core(&lost)).await?;
    d.read_to_end(&mut watch).await?;
    let listed = d
        .get(d.core(&format!("configmaps?resourceVersion={version}")))
        .await?;
    let newest = listed.version()?;
    let kept = format!("configmaps?watch=1&resourceVersion={newest}");
    let mut watch = d.watch(d.core(&kept)).await?;
    d.touch("a", "last").await?;
    d.frames(&mut watch, 1).await?;
    Ok(())
}
