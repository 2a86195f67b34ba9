//! The audit against a real kube-apiserver and the simulated one: what is so is found to be so, and the reads are seen.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use watchscope_tests::{Finished, KubeCluster, KubeTools, WatchscopeBinary, eventually, or_skip};

use crate::http;
use crate::records::of;
use crate::relay::Relay;
use crate::simulated::Simulated;
use crate::writer::Writer;

const LONG: Duration = Duration::from_secs(240);

fn lines(finished: &Finished) -> Result<Vec<Value>> {
    let lines = finished.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).with_context(|| format!("JSON, not {line}")))
        .collect()
}

/// All outcomes, and that there is no verdict among them.
fn outcomes(records: &[Value]) -> Vec<&str> {
    assert!(
        records.iter().all(|record| record["type"] != "verdict"),
        "{records:?}"
    );
    let audits = records.iter().filter(|record| record["type"] == "audit");
    audits
        .filter_map(|record| record["outcome"].as_str())
        .collect()
}

#[tokio::test]
async fn an_audit_of_a_healthy_apiserver_under_writes_finds_that_all_is_so() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let tools = or_skip!(KubeTools::find());
    let cluster = KubeCluster::shared(&tools).await?;
    let writer = Writer::start(&cluster).await?;
    let kubectl = cluster.kubectl();
    kubectl.run(&["create", "namespace", "audited"]).await?;
    let audit = |arguments: &[&str]| {
        let mut all = vec!["audit", "configmaps", "-n", "audited", "-o", "jsonl"];
        all.extend(arguments);
        binary.with(&all).kubeconfig(cluster.kubeconfig())
    };
    let names = |range: std::ops::Range<u32>| range.map(|n| format!("settings-{n}"));
    writer.churn("audited", names(0..30)).await?;
    for arguments in [
        &[][..],
        &["--http1"],
        &["-l", "app=none"],
        &["--metadata-only"],
    ] {
        let (finished, churned) = tokio::join!(
            audit(arguments).run(LONG),
            writer.churn("audited", names(100..140))
        );
        let (finished, ()) = (finished?, churned?);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let records = lines(&finished)?;
        let outcomes = outcomes(&records);
        ensure!(
            !outcomes.is_empty() && outcomes.iter().all(|outcome| *outcome == "agrees"),
            "{records:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_watch_that_is_audited_by_itself_shows_its_reads_in_a_lane_of_their_own() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    let arguments = [
        "watch",
        "-o",
        "jsonl",
        "configmaps",
        "-n",
        "shop",
        "--audit",
        "full",
    ];
    let launch = binary.with(&arguments).kubeconfig(&simulated.kubeconfig);
    let mut watchscope = launch.start()?;
    let records = eventually("it has audited", LONG, async || {
        watchscope.still_runs()?;
        let records = watchscope.records()?;
        ensure!(
            !of(&records, "audit", "shop/configmaps").is_empty(),
            "no audit yet"
        );
        Ok(records)
    })
    .await?;
    ensure!(!outcomes(&records).is_empty());
    let asked = of(&records, "request.sent", "shop/configmaps#a");
    let answered = of(&records, "request.answered", "shop/configmaps#a");
    ensure!(!asked.is_empty() && !answered.is_empty(), "{records:?}");
    // A connection of its own.
    let watched = of(&records, "request.sent", "shop/configmaps");
    ensure!(
        watched
            .iter()
            .all(|sent| sent["connection"] != asked[0]["connection"])
    );
    Ok(())
}

/// The watch of the story F45 is never told that `a` is gone. The audit compares once all of its watches stream: one that
/// waits for its list until then leaves time for that to happen.
#[tokio::test]
async fn an_audit_that_finds_a_ghost_names_it_and_ends_with_3() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start_with(&binary, 0, &["f45"]).await?;
    let address = http::address(&simulated.origin);
    let relay = Relay::holding(address, "/services?").await?;
    let kubeconfig = std::fs::read_to_string(&simulated.kubeconfig)?;
    let by_relay = simulated.process.home().join("by-relay");
    std::fs::write(
        &by_relay,
        kubeconfig.replace(&simulated.origin, &relay.origin()),
    )?;
    let arguments = ["audit", "configmaps", "services", "-o", "jsonl", "--http1"];
    let launch = binary.with(&arguments).kubeconfig(&by_relay);
    let (finished, released) = tokio::join!(
        launch.run(LONG),
        eventually("the watch was told what came after", LONG, async || {
            let told = relay.told();
            let changes = told.matches("\"MODIFIED\"").count();
            ensure!(changes == 2, "{told}");
            relay.let_through();
            Ok(())
        })
    );
    released?;
    let finished = finished?;
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    let records = lines(&finished)?;
    let of_a = |kind: &str| -> Vec<&Value> {
        let of_kind = records.iter().filter(|record| record["type"] == kind);
        of_kind.filter(|record| record["name"] == "a").collect()
    };
    let said: Vec<_> = of_a("verdict")
        .iter()
        .map(|said| (&said["kind"], &said["state"]))
        .collect();
    assert_eq!(
        json!(said),
        json!([["ghost", "raised"], ["ghost", "confirmed"]])
    );
    assert!(
        of_a("audit")
            .iter()
            .all(|read| read["outcome"] == "differs"),
        "{records:?}"
    );
    ensure!(
        finished.stderr.contains("default/configmaps"),
        "{finished:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_audit_that_cannot_be_made_says_so() -> Result<()> {
    let binary = or_skip!(WatchscopeBinary::find());
    let simulated = Simulated::start(&binary, 0).await?;
    // Nothing streams within so short a time.
    let arguments = ["audit", "configmaps", "-n", "shop", "--for", "1ms"];
    let launch = binary.with(&arguments).kubeconfig(&simulated.kubeconfig);
    let finished = launch.run(LONG).await?;
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    ensure!(finished.stderr.contains("cannot be told"), "{finished:?}");
    Ok(())
}
