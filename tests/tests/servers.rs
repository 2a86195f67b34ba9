//! Two real kube-apiservers over one etcd, each watched on its own.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, WatchscopeBinary, eventually, or_skip,
};

use crate::records::{find, of, streams};
use crate::writer::Writer;

const LONG: Duration = Duration::from_secs(60);
const FIRST: &str = "default/configmaps";
const SECOND: &str = "default/configmaps#2";

/// The names of a watch's live changes, in order.
fn live(records: &[Value], watch: &str) -> Vec<String> {
    let changes = of(records, "change", watch).into_iter();
    let live = changes.filter(|change| change["origin"] == "live");
    live.map(|change| change["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn each_server_is_watched_on_its_own_and_one_that_stands_still_is_behind() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::start(&tools, ClusterOptions::default()).await?;
    let mut second = cluster.start_second().await?;
    let writer = Writer::start(&cluster).await?;
    let servers = format!("{},{}", cluster.address(), second.address());
    let mut watchscope = binary
        .with(&["watch", "configmaps", "-o", "jsonl", "--servers", &servers])
        .kubeconfig(cluster.kubeconfig())
        .start()?;
    let mut look = async |what: &str, look: &dyn Fn(&[Value]) -> Result<()>| {
        eventually(what, LONG, async || {
            watchscope.still_runs()?;
            look(&watchscope.records()?)
        })
        .await
    };
    look("both stream", &|records| {
        streams(records, FIRST)?;
        streams(records, SECOND)?;
        Ok(())
    })
    .await?;
    for name in ["one", "two"] {
        writer
            .create("default", std::iter::once(name.to_owned()))
            .await?;
    }
    look("both tell of the same", &|records| {
        for watch in [FIRST, SECOND] {
            let told = live(records, watch);
            ensure!(told == ["one", "two"], "{watch}: {told:?}");
        }
        Ok(())
    })
    .await?;

    second.pause()?;
    writer
        .create("default", std::iter::once("three".to_owned()))
        .await?;
    look("the second is behind", &|records| {
        let is_behind = |finding: &Value| finding["code"] == "F31" && finding["state"] == "raised";
        find(records, "finding", SECOND, is_behind)?;
        Ok(())
    })
    .await?;
    second.resume()?;
    look("it has caught up", &|records| {
        let is_over = |finding: &Value| finding["code"] == "F31" && finding["state"] == "cleared";
        find(records, "finding", SECOND, is_over)?;
        let told = live(records, SECOND);
        ensure!(told == ["one", "two", "three"], "{told:?}");
        Ok(())
    })
    .await?;

    let records = watchscope.records()?;
    // Each is where it was asked to be.
    for (watch, address) in [(FIRST, cluster.address()), (SECOND, second.address())] {
        let started = of(&records, "watch.started", watch);
        assert_eq!(started[0]["server"], address.to_string());
        let opened = records.iter().filter(|record| {
            record["type"] == "connection.opened" && record["remote"] == address.to_string()
        });
        assert_eq!(opened.count(), 1, "one connection to {address}");
    }
    let findings = records.iter().filter(|record| record["type"] == "finding");
    let codes: Vec<&Value> = findings.map(|finding| &finding["code"]).collect();
    assert!(codes.iter().all(|code| *code == "F31"), "{codes:?}");
    Ok(())
}
