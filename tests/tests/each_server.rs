//! Two real kube-apiservers over one etcd, each watched separately.
//!
//! The first test waits over a minute. Tests begin in the order of their names, so this file's name keeps it from
//! running last and alone.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::{
    ClusterOptions, KubeCluster, KubeTools, WatchscopeBinary, eventually, or_skip,
};

use crate::claims::LONG;
use crate::records::{find, of, streams, until};
use crate::writer::Writer;

const FIRST: &str = "default/configmaps";
const SECOND: &str = "default/configmaps#2";

/// Returns the names of a watch's live changes, in order.
fn live(records: &[Value], watch: &str) -> Vec<String> {
    let changes = of(records, "change", watch).into_iter();
    let live = changes.filter(|change| change["origin"] == "live");
    live.map(|change| change["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn each_server_is_watched_separately_and_a_stalled_one_is_behind() -> Result<()> {
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
    look("both deliver the same changes", &|records| {
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
    // Each watch is connected to its own server.
    for (watch, address) in [(FIRST, cluster.address()), (SECOND, second.address())] {
        let started = of(&records, "watch.started", watch);
        assert_eq!(started[0]["server"], address.to_string());
        let opened = records.iter().filter(|record| {
            record["type"] == "connection.opened" && record["remote"] == address.to_string()
        });
        assert_eq!(opened.count(), 1, "one connection to {address}");
    }
    // The only finding is that the stalled server was behind, and no stream ended.
    for finding in records.iter().filter(|record| record["type"] == "finding") {
        assert_eq!(
            (&finding["code"], &finding["watch"]),
            (&json!("F31"), &json!(SECOND)),
            "{finding}"
        );
    }
    for watch in [FIRST, SECOND] {
        let ended = of(&records, "stream.ended", watch);
        assert!(ended.is_empty(), "{ended:?}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "a minute: cargo xtask test --long"]
async fn all_servers_of_default_kubernetes_are_watched_and_one_that_returns_keeps_its_lane()
-> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let options = ClusterOptions {
        // No server adds itself to the list: an apiserver on loopback may not.
        apiserver_flags: vec!["--endpoint-reconciler-type=none".to_owned()],
        ..ClusterOptions::default()
    };
    let cluster = KubeCluster::start(&tools, options).await?;
    let mut second = cluster.start_second().await?;
    let writer = Writer::start(&cluster).await?;
    let (here, there) = (cluster.address(), second.address());
    let name_these = async |servers: &[SocketAddr]| {
        let key = "/registry/endpointslices/default/kubernetes";
        cluster.etcd().put(key, &slice_of(servers)).await
    };
    name_these(&[here, there]).await?;
    let mut watchscope = binary
        .with(&["watch", "configmaps", "-o", "jsonl", "--servers", "all"])
        .kubeconfig(cluster.kubeconfig())
        .start()?;
    until(&mut watchscope, LONG, "both stream", |records| {
        streams(records, FIRST)?;
        streams(records, SECOND)
    })
    .await?;
    let create = async |name: &str| {
        let names = std::iter::once(name.to_owned());
        writer.create("default", names).await
    };
    create("one").await?;
    let tells = |records: &[Value], watch, names: &[&str]| {
        let told = live(records, watch);
        ensure!(told == names, "{watch}: {told:?}");
        Ok(())
    };
    until(&mut watchscope, LONG, "both deliver it", |records| {
        tells(records, FIRST, &["one"])?;
        tells(records, SECOND, &["one"])
    })
    .await?;

    // The second server leaves the list and ends. The list is read again every 30 s.
    name_these(&[here]).await?;
    until(&mut watchscope, LONG, "its lane stops", |records| {
        find(records, "watch.stopped", SECOND, |_| true)?;
        Ok(())
    })
    .await?;
    second.kill()?;
    create("two").await?;
    until(&mut watchscope, LONG, "the first delivers it", |records| {
        tells(records, FIRST, &["one", "two"])
    })
    .await?;

    let _second = cluster.start_second().await?;
    name_these(&[here, there]).await?;
    until(&mut watchscope, LONG, "its lane begins again", |records| {
        ensure!(of(records, "watch.started", SECOND).len() == 2);
        ensure!(of(records, "stream.opened", SECOND).len() == 2);
        Ok(())
    })
    .await?;
    create("three").await?;
    let records = until(&mut watchscope, LONG, "both deliver it", |records| {
        tells(records, FIRST, &["one", "two", "three"])?;
        // The second server was away when `two` was created.
        tells(records, SECOND, &["one", "three"])?;
        Ok(records.to_vec())
    })
    .await?;
    for (watch, address) in [(FIRST, here), (SECOND, there)] {
        for started in of(&records, "watch.started", watch) {
            assert_eq!(started["server"], address.to_string(), "{started}");
        }
    }
    let ended = of(&records, "stream.ended", FIRST);
    assert!(ended.is_empty(), "the other lane is untouched: {ended:?}");
    // A server that has just started may be behind for a moment; there is no other finding or verdict.
    let claimed: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "finding" || record["type"] == "verdict")
        .filter(|record| record["code"] != "F31" || record["watch"] != SECOND)
        .collect();
    assert!(claimed.is_empty(), "{claimed:?}");
    Ok(())
}

/// Returns the EndpointSlice of `default/kubernetes` with these servers, which share one port.
fn slice_of(servers: &[SocketAddr]) -> Value {
    let endpoints: Vec<Value> = servers
        .iter()
        .map(|server| json!({"addresses": [server.ip()], "conditions": {"ready": true}}))
        .collect();
    json!({
        "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "name": "kubernetes", "namespace": "default", "uid": "7d3fc2c0-0000-4000-8000-000000000001",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": "IPv4", "endpoints": endpoints,
        "ports": [{"name": "https", "protocol": "TCP", "port": servers[0].port()}],
    })
}
