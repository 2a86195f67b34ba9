//! 429 and the end of a server. The real one can be filled up, and gets a signal to stop.

use std::time::Duration;

use anyhow::{Result, ensure};
use watchscope_tests::eventually;

use super::dialogue::{Dialogue, config_map};
use super::exchanges;
use super::side::Who;
use super::wire::Ask;

exchanges![
    more_concurrent_writes_than_a_server_accepts_are_refused,
    // This one is last, since the server is gone after it.
    a_server_that_shuts_down_refuses_and_ends_its_watches,
];

const LONG: Duration = Duration::from_secs(30);

async fn more_concurrent_writes_than_a_server_accepts_are_refused(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let create = Ask::new("POST", d.core("configmaps")).json(&config_map("a"));
    let held = d.side.fill_up(&d.core("configmaps")).await?;
    // The server answers until the request that fills it up has arrived.
    eventually("writes are refused", LONG, async || {
        let answer = d.ask_as(Who::Ordinary, create.clone()).await?;
        ensure!(answer.status == 429, "{}", answer.status);
        Ok(())
    })
    .await?;
    d.steps.drain(..d.steps.len() - 1);
    let patch = Ask::new("PATCH", d.core("configmaps/b"))
        .body("application/merge-patch+json", r#"{"data":{}}"#);
    d.ask_as(Who::Ordinary, patch).await?;
    d.side.empty(held).await
}

async fn a_server_that_shuts_down_refuses_and_ends_its_watches(d: &mut Dialogue<'_>) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    d.side.stop().await?;
    // The server is not ready any more, but still serves.
    eventually("it is not ready", LONG, async || {
        let answer = d.get("/readyz").await?;
        ensure!(answer.status == 500, "{}", answer.status);
        Ok(())
    })
    .await?;
    d.steps.drain(1..d.steps.len() - 1);
    d.get("/livez").await?;
    d.get(d.core("configmaps?labelSelector=none")).await?;
    // A pending read, of a version that does not exist yet, keeps the server from its next step.
    let busy = d.busy(d.core("configmaps?resourceVersion=999999999"));
    d.read_to_end(&mut watch).await?;
    eventually("it takes no more requests", LONG, async || {
        let answer = d.get(d.core("configmaps?limit=1")).await?;
        d.steps.pop();
        ensure!(answer.status == 429, "{}", answer.status);
        Ok(())
    })
    .await?;
    d.get(d.core("configmaps?limit=1")).await?;
    d.get(d.core("configmaps?watch=1&resourceVersion=0"))
        .await?;
    d.post(d.core("configmaps"), &config_map("b")).await?;
    d.get("/version").await?;
    d.get("/nowhere").await?;
    d.get("/livez").await?;
    d.get("/readyz").await?;
    // The server answers the request that it had accepted.
    ensure!(
        busy.await?? == 504,
        "the pending request is answered as usual"
    );
    eventually("nobody listens", LONG, async || {
        ensure!(d.is_gone().await?, "the server still listens");
        Ok(())
    })
    .await
}
