//! 429 and the end of a server, with a real one that is filled up and told to stop.

use std::time::Duration;

use anyhow::{Result, ensure};
use watchscope_tests::eventually;

use super::dialogue::{Dialogue, config_map};
use super::exchanges;
use super::side::Who;
use super::wire::Ask;

exchanges![
    more_writes_at_a_time_than_a_server_takes_are_refused,
    // The last: nobody is there behind it.
    a_server_that_is_told_to_stop_refuses_and_ends_its_watches,
];

const LONG: Duration = Duration::from_secs(30);

async fn more_writes_at_a_time_than_a_server_takes_are_refused(d: &mut Dialogue<'_>) -> Result<()> {
    let create = Ask::new("POST", d.core("configmaps")).json(&config_map("a"));
    let held = d.side.fill_up(&d.core("configmaps")).await?;
    // Until what fills it up has arrived there, it answers.
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

async fn a_server_that_is_told_to_stop_refuses_and_ends_its_watches(
    d: &mut Dialogue<'_>,
) -> Result<()> {
    let version = d.config_map("a").await?.version()?;
    let mut watch = d
        .watch(d.core(&format!("configmaps?watch=1&resourceVersion={version}")))
        .await?;
    d.side.stop().await?;
    // It is not ready, and serves.
    eventually("it is not ready", LONG, async || {
        let answer = d.get("/readyz").await?;
        ensure!(answer.status == 500, "{}", answer.status);
        Ok(())
    })
    .await?;
    d.steps.drain(1..d.steps.len() - 1);
    d.get("/livez").await?;
    d.get(d.core("configmaps?labelSelector=none")).await?;
    // Something that is being answered keeps it from going on to the next step: a read of what is not there yet.
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
    // What it had taken is answered.
    ensure!(busy.await?? == 504, "what it had is answered as ever");
    eventually("nobody listens", LONG, async || {
        ensure!(d.is_gone().await?, "somebody does");
        Ok(())
    })
    .await
}
